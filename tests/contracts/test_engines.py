"""Every engine gives the numbers of plain NumPy, whatever its tiles, threads and caches do."""

from functools import partial
from itertools import pairwise
from types import SimpleNamespace

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
)
from guarded_engine import GuardedEngine
from matrices import matrix_of
from oracle import oracle_objective
from scipy import sparse
from sklearn.base import clone

from maxmargin import SVC, SVR, KernelRidge, NuSVC, NuSVR, Nystroem, OneClassSVM, engines
from maxmargin.errors import KernelError
from maxmargin.kernels import RBF, Custom, Linear, Polynomial, Precomputed
from maxmargin.problems import c_svc, epsilon_svr, nu_svr, one_class

ENGINES = {name: partial(engines.engine_of, name) for name in engines.NAMES}
ENGINES["guarded"] = GuardedEngine
every_engine = pytest.mark.parametrize("name", ENGINES)


def row_sets():
    rng = np.random.default_rng(9)
    yield np.arange(N)
    yield rng.permutation(N)
    yield rng.permutation(N)[:80]
    yield rng.permutation(N)[:300]
    yield rng.integers(0, N, 300)  # some of them twice
    yield np.array([7])


@every_engine
@every_kernel
@both_storages
def test_values_are_those_of_the_matrix(name, title, storage):
    kernel, X, K = case(title, storage)
    with ENGINES[name](cache_bytes=2**20) as engine:
        matrix = engine.matrix(kernel, X)
        assert matrix.n == N
        for rows in row_sets():
            values = matrix.values(rows)
            assert values.dtype == np.float64
            assert_close(values, K[np.ix_(rows, rows)])
            values[:] = 0.0  # which are the caller's own
        rows, columns = np.arange(0, N, 7), np.arange(3, N, 2)
        assert_close(matrix.values(rows, columns), K[np.ix_(rows, columns)])


@every_engine
@every_kernel
@both_storages
@both_precisions
@pytest.mark.parametrize("cache_bytes", [60 * ROW, 2**30], ids=["tiny", "large"])
def test_subtract_is_the_product_however_much_is_cached(name, title, storage, dtype, cache_bytes):
    kernel, X, K = case(title, storage)
    gradient = np.random.default_rng(11).standard_normal(N)
    with ENGINES[name](cache_bytes=cache_bytes) as engine:
        matrix = engine.matrix(kernel, X)
        for rows, steps in rounds():
            before = gradient.copy()
            after = matrix.subtract(gradient, rows, steps, dtype)
            np.testing.assert_array_equal(gradient, before)
            assert after.dtype == np.float64
            scale = np.abs(K).max() * np.abs(steps).sum()
            assert_close(after, before - K[:, rows] @ steps, dtype, scale)
            gradient = after


@every_engine
def test_subtracting_no_rows_changes_nothing(name):
    kernel, X, _ = case("rbf", "dense")
    gradient = np.random.default_rng(0).standard_normal(N)
    with ENGINES[name]() as engine:
        after = engine.matrix(kernel, X).subtract(gradient, np.arange(0), np.zeros(0), np.float64)
    np.testing.assert_array_equal(after, gradient)


@every_engine
@every_kernel
@both_storages
@pytest.mark.parametrize("n_points", [N, 100, 1])
def test_expansion_is_the_product(name, title, storage, n_points):
    kernel, X, K = case(title, storage)
    rng = np.random.default_rng(12)
    support, coef = rng.permutation(N)[:600], rng.standard_normal((600, 3))
    with ENGINES[name]() as engine:
        points = engine.points(X)
        expansion = engine.expand(kernel, points[:n_points], points[support], coef)
    assert expansion.shape == (n_points, 3)
    assert_close(expansion, K[:n_points, support] @ coef)


@every_engine
@every_kernel
@both_storages
def test_expansion_over_parts_is_the_product_with_each(name, title, storage):
    kernel, X, K = case(title, storage)
    rng = np.random.default_rng(12)
    support, coef = rng.permutation(N)[:600], rng.standard_normal((600, 3))
    ends = [0, 1, 1, 30, 250, 560, 600]  # one point, none, some, more than a panel holds
    parts = [slice(*part) for part in pairwise(ends)]
    with ENGINES[name]() as engine:
        points = engine.points(X)
        expansion = engine.expand(kernel, points[:100], points[support], coef, parts)
    assert expansion.shape == (100, 6, 3)
    for k, part in enumerate(parts):
        assert_close(expansion[:, k], K[:100, support[part]] @ coef[part])


@every_engine
@every_kernel
@both_storages
@both_precisions
def test_expansion_of_many_functions_goes_where_it_is_wanted(name, title, storage, dtype):
    kernel, X, K = case(title, storage)
    coef = np.random.default_rng(13).standard_normal((70, 40))
    out = np.full((N, 40), np.nan, dtype=dtype)
    with ENGINES[name]() as engine:
        points = engine.points(X)
        engine.expand(kernel, points, points[:70], coef, out=out)
    assert_close(out, K[:, :70] @ coef, dtype)


@every_engine
@both_storages
@both_precisions
@pytest.mark.parametrize("form", ["cosines", "cosines and sines"])
def test_waves_are_the_formula(name, storage, dtype, form):
    _, X, _ = case("linear", storage)
    rng = np.random.default_rng(14)
    frequencies, offsets = rng.standard_normal((30, X.shape[1])), rng.uniform(0, 6, 30)
    angles = X @ frequencies.T + offsets
    waves = [np.cos(angles), np.sin(angles)][: 1 if form == "cosines" else 2]
    out = np.full((N, 30 * len(waves)), np.nan, dtype=dtype)
    with ENGINES[name]() as engine:
        engine.waves(engine.points(X), frequencies, offsets, 0.5, out)
    assert_close(out, 0.5 * np.hstack(waves), dtype)


@every_engine
@both_storages
def test_rows_of_single_precision_are_taken_as_they_are(name, storage):
    _, X, _ = case("linear", storage)
    single, frequencies = X.astype(np.float32), np.random.default_rng(14).random((5, X.shape[1]))
    found, expected = np.empty((N, 5)), np.empty((N, 5))
    with ENGINES[name]() as engine:
        for rows, out in ((single, found), (single.astype(np.float64), expected)):
            engine.waves(engine.points(rows), frequencies, np.zeros(5), 1.0, out)
    np.testing.assert_array_equal(found, expected)


@every_engine
@both_storages
def test_waves_of_an_angle_that_overflows_are_a_kernel_error(name, storage):
    _, X, _ = case("linear", storage)
    out = np.empty((N, 5))
    with ENGINES[name]() as engine:
        points = engine.points(X * 1e300)
        with pytest.raises(KernelError, match="kernel overflow: the angle of a wave"):
            engine.waves(points, np.full((5, X.shape[1]), 1e300), np.zeros(5), 1.0, out)


@every_engine
def test_expansion_over_no_points_is_zero(name):
    kernel, X, _ = case("rbf", "dense")
    with ENGINES[name]() as engine:
        points = engine.points(X)
        expansion = engine.expand(kernel, points, points[:0], np.zeros((0, 2)))
    np.testing.assert_array_equal(expansion, np.zeros((N, 2)))


@every_engine
@every_kernel
@both_storages
def test_new_rows_beside_the_centres_of_a_model(name, title, storage):
    """As a prediction asks: rows of another array, and centres that know their training rows."""
    kernel, X, K = case(title, storage)
    support = np.arange(3, 900, 4)
    coef = np.random.default_rng(3).standard_normal((len(support), 1))
    Z = np.empty((len(support), 0)) if kernel.takes == "gram" else X[support]
    with ENGINES[name]() as engine:
        centres = engine.points(Z, index=support)
        found = engine.expand(kernel, engine.points(X[900:], beside=centres), centres, coef)
    assert_close(found, K[900:, support] @ coef)


@every_engine
@every_kernel
@both_storages
def test_the_matrix_of_a_view_is_part_of_the_whole(name, title, storage):
    kernel, X, K = case(title, storage)
    rng = np.random.default_rng(4)
    rows = rng.permutation(N)[:700]
    joined = np.concatenate([rows[:400], rows[500:]])
    coef = rng.standard_normal(50)
    with ENGINES[name]() as engine:
        points = engine.points(X)
        for own, view in ((rows, points[rows]), (joined, points.join(rows[:400], rows[500:]))):
            matrix, part = engine.matrix(kernel, view), K[np.ix_(own, own)]
            assert matrix.n == len(own)
            everything, some = np.arange(len(own)), np.arange(10, 60)
            assert_close(matrix.values(everything), part)
            assert_close(matrix.expansion(some, coef), part[:, some] @ coef)
            assert_close(matrix.diagonal(), np.diagonal(part))
            after = matrix.subtract(np.zeros(len(own)), some, coef, np.float32)
            assert_close(after, -part[:, some] @ coef, np.float32, np.abs(K).max() * 50)


@every_engine
@pytest.mark.parametrize("order", ["whole", "permuted", "repeated", "none"])
def test_f_at_the_training_points_is_the_product_whatever_was_asked_for_before(name, order):
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
    with ENGINES[name]() as engine:
        matrix = engine.matrix(kernel, X)
        if asked is not None:
            matrix.values(asked)[:] = 0.0
        for _ in range(2):
            found = matrix.expansion(rows, coef)
            np.testing.assert_allclose(found, kernel(X, X[rows]) @ coef, atol=1e-12)
            found[:] = 0.0  # which is the caller's own


def block_of(engine, problem, order, dtype):
    """A block at the start of a problem, made by an engine."""
    matrix = engine.matrix(problem.kernel, problem.points.on_host(np.arange(problem.matrix.n)))
    up, low = problem.offsets(problem.start)
    gradient = problem.linear - problem.expansion(problem.start)
    state = SimpleNamespace(coef=problem.start, gradient=gradient, up=up, low=low)
    return matrix.block(problem, state, order, dtype)


def problems():
    X, rng = np.random.default_rng(5).standard_normal((150, 3)), np.random.default_rng(6)
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(150))
    matrix = matrix_of(RBF(0.5), X)
    yield c_svc(matrix, y, np.full(150, 10.0))
    yield epsilon_svr(matrix, X[:, 1] + 0.1 * y, np.full(150, 3.0), 0.1)
    yield one_class(matrix, np.ones(150), 0.3)
    yield nu_svr(matrix, X[:, 1] + 0.1 * y, np.full(150, 3.0), 0.4)


@every_engine
@both_precisions
@pytest.mark.parametrize("problem", problems(), ids=["c_svc", "epsilon_svr", "one_class", "nu_svr"])
def test_a_block_is_solved_and_says_what_it_gained(name, dtype, problem):
    order = np.argsort(problem.groups, kind="stable")
    tolerance = 1e-9 if dtype == np.float64 else 1e-3
    with ENGINES[name]() as engine:
        block = block_of(engine, problem, order, dtype)
        before, gains = block.objective(), 0.0
        for _ in range(400):
            steps, violation, gain = block.run(tolerance, 50)
            assert steps <= 50
            gains += gain + block.stride(0.0)[0]
            if violation <= tolerance:
                break
        assert block.refresh() <= 2 * tolerance
        assert block.objective() - before == pytest.approx(gains, rel=1e-4)
    coef = np.empty(problem.n)
    coef[order] = block.coef
    assert np.all((coef >= problem.lower) & (coef <= problem.upper))
    assert block.objective() == pytest.approx(oracle_objective(problem), rel=1e-3, abs=1e-4)


ESTIMATORS = [
    SVC(C=10.0), SVC(kernel="poly", probability=True), NuSVC(nu=0.2), SVR(), NuSVR(),
    OneClassSVM(nu=0.2), SVC(solver="smo_platt"), KernelRidge(kernel="rbf"), Nystroem(),
    SVC(kernel=Precomputed()), SVC(kernel=Custom(inverse_distance)), SVC(multi_class="ovr"),
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "plain"])
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: f"{model}"[:30])
def test_estimators_find_the_same_on_every_engine(name, model):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((120, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(120), [-0.5, 0.5])
    X = RBF(0.5)(X) if isinstance(getattr(model, "kernel", None), Precomputed) else X
    answer = "transform" if isinstance(model, Nystroem) else "predict"
    with ENGINES[name]() as engine, engines.engine_of("plain") as plain:
        found, expected = (
            getattr(clone(model).set_params(engine=one).fit(X, y), answer)(X)
            for one in (engine, plain)
        )
    np.testing.assert_allclose(found, expected, atol=2e-3)


@every_engine
def test_strings_pass_through_an_engine_as_they_are(name):
    words = [str(k) * (1 + k % 7) for k in range(N)]

    def shorter(left, right):
        return np.minimum.outer([len(word) for word in left], [len(word) for word in right])

    K = shorter(words, words)
    rows, steps = np.arange(0, N, 3), np.linspace(-1, 1, len(range(0, N, 3)))
    with ENGINES[name]() as engine:
        points = engine.points(words)
        matrix = engine.matrix(Custom(shorter), points)
        for some in (rows, rows[:50]):
            np.testing.assert_array_equal(matrix.values(some), K[np.ix_(some, some)])
        for _ in range(3):
            after = matrix.subtract(np.zeros(N), rows, steps, np.float64)
            assert_close(after, -K[:, rows] @ steps)
        found = engine.expand(Custom(shorter), points, points[rows], steps[:, None])
        assert_close(found, K[:, rows] @ steps[:, None])


@every_engine
@both_precisions
def test_points_far_from_the_origin_lose_no_digit(name, dtype):
    kernel, X, K = case("rbf", "dense")
    far, rows, steps = X + 1e6, np.arange(0, N, 2), np.ones(N // 2)
    tolerance = 100 * np.spacing(1e6) + 10 * np.finfo(dtype).eps
    with ENGINES[name](cache_bytes=0) as engine:
        matrix = engine.matrix(kernel, far)
        np.testing.assert_allclose(matrix.values(np.arange(N)), K, rtol=0, atol=tolerance)
        after = matrix.subtract(np.zeros(N), rows, steps, dtype)
        np.testing.assert_allclose(after, -K[:, rows] @ steps, rtol=0, atol=tolerance * len(rows))
        np.testing.assert_allclose(matrix.expansion(rows, steps), K[:, rows] @ steps, rtol=1e-6)


@every_engine
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3), RBF() + Linear() ** 2], ids=str)
@both_storages
@pytest.mark.parametrize("step", ["few values", "values", "subtract", "expand"])
def test_overflow_is_a_kernel_error(name, kernel, storage, step):
    X = np.random.default_rng(13).standard_normal((N, 5)) * 1e160
    X = sparse.csr_array(X) if storage == "sparse" else X
    rows = np.arange(300)
    with ENGINES[name](cache_bytes=2**30) as engine:
        matrix = engine.matrix(kernel, X)
        steps = {
            "few values": lambda: matrix.values(rows[:50]),
            "values": lambda: matrix.values(rows),
            "subtract": lambda: matrix.subtract(np.zeros(N), rows, np.ones(300), np.float64),
            "expand": lambda: matrix.expansion(rows, np.full(300, 1e140)),
        }
        with pytest.raises(KernelError, match=r"kernel overflow: .* is not finite on this data"):
            steps[step]()
