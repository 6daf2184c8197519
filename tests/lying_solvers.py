"""Solvers that claim what is not so: no certificate may believe them."""

from dataclasses import dataclass, replace

import numpy as np

from maxmargin.solvers.base import Solution, Solver
from maxmargin.solvers.smo import SMO


@dataclass
class Liar(Solver):
    """Does nothing, and says that it has arrived, where f is just what was asked for."""

    def solve(self, problem, budget, start=None):
        bias = np.zeros(problem.n_groups)
        return Solution(problem.start, bias, problem.linear, 1, 0.0, "converged")


@dataclass
class Exaggerator(SMO):
    """Solves the problem, and hands back a multiple of what it found."""

    factor: float = 2.0

    def solve(self, *rest, **more):
        found = super().solve(*rest, **more)
        return replace(found, coef=self.factor * found.coef, bias=self.factor * found.bias)


@dataclass
class Boaster(SMO):
    """Solves the problem, and says more of it than is so."""

    def solve(self, *rest, **more):
        found = super().solve(*rest, **more)
        return replace(found, bias=found.bias + 5.0, expansion=3.0 * found.expansion, violation=0.0)
