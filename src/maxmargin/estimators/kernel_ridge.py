"""Ridge regression in the feature space of a kernel: one linear system in the kernel matrix."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.engines import engine_named
from maxmargin.errors import ConvergenceWarning, RankWarning, warn
from maxmargin.estimators.base import restored_on_error
from maxmargin.estimators.linear import PENALTIES, one_per_target
from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    FINITE_POSITIVE,
    PAIRWISE_CONSTRAINTS,
    check_parameters,
    one_of,
    pairwise_kernel_of,
    rows_of,
)
from maxmargin.estimators.validation import (
    check_dense_gram,
    check_gram,
    check_size,
    check_unaltered,
    checked_kernel,
    checked_weight,
    part_of,
    shape_of_rows,
    validate_data,
)
from maxmargin.memory import check_room
from maxmargin.solvers.kernel_system import (
    KernelSystem,
    solve_kernel_by_gradients,
    solve_kernel_in_place,
)

SHAPES = {"gamma": None, "degree": 3, "coef0": 1}
CONSTRAINTS = {
    "alpha": PENALTIES,
    **PAIRWISE_CONSTRAINTS,
    "solver": one_of("auto", "cholesky", "cg"),
    "memory_limit": FINITE_POSITIVE,
    "tol": FINITE_POSITIVE,
    "max_iter": AT_LEAST_ONE,
}


class KernelRidge(RegressorMixin, BaseEstimator):
    """Ridge regression on the features of a kernel, without an intercept.

    f(x) = sum_i c_i k(x_i, x) with (K + alpha I) c = y, which minimises
    sum_i s_i (y_i - f(x_i))^2 + alpha |f|^2, where |f|^2 = c'Kc and s are the sample weights.

    Parameters
    ----------
    alpha : float of at least 0, or one per target, default=1.0
    kernel : str, Kernel or callable, default="linear"
        "linear", "poly" (or "polynomial"), "rbf", "sigmoid", "laplacian", "cosine", "precomputed",
        an object of `maxmargin.kernels`, or a function. As for `SVC` a function gets two sets of
        rows and returns the matrix between them; scikit-learn's KernelRidge hands it one pair at a
        time.
    gamma : float of at least 0, "scale", "auto" or None, default=None
        Of "poly", "rbf", "sigmoid" and "laplacian"; None is "auto", 1 / n_features.
    degree : int or None, default=3
        None is 3, as in `sklearn.metrics.pairwise`,
    coef0 : float or None, default=1
        and here it is 1.
    kernel_params : dict or None, default=None
        More keyword arguments of a function.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        "cholesky" factorises K in its own place. "cg" never forms K: conjugate gradients on tiles,
        preconditioned by a partial Cholesky factorisation. "auto" is "cholesky" as long as K fits
        `memory_limit`.
    memory_limit : float, default=4000
        MB, for K or, with "cg", for the preconditioner.
    tol : float, default=1e-8
        Of "cg": the largest residual |y - (K + alpha I) c|, relative to |y|.
    max_iter : int, default=1000
        Of "cg".

    Attributes
    ----------
    dual_coef_ : array of shape (n,), or (n, targets) where y has columns
    X_fit_ : array, sparse matrix or list
        The training rows. Of a precomputed kernel no rows are needed, and none kept.
    kernel_ : Kernel
        With every parameter a number.
    n_iter_ : int
        Steps of "cg"; 1 for "cholesky".
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import KernelRidge
    >>> model = KernelRidge(alpha=0.01, kernel="rbf", gamma=1.0)
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]).predict([[1.0]]).round(2)
    array([0.99])
    """

    def __init__(
        self,
        alpha=1,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        solver="auto",
        memory_limit=4000,
        tol=1e-8,
        max_iter=1000,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.solver = solver
        self.memory_limit = memory_limit
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._rows() != "gram"
        tags.input_tags.pairwise = self._rows() == "gram"
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or (n, n) for a precomputed kernel
        y : array of shape (n,) or (n, targets)
        sample_weight : array of shape (n,), optional
            Factors of the squared errors: a weight of two equals the row twice.

        Returns
        -------
        self
        """
        with restored_on_error(self):
            warning = self._fit(X, y, sample_weight)
        if warning is not None:
            warn(warning)
        return self

    def _fit(self, X, y, sample_weight):
        check_parameters(self, CONSTRAINTS)
        X, y = self._validated(X, y)
        check_size(self, y=y)
        weight = checked_weight(sample_weight, X)
        self.kernel_ = checked_kernel(self._kernel(), X, weight)
        used = np.flatnonzero(weight > 0)
        targets = y.astype(np.float64).reshape(len(y), -1)
        coef = np.zeros_like(targets)
        rows, root = part_of(self.kernel_, X, used), np.sqrt(weight[used])
        coef[used], warning = self._solve(rows, root, targets[used])
        self.dual_coef_ = coef.reshape(y.shape)
        self.X_fit_ = np.empty((len(X), 0)) if self._rows() == "gram" else arrays.copy_of(X)
        return warning

    def _solve(self, X, root, targets):
        """The coefficients, and a warning if they are not all that was asked for."""
        alphas, n = one_per_target(self, targets.shape[1]), len(root)
        B, memory = root[:, None] * targets, self.memory_limit * 2**20
        by_gradients = self.solver == "cg" or (self.solver == "auto" and 8 * n**2 > memory)
        if not by_gradients:
            advice = "solver='cg' needs no such matrix."
            check_room("KernelRidge: the kernel matrix", (n, n), advice)
        with engine_named("cpu") as engine:
            system = KernelSystem(self.kernel_, X, root, engine)
            if by_gradients:
                coef, self.n_iter_, residual = solve_kernel_by_gradients(
                    system, B, alphas, self.tol, self.max_iter, memory
                )
                return root[:, None] * coef, self._residual_warning(residual)
            K = system.matrix()
        # The engine is closed again, and with it BLAS has all its threads.
        coef, rank = solve_kernel_in_place(K, B, alphas)
        self.n_iter_ = 1
        return root[:, None] * coef, self._rank_warning(rank, n)

    def _residual_warning(self, residual):
        if residual <= self.tol:
            return None
        return ConvergenceWarning(
            f"KernelRidge: conjugate gradients stopped after {self.n_iter_} steps "
            f"(max_iter={self.max_iter}) with a relative residual of {residual:.1e} "
            f"(tol {self.tol:.0e}). Use a larger alpha, or raise max_iter or memory_limit."
        )

    def _rank_warning(self, rank, n):
        if rank == n:
            return None
        return RankWarning(
            f"KernelRidge: the matrix K + alpha I has rank {rank}, fewer than its {n} columns, so "
            "many answers fit equally well. The one of smallest norm was taken; a larger alpha "
            "leaves only one."
        )

    def predict(self, X):
        """The predicted target of every row of X; a column per target where y had columns."""
        X = self._validated_for_predict(X)
        self._check_unaltered()
        coef = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        with engine_named("cpu") as engine:
            values = engine.expand(self.kernel_, X, self.X_fit_, coef, np.arange(len(coef)))
        return values if self.dual_coef_.ndim == 2 else values[:, 0]

    def _check_unaltered(self):
        """A coefficient for every row; of a Gram matrix, which keeps none, for every column."""
        takes = self.kernel_.takes
        n = self.n_features_in_ if takes == "gram" else arrays.n_rows(self.X_fit_)
        rows = (n, 0) if takes == "gram" else shape_of_rows(self, n, takes)
        coef = (n,) if np.ndim(self.dual_coef_) == 1 else (n, None)
        check_unaltered(self, X_fit_=rows, dual_coef_=coef)

    # Input.

    def _rows(self):
        return rows_of(self.kernel)

    def _kernel(self):
        return pairwise_kernel_of(self, **SHAPES)

    def _validated(self, X, y):
        """X, as numbers unless the kernel takes anything, and y, which may have columns."""
        if self._rows() == "anything":
            check_consistent_length(X, y)
            y = check_array(y, ensure_2d=False, dtype="numeric", input_name="y")
            return _as_rows(X, "anything"), y
        X, y = validate_data(
            self, _as_rows(X, self._rows()), y, dtype=np.float64, order="C", accept_sparse="csr",
            multi_output=True, y_numeric=True,
        )  # fmt: skip
        if self._rows() == "gram":
            check_gram(X)
        return _as_rows(X, self._rows()), y

    def _validated_for_predict(self, X):
        check_is_fitted(self)
        holds = self.kernel_.takes  # in the fit, whatever `kernel` says by now
        X = _as_rows(X, holds)
        if holds != "anything":
            X = validate_data(
                self, X, dtype=np.float64, order="C", accept_sparse="csr", reset=False
            )
        return _as_rows(X, holds)


def _as_rows(X, holds):
    """A sparse X as sound, canonical CSR; anything else as it is."""
    if holds == "gram":
        check_dense_gram(X)
    if not arrays.is_sparse(X):
        return X
    arrays.check_indices(X)
    return arrays.canonical_csr(X)
