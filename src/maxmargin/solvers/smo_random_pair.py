"""Random-pair SMO: no choice at all.

An iteration shuffles the points, pairs them off, and improves each of the N/2 pairs. It measures
how far everything moved, `sum |change of alpha| + |change of b|`, and stops when that is next to
nothing. Without any heuristic it needs many iterations, but each is easy to understand, and its
curves of accuracy, loss and movement show what an SVM does while it learns.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.solvers.textbook import TextbookSolver

DEFAULT_C = 5.0  # The method was described with this price of slack; `SVC` has its own default.


@dataclass
class SMORandomPair(TextbookSolver):
    """Improves N/2 random pairs per iteration, until nothing moves any more.

    Parameters
    ----------
    smallest_movement : float
        It stops when an iteration moved less and the optimality conditions hold.
    max_rounds : int
        It stops after this many iterations in any case.
    """

    smallest_movement: float = 1e-6
    max_rounds: int = 1000

    def run(self, multipliers):
        rng = np.random.default_rng(self.seed)
        for _ in range(self.max_rounds):
            alpha, b = multipliers.alpha.copy(), multipliers.b
            order = rng.permutation(multipliers.n)
            for i, j in zip(order[::2], order[1::2], strict=False):
                multipliers.step(i, j, "random_pair")
            multipliers.end_round()
            movement = np.abs(multipliers.alpha - alpha).sum() + abs(multipliers.b - b)
            if movement <= self.smallest_movement and multipliers.converged():
                return "converged"
        return "converged" if multipliers.converged() else "max_rounds"
