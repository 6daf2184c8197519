"""Kernels that come from outside: a matrix the user has computed, or a function of the user's."""

import numpy as np

from maxmargin import arrays
from maxmargin.errors import KernelError
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
        values = pairs.A.X[:, pairs.B.index]
        if arrays.is_sparse(values):
            values = values.toarray()
        return values.astype(pairs.A.dtype)

    def diagonal_formula(self, points):
        diagonal = points.X[np.arange(len(points)), points.index]
        return np.asarray(diagonal, dtype=points.dtype).ravel()


class Custom(Kernel):
    """A function of the user's: k(X, Z) returns the matrix of shape (rows of X, rows of Z).

    It is called on blocks, so no n x n matrix is ever needed, and on whatever X holds: arrays,
    sparse matrices or a list of strings. Say `positive_semidefinite=True` when that is known, and
    `fit` does not check it.

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
        values = self.function(pairs.A.X, pairs.B.X)
        values = values.toarray() if arrays.is_sparse(values) else np.asarray(values)
        expected = (len(pairs.A), len(pairs.B))
        if values.shape != expected:
            raise KernelError(
                f"Custom: the kernel function must return a matrix of shape {expected}, "
                f"got {values.shape}."
            )
        return values.astype(pairs.A.dtype)

    def diagonal_formula(self, points):
        def block(rows):
            X = arrays.take(points.X, rows)
            return np.diagonal(np.asarray(self.function(X, X)))

        pieces = [block(rows) for rows in arrays.blocks(len(points), 16)]
        return np.concatenate(pieces).astype(points.dtype) if pieces else np.empty(0, points.dtype)
