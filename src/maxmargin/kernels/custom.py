"""Kernels of the user's: a matrix that is already computed, or a function."""

import numpy as np

from maxmargin import arrays
from maxmargin.errors import OVERFLOW, KernelError
from maxmargin.kernels.base import Kernel
from maxmargin.memory import check_room

ASYMMETRY = 1e-5  # A function may compute in single precision, and so be off by this, relatively.


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
        self._check_columns(pairs.A, pairs.B.index)
        return pairs.A.entries(pairs.B.index).astype(pairs.A.dtype)

    def diagonal_formula(self, points):
        self._check_columns(points, points.index)
        return points.entry_of_each(points.index).astype(points.dtype)

    def _check_columns(self, points, index):
        """Refuse rows of the matrix that have no entry for a training point in `index`."""
        n_columns, n_needed = points.shape[1], int(np.max(index, initial=-1)) + 1
        if n_columns < n_needed:
            raise KernelError(
                f"Precomputed: X must have a column for each of the {n_needed} training points, "
                f"got {n_columns} columns."
            )


class Custom(Kernel):
    """A function of the user's: k(X, Z) returns the matrix of shape (rows of X, rows of Z).

    It is called on blocks, so that no n x n matrix is needed, from several threads at once, and on
    whatever X holds: arrays, sparse matrices or a list of strings. With
    `positive_semidefinite=True`, for a kernel known to be so, `fit` does not check it.

    With `whole=True` it is called once on all rows, as scikit-learn's SVMs call a plain function: a
    fit calls it with the training rows twice, a prediction with the new rows and all training rows.
    Then the whole matrix is held.

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

    def __init__(self, function, positive_semidefinite=None, whole=False):
        self.function = function
        self.positive_semidefinite = positive_semidefinite
        self.whole = whole

    @property
    def needs_all_rows(self):
        return self.whole

    def check(self):
        if not callable(self.function):
            raise ValueError(f"Custom: function must be callable, got {self.function!r}.")
        for name, options in (
            ("positive_semidefinite", (True, False, None)),
            ("whole", (True, False)),
        ):
            value = getattr(self, name)
            if not any(value is option for option in options):
                raise ValueError(f"Custom: {name} must be one of {options}, got {value!r}.")

    def formula(self, pairs):
        if self.whole:
            return pairs.A.whole_matrix(self, pairs.B).astype(pairs.A.dtype)
        return self._matrix(pairs.A.X, pairs.B.X).astype(pairs.A.dtype)

    def diagonal_formula(self, points):
        if self.whole:
            return points.whole_matrix(self, points, diagonal=True).astype(points.dtype)

        def block(rows):
            X = arrays.take(points.X, rows)
            return np.diagonal(self._matrix(X, X))

        pieces = [block(rows) for rows in arrays.blocks(len(points), 16)]
        return np.concatenate(pieces).astype(points.dtype) if pieces else np.empty(0, points.dtype)

    def of_all(self, X, Z):
        """The matrix of all rows of X and Z."""
        check_room(
            "A function as kernel returns the whole matrix", (arrays.n_rows(X), arrays.n_rows(Z)),
            "kernel=Custom(function) is called on blocks of it.",
        )  # fmt: skip
        matrix = np.asarray(self._matrix(X, Z), dtype=np.float64)
        if X is Z:
            check_symmetric("the kernel matrix", matrix, matrix.T)
        return matrix

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


def check_symmetric(name, K, mirrored):
    """Refuse a kernel whose k(x, z) and k(z, x) differ by more than rounding."""
    asymmetry, largest = largest_difference(K, mirrored)
    if asymmetry > ASYMMETRY * largest:
        raise KernelError(
            f"{name} is not symmetric: k(x, z) and k(z, x) differ by up to {asymmetry:.2g}."
        )


def largest_difference(K, other):
    """The largest difference of two matrices, and the largest entry of the first.

    It works in strips, so that no third matrix is made.
    """
    largest = max(float(np.max(K, initial=0.0)), -float(np.min(K, initial=0.0)))
    strips = arrays.blocks(len(K), max(1, 1_000_000 // max(1, K.shape[1])))
    worst = [float(np.max(np.abs(K[rows] - other[rows]), initial=0.0)) for rows in strips]
    return max(worst, default=0.0), largest
