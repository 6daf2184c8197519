"""Kernel ridge: (K + alpha I) c = y, by a factorisation of K or, where K does not fit, without K.

Invariant: a singular system gets the answer of smallest norm and its rank, never an error.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from maxmargin import arrays
from maxmargin.engines import cholesky
from maxmargin.engines.interrupts import interruptible
from maxmargin.solvers.base import LinearSolution, LinearSolver
from maxmargin.solvers.closed_form import EPSILON, column_norms

# The preconditioner is made of this many columns of K at most: its cost grows with their square.
MOST_PIVOTS = 500
COPIES = 3  # This many copies of its factors are held while they are made orthogonal.


@dataclass(frozen=True)
class KernelSystem:
    """The system (K + alpha I) c = B over weighted points, a column and an alpha for each target.

    K_ij = root_i k(x_i, x_j) root_j is formed when needed.
    """

    kernel: object
    points: object
    root: np.ndarray
    engine: object
    B: np.ndarray
    alphas: np.ndarray

    @property
    def n(self):
        return len(self.root)

    def matrix(self):
        K = self.engine.matrix(self.kernel, self.points).values(np.arange(self.n))
        for rows in arrays.blocks(self.n, cholesky.TILE):
            K[rows] *= self.root[rows, None]
            K[rows] *= self.root
        return K

    def product(self, coef):
        """K times the coefficients, computed in tiles that are not kept."""
        return self._expand(slice(None), self.root[:, None] * coef)

    def times(self, coef):
        """(K + alpha I) c."""
        return self.product(coef) + self.alphas * coef

    def rest(self, coef):
        return self.B - self.times(coef)

    @cached_property
    def lengths(self):
        """The length |B| of each target."""
        return np.where(np.any(self.B, axis=0), column_norms(self.B), 1.0)

    def share_of(self, rest):
        """The largest |rest| / |B|."""
        return float(np.max(column_norms(rest) / self.lengths))

    def column(self, i):
        return self._expand(slice(i, i + 1), self.root[i : i + 1, None])[:, 0]

    def diagonal(self):
        return self.engine.matrix(self.kernel, self.points).diagonal() * self.root**2

    def _expand(self, rows, coef):
        f = self.engine.expand(self.kernel, self.points, self.points[rows], coef)
        return self.root[:, None] * f


@dataclass
class SystemSolution(LinearSolution):
    """The coefficients, and the smallest rank of a matrix that was factorised for them."""

    rank: int | None = None

    @classmethod
    def at(cls, coef, n_iter, violation, stopped="", rank=None):
        return cls(coef, coef, n_iter, violation, np.nan, stopped, rank)


def solve_kernel_in_place(K, B, alphas):
    """The c with (K + alpha I) c = B, a column and an alpha each.

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
    return SystemSolution.at(coef, 1, 0.0, "converged", rank)


def _by_cholesky_in_place(K, B):
    n = len(K)
    size = max(float(np.max(np.abs(K[rows]).sum(axis=1))) for rows in arrays.blocks(n, 512))
    L = K.T  # LAPACK need not copy it in this order
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
    # NumPy's eigh copies K, but SciPy's could not be interrupted.
    values, vectors = interruptible(10 * len(K) ** 3, np.linalg.eigh, K)
    counts = np.abs(values) > len(K) * EPSILON * np.max(np.abs(values))
    vectors, values = vectors[:, counts], values[counts, None]
    return vectors @ ((vectors.T @ B) / values), int(np.sum(counts))


class ConjugateGradients(LinearSolver):
    """Find c with (K + alpha I) c = B by products with K, for all targets at once.

    The violation is |rest| / |B| of the worst target, computed anew at every restart. `memory` is
    for the preconditioner, in bytes.
    """

    def __init__(self, tol, memory):
        super().__init__(tol)
        self.memory = memory

    def approach(self, problem, budget, start):
        coef, n_iter = np.zeros_like(problem.B) if start is None else start.coef, 0
        rest = problem.B if start is None else problem.rest(coef)
        left = problem.share_of(rest)
        yield SystemSolution.at(coef, 0, left, "converged" if left <= self.tol else "")
        precondition = preconditioner(problem, self.memory)
        while True:
            goal, before = self.tol * problem.lengths, left
            for step, followed in _conjugate_gradients(problem.times, rest, precondition, goal):
                n_iter += 1
                if n_iter >= budget.max_iter:
                    break
                yield SystemSolution.at(coef + step, n_iter, problem.share_of(followed))
            # The rest of the recurrence has drifted, so restart from here if that is nearer.
            rest_there = problem.rest(coef + step)
            if problem.share_of(rest_there) < left:
                coef, rest, left = coef + step, rest_there, problem.share_of(rest_there)
            is_stuck = n_iter < budget.max_iter and not left < 0.5 * before
            stopped = "converged" if left <= self.tol else "stalled" if is_stuck else ""
            yield SystemSolution.at(coef, n_iter, left, stopped)

    def finish(self, problem, found):
        """The solution with its exact violation; after Ctrl-C there is no time to compute it."""
        if found.stopped not in ("max_time", "callback"):
            return found
        return self.judged(found, problem.share_of(problem.rest(found.coef)))


def _conjugate_gradients(product, B, precondition, goal):
    """Steps on all columns, which share each product with K: yields the sum of the steps, and the
    rest as the recurrence knows it."""
    coef, rest = np.zeros_like(B), B.copy()
    direction = scaled = precondition(rest)
    slope = np.sum(rest * scaled, axis=0)
    while True:
        along = product(direction)
        curvature = np.sum(direction * along, axis=0)
        # A finished column has no direction left, and an indefinite matrix may have no minimum.
        step = np.divide(slope, curvature, out=np.zeros_like(slope), where=curvature > 0)
        coef += step * direction
        rest -= step * along
        yield coef, rest
        if np.all(column_norms(rest) <= goal) or not np.any(step):
            return
        scaled = precondition(rest)
        before, slope = slope, np.sum(rest * scaled, axis=0)
        turn = np.divide(slope, before, out=np.zeros_like(slope), where=before > 0)
        direction = scaled + turn * direction


def preconditioner(system, memory):
    """The map v -> (LL' + alpha I)^-1 v, where LL' is a partial Cholesky factorisation of K.

    It removes the few large eigenvalues of K, which would cost most of the steps. With the singular
    values L = U diag(s) V', v is divided by s^2 + alpha along the columns of U, and by alpha
    across. (The rows of `factors` are the columns of L.)
    """
    diagonal, alphas = system.diagonal(), system.alphas
    size = int(min(system.n, MOST_PIVOTS, max(1, memory // (COPIES * 8 * system.n))))
    factors = partial_cholesky(system.column, diagonal, size, float(np.min(alphas)))
    shifts = np.maximum(alphas, EPSILON * float(np.sum(np.abs(diagonal))))
    shifts[shifts == 0] = 1.0
    if not len(factors):  # K is negligible beside alpha
        return lambda v: v / shifts
    basis, triangle = interruptible(factors.size * len(factors), np.linalg.qr, factors.T)
    turn, singular, _ = np.linalg.svd(triangle)
    basis, eigenvalues = basis @ turn, singular[:, None] ** 2

    def apply(v):
        along = basis.T @ v
        across = v - basis @ along
        across -= basis @ (basis.T @ across)  # a small alpha would amplify this rounding error
        return basis @ (along / (eigenvalues + shifts)) + across / shifts

    return apply


def partial_cholesky(column, diagonal, size, enough):
    """Rows l_1, l_2, ... with K ~ sum l l', each pivoted on the largest diagonal that is left.

    It ends early when the rest of the trace is below `enough`.
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
