"""Operations on dense and sparse matrices, so that formulas need not tell them apart.

Invariant: nothing here changes its input, and every function gives the same numbers for the same
matrix however it is stored.
"""

import numpy as np
from scipy import sparse

EPSILON = float(np.finfo(np.float64).eps)

# A block of sparse rows with more entries than these is multiplied as sparse instead of as dense.
DENSE_BLOCK_ENTRIES = 4_000_000

# A squared distance below this share of |x|^2 + |z|^2 has lost six digits to rounding, or more.
CANCELLED = 1e-6

# The rows for a median are spread evenly, but not periodically, in case the rows are.
SPREAD = np.sort(np.arange(45) * (np.sqrt(5) - 1) / 2 % 1)


def is_sparse(X):
    return sparse.issparse(X)


def n_rows(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


def n_bytes(X):
    if is_sparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes


def n_stored(X):
    return X.nnz if is_sparse(X) else X.size


def storage(X):
    """X as compiled loops read it: a matrix, or the three arrays of CSR."""
    if is_sparse(X):
        return X.data, X.indices, X.indptr
    nothing = np.empty(0, dtype=np.int32)
    return np.ascontiguousarray(X), nothing, nothing


def laid_out(X):
    """X as compiled tiles read it: a matrix, or the numbers of CSR, their columns, and the spans of
    the rows among them, so that some of the rows are some of the spans."""
    if is_sparse(X):
        return X.data, X.indices, spans(X)
    return np.ascontiguousarray(X), np.empty(0, dtype=np.int32), np.empty((0, 2), dtype=np.int32)


def spans(X):
    """Where every row of a CSR matrix begins and ends."""
    return np.column_stack([X.indptr[:-1], X.indptr[1:]])


def take(X, rows):
    """The chosen rows of an array, a sparse matrix or a list."""
    if hasattr(X, "iloc"):  # a data frame indexes by label
        return X.iloc[rows]
    if hasattr(X, "shape") or isinstance(rows, slice):
        return X[rows]
    return [X[i] for i in rows]


def copy_of(X):
    """X as it is now, for a model whose answers must not change when the caller's array does."""
    return X.copy() if hasattr(X, "copy") else list(X)


def check_indices(X, name="X"):
    """Refuse a sparse matrix whose indices would make compiled code read outside its arrays.

    SciPy checks them when a matrix is made, but not when it is used.
    """
    if X.format in ("csr", "csc", "bsr"):
        _check_compressed(X, name)
    elif X.format == "coo":
        for coordinates, size in zip(X.coords, X.shape, strict=True):
            _check_range(np.asarray(coordinates), size, name)
    elif X.format == "lil":
        for stored in X.rows:
            _check_range(np.asarray(stored, dtype=np.int64), X.shape[1], name)


def _check_compressed(X, name):
    indptr, indices = X.indptr, X.indices
    height, width = X.blocksize if X.format == "bsr" else (1, 1)
    n_major, n_minor = X.shape[0] // height, X.shape[1] // width
    if X.format == "csc":
        n_major, n_minor = n_minor, n_major
    if len(indptr) != n_major + 1 or indptr[0] != 0 or np.any(np.diff(indptr) < 0):
        raise ValueError(
            f"{name}: the sparse matrix has an index pointer that does not rise from 0."
        )
    if len(X.data) != len(indices) or indptr[-1] > len(indices):
        raise ValueError(
            f"{name}: the sparse matrix has {len(X.data)} values, {len(indices)} indices "
            f"and an index pointer ending at {indptr[-1]}."
        )
    _check_range(indices[: indptr[-1]], n_minor, name)


def _check_range(indices, size, name):
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        bad = indices.min() if indices.min() < 0 else indices.max()
        raise ValueError(f"{name}: the sparse matrix has index {bad}, outside 0..{size - 1}.")


def canonical_csr(X):
    """CSR with sorted, unique column indices; the input is left as it was."""
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        X = sparse.csr_array(
            (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
        )
    return X


def canonical(X):
    """A sparse matrix as canonical CSR, and anything else as it is."""
    return canonical_csr(X) if is_sparse(X) else X


def sound(X):
    """The rows, which may be anything; a sparse matrix with indices out of range is refused."""
    if is_sparse(X):
        check_indices(X)
    return X


def dots(A, B, out=None):
    """A @ B.T as a dense array, written to `out` when that is given."""
    if is_sparse(A) and is_sparse(B):
        if B.shape[0] * B.shape[1] <= DENSE_BLOCK_ENTRIES:
            product = A @ B.toarray().T
        else:
            product = (A @ B.T).toarray()
    elif is_sparse(B):
        product = (B @ A.T).T
    else:
        product = A @ B.T if out is None or is_sparse(A) else np.dot(A, B.T, out=out)
    if out is None:
        return np.ascontiguousarray(product)
    if product is not out:
        out[...] = product
    return out


def times_vector(X, w):
    """X @ w, in which equal rows have equal products. (BLAS sums a row in an order that depends on
    where it stands, and on how many threads there are.)"""
    return X @ w if is_sparse(X) else np.einsum("ij,j->i", X, w)


def squared_norms(X):
    """|x|^2 of every row, summed in float64 or better."""
    if is_sparse(X):
        return _row_sums(canonical_csr(X), np.square)
    return np.einsum("ij,ij->i", X, X, dtype=np.result_type(X.dtype, np.float64))


@np.errstate(over="ignore", invalid="ignore")  # the caller looks for overflow
def _row_sums(X, function):
    """The sum of function(x_k) over every row, in float64; X is dense or canonical CSR."""
    if is_sparse(X):
        values = function(X.data.astype(np.float64))
        stored = sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
        n_zeros = X.shape[1] - np.diff(X.indptr)
        return stored.sum(axis=1) + n_zeros * function(np.float64(0.0))
    sums = np.empty(len(X))
    for rows in blocks(len(X), max(1, 1_000_000 // max(1, X.shape[1]))):
        sums[rows] = function(X[rows].astype(np.float64)).sum(axis=1)
    return sums


def column_means(X):
    if is_sparse(X):
        return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    return np.mean(X, axis=0, dtype=np.float64)


def largest_in_columns(X):
    """The largest absolute value of every column of a matrix or a data frame of numbers."""
    if is_sparse(X):
        return abs(canonical_csr(X)).max(axis=0).toarray().ravel()
    return np.max(np.abs(np.asarray(X, dtype=np.float64)), axis=0)


def middle(X):
    """The median of some of the rows, which a few far ones do not move."""
    n = n_rows(X)
    if n == 0:
        return np.zeros(X.shape[1])
    rows = np.arange(n) if n <= len(SPREAD) else (SPREAD * n).astype(np.int64)
    some = dense(take(X, rows)).astype(np.float64, copy=False)
    some.partition(len(rows) // 2, axis=0)  # this is in place, as these rows are a copy
    return some[len(rows) // 2].copy()


def is_mostly_full(X):
    """Whether a sparse matrix would take no more memory as a dense one."""
    return X.nnz > 0.6 * X.shape[0] * X.shape[1]


def first_not_finite(X):
    """The place, in words, of the first NaN or infinity of an array, a sparse matrix, a data frame
    or a list; None if there is none."""
    if is_sparse(X):
        X = canonical_csr(X)
        fine = np.isfinite(X.data)
        if np.all(fine):
            return None
        first = int(np.argmin(fine))
        row = int(np.searchsorted(X.indptr, first, side="right")) - 1
        return f"row {row}, column {X.indices[first]}"
    try:
        fine = np.isfinite(np.asarray(X, dtype=np.float64))
    except (TypeError, ValueError):  # they are labels, or missing values of pandas
        fine = np.asarray(np.frompyfunc(_is_there, 1, 1)(np.asarray(X, dtype=object)), dtype=bool)
    if np.all(fine):
        return None
    place = [int(k) for k in np.unravel_index(np.argmin(fine), fine.shape)]
    if len(place) == 1:
        return f"index {place[0]}"
    return f"row {place[0]}, column {place[1]}" + _named(X, place[1])


def _named(X, column):
    """The name of a data frame's column, if it is a word; a number says nothing new."""
    name = list(X.columns)[column] if hasattr(X, "columns") else None
    return f", named {name!r}" if isinstance(name, str) else ""


def _is_there(value):
    """Whether a number is finite, or anything else is not missing. NaN differs from itself, and
    comparing pandas' NA with itself gives no truth value."""
    try:
        return bool(np.isfinite(value))
    except TypeError:
        return value is not None and isinstance(value == value, (bool, np.bool_)) and value == value


def is_finite(X):
    """Whether an array or a sound sparse matrix holds finite numbers and nothing else."""
    values = X.tocsr().data if is_sparse(X) else np.asarray(X)
    if values.dtype.kind not in "biuf":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        # The sum takes no memory, and decides unless it overflows.
        return bool(np.isfinite(np.sum(values)) or np.all(np.isfinite(values)))


def dense(X):
    return X.toarray() if is_sparse(X) else X


def blocks(n, size):
    """Slices that cover range(n), each at most `size` long."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@np.errstate(over="ignore", invalid="ignore")
def variance(X, sample_weight=None):
    """The variance of all entries of X, each row counted as often as its weight says.

    An entry of X is subtracted first, so that it is exactly zero if all entries are equal.
    """
    n, n_features = X.shape
    if n == 0 or n_features == 0:
        return 0.0
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    X = canonical_csr(X) if is_sparse(X) else X
    origin = float(X[np.argmax(weights), 0])
    weights = weights / (weights.sum() * n_features)
    mean = float(weights @ _row_sums(X, lambda x: x - origin))
    return float(weights @ _row_sums(X, lambda x: (x - origin - mean) ** 2))
