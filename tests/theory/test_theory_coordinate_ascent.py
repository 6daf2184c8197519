"""The formulas of docs/theory/coordinate_ascent.md, evaluated."""

import numpy as np
import pytest
from matrices import matrix_of
from scipy.optimize import minimize_scalar
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.kernels import RBF
from maxmargin.problems import c_svc
from maxmargin.solvers.coordinate_ascent import maximise_quadratic, room_alone

rng = np.random.default_rng(0)
ROOT = rng.standard_normal((5, 5))
A, p = ROOT @ ROOT.T + np.eye(5), rng.standard_normal(5)


def F(x):
    return p @ x - 0.5 * x @ A @ x


@states("A1", "A2", "A3", "A4")
def test_every_step_is_the_best_along_its_coordinate_and_gains_the_height_of_the_parabola():
    path = maximise_quadratic(A, p, np.zeros(5))
    for k in range(1, 16):
        i, before, after = (k - 1) % 5, path[k - 1], path[k]
        derivative = p[i] - A[i] @ before
        assert after[i] - before[i] == pytest.approx(derivative / A[i, i])
        assert F(after) - F(before) == pytest.approx(derivative**2 / (2 * A[i, i]))

        def loss(t, i=i, before=before):
            return -F(before + (t - before[i]) * np.eye(5)[i])

        assert minimize_scalar(loss).x == pytest.approx(after[i], abs=1e-5)


@states("A5")
def test_single_coordinates_are_stuck_on_a_ridge():
    def ridge(x1, x2):
        return -abs(x1 - x2) + 0.5 * (x1 + x2)

    for t in np.linspace(0.01, 1, 50):
        assert ridge(t, 0) < ridge(0, 0) == 0
        assert ridge(0, t) < 0
        assert ridge(t, t) > 0
    assert ridge(1, 1) == 1.0


@states("A6", "A7", "A8")
def test_one_multiplier_is_decided_by_the_others_and_two_move_on_a_line():
    X, y = make_moons(20, random_state=0)
    y = y.astype(float)
    problem = c_svc(matrix_of(RBF(gamma=1.0), X), y, np.ones(20))
    model = SVC(gamma=1.0, tol=1e-8, trace=True, solver="coordinate_ascent").fit(X, y)
    alpha = np.zeros(20)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    for i in range(20):
        others = np.arange(20) != i
        assert alpha[i] == pytest.approx(-y[i] * (alpha * y)[others].sum(), abs=1e-9)
        assert room_alone(problem, alpha * y, i) == pytest.approx((alpha[i] * y[i],) * 2, abs=1e-9)
    trace = model.trace_
    for k in range(min(30, len(trace.steps))):
        before, after = trace.replay(n_rows=k), trace.replay(n_rows=k + 1)
        i, j = trace["i"][k], trace["j"][k]
        rest = np.setdiff1d(np.arange(20), [i, j])
        np.testing.assert_array_equal(before[rest], after[rest])
        assert after[i] + after[j] == pytest.approx(-before[rest].sum(), abs=1e-9)
        others = np.arange(20) != i  # i is the reference of this sweep
        assert after[i] == pytest.approx(-after[others].sum(), abs=1e-9)
