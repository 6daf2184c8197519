"""How exactly an engine computes a kernel on given data.

A kernel value that is formed from numbers much larger than itself has lost digits: a distance from
the norms of far points, a sigmoid or an exponential of a large argument. How many cannot be read
off the value. So the engine's values on a few rows are compared with those of the same formula in
extended precision (where the machine has it; else in float64, which still sees what cancels), in
which distances are sums of squared differences. Half of the rows are the farthest from the middle
of the data, where most digits are lost.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.kernels.pairs import Pairs, Points

N_ROWS = 16
COLUMNS = 1024  # at a time
EPSILON = float(np.finfo(np.float64).eps)


class CarefulPairs(Pairs):
    """Pairs in extended precision, whose distances never cancel."""

    def squared_distances(self):
        return self._summed(np.square)

    def cityblock_distances(self):
        return self._summed(np.abs)

    def _summed(self, function):
        """The sum of function(x_k - z_k) over the features, of which there may be very many."""
        A, B, total = self.A.X, self.B.X, 0.0
        for part in arrays.blocks(A.shape[1], COLUMNS):
            total = total + function(A[:, None, part] - B[None, :, part]).sum(axis=2)
        return total


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # the engine says what overflowed
def ulps_of(engine, kernel, X):
    """By how many units in the last place of sqrt(k(x, x) k(z, z)) a value of k(x, z) may be off.

    A matrix or a function of the user's is what it is, and its values are right by definition.
    """
    if kernel.takes != "features" or 0 in X.shape:
        return 1.0
    some = _some_rows(X)
    matrix = engine.kernel_matrix(kernel, some, np.float64, 0)
    found = matrix.block(np.arange(matrix.n))
    points = Points(_dense_in_few_columns(some).astype(np.longdouble), np.longdouble)
    wanted = kernel.formula(CarefulPairs(points, points))
    sizes = np.sqrt(np.abs(np.diagonal(wanted)))
    if kernel.positive_semidefinite is not True:
        sizes[:] = np.max(sizes)  # without Mercer's condition, an entry has no other bound
    errors = np.abs(found - wanted) / (sizes[:, None] * sizes)
    return max(1.0, float(np.max(errors, where=np.isfinite(errors), initial=0.0)) / EPSILON)


def _some_rows(X):
    """The rows farthest from the middle, and others that lie anywhere."""
    n = arrays.n_rows(X)
    if n <= N_ROWS:
        return X
    lengths = _squared_lengths(X)
    farthest = np.argpartition(lengths, n - N_ROWS // 2)[-(N_ROWS // 2) :]
    spread = (arrays.SPREAD[:: 2 * len(arrays.SPREAD) // N_ROWS] * n).astype(np.int64)
    return arrays.take(X, np.unique(np.concatenate([farthest, spread])))


def _squared_lengths(X):
    """From the middle or, of sparse rows, which a shift would fill, from the origin."""
    if arrays.is_sparse(X):
        return arrays.squared_norms(X)
    middle, at_a_time = arrays.middle(X), max(1, 1_000_000 // X.shape[1])
    parts = arrays.blocks(len(X), at_a_time)
    return np.concatenate([arrays.squared_norms(X[part] - middle) for part in parts])


def _dense_in_few_columns(X):
    """The same rows without the columns in which all of them are zero."""
    return X[:, np.unique(X.indices)].toarray() if arrays.is_sparse(X) else X
