"""What the cpu engine promises beyond the contract of all: threads, caches, shared blocks."""

import threading
import time

import numpy as np
import pytest
from engine_cases import (
    ROW,
    N,
    assert_close,
    both_precisions,
    both_storages,
    case,
    every_kernel,
    inverse_distance,
    rounds,
)  # fmt: skip
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs
from threadpoolctl import ThreadpoolController, threadpool_limits

from maxmargin import SVC, NuSVC
from maxmargin.engines import cpu
from maxmargin.engines.base import MOST_BESIDE
from maxmargin.engines.cpu import CPUEngine, CPUKernelMatrix
from maxmargin.engines.rows import NOT_STORED, SHARED, BlockStore, RowCache
from maxmargin.engines.threads import single_threaded_blas, workers
from maxmargin.errors import KernelError
from maxmargin.kernels import RBF, Custom, Linear, Polynomial, pairs
from maxmargin.kernels.pairs import Points, _Source


@every_kernel
@both_storages
@both_precisions
def test_number_of_threads_does_not_change_a_bit(title, storage, dtype):
    kernel, X, _ = case(title, storage)
    coef = np.random.default_rng(14).standard_normal((400, 2))

    def results(n_threads):
        with CPUEngine(60 * ROW, n_threads) as engine:
            points = engine.points(X)
            matrix, gradient = engine.matrix(kernel, points), np.ones(N)
            for rows, steps in rounds(6):
                gradient = matrix.subtract(gradient, rows, steps, dtype)
            block = matrix._block(np.arange(N)[::2], np.dtype(dtype))
            return gradient, block, engine.expand(kernel, points, points[:400], coef)

    alone = results(1)
    for n_threads in (2, 3, 8):
        for one, other in zip(alone, results(n_threads), strict=True):
            np.testing.assert_array_equal(other, one)


@both_storages
@pytest.mark.parametrize("work", ["rbf", "laplacian", "linear", "waves"])
def test_number_of_threads_does_not_change_a_bit_of_many_functions(work, storage):
    kernel, X, _ = case("rbf" if work == "waves" else work, storage)
    rng = np.random.default_rng(14)
    coef, frequencies = rng.standard_normal((500, 500)), rng.standard_normal((500, X.shape[1]))

    def features(n_threads):
        out = np.empty((N, 500))
        with CPUEngine(0, n_threads) as engine:
            points = engine.points(X)
            if work == "waves":
                engine.waves(points, frequencies, np.zeros(500), 1.0, out)
            else:
                engine.expand(kernel, points, points[:500], coef, out=out)
        return out

    alone = features(1)
    for n_threads in (2, 3, 8):
        np.testing.assert_array_equal(features(n_threads), alone)


@both_storages
@pytest.mark.parametrize("title", ["rbf", "linear"])
def test_many_functions_are_made_in_parts_where_one_would_be_too_large(title, storage, monkeypatch):
    kernel, X, K = case(title, storage)
    rng = np.random.default_rng(15)
    coef, frequencies = rng.standard_normal((90, 40)), rng.standard_normal((40, X.shape[1]))
    for limit in ("COLLAPSED", "TILE_PRODUCTS", "TABLE_NUMBERS"):
        monkeypatch.setattr(cpu, limit, 40)
    monkeypatch.setattr(cpu, "LONG_PANEL", 32)
    sums, waves = np.empty((N, 40)), np.empty((N, 80))
    with CPUEngine(0) as engine:
        points = engine.points(X)
        engine.expand(kernel, points[:50], points[:90], coef, out=sums[:50])
        engine.waves(points, frequencies, np.zeros(40), 1.0, waves)
    angles = X @ frequencies.T
    assert_close(sums[:50], K[:50, :90] @ coef)
    assert_close(waves, np.hstack([np.cos(angles), np.sin(angles)]))


def test_cached_rows_are_not_computed_again():
    _, X, _ = case("rbf", "dense")
    computed = []

    def counting(A, B):
        computed.append(len(A) * len(B))
        return inverse_distance(A, B)

    def entries_per_round(cache_bytes):
        counts = []
        with CPUEngine(1.5 * cache_bytes, 1) as engine:  # a third of which is for blocks
            matrix = engine.matrix(Custom(counting), X)
            for _ in range(4):
                computed.clear()
                matrix.subtract(np.zeros(N), np.arange(30), np.ones(30), np.float64)
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
    cache_bytes = 60 * ROW
    with CPUEngine(cache_bytes, 1) as engine:
        matrix = engine.matrix(kernel, X)
        matrix.subtract(np.zeros(N), np.arange(2), np.ones(2), dtype)
    used = matrix._rows.points.n_bytes + matrix._rows.cache.store.nbytes
    assert 40 * ROW - ROW < used <= 40 * ROW  # the rest is for blocks


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
    assert Points(X, may_be_thin=True).is_thin
    X[:, 7] += 1e4  # one column of a mostly empty matrix
    assert not Points(X, may_be_thin=True).is_thin
    with CPUEngine() as engine:
        block = engine.matrix(RBF(0.5), X)._block(np.arange(300), np.dtype(np.float32))
    assert_close(block, RBF(0.5)(X), np.float32)


def test_a_function_sees_the_rows_as_they_were_given():
    X = np.zeros((50, 40))
    X[:, 0] = np.arange(50)
    seen = []

    def kernel(A, B):
        seen.append(type(A))
        return np.asarray(A @ B.T)

    with CPUEngine() as engine:
        engine.matrix(Custom(kernel) + Linear(), X).values(np.arange(50))
    assert set(seen) == {np.ndarray}


@pytest.mark.parametrize("step", ["block", "subtract"])
def test_what_is_beyond_float32_overflows_in_it_alone(step):
    X = np.random.default_rng(13).standard_normal((300, 5)) * 1e25
    rows = np.arange(200)
    with CPUEngine() as engine:
        matrix = engine.matrix(Linear(), X)
        steps = {
            "block": lambda: matrix._block(rows, np.dtype(np.float32)),
            "subtract": lambda: matrix.subtract(np.zeros(300), rows, np.ones(200), np.float32),
        }
        with pytest.raises(KernelError, match="not finite on this data"):
            steps[step]()
        assert np.all(np.isfinite(matrix.values(rows)))


# Blocks that machines share.

SOURCE = _Source(None, None, False)


def test_a_block_is_made_once():
    store, made, begin = BlockStore(1 << 20), [], threading.Barrier(4)

    def ask():
        begin.wait()
        for name in range(3):
            store.block(SOURCE, name, 8, lambda name=name: made.append(name) or np.full(2, name))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 1, 2]


def test_after_an_error_the_next_one_tries_again():
    store = BlockStore(1 << 20)
    with pytest.raises(ZeroDivisionError):
        store.block(SOURCE, "a", 8, lambda: 1 / 0)
    assert store.block(SOURCE, "a", 8, lambda: 5) == 5


def test_what_does_not_fit_is_made_each_time():
    store, made = BlockStore(100 / SHARED), []
    for name in ("a", "b", "a", "b"):
        store.block(SOURCE, name, 60, lambda name=name: made.append(name) or 1)
    assert made == ["a", "b", "b"]


def test_blocks_of_rows_that_are_gone_leave_their_room_to_others():
    store = BlockStore(100 / SHARED)
    for _ in range(5):
        source = _Source(None, None, False)
        store.block(source, "a", 60, lambda: 1)
        assert len(store) == 1
        del source


@pytest.mark.parametrize("kernel", [RBF(0.2), Linear(), Polynomial(degree=3, gamma=0.1)], ids=str)
@both_precisions
def test_a_matrix_from_pieces_is_the_same(kernel, dtype):
    X = np.random.default_rng(0).normal(size=(900, 5)) + 30.0
    one, other = np.arange(0, 900, 2), np.arange(1, 900, 2)
    K = kernel(X)[np.ix_(np.append(one, other), np.append(one, other))]
    with CPUEngine() as engine:
        points = engine.points(X)
        for _ in range(2):
            matrix = engine.matrix(kernel, points.join(one, other))
            block = matrix._block(np.arange(900), np.dtype(dtype))
            np.testing.assert_allclose(block, K, rtol=1e-4, atol=1e-6)
        assert len(engine.store) == 2


@pytest.mark.parametrize("model", [SVC(tol=1e-6), NuSVC(nu=0.1, tol=1e-6)], ids=["SVC", "NuSVC"])
def test_pairs_of_classes_share_what_lies_within_them(model, monkeypatch):
    X, y = make_blobs([400, 380, 420, 410], 6, cluster_std=4.0, random_state=0)
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order], y[order]
    with CPUEngine() as engine:
        shared = clone(model).set_params(engine=engine).fit(X, y)
        assert len(engine.store) >= 4
    monkeypatch.setattr(CPUKernelMatrix, "_from_pieces", lambda *given: None)
    alone = clone(model).fit(X, y)
    assert shared.certificate_.optimal
    np.testing.assert_allclose(
        shared.certificate_.dual_objective, alone.certificate_.dual_objective, rtol=1e-5
    )
    np.testing.assert_allclose(shared.decision_function(X), alone.decision_function(X), atol=1e-4)


def test_what_an_engine_shares_is_never_that_of_other_data():
    """Rows that are gone may leave their place in memory to others."""
    rng = np.random.default_rng(0)
    one, other = np.arange(0, 800, 2), np.arange(1, 800, 2)
    with CPUEngine() as engine:
        for _ in range(20):
            X = rng.standard_normal((800, 2))
            points = engine.points(X).join(one, other)
            block = engine.matrix(RBF(0.5), points)._block(np.arange(800), np.dtype(np.float32))
            rows = np.append(one, other)
            np.testing.assert_allclose(block[:5], RBF(0.5)(X[rows[:5]], X[rows]), atol=1e-5)
            del points, block, X


def test_an_engine_that_is_held_open_serves_several_fits():
    X, y = make_blobs(600, 4, centers=3, cluster_std=4.0, random_state=0)
    asked = []

    def counting(A, B):
        asked.append(len(A) * len(B))
        return inverse_distance(A, B)

    kernel = Custom(counting, positive_semidefinite=True)
    with CPUEngine() as engine:
        first = SVC(kernel=kernel, engine=engine).fit(X, y)
        entries = sum(asked)
    asked.clear()
    second = SVC(kernel=kernel).fit(X, y)
    assert sum(asked) == entries
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)


def test_tiles_of_a_prediction_make_their_own_forms(monkeypatch):
    """Of all rows at once, every thread would make them anew."""
    sizes = []
    original = pairs._shifted
    monkeypatch.setattr(
        pairs, "_shifted", lambda X, *rest: sizes.append(len(X)) or original(X, *rest)
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    model = SVC().fit(X[:200], X[:200, 0] > 0)
    sizes.clear()
    model.predict(X)
    assert max(sizes) <= 512


def test_an_engine_is_shared_by_threads_that_come_and_go():
    X = np.random.default_rng(0).standard_normal((900, 2))
    engine, errors = CPUEngine(n_threads=2), []

    def work():
        try:
            for _ in range(15):
                with engine:
                    engine.matrix(RBF(1.0), X).values(np.arange(900))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_no_more_machines_run_side_by_side_than_share_the_memory():
    running, most = [], []
    with CPUEngine(n_threads=16) as engine:

        def work(item):
            running.append(item)
            most.append(len(running))
            time.sleep(0.01)
            running.remove(item)

        engine.side_by_side(work, range(32))
    assert max(most) <= MOST_BESIDE


@pytest.mark.parametrize("engine", [CPUEngine, "gpu", 3, None])
def test_what_is_no_engine_is_refused_by_name(engine):
    with pytest.raises(ValueError, match="SVC: engine must be one of 'auto', 'cpu', 'plain' or an"):
        SVC(engine=engine).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, "two"])
def test_a_number_of_threads_that_is_none_is_refused_by_name(n_threads):
    with pytest.raises(ValueError, match="CPUEngine: n_threads must be None or a whole number of"):
        CPUEngine(n_threads=n_threads)


def test_an_engine_that_is_not_open_starts_no_threads_and_leaves_blas_alone():
    _, X, K = case("rbf", "dense")
    rows, coef = np.arange(N), np.ones((N, 1))
    with threadpool_limits(3, user_api="blas"):
        engine, before = CPUEngine(n_threads=4), threading.active_count()
        points = engine.points(X)
        assert_close(engine.matrix(RBF(0.3), points).values(rows), K)
        assert_close(engine.expand(RBF(0.3), points, points, coef), K @ coef)
        assert threading.active_count() == before
        libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        assert {library.num_threads for library in libraries} == {3}


def test_a_pool_that_the_garbage_collector_closes_waits_for_nothing():
    """It may do so in the middle of the counting of those that limit BLAS."""

    def forget_a_pool():
        pool = workers(1)
        pool.__enter__()
        with single_threaded_blas()._lock:
            del pool

    thread = threading.Thread(target=forget_a_pool, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("dtype", [">f8", "g", "f2", "i1", "f4"])
def test_thin_rows_may_be_numbers_of_any_kind(dtype):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 40)) < 0.1, rng.integers(1, 5, (200, 40)), 0)
    with CPUEngine() as engine:
        values = engine.matrix(RBF(0.1), engine.points(X.astype(dtype))).values(np.arange(200))
    assert_close(values, RBF(0.1)(X.astype(float)))
