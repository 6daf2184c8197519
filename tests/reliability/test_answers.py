"""The same question has the same answer in any container, precision, order or batch."""

import numpy as np
import pytest
import sklearn.svm
from every_estimator import EVERY, IGNORED, QUESTIONS, TAKE_SPARSE, answers, data_for, numbers
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import make_blobs, make_regression
from sklearn.utils import get_tags

from maxmargin import (
    SVC,
    SVR,
    KernelRidge,
    Lasso,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Ridge,
)
from maxmargin.kernels import RBF, Laplacian
from maxmargin.kernels.pairs import Pairs, points_of

pytestmark = [pytest.mark.filterwarnings(rule) for rule in IGNORED]

FORMATS = [
    getattr(sparse, f"{name}_{kind}")
    for name in ("csr", "csc", "coo", "lil")
    for kind in ("array", "matrix")
]


def tight(make):
    """The estimator with the smallest tolerance it is promised to reach."""
    model = make()
    return model.set_params(tol=1e-9) if "tol" in model.get_params() else model


def scale_of(model, values):
    """In which rounding errors are measured.

    Nystroem multiplies by the inverse root of a matrix that may be nearly singular.
    """
    return max(np.abs(getattr(model, "normalization_", 1.0)).max(), np.abs(values).max())


@pytest.mark.parametrize("title", TAKE_SPARSE)
def test_sparse_is_dense_in_every_format(title):
    model = tight(EVERY[title])
    X, y = data_for(model)
    expected = numbers(model.fit(X, y), X)
    for stored in FORMATS:
        found = numbers(tight(EVERY[title]).fit(stored(X), y), stored(X))
        for ours, dense in zip(found, expected, strict=True):
            atol = 1e-10 * scale_of(model, dense)
            np.testing.assert_allclose(ours, dense, rtol=0, atol=atol, err_msg=str(stored))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "laplacian"])
@pytest.mark.filterwarnings("ignore::maxmargin.errors.MercerWarning")
def test_sparse_rows_are_answered_by_a_model_of_dense_ones_that_are_mostly_zero(kernel):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 64)) * (rng.random((200, 64)) < 0.1)
    model = KernelRidge(kernel=kernel).fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(sparse.csr_array(X)), model.predict(X), atol=1e-10)


@pytest.mark.parametrize("title", EVERY)
def test_float32_rows_are_computed_in_float64(title):
    X, y = data_for(EVERY[title]())
    single = (X + 0.1).astype(np.float32)  # not exact in float32
    double = single.astype(np.float64)
    models = [EVERY[title]().fit(rows, y) for rows in (single, double)]
    assert answers(models[0], double) == answers(models[1], double)
    if "float32" in preserved(models[0]):  # computed in float64 and rounded once
        exact, rounded = models[0].transform(double), models[0].transform(single)
        np.testing.assert_array_equal(rounded, exact.astype(np.float32), strict=True)
    else:
        assert answers(models[0], single) == answers(models[0], double)


def preserved(model):
    """The precisions in which a transformer answers as it is asked."""
    tags = get_tags(model).transformer_tags
    return tags.preserves_dtype if tags else ()


@pytest.mark.parametrize("title", EVERY)
def test_one_row_is_the_batch_is_any_split(title):
    model = EVERY[title]()
    X, y = data_for(model)
    model.fit(X, y)
    for question in (name for name in QUESTIONS if hasattr(model, name)):
        ask = getattr(model, question)
        whole = _plain(ask(X))
        for cuts in (range(1, len(X)), [1, 40, 41]):
            parts = np.concatenate([_plain(ask(part)) for part in np.split(X, list(cuts))])
            if whole.dtype.kind in "iu":
                np.testing.assert_array_equal(parts, whole)
            else:
                # Nystroem multiplies by the inverse root of a matrix that may be nearly singular.
                scale = max(
                    np.abs(whole).max(), np.abs(getattr(model, "normalization_", 1.0)).max()
                )
                np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12 * scale)


def _plain(found):
    return found.toarray() if sparse.issparse(found) else np.asarray(found)


OPTIONS = {"tol": 1e-9}
MACHINES = [
    SVC(**OPTIONS),
    SVC(kernel="linear", **OPTIONS),
    SVC(kernel="laplacian", **OPTIONS),
    NuSVC(nu=0.3, **OPTIONS),
    SVR(**OPTIONS),
    NuSVR(nu=0.4321, **OPTIONS),
    OneClassSVM(nu=0.2345, **OPTIONS),
    LinearSVC(**OPTIONS),
    LinearSVR(loss="squared_epsilon_insensitive", **OPTIONS),
    Ridge(),
    Lasso(alpha=0.01, tol=1e-12),
    KernelRidge(kernel="rbf"),
]


def _data(model, n=80):
    if is_classifier(model):
        return make_blobs(n, 3, centers=2, cluster_std=4.0, random_state=1)
    X, y = make_regression(n, 3, noise=3.0, random_state=1)
    return X, y / y.std()


def _says(model, X):
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


def _agree(found, expected):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * scale)


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_the_order_of_rows_and_of_columns_does_not_matter(model):
    X, y = _data(model)
    expected = _says(model.fit(X, y), X)
    rows = np.random.default_rng(0).permutation(len(y))
    _agree(_says(model.fit(X[rows], y[rows]), X), expected)
    _agree(_says(model.fit(X[:, ::-1], y), X[:, ::-1]), expected)


@pytest.mark.parametrize("model", [m for m in MACHINES if is_classifier(m)], ids=str)
def test_exchanged_labels_turn_the_sign(model):
    X, y = _data(model)
    expected = _says(model.fit(X, y), X)
    _agree(_says(model.fit(X, 1 - y), X), -expected)


@pytest.mark.parametrize("model", [m for m in MACHINES if "C" in m.get_params()], ids=str)
def test_twice_the_weight_is_twice_the_price_is_the_row_twice(model):
    X, y = _data(model)
    model.set_params(C=2.0)
    expected = _says(model.fit(X, y), X)
    model.set_params(C=1.0)
    if not isinstance(model, NuSVR):  # there nu is a share of the weight, which C is not
        _agree(_says(model.fit(X, y, sample_weight=np.full(len(y), 2.0)), X), expected)
    _agree(
        _says(model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2)), X),
        _says(model.fit(X, y, sample_weight=np.full(len(y), 2.0)), X),
    )


# Far from the origin. Dense points, and sparse ones that are more than 60 % full, are centred.


@pytest.mark.parametrize("shift", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("kernel", [RBF(0.1), Laplacian(0.1)], ids=str)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("cls", [SVC, SVR, KernelRidge])
def test_a_shift_moves_decisions_by_no_more_than_it_rounds_the_points(
    cls, container, kernel, shift
):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(120)
    y = np.where(y > 0, 1, 0) if cls is SVC else y
    far = container(X + shift)
    # The same points at the origin as X + shift can hold them, so that only our errors are left.
    near = _says(cls(kernel=kernel).fit((X + shift) - shift, y), (X + shift) - shift)
    found = _says(cls(kernel=kernel).fit(far, y), far)
    scale = max(1.0, np.abs(near).max())
    np.testing.assert_allclose(found, near, rtol=0, atol=100 * np.spacing(shift) * scale + 1e-9)


def test_stored_points_that_are_mostly_full_keep_their_digits():
    """70 % of the entries are far from zero and the others are not stored: still centred."""
    rng = np.random.default_rng(1)
    X = np.where(np.arange(30) < 21, 1e6 + rng.standard_normal((40, 30)), 0.0)
    stored = sparse.csr_array(X)
    assert stored.nnz == 0.7 * X.size
    found = Pairs(*points_of(stored)).squared_distances()
    np.testing.assert_allclose(found, cdist(X, X, "sqeuclidean"), rtol=0, atol=1e-8)
    np.testing.assert_allclose(RBF(0.1)(stored), RBF(0.1)(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_what_is_promised_for_very_sparse_points_far_from_the_origin(size):
    """They are not centred, which would fill them: |x - z|^2 is right to rounding of |x|^2."""
    rng = np.random.default_rng(1)
    X = np.where(rng.random((40, 30)) < 0.1, size + rng.standard_normal((40, 30)), 0.0)
    X[1::2] = X[::2] + 0.1 * (X[::2] != 0) * rng.standard_normal((20, 30))  # near neighbours
    squares = (X**2).sum(axis=1)
    bound = 8 * np.finfo(float).eps * (squares[:, None] + squares)
    found = Pairs(*points_of(sparse.csr_array(X))).squared_distances()
    assert np.all(np.abs(found - cdist(X, X, "sqeuclidean")) <= bound)
    # The Laplacian kernel subtracts feature by feature and loses nothing.
    exact = np.exp(-0.5 * cdist(X, X, "cityblock"))
    np.testing.assert_allclose(Laplacian(0.5)(sparse.csr_array(X)), exact, rtol=0, atol=1e-13)


# Several classes.


@pytest.mark.parametrize(("cls", "shape"), [(SVC, "ovo"), (SVC, "ovr"), (NuSVC, "ovo")])
def test_fifty_classes_vote_as_scikit_learns(cls, shape):
    X, y = make_blobs(300, 4, centers=50, cluster_std=1.0, random_state=0)
    options = {"gamma": 0.05, "tol": 1e-8, "decision_function_shape": shape}
    ours = cls(**options).fit(X, y)
    theirs = getattr(sklearn.svm, cls.__name__)(**options).fit(X, y)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    expected = theirs.decision_function(X)
    assert ours.decision_function(X).shape == expected.shape
    np.testing.assert_allclose(ours.decision_function(X), expected, rtol=0, atol=2e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_a_class_of_one_row_is_a_class(shape):
    X, y = make_blobs(90, 2, centers=3, cluster_std=2.0, random_state=0)
    lonely = np.concatenate([np.flatnonzero(y != 1), np.flatnonzero(y == 1)[:1]])
    X, y = X[lonely], y[lonely]
    options = {"tol": 1e-8, "decision_function_shape": shape}
    ours, theirs = SVC(**options).fit(X, y), sklearn.svm.SVC(**options).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-3
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
