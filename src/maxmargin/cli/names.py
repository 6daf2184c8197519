"""The words that options take, without anything that is slow to load, so that help is instant."""

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
FILLINGS = ("mean", "median")
