"""Hinge loss + lambda |w|^2 is the soft margin SVM with lambda = 1 / (2 C)."""

import numpy as np
import pytest
from scipy.optimize import linprog

from maxmargin import SVC
from maxmargin.datasets import make_moons, make_outlier, make_separable
from maxmargin.inspection import hinge_equivalence

CASES = {
    "outlier": make_outlier(40),
    "moons": make_moons(100),
    "separable": make_separable(60, 4, margin=0.1),
}


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_both_ways_lead_to_the_same_w_and_b(case, C):
    both = hinge_equivalence(*CASES[case], C=C)
    assert both.lambda_ == 1 / (2 * C)
    assert both.difference < 1e-3
    assert both.objective_descent == pytest.approx(both.objective_dual, rel=1e-4)
    assert both.objective_descent >= both.objective_dual * (1 - 1e-9)  # the dual's is the minimum


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="hinge_equivalence: y must have two classes, got 3"):
        hinge_equivalence(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2])


def test_another_lambda_gives_another_machine():
    X, y = CASES["moons"]
    w, b = (hinge_equivalence(X, y, C=C) for C in (0.1, 1.0))
    assert np.linalg.norm(w.w_dual - b.w_descent) > 0.1


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_zero_is_a_subgradient_at_the_svm(C):
    """Exactly: 0 = 2 lambda w - sum s_i y_i x_i with s_i a subgradient of the hinge at y_i f."""
    X, y = CASES["moons"]
    model = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    signs, margin = np.asarray(y, float), y * model.decision_function(X)
    lower = np.where(margin < 1 - 1e-6, 1.0, 0.0)
    upper = np.where(margin > 1 + 1e-6, 0.0, 1.0)
    equations = np.vstack([(signs[:, None] * X).T, signs])
    wanted = np.append(model.coef_[0] / C, 0.0)
    found = linprog(np.zeros(len(y)), A_eq=equations, b_eq=wanted, bounds=np.c_[lower, upper])
    assert found.status == 0, found.message
