"""Crammer and Singer's machine for several classes: one loss for all of them.

Minimise 1/2 sum_m |w_m|^2 + sum_i C_i max(0, max over m != y_i of 1 - (w_y - w_m).x_i), with the
bias as one more, constant feature. Its dual has one variable per point and class:

    maximise    - sum_i sum over m != y_i of alpha_im - 1/2 sum_m |w_m|^2
    subject to  alpha_im <= C_i for m = y_i and alpha_im <= 0 for the others, sum_m alpha_im = 0,

with w_m = sum_i alpha_im x_i.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin import arrays
from maxmargin.problems.certificate import Certificate, relative_difference


@dataclass(frozen=True)
class JointLoss:
    """The problem of all classes; `labels` count from 0, `bias` is the constant feature, or 0.

    `present` says which classes of a larger set these are, for a caller that has one.
    """

    X: object
    bias: float
    labels: np.ndarray
    n_classes: int
    C: np.ndarray
    present: np.ndarray | None = None

    @property
    def n(self):
        return len(self.labels)

    @cached_property
    def is_own(self):
        """Whether a class (column) is that of the point (row)."""
        return self.labels[:, None] == np.arange(self.n_classes)

    def squared_lengths(self):
        return arrays.squared_norms(self.X) + self.bias**2

    def weights_of(self, alpha):
        """W = alpha'X, a row per class, the weight of the constant feature last."""
        return np.column_stack([np.asarray(self.X.T @ alpha).T, self.bias * alpha.sum(axis=0)])

    def decisions(self, W):
        return np.asarray(self.X @ W[:, :-1].T) + self.bias * W[:, -1]

    def primal(self, W, decisions):
        """The primal objective, given the decisions of W."""
        rival = np.max(decisions + ~self.is_own, axis=1)
        return 0.5 * float(np.sum(W**2)) + float(self.C @ (rival - decisions[self.is_own]))

    def dual(self, alpha, W):
        """The dual objective, given W = alpha'X."""
        return -0.5 * float(np.sum(W**2)) - float(alpha[~self.is_own].sum())

    def feasible(self, prices):
        """The dual point that charges each point these prices for the classes that are not its own.

        No price is negative, and those of a point sum to C_i; what rounding adds is taken off.
        """
        alpha = np.where(self.is_own, 0.0, -prices)
        charged = -alpha.sum(axis=1)
        alpha *= np.where(charged > self.C, self.C / np.maximum(charged, self.C), 1.0)[:, None]
        alpha[self.is_own] = np.minimum(-alpha.sum(axis=1), self.C)
        return alpha

    def relative_gap(self, W, alpha):
        """The relative duality gap between W and alpha."""
        primal = self.primal(W, self.decisions(W))
        return float(relative_difference(primal, self.dual(alpha, self.weights_of(alpha))))

    def certify(self, W, alpha, tol):
        """Certify W by a dual point; `tol` bounds the relative duality gap."""
        own = alpha[self.is_own]
        return Certificate(
            primal_objective=self.primal(W, self.decisions(W)),
            dual_objective=self.dual(alpha, self.weights_of(alpha)),
            stationarity=float(np.max(np.abs(alpha.sum(axis=1)), initial=0.0)),
            primal_feasibility=0.0,
            dual_feasibility=float(np.max(own - self.C, initial=0.0)),
            complementary_slackness=np.nan,
            slack_complementarity=np.nan,
            n_zero=int(np.sum(own == 0)),
            n_free=int(np.sum((own > 0) & (own < self.C))),
            n_bound=int(np.sum(own >= self.C)),
            tol=float(tol),
            by_gap=True,
        )
