"""Dual coordinate descent for all classes of a sparse problem together.

One machine per class against the rest has the same rows, only other signs. A row that is read once
serves all of them: its decision values are one line of weights per stored value, and so are its
steps. That costs a few times as much as one class, not as many times as there are classes.
"""

import numpy as np

from maxmargin.compiled.linear import descend_together
from maxmargin.solvers.base import LinearSolver
from maxmargin.solvers.dual_descent import storage
from maxmargin.solvers.interrupts import slices

FIRST_LOOK, EVERY = 12, 4  # passes after which the gap is looked at, and then from time to time
BEYOND_TOL = 0.1  # the gap to aim for, as a share of tol: two or three passes more


class OneVsRestDescent(LinearSolver):
    """Passes over all points for all machines until every relative duality gap is below `tol`."""

    def __init__(self, tol, max_iter, seed):
        super().__init__(tol, max_iter)
        self.random = np.random.default_rng(seed)

    def solve(self, problems, budget):
        """For each problem: w, the dual point, the passes made and why it stopped."""
        first = problems[0]
        linear, lower, upper = (
            np.column_stack([getattr(problem, name) for problem in problems])
            for name in ("linear", "lower", "upper")
        )
        coef = np.zeros_like(linear)
        W = np.zeros((first.X.shape[1] + 1, len(problems)))
        data, lengths = storage(first.X), first.squared_lengths()
        n_iter, stopped = 0, "max_iter"
        work = 2 * first.X.nnz * len(problems)
        while n_iter < self.max_iter:
            for order in slices(self.random.permutation(first.n), work):
                descend_together(
                    *data, first.bias, linear, first.epsilon, lower, upper, first.damping, lengths,
                    order, coef, W,
                )  # fmt: skip
            n_iter += 1
            looks = n_iter >= FIRST_LOOK and (n_iter - FIRST_LOOK) % EVERY == 0
            if looks and self.worst_gap(problems, coef, W) <= BEYOND_TOL * self.tol:
                stopped = "converged"
                break
            if budget.out_of_time():
                stopped = "max_time"
                break
        columns = [np.ascontiguousarray(column) for column in coef.T]
        return [
            (p.weights_of(c), c, n_iter, stopped) for p, c in zip(problems, columns, strict=True)
        ]

    def worst_gap(self, problems, coef, W):
        decisions = np.asarray(problems[0].X @ W[:-1]) + problems[0].bias * W[-1]
        gaps = []
        for k, problem in enumerate(problems):
            primal = 0.5 * float(W[:, k] @ W[:, k]) + problem.loss_of(decisions[:, k])
            dual = problem.dual(coef[:, k], W[:, k])
            gaps.append((primal - dual) / max(abs(primal), abs(dual), 1e-300))
        return max(gaps)
