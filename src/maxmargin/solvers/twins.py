"""Equal points that pull in opposite directions, which no kernel can tell apart.

Let x_i = x_j, and let c_i rise while c_j falls by as much. Their rows of K are the same, so f = Kc
stays what it is, and the objective gains p_i - p_j - epsilon_i - epsilon_j per unit. Where that is
positive the two go on until one is at its bound: contradictory labels, or targets further apart
than the tube is wide. Doing so at once spares the solver a million steps, in which two large
coefficients have to cancel in rounded rows.
"""

import numpy as np

from maxmargin import arrays


def start_with_twins(problem):
    """Coefficients with f = 0: all zero but those of equal points that oppose each other.

    None where there are no such points, or where the problem begins elsewhere.
    """
    if problem.kernel.takes != "features" or problem.rows is not None or np.any(problem.start):
        return None
    coef = np.zeros(problem.n)
    for twins in _equal_points(problem):
        _oppose(problem, twins, coef)
    return coef if np.any(coef) else None


@np.errstate(over="ignore", invalid="ignore")  # then no two keys are equal
def _equal_points(problem):
    """Sets of two or more variables of one group whose points are equal."""
    direction = np.random.default_rng(0).standard_normal(problem.X.shape[1])
    key = np.asarray(problem.X @ direction)  # equal rows have equal keys; the reverse is checked
    order = np.lexsort((key, problem.groups))
    same = (np.diff(key[order]) == 0) & (np.diff(problem.groups[order]) == 0)
    near = np.flatnonzero(same)
    same[near] = _rows_equal(problem.X, order[near], order[near + 1])
    # A run of k equal neighbours is a set of k + 1 points.
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
    return [order[first : last + 1] for first, last in edges.reshape(-1, 2)]


def _rows_equal(X, left, right):
    difference = abs(arrays.take(X, left) - arrays.take(X, right))
    return np.asarray(difference.sum(axis=1)).ravel() == 0.0


def _oppose(problem, twins, coef):
    """Pair off the one that gains most by rising with the one that loses least by falling."""
    by_target = twins[np.argsort(problem.linear[twins], kind="stable")]
    low, high = 0, len(by_target) - 1
    while low < high:
        i, j = by_target[high], by_target[low]
        gain = problem.linear[i] - problem.linear[j] - problem.epsilon[i] - problem.epsilon[j]
        amount = min(problem.upper[i] - coef[i], coef[j] - problem.lower[j])
        if not gain > 0 or not np.isfinite(amount):
            return
        coef[i], coef[j] = min(coef[i] + amount, problem.upper[i]), coef[j] - amount
        high -= bool(coef[i] >= problem.upper[i])
        low += bool(coef[j] <= problem.lower[j])
