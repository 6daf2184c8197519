"""Cholesky's factorisation K = LL' in tiles, in place, the solution of Kc = B from it, and A'A.

BLAS and LAPACK do the same in one call, which takes seconds for thousands of points and cannot be
interrupted; here Ctrl-C is seen between two tiles. Invariant: only the lower triangle of K is read
and written.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from maxmargin import arrays

TILE = 512  # A tile of this many rows is large enough for BLAS to be at its best.
# One call of BLAS makes this many products of two numbers, so that Ctrl-C is seen.
BLOCK_WORK = 1_000_000_000
FEWEST_ROWS = 512  # With fewer rows, adding up costs more than multiplying.


def factorise(K):
    """Replace the lower triangle of K by L; raise LinAlgError if K is not positive definite.

    A tile of L follows from those before: L_ij L_jj' = K_ij - sum_k L_ik L_jk'.
    """
    tiles = arrays.blocks(len(K), TILE)
    for j, columns in enumerate(tiles):
        known = K[columns, : columns.start]
        corner = _less_product(K[columns, columns], known, known)
        corner = cholesky(corner, lower=True, check_finite=False)
        np.copyto(K[columns, columns], corner, where=np.tri(len(corner), dtype=bool))
        for rows in tiles[j + 1 :]:
            rest = _less_product(K[rows, columns], K[rows, : columns.start], known)
            K[rows, columns] = solve_triangular(corner, rest.T, lower=True, check_finite=False).T


def _less_product(tile, left, right):
    """tile - left right', by calls of BLAS on few enough columns to be short."""
    rest = tile.copy()
    for columns in arrays.blocks(left.shape[1], BLOCK_WORK // TILE**2):
        rest -= left[:, columns] @ right[:, columns].T
    return rest


def is_factorised(K):
    """Try to `factorise`, and say whether K was positive definite."""
    try:
        factorise(K)
    except np.linalg.LinAlgError:
        return False
    return True


def solve(L, B):
    """The c with LL'c = B, by solving Lv = B forwards and L'c = v backwards."""
    c, tiles = np.array(B, dtype=np.float64), arrays.blocks(len(L), TILE)
    options = {"lower": True, "check_finite": False}
    for rows in tiles:
        rest = c[rows] - L[rows, : rows.start] @ c[: rows.start]
        c[rows] = solve_triangular(L[rows, rows], rest, **options)
    for rows in reversed(tiles):
        rest = c[rows] - L[rows.stop :, rows].T @ c[rows.stop :]
        c[rows] = solve_triangular(L[rows, rows], rest, trans="T", **options)
    return c


def gram(A):
    """A'A of a dense A, computed from some rows at a time."""
    n, d = A.shape
    product = np.zeros((d, d))
    for rows in arrays.blocks(n, max(FEWEST_ROWS, BLOCK_WORK // d**2)):
        product += A[rows].T @ A[rows]
    return product
