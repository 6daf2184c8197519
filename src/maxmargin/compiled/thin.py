"""Dense rows that are mostly zeros, brought to CSR form."""

from maxmargin.compiled.numba_setup import compiled


@compiled
def count_stored(X, starts):
    """Where each row begins, if only what is not zero is stored."""
    starts[0] = 0
    for i in range(X.shape[0]):
        count = 0
        for k in range(X.shape[1]):
            count += X[i, k] != 0
        starts[i + 1] = starts[i] + count


@compiled
def find_stored(X, columns):
    """The columns of what is stored, one row after the other. They need room for one more.

    Every column is written, and the next one in its place if it holds a zero: a branch that cannot
    be foretold would take longer.
    """
    place = 0
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            columns[place] = k
            place += X[i, k] != 0


@compiled
def take_stored(X, rows, starts, columns, own_starts, own_columns, own_values):
    """The CSR form of some of the rows."""
    for i in range(len(rows)):
        row, place = rows[i], own_starts[i]
        for k in range(starts[row], starts[row + 1]):
            own_columns[place] = columns[k]
            own_values[place] = X[row, columns[k]]
            place += 1
