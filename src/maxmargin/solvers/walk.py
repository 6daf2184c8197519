"""The walk of a solver that moves two variables at a time: its limits, its trace, its end.

The teaching solvers work on the soft margin in the textbook's letters (`solvers/textbook.py`), and
`solvers/smo_steps.py` works on any dual problem in signed variables. Both hold the whole kernel
matrix, and this file ends, reports and traces both in the same way.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from maxmargin.solvers.base import Solution, Solver

REPORT_SECONDS = 0.05  # Callbacks hear of the fit, and limits are checked, after this many seconds.
BYTES_OF_NUMBER = 8


class Stop(Exception):
    """Raised out of the loops of a solver when a limit has been reached."""


@dataclass
class PairSolver(Solver):
    """A solver that goes pair by pair; a subclass writes `begin`, `run` and what it refuses."""

    def solve(self, problem, budget, start=None):
        self.check(problem)
        walk = self.begin(problem, budget, start)
        try:
            walk.look_at_limits()
            stopped = self.run(walk)
        except Stop as limit:
            stopped = str(limit)
        except KeyboardInterrupt:
            stopped = "interrupted"
        return walk.solution(stopped)

    @property
    def name(self):
        return type(self).__module__.rsplit(".", 1)[-1]

    def check(self, problem):
        """Refuse what does not fit into memory."""
        needed = BYTES_OF_NUMBER * problem.n**2
        if needed > problem.matrix.room:
            raise ValueError(
                f"solver={self.name!r} keeps the whole kernel matrix: {problem.n} points need "
                f"{needed / 2**20:.0f} MB. Use solver='smo', or raise cache_size."
            )


class Walk:
    """Where a solver stands, and how it keeps its limits and its trace.

    A subclass has `coef`, `expansion` and `bias` as the solver knows them, `objective`, and
    `violation()`; `refresh()` computes Kc anew and returns it.
    """

    def __init__(self, problem, budget, tol):
        self.problem, self.budget, self.tol = problem, budget, tol
        self.n, self.n_iter = problem.n, 0
        self.trace, self._heard = budget.trace, perf_counter()

    def converged(self):
        return self.violation() <= self.tol

    def refuse(self, i, j, why):
        """Record a pair that stays as it is; return False, as a step that was not made does."""
        if self.trace is not None:
            self.trace.refuse(i=i, j=j, why=why)
        return False

    def end_round(self):
        """Write a round of the trace, and look at the limits even when nothing moved."""
        if self.trace is not None:
            self.trace.round(
                self.problem, self.coef, self.expansion, self.bias,
                self.budget.n_done + self.n_iter, self.violation(), keep_moves=False,
            )  # fmt: skip
        self.look_at_limits()

    def look_at_limits(self):
        if self.n_iter >= self.budget.max_iter:
            raise Stop("max_iter")
        if perf_counter() - self._heard < REPORT_SECONDS:
            return
        self._heard = perf_counter()
        if self.budget.out_of_time():
            raise Stop("max_time")
        if self.report():
            raise Stop("callback")

    def report(self):
        return self.budget.report(
            n_iter=self.n_iter,
            violation=self.violation(),
            tol=self.tol,
            objective=float(self.objective),
            n_support=int(np.count_nonzero(self.coef)),
        )

    def solution(self, stopped):
        """The solution. The steps leave rounding errors in Kc, so it is computed anew, and its
        violation decides."""
        coef = self.coef
        if self.trace is not None:
            self.trace.check_end(coef)
        expansion = self.refresh()
        violation = self.violation()
        if stopped == "converged":
            stopped = "converged" if violation <= self.tol else "stalled"
            self.report()
        return Solution(
            coef=coef,
            bias=self.problem.biases(coef, expansion),
            expansion=expansion,
            n_iter=self.n_iter,
            violation=violation,
            stopped=stopped,
        )
