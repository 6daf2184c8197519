"""The slopes of the sigmoid that turns decision values into probabilities (Platt)."""

import numpy as np

from maxmargin.compiled.numba_setup import compiled

SMALLEST_SLOPE = 1e-6  # A slope of zero would make both classes equally likely everywhere.
# The logarithm of a slope is at most this, so that the slope is finite.
LARGEST_LOGARITHM = 300.0
DIGITS = 1e-12  # The logarithm is found to this accuracy.
MOST_STEPS = 100  # The bisection needs half of these.


@compiled
def probability(t):
    return 0.5 * (1.0 + np.tanh(0.5 * t))


@compiled
def derivative(decisions, target, weight, offset, above, size, logarithm):
    """The derivative of the loss of one side by the slope, and its derivative by the logarithm."""
    slope = np.exp(logarithm)
    first, second = 0.0, 0.0
    for k in range(len(decisions)):
        if (decisions[k] >= 0.0) == above:
            f = decisions[k] / size
            p = probability(slope * f + offset)
            first += weight[k] * (p - target[k]) * f
            second += weight[k] * p * (1.0 - p) * f * f
    return first, slope * second


@compiled
def slope_of_side(decisions, target, weight, offset, above):
    """Minimise sum weight (log(1 + exp(t)) - target t), convex in t = a f + offset, over a > 0.

    The sum is over the decisions f on one side of zero. The search is for the logarithm of the
    slope a, because one far point says nothing about its size. Newton's steps are made as long as
    they stay between the slopes that are known to be too small and too large.
    """
    size = 0.0
    for k in range(len(decisions)):
        if (decisions[k] >= 0.0) == above:
            size = max(size, abs(decisions[k]))
    if size == 0.0:
        return 1.0
    low = high = np.log(SMALLEST_SLOPE)
    while high < LARGEST_LOGARITHM:
        if derivative(decisions, target, weight, offset, above, size, high)[0] >= 0.0:
            break
        low, high = high, high + 2.0
    if not low < high < LARGEST_LOGARITHM:
        return np.exp(high) / size
    at = 0.5 * (low + high)
    for _ in range(MOST_STEPS):
        first, second = derivative(decisions, target, weight, offset, above, size, at)
        if first < 0.0:
            low = at
        else:
            high = at
        step = -first / second if second > 0.0 else np.inf
        if not low <= at + step <= high:
            step = 0.5 * (low + high) - at
        at += step
        if abs(step) <= DIGITS or high - low <= DIGITS:
            break
    return np.exp(at) / size


@compiled
def fit_slopes(decisions, is_positive, weight, offset, target, slopes):
    """Write the slopes below and above zero into `slopes`; `target` is overwritten.

    The targets are a little inside 0 and 1 (Platt's smoothing), so that separable data do not ask
    for an infinite slope.
    """
    n_positive, n_negative = 0.0, 0.0
    for k in range(len(weight)):
        if is_positive[k]:
            n_positive += weight[k]
        else:
            n_negative += weight[k]
    for k in range(len(weight)):
        above = (n_positive + 1.0) / (n_positive + 2.0)
        target[k] = above if is_positive[k] else 1.0 / (n_negative + 2.0)
    slopes[0] = slope_of_side(decisions, target, weight, offset, False)
    slopes[1] = slope_of_side(decisions, target, weight, offset, True)
