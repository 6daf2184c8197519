"""The formulas of docs/theory/smo_solvers.md, evaluated."""

import numpy as np
import pytest
from matrices import matrix_of
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.kernels import RBF
from maxmargin.problems import c_svc
from maxmargin.solvers import SMOPairs
from maxmargin.solvers.base import Budget, Solution
from maxmargin.solvers.textbook import Multipliers

X, y = make_moons(40, noise=0.3, random_state=4)
y = y.astype(float)
KERNEL, C, n = RBF(gamma=0.7), 1.0, len(y)
K = KERNEL(X)
rng = np.random.default_rng(0)


def state_at(alpha, tol=1e-3):
    problem = c_svc(matrix_of(KERNEL, X), y, np.full(n, C))
    return Multipliers(problem, Budget(10), tol, start=Solution.at(alpha * y))


def feasible():
    alpha = rng.uniform(0, 0.5, n) * (rng.uniform(size=n) < 0.6)
    alpha[y > 0] *= alpha[y < 0].sum() / alpha[y > 0].sum()
    return np.minimum(alpha, C) if alpha.max() <= C else alpha / alpha.max()


@states("H1", "H2")
def test_a_violator_could_pull_harder_or_pulls_in_vain():
    for _ in range(10):
        alpha = feasible()
        state = state_at(alpha)
        f = K @ (alpha * y) + state.b
        np.testing.assert_allclose(y * state.E, y * f - 1)
        for i in range(n):
            excess, tau = y[i] * f[i] - 1, state.tol / 2
            expected = (excess < -tau and alpha[i] < C) or (excess > tau and alpha[i] > 0)
            assert state.violates(i) == expected


@states("H3", "H4")
def test_no_pair_gains_when_the_best_rise_is_no_better_than_the_cheapest_fall():
    alpha = feasible()
    state = state_at(alpha)
    rise = np.where(y > 0, alpha < C, alpha > 0)
    fall = np.where(y > 0, alpha > 0, alpha < C)
    m, M = (-state.E[rise]).max(), (-state.E[fall]).min()
    assert state.violation() == pytest.approx(m - M)
    i, j = np.argmax(np.where(rise, -state.E, -np.inf)), np.argmin(np.where(fall, -state.E, np.inf))
    objective, unit = state.objective, 1e-7
    moved = alpha * y
    moved[i] += unit
    moved[j] -= unit
    gained = y @ moved - 0.5 * moved @ K @ moved - objective
    assert gained / unit == pytest.approx(state.E[j] - state.E[i], rel=1e-3)
    for solver in ("smo_simplified", "smo_random_pair", "smo_platt", "smo_pairs", "smo"):
        model = SVC(kernel=KERNEL, C=C, solver=solver, tol=1e-4).fit(X, y)
        found = np.zeros(n)
        found[model.support_] = np.abs(model.dual_coef_[0])
        assert state_at(found).violation() <= 1e-4 + 1e-9


@states("H5")
def test_random_pairs_stop_when_next_to_nothing_moves():
    model = SVC(kernel=KERNEL, C=C, solver="smo_random_pair", trace=True).fit(X, y)
    trace = model.trace_
    ends = np.concatenate([[0], trace.rounds["n_iter"]])
    b = np.concatenate([[0.0], trace.steps["b"]])
    for k in range(1, len(ends)):
        before, after = trace.replay(n_rows=ends[k - 1]), trace.replay(n_rows=ends[k])
        movement = np.abs(after - before).sum() + abs(b[ends[k]] - b[ends[k - 1]])
        assert trace.rounds["movement"][k - 1] == pytest.approx(movement, abs=1e-9)
    assert trace.rounds["movement"][-1] <= 1e-6


@states("H6")
def test_platt_hands_out_the_largest_difference_first_and_everybody_in_the_end():
    from maxmargin.solvers import SMOPlatt

    alpha = feasible()
    state, solver = state_at(alpha), SMOPlatt()
    solver.rng = np.random.default_rng(0)
    inside = np.flatnonzero((alpha > 0) & (alpha < C))
    handed = [j for j, _ in solver.partners(state, 3)]
    assert abs(state.E[3] - state.E[handed[0]]) == np.abs(state.E[inside] - state.E[3]).max()
    assert sorted(handed[1 : 1 + len(inside)]) == sorted(inside)
    assert sorted(handed[1 + len(inside) :]) == list(range(n))


@states("H7")
def test_the_second_order_choice_gains_most():
    model = SVC(kernel=KERNEL, C=C, solver=SMOPairs(order=2), trace=True).fit(X, y)
    trace = model.trace_
    for k in range(0, len(trace.steps), 5):
        c = trace.replay(n_rows=k)
        alpha, E = c * y, K @ c - y
        i, j = trace["i"][k], trace["j"][k]
        eta = K[i, i] + np.diag(K) - 2 * K[i]
        fall = np.where(y > 0, alpha > 0, alpha < C) & (E[i] + 1e-12 < E)
        gains = (E - E[i])[fall] ** 2 / (2 * eta[fall])
        assert (E[j] - E[i]) ** 2 / (2 * eta[j]) == pytest.approx(gains.max(), rel=1e-6)
