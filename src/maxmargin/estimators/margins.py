"""Margins of points, and the role each training point plays in the solution."""

from typing import NamedTuple

import numpy as np

ROLES = np.array(["out", "margin", "inside", "misclassified"])
TUBE_ROLES = np.array(["unused", "inside", "edge", "outside"])


class Margins(NamedTuple):
    """y f(x), and y f(x) / |w|, the signed distance to the boundary in feature space."""

    functional: np.ndarray
    geometric: np.ndarray


def role_codes(coef, at_bound, signed_decision):
    """Positions in ROLES for the points of one machine; a slack above one means misclassified."""
    beyond = np.where(signed_decision < 0, 3, 2)
    return np.where(coef == 0, 0, np.where(at_bound, beyond, 1))


def tube_codes(coef, at_bound):
    """Positions in TUBE_ROLES for the rows of a regression; rows without weight are unused.

    `at_bound` has an entry per multiplier; nu regression has two for each row.
    """
    at_bound = np.any(np.reshape(at_bound, (-1, len(coef))), axis=0)
    return np.where(coef == 0, 1, np.where(at_bound, 3, 2))
