"""Dual coordinate descent for all classes of a sparse problem together.

One machine per class against the rest has the same rows, only other signs (and other costs, where
classes have weights). A row that is read once serves all of them: its decision values are one line
of weights per stored value, and so are its steps. That costs a few times as much as one class, not
as many times as there are classes. Threads share the classes out; none depends on another, so
neither does any result on the threads.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.linear import descend_together
from maxmargin.engines.threads import workers
from maxmargin.solvers.base import LinearSolver
from maxmargin.solvers.interrupts import slices

FIRST_LOOK, EVERY = 12, 4  # passes after which the gap is looked at, and then from time to time
BEYOND_TOL = 0.1  # the gap to aim for, as a share of tol: two or three passes more


class OneVsRestDescent(LinearSolver):
    """Passes over all points for all machines until every relative duality gap is below `tol`."""

    def __init__(self, tol, max_iter, seed):
        super().__init__(tol, max_iter)
        self.random = np.random.default_rng(seed)

    def solve(self, problems):
        """For each problem: w, the dual point, its certificate, the passes and why they ended."""
        with workers(self.n_threads) as pool:
            size = -(-len(problems) // pool.n_threads)
            shares = all(np.array_equal(p.damping, problems[0].damping) for p in problems)
            parts = arrays.blocks(len(problems), size)
            groups = [_Group(problems[part], shares) for part in parts]
            n_iter, stopped = self.descend(groups, pool)
            found = [None] * len(problems)

            def finish(k):
                coef = np.ascontiguousarray(groups[k // size].coef[:, k % size])
                w = problems[k].weights_of(coef)
                found[k] = w, coef, self.certify(problems[k], w, coef), n_iter, stopped

            pool.map(finish, range(len(problems)))
        return found

    def descend(self, groups, pool):
        """Passes until the worst gap is small; how many, and why they ended."""
        first = groups[0].problems[0]
        work = 2 * first.X.nnz * len(groups[0].problems)
        for n_iter in range(1, self.max_iter + 1):
            for order in slices(self.random.permutation(first.n), work):
                pool.map(lambda group, order=order: group.descend(order), groups)
            if n_iter >= FIRST_LOOK and (n_iter - FIRST_LOOK) % EVERY == 0:
                pool.map(_Group.look, groups)
                if max(group.gap for group in groups) <= BEYOND_TOL * self.tol:
                    return n_iter, "converged"
        return self.max_iter, "max_iter"


class _Group:
    """Some of the machines, a column for each."""

    def __init__(self, problems, shares_damping):
        self.problems = problems
        self.data, self.lengths = arrays.storage(problems[0].X), problems[0].squared_lengths()
        self.linear, self.lower, self.upper = (
            np.column_stack([getattr(problem, name) for problem in problems])
            for name in ("linear", "lower", "upper")
        )
        dampings = [problem.damping for problem in problems]
        self.damping = dampings[0] if shares_damping else np.column_stack(dampings)
        self.coef = np.zeros_like(self.linear)
        self.W = np.zeros((problems[0].X.shape[1] + 1, len(problems)))
        self.gap = np.inf

    def descend(self, order):
        first = self.problems[0]
        descend_together(
            *self.data, first.bias, self.linear, first.epsilon, self.lower, self.upper,
            self.damping, self.lengths, order, self.coef, self.W,
        )  # fmt: skip

    def look(self):
        """The worst relative gap."""
        first, W = self.problems[0], self.W
        decisions = np.asarray(first.X @ W[:-1]) + first.bias * W[-1]
        gaps = []
        for k, problem in enumerate(self.problems):
            primal = 0.5 * float(W[:, k] @ W[:, k]) + problem.loss_of(decisions[:, k])
            dual = problem.dual(self.coef[:, k], W[:, k])
            gaps.append((primal - dual) / max(abs(primal), abs(dual), 1e-300))
        self.gap = max(gaps)
