"""ONNX graphs, run by onnxruntime, answer as the models do."""

import sys

import numpy as np
import pytest
import sklearn.svm
from model_zoo import COMPOSED, IGNORED, data, fitted, fitted_on_gram
from scipy import sparse

import maxmargin
from maxmargin.files import to_onnx
from maxmargin.kernels import RBF, Custom, Laplacian, Linear, Polynomial

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

SVMS = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"]
KERNELS = ["linear", "poly", "rbf", "sigmoid", RBF(sigma=1.5), COMPOSED,
           Linear().exp().normalised(), 3.3 * Linear() + Polynomial(2, 0.3, 1.0)]  # fmt: skip


def run(model, X, dtype="float64"):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    content = to_onnx(model, dtype=dtype).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X.astype(dtype)}), strict=True))


def assert_same(model, X, tolerance=1e-10, dtype="float64"):
    found = run(model, X, dtype)
    rows = X.astype(dtype).astype(np.float64)
    name = "decision" if "decision" in found else "prediction"
    ask = model.decision_function if name == "decision" else model.predict
    expected = ask(rows)
    assert found[name].shape == expected.shape
    size = 1 + np.abs(expected).max()
    np.testing.assert_allclose(found[name], expected, rtol=0, atol=tolerance * size)
    if name == "decision":
        assert found["label"].tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("name", SVMS)
def test_kernel_machines(name, kernel, n_classes):
    X, _ = data()
    assert_same(fitted(name, kernel=kernel, n_classes=n_classes), X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"decision_function_shape": "ovo"},
        {"break_ties": True},
        {"multi_class": "ovr"},
        {"class_weight": {"a": 0.0}},
    ],
    ids=str,
)
def test_ways_to_decide_among_classes(parameters):
    assert_same(fitted("SVC", **parameters), np.random.default_rng(1).standard_normal((200, 3)))


@pytest.mark.parametrize(
    "labels", [(3, 5, 9), (-1.0, 0.0, 1.0), ("a", "bb", "ü"), (False, True, True)], ids=str
)
def test_labels(labels):
    assert_same(fitted("SVC", labels=labels), data()[0])
    assert_same(fitted("LinearSVC", labels=labels), data()[0])


@pytest.mark.parametrize(
    "name",
    ["LinearSVC", "LinearSVR", "Ridge", "Lasso", "LinearRegression", "Perceptron",
     "GradientDescentClassifier", "GradientDescentRegressor"],
)  # fmt: skip
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_models(name, n_classes):
    X, _ = data()
    model = fitted(name, n_classes=n_classes)
    assert_same(model, X)
    assert_same(model, X, tolerance=1e-5, dtype="float32")


def test_several_targets_sparse_models_and_precomputed_kernels():
    X, y = data()
    assert_same(maxmargin.Ridge().fit(X, np.column_stack([y, X[:, 0]])), X)
    model = fitted("SVC", sparse.csr_matrix)
    assert_same(model, X)
    for name in ("SVC", "SVR"):
        assert_same(fitted_on_gram(name), X @ X.T)


def test_a_model_without_support_vectors():
    X, _ = data()
    assert_same(fitted("SVR", epsilon=1e3), X)


def test_far_from_the_origin_no_digits_are_lost():
    X, y = data()
    X = X + 1e6
    assert_same(maxmargin.SVC(gamma=0.5).fit(X, y), X, tolerance=1e-8)


def test_what_cannot_be_written_is_refused():
    pytest.importorskip("onnx")
    for kernel in (Laplacian(0.5), Custom(lambda X, Z: X @ Z.T), lambda X, Z: X @ Z.T):
        with pytest.raises(TypeError, match=r"to_onnx: .*cannot be written"):
            to_onnx(fitted("SVC", kernel=kernel))
    with pytest.raises(TypeError, match="cannot write this KernelRidge"):
        to_onnx(fitted("KernelRidge"))
    with pytest.raises(TypeError, match="cannot write this SVC of sklearn"):
        to_onnx(sklearn.svm.SVC().fit(*data()))
    with pytest.raises(TypeError, match="Perceptron with a kernel"):
        to_onnx(fitted("Perceptron", kernel="rbf"))
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32', got 'int8'"):
        to_onnx(fitted("SVR"), dtype="int8")


def test_without_onnx_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'maxmargin\[onnx\]'"):
        to_onnx(fitted("SVC"))
