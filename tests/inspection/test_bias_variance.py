"""Noise, bias and variance, against cases where they are known exactly."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.pipeline import make_pipeline

from maxmargin import LinearRegression, PolynomialMap
from maxmargin.inspection import bias_variance, bias_variance_curve

SIGMA = 0.5


def draw(rng, n=30):
    X = rng.uniform(-1, 1, (n, 1))
    return X, truth(X) + SIGMA * rng.standard_normal(n)


def truth(X):
    return np.sin(3 * X[:, 0])


def test_a_constant_that_never_changes_is_all_bias():
    found = bias_variance(DummyRegressor(strategy="constant", constant=2.0), draw, truth)
    assert found.variance == 0.0
    assert found.bias2 == pytest.approx(np.mean((truth(found.X) - 2.0) ** 2))
    assert found.noise == pytest.approx(SIGMA**2, rel=0.1)


def test_the_mean_has_the_variance_of_a_mean():
    def flat(rng):
        return np.zeros((20, 1)), 1.0 + SIGMA * rng.standard_normal(20)

    found = bias_variance(DummyRegressor(), flat, lambda X: np.ones(len(X)), n_draws=2000)
    assert found.variance == pytest.approx(SIGMA**2 / 20, rel=0.1)
    assert abs(found.bias2) < 1e-3
    assert found.noise == pytest.approx(SIGMA**2, rel=0.05)


def test_least_squares_has_variance_sigma2_d_over_n():
    fixed = np.random.default_rng(0).standard_normal((40, 5))

    def linear(rng):
        return fixed, fixed @ np.arange(5.0) + SIGMA * rng.standard_normal(40)

    model = LinearRegression(fit_intercept=False)
    found = bias_variance(model, linear, lambda X: X @ np.arange(5.0), n_draws=1000)
    assert found.variance == pytest.approx(SIGMA**2 * 5 / 40, rel=0.1)
    assert abs(found.bias2) < 2e-3


@pytest.mark.parametrize("degree", [1, 4, 7])
def test_the_parts_add_up_to_the_error(degree):
    model = make_pipeline(PolynomialMap(degree), LinearRegression(fit_intercept=False))
    found = bias_variance(model, lambda rng: draw(rng, 200), truth, n_draws=300)
    assert found.sum == pytest.approx(found.error, rel=0.05)
    assert "measured error" in repr(found)


def test_complexity_trades_bias_for_variance():
    model = make_pipeline(PolynomialMap(), LinearRegression(fit_intercept=False))
    curve = bias_variance_curve(
        model, draw, truth, param_name="polynomialmap__degree", param_range=[1, 3, 6]
    )
    assert np.all(np.diff([found.bias2 for found in curve]) < 0)
    assert np.all(np.diff([found.variance for found in curve]) > 0)
    assert len({found.noise for found in curve}) == 1  # the same samples for every degree


def test_seeded_and_checked():
    model = LinearRegression()
    first, again, other = (
        bias_variance(model, draw, truth, n_draws=5, random_state=seed) for seed in (3, 3, 4)
    )
    assert first.error == again.error != other.error
    with pytest.raises(ValueError, match="bias_variance: n_draws must be at least 2, got 1"):
        bias_variance(model, draw, truth, n_draws=1)
