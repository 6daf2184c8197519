"""Newton's method on the primal of a linear machine with a squared loss.

The objective is quadratic as long as the same points have a loss, so a Newton step is exact there
and the method ends after a handful of steps, at machine precision. Each costs one product X'DX over
the points with a loss and one Cholesky factorisation.
"""

from dataclasses import replace

import numpy as np
from scipy import linalg

from maxmargin.engines.interrupts import interruptible
from maxmargin.engines.row_blocks import RowBlocks
from maxmargin.engines.threads import workers
from maxmargin.solvers.base import LinearSolution, LinearSolver

LARGEST = 2000  # With more features than these, the matrix costs more than it saves.
ROUNDING = 1e-14  # A relative gap below this is rounding.
NOTHING_LEFT = 1e-10  # A relative gap below this is not worth a warning.
# After this many steps only rounding may be left, so that nothing is carried along any more.
FRESH = 10
SUFFICIENT = 1e-4  # A step must bring this share of the decrease that the slope promises.


class Newton(LinearSolver):
    """Damped Newton steps until the duality gap is closed."""

    counted = "weights"

    def __init__(self, tol, n_threads=None):
        super().__init__(tol)
        self.n_threads = n_threads

    def approach(self, problem, budget, start):
        """Newton steps; decisions are carried along, so that a step reads X three times."""
        w, decisions = np.zeros(problem.X.shape[1] + 1), np.zeros(problem.n)
        gap = objective = np.inf
        with workers(self.n_threads) as pool:
            rows, n_iter = RowBlocks(problem, pool), 0
            if start is not None:
                w, decisions = start.weights, rows.times(start.weights)
            while True:
                yield LinearSolution(w, None, n_iter, gap, objective)
                n_iter += 1
                coef = problem.best_response(problem.linear - decisions)
                dual_w = rows.transposed(coef)
                objective, gap, is_done = self.measured(problem, w, decisions, coef, dual_w)
                moved = None if is_done else self.step(problem, rows, w, decisions, coef, dual_w)
                if moved is None:
                    stopped = "converged" if is_done else "stalled"
                    yield LinearSolution(w, None, n_iter, gap, objective, stopped)
                w, decisions = moved
                if n_iter >= FRESH:
                    decisions = rows.times(w)

    def finish(self, problem, found):
        """The solution, which has converged if nothing was left to do at its limit of steps."""
        if found.stopped == "interrupted":
            return found
        coef = problem.response(found.weights)
        gap = problem.relative_gap(found.weights, coef)
        if found.stopped == "max_iter" and abs(gap) > NOTHING_LEFT:
            return replace(found, coef=coef, violation=gap)
        return self.judged(found, gap, coef=coef)

    def measured(self, problem, w, decisions, coef, dual_w):
        """The objective, the relative gap, and whether that is small enough.

        Steps at the end are nearly free, so they go on until rounding, not only until tol.
        """
        primal = float(0.5 * w @ w) + problem.loss_of(decisions)
        gap = primal - problem.dual(coef, dual_w)
        relative = abs(gap) / max(abs(primal), 1e-300)
        small = np.linalg.norm(w - dual_w) <= 1e-10 * max(1.0, float(np.linalg.norm(w)))
        return primal, relative, bool(small and relative <= self.tol) or relative <= ROUNDING

    def step(self, problem, rows, w, decisions, coef, dual_w):
        """The next w and its decisions, or None when rounding leaves no step that helps."""
        gradient = w - dual_w
        hessian = rows.gram(np.where(coef != 0, 1.0 / problem.damping, 0.0))
        hessian[np.diag_indices(len(w))] += 1.0
        step = -solve_positive(hessian, gradient)
        change = rows.times(step)

        def objective(length):
            v = w + length * step
            return float(0.5 * v @ v) + problem.loss_of(decisions + length * change)

        length = line_search(objective, float(gradient @ step))
        return None if length is None else (w + length * step, decisions + length * change)


def solve_positive(hessian, gradient):
    """The solution of a positive definite system, as well as rounding allows."""
    try:
        return linalg.cho_solve(linalg.cho_factor(hessian), gradient)
    except linalg.LinAlgError:  # the columns have very different scales
        work = 10 * hessian.size * len(hessian)
        return interruptible(work, np.linalg.lstsq, hessian, gradient)[0]


def line_search(objective, slope):
    """Halve the step until the objective falls enough; None when rounding lets it fall no more."""
    before, length = objective(0.0), 1.0
    while length > 1e-10 and abs(slope) > 1e-14 * abs(before):
        if objective(length) <= before + SUFFICIENT * length * slope:
            return length
        length *= 0.5
    return None
