"""Tiles of dot products where BLAS is not at its best: sparse rows, and rows of few features.

The rows of B are spread out, feature by feature, in a small table that stays in the cache. Then
every value of a row of A adds a multiple of one line of that table to its line of the tile. Only
stored values take part in the arithmetic, which vector instructions do.
"""

import numpy as np

from maxmargin.compiled.numba_setup import compiled, unsigned, vectorised

TABLE_BYTES = 1 << 20  # The table has the size of a core's second cache.
NARROWEST, WIDEST = 32, 1024  # The table has at least and at most this many rows of B at a time.


def _add_lines(line, table, features, values, count):
    line += values[:count] @ table[features[:count]]


@vectorised(_add_lines)
def add_lines(line, table, features, values, count):
    """line += sum_k values[k] * table[features[k]], four lines at a time."""
    width = len(line)
    k = 0
    while k + 4 <= count:
        a, b = table[unsigned(features[k])], table[unsigned(features[k + 1])]
        c, d = table[unsigned(features[k + 2])], table[unsigned(features[k + 3])]
        va, vb, vc, vd = values[k], values[k + 1], values[k + 2], values[k + 3]
        for j in range(width):
            line[j] += va * a[j] + vb * b[j] + vc * c[j] + vd * d[j]
        k += 4
    while k < count:
        a = table[unsigned(features[k])]
        va = values[k]
        for j in range(width):
            line[j] += va * a[j]
        k += 1


@compiled
def narrow_dots(A, B_transposed, out):
    """out = A @ B_transposed for dense rows of few features."""
    n_features = A.shape[1]
    features = np.arange(n_features)
    for r in range(A.shape[0]):
        line = out[r]
        line[:] = 0.0
        add_lines(line, B_transposed, features, A[r], n_features)


@compiled
def table_dots(A, A_indices, A_indptr, table, out):
    """out = A @ table for a matrix in CSR form and dense lines, one for each of its features."""
    for r in range(out.shape[0]):
        first, last = A_indptr[r], A_indptr[r + 1]
        line = out[r]
        line[:] = 0.0
        add_lines(line, table, A_indices[first:last], A[first:last], last - first)


@compiled
def width_of(stored, n_rows, n_features, itemsize):
    """How many rows of B to spread out, so that the features they have fit into the table."""
    per_row = stored / max(1, n_rows)
    width = WIDEST
    # Rows share features, so about half of what they store is new.
    while width > NARROWEST and (
        min(0.5 * per_row * width, n_features) * width * itemsize > 4 * TABLE_BYTES
    ):
        width //= 2
    return width


@compiled
def sparse_dots(A, A_indices, A_indptr, B, B_indices, B_indptr, n_features, out):
    """out[r, c] = (row r of A) . (row c of B), for matrices in CSR form."""
    n_rows, n_columns = out.shape
    place = np.full(n_features, -1, np.int32)  # where a feature is in the table
    features = np.empty(n_features, np.int32)
    values = np.empty(n_features, out.dtype)
    width = width_of(B_indptr[n_columns] - B_indptr[0], n_columns, n_features, out.itemsize)
    for first in range(0, n_columns, width):
        last = min(first + width, n_columns)
        n_present = 0
        for k in range(B_indptr[first], B_indptr[last]):
            if place[B_indices[k]] < 0:
                place[B_indices[k]] = n_present
                n_present += 1
        table = np.zeros((n_present, last - first), out.dtype)
        for c in range(first, last):
            for k in range(B_indptr[c], B_indptr[c + 1]):
                table[place[B_indices[k]], c - first] = B[k]
        for r in range(n_rows):
            count = 0
            for k in range(A_indptr[r], A_indptr[r + 1]):
                if place[A_indices[k]] >= 0:
                    features[count] = place[A_indices[k]]
                    values[count] = A[k]
                    count += 1
            line = out[r, first:last]
            line[:] = 0.0
            add_lines(line, table, features, values, count)
        for k in range(B_indptr[first], B_indptr[last]):
            place[B_indices[k]] = -1
