"""How far a point of gradient descent is from the optimum, at most.

That an epoch changed little does not say what is left to gain: short steps change little, too. Weak
duality says it. For slopes u_i that the loss can have (where its conjugate is finite), and that sum
to zero with an intercept, sum_i s_i u_i = 0,

    F(w, b) >= - sum_i s_i conjugate(y_i, u_i) - max over w of ( -alpha penalty(w) - w.g )

for every w and b, with g = sum_i s_i u_i x_i and weights s_i that sum to one. The last term is
|g|^2 / (2 alpha) for the l2 penalty; for l1 it is zero if no |g_j| is above alpha, and without a
penalty if g = 0. The gap is what lies between F and the largest such bound.

Which slopes? For a loss with a kink we take the mean of those that the steps have followed: at the
optimum a point at the kink has a slope in between. For a smooth loss we take those at the current
point and, where features are few, those to which a step of Newton's method would lead, because g is
then next to zero in every direction, however flat the objective is there.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.descent import RECENCY
from maxmargin.memory import rows_at_a_time

MOST_COLUMNS = 300  # A system of equations is solved for this many columns at most.
LESS_OFTEN = 1.2  # Looks are this factor of epochs apart, because one costs more than an epoch.
ROUNDING = 1e-14  # Two objectives that differ by less, relative to them, are the same.
NOTHING = 1e-9  # A g_j below this, relative to the lengths of column j and of the slopes, is zero.


@dataclass
class LowerBound:
    """The best bound of the optimum so far; zero is one, because nothing here is negative."""

    objective: object
    fit_intercept: bool
    value: float = 0.0
    n_epochs: int = 0
    next_look: float = 1.0
    followed: np.ndarray = field(default_factory=lambda: np.zeros(1))  # the mean slopes

    def follow(self, slopes):
        """Add the slopes of an epoch to their mean."""
        self.n_epochs += 1
        rate = (1.0 + RECENCY) / (self.n_epochs + RECENCY)
        self.followed = self.followed + rate * (slopes - self.followed)

    def rise(self, w, decisions):
        """Raise the bound as far as possible; w, whose last entry is b, is the current point."""
        objective = self.objective
        if not objective.is_smooth:
            self._take(self._balanced(self.followed))
            return
        slopes = objective.loss.slope(objective.y, decisions)
        self._take(self._balanced(slopes))
        if objective.X.shape[1] <= MOST_COLUMNS and self.n_epochs >= self.next_look:
            self.next_look = LESS_OFTEN * self.n_epochs + 1.0
            # The slopes may no longer sum to zero, because of rounding, as with a constant feature.
            self._take(self._balanced(self._after_newton(w, decisions, slopes)))

    def proves(self, value, tol):
        """Whether F = value is within a share tol of its optimum, or a share tol of what the best
        constant costs: near a perfect fit, no share of the optimum can be reached."""
        allowed = max(tol, ROUNDING) * value
        return value - self.value <= allowed or value <= tol * self._of_constant

    @cached_property
    def at_zero(self):
        return self.objective.mean_loss(0.0)

    @cached_property
    def _of_constant(self):
        """The objective of the mean of the targets, or of zero where there is no intercept."""
        if not self.fit_intercept:
            return self.at_zero
        return self.objective.mean_loss(float(self.objective.share @ self.objective.y))

    @np.errstate(over="ignore", invalid="ignore")
    def _take(self, slopes):
        """Raise the bound by these slopes, or by the multiple of them that the penalty allows."""
        objective = self.objective
        pull, worth = self._pull(slopes), self._worth(slopes)
        price, part = self._price(pull, slopes), 1.0
        if objective.penalty.name == "l1" and objective.alpha > 0:
            largest = float(np.max(np.abs(pull), initial=0.0))
            price, part = 0.0, min(1.0, objective.alpha / largest) if largest > 0 else 1.0
        elif 0.0 < worth < 2.0 * price < np.inf and not objective.is_smooth:
            part = worth / (2.0 * price)  # the best, as the worth is proportional to the slopes
        value = (self._worth(part * slopes) if part < 1.0 else worth) - part**2 * price
        self.value = value if value > self.value else self.value

    def _worth(self, slopes):
        """The bound, if there were no penalty to pay."""
        objective = self.objective
        return -float(objective.share @ objective.loss.conjugate(objective.y, slopes))

    def _price(self, pull, slopes):
        """What the l2 penalty, or none, takes off the bound."""
        objective = self.objective
        if objective.curvature_of_penalty > 0:
            return float(pull @ pull) / (2.0 * objective.alpha)
        size = float(np.sqrt(objective.share @ slopes**2))
        is_nothing = np.all(np.abs(pull) <= NOTHING * size * np.sqrt(self._squares))
        return 0.0 if is_nothing else np.inf

    def _balanced(self, slopes):
        """Make the heavier sign of the slopes lighter, so that they sum to zero."""
        if not self.fit_intercept:
            return slopes
        weighted = self.objective.share * slopes
        up, down = weighted[weighted > 0].sum(), -weighted[weighted < 0].sum()
        lighter = min(up, down)
        factors = [lighter / side if side > 0 else 1.0 for side in (up, down)]
        return slopes * np.where(slopes > 0, *factors)

    def _pull(self, slopes):
        """The vector g; a shift of the features cancels in it where the slopes sum to zero."""
        weighted = self.objective.share * slopes
        return self.objective.X.T @ weighted - self._centre * weighted.sum()

    @cached_property
    def _centre(self):
        if not self.fit_intercept:
            return np.zeros(self.objective.X.shape[1])
        return np.asarray(self.objective.X.T @ self.objective.share)

    @cached_property
    def _squares(self):
        """The mean squares of the features, about their means where there is an intercept."""
        squares = np.zeros(self.objective.X.shape[1])
        for rows, columns in self._blocks():
            squares += self.objective.share[rows] @ columns**2
        return squares

    def _blocks(self):
        X = self.objective.X
        for rows in arrays.blocks(X.shape[0], rows_at_a_time(2 * X.shape[1] + 2)):
            yield rows, arrays.dense(X[rows]) - self._centre

    def _after_newton(self, w, decisions, slopes):
        """The slopes at the end of a step of Newton's method, by their linear model.

        The second round takes out what rounding has left of the first.
        """
        objective = self.objective
        curvature = objective.loss.second_derivative(objective.y, decisions)
        step, changed = np.zeros(len(w)), slopes
        solve = self._solver(objective.share * curvature)
        for _ in range(2):
            weighted = objective.share * changed
            gradient = np.append(self._pull(changed), weighted.sum() * self.fit_intercept)
            gradient[:-1] += objective.curvature_of_penalty * (w[:-1] + step[:-1])
            step -= solve(gradient)
            along = objective.X @ step[:-1] - float(self._centre @ step[:-1]) + step[-1]
            changed = slopes + curvature * along
        return changed

    def _solver(self, weights):
        """The inverse of the Hessian, as a function; features are scaled alike for it."""
        d = self.objective.X.shape[1]
        hessian = np.zeros((d + 1, d + 1))
        for rows, columns in self._blocks():
            part = np.column_stack([columns, np.full(len(columns), float(self.fit_intercept))])
            hessian += part.T @ (part * weights[rows, None])
        hessian[range(d), range(d)] += self.objective.curvature_of_penalty
        scale = np.sqrt(np.diagonal(hessian))
        scale = np.where(scale > 0, scale, 1.0)
        inverse = np.linalg.pinv(hessian / np.outer(scale, scale), hermitian=True)
        return lambda gradient: inverse @ (gradient / scale) / scale
