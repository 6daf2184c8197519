"""The formulas of docs/theory/lagrangian.md, evaluated on its example and on a fitted machine."""

import numpy as np
import pytest
from scipy.optimize import minimize
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_separable

rng = np.random.default_rng(0)


def f(v):
    return (v[0] - 2) ** 2 + (v[1] - 2) ** 2


def g(v):
    return np.array([v[0] + v[1] - 2, v[0] - 3])


def lagrangian(v, a):
    return f(v) + a @ g(v)


def theta_D(a):
    return minimize(lambda v: lagrangian(v, a), [0.0, 0.0]).fun


@states("G1", "G2", "G3")
def test_gradients_are_parallel_where_the_road_is_lowest():
    v, beta = np.array([0.5, 0.5]), -1.0
    np.testing.assert_allclose(2 * v, -beta * np.ones(2))
    step = 1e-6

    def L(w1, w2, b):
        return w1**2 + w2**2 + b * (w1 + w2 - 1)

    for k in range(3):
        move = step * np.eye(3)[k]
        at = np.array([*v, beta])
        assert (L(*(at + move)) - L(*(at - move))) / (2 * step) == pytest.approx(0, abs=1e-8)


@states("G4", "G5", "G6", "G7", "G8")
def test_the_adversary_makes_the_objective_or_infinity():
    prices = np.array([[a, c] for a in (0, 1, 10, 1e6) for c in (0, 1, 10, 1e6)])
    values = []
    for v in rng.uniform(-1, 4, (200, 2)):
        highest = max(lagrangian(v, a) for a in prices)
        if np.all(g(v) <= 0):
            assert highest == f(v)
            values.append(highest)
        else:
            assert highest > f(v) + 1e3 * g(v).max()  # grows with the prices
    assert min(values) >= 2.0  # p* is f at (1, 1)
    assert f([1, 1]) == 2.0


@states("G9", "G10")
def test_the_dual_of_the_example_is_its_formula_and_has_the_same_value():
    for a1, a2 in rng.uniform(0, 4, (20, 2)):
        closed = 2 * a1 - a1**2 / 2 - a2 - a2**2 / 4 - a1 * a2 / 2
        expanded = (
            (a1 + a2) ** 2 / 4 + a1**2 / 4 + a1 * (2 - a1 - a2 / 2) - a2 * (1 + (a1 + a2) / 2)
        )
        assert theta_D(np.array([a1, a2])) == pytest.approx(closed) == pytest.approx(expanded)
        assert closed <= 2.0
    assert theta_D(np.array([2.0, 0.0])) == pytest.approx(2.0)


@states("G11", "G12")
def test_who_moves_last_has_the_advantage():
    for _ in range(50):
        kappa = rng.standard_normal((6, 7))  # rows are x, columns are y
        assert kappa.min(axis=0).max() <= kappa.max(axis=1).min()
    for v in rng.uniform(-3, 1, (30, 2)):
        a = rng.uniform(0, 5, 2)
        assert theta_D(a) <= lagrangian(v, a) + 1e-9
        assert np.all(g(v) <= 0)
        assert lagrangian(v, a) <= f(v)


@states("G13")
def test_slaters_condition_holds_for_the_hard_margin_and_the_gap_closes():
    X, y = make_separable(20, random_state=1)
    model = SVC(kernel="linear", C=float("inf"), tol=1e-9).fit(X, y)
    assert np.all(1 - y * (2 * model.decision_function(X)) < 0)  # twice w and b, strictly
    certificate = model.certificate_
    assert certificate.duality_gap <= 1e-6 * certificate.primal_objective


@states("G14", "G15", "G16")
def test_the_five_conditions_hold_at_the_solution_and_only_there():
    v, a = np.array([1.0, 1.0]), np.array([2.0, 0.0])
    assert f(v) == pytest.approx(theta_D(a)) == lagrangian(v, a)
    slopes = np.array([[1.0, 1.0], [1.0, 0.0]])

    def violation(v, a):
        stationarity = np.abs(2 * (v - 2) + a @ slopes).max()
        slackness = np.abs(a * g(v)).max()
        return max(stationarity, slackness, g(v).max(), -a.min())

    assert violation(v, a) == 0.0
    assert np.all(g(v)[a > 0] == 0)
    for _ in range(200):
        assert violation(v + 0.3 * rng.standard_normal(2), a + rng.standard_normal(2)) > 1e-3


@states("G17")
def test_a_price_is_the_slope_of_the_value():
    def value(u):
        limits = {"type": "ineq", "fun": lambda v: u - (v[0] + v[1] - 2)}
        return minimize(f, [0.0, 0.0], constraints=limits, tol=1e-12).fun

    for u in (-1.0, 0.0, 0.7):
        assert value(u) == pytest.approx(2 * (1 - u / 2) ** 2, abs=1e-6)
    assert (value(1e-3) - value(-1e-3)) / 2e-3 == pytest.approx(-2.0, abs=1e-3)
