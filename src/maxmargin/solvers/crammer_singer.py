"""Crammer and Singer's machine for several classes: dual descent, then an interior-point method.

Descent takes one point at a time and solves for all its classes at once, which a sort does exactly.
It is fast where points have little to do with one another, as in text, and slow where features are
badly scaled or C is large. There an interior-point method takes over, if its matrix fits.
"""

from dataclasses import replace

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.linear import descend_classes
from maxmargin.engines.threads import single_threaded_blas
from maxmargin.problems.linear import SMALLEST
from maxmargin.solvers import interior_point
from maxmargin.solvers.base import LinearSolution, LinearSolver
from maxmargin.solvers.dual_descent import Passes

BEYOND_TOL = 1e-3  # The aim is a gap of this share of tol, which little more work reaches.
TIGHT = 1e-10  # No smaller gap than this is aimed for, because rounding is near.
FAREWELL = 20  # After tol is reached, the gap is looked at this many times at most.
LEAST_CURVATURE = 1e-30  # A curvature of this, times C, is nothing beside a slope of 1.
FEWEST_PASSES = 20  # Descent makes this many passes before another way is tried.
STEPS = 30  # Descent has as much time as this many steps of the interior-point method.
FASTER = 20  # BLAS makes this many products of two numbers in the time of one in a pass.


class CrammerSinger(LinearSolver):
    """Dual descent over points until the relative duality gap is below `tol`.

    Where that is slow, an interior-point method follows. Weights have a row per class. An iteration
    is a pass over the points, or a step of the interior-point method.
    """

    def __init__(self, tol, seed=0):
        super().__init__(tol)
        self.seed = seed

    def approach(self, problem, budget, start):
        with single_threaded_blas():
            descent, limit = _Descent(problem, self.tol, self.seed, start), budget.max_iter
            if start is not None and descent.gap <= self.tol:
                yield descent.solution("converged")
            has_another_way = interior_point.fits(problem)
            if has_another_way:  # the interior-point method gets half of the iterations at least
                limit = min(_patience(problem), (budget.max_iter + 1) // 2)
            yield from descent.run(limit)
            yield from self.go_inside(problem, budget, descent)

    def go_inside(self, problem, budget, descent):
        """What the interior-point method finds; if rounding ends it early, descent goes on."""
        begun = best = descent.solution()
        inside = interior_point.InteriorPoint(self.tol)
        for found in inside.approach(problem, budget, None):
            best = _nearer(begun, found)
            is_done = bool(found.stopped) and best.violation <= self.tol
            n_iter = begun.n_iter + found.n_iter
            yield replace(best, n_iter=n_iter, stopped="converged" if is_done else "")
            if found.stopped:
                break
        for more in descent.run(budget.max_iter - found.n_iter):
            n_iter = found.n_iter + more.n_iter
            yield replace(_nearer(best, more), n_iter=n_iter, stopped=more.stopped)

    def finish(self, problem, found):
        if found.stopped == "interrupted":
            return found
        return self.judged(found, problem.relative_gap(found.weights, found.coef))


def _nearer(best, other):
    return other if other.violation < best.violation else best


class _Descent:
    """Passes over the points, and the gap that they have reached."""

    def __init__(self, problem, tol, seed, start):
        self.problem, self.tol = problem, tol
        self.alpha = np.zeros((problem.n, problem.n_classes))
        if start is not None and start.coef is not None:
            self.alpha += start.coef
        self.data, self.curvature = arrays.storage(problem.X), _curvature(problem)
        self.passes = Passes(problem.n, seed, _pass_work(problem))
        self.reached = 0
        self.look()

    def look(self):
        """Compute W and the gap anew, because many additions leave rounding errors in W."""
        W = self.problem.weights_of(self.alpha)
        self.columns = np.ascontiguousarray(W.T)  # a pass moves these
        self.gap = self.problem.relative_gap(W, self.alpha)

    def solution(self, stopped=""):
        W, alpha = self.columns.T.copy(), self.alpha.copy()
        dual = self.problem.dual(alpha, W)
        return LinearSolution(W, alpha, self.passes.made, self.gap, dual, stopped)

    def visit(self, rows):
        p = self.problem
        descend_classes(
            *self.data, p.bias, p.labels, p.C, self.curvature, rows, self.alpha, self.columns
        )

    def run(self, limit):
        """Make passes until the gap is closed, but not more than `limit`."""
        aim = max(BEYOND_TOL * self.tol, TIGHT)
        yield self.solution("converged" if self.gap <= aim else "")
        while self.passes.made < limit:
            everyone = self.passes.make(self.visit, self.alpha)
            if everyone or self.passes.made >= limit:
                self.look()
                self.reached += self.gap <= self.tol
            is_done = self.gap <= aim or self.reached > FAREWELL
            yield self.solution("converged" if is_done else "")


def _patience(problem):
    """The number of passes with which both methods together take at most twice as long as the
    faster one."""
    work = STEPS * interior_point.step_work(problem)
    return FEWEST_PASSES + int(work / (FASTER * max(_pass_work(problem), 1)))


def _pass_work(problem):
    return 2 * arrays.n_stored(problem.X) * problem.n_classes


def _curvature(problem):
    """The curvature of each point's problem, which is its squared length.

    Without bias it is zero for a point at the origin, whose loss does not depend on w; a curvature
    too small to matter stands for it.
    """
    lengths = problem.squared_lengths()
    return np.maximum(lengths, LEAST_CURVATURE / np.maximum(problem.C, SMALLEST))
