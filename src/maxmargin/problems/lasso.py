"""The lasso: squared loss plus alpha |w|_1, its dual, and the gap between them.

With the bias profiled out (features and target centred) and every row times the root of its weight,
the problem of total weight W becomes

    minimise  P(w) = 1/2 |r|^2 + penalty |w|_1    with r = y - Zw and penalty = alpha W.

Its dual maximises D(v) = y.v - 1/2 |v|^2 over |Z'v| <= penalty. A multiple v = s r of the residual
is feasible for s small enough, and then

    P - D = 1/2 (1 - s)^2 |r|^2 + sum_j ( penalty |w_j| - s w_j (Z'r)_j ),

of which no term is negative: the sum has no cancellation and can be trusted down to rounding. With
w >= 0 the constraint of the dual is Z'v <= penalty, and the rest is the same.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin import arrays
from maxmargin.problems.certificate import Certificate

ROUNDING = 1e-14  # The difference of two objectives may be wrong by this, relative to them.
ROW_BLOCK, COLUMN_BLOCK = 512, 32  # A dense matrix is centred in pieces of this shape.
WORTH_GATHERING = 0.3  # No more than this part of the columns is worth copying for a product.


@dataclass(frozen=True)
class Features:
    """Z = matrix - root mean': features less their mean, each row times the root of its weight.

    A dense matrix is centred itself, once, and `mean` is zero. A sparse one stays sparse and is
    centred in products, which costs digits, unless it would take no more room as a dense one.
    """

    matrix: object
    root: np.ndarray
    mean: np.ndarray

    @classmethod
    def of(cls, X, weight, mean):
        root = np.sqrt(weight)
        if arrays.is_sparse(X) and arrays.is_mostly_full(X):
            X = arrays.dense(X)
        if arrays.is_sparse(X):
            return cls(sparse.csc_array(X.multiply(root[:, None])), root, mean)
        matrix = np.empty(X.shape, order="F")  # the solver reads columns
        is_weighted = bool(np.any(weight != 1.0))
        # Blocks of columns are filled in turn, because rows would touch the whole memory at once.
        for columns in arrays.blocks(X.shape[1], COLUMN_BLOCK):
            for rows in arrays.blocks(len(X), ROW_BLOCK):
                matrix[rows, columns] = X[rows, columns] - mean[columns]
                if is_weighted:
                    matrix[rows, columns] *= root[rows, None]
        return cls(matrix, root, np.zeros_like(mean))

    @property
    def n_features(self):
        return self.matrix.shape[1]

    @property
    def mean_stored(self):
        """How many values of a feature are stored, on average."""
        n_stored = arrays.n_stored(self.matrix)
        return n_stored / self.n_features

    def correlations(self, residual):
        """Z'r."""
        return self.matrix.T @ residual - self.mean * (self.root @ residual)

    def combination(self, w):
        """Zw, from the columns whose weight is not zero."""
        used = np.flatnonzero(w)
        if len(used) > WORTH_GATHERING * len(w):
            used = slice(None)
        return self.matrix[:, used] @ w[used] - self.root * (self.mean[used] @ w[used])

    def columns(self):
        """The columns as compiled loops read them: a dense transpose, or the arrays of CSC."""
        if arrays.is_sparse(self.matrix):
            return self.matrix.data, self.matrix.indices, self.matrix.indptr
        return self.matrix.T, np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)

    @cached_property
    def squared_lengths(self):
        """|Z_j|^2."""
        return arrays.squared_norms(self.matrix.T) - (self.root @ self.root) * self.mean**2

    def gram(self, some, others):
        """Z_some' Z_others as a dense matrix."""
        product = arrays.dense(self.matrix[:, some].T @ self.matrix[:, others])
        return product - (self.root @ self.root) * np.outer(self.mean[some], self.mean[others])


class Point(NamedTuple):
    """A w, and what follows from it by one pass over the data."""

    w: np.ndarray
    residual: np.ndarray
    correlations: np.ndarray


@dataclass(frozen=True)
class LassoProblem:
    """One target, centred and weighted like the features, and the penalty that w pays.

    `positive` asks for w >= 0.
    """

    features: Features
    y: np.ndarray
    penalty: float = 0.0
    positive: bool = False

    @property
    def total_weight(self):
        return float(self.features.root @ self.features.root)

    @property
    def scale(self):
        """|y|^2, the unit in which gaps are measured."""
        return float(self.y @ self.y)

    def at(self, w):
        """The point at w, from the data."""
        residual = self.y - self.features.combination(w)
        return Point(w, residual, self.features.correlations(residual))

    def start(self, w=None):
        """The point where a search begins, by default w = 0; products that overflow show here."""
        with np.errstate(over="ignore", invalid="ignore"):
            point = self.at(np.zeros(self.features.n_features) if w is None else w)
            if not np.all(np.isfinite(point.correlations)) or not np.isfinite(self.scale):
                raise ValueError("Lasso: the products of X and y overflow. Scale the data.")
        return point

    def priced(self, alpha):
        """The problem at another alpha."""
        return replace(self, penalty=alpha * self.total_weight)

    def largest_alpha(self, start):
        """The smallest alpha at which w = 0 is optimal."""
        return float(np.max(self.pull(start.correlations), initial=0.0)) / self.total_weight

    def pull(self, correlations):
        """How strongly each feature asks to be in use: |Z'r|, or Z'r itself where w >= 0 is asked.

        A feature that is out of use comes in when its pull is above the penalty.
        """
        return correlations if self.positive else np.abs(correlations)

    def objective(self, point):
        """P."""
        return 0.5 * float(point.residual @ point.residual) + self._price(point)

    def _price(self, point):
        return self.penalty * float(np.abs(point.w).sum())

    def gap(self, point):
        """P - D, which is the most that can be gained."""
        return self._gap_and_multiple(point)[0]

    def mean_gap(self, point):
        """The gap in the scale of 1/(2n) |r|^2 + alpha |w|_1."""
        return self.gap(point) / self.total_weight

    def _gap_and_multiple(self, point):
        """The gap, and the s of the best dual point s r."""
        squared = float(point.residual @ point.residual)
        inner = float(point.w @ point.correlations)
        highest = float(np.max(self.pull(point.correlations), initial=0.0))
        multiple = 1.0 if squared == 0.0 else max(0.0, (squared + inner) / squared)
        if multiple * highest > self.penalty:
            multiple = self.penalty / highest
        shortfall = self._price(point) - multiple * inner
        return 0.5 * (1.0 - multiple) ** 2 * squared + shortfall, multiple

    def certify(self, point, tol):
        """The proof, in the scale of 1/(2n) |r|^2 + alpha |w|_1.

        `tol` is relative to |y|^2, and is converted to be relative to the objective.
        """
        squared = float(point.residual @ point.residual)
        multiple = self._gap_and_multiple(point)[1]
        primal = self.objective(point)
        dual = multiple * float(point.residual @ self.y) - 0.5 * multiple**2 * squared
        in_use = point.w != 0
        excess = self.pull(multiple * point.correlations) - self.penalty
        slack = self.penalty - point.correlations[in_use] * np.sign(point.w[in_use])
        size = max(abs(primal), abs(dual))
        weight = self.total_weight
        return Certificate(
            primal_objective=primal / weight,
            dual_objective=dual / weight,
            stationarity=0.0,
            primal_feasibility=0.0,
            dual_feasibility=float(np.max(excess, initial=0.0)) / weight,
            complementary_slackness=float(np.max(np.abs(slack), initial=0.0)) / weight,
            slack_complementarity=0.0,
            n_zero=int(np.sum(~in_use)),
            n_free=int(np.sum(in_use)),
            n_bound=0,
            tol=ROUNDING + (tol * self.scale / size if size > 0 else tol),
            by_gap=True,
        )
