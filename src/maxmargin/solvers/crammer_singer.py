"""Crammer and Singer's machine for several classes: descent on the dual, and what follows if it
creeps.

Descent takes one point at a time and solves for all its classes at once, which a sort does exactly.
It is fast where points have little to do with one another, as in text, and creeps where features
are badly scaled or C is large. There an interior-point method takes over, if its matrix can be
held.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.linear import descend_classes
from maxmargin.engines.threads import single_threaded_blas
from maxmargin.problems.linear import SMALLEST
from maxmargin.solvers import interior_point
from maxmargin.solvers.dual_descent import Passes

BEYOND_TOL = 1e-3  # the gap to aim for, as a share of tol,
TIGHT = 1e-10  # or this, if it is more
FAREWELL = 20  # looks at the gap after tol is reached, at most
LEAST_BEND = 1e-30  # curvature times C: what a slope of 1 does not notice
FEWEST_PASSES = 20  # of descent, before another way is tried;
STEPS = 30  # of the interior-point method, in the time of which descent has had its chance,
FASTER = 20  # products of two numbers by BLAS in the time of one in a pass


class CrammerSinger:
    """Dual descent over points until the relative duality gap is below `tol`, or another way."""

    def __init__(self, tol, max_iter, seed):
        self.tol = tol
        self.max_iter = max_iter
        self.seed = seed

    def solve(self, problem):
        """Returns W (a row per class, the bias last), the iterations, the proof and why it ended.

        An iteration is a pass over the points, or a step of the interior-point method.
        """
        with single_threaded_blas():
            has_another_way = interior_point.fits(problem)
            limit = self.max_iter
            if has_another_way:  # which gets half of the iterations at least
                limit = min(_patience(problem), (self.max_iter + 1) // 2)
            descent = _Descent(problem, self.tol, self.seed)
            is_done = descent.run(limit)
            W, proof, n_iter = descent.W, descent.proof, descent.passes.made
            if has_another_way and not is_done and n_iter < self.max_iter:
                W, proof, steps = self.go_inside(problem, W, proof, self.max_iter - n_iter)
                n_iter += steps
                if not proof.optimal:  # rounding may have ended it early
                    W, proof, n_iter = self.go_on(descent, W, proof, steps)
        return W, n_iter, proof, "converged" if proof.optimal else "max_iter"

    def go_on(self, descent, W, proof, steps):
        """What more passes of descent find, if it is better than W, and all iterations."""
        descent.run(self.max_iter - steps)
        n_iter = descent.passes.made + steps
        is_better = descent.proof.relative_gap < proof.relative_gap
        return (descent.W, descent.proof, n_iter) if is_better else (W, proof, n_iter)

    def go_inside(self, problem, W, proof, limit):
        """What the interior-point method finds, if it is better than W, and its steps."""
        inner, alpha, steps = interior_point.InteriorPoint(self.tol, limit).solve(problem)
        inner_proof = problem.certify(inner, alpha, self.tol)
        is_better = inner_proof.relative_gap < proof.relative_gap
        return (inner, inner_proof, steps) if is_better else (W, proof, steps)


class _Descent:
    """Passes over the points, and the proof of where they have led to."""

    def __init__(self, problem, tol, seed):
        self.problem, self.tol = problem, tol
        self.alpha = np.zeros((problem.n, problem.n_classes))
        self.data, self.curvature = arrays.storage(problem.X), _curvature(problem)
        self.passes = Passes(problem.n, seed, _pass_work(problem))
        self.look()

    def look(self):
        """Additions without end leave rounding errors in W, so it is computed anew."""
        self.W = self.problem.weights_of(self.alpha)
        self.columns = np.ascontiguousarray(self.W.T)  # what a pass moves
        self.proof = self.problem.certify(self.W, self.alpha, self.tol)

    def visit(self, rows):
        p = self.problem
        descend_classes(
            *self.data, p.bias, p.labels, p.C, self.curvature, rows, self.alpha, self.columns
        )

    def run(self, limit):
        """Passes until the gap is closed, and whether it is; not more than `limit` of them."""
        reached, aim = 0, max(BEYOND_TOL * self.tol, TIGHT)
        while self.passes.made < limit:
            everyone = self.passes.make(self.visit, self.alpha)
            if everyone or self.passes.made == limit:
                self.look()
                reached += self.proof.optimal
                if self.proof.relative_gap <= aim or reached > FAREWELL:
                    return True
        return False


def _patience(problem):
    """So many passes that both ways together take at most twice as long as the faster."""
    work = STEPS * interior_point.step_work(problem)
    return FEWEST_PASSES + int(work / (FASTER * max(_pass_work(problem), 1)))


def _pass_work(problem):
    return 2 * arrays.n_stored(problem.X) * problem.n_classes


def _curvature(problem):
    """Of each point's problem: its squared length. Without bias that of a point at the origin is
    zero, as its loss does not depend on w; a curvature too small to matter stands for it."""
    lengths = problem.squared_lengths()
    return np.maximum(lengths, LEAST_BEND / np.maximum(problem.C, SMALLEST))
