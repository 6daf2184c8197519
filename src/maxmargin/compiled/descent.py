"""One epoch of gradient descent in steps of any number of rows, and one pass of the perceptron.

Both read X where it lies, dense or CSR, as `compiled/linear.py` does. The last entry of `w` is b.

A step with one sparse row must not cost a pass over all of w, although the l2 penalty shrinks every
weight and the mean of the iterates moves with every step. So both are kept as a vector that changes
only where the row does, and a few numbers that change as a whole:

    w = scale v,    mean = share (u + lead v).

Scaling w down is then one product, and when v gains `change`, u loses `lead` times as much.
`settle` brings both back to plain vectors at the end, and before a number becomes too small.
"""

import numpy as np

from maxmargin.compiled.linear import add_row, row_dot
from maxmargin.compiled.numba_setup import compiled

# The place of a name is the number by which the compiled loop knows the loss.
LOSSES = (
    "hinge",
    "squared_hinge",
    "logistic",
    "squared",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)
HINGE, SQUARED_HINGE, LOGISTIC, SQUARED, EPSILON_INSENSITIVE = range(5)
SMALLEST = 1e-4  # With a smaller `scale` or `share`, u and lead v would cancel too many digits.
RECENCY = 3  # Iterate t counts in the mean about as t to this power.


@compiled
def slope(loss, epsilon, y, f):
    """The derivative of the loss by f, as `maxmargin.losses` defines it."""
    if loss == SQUARED:
        return f - y
    if loss == LOGISTIC:
        return -y / (1.0 + np.exp(y * f))
    if loss in (HINGE, SQUARED_HINGE):
        shortfall = 1.0 - y * f
        if shortfall <= 0.0:
            return 0.0
        return -y if loss == HINGE else -2.0 * y * shortfall
    beyond = abs(f - y) - epsilon
    if beyond <= 0.0:
        return 0.0
    side = 1.0 if f > y else -1.0
    return side if loss == EPSILON_INSENSITIVE else 2.0 * side * beyond


@compiled
def settle(v, u, scale, share, lead):
    """Turn v into w = scale v and u into the mean, in place; return |w|^2."""
    squared_length = 0.0
    for k in range(len(v) - 1):
        u[k] = share * (u[k] + lead * v[k])
        v[k] *= scale
    for k in range(len(v) - 1):
        squared_length += v[k] * v[k]
    return squared_length


@compiled
def pull_to_zero(v, u, amount, lead):
    """The step of the l1 penalty: every weight but zero moves towards zero by `amount`."""
    for k in range(len(v) - 1):
        change = -amount * np.sign(v[k])
        v[k] += change
        u[k] -= lead * change


@compiled
def epoch(
    X, indices, indptr, y, cost, squared_lengths, order, batch_size, loss, epsilon, l1, l2,
    eta0, decays, radius, fit_intercept, averages, t, w, mean, followed,
):  # fmt: skip
    """Make a step for every `batch_size` rows of `order`, in place; return t and the last eta.

    A step is w <- (1 - eta l2) w - eta l1 sign(w) - eta sum_i cost_i slope_i x_i / (its rows),
    then back into the ball of the given radius; eta is eta0, or eta0 / t when it decays. The slope
    of a row at its step is written to `followed`.
    """
    v, u, last, eta = w, mean, len(w) - 1, eta0
    scale, share, lead = 1.0, 1.0, 0.0
    squared_length = settle(v, u, scale, share, lead)
    slopes = np.empty(min(batch_size, len(order)))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        t += 1
        eta = eta0 / t if decays else eta0
        for k in range(len(rows)):  # all slopes are taken before w moves
            i = rows[k]
            f = scale * row_dot(X, indices, indptr, i, v) + v[last]
            followed[i] = slope(loss, epsilon, y[i], f)
            slopes[k] = cost[i] * followed[i] / len(rows)
        if l1 > 0.0:
            pull_to_zero(v, u, eta * l1, lead)
        scale *= 1.0 - eta * l2
        if abs(scale) < SMALLEST:
            squared_length = settle(v, u, scale, share, lead)
            scale, share, lead = 1.0, 1.0, 0.0
        for k in range(len(rows)):
            if slopes[k] == 0.0:
                continue
            i, change = rows[k], -eta * slopes[k] / scale
            if radius < np.inf:
                overlap = row_dot(X, indices, indptr, i, v)
                squared_length += change * (2.0 * overlap + change * squared_lengths[i])
            add_row(X, indices, indptr, i, change, v)
            if averages:
                add_row(X, indices, indptr, i, -lead * change, u)
            if fit_intercept:
                v[last] -= eta * slopes[k]
        if scale * scale * squared_length > radius * radius:
            scale *= radius / (abs(scale) * np.sqrt(squared_length))
        if averages:
            rate = (1.0 + RECENCY) / (t + RECENCY)
            if rate == 1.0:  # the mean begins with the first iterate
                u[:] = 0.0
                share, lead = 1.0, scale
            else:
                share *= 1.0 - rate
                lead += rate * scale / share
            u[last] += rate * (v[last] - u[last])
            if share < SMALLEST:
                squared_length = settle(v, u, scale, share, lead)
                scale, share, lead = 1.0, 1.0, 0.0
    settle(v, u, scale, share, lead)
    return t, eta


@compiled
def perceptron_pass(X, indices, indptr, y, rates, order, fit_intercept, max_updates, w, mistakes):
    """Visit rows in an order and correct w at each mistake; return the number of corrections."""
    last, updates = len(w) - 1, 0
    for i in order:
        if updates == max_updates:
            break
        is_right = y[i] * (row_dot(X, indices, indptr, i, w) + w[last]) > 0.0
        if not is_right:  # NaN is wrong, too
            step = rates[i] * y[i]
            add_row(X, indices, indptr, i, step, w)
            if fit_intercept:
                w[last] += step
            mistakes[i] += 1
            updates += 1
    return updates
