"""The formulas of docs/theory/warm_starts.md, evaluated beside the code that they explain."""

from dataclasses import replace

import numpy as np
import pytest
from matrices import matrix_of
from sklearn.metrics.pairwise import rbf_kernel
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.kernels import RBF
from maxmargin.problems import c_svc, certify

X, y = make_moons(40, noise=0.3)
K = rbf_kernel(X, gamma=2.0)
MATRIX = matrix_of(RBF(gamma=2.0), X)


def problem(C):
    return c_svc(MATRIX, y, np.full(40, C))


def solved(C):
    """c, b and the slacks."""
    model = SVC(C=C, gamma=2.0, tol=1e-10).fit(X, y)
    c = np.zeros(40)
    c[model.support_] = model.dual_coef_[0]
    b = model.intercept_[0]
    return c, b, np.maximum(0, 1 - y * (K @ c + b))


@states("WA1", "WA2")
@pytest.mark.parametrize("C", [0.5, 1.2, 2.0])
def test_between_two_events_the_free_multipliers_and_b_solve_a_linear_system(C):
    c, b, _ = solved(C)
    free, bound = (c != 0) & (np.abs(c) < C), np.abs(c) == C
    assert free.any()
    assert bound.any()
    ones = np.ones((free.sum(), 1))
    system = np.block([[K[np.ix_(free, free)], ones], [ones.T, np.zeros((1, 1))]])
    constant = np.append(y[free], 0)
    along = np.append(K[np.ix_(free, bound)] @ y[bound], y[bound].sum())
    np.testing.assert_allclose(np.linalg.solve(system, constant - C * along), [*c[free], b])
    near, _, _ = solved(C + 1e-3)
    moved = np.linalg.solve(system, constant - (C + 1e-3) * along)[:-1]
    np.testing.assert_allclose(near[free], moved, atol=1e-6)


@states("WA3", "WA4")
@pytest.mark.parametrize("C", [0.3, 3.0])
def test_the_gap_at_the_start_is_the_step_of_the_price_times_the_slacks(C):
    c, b, slack = solved(C)
    proof = certify(problem(1.4 * C), c, np.array([b]), 1e-3)
    assert proof.duality_gap == pytest.approx(0.4 * C * slack.sum(), rel=1e-4, abs=1e-7)


@states("WA5")
@pytest.mark.parametrize("C", [0.3, 3.0])
def test_the_best_objective_grows_by_the_slacks_and_ever_more_slowly(C):
    grid = C * np.array([0.999, 1.0, 1.001])
    low, middle, high = (problem(p).objective(c, K @ c) for p in grid for c, _, _ in [solved(p)])
    _, _, slack = solved(C)
    assert (high - low) / (grid[2] - grid[0]) == pytest.approx(slack.sum(), rel=1e-3)
    assert high - middle <= middle - low + 1e-9


@states("WA6")
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_along_the_ray_the_dual_is_a_parabola_with_a_known_top(C):
    c, _, slack = solved(C)
    total, square = np.abs(c).sum(), c @ K @ c
    for r in (0.5, 1.0, 2.0):
        expected = r * total - 0.5 * r**2 * square
        assert problem(C).objective(r * c, r * K @ c) == pytest.approx(expected)
    best = total / square
    assert best == pytest.approx(1 + C * slack.sum() / square, rel=1e-6)
    assert best >= 1


@pytest.mark.parametrize(("old", "new"), [(1.0, 2.0), (2.0, 1.0), (3.0, 0.1)])
def test_a_start_is_clipped_into_the_box_and_its_sum_is_mended(old, new):
    c, _, _ = solved(old)
    start = problem(new).start_from(c)
    assert np.all(y * start >= 0)
    assert np.all(y * start <= new)
    assert abs(start.sum()) < 1e-9
    if new > old:
        np.testing.assert_allclose(start, c, atol=1e-9)
    assert not np.any(start[c == 0]) or new < old


def test_a_closed_box_holds_its_point_at_zero():
    c, _, _ = solved(1.0)
    keep = np.arange(40) % 5 != 0
    whole = problem(1.0)
    without = replace(whole, lower=whole.lower * keep, upper=whole.upper * keep)
    start = without.nearest_feasible(c)
    assert not start[~keep].any()
    assert abs(start.sum()) < 1e-9
