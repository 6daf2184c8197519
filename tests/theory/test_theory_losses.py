"""The formulas of docs/theory/losses_and_descent.md, evaluated."""

import numpy as np
import pytest
from theory_pages import states

from maxmargin import SVC, GradientDescentClassifier
from maxmargin.datasets import make_moons
from maxmargin.losses import Hinge, Logistic, Squared, SquaredHinge, ZeroOne, loss_named
from maxmargin.penalties import penalty_named
from maxmargin.solvers.plain import gradient_descent, stochastic_gradient_descent

MARGINS = np.linspace(-4, 4, 801)


@pytest.fixture(scope="module")
def data():
    X, y = make_moons(60, random_state=3)
    return np.column_stack([np.ones(len(X)), X]), y.astype(float)


@states("L1", "L2", "L3", "L4")
def test_the_hinge_is_the_least_of_its_kind():
    zero_one = np.array([1.0 if m <= 0 else 0.0 for m in MARGINS])
    np.testing.assert_array_equal(ZeroOne().value(1, MARGINS), zero_one)
    hinge = np.array([max(0.0, 1 - m) for m in MARGINS])
    np.testing.assert_array_equal(Hinge().value(1, MARGINS), hinge)
    assert np.all(hinge >= zero_one)
    wrong = MARGINS <= 0
    for bound in (hinge, SquaredHinge().value(1, MARGINS)):
        at_zero, at_one = bound[MARGINS == 0.0][0], bound[np.isclose(MARGINS, 1.0)][0]
        chord = (1 - MARGINS) * at_zero + MARGINS * at_one
        assert np.all(bound[wrong] >= chord[wrong] - 1e-12)
        assert np.all(chord[wrong] >= 1 - MARGINS[wrong] - 1e-12)
    assert np.all(Logistic().value(1, MARGINS) / np.log(2) >= zero_one)
    assert np.all(2 * Squared().value(1, MARGINS) >= zero_one)


@states("L5", "L6", "L9")
def test_the_gradient_of_the_hinge_is_minus_y_x_below_one(data):
    X, y = data
    w = np.random.default_rng(0).standard_normal(3)
    single = np.array(
        [-y_i * x if y_i * (w @ x) < 1 else 0 * x for x, y_i in zip(X, y, strict=True)]
    )
    np.testing.assert_allclose(Hinge().slope(y, X @ w)[:, None] * X, single, atol=1e-15)
    mean = single.mean(axis=0)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        rise = (Hinge().value(y, X @ (w + step)) - Hinge().value(y, X @ (w - step))).mean()
        assert mean[k] == pytest.approx(rise / 2e-6, abs=1e-6)
    assert mean[0] == pytest.approx(-y[y * (X @ w) < 1].sum() / len(y))
    expected = sum(gradient / len(y) for gradient in single)  # over a random i
    np.testing.assert_allclose(expected, mean, atol=1e-15)


@states("L7")
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_a_subgradient_is_the_slope_of_a_line_below(y):
    hinge = Hinge()
    for f in (-2.0, 0.3, y, 2.0):
        g = hinge.slope(y, f)
        assert np.all(hinge.value(y, MARGINS) >= hinge.value(y, f) + g * (MARGINS - f) - 1e-12)
    for g in (0.0, -0.5 * y, -y):  # at the kink
        assert np.all(hinge.value(y, MARGINS) >= g * (MARGINS - y) - 1e-12)
    assert np.any(hinge.value(y, MARGINS) < -1.1 * y * (MARGINS - y))


@states("L8")
@pytest.mark.parametrize("name", ["hinge", "logistic", "squared"])
def test_the_plain_loops_are_the_estimators(data, name):
    X, y = data
    loss, options = loss_named(name), {"penalty": "none", "tol": 0, "shuffle": False}
    once = gradient_descent(X, y, loss.slope, eta=0.1, n_steps=1)
    np.testing.assert_allclose(once, -0.1 * (loss.slope(y, 0 * y) @ X) / len(y), atol=1e-15)
    w = gradient_descent(X, y, loss.slope, eta=0.1, n_steps=20)
    fast = GradientDescentClassifier(name, eta0=0.1, max_iter=20, **options).fit(X[:, 1:], y)
    np.testing.assert_allclose([fast.intercept_[0], *fast.coef_[0]], w, atol=1e-12)
    single = stochastic_gradient_descent(X, y, loss.slope, eta=0.1, n_epochs=2, seed=5)
    w, rng = np.zeros(3), np.random.default_rng(5)
    for i in np.concatenate([rng.permutation(len(y)), rng.permutation(len(y))]):
        w = w - 0.1 * loss.slope(y[i], w @ X[i]) * X[i]
    np.testing.assert_allclose(single, w)


def test_the_perceptron_is_stochastic_descent_on_a_loss_without_a_margin(data):
    X, y = data

    def slope(label, f):
        return -label if label * f <= 0 else 0.0

    w, order = np.zeros(3), np.random.default_rng(0).permutation(len(y))
    for i in order:
        if y[i] * (w @ X[i]) <= 0:
            w = w + y[i] * X[i]
    np.testing.assert_allclose(stochastic_gradient_descent(X, y, slope, eta=1.0, n_epochs=1), w)


@states("L10")
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_objective_is_mean_loss_and_penalty_and_its_gradient_follows(data, penalty):
    X, y = data
    P, alpha, loss = penalty_named(penalty), 0.3, Logistic()
    w, b = np.array([0.4, -0.7]), 0.2

    def F(w):
        return loss.value(y, X[:, 1:] @ w + b).mean() + alpha * P.value(w)

    gradient = loss.slope(y, X[:, 1:] @ w + b) @ X[:, 1:] / len(y) + alpha * P.gradient(w)
    for k in range(2):
        step = 1e-6 * np.eye(2)[k]
        assert gradient[k] == pytest.approx((F(w + step) - F(w - step)) / 2e-6, abs=1e-6)


@states("L11", "L12", "L13")
def test_a_step_comes_nearer_by_what_it_is_too_high(data):
    X, y = data
    alpha = 0.1

    def F(v):
        return Hinge().value(y, X @ v).mean() + alpha / 2 * (v[1:] @ v[1:])

    exact = SVC(kernel="linear", C=1 / (len(y) * alpha), tol=1e-10).fit(X[:, 1:], y)
    best = np.array([exact.intercept_[0], *exact.coef_[0]])
    assert best[1:] @ best[1:] <= 1 / alpha
    eta, v, values, lengths, T = 0.2, np.zeros(3), [], [], 200
    start = np.sum((v - best) ** 2)
    for _ in range(T):
        g = Hinge().slope(y, X @ v) @ X / len(y) + alpha * np.array([0, *v[1:]])
        after = v - eta * g
        near, far = np.sum((after - best) ** 2), np.sum((v - best) ** 2)
        assert near == pytest.approx(far - 2 * eta * g @ (v - best) + eta**2 * g @ g)
        assert near <= far - 2 * eta * (F(v) - F(best)) + eta**2 * g @ g + 1e-9
        values.append(F(v))
        lengths.append(g @ g)
        v = after
    assert min(values) - F(best) <= start / (2 * eta * T) + eta * max(lengths) / 2
