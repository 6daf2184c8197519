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

Each point may have a rate, by which its corrections are multiplied; one rate for all changes
nothing but the length of w.
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


@dataclass(frozen=True)
class Visits:
    """How the points are visited: for how long, in which order, and with what rate each.

    Without a seed the order is that of the points, otherwise a new one in every pass.
    """

    max_updates: int
    max_passes: float = np.inf
    rates: np.ndarray | None = None
    seed: int | None = None

    def rates_of(self, n):
        return np.ones(n) if self.rates is None else self.rates

    def orders(self, n):
        """The order of each pass, for ever."""
        rng = None if self.seed is None else np.random.default_rng(self.seed)
        while True:
            yield np.arange(n) if rng is None else rng.permutation(n)


def primal(X, y, fit_intercept, visits, start=None):
    """The perceptron in w itself; X is an array or a CSR matrix, y is +1 or -1."""
    from maxmargin.compiled.descent import perceptron_pass

    w = np.zeros(X.shape[1] + 1) if start is None else start.copy()
    data, mistakes = arrays.storage(X), np.zeros(len(y), dtype=np.int64)
    rates, orders = visits.rates_of(len(y)), visits.orders(len(y))
    n_updates = n_passes = 0
    while n_updates < visits.max_updates and n_passes < visits.max_passes:
        n_passes += 1
        before = n_updates
        for order in slices(next(orders), 2 * data[0].size):
            left = visits.max_updates - n_updates
            n_updates += perceptron_pass(*data, y, rates, order, fit_intercept, left, w, mistakes)
        if n_updates == before:
            break
    return Corrections(w, mistakes, n_passes, ~(y * (X @ w[:-1] + w[-1]) > 0))


def dual(kernel, X, y, fit_intercept, visits):
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
    steps, orders = y * visits.rates_of(n), visits.orders(n)
    n_updates, n_passes, left = 0, 1, next(orders)  # of the pass
    while n_updates < visits.max_updates:
        wrong = ~(y[left] * f[left] > 0)
        if wrong.any():
            first = int(np.argmax(wrong))
            i, left = left[first], left[first + 1 :]
            f += steps[i] * (kernel_row(i) + offset)
            mistakes[i] += 1
            n_updates += 1
        elif len(left) < n and n_passes < visits.max_passes:  # a pass with mistakes ends
            n_passes, left = n_passes + 1, next(orders)
        else:
            break
    b = offset * float(mistakes @ steps)
    return Corrections(np.array([b]), mistakes, n_passes, ~(y * f > 0))
