"""How exactly an engine computes a kernel on given data.

A kernel value that is formed from numbers much larger than itself has lost digits: a distance from
the norms of far points, a sigmoid or an exponential of a large argument. The value does not show
how many. So the engine's values on a few rows are compared with the same formula in extended
precision, in which distances are sums of squared differences. (Where the machine has only float64,
that still shows what cancels.) Half of the rows are the farthest from the middle of the data, where
most digits are lost.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.arrays import EPSILON
from maxmargin.kernels.pairs import Pairs, Points

N_ROWS = 16  # This many rows are compared, which costs little beside a fit.
COLUMNS = 1024  # Differences of features are formed for this many columns at a time.


class CarefulPairs(Pairs):
    """Pairs in extended precision, whose distances never cancel."""

    def squared_distances(self):
        return self._summed(np.square)

    def cityblock_distances(self):
        return self._summed(np.abs)

    def _summed(self, function):
        """The sum of function(x_k - z_k) over the features, some columns at a time."""
        A, B = self.A.X, self.B.X
        total = np.zeros((len(A), len(B)), dtype=A.dtype)
        for part in arrays.blocks(A.shape[1], COLUMNS):
            total += function(A[:, None, part] - B[None, :, part]).sum(axis=2)
        return total


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # the engine says what overflowed
def ulps_of(matrix):
    """The units in the last place of sqrt(k(x, x) k(z, z)) by which a k(x, z) may be off.

    The values of a matrix or a function of the user's are right by definition.
    """
    kernel, points = matrix.kernel, matrix.points
    if kernel.takes != "features" or 0 in points.shape:
        return 1.0
    rows = _some_rows(points)
    found, some = matrix.values(rows), _dense_in_few_columns(points.on_host(rows))
    careful = Points(some.astype(np.longdouble), np.longdouble)
    wanted = kernel.formula(CarefulPairs(careful, careful))
    sizes = np.sqrt(np.abs(np.diagonal(wanted)))
    if kernel.positive_semidefinite is not True:
        sizes[:] = np.max(sizes)  # without Mercer's condition an entry has no other bound
    errors = np.abs(found - wanted) / (sizes[:, None] * sizes)
    return max(1.0, float(np.max(errors, where=np.isfinite(errors), initial=0.0)) / EPSILON)


def _some_rows(points):
    """The rows farthest from the middle, and some random ones."""
    n = len(points)
    if n <= N_ROWS:
        return np.arange(n)
    farthest = np.argpartition(points.squared_lengths(), n - N_ROWS // 2)[-(N_ROWS // 2) :]
    spread = (arrays.SPREAD[:: 2 * len(arrays.SPREAD) // N_ROWS] * n).astype(np.int64)
    return np.unique(np.concatenate([farthest, spread]))


def _dense_in_few_columns(X):
    """The same rows without the columns in which all of them are zero."""
    return X[:, np.unique(X.indices)].toarray() if arrays.is_sparse(X) else X
