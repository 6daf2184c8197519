"""Penalties on the size of w, to be multiplied by alpha. The intercept is never penalised.

Invariant: `gradient` is a subgradient of `value` everywhere.
"""

import numpy as np


class NoPenalty:
    """No penalty: 0."""

    name = "none"

    def value(self, w):
        return 0.0

    def gradient(self, w):
        return np.zeros_like(w, dtype=float)


class L1:
    """|w|_1, the sum of the sizes; at a zero its subgradient is 0."""

    name = "l1"

    def value(self, w):
        return float(np.sum(np.abs(w)))

    def gradient(self, w):
        return np.sign(w).astype(float)


class L2:
    """1/2 |w|^2, whose gradient is w itself."""

    name = "l2"

    @np.errstate(over="ignore")
    def value(self, w):
        return 0.5 * float(np.dot(w, w))

    def gradient(self, w):
        return np.array(w, dtype=float)


PENALTIES = {penalty.name: penalty for penalty in (NoPenalty, L1, L2)}


def penalty_named(name):
    """The penalty of that name; None is "none".

    Examples
    --------
    >>> from maxmargin.penalties import penalty_named
    >>> penalty_named("l1").value([3.0, -4.0]), penalty_named("l2").value([3.0, -4.0])
    (7.0, 12.5)
    """
    return PENALTIES["none" if name is None else name]()
