"""The two operations on rows: a dot product, and adding a multiple of a row.

Each exists for dense rows and for the stored values of a sparse row, whose columns are all
different. The compiler inlines these loops. Without a compiler NumPy does the same, because plain
Python would take a hundred times as long for a long row.
"""

from maxmargin.compiled.numba_setup import unsigned, vectorised


@vectorised(lambda row, w: row @ w[: len(row)])
def dot(row, w):
    """sum_k row[k] w[k]; w may be longer than the row."""
    total = 0.0
    for k in range(len(row)):
        total += row[k] * w[k]
    return total


@vectorised(lambda values, columns, w: values @ w[columns])
def sparse_dot(values, columns, w):
    total = 0.0
    for k in range(len(values)):
        total += values[k] * w[unsigned(columns[k])]
    return total


def _add(row, factor, w):
    w[: len(row)] += factor * row


@vectorised(_add)
def add(row, factor, w):
    """w += factor row; w may be longer than the row."""
    for k in range(len(row)):
        w[k] += factor * row[k]


def _sparse_add(values, columns, factor, w):
    w[columns] += factor * values


@vectorised(_sparse_add)
def sparse_add(values, columns, factor, w):
    for k in range(len(values)):
        w[unsigned(columns[k])] += factor * values[k]
