"""Kernels, rows and steps on which engines are compared with plain NumPy."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

from maxmargin.kernels import RBF, Custom, Laplacian, Linear, Polynomial, Precomputed

N = 1100  # more than one tile of columns, and several panels of rows
ROW = 8 * N  # bytes of a row in float64
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}


def inverse_distance(X, Z):
    """A kernel function of the user's: the inverse multiquadric, on dense or sparse rows."""
    X, Z = (rows.toarray() if sparse.issparse(rows) else rows for rows in (X, Z))
    squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * X @ Z.T
    return 1 / np.sqrt(1 + np.maximum(squares, 0))


def decay(X):
    return 1 / (1 + np.asarray(abs(X).sum(axis=1)).ravel())


KERNELS = {
    "rbf": RBF(0.3),
    "polynomial": Polynomial(3, 0.3, 1.0),
    "linear": Linear(),
    "laplacian": Laplacian(0.3),
    "sum": 0.5 * RBF(0.2) + Linear(),
    "product": Polynomial(1, coef0=1.0) * RBF(0.1).conformal(decay),
    "normalised": (Linear() ** 2).normalised(),
    "exp": (0.1 * Linear()).exp(),
    "precomputed": Precomputed(),
    "custom": Custom(inverse_distance),
}
# A thin matrix is dense but mostly zeros; a wide one sparse, with more features than fit a table.
STORAGES = {"dense": (5, 0.6), "sparse": (5, 0.6), "thin": (40, 0.1), "wide": (3000, 0.02)}
every_kernel = pytest.mark.parametrize("title", KERNELS)
both_storages = pytest.mark.parametrize("storage", STORAGES)
both_precisions = pytest.mark.parametrize("dtype", TOLERANCE, ids=["float64", "float32"])


@cache
def case(title, storage):
    """The kernel, its rows, and the whole matrix by NumPy."""
    rng = np.random.default_rng(8)
    n_features, share = STORAGES[storage]
    X = rng.standard_normal((N, n_features)) / np.sqrt(share * n_features / 3)
    X *= rng.random((N, n_features)) < share
    X = RBF(0.2)(X) if title == "precomputed" else X
    X = sparse.csr_array(X) if storage in ("sparse", "wide") else X
    K = KERNELS[title](X)
    K.flags.writeable = False
    return KERNELS[title], X, K


def assert_close(actual, expected, dtype=np.float64, scale=None):
    scale = np.abs(expected).max() if scale is None else scale
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE[dtype] * scale)


def rounds(n_rounds=24):
    """Rows and steps such that a cache fills, is used again, and must make room for others."""
    rng = np.random.default_rng(10)
    for k in range(n_rounds):
        in_use = np.arange(60) + 60 * (k // 6)
        rows = rng.choice(in_use, 30, replace=False)
        if k % 8 == 5:
            rows = rng.choice(N, 400, replace=False)  # more than one panel
        yield rows, rng.standard_normal(len(rows))
