"""Coordinate descent on the dual of a linear machine.

A dense X is a matrix, a sparse one the three arrays of CSR; `X.ndim` tells them apart when the
function is compiled, so each row is read where it lies and there is one loop for both.
"""

from maxmargin.compiled.numba_setup import compiled


@compiled
def row_dot(X, indices, indptr, i, w):
    total = 0.0
    if X.ndim == 2:
        row = X[i]
        for k in range(len(row)):
            total += row[k] * w[k]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            total += X[k] * w[indices[k]]
    return total


@compiled
def add_row(X, indices, indptr, i, factor, w):
    if X.ndim == 2:
        row = X[i]
        for k in range(len(row)):
            w[k] += factor * row[k]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            w[indices[k]] += factor * X[k]


@compiled
def best_coordinate(c, slope, curvature, lower, upper, epsilon):
    """The value of c that maximises slope (c' - c) - 1/2 curvature (c' - c)^2 - epsilon |c'|."""
    target = curvature * c + slope
    if target > epsilon:
        best = (target - epsilon) / curvature
    elif target < -epsilon:
        best = (target + epsilon) / curvature
    else:
        best = 0.0
    return min(max(best, lower), upper)


@compiled
def descend(
    X, indices, indptr, bias, linear, epsilon, lower, upper, damping, squared_lengths, order,
    coef, w,
):  # fmt: skip
    """One pass over the coordinates in `order`; returns the largest |slope| that was open.

    `coef` and `w` = X'c are updated in place. The slope of a coordinate is open as far as its box
    (and epsilon) lets it move: the distance it moves, times the curvature.
    """
    last = len(w) - 1
    violation = 0.0
    for position in range(len(order)):
        i = order[position]
        curvature = squared_lengths[i] + damping[i]
        if curvature <= 0.0:
            # A point at the origin, without bias: the loss does not depend on w.
            curvature = 1e-300
        decision = row_dot(X, indices, indptr, i, w) + bias * w[last]
        slope = linear[i] - decision - damping[i] * coef[i]
        best = best_coordinate(coef[i], slope, curvature, lower[i], upper[i], epsilon[i])
        step = best - coef[i]
        if step != 0.0:
            violation = max(violation, abs(step) * curvature)
            coef[i] = best
            add_row(X, indices, indptr, i, step, w)
            w[last] += step * bias
    return violation
