"""Squared losses, whose optimum is the solution of a linear system.

Least squares and ridge minimise |B - A w|^2 + alpha |w|^2, where A and B are the points and the
targets after the intercept has been solved for: centred, and each row times the root of its weight.
Invariant: every answer is as accurate as an orthogonal factorisation would make it; what is formed
with less care, such as A'A, is refined against A itself or given up for the singular values.
"""

from collections.abc import Sequence
from operator import matmul
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator

from maxmargin import arrays
from maxmargin.arrays import EPSILON
from maxmargin.engines import cholesky
from maxmargin.engines.interrupts import interruptible
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.problems.certificate import combine
from maxmargin.problems.linear import LinearProblem
from maxmargin.problems.nonnegative import RidgeProblem
from maxmargin.solvers.base import Budget, LinearSolution
from maxmargin.solvers.lsmr import LSMR
from maxmargin.solvers.several import in_turn

TINY = float(np.finfo(np.float64).tiny)
ROW_BLOCK = 4096  # Rows are centred this many at a time, so that no other copy of X is made.
LARGEST = 10_000  # A square matrix of a sparse problem has this many rows at most, or 800 MB.
# A dense factor of a sparse A has this many entries at most, which take 80 MB.
LARGEST_BASIS = 10_000_000
# A factorisation of a sparse A takes this many multiplications at most, which is some seconds.
MOST_WORK = 1e11
REFINEMENTS = 10  # This many corrections settle whether a Cholesky answer can be trusted.
REFINED = 1e-10  # A Cholesky answer is trusted if its last correction is at most this, relatively.
# These solvers of scikit-learn have no counterpart here, but converge to the same solution; the
# first two iterate on products with X, as LSMR does.
SAME_LIMIT = {"lsqr": "lsmr", "sparse_cg": "lsmr", "sag": "auto", "saga": "auto"}
CERTIFIED = 1e-9  # A certified ridge solution has at most this relative duality gap.


class Centred(LinearOperator):
    """A = diag(root) (X - 1 mean'), in which a sparse X keeps its zeros.

    A is `rows` minus a term of rank one, root shift'. Dense rows are centred once and for all and
    have no shift. A sparse X would fill up, so its shift takes part in every product instead.
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

    def _rmatvec(self, u):  # SciPy before 1.14 does not derive it from _rmatmat
        return self._rmatmat(np.reshape(u, (-1, 1)))[:, 0]

    def gram(self):
        """A'A; the shift is the mean of the rows, which makes its share a single square."""
        gram = _gram(self.rows)
        if self.is_sparse:
            gram -= (self.root @ self.root) * np.outer(self.shift, self.shift)
        return gram

    def columns(self, chosen):
        """The operator of some columns of A."""
        return Centred(self._given[:, chosen], self._weight, self._fit_intercept)

    def solid(self):
        """The operator, dense if that takes no more room, because centring in products costs
        digits."""
        if not self.is_sparse or not arrays.is_mostly_full(self._given):
            return self
        return Centred(arrays.dense(self._given), self._weight, self._fit_intercept)

    def squared_lengths(self):
        """The squared lengths of the columns."""
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
        """Dense pieces of A, each some of its rows; or of A', each some columns of A."""
        height, width = self.shape[::-1] if of_columns else self.shape
        for part in arrays.blocks(height, max(4096, 4 * width)):
            rows, columns = (slice(None), part) if of_columns else (part, slice(None))
            # The piece is centred before it is weighted: a heavy row lies close to the mean, and
            # the difference of their multiples would be mostly rounding.
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

    Rounding may carry it beyond the values themselves. Because it is brought back, the mean of a
    constant column is that constant, and centring makes the column exactly zero.
    """
    mean = np.asarray(weight @ values) / weight.sum()
    lowest, highest = (arrays.dense(ends(axis=0)).ravel() for ends in (values.min, values.max))
    return np.clip(mean, lowest, highest)


class Spectrum:
    """The singular values of A, from which the solution follows for every alpha at once.

        A = U diag(singular) V'   gives   w(alpha) = V diag(singular / (singular^2 + alpha)) U'B

    A tall A is first reduced to a triangle by QR, a piece of rows at a time, and U is never formed.
    A wide A is reduced likewise from the side of its columns. There the orthogonal factor is kept,
    because w = A'u by itself has few digits where u is much longer than w. Only for a sparse A so
    wide that the factor would not fit does w come through u.
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
        # A singular value below the rounding errors of the largest is no direction of the data, nor
        # is one whose square underflows.
        rounding = max(n, d) * EPSILON * np.max(self.singular)
        self._counts = self.singular > max(rounding, np.sqrt(TINY))
        self.rank = int(np.sum(self._counts))

    def weights(self, alpha):
        """The w for one alpha, or one per column of B; where alpha is 0, that of smallest norm."""
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
    """The R of a QR factorisation of all panels on top of each other, the targets beside them."""
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
    """The w, the u with w = A'u and the rank of A where the way leads past them, and the solver.

    `solutions` holds the solution for each target, if the solver iterates.
    """

    w: np.ndarray
    u: np.ndarray | None
    rank: int | None
    solver: str
    solutions: Sequence[LinearSolution] = ()


def least_squares(A, B, budget):
    """The w of smallest norm among those with the smallest |B - A w|, and A's spectrum.

    A sparse A whose factorisation would take too long is solved by LSMR, without a spectrum. Its
    limit, from zero, is the same solution; the normal equations would be faster and half as exact.
    The third value holds LSMR's solutions.
    """
    if _is_heavy(A):
        w, solutions = iterated(A, B, np.zeros(B.shape[1]), budget)
        return w, None, solutions
    spectrum = Spectrum(A, B)
    return spectrum.weights(0.0), spectrum, ()


def ridge(A, B, alphas, solver="auto", budget=None):
    """The w that minimises |B - A w|^2 + alpha |w|^2 for each column of B and its alpha."""
    solver = _fitting(A, alphas, SAME_LIMIT.get(solver, solver))
    if solver in ("primal", "dual"):
        try:
            w, u = _by_cholesky(A, B, alphas, solver == "dual")
            return RidgeSolution(w, u, None, solver)
        except linalg.LinAlgError:
            solver = "lsmr" if _is_heavy(A) else "svd"
    if solver == "lsmr":
        w, solutions = iterated(A, B, alphas, budget)
        return RidgeSolution(w, None, None, solver, solutions)
    spectrum = Spectrum(A, B)
    return RidgeSolution(*spectrum.solution(alphas), spectrum.rank, solver)


def ridge_path(A, B, alphas):
    """The w for every alpha, from one factorisation if possible; shape (alphas, d, targets)."""
    if _is_heavy(A):
        return np.array([iterated(A, B, np.full(B.shape[1], alpha))[0] for alpha in alphas]), None
    spectrum = Spectrum(A, B)
    return np.array([spectrum.weights(alpha) for alpha in alphas]), spectrum.rank


def _fitting(A, alphas, solver):
    """The cheapest solver that is exact enough, unless one is asked for."""
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
    """Solve (A'A + alpha I) w = A'B, or its dual: (AA' + alpha I) u = B and w = A'u."""
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
    """Solve, and correct the answer by the residual of the equation, computed from A itself."""
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
    with np.errstate(over="ignore"):  # a share of zero is infinite
        return float(np.max(column_norms(part) / lengths))


def column_norms(values):
    return np.linalg.norm(values, axis=0)


def iterated(A, B, alphas, budget=None):
    """Solve by LSMR as far as rounding allows, with a warning where that takes too long.

    It returns w, and the solution of each of its columns.
    """
    budget = budget or Budget(np.inf)
    if budget.max_iter == np.inf:
        budget = budget.limited(10 * max(1000, min(A.shape)))
    problems = [RidgeProblem(A, b, alpha) for b, alpha in zip(B.T, alphas, strict=True)]
    solver = LSMR()
    solutions = in_turn(lambda k, share: solver.solve(problems[k], share), len(problems), budget)
    for problem, solution in zip(problems, solutions, strict=True):
        if solution.stopped not in ("converged", "interrupted"):
            slope = float(np.linalg.norm(problem.slope(solution.weights)))
            why = "" if solution.stopped == "max_iter" else f" ({solution.stopped})"
            warn(
                f"LSMR stopped after {solution.n_iter} iterations{why}; of the gradient "
                f"{slope:.1e} is left. Scale the features, or use a larger alpha.",
                ConvergenceWarning,
            )
    return np.column_stack([solution.weights for solution in solutions]), solutions


def certify_ridge(A, B, w, u, alphas):
    """The duality gap of 1/2 |w|^2 + 1/(2 alpha) |B - A w|^2.

    It is None where an alpha is 0, or so small that rounding alone makes a gap for any w.

    Ridge is a linear machine with a squared loss and no tube, and nothing bounds its dual point u,
    which is the residuals over alpha. Where the fit is close and alpha is small, these have few
    digits, so a u that the solver has found serves better.
    """
    if np.min(alphas) <= 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        is_lost = ~(_gap_of_rounding(A, B, w, u, alphas) <= CERTIFIED)  # NaN is lost, too
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
    """The relative gap that rounding leaves to any w, for each target.

    Rounding changes the residuals by a share of their terms, and thereby (or by as much of u) A'u;
    the gap has the squares of both.
    """
    length = np.sqrt(np.sum(arrays.squared_norms(A.rows)))
    in_residuals = EPSILON * (column_norms(B) + length * column_norms(w))
    in_u = in_residuals / alphas if u is None else EPSILON * column_norms(u)
    gap = in_residuals**2 + (np.sqrt(alphas) * length * in_u) ** 2
    objective = alphas * column_norms(w) ** 2 + column_norms(B - A @ w) ** 2
    return gap / np.maximum(objective, TINY)
