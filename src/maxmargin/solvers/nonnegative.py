"""Least squares and ridge with w >= 0: search for the weights in use; the rest is closed form.

Two searches, one after the other. The fast one exchanges all weights at once that are in use and
negative, or out of use with a positive slope. It mostly ends after a few systems, but need not, and
knows only A'A, which has half the digits of A. Lawson and Hanson's goes on from there, or from
zero: the weight with the steepest slope joins those in use, which move to their common optimum, and
one that would fall below zero on the way stops there and leaves.

Invariant: from the end of the fast search on w >= 0, the objective falls with every step, and every
optimum comes from `closed_form`, with all its digits.
"""

import numpy as np

from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.memory import check_room
from maxmargin.problems.certificate import combine
from maxmargin.problems.nonnegative import NonNegativeProblem
from maxmargin.solvers import cholesky, closed_form

ROUNDING = 1e-14  # the part of its terms that may be left, in the fast search, of a slope of zero
EXCHANGES = 50  # of many weights at once, in which the fast search must end
RIDGE = 1e-14  # relative, so that columns that depend on each other have a factor too
NOISE = 2.0 * closed_form.EPSILON  # of its terms: a slope that says nothing
ATTEMPTS = 10  # of the steepest slopes, of which one must lower the objective
GAIN = 1e-12  # the share by which it must


def nonnegative(A, B, alphas):
    """The w >= 0 that minimises |B - A w|^2 + alpha |w|^2 for each column of B, and the proof."""
    A = A.solid()
    products = _Products(A)
    answers = [
        _solved(NonNegativeProblem(A, b, alpha, products.lengths(alpha)), products)
        for b, alpha in zip(B.T, alphas, strict=True)
    ]
    proof = combine([proof for _, proof in answers])
    if not proof.optimal:
        warn(
            "positive=True: no step lowers the objective by more than rounding, but a slope is "
            f"left that is {proof.kkt_violation:.1e} of its terms. Scale the features.",
            ConvergenceWarning,
        )
    return np.column_stack([w for w, _ in answers]), proof


class _Products:
    """A'A: as a whole for a tall A; of a wide one, where few columns are in use, as needed."""

    def __init__(self, A):
        self._A, self._all = A, None
        if A.shape[1] <= A.shape[0]:
            check_room("positive=True: the products of the features", (A.shape[1],) * 2)
            self._all = A.gram()
            self._squares = np.maximum(np.diagonal(self._all), 0.0)
        else:
            self._squares = A.squared_lengths()

    def lengths(self, alpha):
        return np.sqrt(self._squares + alpha)

    def among(self, chosen):
        if self._all is None:
            return self._A.columns(chosen).gram()
        return self._all[np.ix_(chosen, chosen)]


def _solved(problem, products):
    """The optimum, and its certificate."""
    start = _exchanged(problem, products)
    w = _joined(problem, _lowered(problem, start, start > 0))
    return w, problem.certify(w)


def _exchanged(problem, products):
    """The fast search: what it found, or zero where it does not end or the columns are too many."""
    n, d = problem.A.shape
    w, in_use = np.zeros(d), np.zeros(d, dtype=bool)
    for _ in range(EXCHANGES if d <= n or problem.alpha > 0 else 0):
        joining = ~in_use & (problem.steepness(w) > ROUNDING)
        leaving = in_use & (w < 0)
        if not np.any(joining | leaving):
            return w
        in_use = (in_use | joining) & ~leaving
        w = np.where(in_use, w, 0.0)
        w += _step(problem, products, w, in_use)
    return np.zeros(d)


def _joined(problem, w):
    """Lawson and Hanson's search, until nothing gains anything."""
    while problem.value(w) > (closed_form.EPSILON * problem.terms(w)) ** 2:
        steepness = np.where(w > 0, 0.0, problem.steepness(w))
        steepest = [j for j in np.argsort(-steepness)[:ATTEMPTS] if steepness[j] > NOISE]
        attempts = (_lowered(problem, w, (w > 0) | (np.arange(len(w)) == j)) for j in steepest)
        enough = (1.0 - GAIN) * problem.value(w)
        better = next((v for v in attempts if problem.value(v) < enough), None)
        if better is None:
            break
        w = better
    return w


def _lowered(problem, w, in_use):
    """Those in use at their common optimum, without the ones that would fall below zero."""
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
    """Of those in use, whatever their signs."""
    chosen, w = np.flatnonzero(in_use), np.zeros(len(in_use))
    if len(chosen):
        A, b, alpha = problem.A.columns(chosen), problem.b[:, None], np.array([problem.alpha])
        w[chosen] = closed_form.ridge(A, b, alpha, "cholesky").w[:, 0]
    return w


def _step(problem, products, w, in_use):
    """From w to the optimum of those in use, by one system in their scaled products."""
    chosen, step = np.flatnonzero(in_use), np.zeros_like(w)
    lengths = problem.lengths[chosen]
    factor = _factor(products.among(chosen) / np.outer(lengths, lengths))
    step[chosen] = cholesky.solve(factor, problem.slope(w)[chosen] / lengths) / lengths
    return step


def _factor(matrix):
    """Of a matrix with ones on its diagonal, or the least above them that lets it have one."""
    ridge = RIDGE
    while True:
        factor = matrix.copy()
        np.fill_diagonal(factor, 1.0 + ridge)
        if cholesky.is_factorised(factor):
            return factor
        ridge *= 100
