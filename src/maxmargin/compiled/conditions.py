"""How far a point is from optimal: the conditions of every variable, in one pass."""

import numpy as np

from maxmargin.compiled.numba_setup import compiled


@compiled
def measure(coef, residual, lower, upper, epsilon, losses):
    """The conditions of optimality, given the residual p - f - b.

    `losses` gets max over v in [lower_i, upper_i] of v residual_i - epsilon_i |v|. It returns

    growth     the most that a unit of |c_i| more would gain, over variables below their bound
    shrinkage  the most that a unit of |c_i| less would gain, over variables that are not zero
    outside    how far a variable leaves its box
    n_zero, n_bound, and whether a bound is infinite.
    """
    growth, shrinkage, outside = 0.0, 0.0, 0.0
    n_zero, n_bound = 0, 0
    is_hard = False
    for i in range(len(coef)):
        c = coef[i]
        if_positive = residual[i] - epsilon[i]
        if_negative = -residual[i] - epsilon[i]
        losses[i] = max(max(if_positive, 0.0) * upper[i], max(if_negative, 0.0) * -lower[i])
        is_hard = is_hard or upper[i] == np.inf or lower[i] == -np.inf
        outside = max(outside, c - upper[i], lower[i] - c)
        if c == 0.0:
            n_zero += 1
            if upper[i] > 0.0:
                growth = max(growth, if_positive)
            if lower[i] < 0.0:
                growth = max(growth, if_negative)
            continue
        gain = if_positive if c > 0.0 else if_negative
        shrinkage = max(shrinkage, -gain)
        if c <= lower[i] or c >= upper[i]:
            n_bound += 1
        else:
            growth = max(growth, gain)
    return growth, shrinkage, outside, n_zero, n_bound, is_hard
