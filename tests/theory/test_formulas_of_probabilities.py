"""The formulas of docs/theory/probabilities.md, evaluated beside the code that they explain."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_gaussian_mixture, make_moons
from maxmargin.estimators.probability import couple, fit_slopes, positive_probability

rng = np.random.default_rng(0)
F = rng.normal(size=200)
SIGNS = np.where(expit(2 * F) > rng.uniform(size=200), 1, -1)
N_PLUS, N_MINUS = np.sum(SIGNS == 1), np.sum(SIGNS == -1)
TARGET = np.where(SIGNS == 1, (N_PLUS + 1) / (N_PLUS + 2), 1 / (N_MINUS + 2))
SIDES = {"below": F < 0, "above": F >= 0}


def loss(a, side):
    z = a * F[side]
    return np.sum(np.logaddexp(0, z) - TARGET[side] * z)


@states("PR2", "PR4")
@pytest.mark.parametrize("name", SIDES)
def test_the_slopes_minimise_the_negative_log_likelihood_of_their_side(name):
    side = SIDES[name]
    slope = fit_slopes(F, SIGNS, np.ones(200))[list(SIDES).index(name)]
    best = minimize_scalar(loss, bounds=(1e-3, 50), args=(side,), options={"xatol": 1e-10}).x
    assert slope == pytest.approx(best, abs=1e-5)


@states("PR2", "PR3")
def test_the_loss_is_the_negative_log_likelihood_and_has_its_derivatives():
    side, a, h = SIDES["above"], 1.3, 1e-4
    f, t = F[side], TARGET[side]
    p = expit(a * f)
    assert loss(a, side) == pytest.approx(-np.sum(t * np.log(p) + (1 - t) * np.log(1 - p)))
    slope, bend = np.sum((p - t) * f), np.sum(p * (1 - p) * f**2)
    assert (loss(a + h, side) - loss(a - h, side)) / (2 * h) == pytest.approx(slope, rel=1e-6)
    second = (loss(a + h, side) - 2 * loss(a, side) + loss(a - h, side)) / h**2
    assert second == pytest.approx(bend, rel=1e-3)
    assert bend >= 0


@states("PR1")
def test_the_probability_is_a_sigmoid_with_a_slope_for_each_side():
    slopes = np.array([0.7, 2.5])
    expected = np.where(F < 0, expit(0.7 * F), expit(2.5 * F))
    np.testing.assert_allclose(positive_probability(F, slopes), expected)


@states("PR4")
@pytest.mark.parametrize("n", [1, 5, 50])
def test_separated_points_get_laplaces_rule(n):
    sides = np.repeat([1.0, -1.0], n)
    slopes = fit_slopes(sides, sides, np.ones(2 * n))
    expected = (n + 1) / (n + 2)
    assert positive_probability(np.ones(1), slopes)[0] == pytest.approx(expected)


# Several classes.


def pairwise(k):
    r = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1, k):
            r[i, j] = rng.uniform(0.05, 0.95)
            r[j, i] = 1 - r[i, j]
    return r


@states("PR5", "PR6", "PR7")
@pytest.mark.parametrize("k", [3, 4, 7])
def test_coupling_is_the_least_squares_compromise_and_its_linear_system(k):
    r = pairwise(k)
    found = couple(r[np.triu_indices(k, 1)][None], k)[0]
    Q = -r * r.T
    np.fill_diagonal(Q, np.sum(r.T**2, axis=1))
    p = np.linalg.solve(Q + np.ones((k, k)), np.ones(k))
    np.testing.assert_allclose(found, p / p.sum())

    def compromise(p):
        return sum((r[j, i] * p[i] - r[i, j] * p[j]) ** 2 for i in range(k) for j in range(i))

    assert compromise(found) == pytest.approx(found @ Q @ found)
    held = {"type": "eq", "fun": lambda p: p.sum() - 1}
    best = minimize(compromise, np.full(k, 1 / k), constraints=held, options={"ftol": 1e-14}).x
    np.testing.assert_allclose(found, best, atol=1e-5)


def test_consistent_pairs_give_back_the_probabilities_that_made_them():
    p = np.array([0.5, 0.3, 0.15, 0.05])
    r = p[:, None] / (p[:, None] + p)
    np.testing.assert_allclose(couple(r[np.triu_indices(4, 1)][None], 4)[0], p)


def test_one_against_the_rest_divides_by_the_sum():
    centres = {0: [(0, 0)], 1: [(2, 0)], 2: [(1, 2)]}
    X, y = make_gaussian_mixture(90, centres=centres, noise=0.5)
    model = SVC(multi_class="ovr", probability=True).fit(X, y)
    columns = positive_probability(model.decision_function(X), model._slopes)
    expected = columns / columns.sum(axis=1, keepdims=True)
    agrees = expected.argmax(axis=1) == model.predict(X)
    assert agrees.mean() > 0.9  # of the others, two change places
    np.testing.assert_allclose(model.predict_proba(X)[agrees], expected[agrees], atol=1e-9)


@states("PR8")
def test_weights_of_classes_leave_the_odds_of_the_rows_as_they_are():
    X, y = make_moons(120, noise=0.3)
    model = SVC(class_weight={-1: 1.0, 1: 4.0}, probability=True).fit(X, y)
    f, p = model.decision_function(X), model.predict_proba(X)
    slope = np.where(f < 0, *model._slopes[0])
    np.testing.assert_allclose(p[:, 1] / p[:, 0], np.exp(slope * f) / 4.0, rtol=1e-5)
    np.testing.assert_array_equal(model.predict(X) == 1, 4.0 * p[:, 1] > p[:, 0])
