"""Every engine gives the numbers of plain NumPy, whatever its tiles, threads and caches do."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from maxmargin import arrays, engines
from maxmargin.engines.cpu import CPUEngine
from maxmargin.engines.rows import NOT_STORED, RowCache
from maxmargin.errors import KernelError
from maxmargin.kernels import RBF, Custom, Laplacian, Linear, Polynomial, Precomputed

N = 1100  # more than one tile of columns, and several panels of rows
ROW = 8 * N  # bytes of a row in float64
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}


def inverse_distance(X, Z):
    """A kernel function of the user's: the inverse multiquadric, on dense or sparse rows."""
    X, Z = (rows.toarray() if sparse.issparse(rows) else rows for rows in (X, Z))
    squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * X @ Z.T
    return 1 / np.sqrt(1 + np.maximum(squares, 0))


def decay(X):
    return 1 / (1 + np.asarray(abs(X).sum(axis=1)).ravel())


KERNELS = {
    "rbf": RBF(0.3),
    "polynomial": Polynomial(3, 0.3, 1.0),
    "linear": Linear(),
    "laplacian": Laplacian(0.3),
    "sum": 0.5 * RBF(0.2) + Linear(),
    "product": Polynomial(1, coef0=1.0) * RBF(0.1).conformal(decay),
    "normalised": (Linear() ** 2).normalised(),
    "exp": (0.1 * Linear()).exp(),
    "precomputed": Precomputed(),
    "custom": Custom(inverse_distance),
}
# A thin matrix is dense but mostly zeros; a wide one sparse, with more features than fit a table.
STORAGES = {"dense": (5, 0.6), "sparse": (5, 0.6), "thin": (40, 0.1), "wide": (3000, 0.02)}
every_engine = pytest.mark.parametrize("name", engines.NAMES)
every_kernel = pytest.mark.parametrize("title", KERNELS)
both_storages = pytest.mark.parametrize("storage", STORAGES)
both_precisions = pytest.mark.parametrize("dtype", TOLERANCE, ids=["float64", "float32"])


@cache
def case(title, storage):
    """The kernel, its rows, and the whole matrix by NumPy."""
    rng = np.random.default_rng(8)
    n_features, share = STORAGES[storage]
    X = rng.standard_normal((N, n_features)) / np.sqrt(share * n_features / 3)
    X *= rng.random((N, n_features)) < share
    X = RBF(0.2)(X) if title == "precomputed" else X
    X = sparse.csr_array(X) if storage in ("sparse", "wide") else X
    K = KERNELS[title](X)
    K.flags.writeable = False
    return KERNELS[title], X, K


def assert_close(actual, expected, dtype=np.float64, scale=None):
    scale = np.abs(expected).max() if scale is None else scale
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE[dtype] * scale)


def row_sets():
    rng = np.random.default_rng(9)
    yield np.arange(N)
    yield rng.permutation(N)
    yield rng.permutation(N)[:80]
    yield rng.permutation(N)[:300]
    yield rng.integers(0, N, 300)  # some of them twice
    yield np.array([7])


def rounds(n_rounds=24):
    """Rows and steps such that a cache fills, is used again, and must make room for others."""
    rng = np.random.default_rng(10)
    for k in range(n_rounds):
        in_use = np.arange(60) + 60 * (k // 6)
        rows = rng.choice(in_use, 30, replace=False)
        if k % 8 == 5:
            rows = rng.choice(N, 400, replace=False)  # more than one panel
        yield rows, rng.standard_normal(len(rows))


@every_engine
@every_kernel
@both_storages
@both_precisions
def test_block_is_that_of_the_matrix(name, title, storage, dtype):
    kernel, X, K = case(title, storage)
    with engines.engine_named(name) as engine:
        matrix = engine.kernel_matrix(kernel, X, dtype, 2**20)
        assert matrix.n == N
        for rows in row_sets():
            block = matrix.block(rows)
            assert block.dtype == dtype
            assert_close(block, K[np.ix_(rows, rows)], dtype, np.abs(K).max())


@every_engine
@every_kernel
@both_storages
@both_precisions
@pytest.mark.parametrize("cache_bytes", [40 * ROW, 2**30], ids=["tiny", "large"])
def test_subtract_is_the_product_however_much_is_cached(name, title, storage, dtype, cache_bytes):
    kernel, X, K = case(title, storage)
    gradient = np.random.default_rng(11).standard_normal(N)
    with engines.engine_named(name) as engine:
        matrix = engine.kernel_matrix(kernel, X, dtype, cache_bytes)
        for rows, steps in rounds():
            before = gradient.copy()
            after = matrix.subtract(gradient, rows, steps)
            np.testing.assert_array_equal(gradient, before)
            assert after.dtype == np.float64
            scale = np.abs(K).max() * np.abs(steps).sum()
            assert_close(after, before - K[:, rows] @ steps, dtype, scale)
            gradient = after


@every_engine
def test_subtracting_no_rows_changes_nothing(name):
    kernel, X, _ = case("rbf", "dense")
    gradient = np.random.default_rng(0).standard_normal(N)
    with engines.engine_named(name) as engine:
        matrix = engine.kernel_matrix(kernel, X, np.float64, ROW)
        after = matrix.subtract(gradient, np.arange(0), np.zeros(0))
    np.testing.assert_array_equal(after, gradient)


@every_engine
@every_kernel
@both_storages
@pytest.mark.parametrize("n_points", [N, 100, 1])
def test_expansion_is_the_product(name, title, storage, n_points):
    kernel, X, K = case(title, storage)
    rng = np.random.default_rng(12)
    support, coef = rng.permutation(N)[:600], rng.standard_normal((600, 3))
    Z = np.empty((600, 0)) if kernel.takes == "gram" else X[support]
    with engines.engine_named(name) as engine:
        expansion = engine.expand(kernel, X[:n_points], Z, coef, support)
    assert expansion.shape == (n_points, 3)
    assert_close(expansion, K[:n_points, support] @ coef)


@every_engine
@every_kernel
@both_storages
def test_expansion_over_parts_is_the_product_with_each(name, title, storage):
    kernel, X, K = case(title, storage)
    rng = np.random.default_rng(12)
    support, coef = rng.permutation(N)[:600], rng.standard_normal((600, 3))
    Z = np.empty((600, 0)) if kernel.takes == "gram" else X[support]
    ends = [0, 1, 1, 30, 250, 560, 600]  # one point, none, some, more than a panel holds
    parts = [slice(*part) for part in pairwise(ends)]
    with engines.engine_named(name) as engine:
        expansion = engine.expand(kernel, X[:100], Z, coef, support, parts)
    assert expansion.shape == (100, 6, 3)
    for k, part in enumerate(parts):
        assert_close(expansion[:, k], K[:100, support[part]] @ coef[part])


@every_engine
def test_expansion_over_no_points_is_zero(name):
    kernel, X, _ = case("rbf", "dense")
    with engines.engine_named(name) as engine:
        expansion = engine.expand(kernel, X, X[:0], np.zeros((0, 2)), np.arange(0))
    np.testing.assert_array_equal(expansion, np.zeros((N, 2)))


@every_engine
@pytest.mark.parametrize("order", ["whole", "permuted", "repeated", "none"])
def test_f_at_the_training_points_is_the_product_whatever_block_was_asked_for(name, order):
    """A block of as many variables as there are rows need not hold every row."""
    rng = np.random.default_rng(0)
    X, coef, rows = rng.standard_normal((60, 3)), rng.standard_normal(40), rng.permutation(60)[:40]
    asked = {
        "whole": np.arange(60),
        "permuted": rng.permutation(60),
        "repeated": np.tile(np.arange(30), 2),
        "none": None,
    }[order]
    kernel = RBF(0.5)
    with engines.engine_named(name) as engine:
        matrix = engine.kernel_matrix(kernel, X, np.float64, 1 << 20)
        if asked is not None:
            assert not matrix.block(asked).flags.writeable
        for _ in range(2):
            found = engine.expansion(kernel, X, rows, coef)
            np.testing.assert_allclose(found, kernel(X, X[rows]) @ coef, atol=1e-12)
            found[:] = 0.0  # which is the caller's own
        found = engine.expansion(kernel, X, rows, 2 * coef)
    np.testing.assert_allclose(found, kernel(X, X[rows]) @ (2 * coef), atol=1e-12)


@every_engine
def test_strings_pass_through_an_engine_as_they_are(name):
    words = [str(k) * (1 + k % 7) for k in range(N)]

    def shorter(left, right):
        return np.minimum.outer([len(word) for word in left], [len(word) for word in right])

    K = shorter(words, words)
    rows, steps = np.arange(0, N, 3), np.linspace(-1, 1, len(range(0, N, 3)))
    with engines.engine_named(name) as engine:
        matrix = engine.kernel_matrix(Custom(shorter), words, np.float64, 2**30)
        for some in (rows, rows[:50]):
            np.testing.assert_array_equal(matrix.block(some), K[np.ix_(some, some)])
        for _ in range(3):
            assert_close(matrix.subtract(np.zeros(N), rows, steps), -K[:, rows] @ steps)
        Z = [words[row] for row in rows]
        assert_close(
            engine.expand(Custom(shorter), words, Z, steps[:, None]), K[:, rows] @ steps[:, None]
        )


@every_engine
@both_precisions
def test_points_far_from_the_origin_lose_no_digit(name, dtype):
    kernel, X, K = case("rbf", "dense")
    far, rows, steps = X + 1e6, np.arange(0, N, 2), np.ones(N // 2)
    tolerance = 100 * np.spacing(1e6) + 10 * np.finfo(dtype).eps
    with engines.engine_named(name) as engine:
        matrix = engine.kernel_matrix(kernel, far, dtype, 0)
        np.testing.assert_allclose(matrix.block(np.arange(N)), K, rtol=0, atol=tolerance)
        after = matrix.subtract(np.zeros(N), rows, steps)
        np.testing.assert_allclose(after, -K[:, rows] @ steps, rtol=0, atol=tolerance * len(rows))
        expansion = engine.expand(kernel, far, far[rows], steps[:, None])
        np.testing.assert_allclose(expansion[:, 0], K[:, rows] @ steps, rtol=1e-6)


@every_engine
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3), RBF() + Linear() ** 2], ids=str)
@both_storages
@both_precisions
@pytest.mark.parametrize("step", ["small block", "large block", "subtract", "expand"])
def test_overflow_is_a_kernel_error(name, kernel, storage, dtype, step):
    X = np.random.default_rng(13).standard_normal((N, 5)) * (1e160 if dtype == np.float64 else 1e25)
    X = sparse.csr_array(X) if storage == "sparse" else X
    rows = np.arange(300)
    with engines.engine_named(name) as engine:
        matrix = engine.kernel_matrix(kernel, X, dtype, 2**30)
        steps = {
            "small block": lambda: matrix.block(rows[:50]),
            "large block": lambda: matrix.block(rows),
            "subtract": lambda: matrix.subtract(np.zeros(N), rows, np.ones(300)),
            "expand": lambda: engine.expand(kernel, X * 1e140, X[rows] * 1e140, np.ones((300, 1))),
        }
        with pytest.raises(KernelError, match=r"kernel overflow: .* is not finite on this data"):
            steps[step]()


# The cpu engine.


@every_kernel
@both_storages
@both_precisions
def test_number_of_threads_does_not_change_a_bit(title, storage, dtype):
    kernel, X, _ = case(title, storage)
    coef = np.random.default_rng(14).standard_normal((400, 2))
    Z = np.empty((400, 0)) if kernel.takes == "gram" else X[:400]

    def results(n_threads):
        with CPUEngine(n_threads) as engine:
            matrix = engine.kernel_matrix(kernel, X, dtype, 40 * ROW)
            gradient = np.ones(N)
            for rows, steps in rounds(6):
                gradient = matrix.subtract(gradient, rows, steps)
            block = matrix.block(np.arange(N)[::2])
            return gradient, block, engine.expand(kernel, X, Z, coef, np.arange(400))

    alone = results(1)
    for n_threads in (2, 3, 8):
        for one, other in zip(alone, results(n_threads), strict=True):
            np.testing.assert_array_equal(other, one)


def test_cached_rows_are_not_computed_again():
    _, X, _ = case("rbf", "dense")
    computed = []

    def counting(A, B):
        computed.append(len(A) * len(B))
        return inverse_distance(A, B)

    def entries_per_round(cache_bytes):
        counts = []
        with CPUEngine(1) as engine:
            matrix = engine.kernel_matrix(Custom(counting), X, np.float64, cache_bytes)
            for _ in range(4):
                computed.clear()
                matrix.subtract(np.zeros(N), np.arange(30), np.ones(30))
                counts.append(sum(computed))
        return counts

    whole = 30 * N
    assert entries_per_round(0) == [whole] * 4
    assert entries_per_round(30 * ROW) == [whole, whole, 0, 0]
    assert entries_per_round(10 * ROW) == [whole, whole, whole * 2 // 3, whole * 2 // 3]


@pytest.mark.parametrize("storage", ["dense", "sparse", "thin"])
@both_precisions
def test_cache_and_copies_of_the_points_share_the_memory(storage, dtype):
    kernel, X, _ = case("rbf", storage)
    cache_bytes = 40 * ROW
    with CPUEngine(1) as engine:
        matrix = engine.kernel_matrix(kernel, X, dtype, cache_bytes)
        matrix.subtract(np.zeros(N), np.arange(2), np.ones(2))
    used = matrix.points.n_bytes + matrix._cache.store.nbytes
    assert cache_bytes - ROW < used <= cache_bytes


# The cache of rows, on its own.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_bytes", [-5, 0, 799, 800, 4000.5, 10**6])
def test_cache_has_no_more_slots_than_fit(dtype, n_bytes):
    store = RowCache(20, 100, dtype, n_bytes).store
    fit = int(max(0, n_bytes)) // (100 * np.dtype(dtype).itemsize)
    assert store.shape == (min(20, fit), 100)
    assert store.dtype == dtype


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.integers(0, 8),
    st.lists(st.lists(st.integers(0, 14), unique=True, max_size=8), min_size=1, max_size=25),
)
def test_stored_row_is_returned_unchanged_until_it_is_evicted(n_slots, requests):
    cache = RowCache(15, 3, np.float64, n_slots * 3 * 8)
    holds = {}  # slot -> row, as an onlooker would note it
    for rows in map(np.array, requests):
        rows = rows.astype(int)
        stored, fill = cache.ask(rows)
        assert stored.shape == fill.shape == rows.shape
        for row, slot in zip(rows, stored, strict=True):
            if slot == NOT_STORED:
                assert row not in holds.values()
            else:
                assert holds[slot] == row
                np.testing.assert_array_equal(cache.store[slot], row)
        at_hand, written = stored[stored != NOT_STORED], fill[fill != NOT_STORED]
        assert not set(at_hand) & set(written)  # what is being read is not overwritten
        assert len(set(written)) == len(written)
        assert np.all(written < n_slots)
        for row, slot in zip(rows, fill, strict=True):
            if slot != NOT_STORED:
                holds[slot] = row
                cache.store[slot] = row
        assert len(set(holds.values())) == len(holds) <= n_slots


def test_row_is_stored_when_it_is_asked_for_again():
    cache = RowCache(10, 4, np.float64, 10**6)
    rows = np.array([3, 5])
    for expected_stored, expected_fill in [
        ([NOT_STORED] * 2, [NOT_STORED] * 2),
        ([NOT_STORED] * 2, [0, 1]),
        ([0, 1], [NOT_STORED] * 2),
    ]:
        stored, fill = cache.ask(rows)
        np.testing.assert_array_equal(stored, expected_stored)
        np.testing.assert_array_equal(fill, expected_fill)


def test_row_in_use_keeps_its_place_and_an_unused_one_gives_it_up():
    cache = RowCache(10, 4, np.float64, 2 * 4 * 8)
    for _ in range(2):
        cache.ask(np.array([0, 1]))  # both places are taken
    fills = [cache.ask(np.array([1, 2]))[1][1] for _ in range(5)]
    assert fills[:3] == [NOT_STORED] * 3
    assert 0 in fills[3:]  # the place of row 0
    stored, _ = cache.ask(np.array([0, 1, 2]))
    np.testing.assert_array_equal(stored, [NOT_STORED, 1, 0])


def test_what_is_far_from_the_origin_is_not_taken_for_thin():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 60)) < 0.05, rng.standard_normal((300, 60)), 0.0)
    assert arrays.is_thin(X)
    X[:, 7] += 1e4  # one column of a mostly empty matrix
    assert not arrays.is_thin(X)
    with CPUEngine() as engine:
        block = engine.kernel_matrix(RBF(0.5), X, np.float32, 2**20).block(np.arange(300))
    assert_close(block, RBF(0.5)(X), np.float32)


def test_a_function_sees_the_rows_as_they_were_given():
    X = np.zeros((50, 40))
    X[:, 0] = np.arange(50)
    seen = []

    def kernel(A, B):
        seen.append(type(A))
        return np.asarray(A @ B.T)

    with CPUEngine() as engine:
        engine.kernel_matrix(Custom(kernel) + Linear(), X, np.float64, 2**20).block(np.arange(50))
    assert set(seen) == {np.ndarray}
