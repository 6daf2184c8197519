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
def store(X, starts, columns, values):
    for i in range(X.shape[0]):
        place = starts[i]
        for k in range(X.shape[1]):
            if X[i, k] != 0:
                columns[place] = k
                values[place] = X[i, k]
                place += 1
