"""gamma: by name, by number, and by width."""

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse

from maxmargin.kernels import RBF, Laplacian, Polynomial, Sigmoid

WITH_GAMMA = [RBF, Laplacian, Polynomial, Sigmoid]
LAYOUTS = ["csr_array", "csr_matrix", "csc_array", "coo_array", "lil_matrix"]


def some_points(n=60):
    rng = np.random.default_rng(2)
    return (rng.standard_normal((n, 4)) * 3 + 1) * (rng.random((n, 4)) < 0.5)


@pytest.mark.parametrize("sigma", [0.1, 1.0, 7.5])
def test_sigma_is_gamma_by_another_name(sigma):
    X = some_points()
    np.testing.assert_array_equal(RBF(sigma=sigma)(X), RBF(gamma=1 / (2 * sigma**2))(X))


def test_sigma_decides_when_both_are_given():
    X = some_points()
    np.testing.assert_array_equal(RBF("scale", sigma=2.0)(X), RBF(sigma=2.0)(X))


@pytest.mark.parametrize("name", ["scale", "auto"])
@pytest.mark.parametrize("layout", ["dense", "csr_array", "csr_matrix"])
def test_named_gamma_is_the_number_of_scikit_learn(name, layout):
    X, y = some_points(), np.arange(60) % 2
    stored = X if layout == "dense" else getattr(sparse, layout)(X)
    theirs = sklearn.svm.SVC(gamma=name).fit(stored, y)._gamma
    for kind in WITH_GAMMA:
        assert kind(gamma=name).resolve(stored).gamma == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scale_does_not_depend_on_how_the_matrix_is_stored(layout):
    X = some_points()
    expected = RBF("scale").resolve(X).gamma
    stored = getattr(sparse, layout)
    assert RBF("scale").resolve(stored(X)).gamma == pytest.approx(expected, rel=1e-12)
    weight = np.arange(1.0, 61.0)
    expected = RBF("scale").resolve(X, weight).gamma
    assert RBF("scale").resolve(stored(X), weight).gamma == pytest.approx(expected, rel=1e-12)


def test_scale_of_other_containers_and_types():
    X = np.round(some_points())
    expected = RBF("scale").resolve(X).gamma
    for same in (X.tolist(), X.astype(int), X.astype(np.float32), sparse.csr_array(X.astype("f"))):
        assert RBF("scale").resolve(same).gamma == pytest.approx(expected, rel=1e-12)


def test_scale_sums_the_duplicates_of_a_sparse_matrix():
    split = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    for stored in (split, sparse.csr_array(split)):
        expected = RBF("scale").resolve(split.toarray()).gamma
        assert RBF("scale").resolve(stored).gamma == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_weight_counts_a_row_as_often_as_it_says(stored):
    X = some_points(20)
    weight = np.random.default_rng(0).integers(0, 4, 20)
    repeated = RBF("scale").resolve(stored(np.repeat(X, weight, axis=0))).gamma
    assert RBF("scale").resolve(stored(X), weight).gamma == pytest.approx(repeated, rel=1e-12)
    assert RBF("scale").resolve(stored(X), 5.0 * weight).gamma == pytest.approx(repeated, rel=1e-12)
    assert RBF("scale").resolve(stored(X)).gamma != pytest.approx(repeated, rel=1e-3)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("constant", [0.0, 1.0, 0.1, 0.3, -1e8 - 0.1])
def test_scale_is_one_where_nothing_varies(constant, stored):
    X = np.full((101, 3), constant)
    assert RBF("scale").resolve(stored(X)).gamma == 1.0
    X[7] = 5.0
    weight = np.where(np.arange(101) == 7, 0.0, 0.3)
    assert RBF("scale").resolve(stored(X), weight).gamma == 1.0
    assert RBF("scale").resolve(stored(X)).gamma != 1.0


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
def test_scale_keeps_its_digits_far_from_the_origin(shift):
    X = np.round(some_points(), 1) * 1024  # exact, also after the shift
    for stored in (X + shift, sparse.csr_array(X + shift)):
        assert RBF("scale").resolve(stored).gamma == pytest.approx(
            RBF("scale").resolve(X).gamma, rel=1e-12
        )


@pytest.mark.parametrize("kind", WITH_GAMMA)
@pytest.mark.parametrize("name", ["scale", "auto"])
def test_gamma_that_is_still_a_name_is_refused(kind, name):
    kernel = kind(gamma=name)
    message = (
        f"{kind.__name__}: gamma={name!r} is a number only once there is data; "
        "call kernel.resolve(X) first, or give a number."
    )
    for call in (kernel, kernel.diagonal, (kernel + kernel)):
        with pytest.raises(ValueError) as refusal:
            call(some_points())
        assert str(refusal.value) == message
    assert kernel.gamma == name


def test_number_is_left_as_it_is_by_resolve():
    assert RBF(0.25).resolve(some_points()).gamma == 0.25
