"""SMO with the pair chosen by the gradient: to first order, or to second.

Raising y_i alpha_i by a unit changes the objective by -E_i, and lowering y_j alpha_j by E_j. So the
pair that violates optimality most is

    i = argmax of -E over the points that can rise,    j = argmin of -E over those that can fall,

and when -E_i <= -E_j even there, no pair can be improved: the solution is optimal. That is the
first-order choice. The second-order choice keeps i, and takes for j the one with which a full step
gains most, (E_j - E_i)^2 / (2 eta); a small step in a flat direction can gain more than a steep one
that is cut short. It costs one row of K more and needs far fewer steps.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.solvers.textbook import TextbookSolver

TAU = 1e-12  # This takes the place of a curvature that is not positive, as in LIBSVM.
CHOICES = {1: "most_violating", 2: "most_gain"}
ROUND_STEPS = 100  # This many steps make a row of the trace's rounds.


@dataclass
class SMOPairs(TextbookSolver):
    """The maximal violating pair, or the partner with the largest gain.

    Parameters
    ----------
    order : {2, 1}
        Second order, or first.
    """

    order: int = 2

    def run(self, multipliers):
        diagonal = np.diagonal(multipliers.K)
        while not multipliers.converged():
            gradient = -multipliers.E
            i = argmax(gradient, multipliers.can_rise())
            if self.order == 1:
                j = argmax(-gradient, multipliers.can_fall())
            else:
                difference = gradient[i] - gradient
                eta = np.maximum(diagonal[i] + diagonal - 2 * multipliers.K[i], TAU)
                j = argmax(difference**2 / eta, multipliers.can_fall() & (difference > 0))
            if not multipliers.step(i, j, CHOICES[self.order]):
                return "stalled"  # only rounding is left
            if multipliers.n_iter % ROUND_STEPS == 0:
                multipliers.end_round()
        multipliers.end_round()
        return "converged"


def argmax(values, allowed):
    """The position of the largest value among those allowed."""
    return int(np.argmax(np.where(allowed, values, -np.inf)))
