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
from time import perf_counter

import numpy as np

from maxmargin import arrays
from maxmargin.engines.interrupts import slices
from maxmargin.solvers.base import LinearSolution, LinearSolver

ROW_BYTES = 200_000_000  # The kernel rows that are kept take this much memory at most.
NEWS = 0.1  # The limits are looked at after this many seconds within a pass.


@dataclass(frozen=True)
class Separation:
    """Points that w, and b if there is one, are to separate; y is +1 or -1.

    In the dual form the kernel matrix `matrix` takes the place of the dot products.
    """

    X: object
    y: np.ndarray
    rates: np.ndarray
    fit_intercept: bool = True
    matrix: object = None

    def wrong(self, f):
        """Which points are on the wrong side, given their decisions."""
        return ~(self.y * f > 0)


@dataclass
class Corrections(LinearSolution):
    """What the perceptron has learned: its dual variables count the mistakes at each point.

    `weights` has b as its last entry; in the dual form it is b alone. An iteration is a pass, and
    `wrong` says which points are on the wrong side now; the violation counts them.
    """

    wrong: np.ndarray | None = None


class Perceptron(LinearSolver):
    """The perceptron in w itself.

    It makes at most `max_updates` corrections. Without a seed the points are visited in their
    order, with one in a new random order in every pass.
    """

    counted = "corrected points"

    def __init__(self, max_updates, seed=None):
        super().__init__(tol=0.0)  # the violation counts mistakes, and none may be left
        self.max_updates, self.seed = max_updates, seed

    def approach(self, problem, budget, start):
        from maxmargin.compiled.descent import perceptron_pass

        w = np.zeros(problem.X.shape[1] + 1) if start is None else start.weights.copy()
        data, mistakes = arrays.storage(problem.X), np.zeros(len(problem.y), dtype=np.int64)
        n_updates, orders, stopped = 0, self.orders(len(problem.y)), ""
        yield Corrections(w, mistakes)
        for n_passes, whole in enumerate(orders, start=1):
            before = n_updates
            for order in slices(whole, 2 * data[0].size):
                n_updates += perceptron_pass(
                    *data, problem.y, problem.rates, order, problem.fit_intercept,
                    self.max_updates - n_updates, w, mistakes,
                )  # fmt: skip
            stopped = self.end(n_updates, before)
            yield Corrections(w, mistakes, n_passes, n_updates - before, n_updates, stopped)

    def orders(self, n):
        """The order of each pass, without end."""
        rng = None if self.seed is None else np.random.default_rng(self.seed)
        while True:
            yield np.arange(n) if rng is None else rng.permutation(n)

    def end(self, n_updates, before):
        """Why a pass was the last one, or an empty text."""
        if n_updates == before:
            return "converged"
        return "max_rounds" if n_updates >= self.max_updates else ""

    def finish(self, problem, found):
        wrong = problem.wrong(problem.X @ found.weights[:-1] + found.weights[-1])
        return self.judged(found, int(wrong.sum()), wrong=wrong)


class KernelPerceptron(Perceptron):
    """The dual form, which keeps f for all points and so finds the next mistake at once."""

    def approach(self, problem, budget, start):
        y, steps, offset = problem.y, problem.y * problem.rates, float(problem.fit_intercept)
        f, mistakes = np.zeros(len(y)), np.zeros(len(y), dtype=np.int64)
        kernel_row, n_updates, told = rows_of(problem), 0, perf_counter()
        if start is not None:
            mistakes += start.coef
            for i in np.flatnonzero(mistakes):
                f += mistakes[i] * steps[i] * (kernel_row(i) + offset)

        def at(n_passes, stopped=""):
            b, wrong = np.array([offset * float(mistakes @ steps)]), problem.wrong(f)
            return Corrections(b, mistakes, n_passes, wrong.sum(), n_updates, stopped, wrong)

        yield at(0)
        for n_passes, left in enumerate(self.orders(len(y)), start=1):
            before = n_updates
            while n_updates < self.max_updates and np.any(wrong := ~(y[left] * f[left] > 0)):
                first = int(np.argmax(wrong))
                i, left = left[first], left[first + 1 :]
                f += steps[i] * (kernel_row(i) + offset)
                mistakes[i] += 1
                n_updates += 1
                if perf_counter() - told > NEWS:
                    yield at(n_passes - 1)
                    told = perf_counter()
            yield at(n_passes, self.end(n_updates, before))

    def finish(self, problem, found):
        return self.judged(found, found.violation)


def rows_of(problem):
    """The function that gives a row of the kernel matrix, and remembers some."""

    @lru_cache(maxsize=max(1, ROW_BYTES // (8 * len(problem.y))))
    def kernel_row(i):
        return problem.matrix.expansion(np.array([i]), np.ones(1))

    return kernel_row
