"""Simplified SMO: the shortest version that still works.

Go through the points. Whenever one violates its KKT condition, improve it together with a partner
drawn at random. Stop after several passes in a row in which nothing moved.

A random partner often has nothing to give, so a quiet pass proves little. Here the quiet passes
only end the run when the optimality conditions hold as well; if they do not, it goes on, up to a
limit at which only pairs without curvature can be left (equal points, which this version skips).
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.solvers.textbook import TextbookSolver

HOPELESS = 200  # This many times max_passes quiet passes mean that no pair can move.


@dataclass
class SMOSimplified(TextbookSolver):
    """Improves a point that violates its KKT condition together with a random partner.

    Parameters
    ----------
    max_passes : int
        It stops after this many quiet passes in a row.
    """

    max_passes: int = 5

    def run(self, multipliers):
        rng = np.random.default_rng(self.seed)
        n, quiet = multipliers.n, 0
        while quiet < HOPELESS * self.max_passes:
            moved = 0
            for i in range(n):
                if multipliers.violates(i):
                    j = (i + rng.integers(1, n)) % n  # any point but i
                    # eta <= 0 means that the points are equal in feature space.
                    moved += multipliers.step(i, j, "random_partner", skip_flat=True)
            multipliers.end_round()
            quiet = 0 if moved else quiet + 1
            if quiet >= self.max_passes and multipliers.converged():
                return "converged"
        return "stalled"
