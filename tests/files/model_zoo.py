"""Small fitted models of every kind, and tools to take a model file apart and seal it again."""

import functools
import io
import json
import zipfile

import numpy as np
from numpy.lib import format as npy
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

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
    return rng.uniform(-1, 1, (n, model.n_features_in_))


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
