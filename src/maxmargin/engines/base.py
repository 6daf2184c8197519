"""What an engine must be able to do: a handful of coarse operations, nothing more.

An engine decides where arrays live and who does the heavy steps. Solvers never see tiles, threads
or devices; they ask for the kernel matrix of a problem and for expansions of kernels over points.
"""

from typing import Protocol


class KernelMatrix(Protocol):
    """The kernel matrix of the training points, of which only parts ever exist."""

    n: int
    dtype: object

    def block(self, rows):
        """K[rows, rows], on the host; it may be kept, and is not to be written to."""

    def subtract(self, gradient, rows, steps):
        """gradient - K[:, rows] @ steps, as a new float64 array."""


class Engine(Protocol):
    """Where the work is done: engine="cpu" is `engines/cpu.py`.

    An engine is a context manager: threads or streams live from `__enter__` to `__exit__`.
    """

    def share(self, X, parts, blocks):
        """Take what lies within two parts of X from blocks that other machines use as well.

        `parts` maps names to slices of rows; `blocks` is a `SharedBlocks` (engines/shared.py).
        """

    def kernel_matrix(self, kernel, X, dtype, cache_bytes) -> KernelMatrix:
        """Bring the points in and get ready to evaluate rows."""

    def expansion(self, kernel, X, rows, coef):
        """f = K[:, rows] @ coef at every row of X, in float64 and from the data.

        Solvers look at it to see where they stand, and every proof is made from it.
        """

    def expand(self, kernel, X, Z, coef, index=None, parts=None):
        """sum_i coef_i k(z_i, x) for every row x of X, in float64, in blocks.

        `coef` has one column per function. `index` numbers the rows of Z in the training set.
        `parts`, slices of Z one after the other, asks for the sums over each part by itself: then
        the answer has a row of X, a part and a function as its axes.
        """
