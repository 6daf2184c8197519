"""How far sums of Gaussians that were made in float32 can be off.

Let u be half the spacing of float32 at one. With points x and z in float32, measured from a common
origin, each of these is off by at most

    u |x| and u |z|            the points themselves,
    u (|x|^2 + |z|^2)          the squares of their norms,
    d u |x| |z|                their dot product of d terms, in whichever order they are added,

so that |x - z|^2 is off by less than (d + 8) u (|x| + |z|)^2, and k is off by gamma times that,
relatively, and a few u of the exponential itself. Values below 2^-100 are taken for zero.

One centre far out must not spoil the bound of all rows, because its k is next to nothing. Since
|x| + |z| <= 2 |x| + |x - z|, gamma (|x| + |z|)^2 is at most 8 gamma |x|^2 + 2 t, if k = exp(-t).
And t k is at most T k up to some T > 1, and at most T exp(-T) beyond. So the errors of all c k are
together less than (d + 8) u times

    (8 gamma |x|^2 + 2 T) sum of |c| k  +  2 T exp(-T) sum of |c|.

A sum of c k over a panel of m centres, with coefficients in float32, is off by m + 2 times
u beside, relatively to the sum of |c| k. Of these sums, that with the largest |c| of every centre
is the largest, which is what one more column of coefficients is for.
"""

import numpy as np

from maxmargin.engines.strips import PANEL

U = 0.5 * float(np.finfo(np.float32).eps)
FEW_ULPS = 16.0  # The exponential by its polynomial, and what is added in the end, cost less.
T = 16.0
# The errors are relative to sums that are off themselves, and exp(e) - 1 is more than e. With e up
# to LARGEST_ERROR where t <= T, and 2 LARGEST_UNIT t more up to t = 70, this makes up for it.
SAFE = 1.35
LARGEST_ERROR, LARGEST_UNIT = 0.05, 1e-3
UNDERFLOW = 2.0**-98  # More than what is taken for zero (`compiled/tiles.py`).
# Squared norms and gamma between these are far from where float32 loses all digits.
SMALLEST, LARGEST = 1e-30, 1e30


def with_sizes(coef):
    """The coefficients, and the largest of every row in one more column."""
    return np.column_stack([coef, np.max(np.abs(coef), axis=1)])


def error_of_float32(sizes, totals, squared_norms, centres, gamma):
    """An upper bound of the error of every sum in float32; infinite where there is none.

    `sizes` holds the sums of |c| k for the rows with these squared norms, and `totals` those of |c|
    alone; the kernel is exp(-gamma |x - z|^2) with these centres.
    """
    largest = float(np.max(centres.centred_squared_norms, initial=0.0))
    reach = gamma * (np.sqrt(squared_norms) + np.sqrt(largest)) ** 2
    unit = (centres.shape[1] + 8) * U
    of_kernel = unit * np.minimum(reach, 8.0 * gamma * squared_norms + 2.0 * T)
    of_sum = (PANEL + FEW_ULPS) * U
    beyond = 2.0 * T * np.exp(-T) * unit + UNDERFLOW
    errors = SAFE * (sizes * (of_kernel + of_sum)[:, None] + beyond * totals)
    is_in_range = (squared_norms < LARGEST) & (SMALLEST < gamma < LARGEST) & (largest < LARGEST)
    errors[~is_in_range | (of_kernel > LARGEST_ERROR) | (unit > LARGEST_UNIT)] = np.inf
    return errors
