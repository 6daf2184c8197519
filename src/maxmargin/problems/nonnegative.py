"""Least squares and ridge with weights of at least zero, and the proof that a w is the best.

    minimise  P(w) = 1/2 |b - Aw|^2 + alpha/2 |w|^2   over w >= 0.

What an increase of a weight would gain is the slope g = A'(b - Aw) - alpha w. The problem is
convex, so w is optimal exactly if no slope is positive, and none is negative where the weight could
still be lowered (KKT): the multiplier of w_j >= 0 is -g_j. The residual r = b - Aw is the dual
point that belongs to w, with D = b.r - 1/2 |r|^2 - alpha/2 |w|^2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.problems.certificate import Certificate

TOL = 1e-9  # A slope may be this, relative to the lengths of its column and of b.


@dataclass(frozen=True)
class RidgeProblem:
    """One target b and its alpha, without the constraint."""

    A: object
    b: np.ndarray
    alpha: float

    def square_of_size(self):
        """The square of the size of A above sqrt(alpha) I."""
        return float(np.sum(self.A.squared_lengths() + self.alpha))

    def value(self, w):
        residual = self.b - self.A @ w
        return 0.5 * float(residual @ residual + self.alpha * (w @ w))

    def slope(self, w):
        return self.A.T @ (self.b - self.A @ w) - self.alpha * w


@dataclass(frozen=True)
class NonNegativeProblem(RidgeProblem):
    """The problem with w >= 0; `products` are those of the columns of A."""

    products: object

    @cached_property
    def lengths(self):
        """The lengths of the columns of A above sqrt(alpha) I."""
        return np.sqrt(self.products.squares + self.alpha)

    def terms(self, w):
        """The size of the terms whose difference the residual is; its rounding is a share of it."""
        return float(np.linalg.norm(self.b) + self.lengths @ np.abs(w))

    def steepness(self, w):
        """The slopes relative to their terms.

        The slope of a column of length zero is zero, because its weight changes nothing.
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
            largest_gap=np.inf,  # both objectives of a perfect fit are rounding
        )
