"""Linear machines: loss + penalty in w itself, with the bias as one more, constant feature.

Minimise  1/2 |w|^2 + sum_i C_i loss(y_i, w.x_i)  for the hinge loss, the epsilon-insensitive loss
and their squares. Because the bias is penalised like the rest, the dual has no equality constraint:

    maximise    p.c - sum_i epsilon_i |c_i| - 1/2 |X'c|^2 - 1/2 sum_i damping_i c_i^2
    subject to  lower <= c <= upper,

with w = X'c. A plain loss has the box [0, C_i] (times y_i) or [-C_i, C_i] and no damping; a squared
one has no outer bound and damping 1 / (2 C_i).
"""

from dataclasses import dataclass, replace

import numpy as np

from maxmargin import arrays
from maxmargin.problems.certificate import Certificate, relative_difference

SMALLEST = 1e-300  # The inverse of a price as small as this is still finite.


@dataclass(frozen=True)
class LinearProblem:
    """The dual of one linear machine; `bias` is the value of the constant feature, or 0."""

    X: object
    bias: float
    linear: np.ndarray
    epsilon: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    damping: np.ndarray

    @property
    def n(self):
        return len(self.linear)

    @property
    def is_squared(self):
        return bool(np.all(self.damping > 0))

    def part(self, rows):
        """The problem of some of the points, which stand for all of them."""
        more = self.n / len(rows)
        return LinearProblem(
            self.X[rows], self.bias, self.linear[rows], self.epsilon[rows],
            more * self.lower[rows], more * self.upper[rows], self.damping[rows] / more,
        )  # fmt: skip

    def scaled(self, factor):
        """The problem whose solution w and c is `factor` times that of this one."""
        names = ("linear", "epsilon", "lower", "upper")
        return replace(self, **{name: factor * getattr(self, name) for name in names})

    def weights_of(self, coef):
        """w = X'c, the weight of the constant feature last."""
        return np.append(np.asarray(self.X.T @ coef), self.bias * coef.sum())

    def decisions(self, w):
        return np.asarray(self.X @ w[:-1]) + self.bias * w[-1]

    def squared_lengths(self):
        return arrays.squared_norms(self.X) + self.bias**2

    def best_response(self, residual):
        """For each point the c_i that maximises c_i r_i - epsilon_i |c_i| - 1/2 damping_i c_i^2."""
        excess = np.maximum(np.abs(residual) - self.epsilon, 0.0) * np.sign(residual)
        with np.errstate(divide="ignore", invalid="ignore"):
            unbounded = np.where(excess == 0, 0.0, excess / self.damping)
        return np.clip(unbounded, self.lower, self.upper)

    def loss(self, w):
        """sum_i C_i loss_i."""
        return self.loss_of(self.decisions(w))

    def loss_of(self, decisions):
        residual = self.linear - decisions
        best = self.best_response(residual)
        return float(best @ residual - self.epsilon @ np.abs(best) - 0.5 * self.damping @ best**2)

    def primal(self, w):
        return float(0.5 * w @ w) + self.loss(w)

    def dual(self, coef, w):
        """The dual objective, given w = X'c."""
        value = coef @ self.linear - self.epsilon @ np.abs(coef)
        return float(value - 0.5 * w @ w - 0.5 * self.damping @ coef**2)

    def relative_gap(self, w, coef, dual_w=None):
        """The relative duality gap between w and c; dual_w = X'c, where that is known."""
        dual_w = self.weights_of(coef) if dual_w is None else dual_w
        return float(relative_difference(self.primal(w), self.dual(coef, dual_w)))

    def response(self, w):
        """The dual point that the decisions of w ask for; the optimal c at an optimal w, if the
        loss is squared."""
        return self.best_response(self.linear - self.decisions(w))

    def dual_start(self, start):
        """The dual point at which to begin: zero, that of a solution, or what its w asks for.

        At the kink of a plain loss c does not follow from w, so what w asks for is scaled down to
        where the dual objective is largest.
        """
        if start is None:
            return np.zeros(self.n)
        if start.coef is not None:
            return np.clip(start.coef, self.lower, self.upper)
        coef = self.response(start.weights)
        slope = float(coef @ self.linear - self.epsilon @ np.abs(coef))
        w = self.weights_of(coef)
        curvature = float(w @ w + self.damping @ coef**2)
        return coef * min(max(slope / max(curvature, SMALLEST), 0.0), 1.0)

    def certify(self, w, coef, tol):
        """Certify w by a dual point c, whose X'c is computed here.

        `tol` bounds the relative duality gap.
        """
        dual_w = self.weights_of(coef)
        decisions = self.decisions(dual_w)
        same = np.array_equal(w, dual_w)
        primal = float(0.5 * w @ w) + self.loss_of(decisions) if same else self.primal(w)
        residual = self.linear - decisions - self.damping * coef
        outward = np.where(
            coef != 0, residual * np.sign(coef) - self.epsilon, self._gain_at_zero(residual)
        )
        at_bound = self._at_bound(coef)
        return replace(
            self.certificate(primal, self.dual(coef, dual_w), coef, tol),
            stationarity=float(np.max(np.abs(w - dual_w))),
            complementary_slackness=float(np.max(-outward[coef != 0], initial=0.0)),
            slack_complementarity=float(np.max(outward[~at_bound], initial=0.0)),
        )

    def certificate(self, primal, dual, coef, tol):
        """A certificate of the gap between two objectives, and of where a dual point stands.

        The other conditions are not measured one by one here.
        """
        at_bound = self._at_bound(coef)
        outside = max(np.max(coef - self.upper, initial=0), np.max(self.lower - coef, initial=0))
        return Certificate(
            primal_objective=primal,
            dual_objective=dual,
            stationarity=np.nan,
            primal_feasibility=0.0,
            dual_feasibility=float(outside),
            complementary_slackness=np.nan,
            slack_complementarity=np.nan,
            n_zero=int(np.sum(coef == 0)),
            n_free=int(np.sum((coef != 0) & ~at_bound)),
            n_bound=int(np.sum(at_bound)),
            tol=float(tol),
            by_gap=True,
        )

    def _at_bound(self, coef):
        return (coef != 0) & ((coef <= self.lower) | (coef >= self.upper))

    def _gain_at_zero(self, residual):
        rise = np.where(self.upper > 0, residual, -np.inf)
        fall = np.where(self.lower < 0, -residual, -np.inf)
        return np.maximum(rise, fall) - self.epsilon


class L1LinearProblem(LinearProblem):
    """The problem with |w|_1 in place of 1/2 |w|^2, whose dual has |X'c| <= 1 in every feature.

    Any c is scaled down to meet that.
    """

    def primal(self, w):
        return self.loss(w) + float(np.abs(w).sum())

    def inside(self, coef, dual_w):
        return coef / max(1.0, float(np.max(np.abs(dual_w), initial=0.0)))

    def dual(self, coef, w):
        inside = self.inside(coef, w)
        return float(inside @ self.linear - 0.5 * self.damping @ inside**2)

    def certify(self, w, coef, tol):
        dual_w = self.weights_of(coef)
        dual = self.dual(coef, dual_w)
        return self.certificate(self.primal(w), dual, self.inside(coef, dual_w), tol)


def linear_svc(X, y, C, bias, squared, l1=False):
    """Hinge loss max(0, 1 - y f) or its square; y is +-1."""
    bound = np.full(len(y), np.inf) if squared else C
    return (L1LinearProblem if l1 else LinearProblem)(
        X, bias, y.astype(np.float64), np.zeros(len(y)), np.where(y > 0, 0.0, -bound),
        np.where(y > 0, bound, 0.0), _damping(C, squared),
    )  # fmt: skip


def linear_svr(X, y, C, bias, epsilon, squared):
    """Epsilon-insensitive loss max(0, |y - f| - epsilon) or its square."""
    bound = np.full(len(y), np.inf) if squared else C
    return LinearProblem(
        X, bias, y.astype(np.float64), np.full(len(y), float(epsilon)), -bound, bound,
        _damping(C, squared),
    )  # fmt: skip


def _damping(C, squared):
    """The damping. A row that costs less than SMALLEST has next to no influence on w either way."""
    return 0.5 / np.maximum(C, SMALLEST) if squared else np.zeros(len(C))
