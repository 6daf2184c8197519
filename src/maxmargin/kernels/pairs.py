"""Points and pairs of points, in terms of which kernel formulas are written.

`Points` holds rows in the forms the formulas need (as given, as numbers of the working precision,
centred, with their squared norms). Each is made on first use and shared by every later view.
`Pairs` has what a formula needs to know about two sets of points. An engine may give a kernel a
subclass of `Pairs` that is faster, without a change to the formula.
"""

import threading
from copy import copy
from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

from maxmargin import arrays
from maxmargin.arrays import CANCELLED
from maxmargin.errors import OVERFLOW, KernelError

# Sparse products pay if no more than this share of a dense matrix is not zero, from this width on.
THIN_WIDTH, THIN = 32, 0.3


class _Source:
    """All rows that were given, and facts about them that are found once."""

    def __init__(self, X, centre_of, may_be_thin):
        self.X, self._centre_of, self._may_be_thin = X, centre_of, may_be_thin
        self.lock, self.matrices = threading.RLock(), {}

    @cached_property
    def is_thin(self):
        if self._centre_of is not None:
            return self._centre_of.is_thin
        X = self.X
        may_be = self._may_be_thin and isinstance(X, np.ndarray) and X.ndim == 2
        may_be = may_be and X.dtype in (np.float64, np.float32)  # compiled code knows these
        return may_be and X.shape[1] >= THIN_WIDTH and len(X) > 0 and self.stored.is_thin

    @cached_property
    def stored_per_row(self):
        n_stored = self.stored.starts[-1] if self.is_thin else arrays.n_stored(self.X)
        return n_stored / max(1, arrays.n_rows(self.X))

    @cached_property
    def stored(self):
        return _Stored(self.X)

    @cached_property
    def projected(self):
        """Every row times one direction."""
        direction = np.random.default_rng(0).standard_normal(self.X.shape[1])
        with self.lock:  # machines that are solved side by side share the rows
            return arrays.times_vector(self.X, direction)

    @cached_property
    def origin(self):
        """The middle of the rows; None if X is sparse and a shift would fill it."""
        if self._centre_of is not None:
            return self._centre_of.origin
        is_scarce = arrays.is_sparse(self.X) and not arrays.is_mostly_full(self.X)
        return None if is_scarce or self.is_thin else arrays.middle(self.X)


class Points:
    """Rows of X, ready for kernel evaluation. `points[rows]` is a view of some of them.

    The forms that a formula needs are made once for all rows, and a view takes its part. (A form in
    float64 is as large as X itself, so for all rows it is made only if they need it, or after
    `kept`.)

    Parameters
    ----------
    X : array, sparse matrix or list of shape (n, d)
        The rows as the user gave them.
    dtype : dtype
        The precision in which dot products are formed.
    index : array of int, optional
        The row numbers in the training set, by which a precomputed kernel finds its entries.
    centre_of : Points, optional
        The points whose middle is subtracted before distances are formed (default: its own).
        Distances do not change, but the rounding error of |x|^2 + |z|^2 - 2 x.z does: without it,
        data far from the origin would lose every digit.
    may_be_thin : bool
        Whether dense rows that are mostly zeros may be held as sparse ones for dot products, if the
        engine multiplies these faster.
    """

    def __init__(self, X, dtype=np.float64, index=None, centre_of=None, may_be_thin=False):
        self.dtype = np.dtype(dtype)
        self.source = _Source(X, centre_of, may_be_thin)  # all views of the rows share it
        self._places = np.arange(arrays.n_rows(X))
        self.index = self._places if index is None else index
        self._parent = self._rows = None
        self._keeps = self.dtype != np.float64
        self._forms, self._in_dtype, self._pieces = {"X": X}, {}, ()

    def __len__(self):
        return len(self._places)

    def __getitem__(self, rows):
        part = copy(self)
        part.index, part._places = self.index[rows], self._places[rows]
        part._parent, part._rows = self, rows
        part._forms, part._in_dtype, part._pieces = {}, {}, ()
        return part

    def join(self, *parts):
        """A view of several sets of rows one after the other, which become its `pieces`."""
        joined = self[np.concatenate(parts)]
        joined._pieces = tuple(self[rows] for rows in parts)
        return joined

    @property
    def pieces(self):
        """The views that `join` has put side by side, or the points themselves."""
        return self._pieces or (self,)

    def astype(self, dtype):
        """The same points in another precision."""
        dtype = np.dtype(dtype)
        if self.dtype == dtype:
            return self
        with self.source.lock:
            return self._known_in(dtype)

    def _known_in(self, dtype):
        if dtype not in self._in_dtype:
            if self._parent is None:
                other = copy(self)
                other.dtype, other._forms = dtype, {"X": self._forms["X"]}
                other._in_dtype = {}
                other._keeps = other.dtype != np.float64
            else:
                other = self._parent.astype(dtype)[self._rows]
            self._in_dtype[dtype] = other
        return self._in_dtype[dtype]

    def positions(self, index):
        """The positions among the points of rows with these numbers in the training set."""
        return index if self.index is self._places else np.searchsorted(self.index, index)

    def kept(self):
        """The points, whose forms are then made for the whole, even in float64."""
        self._keeps = True
        return self

    @property
    def key(self):
        """A key that is equal for views of the same source with the same rows, in any precision."""
        n = self.n_of_whole
        is_whole = len(self) == n and np.array_equal(self._places, np.arange(n))
        return None if is_whole else self._places.tobytes()

    @property
    def n_of_whole(self):
        """How many points the source of this view has."""
        return arrays.n_rows(self.source.X)

    @property
    def shape(self):
        return (len(self), *np.shape(self.source.X)[1:])

    def variance(self, weight=None):
        """The variance of all entries, each row counted as often as its weight says."""
        return arrays.variance(self.X, weight)

    def on_host(self, rows):
        """Some rows as they were given."""
        return self[rows].X

    def squared_lengths(self):
        """The squared distance of every row from the origin, in float64."""
        if self.origin is None:
            return arrays.squared_norms(self.X)
        parts = arrays.blocks(len(self), max(1, 1_000_000 // max(1, self.shape[1])))
        shifted = (arrays.dense(self.X[part]) - self.origin for part in parts)
        return np.concatenate([arrays.squared_norms(rows) for rows in shifted])

    def projected(self):
        """Every row times one random direction, by which equal rows are found."""
        return self.source.projected[self._places]

    def are_equal(self, rows, others):
        """Whether each of `rows` is the same point as the one of `others` beside it."""
        rows, others = (arrays.take(self.source.X, self._places[some]) for some in (rows, others))
        difference = abs(rows - others)
        return np.asarray(difference.sum(axis=1)).ravel() == 0.0

    def entries(self, columns):
        """X at these rows and columns, as a dense array."""
        if arrays.is_sparse(self.source.X):
            return self.X[:, columns].toarray()
        return self.source.X[np.ix_(self._places, columns)]

    def entry_of_each(self, columns):
        """X at one given column for each row."""
        return np.asarray(self.source.X[self._places, columns]).ravel()

    def whole_matrix(self, kernel, other, diagonal=False):
        """The entries for these points and others, from the matrix of all rows, made once."""
        source, theirs = self.source, other.source
        key = kernel.key, None if theirs is source else theirs  # itself would be a cycle
        with source.lock:
            if key not in source.matrices:
                source.matrices[key] = kernel.of_all(source.X, theirs.X)
        matrix = source.matrices[key]
        return (
            matrix[self._places, self._places]
            if diagonal
            else matrix[np.ix_(self._places, other._places)]
        )

    def _form(self, name, make):
        """A form, which is made once for the whole set; a view takes its rows from the whole.

        Machines that are solved side by side share the whole, so a lock lets one at a time make it.
        A view belongs to one of them.
        """
        if name not in self._forms:
            if self._parent is None:
                with self.source.lock:
                    self._forms[name] = self._forms[name] if name in self._forms else make()
            elif self._parent._shares(name):
                self._forms[name] = arrays.take(getattr(self._parent, name), self._rows)
            else:
                self._forms[name] = make()
        return self._forms[name]

    def _shares(self, name):
        """Whether a view takes its rows of a form from here."""
        if name in self._forms or self._keeps:
            return True
        return self._parent is not None and self._parent._shares(name)

    @property
    def X(self):
        """The rows as they were given."""
        return self._form("X", self._given)

    def _given(self):
        """The rows as they were given, without keeping the copy that a view makes."""
        known = self._forms.get("X")
        return arrays.take(self.source.X, self._places) if known is None else known

    @property
    def places(self):
        """Where these rows stand among all that were given."""
        return self._places

    @property
    def is_stretch(self):
        """Whether these rows lie side by side among all that were given."""
        if self._parent is None:
            return True
        return isinstance(self._rows, slice) and self._rows.step is None and self._parent.is_stretch

    def given(self, rows):
        """A stretch of the rows as they were given, which is not a copy if it need not be."""
        if not self.is_stretch:
            return arrays.take(self.source.X, self._places[rows])
        start, stop = (int(self._places[0]), int(self._places[-1]) + 1) if len(self) else (0, 0)
        part = slice(start + rows.start, min(start + rows.stop, stop))
        is_all = part == slice(0, self.n_of_whole)
        return self.source.X if is_all else arrays.take(self.source.X, part)

    @property
    def stored_per_row(self):
        """How many numbers a row holds for dot products, on average over all rows."""
        return self.source.stored_per_row

    @property
    def is_thin(self):
        return self.source.is_thin

    @property
    def is_centred(self):
        """Whether distances are measured from another origin than that of the coordinates."""
        return self.origin is not None

    def stored_rows(self):
        """`numbers` that are sparse, as `arrays.laid_out` lays them out. A view of rows whose form
        is made for the whole copies none of their numbers."""
        root = self
        while root._parent is not None:
            root = root._parent
        if not (root._keeps or "numbers" in root._forms):
            return arrays.laid_out(self.numbers)
        numbers = root.numbers
        spans = root._form("spans", lambda: arrays.spans(numbers))
        return numbers.data, numbers.indices, spans[self._places]

    @property
    def is_held_sparse(self):
        """Whether `numbers` are sparse, which dense rows may be, too."""
        return self.is_thin or arrays.is_sparse(self.source.X)

    @property
    def origin(self):
        """The point that distances are measured from; None if it is the coordinates' origin."""
        return self.source.origin

    @property
    def numbers(self):
        """The rows in the working precision."""

        def numbers():
            if self.is_held_sparse and not arrays.is_sparse(self.source.X):
                return self.source.stored.rows(self._places, self.dtype)
            return self._given().astype(self.dtype, copy=False)

        return self._form("numbers", numbers)

    @property
    def centred(self):
        """The rows in the working precision, shifted to the origin."""
        if self.origin is None:
            return self.numbers
        return self._form("centred", lambda: _shifted(self._given(), self.origin, self.dtype))

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
        """The memory that the forms take besides X itself."""
        held = (form for form in self._forms.values() if hasattr(form, "shape"))
        own = {id(form): form for form in held}
        own.pop(id(self.source.X), None)
        return sum(arrays.n_bytes(form) for form in own.values())


class _Stored:
    """Where a dense matrix holds anything but zeros: the structure of its CSR form."""

    def __init__(self, X):
        from maxmargin.compiled.thin import count_stored

        self.X, starts = X, np.empty(len(X) + 1, dtype=np.int64)
        count_stored(X, starts)
        fits = starts[-1] < np.iinfo(np.int32).max
        self.starts = starts.astype(np.int32 if fits else np.int64)

    @cached_property
    def columns(self):
        from maxmargin.compiled.thin import find_stored

        columns = np.empty(self.starts[-1] + 1, dtype=self.starts.dtype)
        find_stored(self.X, columns)
        return columns

    @cached_property
    def is_thin(self):
        """Whether the rows are mostly zeros, and spread around the origin.

        (Sparse rows are not centred, which would cost digits if the mean were far from the origin.)
        """
        n, d = self.X.shape
        if self.starts[-1] > THIN * n * d:
            return False
        rows = self.rows(np.arange(n), np.float64)
        squares = float(rows.data @ rows.data) / n
        means = np.bincount(rows.indices, rows.data, d) / n
        return squares - float(means @ means) > 0.01 * squares

    def rows(self, places, dtype):
        """Some rows in CSR form."""
        from maxmargin.compiled.thin import take_stored

        starts = np.zeros(len(places) + 1, dtype=self.starts.dtype)
        np.cumsum(np.diff(self.starts)[places], out=starts[1:])
        columns, values = np.empty(starts[-1], self.columns.dtype), np.empty(starts[-1], dtype)
        take_stored(self.X, places, self.starts, self.columns, starts, columns, values)
        return sparse.csr_array((values, columns, starts), shape=(len(places), self.X.shape[1]))


def sparse_rows(X):
    """The CSR form of a dense matrix."""
    return _Stored(X).rows(np.arange(len(X)), X.dtype)


def stored_alike(A, B):
    """Two matrices of the same columns, both sparse if one is."""
    if arrays.is_sparse(A) == arrays.is_sparse(B):
        return A, B
    return tuple(X if arrays.is_sparse(X) else sparse_rows(X) for X in (A, B))


def _shifted(X, centre, dtype):
    shifted = np.empty(X.shape, dtype=dtype)
    for rows in arrays.blocks(X.shape[0], max(1, 1_000_000 // max(1, X.shape[1]))):
        shifted[rows] = arrays.dense(X[rows]) - centre  # formed in float64, rounded once
    return shifted


def _mend(distances, norms, A, B):
    """Compute distances that have lost their digits again, from the differences."""
    n_rows, n_columns = distances.shape
    width = (arrays.n_stored(A) + arrays.n_stored(B)) // max(1, n_rows + n_columns)
    for strip in arrays.blocks(n_rows, max(1, 1_000_000 // max(1, n_columns))):
        rows, columns = np.nonzero(distances[strip] < CANCELLED * norms[strip])
        rows += strip.start
        for part in arrays.blocks(len(rows), max(1, 1_000_000 // max(1, width))):
            differences = A[rows[part]] - B[columns[part]]
            distances[rows[part], columns[part]] = arrays.squared_norms(differences)


class Pairs:
    """All pairs of a point of `A` and a point of `B`, and what a kernel may need about them.

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
        # The norms are added first, or their order would show in the last digit.
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
        # It takes the rows as given, because differences of rounded numbers would lose digits.
        A, B = (points.X.astype(np.float64, copy=False) for points in (self.A, self.B))
        return manhattan_distances(A, B).astype(self.A.dtype, copy=False)


def finite(values, name):
    """The values, unless one of them is not finite: then an error names what they are."""
    if not arrays.is_finite(values):
        raise KernelError(OVERFLOW.format(name))
    return values


def diagonal_values(kernel, points):
    """k(x, x) of every point; where it overflows, the matrix will raise an error."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(kernel.diagonal_formula(points.astype(np.float64)), dtype=np.float64)


def points_of(X, Z=None):
    """Two sets of points with a common centre; the same object twice when Z is not given."""
    A = Points(X)
    return A, (A if Z is None else Points(Z, centre_of=A))
