"""Least squares and ridge with w >= 0: search for the weights in use; the rest is closed form.

Two searches follow one another. The fast one exchanges all weights at once that are in use and
negative, or out of use with a positive slope. It mostly ends after a few systems, but need not, and
knows only A'A, which has half the digits of A. Lawson and Hanson's search goes on from there, or
from zero: the weight with the steepest slope joins those in use, which move to their common
optimum, and one that would fall below zero on the way stops there and leaves.

Invariant: after the fast search w >= 0 holds, the objective falls with every step, and every
optimum comes from `closed_form`, with all its digits.
"""

from dataclasses import replace

import numpy as np

from maxmargin.engines import cholesky
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.memory import check_room
from maxmargin.problems.certificate import combine
from maxmargin.problems.nonnegative import TOL, NonNegativeProblem
from maxmargin.solvers import closed_form
from maxmargin.solvers.base import LinearSolution, LinearSolver
from maxmargin.solvers.several import in_turn

ROUNDING = 1e-14  # In the fast search, a slope of zero may be off by this part of its terms.
EXCHANGES = 50  # The fast search must end within this many exchanges of many weights at once.
# This is added to a diagonal of ones, so that columns that depend on each other have a factor too.
RIDGE = 1e-14
NOISE = 2.0 * closed_form.EPSILON  # A slope below this part of its terms says nothing.
ATTEMPTS = 10  # One of this many of the steepest slopes must lower the objective, or nothing does.
GAIN = 1e-12  # A fall of the objective by less than this share counts as none.


def nonnegative(A, B, alphas, budget):
    """The w >= 0 that minimises |B - A w|^2 + alpha |w|^2 for each column of B, and the proof.

    The third value holds the solutions of the targets.
    """
    A = A.solid()
    products = Products(A)
    problems = [
        NonNegativeProblem(A, b, alpha, products) for b, alpha in zip(B.T, alphas, strict=True)
    ]
    solver, n = NonNegative(), len(problems)
    solutions = in_turn(lambda k, share: solver.solve(problems[k], share), n, budget)
    found = zip(problems, solutions, strict=True)
    proof = combine([problem.certify(solution.weights) for problem, solution in found])
    reasons = {one.stopped for one in solutions}
    if not proof.optimal and "interrupted" not in reasons:
        why = "no step lowers the objective by more than rounding"
        if limits := reasons & {"max_time", "callback"}:
            why = f"the search was ended by a limit ({min(limits)})"
        warn(
            f"positive=True: {why}, but a slope is left that is {proof.kkt_violation:.1e} of its "
            "terms. Scale the features.",
            ConvergenceWarning,
        )
    return np.column_stack([solution.weights for solution in solutions]), proof, solutions


class Products:
    """A'A, whole for a tall A; for a wide one, which uses few columns, only as far as needed."""

    def __init__(self, A):
        self._A, self._all = A, None
        if A.shape[1] <= A.shape[0]:
            check_room("positive=True: the products of the features", (A.shape[1],) * 2)
            self._all = A.gram()
            self.squares = np.maximum(np.diagonal(self._all), 0.0)
        else:
            self.squares = A.squared_lengths()

    def among(self, chosen):
        if self._all is None:
            return self._A.columns(chosen).gram()
        return self._all[np.ix_(chosen, chosen)]


class NonNegative(LinearSolver):
    """Both searches, one after the other. An iteration is a set of weights in use.

    The violation is the steepest slope of a weight that is not in use, relative to its terms.
    """

    counted = "weights"

    def __init__(self, tol=TOL):
        super().__init__(tol)

    def approach(self, problem, budget, start):
        w = np.zeros(problem.A.shape[1]) if start is None else start.weights
        yield (best := self.at(problem, w, 0))
        if start is None:
            for n_iter, w in enumerate(_exchanged(problem), start=1):
                found = self.at(problem, np.maximum(w, 0.0), n_iter)
                better = found if found.objective < best.objective else best
                yield (best := replace(better, n_iter=n_iter))
            w = _lowered(problem, w, w > 0)
        n_iter, joined = best.n_iter, w
        while joined is not None:
            w, n_iter = joined, n_iter + 1
            joined = _joined(problem, w)
            is_optimal = joined is None and problem.certify(w).optimal
            stopped = "" if joined is not None else "converged" if is_optimal else "stalled"
            yield self.at(problem, w, n_iter, stopped)

    def at(self, problem, w, n_iter, stopped=""):
        violation = float(np.max(problem.steepness(w), initial=0.0))
        return LinearSolution(w, None, n_iter, violation, problem.value(w), stopped)


def _exchanged(problem):
    """The fast search. Its last w is its result, or zero where it does not end or there are too
    many columns."""
    n, d = problem.A.shape
    w, in_use = np.zeros(d), np.zeros(d, dtype=bool)
    for _ in range(EXCHANGES if d <= n or problem.alpha > 0 else 0):
        joining = ~in_use & (problem.steepness(w) > ROUNDING)
        leaving = in_use & (w < 0)
        if not np.any(joining | leaving):
            return
        in_use = (in_use | joining) & ~leaving
        w = np.where(in_use, w, 0.0)
        w += _step(problem, w, in_use)
        yield w
    yield np.zeros(d)


def _joined(problem, w):
    """One step of Lawson and Hanson's search, or None where no weight gains anything."""
    if problem.value(w) <= (closed_form.EPSILON * problem.terms(w)) ** 2:
        return None
    steepness = np.where(w > 0, 0.0, problem.steepness(w))
    steepest = [j for j in np.argsort(-steepness)[:ATTEMPTS] if steepness[j] > NOISE]
    attempts = (_lowered(problem, w, (w > 0) | (np.arange(len(w)) == j)) for j in steepest)
    enough = (1.0 - GAIN) * problem.value(w)
    return next((v for v in attempts if problem.value(v) < enough), None)


def _lowered(problem, w, in_use):
    """The weights in use at their common optimum, without those that would fall below zero."""
    in_use = in_use.copy()
    while True:
        target = _optimum(problem, in_use)
        falling = np.flatnonzero(in_use & (target <= 0))
        if not len(falling):
            return target
        share = w[falling] / np.maximum(w - target, closed_form.TINY)[falling]
        w = w + np.min(share) * (target - w)
        leaving = falling[share <= np.min(share)]
        in_use[leaving], w[leaving] = False, 0.0


def _optimum(problem, in_use):
    """The optimum of the weights in use, whatever their signs."""
    chosen, w = np.flatnonzero(in_use), np.zeros(len(in_use))
    if len(chosen):
        A, b, alpha = problem.A.columns(chosen), problem.b[:, None], np.array([problem.alpha])
        w[chosen] = closed_form.ridge(A, b, alpha, "cholesky").w[:, 0]
    return w


def _step(problem, w, in_use):
    """The step from w to the optimum of the weights in use, by one system of scaled products."""
    chosen, step = np.flatnonzero(in_use), np.zeros_like(w)
    lengths = problem.lengths[chosen]
    factor = _factor(problem.products.among(chosen) / np.outer(lengths, lengths))
    step[chosen] = cholesky.solve(factor, problem.slope(w)[chosen] / lengths) / lengths
    return step


def _factor(matrix):
    """The Cholesky factor of a matrix whose diagonal is one, or as little more as it needs."""
    ridge = RIDGE
    while True:
        factor = matrix.copy()
        np.fill_diagonal(factor, 1.0 + ridge)
        if cholesky.is_factorised(factor):
            return factor
        ridge *= 100
