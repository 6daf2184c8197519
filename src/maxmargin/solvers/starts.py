"""Where a solver begins: at a point that is given, at the problem's own, or with twins.

Twins are equal points with contradictory labels, or with targets further apart than the tube is
wide, which no kernel can tell apart. Let x_i = x_j, and let c_i rise while c_j falls by as much.
Their rows of K are the same, so Kc does not change, and the objective gains
p_i - p_j - epsilon_i - epsilon_j per unit. Where that is positive the two go on until one is at its
bound. Doing so at once spares the solver a million steps, in which two large coefficients have to
cancel in rounded rows.
"""

import numpy as np

from maxmargin.solvers.base import Solution


def beginning(problem, start=None):
    """The coefficients to begin with, and Kc there, or None where it is not known."""
    if start is not None:
        there = start.reached or start
        return there.coef, there.expansion
    return problem.start, None if np.any(problem.start) else np.zeros(problem.n)


def start_with_twins(problem):
    """A start with Kc = 0, whose coefficients are zero except for those of twins.

    It is None where there are no twins, or where the problem does not begin at zero.
    """
    if problem.kernel.takes != "features" or problem.rows is not None or np.any(problem.start):
        return None
    coef = np.zeros(problem.n)
    for twins in _equal_points(problem):
        _oppose(problem, twins, coef)
    return Solution.at(coef, np.zeros(problem.n)) if np.any(coef) else None


@np.errstate(over="ignore", invalid="ignore")  # keys that overflow are not equal
def _equal_points(problem):
    """Sets of two or more variables of one group whose points are equal."""
    key = problem.points.projected()  # equal points have equal keys
    order = np.lexsort((key, problem.groups))
    same = (np.diff(key[order]) == 0) & (np.diff(problem.groups[order]) == 0)
    near = np.flatnonzero(same)
    same[near] = problem.points.are_equal(order[near], order[near + 1])
    # A run of k equal neighbours is a set of k + 1 points.
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]))).reshape(-1, 2)
    edges = edges[_may_be_opposed(problem, order, edges)]
    return [order[first : last + 1] for first, last in edges]


def _may_be_opposed(problem, order, edges):
    """Which sets have targets further apart than the tube is wide; most equal points agree."""
    if not len(edges):
        return slice(0)
    target, epsilon = problem.linear[order], problem.epsilon[order]
    begins = np.column_stack([edges[:, 0], edges[:, 1] + 1]).ravel()
    begins = begins[begins < len(order)]  # the last set may reach the end

    def of_sets(reduce, values):
        return reduce.reduceat(values, begins)[::2]

    spread = of_sets(np.maximum, target) - of_sets(np.minimum, target)
    return spread > 2.0 * of_sets(np.minimum, epsilon)


def _oppose(problem, twins, coef):
    """Pair off the variable that gains most by rising with the one that loses least by falling."""
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
