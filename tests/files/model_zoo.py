"""Small fitted models of every kind, and tools to take a model file apart and seal it again."""

import functools
import io
import json
import zipfile

import numpy as np
from numpy.lib import format as npy
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

import maxmargin
from maxmargin.files import archive
from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

EXPORTED = sorted(
    name
    for name in maxmargin.__all__
    if isinstance(getattr(maxmargin, name), type)
    and issubclass(getattr(maxmargin, name), BaseEstimator)
)
COMPOSED = (2 * RBF(0.5) + Linear() * Polynomial(2, 0.5, 1.0)).normalised().exp() ** 2
PARAMETERS = {"NuSVC": {"nu": 0.2}, "Perceptron": {"max_updates": 200}}
IGNORED = (
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::maxmargin.errors.MercerWarning",
)


def data(n=48, d=3):
    """Rows, and a label 0, 1 or 2 for each that has to do with them."""
    X = np.random.default_rng(3).standard_normal((n, d)).round(3)
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.5])


def fitted(name, container=np.asarray, labels=("a", "b", "c"), n_classes=3, **parameters):
    X, y = data()
    model = getattr(maxmargin, name)(**{**PARAMETERS.get(name, {}), **parameters})
    if not is_classifier(model):
        return model.fit(container(X), X[:, 0] + y)
    return model.fit(container(X), np.array(labels)[np.minimum(y, n_classes - 1)])


def fitted_on_gram(name, **parameters):
    X, y = data()
    model = getattr(maxmargin, name)(kernel="precomputed", **parameters)
    return model.fit(X @ X.T, y if is_classifier(model) else X[:, 0])


def fitted_in_parts(labels):
    X, y = data()
    return maxmargin.GradientDescentClassifier().partial_fit(X, labels[y], classes=labels)


def pipeline_of(*steps, container=np.asarray, y=None):
    """Fitted on rows that need scaling."""
    X, labels = data()
    y = np.array(["a", "b", "c"])[labels] if y is None else y
    return make_pipeline(*steps).fit(container(X * [1.0, 10.0, 0.1]), y)


def table(n=48):
    """Rows of two numbers and two words, with holes, and a label for each."""
    X, y = data(n)
    rows = np.empty((n, 4), dtype=object)
    rows[:, [0, 2]] = X[:, :2] * [1.0, 10.0]
    rows[:, 1] = np.array(["red", "green", "blue"])[np.random.default_rng(0).integers(0, 3, n)]
    rows[:, 3] = np.where(X[:, 2] > 0, "näh", "weit")
    rows[5, 0] = rows[7, 2] = rows[9, 1] = np.nan
    return rows, np.array(["a", "b", "c"])[y]


def columns_of(numbers, words, **options):
    """A step for the numbers of a table and one for its words."""
    steps = [("numbers", numbers, [0, 2]), ("words", words, [1, 3])]
    return ColumnTransformer(steps, **options)


def filled(*steps, strategy="median"):
    return make_pipeline(SimpleImputer(strategy=strategy), *steps)


def encoded(**options):
    return filled(OneHotEncoder(**options), strategy="most_frequent")


def table_model(columns, last):
    """A model of a table that remembers which column was its target."""
    model = make_pipeline(columns, last).fit(*table())
    model[-1].target_name_, model[-1].target_position_ = "kind", 4
    return model


# One model of every shape that a file can have.
KINDS = {
    "binary": lambda: fitted("SVC", n_classes=2),
    "bytes": lambda: fitted("SVC", labels=(b"a", b"bc", b"\xff")),
    "bytes as objects": lambda: fitted_in_parts(np.array([b"", b"a\0c", b"b"], dtype=object)),
    "several classes, sparse": lambda: fitted("SVC", sparse.csr_matrix, probability=True),
    "one vs rest": lambda: fitted("SVC", multi_class="ovr", kernel=COMPOSED),
    "precomputed": lambda: fitted_on_gram("NuSVC", nu=0.2),
    "regression": lambda: fitted("SVR", kernel="poly"),
    "one class": lambda: fitted("OneClassSVM"),
    "linear": lambda: fitted("LinearSVC", labels=(1, 2, 3)),
    "linear regression": lambda: fitted("Ridge"),
    "without negative weights": lambda: fitted("LinearRegression", positive=True),
    "iterated": lambda: fitted("Ridge", solver="lsqr"),
    "descent": lambda: fitted("GradientDescentClassifier", max_iter=5),
    "perceptron": lambda: fitted("Perceptron", kernel=Laplacian(0.5)),
    "kernel ridge": lambda: fitted("KernelRidge", sparse.csr_matrix, kernel=Sigmoid(0.1)),
    "waves": lambda: fitted("RandomFourierFeatures", n_components=6, form="sincos"),
    "landmarks": lambda: fitted("Nystroem", n_components=5),
    "landmarks of a matrix": lambda: fitted_on_gram("Nystroem", n_components=5),
    "landmarks by cosine": lambda: fitted("Nystroem", kernel="cosine", n_components=5),
    "monomials": lambda: fitted("PolynomialMap"),
    "pipeline": lambda: pipeline_of(StandardScaler(), maxmargin.SVC()),
    "pipeline of maps": lambda: pipeline_of(
        MinMaxScaler((-1, 2), clip=True),
        "passthrough",
        maxmargin.Nystroem(n_components=5),
        maxmargin.CircleMap(),
        maxmargin.LinearSVC(),
    ),
    "pipeline, sparse": lambda: pipeline_of(
        MaxAbsScaler(), maxmargin.SVC(), container=sparse.csr_matrix
    ),
    "imputer": lambda: pipeline_of(SimpleImputer(), StandardScaler(), maxmargin.LinearSVC()),
    "table": lambda: table_model(
        columns_of(filled(StandardScaler()), encoded(handle_unknown="ignore")), maxmargin.SVC()
    ),
}


@functools.cache
def model_of(kind):
    return KINDS[kind]()


def answers(model, X):
    """Everything a model says about X, as arrays."""
    questions = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
    asked = [getattr(model, name)(X) for name in questions if hasattr(model, name)]
    return [one.toarray() if sparse.issparse(one) else np.asarray(one) for one in asked]


def rows_for(model, n=4):
    """Rows that a model can be asked about."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (n, model.n_features_in_))
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    if isinstance(first, ColumnTransformer):
        rows = rows.astype(object)
        for name, _, places in first.transformers:
            if name == "words":
                rows[:, places] = rng.choice(["red", "green", "weit", "other"], (n, len(places)))
    return rows


def opened_up(path):
    """The document and the arrays of a model file, read without the library's checks."""
    arrays = {}
    with zipfile.ZipFile(path) as archived:
        document = json.loads(archived.read(archive.DOCUMENT))
        for name in archived.namelist():
            if name != archive.DOCUMENT:
                content = io.BytesIO(archived.read(name))
                arrays[name.removesuffix(".npy")] = npy.read_array(content)
    document.pop("members")
    return document, arrays


def seal(path, document, arrays):
    """Write content with right checksums, whatever it is."""
    with open(path, "wb") as file:
        archive.write(file, document, arrays)
