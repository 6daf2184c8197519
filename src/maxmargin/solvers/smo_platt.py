"""Platt's SMO (1998): a hierarchy of guesses at the best pair.

The first multiplier is that of a point that violates its KKT condition. The outer loop alternates
between one pass over all points and passes over those strictly inside the box (0 < alpha < C),
which are still moving, until none of these violates its condition.
The second multiplier is, in this order, until one makes progress:
  1. the point inside the box with the largest |E_i - E_j|, which promises the largest step,
  2. any point inside the box, from a random one onwards,
  3. any point at all, from a random one onwards.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.solvers.textbook import TextbookSolver


@dataclass
class SMOPlatt(TextbookSolver):
    """An outer loop over violators, with the partner whose error differs most."""

    def run(self, multipliers):
        self.rng = np.random.default_rng(self.seed)
        examine_all = True
        while True:
            points = range(multipliers.n) if examine_all else inside(multipliers)
            moved = sum(self.examine(multipliers, i) for i in points)
            multipliers.end_round()
            if examine_all and moved == 0:
                return "converged"  # no violator found a partner
            examine_all = moved == 0  # no inner point violates: look at all points again

    def examine(self, multipliers, i):
        """Try to improve point i with some partner."""
        if not multipliers.violates(i):
            return False
        return any(multipliers.step(i, *partner) for partner in self.partners(multipliers, i))

    def partners(self, multipliers, i):
        """Yield candidates and why they are tried, the most promising first."""
        candidates = inside(multipliers)
        if len(candidates) > 1:
            difference = np.abs(multipliers.E[candidates] - multipliers.E[i])
            yield candidates[np.argmax(difference)], "largest_difference"
        yield from self.from_a_random_one(candidates, "inside")
        yield from self.from_a_random_one(np.arange(multipliers.n), "anywhere")

    def from_a_random_one(self, points, reason):
        if len(points):
            points = np.roll(points, self.rng.integers(len(points)))
        return ((j, reason) for j in points)


def inside(multipliers):
    """The points with 0 < alpha < C."""
    return np.flatnonzero((multipliers.alpha > 0) & (multipliers.alpha < multipliers.C))
