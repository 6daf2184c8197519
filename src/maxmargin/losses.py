"""Losses: what a decision f costs when the truth is y.

For classification y is +1 or -1 and the loss is a function of the margin y f; for regression it is
a function of the residual y - f. Invariant: `slope` is the derivative by f, and where the loss has
a kink it is the subgradient of smallest size, which is zero at every kink here.

`squared` carries the factor 1/2: its slope is the residual itself, and its mean over the points is
the loss of the lasso. The squares of the hinge and of the tube do not, as in LIBLINEAR. All work on
numbers or arrays, and for decisions of any size; only a square can overflow, to inf.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, xlog1py, xlogy


class Loss:
    """A loss: value(y, f), its slope in f, and the bound `curvature` of its second derivative.

    The curvature is inf where there is a kink; without one there is a `second_derivative`.
    `conjugate(y, u)` is the largest u f - value(y, f) over f: inf for a slope that the loss does
    not have.
    """

    name: str
    curvature = np.inf

    def value(self, y, f):
        raise TypeError(f"{type(self).__name__} does not define its value.")

    def slope(self, y, f):
        raise TypeError(f"{type(self).__name__} has no slope to follow.")

    def second_derivative(self, y, f):
        raise TypeError(f"{type(self).__name__} has kinks, and no second derivative.")

    def conjugate(self, y, u):
        raise TypeError(f"{type(self).__name__} does not define its conjugate.")


@dataclass(frozen=True)
class ZeroOne(Loss):
    """1 for a mistake, y f <= 0, and 0 otherwise: what one would like to minimise.

    It is flat wherever it does not jump, so it has no slope to follow, as the others have.
    """

    name = "zero_one"

    def value(self, y, f):
        return np.where(np.multiply(y, f) > 0, 0.0, 1.0)


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - y f); at the kink y f = 1 the slope is 0."""

    name = "hinge"

    def value(self, y, f):
        return shortfall(y, f)

    def slope(self, y, f):
        return np.where(shortfall(y, f) > 0, -np.asarray(y, dtype=float), 0.0)

    def conjugate(self, y, u):
        return _where(_is_share(np.multiply(y, u)), np.multiply(y, u))


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 - y f)^2."""

    name = "squared_hinge"
    curvature = 2.0

    @np.errstate(over="ignore")
    def value(self, y, f):
        return shortfall(y, f) ** 2

    def slope(self, y, f):
        return -2.0 * np.asarray(y) * shortfall(y, f)

    def second_derivative(self, y, f):
        return np.where(shortfall(y, f) > 0, 2.0, 0.0)

    def conjugate(self, y, u):
        steep = np.multiply(y, u)
        return _where(steep <= 0, steep + 0.25 * steep**2)


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + exp(-y f)), in a form that overflows for no f."""

    name = "logistic"
    curvature = 0.25

    def value(self, y, f):
        return np.logaddexp(0.0, -np.multiply(y, f))

    def slope(self, y, f):
        return -np.asarray(y) * expit(-np.multiply(y, f))

    def second_derivative(self, y, f):
        return expit(f) * expit(np.negative(f))

    def conjugate(self, y, u):
        share = -np.multiply(y, u)
        return _where(_is_share(-share), xlogy(share, share) + xlog1py(1.0 - share, -share))


@dataclass(frozen=True)
class Squared(Loss):
    """1/2 (y - f)^2."""

    name = "squared"
    curvature = 1.0

    @np.errstate(over="ignore")
    def value(self, y, f):
        return 0.5 * np.subtract(y, f) ** 2

    def slope(self, y, f):
        return np.subtract(f, y)

    def second_derivative(self, y, f):
        return np.ones_like(f, dtype=float)

    def conjugate(self, y, u):
        return np.multiply(u, y + 0.5 * u)


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |y - f| - epsilon); inside the tube and on its two edges the slope is 0."""

    epsilon: float = 0.1
    name = "epsilon_insensitive"

    def value(self, y, f):
        return np.abs(beyond_tube(y, f, self.epsilon))

    def slope(self, y, f):
        return np.sign(beyond_tube(y, f, self.epsilon))

    def conjugate(self, y, u):
        return _where(np.abs(u) <= 1, np.multiply(u, y) + self.epsilon * np.abs(u))


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(Loss):
    """max(0, |y - f| - epsilon)^2."""

    epsilon: float = 0.1
    name = "squared_epsilon_insensitive"
    curvature = 2.0

    @np.errstate(over="ignore")
    def value(self, y, f):
        return beyond_tube(y, f, self.epsilon) ** 2

    def slope(self, y, f):
        return 2.0 * beyond_tube(y, f, self.epsilon)

    def second_derivative(self, y, f):
        return np.where(beyond_tube(y, f, self.epsilon) != 0, 2.0, 0.0)

    def conjugate(self, y, u):
        return np.multiply(u, y) + self.epsilon * np.abs(u) + 0.25 * np.square(u)


def _is_share(steep):
    """Whether y u, the slope of a loss by the margin, is between -1 and 0."""
    return (steep >= -1) & (steep <= 0)


@np.errstate(invalid="ignore")
def _where(is_slope, conjugate):
    return np.where(is_slope, conjugate, np.inf)


def shortfall(y, f):
    """How much the margin y f falls short of 1; the slack xi."""
    return np.maximum(0.0, 1.0 - np.multiply(y, f))


def beyond_tube(y, f, epsilon):
    """How far f lies above the tube around y (positive), below it (negative), or 0 inside."""
    residual = np.subtract(f, y)
    return np.sign(residual) * np.maximum(0.0, np.abs(residual) - epsilon)


LOSSES = {
    loss.name: loss
    for loss in (
        ZeroOne,
        Hinge,
        SquaredHinge,
        Logistic,
        Squared,
        EpsilonInsensitive,
        SquaredEpsilonInsensitive,
    )
}


def loss_named(name, epsilon=0.1):
    """The loss of that name; `epsilon` is the half-width of its tube, where it has one.

    Examples
    --------
    >>> from maxmargin.losses import loss_named
    >>> loss_named("hinge").value([1, 1, -1], [2.0, 0.5, 3.0])
    array([0. , 0.5, 4. ])
    >>> loss_named("epsilon_insensitive", epsilon=0.5).slope(1.0, [0.0, 1.2, 3.0])
    array([-1.,  0.,  1.])
    """
    has_tube = "epsilon" in LOSSES[name].__dataclass_fields__
    return LOSSES[name](epsilon) if has_tube else LOSSES[name]()
