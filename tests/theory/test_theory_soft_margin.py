"""The formulas of docs/theory/soft_margin.md, evaluated."""

import numpy as np
import pytest
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_moons, make_outlier
from maxmargin.inspection import hinge_equivalence
from maxmargin.losses import Hinge

X, y = make_moons(70, noise=0.3, random_state=2)
C = 1.5
rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def soft():
    return SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)


@pytest.fixture
def w(soft):
    return soft.coef_[0]


@pytest.fixture
def b(soft):
    return float(soft.intercept_[0])


@pytest.fixture
def alpha(soft):
    found = np.zeros(len(y))
    found[soft.support_] = np.abs(soft.dual_coef_[0])
    return found


def primal(w, b, xi):
    return 0.5 * w @ w + C * xi.sum()


def lagrangian(w, b, xi, alpha, mu):
    return primal(w, b, xi) + alpha @ (1 - xi - y * (X @ w + b)) - mu @ xi


def balanced():
    """Prices inside the box with sum alpha_i y_i = 0."""
    a = rng.uniform(0, C / 2, len(y))
    a[y > 0] *= a[y < 0].sum() / a[y > 0].sum()
    assert a.max() <= C
    return a


@states("S1", "S12")
def test_slacks_are_feasible_and_no_other_answer_is_cheaper(w, b):
    best = primal(w, b, np.maximum(0, 1 - y * (X @ w + b)))
    for _ in range(100):
        other_w, other_b = w + 0.3 * rng.standard_normal(2), b + 0.3 * rng.standard_normal()
        cheapest = Hinge().value(y, X @ other_w + other_b)
        assert np.all(y * (X @ other_w + other_b) >= 1 - cheapest - 1e-12)
        assert primal(other_w, other_b, cheapest) >= best - 1e-6
        assert np.any(y * (X @ other_w + other_b) < 1 - (cheapest - 1e-3)) or not cheapest.any()


@states("S2", "S3", "S4", "S5")
def test_the_derivatives_vanish_and_leave_a_box():
    a = balanced()
    mu, w, b, xi = C - a, (a * y) @ X, 0.4, rng.uniform(0, 2, len(y))
    least = lagrangian(w, b, xi, a, mu)
    for move in rng.standard_normal((20, 2)):
        assert lagrangian(w + move, b, xi, a, mu) == pytest.approx(least + 0.5 * move @ move)
    assert lagrangian(w, -3.0, xi, a, mu) == pytest.approx(least)
    assert lagrangian(w, b, xi * 7, a, mu) == pytest.approx(least)
    unequal = mu + 0.5  # then a slack has a slope, and there is no minimum
    slope = lagrangian(w, b, xi + 1, a, unequal) - lagrangian(w, b, xi, a, unequal)
    assert slope == pytest.approx((C - a - unequal).sum())
    assert np.all(mu >= 0)
    assert np.all((a >= 0) & (a <= C))


@states("S6", "S7")
def test_every_line_of_the_substitution_has_the_same_value(soft, alpha):
    a, b, xi = balanced(), 0.4, rng.uniform(0, 2, len(y))
    mu, w = C - a, (a * y) @ X
    whole = lagrangian(w, b, xi, a, mu)
    rest = 0.5 * w @ w - (a * y) @ (X @ w) - b * (a @ y) + a.sum()
    assert whole == pytest.approx(rest + (C - a - mu) @ xi) == pytest.approx(rest)
    Q = np.outer(y, y) * (X @ X.T)
    assert rest == pytest.approx(a.sum() - 0.5 * a @ Q @ a)
    best = alpha.sum() - 0.5 * alpha @ Q @ alpha
    assert best == pytest.approx(soft.certificate_.dual_objective, rel=1e-7)
    assert rest <= best


@states("S8", "S9")
def test_every_point_stands_on_the_stairs(soft, w, b, alpha):
    margin = y * (X @ w + b)
    xi, mu, near = np.maximum(0, 1 - margin), C - alpha, 1e-5
    assert np.all(1 - xi - margin <= near)
    assert np.all(xi >= 0)
    assert np.all((alpha >= 0) & (mu >= 0))
    assert np.abs(alpha * (1 - xi - margin)).max() < near
    assert np.abs(mu * xi).max() < near
    assert np.all(margin[alpha == 0] >= 1 - near)
    np.testing.assert_allclose(margin[(alpha > 0) & (alpha < C)], 1, atol=near)
    assert np.all(margin[alpha == C] <= 1 + near)
    assert {"out", "margin", "inside", "misclassified"} == set(soft.roles_)
    np.testing.assert_array_equal(soft.roles_ == "misclassified", margin < 0)


@states("S10", "S11")
def test_the_offset_is_the_mean_over_the_margin(b, alpha):
    M = np.flatnonzero((alpha > 0) & (alpha < C))
    each = [y[j] - sum(alpha[i] * y[i] * X[i] @ X[j] for i in range(len(y))) for j in M]
    np.testing.assert_allclose(each, b, atol=1e-6)
    assert np.mean(each) == pytest.approx(b, abs=1e-8)
    too_few = np.mean([y[j] - sum(alpha[i] * y[i] * X[i] @ X[j] for i in M) for j in M])
    assert abs(too_few - b) > 0.1  # the points at C pull, too


@states("S13")
def test_hinge_loss_and_a_penalty_are_the_same_machine(w, b):
    loss, lam = Hinge().value(y, X @ w + b).sum(), 1 / (2 * C)
    assert 0.5 * w @ w + C * loss == pytest.approx(C * (loss + lam * (w @ w)))
    both = hinge_equivalence(X, y, C=C)
    assert both.lambda_ == lam
    assert both.difference < 0.01


@states("S14")
def test_the_gap_is_never_negative_and_bounds_the_distance(w, alpha):
    best = alpha.sum() - 0.5 * w @ w
    for _ in range(50):
        a, b = balanced() * rng.uniform(0, 1), rng.standard_normal()
        v = (a * y) @ X
        xi = np.maximum(0, 1 - y * (X @ v + b))
        gap = primal(v, b, xi) - (a.sum() - 0.5 * v @ v)
        assert gap == pytest.approx(v @ v + C * xi.sum() - a.sum())
        assert gap >= max(primal(v, b, xi) - best, best - (a.sum() - 0.5 * v @ v)) - 1e-6
        assert 0.5 * np.sum((v - w) ** 2) <= gap


@states("S15", "S16")
def test_a_large_price_is_the_hard_margin_and_a_small_one_compares_means():
    X, y = make_outlier(40)
    hard = SVC(kernel="linear", C=float("inf"), tol=1e-9).fit(X, y)
    enough = np.abs(hard.dual_coef_).max()
    soft = SVC(kernel="linear", C=1.01 * enough, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(soft.coef_, hard.coef_, rtol=1e-5)
    less = SVC(kernel="linear", C=0.5 * enough, tol=1e-9).fit(X, y)
    assert less.norms_[0] < 0.999 * hard.norms_[0]
    equal_X, equal_y = np.vstack([X[y > 0][:19], X[y < 0][:19]]), np.repeat([1, -1], 19)
    tiny = SVC(kernel="linear", C=1e-5, tol=1e-9).fit(equal_X, equal_y)
    np.testing.assert_allclose(tiny.coef_[0], 1e-5 * equal_y @ equal_X, rtol=1e-6)
