"""The formulas of docs/theory/block_smo.md, evaluated beside the code that they explain."""

import numpy as np
import pytest
from matrices import matrix_of
from sklearn.metrics.pairwise import rbf_kernel
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.kernels import RBF
from maxmargin.problems import c_svc
from maxmargin.problems.dual import walk
from maxmargin.solvers import smo
from maxmargin.solvers.base import Budget

N, C = 150, 10.0
X, y = make_moons(N, noise=0.25)
K = rbf_kernel(X, gamma=1.0)
PROBLEM = c_svc(matrix_of(RBF(gamma=1.0), X), y, np.full(N, C))
U = 2.0**-24
rng = np.random.default_rng(0)


@states("BK1", "BK2", "BK3")
def test_the_gain_of_a_block_needs_its_gradient_and_its_matrix_only():
    c, B = rng.normal(size=N), rng.choice(N, 20, replace=False)
    g, d = PROBLEM.linear - K @ c, np.zeros(N)
    d[B] = rng.normal(size=20)
    gain = g[B] @ d[B] - 0.5 * d[B] @ K[np.ix_(B, B)] @ d[B]
    moved = PROBLEM.objective(c + d, K @ (c + d)) - PROBLEM.objective(c, K @ c)
    assert moved == pytest.approx(gain)
    np.testing.assert_allclose(PROBLEM.linear - K @ (c + d), g - K[:, B] @ d[B])


@pytest.fixture(scope="module")
def run():
    """A run in blocks of twenty that has stopped on its way."""
    steps = Budget(60)
    half = smo.SMO(1e-3, tight=False).solve(PROBLEM, steps)
    return smo._Run(smo.SMO(1e-3), PROBLEM, Budget(10**6), half)


def test_the_pair_that_violates_most_is_always_in_the_block(run):
    tops, bottoms = run.measure()
    g, c = run.state.gradient, run.state.coef
    rise = np.where(c < PROBLEM.upper, g, -np.inf)
    fall = np.where(c > PROBLEM.lower, g, np.inf)
    assert run.violation == pytest.approx(rise.max() - fall.min())
    assert run.violation > run.tol
    block = run.choose(np.empty(0, dtype=np.int64), tops, bottoms, 6)
    assert len(block) == len(np.unique(block)) == 6
    assert {np.argmax(rise), np.argmin(fall)} <= set(block.tolist())


def test_free_variables_of_the_last_block_stay(run):
    tops, bottoms = run.measure()
    free = np.flatnonzero(run.state.is_free())
    last = np.concatenate([np.flatnonzero(~run.state.is_free())[:10], free[:5]])
    block = run.choose(last, tops, bottoms, 20)
    assert set(free[:5].tolist()) <= set(block.tolist())


def test_a_step_of_a_pair_gains_the_square_of_its_difference_over_twice_the_curvature():
    model = SVC(C=C, gamma=1.0, solver="smo_pairs", trace=True).fit(X, y)
    steps = model.trace_.steps
    gains = np.diff(steps["objective"], prepend=0.0)
    whole = steps["unclipped"] == steps["clipped"]
    difference = steps["error_i"] - steps["error_j"]
    expected = difference**2 / (2 * steps["eta"])
    assert whole.sum() > 10
    np.testing.assert_allclose(gains[whole], expected[whole], rtol=1e-6, atol=1e-9)


class Counted:
    """A matrix that counts: the sizes of its blocks, and how many rows each round subtracts."""

    def __init__(self, matrix):
        self.matrix, self.blocks, self.moved = matrix, [], []

    def __getattr__(self, name):
        return getattr(self.matrix, name)

    def block(self, problem, state, chosen, dtype):
        self.blocks.append(len(chosen))
        return self.matrix.block(problem, state, chosen, dtype)

    def subtract(self, values, rows, steps, dtype):
        self.moved.append(len(rows))
        return self.matrix.subtract(values, rows, steps, dtype)


@states("BK4")
def test_blocks_need_fewer_kernel_values_than_pairs(monkeypatch):
    for name, size in (("TIGHT", 0), ("WHOLE", 0), ("SMALLEST_BLOCK", 32), ("LARGEST_BLOCK", 32)):
        monkeypatch.setattr(smo, name, size)
    points, labels = make_moons(400, noise=0.25)
    counted = Counted(matrix_of(RBF(gamma=1.0), points))
    problem = c_svc(counted, labels, np.full(400, 100.0))
    found = smo.SMO(1e-3).solve(problem, Budget(10**6))
    assert found.converged
    assert max(counted.blocks) == 32
    assert len(counted.moved) == len(counted.blocks) > 3
    in_blocks = sum(q**2 for q in counted.blocks) + 400 * sum(counted.moved)
    assert in_blocks < 0.5 * (2 * 400 * found.n_iter)


@states("BK5")
def test_rounding_adds_up_like_a_random_walk_and_never_beyond_the_worst_case():
    c = rng.normal(size=N) * C
    sizes = np.sqrt(np.diag(K))
    assert walk(sizes, c) == pytest.approx(sizes.max() * np.sqrt(np.sum(c**2 * np.diag(K))))
    error = np.abs((K.astype(np.float32).astype(np.float64) - K) @ c).max()
    assert error < U * walk(sizes, c) <= U * sizes.max() * np.sum(np.abs(c) * sizes)
    assert 0.5 * np.finfo(np.float32).eps == U


def test_what_the_solver_forgives_in_float32_is_half_an_ulp_of_a_random_walk(run):
    sizes = np.sqrt(np.diag(K))
    assert run.rounding(np.float32) == pytest.approx(U * walk(sizes, run.state.coef))
