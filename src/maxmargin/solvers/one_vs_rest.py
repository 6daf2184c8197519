"""Dual coordinate descent for all classes of a sparse problem together.

The machines of all classes against the rest have the same rows, only other signs (and other costs,
where classes have weights). A row that is read once serves all of them: a stored value takes one
line of weights for the decision values, and one for the steps. That costs a few times as much as
one class, not as many times as there are classes. Threads share the classes out. No class depends
on another, so no result depends on the threads.
"""

from dataclasses import replace

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.linear import descend_together
from maxmargin.engines.interrupts import slices
from maxmargin.engines.threads import workers
from maxmargin.problems.certificate import relative_difference
from maxmargin.solvers.base import LinearSolution, LinearSolver

# The gap is looked at after FIRST_LOOK passes, and then after every EVERY.
FIRST_LOOK, EVERY = 12, 4
BEYOND_TOL = 0.1  # The aim is a gap of this share of tol, which costs two or three passes more.


class OneVsRestDescent(LinearSolver):
    """Passes over all points for all machines until every relative duality gap is below `tol`.

    Its problem is a list of machines on the same rows. Each machine has a row of the weights and
    of the dual variables.
    """

    def __init__(self, tol, seed=0):
        super().__init__(tol)
        self.seed = seed

    def approach(self, problem, budget, start):
        random, n_iter, stopped = np.random.default_rng(self.seed), 0, ""
        shares = all(np.array_equal(p.damping, problem[0].damping) for p in problem)
        with workers() as pool:
            parts = arrays.blocks(len(problem), -(-len(problem) // pool.n_threads))
            groups = [_Group(problem[part], part, shares, start) for part in parts]
            work = 2 * problem[0].X.nnz * len(groups[0].problems)
            if start is not None:
                stopped = self.look(groups, pool, self.tol)
            while True:
                yield self.solution(groups, n_iter, stopped)
                n_iter += 1
                for order in slices(random.permutation(problem[0].n), work):
                    pool.map(lambda group, order=order: group.descend(order), groups)
                if n_iter >= FIRST_LOOK and (n_iter - FIRST_LOOK) % EVERY == 0:
                    stopped = self.look(groups, pool, BEYOND_TOL * self.tol)

    def look(self, groups, pool, enough):
        """Why to end, which is a small worst gap, or an empty text."""
        pool.map(_Group.look, groups)
        return "converged" if max(group.gap for group in groups) <= enough else ""

    def solution(self, groups, n_iter, stopped):
        # The columns are views, which later passes change in place.
        coef = [column for group in groups for column in group.coef.T]
        weights = [column for group in groups for column in group.W.T]
        gap, dual = max(group.gap for group in groups), sum(group.dual for group in groups)
        return LinearSolution(weights, coef, n_iter, gap, dual, stopped)

    def n_counted(self, found):
        return int(np.count_nonzero(np.any(found.coef, axis=0)))

    def finish(self, problem, found):
        """Compute the weights from the dual variables, free of the rounding of many additions."""
        coef, weights, gaps = np.array(found.coef), list(found.weights), [0.0] * len(problem)
        if found.stopped == "interrupted":
            return replace(found, weights=np.array(weights), coef=coef)

        def measure(k):
            w = weights[k] = problem[k].weights_of(coef[k])
            gaps[k] = problem[k].relative_gap(w, coef[k], w)

        with workers() as pool:
            pool.map(measure, range(len(problem)))
        return self.judged(found, max(gaps), weights=np.array(weights), coef=coef)


class _Group:
    """Some of the machines, a column for each."""

    def __init__(self, problems, part, shares_damping, start):
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
        self.gap, self.dual = np.inf, 0.0
        if start is not None:
            self.begin_at(start.weights[part], None if start.coef is None else start.coef[part])

    def begin_at(self, weights, coef):
        for k, problem in enumerate(self.problems):
            one = LinearSolution(weights[k], None if coef is None else coef[k])
            self.coef[:, k] = problem.dual_start(one)
            self.W[:, k] = problem.weights_of(self.coef[:, k])

    def descend(self, order):
        first = self.problems[0]
        descend_together(
            *self.data, first.bias, self.linear, first.epsilon, self.lower, self.upper,
            self.damping, self.lengths, order, self.coef, self.W,
        )  # fmt: skip

    def look(self):
        """The worst relative gap, and the sum of the dual objectives."""
        first, W = self.problems[0], self.W
        decisions = np.asarray(first.X @ W[:-1]) + first.bias * W[-1]
        gaps, duals = [], []
        for k, problem in enumerate(self.problems):
            primal = 0.5 * float(W[:, k] @ W[:, k]) + problem.loss_of(decisions[:, k])
            duals.append(problem.dual(self.coef[:, k], W[:, k]))
            gaps.append(relative_difference(primal, duals[-1]))
        self.gap, self.dual = max(gaps), sum(duals)
