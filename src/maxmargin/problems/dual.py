"""The dual problem: the one quadratic programme behind every SVM.

In signed variables c (for a classifier c_i = y_i alpha_i), every formulation is

    maximise    p.c - sum_i epsilon_i |c_i| - 1/2 c'Kc
    subject to  lower <= c <= upper,   sum of c over group h = totals[h],

and differs only in p, epsilon, the bounds and the groups (`problems/reductions.py`). Signs inside
the variables keep y out of the matrix: K is the plain kernel matrix, shared by all of them.
Each group has its own multiplier, the bias b_h; with one group it is the intercept of the model.
"""

from dataclasses import dataclass, field, replace

import numpy as np


@dataclass(frozen=True)
class DualProblem:
    """The dual quadratic programme of one SVM.

    Attributes
    ----------
    kernel : Kernel
        With every parameter a number.
    X : array or sparse matrix of shape (n, d)
    linear : array of shape (n,)
        p, the linear term.
    lower, upper : arrays of shape (n,)
        With lower <= 0 <= upper.
    epsilon : array of shape (n,)
        The price of |c_i|: the half-width of the tube in regression, zero elsewhere.
    groups : array of int of shape (n,)
        Which equality constraint a variable belongs to.
    totals : array of shape (number of groups,)
        The sum of each group.
    start : array of shape (n,)
        A feasible point.
    rows : array of int of shape (n,), optional
        The row of X that each variable belongs to, where a row has more than one.
    own_scale : float
        What c is multiplied by in the units of the formulation, where the problem is in others.
    """

    kernel: object
    X: object
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: np.ndarray
    groups: np.ndarray
    totals: np.ndarray
    start: np.ndarray = field(repr=False)
    rows: np.ndarray | None = None
    own_scale: float = 1.0

    @property
    def n(self):
        """The number of variables."""
        return len(self.linear)

    def row_of(self, variables):
        return variables if self.rows is None else self.rows[variables]

    def per_row(self, variables, values):
        """Add up the values of the variables of each row: the rows, and their sums."""
        if self.rows is None:
            return variables, values
        rows, position = np.unique(self.rows[variables], return_inverse=True)
        return rows, np.bincount(position, weights=values, minlength=len(rows))

    def per_variable(self, values):
        """What each row has, for every variable of it."""
        return values if self.rows is None else values[self.rows]

    @property
    def n_groups(self):
        return len(self.totals)

    def objective(self, coef, expansion):
        """The dual objective, given the expansion f = Kc."""
        return float(coef @ self.linear - self.epsilon @ np.abs(coef) - 0.5 * coef @ expansion)

    def scaled(self, factor):
        """The problem that factor * c solves when c solves this one, and p = 0."""
        if factor == 1.0:
            return self
        return replace(
            self, lower=factor * self.lower, upper=factor * self.upper, totals=factor * self.totals
        )

    def start_from(self, coef):
        """A feasible point near the coefficients that an earlier fit gave the rows."""
        if self.rows is not None:
            coef = np.concatenate([np.maximum(coef, 0.0), np.minimum(coef, 0.0)])
        size, wanted = np.abs(coef).sum(), np.abs(self.totals).sum()
        if size > 0 and wanted > 0:  # where the sums are fixed, a model may have been rescaled
            coef = coef * (wanted / size)
        return self.nearest_feasible(coef)

    def nearest_feasible(self, coef):
        """Bring any vector into the feasible set: clip to the box, then mend each group's sum.

        What is missing is taken from one variable after the other, so that few of them change; and
        first by shrinking, because that never needs a new support vector.
        """
        coef = np.clip(coef, self.lower, self.upper)
        for group, total in enumerate(self.totals):
            members = np.flatnonzero(self.groups == group)
            for outward in (False, True):
                now = coef[members]
                missing = total - now.sum()
                if abs(missing) <= 1e-12 * np.abs(now).sum():
                    break  # rounding: not worth a new support vector
                bound = (self.upper if missing > 0 else self.lower)[members]
                shrinking = np.where(np.sign(now) == -np.sign(missing), -now, 0.0)
                room = np.abs(bound - now if outward else shrinking)
                before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
                coef[members] += np.sign(missing) * np.clip(abs(missing) - before, 0.0, room)
        return np.clip(coef, self.lower, self.upper)
