"""Squared losses, whose optimum is the solution of a linear system.

Least squares and ridge minimise |B - A w|^2 + alpha |w|^2, where A and B are the points and the
targets after the intercept has been solved for: centred, and each row times the root of its weight.
Invariant: every answer is as accurate as an orthogonal factorisation would make it; what is formed
with less care, such as A'A, is refined against A itself or given up for the singular values.
"""

from operator import matmul
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, lsmr

from maxmargin import arrays
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.problems.certificate import combine
from maxmargin.problems.linear import LinearProblem
from maxmargin.solvers import cholesky
from maxmargin.solvers.interrupts import interruptible

EPSILON, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
ROW_BLOCK = 4096
LARGEST = 10_000  # rows of a square matrix of a sparse problem: 800 MB
LARGEST_BASIS = 10_000_000  # entries of a dense factor of a sparse A: 80 MB
MOST_WORK = 1e11  # multiplications in a factorisation of a sparse A: some seconds
REFINEMENTS = 10
REFINED = 1e-10  # the last correction, relative, above which a Cholesky answer is not trusted
LSMR_LIMIT = 7  # SciPy's code for having reached maxiter
# scikit-learn's solvers without a counterpart here that end, if they go on for long enough, where
# ours do: the first two iterate on products with X, as LSMR does.
SAME_LIMIT = {"lsqr": "lsmr", "sparse_cg": "lsmr", "sag": "auto", "saga": "auto"}
CERTIFIED = 1e-9  # the largest relative duality gap of a ridge solution


class Centred(LinearOperator):
    """A = diag(root) (X - 1 mean'), of which a sparse X keeps its zeros.

    A is `rows` minus a term of rank one, root shift'. Dense rows are centred once and for all and
    have no shift; a sparse X would fill up, so its shift takes part in every product instead.
    """

    def __init__(self, X, weight, fit_intercept):
        super().__init__(np.dtype(np.float64), X.shape)
        self.root = np.sqrt(weight)
        self.mean = weighted_mean(X, weight) if fit_intercept else np.zeros(X.shape[1])
        self.is_sparse = arrays.is_sparse(X)
        self._given, self._weight, self._fit_intercept = X, weight, fit_intercept
        if self.is_sparse:
            self.shift, self.rows = self.mean, X.copy()
            self.rows.data *= np.repeat(self.root, np.diff(X.indptr))
        else:
            self.shift, self.rows = np.zeros(X.shape[1]), np.empty(X.shape)
            for part in arrays.blocks(len(X), ROW_BLOCK):
                self.rows[part] = (X[part] - self.mean) * self.root[part, None]

    def _matmat(self, w):
        return self.rows @ w - np.outer(self.root, self.shift @ w)

    def _rmatmat(self, u):
        return self.rows.T @ u - np.outer(self.shift, self.root @ u)

    def _rmatvec(self, u):  # SciPy before 1.14 does not derive it from the products of matrices
        return self._rmatmat(np.reshape(u, (-1, 1)))[:, 0]

    def gram(self):
        """A'A; the shift is the mean of the rows, which makes its share a single square."""
        gram = _gram(self.rows)
        if self.is_sparse:
            gram -= (self.root @ self.root) * np.outer(self.shift, self.shift)
        return gram

    def columns(self, chosen):
        """A of some of its columns."""
        return Centred(self._given[:, chosen], self._weight, self._fit_intercept)

    def solid(self):
        """The same, dense if that takes no more room: centred only in products has fewer digits."""
        if not self.is_sparse or not arrays.is_mostly_full(self._given):
            return self
        return Centred(arrays.dense(self._given), self._weight, self._fit_intercept)

    def squared_lengths(self):
        """Of the columns."""
        squares = arrays.squared_norms(self.rows.T)
        return np.maximum(squares - (self.root @ self.root) * self.shift**2, 0.0)

    def outer(self):
        """AA'."""
        outer = _gram(self.rows.T)
        if self.is_sparse:
            along = self.rows @ self.shift - 0.5 * (self.shift @ self.shift) * self.root
            outer -= np.outer(along, self.root) + np.outer(self.root, along)
        return outer

    def panels(self, of_columns):
        """A in dense pieces, each some of its rows; or A', each some columns of A."""
        height, width = self.shape[::-1] if of_columns else self.shape
        for part in arrays.blocks(height, max(4096, 4 * width)):
            rows, columns = (slice(None), part) if of_columns else (part, slice(None))
            # Centred before it is weighted: a heavy row lies close to the mean, and the difference
            # of their multiples would be mostly rounding.
            piece = arrays.dense(self._given[rows, columns]) - self.mean[columns]
            piece *= self.root[rows, None]
            yield piece.T if of_columns else piece


def _gram(rows):
    """rows'rows as a dense matrix."""
    if not arrays.is_sparse(rows):
        return cholesky.gram(rows)
    return arrays.dense(interruptible(rows.nnz * rows.shape[1], matmul, rows.T, rows))


def weighted_mean(values, weight):
    """The mean of every column.

    Rounding may carry it beyond the values themselves; brought back, the mean of a constant column
    is that constant, and centring makes the column exactly zero.
    """
    mean = np.asarray(weight @ values) / weight.sum()
    lowest, highest = (arrays.dense(ends(axis=0)).ravel() for ends in (values.min, values.max))
    return np.clip(mean, lowest, highest)


class Spectrum:
    """The singular values of A, from which the solution follows for every alpha at once.

        A = U diag(singular) V'   gives   w(alpha) = V diag(singular / (singular^2 + alpha)) U'B

    A tall A is first reduced to a triangle by QR, a piece of rows at a time, and U is never formed;
    a wide one likewise from the side of its columns. There the orthogonal factor is kept, because
    w = A'u by itself has few digits where u is much longer than w; only for a sparse A so wide that
    the factor would not fit does w come through u.
    """

    def __init__(self, A, B):
        n, d = A.shape
        self._A, self._basis, self._is_tall = A, None, d <= n
        if self._is_tall:
            triangle = _triangle(A.panels(of_columns=False), B)
            left, self.singular, self._right = _svd(triangle[:d, :d])
            self._projected = left.T @ triangle[:d, d:]
        elif A.is_sparse and n * d > LARGEST_BASIS:
            _, self.singular, self._right = _svd(_triangle(A.panels(of_columns=True)))
            self._projected = self._right @ B
        else:
            columns = np.vstack(list(A.panels(of_columns=True)))
            orthogonal, triangle = interruptible(columns.size * n, np.linalg.qr, columns)
            left, self.singular, self._right = _svd(triangle)
            self._projected, self._basis = self._right @ B, orthogonal @ left
        # What is below the rounding errors of the largest is no direction of the data, nor is one
        # along which the squares underflow.
        rounding = max(n, d) * EPSILON * np.max(self.singular)
        self._counts = self.singular > max(rounding, np.sqrt(TINY))
        self.rank = int(np.sum(self._counts))

    def weights(self, alpha):
        """w for one alpha, or one per column of B; of smallest norm where alpha is 0."""
        return self.solution(alpha)[0]

    def solution(self, alpha):
        """w, and for a wide A the u with w = A'u; None for a tall one."""
        singular = np.where(self._counts, self.singular, 1.0)[:, None]
        # singular / (singular^2 + alpha), without the square
        along = self._projected / (singular + np.asarray(alpha) / singular)
        along = np.where(self._counts[:, None], along, 0.0)
        if self._is_tall:
            return self._right.T @ along, None
        u = self._right.T @ (along / singular)
        return (self._A.T @ u if self._basis is None else self._basis @ along), u


def _triangle(panels, targets=None):
    """R of the QR factorisation of all panels on top of each other, the targets beside them."""
    R, start = None, 0
    for panel in panels:
        if targets is not None:
            stop = start + len(panel)
            panel, start = np.hstack([panel, targets[start:stop]]), stop
        panel = panel if R is None else np.vstack([R, panel])
        R = interruptible(panel.size * panel.shape[1], np.linalg.qr, panel, mode="r")
    return R


def _svd(square):
    return interruptible(10 * square.size * len(square), np.linalg.svd, square)


class RidgeSolution(NamedTuple):
    """w; the u with w = A'u and the rank of A, where found on the way; and how it was found.

    `n_iter` counts the iterations for each target of who iterates.
    """

    w: np.ndarray
    u: np.ndarray | None
    rank: int | None
    solver: str
    n_iter: np.ndarray | None


def least_squares(A, B):
    """The w of smallest norm among those with the smallest |B - A w|, and A's spectrum.

    A sparse A whose factorisation would take too long is solved by LSMR, without a spectrum. Its
    limit, from zero, is the same solution; the normal equations would be faster and half as exact.
    """
    if _is_heavy(A):
        return iterated(A, B, np.zeros(B.shape[1]))[0], None
    spectrum = Spectrum(A, B)
    return spectrum.weights(0.0), spectrum


def ridge(A, B, alphas, solver="auto", max_iter=None):
    """The w that minimises |B - A w|^2 + alpha |w|^2 for each column of B and its alpha."""
    solver = _fitting(A, alphas, SAME_LIMIT.get(solver, solver))
    if solver in ("primal", "dual"):
        try:
            w, u = _by_cholesky(A, B, alphas, solver == "dual")
            return RidgeSolution(w, u, None, solver, None)
        except linalg.LinAlgError:
            solver = "lsmr" if _is_heavy(A) else "svd"
    if solver == "lsmr":
        w, n_iter = iterated(A, B, alphas, max_iter)
        return RidgeSolution(w, None, None, solver, n_iter)
    spectrum = Spectrum(A, B)
    return RidgeSolution(*spectrum.solution(alphas), spectrum.rank, solver, None)


def ridge_path(A, B, alphas):
    """w for every alpha, from one factorisation where A allows it; shape (alphas, d, targets)."""
    if _is_heavy(A):
        return np.array([iterated(A, B, np.full(B.shape[1], alpha))[0] for alpha in alphas]), None
    spectrum = Spectrum(A, B)
    return np.array([spectrum.weights(alpha) for alpha in alphas]), spectrum.rank


def _fitting(A, alphas, solver):
    """The cheapest way that is exact enough, unless one is asked for."""
    smaller = "primal" if A.shape[1] <= A.shape[0] else "dual"
    if solver != "auto":
        return smaller if solver == "cholesky" else solver
    if A.is_sparse and min(A.shape) > LARGEST:
        return "lsmr"
    if np.min(alphas) <= 0 or np.ptp(alphas) > 0:
        return "lsmr" if _is_heavy(A) else "svd"
    return smaller


def _is_heavy(A):
    return A.is_sparse and float(np.prod(A.shape)) * min(A.shape) > MOST_WORK


def _by_cholesky(A, B, alphas, dual):
    """(A'A + alpha I) w = A'B, or with u of length n, (AA' + alpha I) u = B and w = A'u."""
    matrix = A.outer() if dual else A.gram()
    diagonal = np.diagonal(matrix).copy()
    w, u = np.empty((A.shape[1], B.shape[1])), np.empty_like(B)
    for alpha in np.unique(alphas):
        columns = np.flatnonzero(alphas == alpha)
        factor = matrix.copy()
        np.fill_diagonal(factor, diagonal + alpha)
        cholesky.factorise(factor)
        w[:, columns], u[:, columns] = _refined(A, B[:, columns], alpha, factor, dual)
    return w, (u if dual else None)


def _refined(A, B, alpha, factor, dual):
    """Solve, and correct the answer by what is left of the equation, computed from A itself."""
    w, u, last = np.zeros((A.shape[1], B.shape[1])), np.zeros_like(B), np.inf
    for _ in range(REFINEMENTS):
        if dual:
            share = cholesky.solve(factor, B - A @ w - alpha * u)
            u, step = u + share, A.T @ share
        else:
            step = cholesky.solve(factor, A.T @ (B - A @ w) - alpha * w)
        w = w + step
        size = _largest_share(step, w)
        if size <= EPSILON or not size <= 0.5 * last:
            break
        last = size
    # A long u may lead to a short w = A'u, but not with all its digits.
    length = np.sqrt(np.sum(arrays.squared_norms(A.rows)))
    lost = EPSILON * length * _largest_share(u, w) if length > 0 else 0.0
    if not max(min(size, last), lost) <= REFINED:
        raise linalg.LinAlgError("too ill-conditioned for a Cholesky factorisation")
    return w, u


def _largest_share(part, whole):
    """The largest length of a column of `part` over that of its column of `whole`."""
    lengths = np.maximum(column_norms(whole), TINY)
    with np.errstate(over="ignore"):  # beside nothing, anything is infinitely long
        return float(np.max(column_norms(part) / lengths))


def column_norms(values):
    return np.linalg.norm(values, axis=0)


def iterated(A, B, alphas, max_iter=None):
    """LSMR, as far as rounding lets it go, with a warning where that takes too long.

    Returns w, and the iterations made for each of its columns.
    """
    most = 10 * max(1000, min(A.shape)) if max_iter is None else max_iter
    options = {"atol": 1e-14, "btol": 1e-14, "conlim": 0, "maxiter": most}
    w, n_iter = np.empty((A.shape[1], B.shape[1])), np.zeros(B.shape[1], dtype=np.int64)
    for k, alpha in enumerate(alphas):
        w[:, k], stopped, n_iter[k], *_ = lsmr(A, B[:, k], damp=np.sqrt(alpha), **options)
        if stopped == LSMR_LIMIT:
            slope = float(np.linalg.norm(A.T @ (B[:, k] - A @ w[:, k]) - alpha * w[:, k]))
            warn(
                f"LSMR stopped after {most} iterations; of the gradient {slope:.1e} is left. "
                "Scale the features, or use a larger alpha.",
                ConvergenceWarning,
            )
    return w, n_iter


def certify_ridge(A, B, w, u, alphas):
    """The duality gap of 1/2 |w|^2 + 1/(2 alpha) |B - A w|^2; None where an alpha is 0.

    Or all but: beside a tiny alpha rounding by itself is a gap, of any w, which proves nothing.

    It is a linear machine with a squared loss and no tube, and nothing bounds its dual point u.
    That is the residuals over alpha, but where the fit is close and alpha small they have few
    digits, so a u that the solver has found serves better.
    """
    if np.min(alphas) <= 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        is_lost = ~(_gap_of_rounding(A, B, w, u, alphas) <= CERTIFIED)  # or no number
        u = (B - A @ w) / alphas if u is None else u
        proofs = [_proof(A, B[:, k], w[:, k], u[:, k], alpha) for k, alpha in enumerate(alphas)]
    if any(lost and not proof.optimal for lost, proof in zip(is_lost, proofs, strict=True)):
        return None
    return combine(proofs)


def _proof(A, b, w, u, alpha):
    unbounded, zeros = np.full(len(b), np.inf), np.zeros(len(b))
    problem = LinearProblem(A, 0.0, b, zeros, -unbounded, unbounded, np.full(len(b), alpha))
    return problem.certify(np.append(w, 0.0), u, CERTIFIED)


def _gap_of_rounding(A, B, w, u, alphas):
    """The relative gap, for each target, that is left of any w by what rounding may do to it.

    It changes the residuals by a share of their terms, and thereby (or by as much of u) A'u; the
    gap has the squares of both.
    """
    length = np.sqrt(np.sum(arrays.squared_norms(A.rows)))
    in_residuals = EPSILON * (column_norms(B) + length * column_norms(w))
    in_u = in_residuals / alphas if u is None else EPSILON * column_norms(u)
    gap = in_residuals**2 + (np.sqrt(alphas) * length * in_u) ** 2
    objective = alphas * column_norms(w) ** 2 + column_norms(B - A @ w) ** 2
    return gap / np.maximum(objective, TINY)
