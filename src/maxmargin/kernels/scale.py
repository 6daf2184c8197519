"""gamma, the width parameter of several kernels, and its two names that depend on the data."""

from copy import copy
from math import isfinite

from maxmargin.errors import OVERFLOW, KernelError
from maxmargin.kernels.base import as_rows, check_number
from maxmargin.kernels.pairs import Points

NAMED_GAMMAS = ("scale", "auto")


def check_gamma(kernel):
    if isinstance(kernel.gamma, str):
        name = type(kernel).__name__
        if kernel.gamma in NAMED_GAMMAS:
            raise ValueError(
                f"{name}: gamma={kernel.gamma!r} is a number only once there is data; "
                "call kernel.resolve(X) first, or give a number."
            )
        raise ValueError(
            f"{name}: gamma must be 'scale', 'auto' or a number of at least 0, "
            f"got {kernel.gamma!r}."
        )
    # Zero makes the kernel constant, which is of no use, but scikit-learn accepts it.
    check_number(kernel, "gamma", kernel.gamma, at_least=0.0)


def resolved_gamma(kernel, X, sample_weight=None):
    """A copy of `kernel` whose gamma is a number.

    "auto" is 1 / d and "scale" is 1 / (d Var(X)). The variance counts every row by its weight:
    only then does a weight of two equal the row twice.
    """
    gamma = kernel.gamma
    if isinstance(gamma, str) and gamma in NAMED_GAMMAS:
        points = X if isinstance(X, Points) else Points(as_rows(X))
        n_features = max(1, points.shape[1])
        spread = points.variance(sample_weight) if gamma == "scale" else 1.0
        if not isfinite(spread):
            raise KernelError(OVERFLOW.format("the variance of X"))
        gamma = 1.0 / (n_features * spread) if spread > 0 else 1.0
    resolved = copy(kernel)
    resolved.gamma = gamma
    return resolved
