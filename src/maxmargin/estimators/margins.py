"""Margins of points, and the role each training point plays in the solution."""

from typing import NamedTuple

import numpy as np

ROLES = np.array(["out", "margin", "inside", "misclassified"])


class Margins(NamedTuple):
    """y f(x), and the same divided by |w|: the signed distance to the boundary in feature space."""

    functional: np.ndarray
    geometric: np.ndarray


def role_codes(problem, solution):
    """Positions in ROLES for the points of one binary problem."""
    coef = solution.coef
    at_bound = (coef != 0) & ((coef <= problem.lower) | (coef >= problem.upper))
    slack = 1 - problem.linear * (solution.expansion + solution.bias[0])
    return np.where(coef == 0, 0, np.where(~at_bound, 1, np.where(slack > 1, 3, 2)))
