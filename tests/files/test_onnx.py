"""ONNX graphs, run by onnxruntime, answer as the models do."""

import json
import sys

import numpy as np
import pytest
import sklearn.svm
from model_zoo import (
    COMPOSED,
    IGNORED,
    columns_of,
    data,
    encoded,
    filled,
    fitted,
    fitted_on_gram,
    pipeline_of,
    table,
)
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

import maxmargin
from maxmargin.files import to_onnx
from maxmargin.kernels import RBF, Custom, Laplacian, Linear, Polynomial

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

SVMS = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"]
KERNELS = ["linear", "poly", "rbf", "sigmoid", RBF(sigma=1.5), COMPOSED,
           Linear().exp().normalised(), 3.3 * Linear() + Polynomial(2, 0.3, 1.0)]  # fmt: skip


def run(model, X, dtype="float64"):
    return run_with(model, {"X": X.astype(dtype)}, dtype)


def run_with(model, inputs, dtype="float64"):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    content = to_onnx(model, dtype=dtype).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


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
    "labels",
    [
        (3, 5, 9),
        (-1.0, 0.0, 1.0),
        np.array([-1.0, 0.0, 1.0], dtype=np.float32),
        ("a", "bb", "ü"),
        (False, True, True),
    ],
    ids=str,
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


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"multi_class": "ovr"}, {"class_weight": "balanced"}, {"break_ties": True, "C": 0.01}],
    ids=str,
)
def test_probabilities(parameters, n_classes):
    X = np.random.default_rng(1).standard_normal((200, 3))
    model = fitted("SVC", probability=True, n_classes=n_classes, **parameters)
    found = run(model, X)
    assert list(found) == ["label", "decision", "probability"]
    np.testing.assert_allclose(found["probability"], model.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert found["label"].tolist() == model.predict(X).tolist()


def test_probabilities_of_many_classes_and_of_clear_cases():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 12)
    X = rng.standard_normal((12, 3))[y] * 3 + rng.standard_normal((144, 3))
    model = maxmargin.NuSVC(nu=0.3, probability=True).fit(X, y)
    found = run(model, 2 * X)["probability"]
    np.testing.assert_allclose(found, model.predict_proba(2 * X), rtol=1e-7, atol=1e-10)


def test_a_model_without_probabilities_promises_none():
    assert list(run(fitted("SVC"), data()[0])) == ["label", "decision"]


def graph_inputs(X):
    """A table of the zoo as a graph takes it: the words that are missing are empty."""
    words = np.where(X[:, [1, 3]] == X[:, [1, 3]], X[:, [1, 3]], "")
    return {"X": X[:, [0, 2]].astype(float), "words": words.astype(object)}


TABLES = {
    "filled, scaled, encoded": columns_of(
        filled(StandardScaler()), encoded(handle_unknown="ignore")
    ),
    "but the first": columns_of(filled(), encoded(drop="first"), sparse_threshold=1.0),
    "but one of two": columns_of(filled(maxmargin.CircleMap()), encoded(drop="if_binary")),
    "scaled together": make_pipeline(columns_of(filled(), encoded()), MaxAbsScaler()),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_numbers_and_words(kind):
    X, y = table()
    steps = TABLES[kind].steps if isinstance(TABLES[kind], Pipeline) else [("a", TABLES[kind])]
    model = Pipeline([*steps, ("svc", maxmargin.SVC(probability=True))]).fit(X, y)
    found = run_with(model, graph_inputs(X))
    np.testing.assert_allclose(found["decision"], model.decision_function(X), atol=1e-10)
    np.testing.assert_allclose(found["probability"], model.predict_proba(X), atol=1e-10)
    assert found["label"].tolist() == model.predict(X).tolist()


def test_words_that_were_not_in_the_fit_are_none_of_the_categories():
    X, y = table()
    model = make_pipeline(TABLES["filled, scaled, encoded"], maxmargin.LinearSVC()).fit(X, y)
    X[:5, 1] = "mauve"
    found = run_with(model, graph_inputs(X))["decision"]
    np.testing.assert_allclose(found, model.decision_function(X), atol=1e-10)


def test_only_numbers_or_only_words():
    X, y = table()
    X[9, 1] = "red"
    words = X[:, [1, 3]]
    model = make_pipeline(OneHotEncoder(), maxmargin.LinearSVC()).fit(words, y)
    found = run_with(model, {"words": words})["decision"]
    np.testing.assert_allclose(found, model.decision_function(words), atol=1e-10)
    numbers = X[:, [0, 2]].astype(float)
    assert_same(make_pipeline(SimpleImputer(), maxmargin.SVC()).fit(numbers, y), numbers)
    digits = np.random.default_rng(0).integers(0, 3, (48, 2)).astype(float)
    assert_same(make_pipeline(OneHotEncoder(), maxmargin.LinearSVC()).fit(digits, y), digits)


@pytest.mark.parametrize("rest", ["drop", "passthrough"])
def test_columns_that_no_step_takes_are_inputs_only_if_they_are_kept(rest):
    X, y = data()
    columns = ColumnTransformer([("a", StandardScaler(), [2])], remainder=rest)
    model = make_pipeline(columns, maxmargin.SVC()).fit(X, y)
    found = run(model, X[:, 2:] if rest == "drop" else X)["decision"]
    np.testing.assert_allclose(found, model.decision_function(X), atol=1e-10)


def test_a_graph_says_which_columns_it_takes_and_what_its_classes_are():
    pytest.importorskip("onnx")
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["length", "colour", "width", "way"]).infer_objects()
    graph = to_onnx(make_pipeline(TABLES["filled, scaled, encoded"], maxmargin.SVC()).fit(frame, y))
    said = {one.key: json.loads(one.value) for one in graph.metadata_props}
    assert said == {
        "X": ["length", "width"], "words": ["colour", "way"], "classes": ["a", "b", "c"]
    }  # fmt: skip


MAPS = [
    maxmargin.XNORMap(),
    maxmargin.CircleMap(),
    maxmargin.PolynomialMap(3),
    maxmargin.PolynomialMap(2, gamma=0.5, coef0=0.0),
    maxmargin.PolynomialMap(0),
    maxmargin.KernelMap(),
    maxmargin.KernelMap(Polynomial(2, 0.5, 1.0)),
    maxmargin.RandomFourierFeatures(n_components=6),
    maxmargin.RandomFourierFeatures(n_components=6, form="sincos"),
    maxmargin.Nystroem(n_components=5),
    maxmargin.Nystroem(n_components=5, kernel="cosine"),
]
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler(),
    MinMaxScaler((-2, 3), clip=True),
    MaxAbsScaler(),
]


@pytest.mark.parametrize("last", [maxmargin.SVC(), maxmargin.LinearSVC()], ids=repr)
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_pipelines_of_scalers(scaler, last):
    X = np.random.default_rng(2).standard_normal((50, 3))  # some rows are outside every range
    assert_same(pipeline_of(scaler, last), X)
    assert_same(pipeline_of("passthrough", scaler, last), X, tolerance=1e-5, dtype="float32")


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
def test_pipelines_of_maps(feature_map):
    X, _ = data()
    assert_same(pipeline_of(StandardScaler(), feature_map, maxmargin.LinearSVC()), X)
    assert_same(pipeline_of(feature_map, MinMaxScaler(), maxmargin.SVC()), X)


@pytest.mark.parametrize("steps", [SCALERS[:1], SCALERS[1:2], MAPS[7:8], MAPS[-1:]], ids=repr)
def test_a_single_column_loses_no_digits(steps):
    """onnxruntime merges a lone factor into the product beside it, in single precision."""
    X, y = data(d=2)
    X = X[:, :1] + 1000
    for last in (maxmargin.LinearSVC(), maxmargin.SVC(kernel="linear")):
        assert_same(make_pipeline(StandardScaler(), *steps, last).fit(X, y), X)


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_scalers_that_were_fitted_in_single_precision(scaler):
    X, y = data()
    model = make_pipeline(scaler, maxmargin.LinearSVC()).fit(X.astype(np.float32), y)
    assert_same(model, X)


def test_pipelines_on_sparse_rows_and_gram_matrices():
    X, y = data()
    model = pipeline_of(MaxAbsScaler(), maxmargin.SVR(), container=sparse.csr_matrix, y=y)
    assert_same(model, X)
    on_gram = maxmargin.Nystroem(n_components=5, kernel="precomputed")
    assert_same(make_pipeline(on_gram, maxmargin.LinearSVC()).fit(X @ X.T, y), X @ X.T)


def test_steps_that_cannot_be_written_are_refused_by_name():
    pytest.importorskip("onnx")
    with pytest.raises(TypeError, match="the step 'pca', a PCA of sklearn, cannot be written"):
        to_onnx(pipeline_of(PCA(2), maxmargin.SVC()))
    with pytest.raises(TypeError, match=r"the kernel Laplacian.* cannot be written"):
        to_onnx(pipeline_of(maxmargin.Nystroem(Laplacian(0.5)), maxmargin.SVC()))
    with pytest.raises(TypeError, match=r"the feature map of Sum.* cannot be written"):
        to_onnx(pipeline_of(maxmargin.KernelMap(Linear() + Polynomial(2)), maxmargin.SVC()))
    with pytest.raises(TypeError, match="cannot write this CircleMap"):
        to_onnx(pipeline_of(StandardScaler(), maxmargin.CircleMap()))
    with pytest.raises(TypeError, match="cannot write this SVC of sklearn"):
        to_onnx(pipeline_of(StandardScaler(), sklearn.svm.SVC()))


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
