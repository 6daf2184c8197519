"""Cosines and sines of a tile of angles in one pass, without leaving the cache.

An angle is brought into [-pi/2, pi/2] by half turns, each of which changes the sign, and a
polynomial gives the sine of the rest. A cosine is a sine that is a quarter turn ahead.
"""

import math

import numpy as np

from maxmargin.compiled.numba_setup import in_order

# These are pi/2 in three parts. Up to 2**24 quarter turns, products with the first two are exact,
# so that an angle is reduced without error; the third is half of what float64 leaves out of pi.
FIRST_PART = float(np.float32(np.pi / 2))
SECOND_PART = np.pi / 2 - FIRST_PART
THIRD_PART = math.sin(math.pi) / 2

HALF_TURNS_PER_UNIT = 1 / np.pi
LARGEST = 1e7  # Larger angles have too many quarter turns for that, and go to the C library.

# This is the sine's series from the cube on; the next term would be below rounding at pi/2.
SERIES = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(1, 11))

SINES, COSINES = 0.0, 1.0  # They are this many quarter turns ahead.


def _write_waves(angles, offsets, height, ahead, out):
    angles = angles + offsets
    out[...] = height * (np.cos(angles) if ahead else np.sin(angles))
    return np.count_nonzero(~(np.abs(angles) <= LARGEST))


@in_order(_write_waves)
def write_waves(angles, offsets, height, ahead, out):
    """out = height * sin(angles + offsets), or the cosine if `ahead` is a quarter turn.

    There is an offset for every column. It returns how many angles are too large to be exact, which
    includes those that are not finite.
    """
    n_too_large = 0
    c1, c2, c3, c4, c5, c6, c7, c8, c9, c10 = SERIES
    for i in range(angles.shape[0]):
        n_large = 0
        for j in range(angles.shape[1]):
            n_large += not abs(angles[i, j] + offsets[j]) <= LARGEST  # NaN is counted, too
        n_too_large += n_large
        if n_large:
            for j in range(angles.shape[1]):
                t = angles[i, j] + offsets[j]
                out[i, j] = height * (math.cos(t) if ahead else math.sin(t))
            continue
        for j in range(angles.shape[1]):
            t = angles[i, j] + offsets[j]
            half_turns = np.rint(t * HALF_TURNS_PER_UNIT - 0.5 * ahead)
            quarters = 2.0 * half_turns + ahead
            r = ((t - quarters * FIRST_PART) - quarters * SECOND_PART) - quarters * THIRD_PART
            signed = half_turns + ahead
            r *= 1.0 - 2.0 * (signed - 2.0 * np.floor(0.5 * signed))
            s = r * r
            high = c6 + s * (c7 + s * (c8 + s * (c9 + s * c10)))
            series = c1 + s * (c2 + s * (c3 + s * (c4 + s * (c5 + s * high))))
            out[i, j] = height * (r + r * s * series)
    return n_too_large
