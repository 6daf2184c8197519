"""Margins of points, and the role each training point plays in the solution."""

from typing import NamedTuple

import numpy as np

ROLES = np.array(["out", "margin", "inside", "misclassified"])


class Margins(NamedTuple):
    """y f(x), and the same divided by |w|: the signed distance to the boundary in feature space."""

    functional: np.ndarray
    geometric: np.ndarray


def role_codes(coef, at_bound, signed_decision):
    """Positions in ROLES for the points of one machine; a slack above one is a wrong side."""
    beyond = np.where(signed_decision < 0, 3, 2)
    return np.where(coef == 0, 0, np.where(at_bound, beyond, 1))
