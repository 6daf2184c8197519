"""Points and pairs of points: what a kernel formula is written in.

`Points` holds rows in the forms the formulas need (as given, as numbers of the working precision,
centred, with their squared norms), each made on first use and shared by every slice taken later.
`Pairs` answers the questions a formula asks about two sets of points. An engine may hand a kernel
a subclass of `Pairs` that answers faster; the formula does not notice.
"""

from copy import copy

import numpy as np
from sklearn.metrics.pairwise import manhattan_distances

from maxmargin import arrays
from maxmargin.errors import OVERFLOW, KernelError

CANCELLED = 1e-6  # of |x|^2 + |z|^2: a distance below it has lost six digits to rounding, or more


class Points:
    """Rows of X, ready for kernel evaluation.

    Parameters
    ----------
    X : array, sparse matrix or list of shape (n, d)
        The rows as the user gave them.
    dtype : dtype
        The precision in which dot products are formed.
    index : array of int, optional
        The row numbers in the training set, which is what a precomputed kernel looks up.
    centre_of : Points, optional
        Whose middle is subtracted before distances are formed (default: its own). Distances do not
        change, but the rounding error of |x|^2 + |z|^2 - 2 x.z does: without it, data far from the
        origin would lose every digit.
    may_be_thin : bool
        Whether dense rows that are mostly zeros may be held as sparse ones for dot products, as
        who can multiply those faster may wish.
    """

    def __init__(self, X, dtype=np.float64, index=None, centre_of=None, may_be_thin=False):
        self.dtype = np.dtype(dtype)
        self._centre_of = centre_of
        self._may_be_thin = may_be_thin
        self.index = np.arange(arrays.n_rows(X)) if index is None else index
        self._whole, self._rows = None, None
        self._forms = {"X": X}

    def __len__(self):
        return len(self.index)

    def __getitem__(self, rows):
        part = copy(self)
        part.index = self.index[rows]
        part._whole, part._rows = self, rows
        part._forms = {}
        return part

    def _form(self, name, make=None):
        """Made once for the whole set; a part takes its rows from the whole."""
        if name not in self._forms:
            whole = self._whole
            self._forms[name] = (
                make() if whole is None else arrays.take(getattr(whole, name), self._rows)
            )
        return self._forms[name]

    @property
    def X(self):
        """The rows as they were given."""
        return self._form("X")

    @property
    def is_thin(self):
        other = self._whole or self._centre_of
        if other is not None:
            return other.is_thin
        if "is_thin" not in self._forms:
            self._forms["is_thin"] = self._may_be_thin and arrays.is_thin(self.X)
        return self._forms["is_thin"]

    @property
    def numbers(self):
        """The rows in the working precision."""

        def numbers():
            if self.is_thin and not arrays.is_sparse(self.X):
                return arrays.sparse_rows(self.X, self.dtype)
            return self.X.astype(self.dtype, copy=False)

        return self._form("numbers", numbers)

    @property
    def origin(self):
        """The point that distances are measured from: the middle, if a shift does not fill X."""
        other = self._whole or self._centre_of
        if other is not None:
            return other.origin
        if "origin" not in self._forms:
            keep = arrays.is_sparse(self.X) and not arrays.is_mostly_full(self.X)
            keep = keep or self.is_thin
            self._forms["origin"] = None if keep else arrays.middle(self.X)
        return self._forms["origin"]

    @property
    def centred(self):
        """The rows in the working precision, shifted to the origin."""
        if self.origin is None:
            return self.numbers
        return self._form("centred", lambda: _shifted(self.X, self.origin, self.dtype))

    @property
    def centred_squared_norms(self):
        def norms():
            norms = arrays.squared_norms(self.centred)
            if norms.size and not norms.max() < 0.1 * float(np.finfo(self.dtype).max):
                raise KernelError(OVERFLOW.format("the squared distance"))
            return norms.astype(self.dtype)

        return self._form("centred_squared_norms", norms)

    @property
    def n_bytes(self):
        """The memory that the forms take beside X itself."""
        held = (form for form in self._forms.values() if hasattr(form, "shape"))
        own = {id(form): form for form in held}
        own.pop(id(self._forms["X"]), None)
        return sum(arrays.n_bytes(form) for form in own.values())


def _shifted(X, centre, dtype):
    shifted = np.empty(X.shape, dtype=dtype)
    for rows in arrays.blocks(X.shape[0], max(1, 1_000_000 // max(1, X.shape[1]))):
        shifted[rows] = arrays.dense(X[rows]) - centre  # in float64, rounded once
    return shifted


def _mend(distances, norms, A, B):
    """Compute those that have lost their digits again, from the differences."""
    n_rows, n_columns = distances.shape
    width = (arrays.n_stored(A) + arrays.n_stored(B)) // max(1, n_rows + n_columns)
    for strip in arrays.blocks(n_rows, max(1, 1_000_000 // max(1, n_columns))):
        rows, columns = np.nonzero(distances[strip] < CANCELLED * norms[strip])
        rows += strip.start
        for part in arrays.blocks(len(rows), max(1, 1_000_000 // max(1, width))):
            differences = A[rows[part]] - B[columns[part]]
            distances[rows[part], columns[part]] = arrays.squared_norms(differences)


class Pairs:
    """All pairs of a point of `A` and a point of `B`, and what a kernel may ask about them.

    Every method returns a new array that the caller may overwrite.
    """

    def __init__(self, A, B):
        self.A = A
        self.B = B

    def dots(self):
        """x.z for every pair."""
        return arrays.dots(self.A.numbers, self.B.numbers)

    def squared_distances(self):
        """|x - z|^2 for every pair, never negative, exactly zero between a point and itself."""
        # Both norms at once: one after the other, their order would show in the last digit.
        norms = self.A.centred_squared_norms[:, None] + self.B.centred_squared_norms
        distances = arrays.dots(self.A.centred, self.B.centred)
        distances *= -2
        distances += norms
        np.maximum(distances, 0, out=distances)
        if distances.dtype == np.float64:
            _mend(distances, norms, self.A.centred, self.B.centred)
        if self.A is self.B:
            np.fill_diagonal(distances, 0)
        return distances

    def gaussian(self, gamma):
        """exp(-gamma |x - z|^2) for every pair."""
        values = self.squared_distances()
        values *= -gamma
        return np.exp(values, out=values)

    def cityblock_distances(self):
        """The sum of |x_k - z_k| over the features, for every pair."""
        # From the rows as given: differences of rounded numbers would lose their digits.
        A, B = (points.X.astype(np.float64, copy=False) for points in (self.A, self.B))
        return manhattan_distances(A, B).astype(self.A.dtype, copy=False)


def points_of(X, Z=None):
    """Two sets of points with a common centre; the same object twice when Z is not given."""
    A = Points(X)
    return A, (A if Z is None else Points(Z, centre_of=A))
