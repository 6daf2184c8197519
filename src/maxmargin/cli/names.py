"""The words that options take, apart from all that is slow to load: help must come at once."""

ESTIMATORS = {
    "svc": "SVC",
    "nusvc": "NuSVC",
    "svr": "SVR",
    "nusvr": "NuSVR",
    "one-class": "OneClassSVM",
    "linear-svc": "LinearSVC",
    "linear-svr": "LinearSVR",
}
FORMATS = {"mm": (".mm",), "libsvm": (".libsvm", ".model"), "onnx": (".onnx",)}
EXPERIMENTS = ("simulation", "approximation", "reviews", "bias-variance")
