"""Coordinate descent on the dual of a linear machine.

A dense X is a matrix, a sparse one the three arrays of CSR; `X.ndim` tells them apart when the
function is compiled, so each row is read where it lies and there is one loop for both.
"""

import numpy as np

from maxmargin.compiled.dots import add_lines
from maxmargin.compiled.numba_setup import compiled, unsigned
from maxmargin.compiled.vectors import add, dot, sparse_add, sparse_dot


@compiled
def row_dot(X, indices, indptr, i, w):
    if X.ndim == 2:
        return dot(X[i], w)
    return sparse_dot(X[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]], w)


@compiled
def add_row(X, indices, indptr, i, factor, w):
    if X.ndim == 2:
        add(X[i], factor, w)
    else:
        values, columns = X[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        sparse_add(values, columns, factor, w)


@compiled
def dot_rows(X, indices, indptr, w, out):
    """out = X w."""
    for i in range(len(out)):
        out[i] = row_dot(X, indices, indptr, i, w)


@compiled
def sum_rows(X, indices, indptr, values, w):
    """w += X' values."""
    for i in range(len(values)):
        add_row(X, indices, indptr, i, values[i], w)


@compiled
def weighted_gram(X, indices, indptr, weight, bias, gram):
    """The lower triangle of gram += X' diag(weight) X, for sparse rows with a constant feature."""
    last = gram.shape[0] - 1
    for i in range(len(weight)):
        if weight[i] == 0.0:
            continue
        values, columns = X[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for k in range(len(values)):
            value, line = weight[i] * values[k], gram[unsigned(columns[k])]
            sparse_add(values[: k + 1], columns[: k + 1], value, line)  # columns are sorted
            gram[last, unsigned(columns[k])] += bias * value
        gram[last, last] += weight[i] * bias * bias


@compiled
def smoothed_losses(
    decisions, linear, epsilon, lower, upper, width, plain_from, slopes, curvature
):  # fmt: skip
    """Fill in slopes and curvature of plain losses smoothed over a width; return the plain sum.

    A point may have a loss on either side of its tube, as far as its box allows. At a distance of
    `plain_from` from the kink, slopes and curvature are those of the plain loss.
    """
    total = 0.0
    for i in range(len(decisions)):
        residual = linear[i] - decisions[i]
        above, below = residual - epsilon[i], -residual - epsilon[i]
        total += upper[i] * max(above, 0.0) - lower[i] * max(below, 0.0)
    for i in range(len(decisions)):
        residual = linear[i] - decisions[i]
        above, below = residual - epsilon[i], -residual - epsilon[i]
        rise = np.sqrt(above * above + 4.0 * width * width)
        fall = np.sqrt(below * below + 4.0 * width * width)
        up, down = 0.5 * upper[i], -0.5 * lower[i]
        part_above = above / rise if rise < plain_from else np.sign(above)
        part_below = below / fall if fall < plain_from else np.sign(below)
        slopes[i] = up * (1.0 + part_above) - down * (1.0 + part_below)
        up = up / (rise * rise * rise) if rise < plain_from else 0.0
        down = down / (fall * fall * fall) if fall < plain_from else 0.0
        curvature[i] = 4.0 * width * width * (up + down)
    return total


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
def above_zero(curvature):
    """The curvature; that of a point at the origin, whose loss does not depend on w, is zero."""
    return curvature if curvature > 0.0 else 1e-300


@compiled
def descend(
    X, indices, indptr, bias, linear, epsilon, lower, upper, damping, squared_lengths, order,
    coef, w,
):  # fmt: skip
    """Make one pass over the coordinates in `order`; `coef` and `w` = X'c are updated in place."""
    last = len(w) - 1
    for position in range(len(order)):
        i = order[position]
        curvature = above_zero(squared_lengths[i] + damping[i])
        decision = row_dot(X, indices, indptr, i, w) + bias * w[last]
        slope = linear[i] - decision - damping[i] * coef[i]
        best = best_coordinate(coef[i], slope, curvature, lower[i], upper[i], epsilon[i])
        step = best - coef[i]
        if step != 0.0:
            coef[i] = best
            add_row(X, indices, indptr, i, step, w)
            w[last] += step * bias


@compiled
def l1_descend(gram, linear, w, sweeps, tol):
    """Minimise linear.w + 1/2 w'Gw + |w|_1 by coordinate descent, in place; return the sweeps."""
    product = gram @ w
    for sweep in range(sweeps):
        largest = 0.0
        for j in range(len(w)):
            curvature = gram[j, j]
            if curvature <= 0.0:
                continue
            target = curvature * w[j] - product[j] - linear[j]
            if target > 1.0:
                best = (target - 1.0) / curvature
            elif target < -1.0:
                best = (target + 1.0) / curvature
            else:
                best = 0.0
            step = best - w[j]
            if step != 0.0:
                w[j] = best
                add(gram[j], step, product)
                largest = max(largest, abs(step) * np.sqrt(curvature))
        if largest <= tol:
            return sweep + 1
    return sweeps


@compiled
def best_of_classes(B, A, C, own, best):
    """Fill in the a that minimises 1/2 A |a|^2 + B.a over a_m <= C for the own class and a_m <= 0
    for the others, with sum a = 0.

    At the minimum a_m = min(bound_m, (beta - B_m) / A), and beta follows from sorting. A is
    positive.
    """
    # A shift of B changes nothing, because a sums to zero; without it A C could round to nothing.
    B -= B.max()
    D = B.copy()
    D[own] += A * C
    D = np.sort(D)[::-1]
    beta = D[0] - A * C
    count = 1
    while count < len(D) and beta < count * D[count]:
        beta += D[count]
        count += 1
    beta /= count
    for m in range(len(B)):
        best[m] = min(0.0, (beta - B[m]) / A)
    others = 0.0
    for m in range(len(B)):
        others -= best[m] if m != own else 0.0
    # The own class takes what rounding leaves of the sum, which is much where A is small.
    if others > C:
        best *= C / others
    best[own] = min(others, C)


@compiled
def descend_classes(X, indices, indptr, bias, labels, C, curvature, order, alpha, W):
    """One pass over Crammer and Singer's dual: for each point the best alpha of all its classes.

    `W` has a column per class, so that a value that is read once serves all of them.
    """
    n_classes, last = W.shape[1], W.shape[0] - 1
    B, best, moved = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes, np.int64)
    everything = np.arange(last)
    for position in range(len(order)):
        i = order[position]
        A, own = curvature[i], labels[i]
        if X.ndim == 2:
            values, columns = X[i], everything
        else:
            values, columns = X[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        for m in range(n_classes):
            B[m] = bias * W[last, m] + (0.0 if m == own else 1.0) - A * alpha[i, m]
        add_lines(B, W, columns, values, len(values))
        best_of_classes(B, A, C[i], own, best)
        n_moved = 0
        for m in range(n_classes):
            if best[m] != alpha[i, m]:
                B[n_moved], moved[n_moved] = best[m] - alpha[i, m], m
                alpha[i, m] = best[m]
                W[last, m] += bias * B[n_moved]
                n_moved += 1
        if n_moved > 0:
            steps, classes = B[:n_moved], moved[:n_moved]
            for k in range(len(values)):
                sparse_add(steps, classes, values[k], W[unsigned(columns[k])])


@compiled
def descend_together(
    X, indices, indptr, bias, linear, epsilon, lower, upper, damping, squared_lengths, order,
    coef, W,
):  # fmt: skip
    """One pass of `descend` for several machines on the same sparse rows.

    `linear`, `lower`, `upper`, `coef` and `W` have a column per machine, so that a value that is
    read once serves all of them. `damping` has columns, too, or is the same for all machines, which
    saves all divisions of a row but one.
    """
    n_machines, last = W.shape[1], W.shape[0] - 1
    decision = np.empty(n_machines)
    step = np.empty(n_machines)
    for position in range(len(order)):
        i = order[position]
        if damping.ndim == 1:  # the compiler knows this and leaves out the other case
            own = damping[i]
            curvature = above_zero(squared_lengths[i] + own)
        for m in range(n_machines):
            decision[m] = bias * W[last, m]
        values, columns = X[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        add_lines(decision, W, columns, values, len(values))
        moves = False
        for m in range(n_machines):
            c = coef[i, m]
            if damping.ndim == 2:
                own = damping[i, m]
                curvature = above_zero(squared_lengths[i] + own)
            slope = linear[i, m] - decision[m] - own * c
            best = best_coordinate(c, slope, curvature, lower[i, m], upper[i, m], epsilon[i])
            step[m] = best - c
            coef[i, m] = best
            moves = moves or step[m] != 0.0
        if moves:
            for k in range(len(values)):
                add(step, values[k], W[unsigned(columns[k])])
            add(step, bias, W[last])
