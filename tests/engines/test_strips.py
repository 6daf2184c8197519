"""What compiled strips make of points equals what NumPy makes of them, for every storage."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin.engines.cpu import CPUEngine
from maxmargin.engines.plain import PlainEngine
from maxmargin.engines.strips import SHAPES, strips_for
from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

KERNELS = [RBF(0.2), Laplacian(0.1), Linear(), Polynomial(3, 0.3, 0.5), Polynomial(0), Sigmoid(0.1)]
N, D = 900, 40  # more values than one thread makes alone


def rows(storage):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    if storage == "dense":
        return X + 3.0
    X[rng.random((N, D)) < 0.9] = 0.0
    if storage == "wide":  # too many features for a table of all of them
        X = np.hstack([X, np.zeros((N, 5000))])[:, rng.permutation(D + 5000)]
    return X if storage == "thin" else sparse.csr_array(X)


STORAGES = ["dense", "thin", "sparse", "wide"]


@pytest.fixture(params=STORAGES)
def X(request):
    return rows(request.param)


def matrices(kernel, X):
    engines = CPUEngine(n_threads=2), PlainEngine()
    return [engine.matrix(kernel, engine.points(X)) for engine in engines]


def test_every_simple_kernel_has_compiled_strips():
    assert {type(kernel) for kernel in KERNELS} == set(SHAPES)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_matrix_equals_that_of_numpy_and_is_symmetric(kernel, X):
    order = np.random.default_rng(1).permutation(N)
    with CPUEngine(n_threads=2) as engine:
        values = engine.matrix(kernel, engine.points(X)).values(order)
    np.testing.assert_array_equal(values, values.T)
    expected = matrices(kernel, X)[1].values(order)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_multiples_of_rows_are_subtracted_whether_they_are_fresh_or_stored(kernel, X, dtype):
    rng = np.random.default_rng(2)
    fast, plain = matrices(kernel, X)
    gradient = rng.standard_normal(N)
    for _ in range(3):  # from the second time on, some rows are stored
        chosen, steps = rng.permutation(N)[:300], rng.standard_normal(300)
        expected = plain.subtract(gradient, chosen, steps, np.float64)
        found = fast.subtract(gradient, chosen, steps, np.dtype(dtype))
        size = np.abs(plain.values(np.arange(N))).max()
        atol = size * (1e-4 if dtype == "float32" else 1e-11)
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
        gradient = expected


@pytest.mark.parametrize("given", ["C", "F", "float32"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sums_over_the_parts_of_all_centres_are_those_of_numpy(kernel, X, given):
    centres, coef = np.arange(0, N, 3), np.random.default_rng(3).standard_normal((300, 3))
    parts = [slice(0, 5), slice(5, 290), slice(290, 300)]
    new = X.astype(np.float32) if given == "float32" else X
    if given == "F" and not sparse.issparse(X):
        new = np.asfortranarray(X)
    sums = []
    for engine in (CPUEngine(n_threads=2), PlainEngine()):
        points = engine.points(X)
        beside = engine.points(new, beside=points)
        sums.append(engine.expand(kernel, beside, points[centres], coef, parts))
    np.testing.assert_allclose(sums[0], sums[1], rtol=1e-9, atol=1e-9 * np.abs(sums[1]).max())


def test_points_of_either_storage_are_expanded_over_centres_of_the_other():
    X, coef = rows("thin"), np.random.default_rng(4).standard_normal((N, 1))
    answers = []
    for centres in (X, sparse.csr_array(X)):
        for new in (X, sparse.csr_array(X)):
            engine = CPUEngine()
            points = engine.points(centres)
            answers.append(engine.expand(RBF(0.2), engine.points(new, beside=points), points, coef))
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sums_over_no_centres_are_zero(kernel, X):
    with CPUEngine() as engine:
        centres = engine.points(X[:0])
        points = engine.points(X, beside=centres)
        sums = engine.expand(kernel, points, centres, np.empty((0, 2)))
    np.testing.assert_array_equal(sums, np.zeros((N, 2)))


@pytest.mark.parametrize("storage", ["dense", "thin", "sparse"])
@pytest.mark.parametrize("given", ["dense", "sparse"])
def test_points_far_out_lose_no_digits(storage, given):
    """Half of the points are so far out that |x|^2 + |z|^2 - 2 x.z keeps five digits or less."""
    X = rows(storage)
    X = np.vstack([X, X]) if isinstance(X, np.ndarray) else sparse.vstack([X, X]).toarray()
    X[N:, 0] += 1e6
    expected = np.exp(-0.2 * ((X[:, None, :50] - X[None, ::9, :50]) ** 2).sum(axis=2))
    coef = np.random.default_rng(5).standard_normal((2 * N, 1))[::9]
    with CPUEngine(n_threads=2) as engine:
        points = engine.points(sparse.csr_array(X) if storage == "sparse" else X)
        assert strips_for(RBF(0.2), points) is not None
        found = engine.matrix(RBF(0.2), points).values(np.arange(2 * N), np.arange(0, 2 * N, 9))
        new = engine.points(sparse.csr_array(X) if given == "sparse" else X, beside=points)
        sums = engine.expand(RBF(0.2), new, points[np.arange(0, 2 * N, 9)], coef)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(sums, expected @ coef, rtol=1e-8, atol=1e-10)


def test_kernels_put_together_from_others_are_left_to_numpy():
    points = CPUEngine().points(rows("dense"))
    assert strips_for(RBF(1.0) + Linear(), points) is None
