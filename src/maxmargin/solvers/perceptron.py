"""The perceptron: look at one point after the other and correct w at every mistake.

Start at w = 0, b = 0. A point is a mistake when y_i (w.x_i + b) <= 0, and is corrected by

    w <- w + y_i x_i,    b <- b + y_i,

which raises y_i (w.x_i + b) by |x_i|^2 + 1. When a whole pass finds no mistake, w separates.

Why it ends (Novikoff): let a unit vector u separate with margin rho, y_i u.x_i >= rho, and let
|x_i| <= R; for the offset, append a 1 to every x. Each update raises w.u by at least rho, and
|w|^2 by at most R^2, because the middle term of |w + y x|^2 = |w|^2 + 2 y w.x + |x|^2 is not
positive at a mistake. After T updates, T rho <= w.u <= |w| <= sqrt(T) R, so T <= (R / rho)^2.
Without a separator it would go round for ever; `max_updates` ends it.

The dual form: w is always sum_i mistakes_i y_i x_i, so it is enough to count the mistakes of every
point. Then only dot products remain, and any kernel may take their place:

    f(x) = sum_i mistakes_i y_i (k(x_i, x) + 1).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from maxmargin import arrays
from maxmargin.errors import OVERFLOW, KernelError
from maxmargin.kernels.pairs import Pairs, Points
from maxmargin.solvers.interrupts import slices

ROW_BYTES = 200_000_000  # for kernel rows that may be asked for again


@dataclass(frozen=True)
class Corrections:
    """What the perceptron has learned, and how.

    `w` has b as its last entry (in the dual form it is b alone). `mistakes` counts the updates made
    at each point, `wrong` says which points are on the wrong side now.
    """

    w: np.ndarray
    mistakes: np.ndarray
    n_passes: int
    wrong: np.ndarray


def primal(X, y, fit_intercept, max_updates):
    """The perceptron in w itself; X is an array or a CSR matrix, y is +1 or -1."""
    from maxmargin.compiled.descent import perceptron_pass

    w, mistakes = np.zeros(X.shape[1] + 1), np.zeros(len(y), dtype=np.int64)
    data = arrays.storage(X)
    n_updates = n_passes = 0
    while n_updates < max_updates:
        n_passes += 1
        before = n_updates
        for rows in slices(range(len(y)), 2 * data[0].size):
            part = slice(rows.start, rows.stop)
            left = max_updates - n_updates
            n_updates += perceptron_pass(
                *_part_of(data, part), y[part], fit_intercept, left, w, mistakes[part]
            )
        if n_updates == before:
            break
    return Corrections(w, mistakes, n_passes, ~(y * (X @ w[:-1] + w[-1]) > 0))


def _part_of(data, rows):
    """The same storage, of some of its rows: a matrix, or the arrays of CSR."""
    X, indices, indptr = data
    return (X[rows] if X.ndim == 2 else X), indices, indptr[rows.start : rows.stop + 1]


def dual(kernel, X, y, fit_intercept, max_updates):
    """The perceptron with a kernel: f is kept for all points, so the next mistake is in sight."""
    n, points = len(y), Points(X)

    @lru_cache(maxsize=max(1, ROW_BYTES // (8 * n)))
    def kernel_row(i):
        with np.errstate(over="ignore", invalid="ignore"):  # checked in the next line
            row = kernel.formula(Pairs(points, points[[i]]))[:, 0]
        if not np.all(np.isfinite(row)):
            raise KernelError(OVERFLOW.format(kernel))
        return row

    f, mistakes, offset = np.zeros(n), np.zeros(n, dtype=np.int64), float(fit_intercept)
    n_updates, n_passes, position = 0, 1, 0
    while n_updates < max_updates:
        wrong = ~(y[position:] * f[position:] > 0)
        if wrong.any():
            i = position + int(np.argmax(wrong))
            f += y[i] * (kernel_row(i) + offset)
            mistakes[i] += 1
            n_updates += 1
            position = i + 1
        elif position > 0:  # the end of a pass with mistakes: begin the next
            n_passes, position = n_passes + 1, 0
        else:
            break
    b = offset * float(mistakes @ y)
    return Corrections(np.array([b]), mistakes, n_passes, ~(y * f > 0))
