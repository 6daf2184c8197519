"""Platt's SMO (1998): a hierarchy of guesses at the best pair.

First multiplier: a point that violates its KKT condition. The outer loop alternates between one
pass over all points and passes over those strictly inside the box (0 < alpha < C), which are the
ones still settling, until those agree.
Second multiplier, in this order, until one makes progress:
  1. the point inside the box with the largest |E_i - E_j|, which promises the largest step,
  2. any point inside the box, from a random one onwards,
  3. any point at all, from a random one onwards.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.solvers.textbook import TextbookSolver


@dataclass
class SMOPlatt(TextbookSolver):
    """Outer loop over violators, partner by the largest difference of the errors."""

    def run(self, multipliers):
        self.rng = np.random.default_rng(self.seed)
        examine_all = True
        while True:
            points = range(multipliers.n) if examine_all else inside(multipliers)
            moved = sum(self.examine(multipliers, i) for i in points)
            multipliers.end_round()
            if examine_all and moved == 0:
                return "converged"  # no violator found a partner
            examine_all = moved == 0  # the inner points agree: look at everyone again

    def examine(self, multipliers, i):
        """Try to improve point i with some partner."""
        return multipliers.violates(i) and any(
            multipliers.step(i, j) for j in self.partners(multipliers, i)
        )

    def partners(self, multipliers, i):
        """Candidates, the most promising first; computed only as far as they are asked for."""
        candidates = inside(multipliers)
        if len(candidates) > 1:
            difference = np.abs(multipliers.E[candidates] - multipliers.E[i])
            yield candidates[np.argmax(difference)]
        yield from self.from_a_random_one(candidates)
        yield from self.from_a_random_one(np.arange(multipliers.n))

    def from_a_random_one(self, points):
        return np.roll(points, self.rng.integers(len(points))) if len(points) else points


def inside(multipliers):
    """The points with 0 < alpha < C."""
    return np.flatnonzero((multipliers.alpha > 0) & (multipliers.alpha < multipliers.C))
