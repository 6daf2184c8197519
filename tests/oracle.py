"""The oracle: the dual problem solved by an interior-point method that we did not write."""

import numpy as np
import qpsolvers


def oracle_objective(problem):
    """The optimum of a DualProblem, by PIQP at 1e-12."""
    K = problem.matrix.values(np.arange(problem.matrix.n))
    K = (K + K.T) / 2
    if problem.rows is not None:
        K = np.ascontiguousarray(K[np.ix_(problem.rows, problem.rows)])
    coef = _split(problem, K) if np.any(problem.epsilon) else _plain(problem, K)
    coef = np.clip(coef, problem.lower, problem.upper)
    return problem.objective(coef, K @ coef)


def joint_oracle_objective(X, labels, C, bias):
    """The optimum of Crammer and Singer's machine; `labels` count from 0, C is a price per row."""
    W = joint_oracle(X, labels, C, bias)
    assert W is not None, "the oracle found no solution"
    decisions = np.column_stack([X, np.full(len(X), bias)]) @ W.T
    is_own = labels[:, None] == np.arange(len(W))
    slack = np.max(decisions + ~is_own, axis=1) - decisions[is_own]
    return 0.5 * float(np.sum(W**2)) + float(C @ slack)


def joint_oracle(X, labels, C, bias):
    """W of Crammer and Singer's machine by PIQP on its primal, or None where it finds none.

    The variables are a weight for each class and feature, in units of the feature's length, and a
    slack for each point.
    """
    n, n_classes = len(labels), int(np.max(labels)) + 1
    X = np.column_stack([X, np.full(n, bias)])
    lengths = np.linalg.norm(X, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    own, classes = np.eye(n_classes)[labels], np.eye(n_classes)
    margins = [np.kron(m - y, x) for x, y in zip(X / lengths, own, strict=True) for m in classes]
    square = np.tile(1.0 / lengths**2, n_classes)
    scale = max(np.max(C), np.max(square))
    solution = qpsolvers.solve_qp(
        np.diag(np.append(square, np.zeros(n))) / scale, np.append(0.0 * square, C) / scale,
        G=np.hstack([margins, -np.kron(np.eye(n), np.ones((n_classes, 1)))]), h=own.ravel() - 1.0,
        solver="piqp", eps_abs=1e-12, eps_rel=1e-12, max_iter=1000,
    )  # fmt: skip
    return None if solution is None else solution[: len(square)].reshape(n_classes, -1) / lengths


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
