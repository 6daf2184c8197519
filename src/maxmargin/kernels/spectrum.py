"""Mercer's condition on data: a Gram matrix must be symmetric and positive semidefinite."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from maxmargin.errors import OVERFLOW, KernelError
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.custom import Custom

# Eigenvalues of a float64 matrix are known to a few times 1e-16 of the largest. One that is no more
# than this share of the largest below zero may be rounding.
ROUNDING = 1e-10


@dataclass(frozen=True)
class MercerReport:
    """What `mercer` found.

    Attributes
    ----------
    smallest_eigenvalue, largest_eigenvalue : float
    asymmetry : float
        The largest |K_ij - K_ji|.
    satisfied : bool
        Whether it is symmetric and without a negative eigenvalue, up to rounding.
    """

    smallest_eigenvalue: float
    largest_eigenvalue: float
    asymmetry: float

    @property
    def satisfied(self):
        scale = max(abs(self.smallest_eigenvalue), abs(self.largest_eigenvalue))
        symmetric = self.asymmetry <= ROUNDING * scale
        return bool(symmetric and self.smallest_eigenvalue >= -ROUNDING * scale)

    def __repr__(self):
        return (
            f"MercerReport(satisfied={self.satisfied}, "
            f"smallest_eigenvalue={self.smallest_eigenvalue:.6g}, "
            f"largest_eigenvalue={self.largest_eigenvalue:.6g}, asymmetry={self.asymmetry:.6g})"
        )


def mercer(kernel, X):
    """Report the smallest eigenvalue of the Gram matrix of `kernel` on the rows of X.

    Parameters
    ----------
    kernel : Kernel or function
        A function takes two sets of rows and returns the matrix between them, as in `Custom`.
    X : array, sparse matrix, or whatever rows the kernel takes

    Examples
    --------
    >>> from maxmargin.kernels import RBF, mercer
    >>> mercer(RBF(), [[0.0], [1.0], [2.0]]).satisfied
    True
    >>> mercer(lambda X, Z: X @ Z.T - 1.0, [[0.0], [1.0], [2.0]]).satisfied
    False
    """
    kernel = _kernel_of(kernel)
    K = kernel(X)
    if not np.all(np.isfinite(K)):
        raise KernelError(OVERFLOW.format(kernel))
    eigenvalues = linalg.eigvalsh((K + K.T) / 2)
    return MercerReport(
        smallest_eigenvalue=float(eigenvalues[0]),
        largest_eigenvalue=float(eigenvalues[-1]),
        asymmetry=float(np.max(np.abs(K - K.T))),
    )


def is_positive_semidefinite(K):
    """Whether no eigenvalue of K is negative, up to rounding.

    K plus that rounding on its diagonal has a Cholesky factor exactly then, which costs a tenth of
    the eigenvalues. Rows and columns are divided by sqrt(K_ii) first, which changes no sign of an
    eigenvalue, so that one large entry does not hide a negative eigenvalue among small ones.
    """
    diagonal = np.diagonal(K)
    is_there = diagonal > 0
    if np.any(diagonal < 0) or np.any(K[~is_there]):
        return False
    lengths = np.sqrt(diagonal[is_there])
    cosines = K[np.ix_(is_there, is_there)] / lengths / lengths[:, None]
    lifted = (cosines + cosines.T) / 2
    size = np.linalg.norm(lifted) / np.sqrt(max(1, len(lifted)))  # <= the largest eigenvalue
    lifted.flat[:: len(lifted) + 1] += ROUNDING * size
    try:
        linalg.cholesky(lifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def _kernel_of(given):
    if isinstance(given, Kernel):
        return given
    if callable(given) and not isinstance(given, type):  # a class lacks its brackets
        return Custom(given)
    shown = given.__name__ if isinstance(given, type) else repr(given)
    raise TypeError(
        "mercer: kernel must be a Kernel, as RBF(gamma=1.0), or a function of two sets of rows, "
        f"got {shown}."
    )
