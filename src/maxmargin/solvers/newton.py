"""Newton's method on the primal of a linear machine with a squared loss.

The objective is quadratic as long as the same points have a loss, so a Newton step is exact there
and the method ends after a handful of steps, at machine precision. Each costs one product X'DX over
the points with a loss and one Cholesky factorisation.
"""

import numpy as np
from scipy import linalg

from maxmargin import arrays

LARGEST = 2000  # features: above this the matrix costs more than it saves
ROW_BLOCK = 8192
ROUNDING = 1e-14  # a relative gap below this is no gap,
NOTHING_LEFT = 1e-10  # and below this it is not worth a warning
SUFFICIENT = 1e-4  # of the decrease that the slope promises


class Newton:
    """Damped Newton steps until the duality gap is closed."""

    def __init__(self, tol, max_iter):
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem, budget):
        """Returns w, the dual point, the steps made and why it stopped."""
        w = np.zeros(problem.X.shape[1] + 1)
        stopped, n_iter = "max_iter", 0
        while n_iter < self.max_iter:
            n_iter += 1
            coef = problem.best_response(problem.linear - problem.decisions(w))
            if self.is_done(problem, w, coef):
                stopped = "converged"
                break
            if budget.out_of_time():
                stopped = "max_time"
                break
            moved = self.step(problem, w, coef)
            if moved is None:
                stopped = "stalled"
                break
            w = moved
        coef = problem.best_response(problem.linear - problem.decisions(w))
        proof = self.certify(problem, w, coef)
        # Whoever sets a limit is told that it was reached, unless there was nothing left to do.
        if (stopped == "stalled" and proof.optimal) or abs(proof.relative_gap) <= NOTHING_LEFT:
            stopped = "converged"
        return w, coef, n_iter, stopped

    def certify(self, problem, w, coef):
        return problem.certify(w, coef, self.tol)

    def is_done(self, problem, w, coef):
        """Steps at the end are nearly free, so go on until rounding, not only until tol."""
        gradient = w - problem.weights_of(coef)
        small = np.linalg.norm(gradient) <= 1e-10 * max(1.0, float(np.linalg.norm(w)))
        proof = self.certify(problem, w, coef)
        return bool(small and proof.optimal) or abs(proof.relative_gap) <= ROUNDING

    def step(self, problem, w, coef):
        """The next w, or None when rounding leaves no step that helps."""
        gradient = w - problem.weights_of(coef)
        hessian = weighted_gram(problem, coef, np.arange(len(w)))
        hessian[np.diag_indices(len(w))] += 1.0
        step = -_solve(hessian, gradient)
        return line_search(problem.primal, w, step, float(gradient @ step))


def weighted_gram(problem, coef, columns):
    """X' diag(1 / damping of the points with a loss) X for some features; the bias is the last."""
    factor = np.where(coef != 0, np.sqrt(1.0 / problem.damping), 0.0)
    features = columns[columns < problem.X.shape[1]]
    gram = np.zeros((len(columns), len(columns)))
    for rows in arrays.blocks(problem.n, ROW_BLOCK):
        part = np.flatnonzero(factor[rows])
        block = problem.X[rows][part]
        block = block if len(features) == problem.X.shape[1] else block[:, features]
        scaled = arrays.dense(block) * factor[rows][part][:, None]
        if len(features) < len(columns):
            scaled = np.column_stack([scaled, problem.bias * factor[rows][part]])
        gram += scaled.T @ scaled
    return gram


def _solve(hessian, gradient):
    try:
        return linalg.cho_solve(linalg.cho_factor(hessian), gradient)
    except linalg.LinAlgError:  # columns of very different scale
        return linalg.lstsq(hessian, gradient)[0]


def line_search(objective, w, step, slope):
    """Halve the step until the objective falls enough; None when rounding lets it fall no more."""
    before, length = objective(w), 1.0
    while length > 1e-10:
        if objective(w + length * step) <= before + SUFFICIENT * length * slope:
            return w + length * step
        length *= 0.5
    return None
