"""The least of loss + penalty over w and b, by methods that we did not write."""

import numpy as np
import qpsolvers
from scipy.optimize import minimize
from scipy.special import expit

POWER = {"hinge": 1, "epsilon_insensitive": 1}  # of the slack in a loss; 2 in all others


def least_objective(loss, epsilon, penalty, alpha, X, y):
    """min over w, b of the mean loss + alpha penalty(w); logistic without the l1 penalty.

    Columns are centred and scaled first, and targets of regression too: that changes what is
    searched, not what is found.
    """
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    Z = (X - X.mean(axis=0)) / scale
    prices = np.zeros(X.shape[1]) if penalty is None else alpha / scale ** (1 + (penalty == "l2"))
    if loss == "logistic":
        return _logistic(prices, Z, y)
    is_regression, power = loss == "squared" or "epsilon" in loss, POWER.get(loss, 2)
    unit = np.abs(y - y.mean()).max() if is_regression else 1.0
    y = (y - y.mean()) / unit if is_regression else y
    prices = prices * unit ** (2.0 - power if penalty == "l2" else 1.0 - power)
    half = 0.5 if loss == "squared" else 1.0
    epsilon = epsilon / unit if "epsilon" in loss else 0.0
    sides = [(Z, y, -1.0), (Z, y, 1.0)] if is_regression else [(-y[:, None] * Z, -y, 0.0)]
    return unit**power * _quadratic(sides, epsilon, power, half, penalty == "l1", prices)


def _quadratic(sides, epsilon, power, half, is_l1, prices):
    """Variables w (twice, both at least 0, for l1), b and a slack per row."""
    n, d = sides[0][0].shape
    columns = 2 * d if is_l1 else d
    cost, curvature = np.zeros(columns + 1 + n), np.zeros(columns + 1 + n)
    cost[:columns] = np.tile(prices, 2) if is_l1 else 0.0
    curvature[:columns] = 0.0 if is_l1 else prices
    (cost if power == 1 else curvature)[columns + 1 :] = (1 if power == 1 else 2) * half / n
    rows, most = [], []
    for Z, y, side in sides:  # side (f - y) <= epsilon + slack, or 1 - y f <= slack
        sign = side if side else 1.0
        W = np.hstack([Z, -Z]) if is_l1 else Z
        b = np.full((n, 1), 1.0) if side else y[:, None]
        rows.append(np.hstack([sign * W, sign * b, -np.eye(n)]))
        most.append(sign * y + epsilon if side else np.full(n, -1.0))
    lower = np.concatenate([np.full(columns, 0.0 if is_l1 else -np.inf), [-np.inf], np.zeros(n)])
    found = qpsolvers.solve_qp(
        np.diag(curvature), cost, np.vstack(rows), np.concatenate(most), lb=lower, solver="piqp",
        eps_abs=1e-9, eps_rel=1e-9, max_iter=500,
    )  # fmt: skip
    assert found is not None, "the oracle found no solution"
    return float(cost @ found + 0.5 * curvature @ found**2)


def _logistic(prices, Z, y):
    A, prices = np.column_stack([Z, np.ones(len(y))]), np.append(prices, 0.0)

    def value(v):
        return np.logaddexp(0.0, -y * (A @ v)).mean() + 0.5 * prices @ v**2

    def gradient(v):
        return A.T @ (-y * expit(-y * (A @ v))) / len(y) + prices * v

    def curvature(v):
        bend = expit(A @ v) * expit(-A @ v) / len(y)
        return A.T @ (A * bend[:, None]) + np.diag(prices)

    start = np.zeros(A.shape[1])
    return minimize(value, start, jac=gradient, hess=curvature, method="trust-exact").fun
