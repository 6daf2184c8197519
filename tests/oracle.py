"""The oracle: the dual problem solved by an interior-point method that we did not write."""

import numpy as np
import qpsolvers


def oracle_objective(problem):
    """The optimum of a DualProblem, by PIQP at 1e-12."""
    K = problem.kernel(problem.X)
    K = (K + K.T) / 2
    if problem.rows is not None:
        K = np.ascontiguousarray(K[np.ix_(problem.rows, problem.rows)])
    coef = _split(problem, K) if np.any(problem.epsilon) else _plain(problem, K)
    coef = np.clip(coef, problem.lower, problem.upper)
    return problem.objective(coef, K @ coef)


def joint_oracle_objective(X, labels, C, bias):
    """The optimum of Crammer and Singer's machine, by PIQP on its primal.

    The variables are a weight for each class and feature, in units of the feature's length, and a
    slack for each point. `labels` count from 0, C is one price per row.
    """
    n, n_classes = len(labels), int(np.max(labels)) + 1
    X = np.column_stack([X, np.full(n, bias)])
    lengths = np.linalg.norm(X, axis=0)
    X, lengths = X[:, lengths > 0] / lengths[lengths > 0], lengths[lengths > 0]
    own = np.eye(n_classes)[labels]
    margins = [
        np.kron(np.eye(n_classes)[m] - own[i], X[i]) for i in range(n) for m in range(n_classes)
    ]
    G = np.hstack([np.array(margins), -np.kron(np.eye(n), np.ones((n_classes, 1)))])
    square = np.tile(1.0 / lengths**2, n_classes)
    solution = qpsolvers.solve_qp(
        np.diag(np.append(square, np.zeros(n))), np.append(np.zeros(len(square)), C), G=G,
        h=own.ravel() - 1.0, solver="piqp", eps_abs=1e-12, eps_rel=1e-12, max_iter=1000,
    )  # fmt: skip
    assert solution is not None, "the oracle found no solution"
    W = solution[: len(square)].reshape(n_classes, -1)
    decisions = X @ W.T
    slack = np.max(decisions + 1.0 - own, axis=1) - np.sum(decisions * own, axis=1)
    return 0.5 * float(square @ W.ravel() ** 2) + float(C @ slack)


def _plain(problem, K):
    members = _members(problem)
    return _solve(K, -problem.linear, members, problem.totals, problem.lower, problem.upper)


def _split(problem, K):
    """c = u - v with u, v >= 0 turns epsilon |c| into a linear term."""
    n, members = problem.n, _members(problem)
    cost = np.concatenate([problem.epsilon - problem.linear, problem.epsilon + problem.linear])
    upper = np.concatenate([problem.upper, -problem.lower])
    solution = _solve(
        np.block([[K, -K], [-K, K]]), cost, np.hstack([members, -members]), problem.totals,
        np.zeros(2 * n), upper,
    )  # fmt: skip
    return solution[:n] - solution[n:]


def _members(problem):
    return np.array([problem.groups == group for group in range(problem.n_groups)], dtype=float)


def _solve(P, q, A, b, lower, upper):
    # In units of the box, so that C = 1e3 and C = 1e-3 look alike to the method.
    unit = float(np.max(upper - lower))
    scale = max(float(np.max(np.abs(P))) * unit**2, float(np.max(np.abs(q))) * unit)
    solution = qpsolvers.solve_qp(
        P * (unit**2 / scale), q * (unit / scale), A=A, b=b / unit, lb=lower / unit,
        ub=upper / unit, solver="piqp", eps_abs=1e-12, eps_rel=1e-12, max_iter=1000,
    )  # fmt: skip
    assert solution is not None, "the oracle found no solution"
    return solution * unit
