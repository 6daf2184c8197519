"""Newton's method on the primal of a linear machine with a squared loss.

The objective is quadratic as long as the same points have a loss, so a Newton step is exact there
and the method ends after a handful of steps, at machine precision. Each costs one product X'DX over
the points with a loss and one Cholesky factorisation.
"""

import numpy as np
from scipy import linalg

from maxmargin.engines.threads import workers
from maxmargin.solvers.base import LinearSolver
from maxmargin.solvers.interrupts import interruptible
from maxmargin.solvers.row_blocks import RowBlocks

LARGEST = 2000  # features: above this the matrix costs more than it saves
ROUNDING = 1e-14  # a relative gap below this is no gap,
NOTHING_LEFT = 1e-10  # and below this it is not worth a warning
FRESH = 10  # steps after which rounding may be what is left: no more carrying along
SUFFICIENT = 1e-4  # of the decrease that the slope promises


class Newton(LinearSolver):
    """Damped Newton steps until the duality gap is closed."""

    def solve(self, problem):
        """Returns w, the dual point, the steps made and why it stopped."""
        with workers(self.n_threads) as pool:
            w, n_iter, stopped = self.iterate(problem, RowBlocks(problem, pool))
        coef = problem.best_response(problem.linear - problem.decisions(w))
        proof = self.certify(problem, w, coef)
        # Whoever sets a limit is told that it was reached, unless there was nothing left to do.
        if (stopped == "stalled" and proof.optimal) or abs(proof.relative_gap) <= NOTHING_LEFT:
            stopped = "converged"
        return w, coef, n_iter, stopped

    def iterate(self, problem, rows):
        """Steps from zero on; decisions are carried along, so that a step reads X three times."""
        w, decisions = np.zeros(problem.X.shape[1] + 1), np.zeros(problem.n)
        for n_iter in range(1, self.max_iter + 1):
            coef = problem.best_response(problem.linear - decisions)
            dual_w = rows.transposed(coef)
            if self.is_done(problem, w, decisions, coef, dual_w):
                return w, n_iter, "converged"
            moved = self.step(problem, rows, w, decisions, coef, dual_w)
            if moved is None:
                return w, n_iter, "stalled"
            w, decisions = moved
            if n_iter >= FRESH:
                decisions = rows.times(w)
        return w, self.max_iter, "max_iter"

    def is_done(self, problem, w, decisions, coef, dual_w):
        """Steps at the end are nearly free, so go on until rounding, not only until tol."""
        primal = float(0.5 * w @ w) + problem.loss_of(decisions)
        gap = primal - problem.dual(coef, dual_w)
        relative = abs(gap) / max(abs(primal), 1e-300)
        small = np.linalg.norm(w - dual_w) <= 1e-10 * max(1.0, float(np.linalg.norm(w)))
        return bool(small and relative <= self.tol) or relative <= ROUNDING

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
    except linalg.LinAlgError:  # columns of very different scale
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
