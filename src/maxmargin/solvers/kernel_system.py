"""Kernel ridge: (K + alpha I) c = y, by a factorisation of K or, where K does not fit, without K.

Invariant: a singular system gets the answer of smallest norm and its rank is told, never an error.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from maxmargin import arrays
from maxmargin.solvers import cholesky
from maxmargin.solvers.closed_form import EPSILON, column_norms
from maxmargin.solvers.interrupts import interruptible

MOST_PIVOTS = 500  # of K, in the preconditioner
COPIES = 3  # of its factors, while they are made orthogonal


@dataclass(frozen=True)
class KernelSystem:
    """K + alpha I over weighted points: K_ij = root_i k(x_i, x_j) root_j, formed when needed."""

    kernel: object
    X: object
    root: np.ndarray
    engine: object

    @property
    def n(self):
        return len(self.root)

    def matrix(self):
        K = self.engine.kernel_matrix(self.kernel, self.X, np.float64, 0).block(np.arange(self.n))
        K.flags.writeable = True  # without memory to keep it in, the engine has not
        for rows in arrays.blocks(self.n, cholesky.TILE):
            K[rows] *= self.root[rows, None]
            K[rows] *= self.root
        return K

    def product(self, coef):
        """K times the coefficients, in tiles that are never kept."""
        return self._expand(np.arange(self.n), self.root[:, None] * coef)

    def column(self, i):
        return self._expand(np.array([i]), self.root[i : i + 1, None])[:, 0]

    def diagonal(self):
        return self.kernel.diagonal(self.X) * self.root**2

    def _expand(self, rows, coef):
        is_gram = self.kernel.takes == "gram"
        Z = np.empty((len(rows), 0)) if is_gram else arrays.take(self.X, rows)
        return self.root[:, None] * self.engine.expand(self.kernel, self.X, Z, coef, rows)


def solve_kernel_in_place(K, B, alphas):
    """The c with (K + alpha I) c = B, a column and an alpha each; and the smallest rank met.

    K is overwritten. Cholesky needs one of its triangles and the diagonal; the other triangle is
    left alone and makes the matrix whole again for the next attempt.
    """
    coef, rank, diagonal = np.empty_like(B), len(K), np.diagonal(K).copy()
    for alpha in np.unique(alphas):
        columns = np.flatnonzero(alphas == alpha)
        _mirror(K, diagonal + alpha)
        try:
            coef[:, columns] = _by_cholesky_in_place(K, B[:, columns])
        except linalg.LinAlgError:
            _mirror(K, diagonal + alpha)
            coef[:, columns], found = _by_eigenvalues(K, B[:, columns])
            rank = min(rank, found)
    return coef, rank


def _by_cholesky_in_place(K, B):
    n = len(K)
    size = max(float(np.max(np.abs(K[rows]).sum(axis=1))) for rows in arrays.blocks(n, 512))
    L = K.T  # which is K, in the order in which LAPACK need not copy it
    cholesky.factorise(L)
    inverse_condition, _ = interruptible(10 * n**2, linalg.lapack.dpocon, L, size, uplo="L")
    if inverse_condition <= n * EPSILON:
        raise linalg.LinAlgError("the matrix is singular within rounding")
    return cholesky.solve(L, B)


def _mirror(K, diagonal):
    """Make a symmetric matrix whole again from its strict lower triangle and its diagonal."""
    for rows in arrays.blocks(len(K), 512):
        below = np.tril(K[rows, rows], -1)
        K[rows, rows] = below + below.T
        K[rows, rows.stop :] = K[rows.stop :, rows].T
    np.fill_diagonal(K, diagonal)


def _by_eigenvalues(K, B):
    """The c of smallest norm among those with the smallest |B - K c|, and the rank of K."""
    # NumPy's, which copies K, because SciPy's could not be interrupted.
    values, vectors = interruptible(10 * len(K) ** 3, np.linalg.eigh, K)
    counts = np.abs(values) > len(K) * EPSILON * np.max(np.abs(values))
    vectors, values = vectors[:, counts], values[counts, None]
    return vectors @ ((vectors.T @ B) / values), int(np.sum(counts))


def solve_kernel_by_gradients(system, B, alphas, tol, max_iter, memory):
    """The c with (K + alpha I) c = B by conjugate gradients, their number, and |rest| / |B|."""

    def product(coef):
        return system.product(coef) + alphas * coef

    precondition = preconditioner(system, alphas, memory)
    size = np.where(np.any(B, axis=0), column_norms(B), 1.0)
    coef, rest, n_iter = np.zeros_like(B), B, 0
    left = np.max(column_norms(rest) / size)
    while left > tol and n_iter < max_iter:
        step, made = _conjugate_gradients(
            product, rest, precondition, tol * size, max_iter - n_iter
        )
        n_iter, before = n_iter + made, left
        # The recurrence's own rest has drifted: begin again from here, if here is nearer.
        rest_there = B - product(coef + step)
        left_there = np.max(column_norms(rest_there) / size)
        if left_there < left:
            coef, rest, left = coef + step, rest_there, left_there
        if not left < 0.5 * before:
            break
    return coef, max(n_iter, 1), float(left)


def _conjugate_gradients(product, B, precondition, goal, max_iter):
    """All columns in step, so that they share each product with K."""
    coef, rest, n_iter = np.zeros_like(B), B.copy(), 0
    direction = scaled = precondition(rest)
    slope = np.sum(rest * scaled, axis=0)
    while n_iter < max_iter:
        n_iter += 1
        along = product(direction)
        curvature = np.sum(direction * along, axis=0)
        # A finished column has no direction left; in an indefinite matrix there may be no minimum.
        step = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
        coef += step * direction
        rest -= step * along
        if np.all(column_norms(rest) <= goal) or not np.any(step):
            break
        scaled = precondition(rest)
        before, slope = slope, np.sum(rest * scaled, axis=0)
        turn = np.divide(slope, before, out=np.zeros_like(slope), where=before > 0)
        direction = scaled + turn * direction
    return coef, n_iter


def preconditioner(system, alphas, memory):
    """v -> (LL' + alpha I)^-1 v, where LL' is a partial Cholesky factorisation of K.

    It takes the few large eigenvalues of K out of the way, on which gradients would dwell: with
    the singular values L = U diag(s) V', v is divided by s^2 + alpha along the columns of U, and
    by alpha across. (The rows of `factors` are the columns of L.)
    """
    diagonal = system.diagonal()
    size = int(min(system.n, MOST_PIVOTS, max(1, memory // (COPIES * 8 * system.n))))
    factors = partial_cholesky(system.column, diagonal, size, float(np.min(alphas)))
    shifts = np.maximum(alphas, EPSILON * float(np.sum(np.abs(diagonal))))
    shifts[shifts == 0] = 1.0
    if not len(factors):  # K is nothing beside alpha
        return lambda v: v / shifts
    basis, triangle = interruptible(factors.size * len(factors), np.linalg.qr, factors.T)
    turn, singular, _ = np.linalg.svd(triangle)
    basis, eigenvalues = basis @ turn, singular[:, None] ** 2

    def apply(v):
        along = basis.T @ v
        across = v - basis @ along
        across -= basis @ (basis.T @ across)  # rounding, which a small alpha would blow up
        return basis @ (along / (eigenvalues + shifts)) + across / shifts

    return apply


def partial_cholesky(column, diagonal, size, enough):
    """Rows l_1, l_2, ... with K ~ sum l l', each for the point that is explained least so far.

    It ends early when what is left of the trace is below `enough`.
    """
    left = diagonal.astype(np.float64)
    factors = np.empty((size, len(left)))
    for k in range(size):
        i = int(np.argmax(left))
        if left[i] <= EPSILON * diagonal[i] or np.sum(left) <= enough:
            return factors[:k]
        factors[k] = (column(i) - factors[:k, i] @ factors[:k]) / np.sqrt(left[i])
        left -= factors[k] ** 2
        left[i] = 0.0
    return factors
