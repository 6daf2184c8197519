"""Least squares and ridge with weights of at least zero, and the proof that a w is the best.

    minimise  P(w) = 1/2 |b - Aw|^2 + alpha/2 |w|^2   over w >= 0.

What an increase of a weight would gain is the slope g = A'(b - Aw) - alpha w. The problem is
convex, so w is optimal exactly if no slope is positive, and none is negative where the weight could
still be lowered (KKT): the multiplier of w_j >= 0 is -g_j. The residual r = b - Aw is the dual
point that belongs to w, with D = b.r - 1/2 |r|^2 - alpha/2 |w|^2.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.problems.certificate import Certificate

TOL = 1e-9  # of a slope, relative to the lengths of its column and of b


@dataclass(frozen=True)
class NonNegativeProblem:
    """One target b and its alpha; `lengths` are those of the columns of A above sqrt(alpha) I."""

    A: object
    b: np.ndarray
    alpha: float
    lengths: np.ndarray

    def value(self, w):
        residual = self.b - self.A @ w
        return 0.5 * float(residual @ residual + self.alpha * (w @ w))

    def slope(self, w):
        return self.A.T @ (self.b - self.A @ w) - self.alpha * w

    def terms(self, w):
        """The size of what the residual is the difference of, and rounding leaves a share of."""
        return float(np.linalg.norm(self.b) + self.lengths @ np.abs(w))

    def steepness(self, w):
        """The slopes relative to their terms.

        Zero for a column whose square is zero: no weight of it is any better than none.
        """
        size = np.where(self.lengths > 0, self.lengths, np.inf) * (self.terms(w) or 1.0)
        return self.slope(w) / size

    def certify(self, w):
        """The KKT conditions, each relative to the terms of which it is the difference."""
        residual, slope = self.b - self.A @ w, self.steepness(w)
        squares = float(residual @ residual), self.alpha * float(w @ w)
        return Certificate(
            primal_objective=0.5 * sum(squares),
            dual_objective=float(self.b @ residual) - 0.5 * sum(squares),
            stationarity=float(np.max(slope, initial=0.0)),
            primal_feasibility=float(np.max(-w, initial=0.0)),
            dual_feasibility=0.0,
            complementary_slackness=float(np.max(-slope[w > 0], initial=0.0)),
            slack_complementarity=0.0,
            n_zero=int(np.sum(w == 0)),
            n_free=int(np.sum(w > 0)),
            n_bound=0,
            tol=TOL,
            largest_gap=np.inf,  # of a perfect fit both objectives are rounding
        )
