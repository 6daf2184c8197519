"""The formulas of docs/theory/regression_and_regularisation.md, evaluated."""

import numpy as np
import pytest
from theory_pages import states

from maxmargin import KernelRidge, Lasso, LinearRegression, Ridge
from maxmargin.errors import RankWarning
from maxmargin.kernels import RBF
from maxmargin.losses import Squared

rng = np.random.default_rng(0)
A = rng.standard_normal((40, 5)) @ np.diag([3.0, 1.0, 1.0, 0.3, 0.1])
y = A @ [1.0, -2.0, 0.0, 0.5, 0.0] + 0.3 * rng.standard_normal(40)
n, d = A.shape
U, s, Vt = np.linalg.svd(A, full_matrices=False)
FREE = {"fit_intercept": False}


def slope_of(F, w, step=1e-6):
    return np.array([(F(w + e) - F(w - e)) / (2 * step) for e in step * np.eye(len(w))])


@states("E1", "E2", "E3", "E4")
def test_least_squares_in_all_its_forms():
    def L(w):
        return np.mean(Squared().value(y, A @ w))

    w = rng.standard_normal(d)
    assert L(w) == pytest.approx((y - A @ w) @ (y - A @ w) / (2 * n))
    np.testing.assert_allclose(slope_of(L, w), (A.T @ A @ w - A.T @ y) / n, rtol=1e-5)
    best = LinearRegression(**FREE).fit(A, y).coef_
    np.testing.assert_allclose(A.T @ A @ best, A.T @ y)
    np.testing.assert_allclose(best, np.linalg.inv(A.T @ A) @ A.T @ y)
    np.testing.assert_allclose(best, sum((U[:, k] @ y) / s[k] * Vt[k] for k in range(d)))
    double = np.column_stack([A, A[:, 0]])
    with pytest.warns(RankWarning):
        shortest = LinearRegression(**FREE).fit(double, y).coef_
    u, values, v = np.linalg.svd(double, full_matrices=False)
    kept = values > 1e-9
    np.testing.assert_allclose(shortest, ((u.T @ y) / np.where(kept, values, np.inf)) @ v)


@states("E5", "E6", "E7", "E8", "E9")
@pytest.mark.parametrize("price", [0.1, 3.0])
def test_ridge_in_all_its_forms(price):
    def J(w):
        return np.sum((y - A @ w) ** 2) + price * w @ w

    w = rng.standard_normal(d)
    np.testing.assert_allclose(slope_of(J, w), 2 * A.T @ (A @ w - y) + 2 * price * w, rtol=1e-5)
    scaled = np.mean((y - A @ w) ** 2) / 2 + price * (w @ w) / (2 * n)
    assert scaled == pytest.approx(J(w) / (2 * n))
    best = Ridge(alpha=price, **FREE).fit(A, y).coef_
    system = A.T @ A + price * np.eye(d)
    np.testing.assert_allclose(best, np.linalg.inv(system) @ A.T @ y)
    assert w @ system @ w == pytest.approx(np.sum((A @ w) ** 2) + price * w @ w)
    assert np.linalg.eigvalsh(system).min() > 0
    parts = [s[k] / (s[k] ** 2 + price) * (U[:, k] @ y) * Vt[k] for k in range(d)]
    np.testing.assert_allclose(best, sum(parts))
    shrunk = [s[k] ** 2 / (s[k] ** 2 + price) * (U[:, k] @ y) / s[k] * Vt[k] for k in range(d)]
    np.testing.assert_allclose(sum(parts), sum(shrunk))


@states("E10", "E11", "E12", "E13")
def test_the_dual_of_ridge_is_kernel_ridge():
    price = 0.7
    w = Ridge(alpha=price, **FREE).fit(A, y).coef_
    a, K = (y - A @ w) / price, A @ A.T
    np.testing.assert_allclose(w, A.T @ a)
    np.testing.assert_allclose(a, np.linalg.inv(K + price * np.eye(n)) @ y, atol=1e-9)
    np.testing.assert_allclose(
        A.T @ np.linalg.inv(K + price * np.eye(n)), np.linalg.inv(A.T @ A + price * np.eye(d)) @ A.T
    )

    def J_D(a):
        return 0.5 * a @ K @ K @ a - a @ K @ y + 0.5 * y @ y + price / 2 * a @ K @ a

    other = rng.standard_normal(n)
    primal = 0.5 * np.sum((y - A @ (A.T @ other)) ** 2) + price / 2 * np.sum((A.T @ other) ** 2)
    assert J_D(other) == pytest.approx(primal)
    assert all(J_D(a + 0.01 * rng.standard_normal(n)) >= J_D(a) for _ in range(30))
    kernel, new = RBF(gamma=0.2), rng.standard_normal((6, d))
    model = KernelRidge(alpha=price, kernel=kernel).fit(A, y)
    by_hand = kernel(new, A) @ np.linalg.inv(kernel(A) + price * np.eye(n)) @ y
    np.testing.assert_allclose(model.predict(new), by_hand)


@states("E14", "E15", "E16", "E17")
def test_the_lasso_satisfies_its_condition_and_the_soft_threshold():
    price = 0.15
    model = Lasso(alpha=price, tol=1e-13, **FREE).fit(A, y)
    w, r = model.coef_, y - A @ model.coef_
    pull, used = A.T @ r / n, model.coef_ != 0
    assert 0 < used.sum() < d
    np.testing.assert_allclose(pull[used], price * np.sign(w[used]), atol=1e-8)
    assert np.all(np.abs(pull) <= price + 1e-8)

    def J(w):
        return np.sum((y - A @ w) ** 2) / (2 * n) + price * np.abs(w).sum()

    assert all(J(w + 0.01 * rng.standard_normal(d)) > J(w) for _ in range(50))
    for j in range(d):
        length = A[:, j] @ A[:, j]
        rho = A[:, j] @ r + length * w[j]
        threshold = np.sign(rho) * max(abs(rho) - n * price, 0)
        assert w[j] == pytest.approx(threshold / length, abs=1e-8)
    largest = np.abs(A.T @ y).max() / n
    assert not Lasso(alpha=largest * 1.0001, **FREE).fit(A, y).coef_.any()
    assert Lasso(alpha=largest * 0.99, **FREE).fit(A, y).coef_.any()


@states("E18")
def test_the_gap_of_the_lasso_is_never_negative_and_bounds_what_is_left():
    price = 0.15
    best = Lasso(alpha=price, tol=1e-13, **FREE).fit(A, y).coef_

    def J(w):
        return n * (np.sum((y - A @ w) ** 2) / (2 * n) + price * np.abs(w).sum())

    for _ in range(30):
        w = best + 0.3 * rng.standard_normal(d)
        r = y - A @ w
        share = min(1.0, n * price / np.abs(A.T @ r).max())
        gap = 0.5 * (1 - share) ** 2 * r @ r + np.sum(n * price * np.abs(w) - share * w * (A.T @ r))
        v = share * r
        assert np.all(np.abs(A.T @ v) <= n * price + 1e-9)
        assert gap == pytest.approx(J(w) - (y @ v - 0.5 * v @ v))
        assert gap >= J(w) - J(best) - 1e-9 >= -1e-9
