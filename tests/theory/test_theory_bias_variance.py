"""The formulas of docs/theory/bias_and_variance.md, evaluated by simulation with known answers."""

import numpy as np
import pytest
from theory_pages import states

from maxmargin import LinearRegression, Ridge
from maxmargin.inspection import bias_variance

rng = np.random.default_rng(0)
n, q, SIGMA, DRAWS = 30, 4, 0.7, 20_000
A = rng.standard_normal((n, q)) @ np.diag([2.0, 1.0, 1.0, 0.4])
w = np.array([1.0, -1.0, 2.0, 0.5])
G = np.linalg.inv(A.T @ A)
U, s, Vt = np.linalg.svd(A, full_matrices=False)
NOISE = SIGMA * rng.standard_normal((DRAWS, n))


@states("V1", "V2", "V3")
def test_noise_bias_and_variance_add_up_to_the_error():
    """A shrunken mean of ten targets: both parts are known exactly."""
    t, share = 3.0, 0.8
    samples = t + SIGMA * rng.standard_normal((DRAWS, 10))
    f = share * samples.mean(axis=1)
    bias, variance = f.mean() - t, f.var()
    assert bias == pytest.approx((share - 1) * t, abs=0.01)
    assert variance == pytest.approx(share**2 * SIGMA**2 / 10, rel=0.05)
    e = SIGMA * rng.standard_normal(DRAWS)
    error = np.mean((t + e - f) ** 2)
    assert error == pytest.approx(SIGMA**2 + bias**2 + variance, rel=0.03)
    np.testing.assert_allclose(t + e - f, e + (t - f.mean()) + (f.mean() - f))
    for product in (e * (t - f.mean()), e * (f.mean() - f), (t - f.mean()) * (f.mean() - f)):
        assert product.mean() == pytest.approx(0, abs=0.02)


@states("V4", "V5", "V6", "V7")
def test_least_squares_is_unbiased_with_the_covariance_of_the_page():
    estimates = (A @ w + NOISE) @ A @ G
    np.testing.assert_allclose(estimates, w + NOISE @ A @ G)
    np.testing.assert_allclose(
        LinearRegression(fit_intercept=False).fit(A, A @ w + NOISE[0]).coef_, estimates[0]
    )
    scale = np.sqrt(SIGMA**2 * np.diag(G))
    assert np.all(np.abs(estimates.mean(axis=0) - w) < 5 * scale / np.sqrt(DRAWS))
    np.testing.assert_allclose(
        np.cov(estimates.T) / np.outer(scale, scale),
        SIGMA**2 * G / np.outer(scale, scale),
        atol=0.05,
    )
    x = rng.standard_normal(q)
    new = x @ w + SIGMA * rng.standard_normal(DRAWS)
    error = np.mean((new - estimates @ x) ** 2)
    assert error == pytest.approx(SIGMA**2 * (1 + x @ G @ x), rel=0.05)


@states("V8")
def test_every_feature_costs_its_share_of_variance():
    H = A @ G @ A.T
    np.testing.assert_allclose(H @ H.T, H, atol=1e-9)
    assert np.trace(H) == pytest.approx(q)
    t = np.sin(A[:, 0]) + A @ w  # partly beyond what the features express
    predictions = (t + NOISE) @ H.T
    assert predictions.var(axis=0).mean() == pytest.approx(SIGMA**2 * q / n, rel=0.05)
    bias2 = np.mean((predictions.mean(axis=0) - t) ** 2)
    assert bias2 == pytest.approx(np.sum((t - H @ t) ** 2) / n, rel=0.02)


@states("V9", "V10")
def test_ridge_trades_variance_for_bias_and_a_little_always_pays():
    t = A @ w

    def parts(price):
        factor = s**2 / (s**2 + price)
        bias2 = np.sum((price / (s**2 + price)) ** 2 * (U.T @ t) ** 2) / n
        return bias2, SIGMA**2 / n * np.sum(factor**2)

    price = 3.0
    weights = np.linalg.solve(A.T @ A + price * np.eye(q), A.T @ (t + NOISE).T).T
    np.testing.assert_allclose(
        Ridge(alpha=price, fit_intercept=False).fit(A, t + NOISE[0]).coef_, weights[0]
    )
    predictions = weights @ A.T
    assert np.mean((predictions.mean(axis=0) - t) ** 2) == pytest.approx(parts(price)[0], rel=0.05)
    assert predictions.var(axis=0).mean() == pytest.approx(parts(price)[1], rel=0.05)
    step = 1e-5
    slopes = [(after - before) / step for after, before in zip(parts(step), parts(0), strict=True)]
    assert slopes[0] == pytest.approx(0, abs=1e-3)
    assert slopes[1] == pytest.approx(-2 * SIGMA**2 / n * np.sum(1 / s**2), rel=1e-3)
    assert sum(parts(0.01)) < sum(parts(0))


@states("V11", "V12")
def test_the_measured_parts_are_corrected_for_the_number_of_draws():
    def draw(rng):
        return A, A @ w + SIGMA * rng.standard_normal(n)

    found = bias_variance(
        LinearRegression(fit_intercept=False), draw, lambda X: X @ w, n_draws=12, random_state=3
    )
    m = 12
    spread = (found.mean_prediction - A @ w) ** 2 - found.variance_at / m
    assert found.bias2 == pytest.approx(spread.mean())
    samples = rng.standard_normal((DRAWS, m))  # of a model without bias
    v = samples.var(axis=1, ddof=1)
    assert v.mean() == pytest.approx(1, rel=0.02)
    assert np.mean(samples.mean(axis=1) ** 2) == pytest.approx(1 / m, rel=0.05)
    assert np.mean(samples.mean(axis=1) ** 2 - v / m) == pytest.approx(0, abs=0.005)
