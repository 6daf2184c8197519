"""The loops of the lasso: coordinate descent on columns, and small steps on a Gram matrix."""

import numpy as np

from maxmargin.compiled.linear import add_row, row_dot
from maxmargin.compiled.numba_setup import compiled
from maxmargin.compiled.vectors import add


@compiled
def sweep(
    columns, indices, indptr, mean, total_weight, chosen, squared_lengths, penalty, positive, w,
    residual, accuracy, max_sweeps,
):  # fmt: skip
    """Minimise 1/2 |y - Zw|^2 + penalty |w|_1 over the chosen coordinates, one after the other.

    `w` and `residual` are updated in place. Column j of Z is columns[j] - mean[j] root, but the
    multiples of root are only counted, in `shift`, so that a step costs no more than the column has
    entries; the caller adds them to `residual`. It ends with the first sweep in which no step
    changes the objective by more than about `accuracy`, and returns the sweeps made.
    """
    shift = 0.0
    for count in range(max_sweeps):
        largest = 0.0
        for j in chosen:
            curvature, before = squared_lengths[j], w[j]
            if curvature <= 0.0:
                continue
            correlation = row_dot(columns, indices, indptr, j, residual)
            target = correlation + shift * total_weight * mean[j] + curvature * before
            w[j] = 0.0
            if target > penalty:
                w[j] = (target - penalty) / curvature
            elif target < -penalty and not positive:
                w[j] = (target + penalty) / curvature
            step = w[j] - before
            if step != 0.0:
                add_row(columns, indices, indptr, j, -step, residual)
                shift += step * mean[j]
                largest = max(largest, curvature * step * step)
        if largest <= accuracy:
            return count + 1
    return max_sweeps


@compiled
def subtract_rows(gram, step, correlations):
    """correlations -= G step, over non-zero steps; `gram` may have spare rows and columns."""
    for j in range(len(step)):
        if step[j] != 0.0:
            add(gram[j, : len(correlations)], -step[j], correlations)


@compiled
def block_of(gram, chosen, ridge):
    """The lower triangle of the chosen rows and columns, with a ridge, for Cholesky."""
    size = len(chosen)
    block = np.zeros((size, size))
    for i in range(size):
        row = gram[chosen[i]]
        for k in range(i + 1):
            block[i, k] = row[chosen[k]]
        block[i, i] += ridge
    return block
