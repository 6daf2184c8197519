"""The inner loop of SMO on a block of variables, given their kernel matrix.

The problem, in signed variables c (docs/notation.md):

    maximise  p.c - sum_i epsilon_i |c_i| - 1/2 c'Kc
    subject to  lower <= c <= upper  and the sum of c over each group fixed.

With the gradient g = p - Kc, raising c_i gains `g_i + up_i` per unit and lowering it costs
`g_i + low_i`, where the offsets `up`, `low` carry epsilon and, as +-FORBIDDEN, the bounds. A pair
(i, j) of one group with g_i + up_i > g_j + low_j can be improved; at the optimum there is none.
"""

import numpy as np

from maxmargin.compiled.numba_setup import compiled, vector_max, vector_min

FORBIDDEN = 1e200  # It is larger than any gradient, and finite, so that it survives reordered sums.
SNAP = 1e-15  # A variable that is relatively nearer to a bound than this is put there.
CHUNK = 128  # Extrema are found per chunk with vector instructions, then located in one chunk.


@compiled
def up_offset(c, upper, epsilon):
    if c >= upper:
        return -FORBIDDEN
    return -epsilon if c >= 0.0 else epsilon


@compiled
def low_offset(c, lower, epsilon):
    if c <= lower:
        return FORBIDDEN
    return -epsilon if c > 0.0 else epsilon


@compiled
def fill_offsets(coef, lower, upper, epsilon, up, low):
    for k in range(len(coef)):
        up[k] = up_offset(coef[k], upper[k], epsilon[k])
        low[k] = low_offset(coef[k], lower[k], epsilon[k])


@compiled
def balance(coef, lower, upper, groups, totals):
    """Restore the sum of each group, which a million rounded steps have changed.

    The free variable with the most room takes the difference, if it has that much.
    """
    for group in range(len(totals)):
        missing = totals[group]
        widest, most = 0, 0.0
        for k in range(len(coef)):
            if groups[k] == group:
                missing -= coef[k]
                room = min(coef[k] - lower[k], upper[k] - coef[k], abs(coef[k]))  # zero stays zero
                if room > most:
                    widest, most = k, room
        if abs(missing) <= most:
            coef[widest] += missing


@compiled
def bias_of(gradient, up, low, groups, group):
    """The multiplier b_h of a group.

    At the optimum all free points have the same value, so it is their mean, which is stable.
    Without a free point it is the middle of the interval that the others leave open.
    """
    n_free, total = 0, 0.0
    top, bottom = -np.inf, np.inf
    for k in range(len(gradient)):
        if groups[k] != group:
            continue
        if up[k] > -FORBIDDEN:
            top = max(top, gradient[k] + up[k])
            if up[k] == low[k]:  # the point is free, and not at a kink
                n_free += 1
                total += gradient[k] + up[k]
        if low[k] < FORBIDDEN:
            bottom = min(bottom, gradient[k] + low[k])
    if n_free > 0:
        return total / n_free
    if top == -np.inf and bottom == np.inf:
        return 0.0
    if top == -np.inf or bottom == np.inf:
        return bottom if top == -np.inf else top
    return 0.5 * (top + bottom)


@compiled
def room_above(c, upper, epsilon):
    """How far c may rise before its bound, or before |c| has its kink."""
    return -c if epsilon > 0.0 and c < 0.0 else upper - c


@compiled
def room_below(c, lower, epsilon):
    return c if epsilon > 0.0 and c > 0.0 else c - lower


@compiled
def locate(gradient, up, value):
    """The first position at which g + up equals `value`."""
    for k in range(len(gradient)):
        if gradient[k] + up[k] == value:
            return k
    return 0


@compiled
def shift_and_find(gradient, up, low, row_i, row_j, step):
    """g -= step (row_i - row_j), and in the same pass max(g + up), its position, min(g + low)."""
    n = len(gradient)
    best = -2.0 * FORBIDDEN
    smallest = 2.0 * FORBIDDEN
    best_chunk = 0
    for first in range(0, n, CHUNK):
        g = gradient[first : first + CHUNK]
        above = up[first : first + CHUNK]
        below = low[first : first + CHUNK]
        a = row_i[first : first + CHUNK]
        b = row_j[first : first + CHUNK]
        largest = -2.0 * FORBIDDEN
        for k in range(len(g)):
            shifted = g[k] - step * (np.float64(a[k]) - np.float64(b[k]))
            g[k] = shifted
            largest = vector_max(largest, shifted + above[k])
            smallest = vector_min(smallest, shifted + below[k])
        if largest > best:
            best = largest
            best_chunk = first
    chunk = slice(best_chunk, best_chunk + CHUNK)
    return best, best_chunk + locate(gradient[chunk], up[chunk], best), smallest


@compiled
def largest_gain(row, diagonal, gradient, low, own, value, violation, smallest_eta, largest_eta):
    # The gains only rank the partners, so float32 is enough, and divides four times as fast. In
    # units of the violation and of the largest eta they neither overflow nor vanish.
    per_violation = 1.0 / violation
    per_eta = 1.0 / largest_eta
    largest = np.float32(-1.0)
    for k in range(len(gradient)):
        difference = vector_max(value - (gradient[k] + low[k]), 0.0)
        eta = own + np.float64(diagonal[k]) - 2.0 * np.float64(row[k])
        eta = vector_max(eta, smallest_eta)
        share = np.float32(difference * per_violation)
        largest = vector_max(largest, share * share / np.float32(eta * per_eta))
    return largest


@compiled
def best_partner(
    row, diagonal, gradient, low, i, value, violation, smallest_eta, largest_eta
):  # fmt: skip
    """The j whose pair with i raises the objective most: the largest (difference)^2 / eta."""
    own = np.float64(diagonal[i])
    best = np.float32(-1.0)
    best_chunk = 0
    for first in range(0, len(gradient), CHUNK):
        part = slice(first, first + CHUNK)
        largest = largest_gain(
            row[part], diagonal[part], gradient[part], low[part],
            own, value, violation, smallest_eta, largest_eta,
        )  # fmt: skip
        if largest > best:
            best = largest
            best_chunk = first
    partner = best_chunk
    gain = -1.0
    for k in range(best_chunk, min(best_chunk + CHUNK, len(gradient))):
        share = max(value - (gradient[k] + low[k]), 0.0) / violation
        eta = max(own + diagonal[k] - 2.0 * row[k], smallest_eta) / largest_eta
        if share * share > gain * eta:
            gain = share * share / eta
            partner = k
    return partner


@compiled
def snapped(c, before, lower, upper, epsilon):
    """c, or the bound (or kink) that is a rounding error away: next to it, c would count as free,
    and its gradient as the bias.

    Rounding is relative to the bound and to where c came from, not to the box, because with a large
    kernel the multipliers of the solution are many ulps of C below it.
    """
    if upper - c <= SNAP * max(abs(upper), abs(before)):
        return upper
    if c - lower <= SNAP * max(abs(lower), abs(before)):
        return lower
    if epsilon > 0.0 and abs(c) <= SNAP * abs(before):
        return 0.0
    return c


@compiled
def shift_groups(gradient, up, low, row_i, row_j, step, starts):
    """Shift the whole gradient and return the worst group: its violation, number, i and value."""
    violation = -4.0 * FORBIDDEN
    worst = 0
    i = 0
    value = 0.0
    for group in range(len(starts) - 1):
        first = starts[group]
        if first == starts[group + 1]:
            continue
        part = slice(first, starts[group + 1])
        top, position, bottom = shift_and_find(
            gradient[part], up[part], low[part], row_i[part], row_j[part], step
        )
        if top - bottom > violation:
            violation = top - bottom
            worst = group
            i = first + position
            value = top
    return violation, worst, i, value


@compiled
def solve_block(
    K, diagonal, gradient, coef, lower, upper, epsilon, up, low, starts,
    stop, max_steps, smallest_eta, largest_eta,
):  # fmt: skip
    """SMO with second-order choice of the pair, until the violation is below `stop`.

    Group h occupies positions starts[h] to starts[h + 1]. `coef`, `gradient` and the offsets are
    updated in place. It returns the steps taken, the violation left and the objective gained.
    """
    steps = 0
    gained = 0.0
    violation, group, i, value = shift_groups(gradient, up, low, K[0], K[0], 0.0, starts)
    while violation > stop and steps < max_steps:
        row_i = K[i]
        first = starts[group]
        part = slice(first, starts[group + 1])
        j = first + best_partner(
            row_i[part], diagonal[part], gradient[part], low[part], i - first, value, violation,
            smallest_eta, largest_eta,
        )  # fmt: skip
        eta = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], smallest_eta)
        difference = value - (gradient[j] + low[j])
        step = min(
            difference / eta,
            room_above(coef[i], upper[i], epsilon[i]),
            room_below(coef[j], lower[j], epsilon[j]),
        )
        coef[i] = snapped(coef[i] + step, coef[i], lower[i], upper[i], epsilon[i])
        coef[j] = snapped(coef[j] - step, coef[j], lower[j], upper[j], epsilon[j])
        up[i] = up_offset(coef[i], upper[i], epsilon[i])
        low[i] = low_offset(coef[i], lower[i], epsilon[i])
        up[j] = up_offset(coef[j], upper[j], epsilon[j])
        low[j] = low_offset(coef[j], lower[j], epsilon[j])
        gained += step * (difference - 0.5 * step * eta)
        violation, group, i, value = shift_groups(gradient, up, low, row_i, K[j], step, starts)
        steps += 1
    return steps, violation, gained
