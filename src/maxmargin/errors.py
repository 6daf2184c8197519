"""Every exception and warning of the library, in one place.

They derive from the built-in or scikit-learn class a caller already catches, so that replacing an
import never changes which `except` clause is reached.
"""

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "FileError",
    "KernelError",
    "MercerWarning",
    "NoFeatureMapError",
    "NotSeparableError",
    "RankWarning",
]


OVERFLOW = "kernel overflow: {} is not finite on this data. Scale the data."


def warn(message, category=None):
    """Warn about the line of the caller that led here, however deep in this package it is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(frame):
    return frame.f_globals.get("__name__", "").partition(".")[0] == "maxmargin"


def class_of(model):
    """The name of a model's class for a message, with its package unless that is ours."""
    name, package = type(model).__name__, type(model).__module__.partition(".")[0]
    return name if package == "maxmargin" else f"{name} of {package}"


class NotSeparableError(ValueError):
    """A hard margin was asked for and no separator exists."""


class KernelError(ValueError):
    """A kernel returned something that is not a finite matrix of the right shape."""


class NoFeatureMapError(TypeError):
    """The kernel's feature space has no finite explicit map."""


class MercerWarning(UserWarning):
    """The kernel is not positive semidefinite on the data, so the dual problem is not concave."""


class RankWarning(UserWarning):
    """Least squares has no unique answer, and the one of smallest norm was taken."""


class FileError(ValueError):
    """A file is not what it should be, or cannot hold what it is given: `path: reason`, or
    `path:line:column: reason` for text."""
