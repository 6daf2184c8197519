"""The formulas of docs/theory/duality_and_kkt.md, evaluated."""

import numpy as np
import pytest
from matrices import matrix_of
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_separable
from maxmargin.inspection import kkt_report
from maxmargin.kernels import Linear
from maxmargin.problems import c_svc

X, y = make_separable(30, margin=0.4, random_state=7)
rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def hard():
    return SVC(kernel="linear", C=float("inf"), tol=1e-9).fit(X, y)


@pytest.fixture
def alpha(hard):
    found = np.zeros(len(y))
    found[hard.support_] = np.abs(hard.dual_coef_[0])
    return found


def lagrangian(w, b, alpha):
    return 0.5 * w @ w + alpha @ (1 - y * (X @ w + b))


def balanced():
    """Prices that are not optimal, but with sum alpha_i y_i = 0."""
    a = rng.uniform(0, 1, len(y))
    a[y > 0] *= a[y < 0].sum() / a[y > 0].sum()
    return a


@states("D1", "D2", "D3", "D4")
def test_the_lagrangian_is_least_where_w_is_the_sum_of_the_points():
    a = balanced()
    w = (a * y) @ X
    least = lagrangian(w, 0.3, a)
    for move in rng.standard_normal((50, 2)):
        assert lagrangian(w + move, 0.3, a) == pytest.approx(least + 0.5 * move @ move)
        assert lagrangian(w, rng.standard_normal(), a) == pytest.approx(least)
    tilted = a.copy()
    tilted[0] += 1.0  # then b has a slope, and there is no minimum
    slope = (lagrangian(w, 1.0, tilted) - lagrangian(w, 0.0, tilted)) / 1.0
    assert slope == pytest.approx(-(tilted @ y))
    assert abs(slope) == pytest.approx(1.0)


@states("D5", "D6", "D7", "D8", "D9", "D10")
def test_every_line_of_the_substitution_has_the_same_value():
    a, b = balanced(), 0.7
    w, c, K = (a * y) @ X, a * y, X @ X.T
    multiplied = 0.5 * w @ w - sum(a * y * (X @ w)) - b * (a @ y) + a.sum()
    assert lagrangian(w, b, a) == pytest.approx(multiplied)
    assert sum(a * y * (X @ w)) == pytest.approx(w @ w)
    n = range(len(y))
    double = sum(a[i] * a[j] * y[i] * y[j] * X[i] @ X[j] for i in n for j in n)
    assert double == pytest.approx(w @ w)
    assert multiplied == pytest.approx(a.sum() - 0.5 * w @ w)
    assert multiplied == pytest.approx(y @ c - 0.5 * c @ K @ c)
    problem = c_svc(matrix_of(Linear(), X), y.astype(float), np.ones(len(y)))
    assert problem.objective(c, K @ c) == pytest.approx(multiplied)


@states("D11")
def test_two_points_by_hand():
    model = SVC(kernel="linear", C=float("inf")).fit([[0.0, 0.0], [2.0, 0.0]], [-1, 1])
    np.testing.assert_allclose(np.abs(model.dual_coef_), 0.5)
    a = np.linspace(0, 1, 101)
    values = 2 * a - 0.5 * 4 * a**2
    assert a[np.argmax(values)] == 0.5
    assert values.max() == pytest.approx(0.5) == pytest.approx(model.certificate_.dual_objective)


@states("D12")
def test_who_pulls_stands_on_the_kerb(hard, alpha):
    margin = y * hard.decision_function(X)
    np.testing.assert_allclose(margin[alpha > 0], 1, atol=1e-6)
    assert np.all(alpha[margin > 1 + 1e-6] == 0)
    assert kkt_report(hard).holds


def test_forces_and_torques_balance(hard, alpha):
    """sum alpha y = 0, and the torques about the origin cancel along the boundary."""
    w = hard.coef_[0]
    normal = w / np.linalg.norm(w)
    along = np.array([-normal[1], normal[0]])
    assert alpha @ y == pytest.approx(0, abs=1e-9)
    assert (alpha * y) @ (X @ along) == pytest.approx(0, abs=1e-6)


@states("D13", "D14", "D15")
def test_offset_and_prediction_come_from_the_support_vectors(hard, alpha):
    w, b = hard.coef_[0], hard.intercept_[0]
    for k in hard.support_:
        assert y[k] - w @ X[k] == pytest.approx(b, abs=1e-6)
        assert y[k] - (alpha * y) @ (X @ X[k]) == pytest.approx(b, abs=1e-6)
    f = X @ w
    assert -(f[y < 0].max() + f[y > 0].min()) / 2 == pytest.approx(b, abs=1e-6)
    few = alpha > 0
    np.testing.assert_allclose((alpha * y)[few] @ (X[few] @ X.T) + b, hard.decision_function(X))


@states("D16", "D17")
def test_any_two_feasible_answers_enclose_the_optimum(hard, alpha):
    best = hard.coef_[0]
    for _ in range(50):
        a = balanced() * rng.uniform(0, 3)
        lower = a.sum() - 0.5 * np.sum(((a * y) @ X) ** 2)
        w = best + 0.1 * rng.standard_normal(2)
        f = X @ w
        room = (f[y > 0].min() - f[y < 0].max()) / 2
        if room <= 0:
            continue
        w = w / room
        upper = 0.5 * w @ w
        assert lower <= 0.5 * best @ best * (1 + 1e-9)
        assert 0.5 * np.sum((w - best) ** 2) <= upper - 0.5 * best @ best + 1e-6
        assert 0.5 * np.sum((w - best) ** 2) <= upper - lower + 1e-6
