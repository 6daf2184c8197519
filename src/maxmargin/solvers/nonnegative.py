"""Least squares and ridge with w >= 0: search for the weights in use; the rest is closed form.

Two searches. The fast one exchanges all weights at once that are in use and negative, or out of use
with a positive slope; it mostly ends after a few systems, but need not, nor does it where columns
depend on each other. Then Lawson and Hanson's begins at zero: the weight with the steepest slope
joins those in use, which move to their common optimum, and one that would fall below zero on the
way stops there and leaves. The objective falls from one optimum to the next, so that no set of
weights comes twice.

Invariant: slopes are computed from the data, never carried along; the matrix of a system gives
only the direction, and may be a little wrong.
"""

import numpy as np

from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.memory import check_room
from maxmargin.problems.certificate import combine
from maxmargin.problems.nonnegative import NonNegativeProblem
from maxmargin.solvers import cholesky, closed_form

ROUNDING = 1e-14  # the part of its terms that may be left of a slope that is zero
EXCHANGES = 50  # of many weights at once, in which the fast search must end
RIDGE = 1e-14  # relative, so that columns that depend on each other have a factor too


def nonnegative(A, B, alphas):
    """The w >= 0 that minimises |B - A w|^2 + alpha |w|^2 for each column of B, and the proof."""
    products = _Products(A)
    answers = [
        _solved(NonNegativeProblem(A, b, alpha, products.lengths(alpha)), products)
        for b, alpha in zip(B.T, alphas, strict=True)
    ]
    proof = combine([proof for _, proof in answers])
    if not proof.optimal:
        warn(
            "positive=True: the search for the weights in use went round in a circle; a slope is "
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
    """The optimum, and its certificate.

    The weights in use are computed again as `closed_form` does, and the better of both is kept: of
    columns that depend on each other it may know an answer with negative weights.
    """
    found = _exchanged(problem, products)
    found = _joined(problem, products) if found is None else found
    chosen, exact = np.flatnonzero(found), np.zeros_like(found)
    if len(chosen):
        A, b, alpha = problem.A.columns(chosen), problem.b[:, None], np.array([problem.alpha])
        exact[chosen] = np.maximum(closed_form.ridge(A, b, alpha, "cholesky").w[:, 0], 0.0)
    proofs = problem.certify(exact), problem.certify(found)
    if proofs[0].kkt_violation <= proofs[1].kkt_violation:
        return exact, proofs[0]
    return found, proofs[1]


def _exchanged(problem, products):
    """The fast search: the optimum, or None where it does not end or the columns are too many."""
    n, d = problem.A.shape
    if d > n and problem.alpha == 0:
        return None
    w, in_use = np.zeros(d), np.zeros(d, dtype=bool)
    for _ in range(EXCHANGES):
        joining = ~in_use & (_steepness(problem, w) > ROUNDING)
        leaving = in_use & (w < 0)
        if not np.any(joining | leaving):
            return w
        in_use = (in_use | joining) & ~leaving
        w = np.where(in_use, w, 0.0)
        w += _step(problem, products, w, in_use)
    return None


def _joined(problem, products):
    """Lawson and Hanson's search."""
    w, in_use, seen = np.zeros(problem.A.shape[1]), np.zeros(problem.A.shape[1], dtype=bool), set()
    while in_use.tobytes() not in seen:
        seen.add(in_use.tobytes())
        steepness = np.where(in_use, 0.0, _steepness(problem, w))
        if np.max(steepness) > ROUNDING:
            in_use[np.argmax(steepness)] = True
            w, in_use = _lowered(problem, products, w, in_use)
    return w


def _steepness(problem, w):
    """The slopes, relative to the terms of which they are made."""
    return problem.slope(w) / problem.size(w)


def _lowered(problem, products, w, in_use):
    """Those in use at their common optimum, without the ones that would fall below zero."""
    while True:
        target = w + _step(problem, products, w, in_use)
        falling = np.flatnonzero(in_use & (target <= 0))
        if not len(falling):
            return target, in_use
        share = w[falling] / np.maximum(w - target, closed_form.TINY)[falling]
        w = w + np.min(share) * (target - w)
        leaving = falling[share <= np.min(share)]
        in_use[leaving], w[leaving] = False, 0.0


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
