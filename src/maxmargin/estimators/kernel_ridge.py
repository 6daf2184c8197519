"""Ridge regression in the feature space of a kernel: one linear system in the kernel matrix."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array

from maxmargin import arrays
from maxmargin.errors import ConvergenceWarning, RankWarning, warn
from maxmargin.estimators.answers import KernelModel
from maxmargin.estimators.limits import LIMITS, LimitedFit
from maxmargin.estimators.linear import PENALTIES, one_per_target
from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    FINITE_POSITIVE,
    PAIRWISE_CONSTRAINTS,
    SVM_CONSTRAINTS,
    check_parameters,
    one_of,
    pairwise_kernel_of,
)
from maxmargin.estimators.validation import (
    check_dense_gram,
    check_size,
    check_unaltered,
    checked_weight,
    look_at_mercer,
    resolved_kernel,
    shape_of_rows,
)
from maxmargin.memory import check_room, rows_at_a_time
from maxmargin.solvers.kernel_system import ConjugateGradients, KernelSystem, solve_kernel_in_place

SHAPES = {"gamma": None, "degree": 3, "coef0": 1}
CONSTRAINTS = {
    "alpha": PENALTIES,
    **PAIRWISE_CONSTRAINTS,
    "solver": one_of("auto", "cholesky", "cg"),
    "memory_limit": FINITE_POSITIVE,
    "tol": FINITE_POSITIVE,
    "max_iter": AT_LEAST_ONE,
    **LIMITS,
    "engine": SVM_CONSTRAINTS["engine"],
}


class KernelRidge(RegressorMixin, LimitedFit, KernelModel, BaseEstimator):
    """Ridge regression on the features of a kernel, without an intercept.

    f(x) = sum_i c_i k(x_i, x) with (K + alpha I) c = y, which minimises
    sum_i s_i (y_i - f(x_i))^2 + alpha |f|^2, where |f|^2 = c'Kc and s are the sample weights.

    Parameters
    ----------
    alpha : float of at least 0, or one per target, default=1.0
    kernel : str, Kernel or callable, default="linear"
        "linear", "poly" (or "polynomial"), "rbf", "sigmoid", "laplacian", "cosine", "precomputed",
        an object of `maxmargin.kernels`, or a function. As for `SVC`, a function takes two sets of
        rows and returns the matrix between them; scikit-learn's KernelRidge calls it with one pair
        at a time.
    gamma : float of at least 0, "scale", "auto" or None, default=None
        The gamma of "poly", "rbf", "sigmoid" and "laplacian"; None is "auto", 1 / n_features.
    degree : int or None, default=3
        None is 3, as in `sklearn.metrics.pairwise`.
    coef0 : float or None, default=1
        None is 1, as in `sklearn.metrics.pairwise`.
    kernel_params : dict or None, default=None
        More keyword arguments of a kernel that is a function.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        "cholesky" factorises K in place. "cg" never forms K: it makes conjugate gradients on tiles,
        preconditioned by a partial Cholesky factorisation. "auto" is "cholesky" as long as K fits
        `memory_limit`.
    memory_limit : float, default=4000
        The memory in MB for K or, with "cg", for the preconditioner.
    tol : float, default=1e-8
        The largest residual |y - (K + alpha I) c| of "cg", relative to |y|.
    max_iter : int, default=1000
        The most steps of "cg".
    max_time : float or None, default=None
        The seconds that the steps of "cg" may take; a factorisation has no limit.
    callbacks : list of callables or None, default=None
        Each is called with a `Progress` after every such step; one that returns True ends the fit,
        which keeps the model so far.
    verbose : int, default=0
        1 shows a live line of progress on a terminal, 2 writes lines.
    engine : str or engine object, default="auto"
        As in `SVC`.

    Attributes
    ----------
    dual_coef_ : array of shape (n,), or (n, targets) where y has columns
    X_fit_ : array, sparse matrix or list
        The training rows. A precomputed kernel needs no rows, and none are kept.
    kernel_ : Kernel
        The kernel of the fit, with every parameter a number.
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
        max_time=None,
        callbacks=None,
        verbose=0,
        engine="auto",
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
        self.max_time = max_time
        self.callbacks = callbacks
        self.verbose = verbose
        self.engine = engine

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or (n, n) for a precomputed kernel
        y : array of shape (n,) or (n, targets)
        sample_weight : array of shape (n,), optional
            The factor of each squared error; a weight of two equals the row twice.

        Returns
        -------
        self
        """
        (solution,) = self._fit_within_limits(X, y, sample_weight, self.max_iter)
        if not solution.converged:
            self._warn_of_residual(solution)
        elif solution.rank is not None and solution.rank < len(solution.coef):
            self._warn_of_rank(solution)
        return self

    def _prepared(self, X, y, sample_weight):
        check_parameters(self, CONSTRAINTS)
        X, y = self._validated_for_fit(X, y, multi_output=True, y_numeric=True)
        check_size(self, y=y)
        weight = checked_weight(sample_weight, X)
        used = np.flatnonzero(weight > 0)
        targets = y.astype(np.float64).reshape(len(y), -1)
        alphas = one_per_target(self, targets.shape[1])
        root = np.sqrt(weight[used])

        def solve_and_keep(budget):
            solution = self._solve(X, weight, used, root[:, None] * targets[used], alphas, budget)
            coef = np.zeros_like(targets)
            coef[used] = root[:, None] * solution.coef
            self.dual_coef_, self.n_iter_ = coef.reshape(y.shape), max(1, solution.n_iter)
            self.X_fit_ = np.empty((len(X), 0)) if self._rows() == "gram" else arrays.copy_of(X)
            return [solution]

        return 1, solve_and_keep

    def _solve(self, X, weight, used, B, alphas, budget):
        n, memory = len(used), self.memory_limit * 2**20
        with self._new_engine() as engine:
            points = engine.points(X)
            self.kernel_ = resolved_kernel(self._kernel(), points, weight)
            points = points[used]
            look_at_mercer(engine.matrix(self.kernel_, points))
            system = KernelSystem(self.kernel_, points, np.sqrt(weight[used]), engine, B, alphas)
            if self.solver == "cg" or (self.solver == "auto" and 8 * n**2 > memory):
                return ConjugateGradients(self.tol, memory).solve(system, budget)
            advice = "solver='cg' needs no such matrix."
            check_room("KernelRidge: the kernel matrix", (n, n), advice)
            K = system.matrix()
        # BLAS has all its threads here, because the engine is closed again.
        return solve_kernel_in_place(K, B, alphas)

    def _warn_of_residual(self, solution):
        end = self._end_of([solution]) or "early"
        warn(
            f"KernelRidge: conjugate gradients stopped after {self.n_iter_} steps "
            f"({end.removeprefix('at ')}) with a relative residual of {solution.violation:.1e} "
            f"(tol {self.tol:.0e}). Use a larger alpha, or raise max_iter or memory_limit.",
            ConvergenceWarning,
        )

    def _warn_of_rank(self, solution):
        warn(
            f"KernelRidge: the matrix K + alpha I has rank {solution.rank}, fewer than its "
            f"{len(solution.coef)} columns, so many answers fit equally well. The one of smallest "
            "norm was taken; a larger alpha leaves only one.",
            RankWarning,
        )

    def predict(self, X):
        """The predicted target of every row of X; a column per target where y had columns."""

        def shaped(values, rows):
            return values if self.dual_coef_.ndim == 2 else values[:, 0]

        return self._answers(X, shaped)

    def _centres(self, engine):
        return engine.points(self.X_fit_)

    def _columns(self):
        """The coefficients, a column per target."""
        return self.dual_coef_.reshape(len(self.dual_coef_), -1)

    def _rows_at_a_time(self):
        return rows_at_a_time(2 * self._columns().shape[1])

    def _decisions_from(self, expand):
        return expand(self._columns())

    def _check_unaltered(self):
        """Make sure that there is a coefficient for every row, or column of a Gram matrix."""
        takes = self.kernel_.takes
        n = self.n_features_in_ if takes == "gram" else arrays.n_rows(self.X_fit_)
        rows = (n, 0) if takes == "gram" else shape_of_rows(self, n, takes)
        coef = (n,) if np.ndim(self.dual_coef_) == 1 else (n, None)
        check_unaltered(self, X_fit_=rows, dual_coef_=coef)

    # Input.

    def _kernel(self):
        return pairwise_kernel_of(self, **SHAPES)

    def _targets_of_anything(self, y):
        return check_array(y, ensure_2d=False, dtype="numeric", input_name="y")

    def _rows_for_predict(self, X):
        if self.kernel_.takes == "gram":
            check_dense_gram(X)
        return super()._rows_for_predict(X)
