"""Kernel values from a tile of dot products, in one pass that stays in the cache; and subtraction
of multiples of stored rows from the gradient."""

import numpy as np

from maxmargin.arrays import CANCELLED
from maxmargin.compiled.numba_setup import compiled, float32_from_bits, float64_from_bits

LOG2_E = 1.4426950408889634


def _power_of_two(degree):
    """A polynomial close to 2**r on [-1/2, 1/2], by interpolation."""
    nearest = np.polynomial.Chebyshev.interpolate(np.exp2, degree, domain=[-0.5, 0.5])
    return nearest.convert(kind=np.polynomial.Polynomial).coef


# exp(t) = 2**whole * 2**part: the whole power goes into the exponent bits, 2**part is a polynomial
# whose error is below that of rounding (2e-9 and 2e-16).
POWERS_32 = tuple(np.float32(power) for power in _power_of_two(6))
POWERS_64 = tuple(float(power) for power in _power_of_two(10))
# Smaller powers of two are taken for zero: some processors are slow with products that are below
# the range of normal numbers.
SMALLEST_EXPONENT_32 = np.float32(-100.0)
SMALLEST_EXPONENT_64 = -970.0

VANISHED = 746.0  # From here on, exp(-t) is zero.
FAR = 1e4  # From this gamma |x|^2 on, its rounding error, 1e-12 or more, may show in the kernel.


@compiled
def gaussian_from_dots_32(tile, squared_norms_a, squared_norms_b, gamma):
    """Replace x.z by exp(-gamma |x - z|^2) in a float32 tile."""
    rate = np.float32(gamma * LOG2_E)
    twice = np.float32(2.0) * rate
    zero = np.float32(0.0)
    half = np.float32(0.5)
    p0, p1, p2, p3, p4, p5, p6 = POWERS_32
    for i in range(tile.shape[0]):
        start = -rate * squared_norms_a[i]
        for j in range(tile.shape[1]):
            t = start - rate * squared_norms_b[j] + twice * tile[i, j]
            t = t if t < zero else zero
            seen = t if t > SMALLEST_EXPONENT_32 else SMALLEST_EXPONENT_32
            whole = np.int32(seen - half)
            r = seen - np.float32(whole)
            power = p0 + r * (p1 + r * (p2 + r * (p3 + r * (p4 + r * (p5 + r * p6)))))
            power *= float32_from_bits((whole + np.int32(127)) << np.int32(23))
            tile[i, j] = power if seen == t else zero


@compiled
def gaussian_from_dots_64(tile, squared_norms_a, squared_norms_b, gamma, far):
    """Replace x.z by exp(-gamma |x - z|^2) in a float64 tile.

    Rows with gamma |x|^2 above `far` are left as they are; it returns how many there are.
    """
    p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10 = POWERS_64
    n_far = 0
    for i in range(tile.shape[0]):
        norm = squared_norms_a[i]
        if gamma * norm > far:
            n_far += 1
            continue
        for j in range(tile.shape[1]):
            distance = norm + squared_norms_b[j] - 2.0 * tile[i, j]
            t = -gamma * LOG2_E * (distance if distance > 0.0 else 0.0)
            seen = t if t > SMALLEST_EXPONENT_64 else SMALLEST_EXPONENT_64
            whole = np.int64(seen - 0.5)
            r = seen - np.float64(whole)
            high = p5 + r * (p6 + r * (p7 + r * (p8 + r * (p9 + r * p10))))
            power = p0 + r * (p1 + r * (p2 + r * (p3 + r * (p4 + r * high))))
            power *= float64_from_bits((whole + np.int64(1023)) << np.int64(52))
            tile[i, j] = power if seen == t else 0.0
    return n_far


@compiled
def far_gaussian_from_dots(
    tile, squared_norms_a, squared_norms_b, gamma, far, a, a_columns, a_spans, first_a,
    b, b_columns, b_spans, first_b,
):  # fmt: skip
    """The same for the rows that were left: points so far out that the rounding errors of
    |x|^2 + |z|^2 - 2 x.z would show. Where most of it cancels, differences take its place.

    The rows are laid out as `arrays.laid_out` does it; those of the tile begin at `first_a` and
    `first_b`.
    """
    for i in range(tile.shape[0]):
        norm = squared_norms_a[i]
        if gamma * norm <= far:
            continue
        for j in range(tile.shape[1]):
            terms = norm + squared_norms_b[j]
            distance = terms - 2.0 * tile[i, j]
            if distance < CANCELLED * terms:
                distance = squared_distance(
                    a, a_columns, a_spans, first_a + i, b, b_columns, b_spans, first_b + j
                )
            t = gamma * distance
            tile[i, j] = np.exp(-t) if t < VANISHED else 0.0  # most vanish, which saves an exp


@compiled
def squared_distance(a, a_columns, a_spans, i, b, b_columns, b_spans, j):
    """|a_i - b_j|^2 for rows in the layout of `arrays.laid_out`. Where a is dense, so is b."""
    if a.ndim == 2:
        return _of_dense(a[i], b[j])
    own = slice(a_spans[i, 0], a_spans[i, 1])
    if b.ndim == 2:
        return _of_sparse_and_dense(a[own], a_columns[own], b[j])
    other = slice(b_spans[j, 0], b_spans[j, 1])
    return _of_sparse(a[own], a_columns[own], b[other], b_columns[other])


@compiled
def _of_dense(a, b):
    distance = 0.0
    for k in range(len(a)):
        distance += (a[k] - b[k]) * (a[k] - b[k])
    return distance


@compiled
def _of_sparse_and_dense(a, a_columns, b):
    distance = 0.0
    p = 0
    for k in range(len(b)):
        difference = b[k]
        if p < len(a) and a_columns[p] == k:
            difference -= a[p]
            p += 1
        distance += difference * difference
    return distance


@compiled
def _of_sparse(a, a_columns, b, b_columns):
    """|a - b|^2 in one pass, because the columns of both are sorted."""
    distance = 0.0
    p, q = 0, 0
    while p < len(a) or q < len(b):
        difference = 0.0
        if q == len(b) or (p < len(a) and a_columns[p] <= b_columns[q]):
            difference += a[p]
            if q < len(b) and a_columns[p] == b_columns[q]:
                difference -= b[q]
                q += 1
            p += 1
        else:
            difference -= b[q]
            q += 1
        distance += difference * difference
    return distance


@compiled
def subtract_rows(gradient, store, slots, steps, start):
    """gradient -= sum_k steps[k] * store[slots[k], start : start + len(gradient)]."""
    n = len(gradient)
    whole = len(slots) // 4 * 4
    for k in range(0, whole, 4):  # with four rows a pass, the gradient is read less often
        a = store[slots[k], start : start + n]
        b = store[slots[k + 1], start : start + n]
        c = store[slots[k + 2], start : start + n]
        d = store[slots[k + 3], start : start + n]
        for m in range(n):
            gradient[m] -= (
                steps[k] * np.float64(a[m])
                + steps[k + 1] * np.float64(b[m])
                + steps[k + 2] * np.float64(c[m])
                + steps[k + 3] * np.float64(d[m])
            )
    for k in range(whole, len(slots)):
        a = store[slots[k], start : start + n]
        for m in range(n):
            gradient[m] -= steps[k] * np.float64(a[m])
