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
    matrix : KernelMatrix
        K, as an engine holds it (`engines/base.py`).
    linear : array of shape (n,)
        p, the linear term.
    lower, upper : arrays of shape (n,)
        The box, with lower <= 0 <= upper.
    epsilon : array of shape (n,)
        The price of |c_i|: the half-width of the tube in regression, zero elsewhere.
    groups : array of int of shape (n,)
        Which equality constraint a variable belongs to.
    totals : array of shape (number of groups,)
        The sum of each group.
    start : array of shape (n,)
        A feasible point.
    rows : array of int of shape (n,), optional
        The point that each variable belongs to, where a point has more than one.
    """

    matrix: object
    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: np.ndarray
    groups: np.ndarray
    totals: np.ndarray
    start: np.ndarray = field(repr=False)
    rows: np.ndarray | None = None

    @property
    def n(self):
        """The number of variables."""
        return len(self.linear)

    @property
    def kernel(self):
        """The kernel, with every parameter a number."""
        return self.matrix.kernel

    @property
    def points(self):
        return self.matrix.points

    def row_of(self, variables):
        return variables if self.rows is None else self.rows[variables]

    def per_row(self, variables, values):
        """Add up the values of the variables of each row: the rows, and their sums."""
        if self.rows is None:
            return variables, values
        rows, position = np.unique(self.rows[variables], return_inverse=True)
        return rows, np.bincount(position, weights=values, minlength=len(rows))

    def per_variable(self, values):
        """The value of each row, repeated for every variable that belongs to it."""
        return values if self.rows is None else values[self.rows]

    @property
    def n_groups(self):
        return len(self.totals)

    def objective(self, coef, expansion):
        """The dual objective, given the expansion Kc."""
        return float(coef @ self.linear - self.epsilon @ np.abs(coef) - 0.5 * coef @ expansion)

    def expansion(self, coef, told=None):
        """Kc, in float64, from the data; None if `told`, which hears how far it is, ends it."""
        support = np.flatnonzero(coef)
        if not len(support):
            return np.zeros(self.n)
        f = self.matrix.expansion(*self.per_row(support, coef[support]), told)
        return None if f is None else self.per_variable(f)

    def seconds_to_expand(self, coef):
        """About how long `expansion` takes."""
        return self.matrix.seconds_to_expand(np.count_nonzero(coef))

    def diagonal(self):
        """K_ii of every variable."""
        return self.per_variable(self.matrix.diagonal())

    def offsets(self, coef):
        """What is added to the gradient for a rise, and for a fall, of each variable.

        It is the slope of epsilon |c|, or beyond any gradient where the box forbids the move.
        """
        from maxmargin.compiled.smo import fill_offsets

        up, low = np.empty(self.n), np.empty(self.n)
        fill_offsets(coef, self.lower, self.upper, self.epsilon, up, low)
        return up, low

    def biases(self, coef, expansion):
        """The multiplier b_h of each group that fits the coefficients best."""
        from maxmargin.compiled.smo import bias_of

        gradient, offsets = self.linear - expansion, self.offsets(coef)
        groups = range(self.n_groups)
        return np.array([bias_of(gradient, *offsets, self.groups, group) for group in groups])

    def scaled(self, factor):
        """The problem that factor * c solves when c solves this one, and p = 0."""
        if factor == 1.0:
            return self
        parts = ("lower", "upper", "totals", "start")
        return replace(self, **{name: factor * getattr(self, name) for name in parts})

    def start_from(self, coef):
        """A feasible point near the coefficients that an earlier fit gave the points. Where a point
        has several variables, those whose box allows the sign take it."""
        coef = self.per_variable(coef)
        coef = coef * np.where(coef > 0, self.upper > 0, self.lower < 0)
        size, wanted = np.abs(coef).sum(), np.abs(self.totals).sum()
        if size > 0 and wanted > 0:  # where the sums are fixed, a model may have been rescaled
            coef = coef * (wanted / size)
        return self.nearest_feasible(coef)

    def nearest_feasible(self, coef):
        """Bring any vector into the feasible set: clip to the box, then mend each group's sum.

        What is missing is taken from one variable after the other, so that few of them change.
        Variables first move towards zero, because that never needs a new support vector.
        """
        coef = np.clip(coef, self.lower, self.upper)
        for group, total in enumerate(self.totals):
            members = np.flatnonzero(self.groups == group)
            for outward in (False, True):
                now = coef[members]
                missing = total - now.sum()
                if abs(missing) <= 1e-12 * np.abs(now).sum():
                    break  # rounding is not worth a new support vector
                bound = (self.upper if missing > 0 else self.lower)[members]
                inward = np.where(np.sign(now) == -np.sign(missing), -now, 0.0)
                room = np.abs(bound - now if outward else inward)
                before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
                coef[members] += np.sign(missing) * np.clip(abs(missing) - before, 0.0, room)
        return np.clip(coef, self.lower, self.upper)


@np.errstate(over="ignore", invalid="ignore")  # the engine says what overflowed
def walk(sizes, coef):
    """The sum in Kc of random errors of the entries of K, where |K_ij| <= size_i size_j."""
    return float(np.max(sizes, initial=0.0) * np.linalg.norm(sizes * coef))
