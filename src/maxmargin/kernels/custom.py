"""Kernels that come from outside: a matrix the user has computed, or a function of the user's."""

import numpy as np

from maxmargin import arrays
from maxmargin.errors import OVERFLOW, KernelError
from maxmargin.kernels.base import Kernel


class Precomputed(Kernel):
    """The matrix itself: row i of X holds k(x_i, z) for every training point z.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Precomputed
    >>> Precomputed()(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([[2., 1.],
           [1., 2.]])
    """

    positive_semidefinite = None
    takes = "gram"

    def formula(self, pairs):
        values = self._rows_of(pairs.A, pairs.B.index)[:, pairs.B.index]
        if arrays.is_sparse(values):
            values = values.toarray()
        return values.astype(pairs.A.dtype)

    def diagonal_formula(self, points):
        rows = self._rows_of(points, points.index)
        diagonal = rows[np.arange(len(points)), points.index]
        return np.asarray(diagonal, dtype=points.dtype).ravel()

    def _rows_of(self, points, index):
        """The rows of the matrix, which must reach to every training point in `index`."""
        n_columns, n_needed = points.X.shape[1], int(np.max(index, initial=-1)) + 1
        if n_columns < n_needed:
            raise KernelError(
                f"Precomputed: X must have a column for each of the {n_needed} training points, "
                f"got {n_columns} columns."
            )
        return points.X


class Custom(Kernel):
    """A function of the user's: k(X, Z) returns the matrix of shape (rows of X, rows of Z).

    It is called on blocks, so no n x n matrix is ever needed, from several threads at once, and on
    whatever X holds: arrays, sparse matrices or a list of strings. Say
    `positive_semidefinite=True` when that is known, and `fit` does not check it.

    Examples
    --------
    >>> from maxmargin.kernels import Custom
    >>> def shared_letters(left, right):
    ...     return [[len(set(u) & set(v)) for v in right] for u in left]
    >>> Custom(shared_letters)(["abc", "bcd"], ["cat"])
    array([[2.],
           [1.]])
    """

    takes = "anything"

    def __init__(self, function, positive_semidefinite=None):
        self.function = function
        self.positive_semidefinite = positive_semidefinite

    def check(self):
        if not callable(self.function):
            raise ValueError(f"Custom: function must be callable, got {self.function!r}.")

    def formula(self, pairs):
        return self._matrix(pairs.A.X, pairs.B.X).astype(pairs.A.dtype)

    def diagonal_formula(self, points):
        def block(rows):
            X = arrays.take(points.X, rows)
            return np.diagonal(self._matrix(X, X))

        pieces = [block(rows) for rows in arrays.blocks(len(points), 16)]
        return np.concatenate(pieces).astype(points.dtype) if pieces else np.empty(0, points.dtype)

    def _matrix(self, X, Z):
        values = self.function(X, Z)
        values = values.toarray() if arrays.is_sparse(values) else np.asarray(values)
        expected = (arrays.n_rows(X), arrays.n_rows(Z))
        if values.shape != expected:
            raise KernelError(
                f"Custom: the kernel function must return a matrix of shape {expected}, "
                f"got {values.shape}."
            )
        if not np.all(np.isfinite(values)):
            place = arrays.first_not_finite(values)
            raise KernelError(OVERFLOW.format(f"{self} at {place} of {expected}"))
        return values
