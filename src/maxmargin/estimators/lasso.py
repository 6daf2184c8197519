"""Lasso: least squares with an l1 penalty, which leaves most weights exactly zero."""

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.engines.threads import workers
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.estimators.limits import LIMITS, LimitedFit
from maxmargin.estimators.linear_base import LinearModel, LinearRegressor, Path
from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    FLAG,
    SEED,
    Constraint,
    check_parameters,
    is_flag,
    is_real,
    is_whole,
    one_of,
)
from maxmargin.estimators.validation import check_unaltered, checked_weight
from maxmargin.problems.certificate import combine
from maxmargin.problems.lasso import Features, LassoProblem
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import Budget, LinearSolution
from maxmargin.solvers.several import in_turn

CONSTRAINTS = {
    "alpha": AT_LEAST_ZERO,
    "fit_intercept": FLAG,
    "max_iter": AT_LEAST_ONE,
    "tol": AT_LEAST_ZERO,
    "warm_start": FLAG,
    "positive": FLAG,
    "precompute": Constraint("True or False (a Gram matrix of your own is not read)", is_flag),
    "copy_X": FLAG,
    "selection": one_of("cyclic", "random"),
    "random_state": SEED,
    **LIMITS,
}
ROUNDING = 1e-14  # Floats cannot meet a smaller tol.
VANISHING = 1e-10  # This part of the largest alpha stands for the limit alpha -> 0.


class Lasso(LinearRegressor, LimitedFit, LinearModel):
    """Linear regression with few features in use, exact and with a proof.

    It minimises 1/(2n) sum_i (y_i - w.x_i - b)^2 + alpha |w|_1. With sample weights, each square is
    multiplied by its weight and n is their sum: a weight of two equals the row twice. Texts that
    write 1/2 sum_i (...)^2 + lambda |w|_1 mean lambda = n alpha; those with sum_i (...)^2 mean
    lambda = 2 n alpha.

    Parameters
    ----------
    alpha : float of at least 0, default=1.0
        The price of |w|_1. Zero stands for the limit, which is the least-squares solution of
        smallest |w|_1, with a warning.
    fit_intercept : bool, default=True
        The bias b is not penalised.
    max_iter : int, default=1000
        The most iterations: sweeps of coordinate descent within a working set, and linear systems.
    tol : float, default=1e-4
        The largest duality gap, relative to sum_i weight_i (y_i - mean)^2 / n, as in scikit-learn.
    warm_start : bool, default=False
        Begin at the `coef_` of the previous fit.
    positive : bool, default=False
        Ask for w >= 0.
    precompute, copy_X, selection, random_state : default=False, True, "cyclic", None
        Accepted as in scikit-learn, without influence: products of features are computed as far
        as they are needed, X is never overwritten, and no order is drawn.
    max_time : float or None, default=None
        The seconds that the whole fit may take.
    callbacks : list of callables or None, default=None
        Each is called with a `Progress` after every slice of work; one that returns True ends the
        fit, which keeps the model so far.
    verbose : int, default=0
        1 shows a live line of progress on a terminal, 2 writes lines.

    Attributes
    ----------
    coef_ : array of shape (d,), or (number of targets, d) for two or more
    sparse_coef_ : sparse matrix of shape (number of targets, d)
    intercept_ : float, or array of shape (number of targets,) where y has columns
    dual_gap_ : float, or array of shape (number of targets,) for two or more
        The most that the objective can be above its minimum.
    n_iter_ : int, or list of int
    certificate_ : Certificate
        Primal and dual objective and their gap, computed from the data.
    converged_ : bool
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import Lasso
    >>> X = [[-1.0, 1.0], [0.0, -2.0], [1.0, 1.0]]
    >>> model = Lasso(alpha=0.5).fit(X, [-3.0, 0.0, 3.0])
    >>> model.coef_.round(6)
    array([2.25, 0.  ])
    >>> model.certificate_.optimal
    True
    """

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        precompute=False,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        max_time=None,
        callbacks=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.max_time = max_time
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,) or (n, number of targets)
            Several targets are separate problems.
        sample_weight : array of shape (n,), optional
            A weight of two equals the row twice.

        Returns
        -------
        self
        """
        solutions = self._fit_within_limits(X, y, sample_weight, self.max_iter)
        if self.alpha == 0:
            warn(
                "Lasso: alpha=0 is least squares without a penalty; of its solutions this is the "
                "one of smallest |w|_1. LinearRegression is faster.",
                UserWarning,
            )
        if not self.converged_:
            self._warn(float(np.max(self.dual_gap_)), self._end_of(solutions) or "early")
        return self

    def _prepared(self, X, y, sample_weight):
        check_parameters(self, CONSTRAINTS)
        if self.warm_start and hasattr(self, "coef_"):
            self._check_start()  # X may have other features than the last fit
        X, y = self._validated(X, y, multi_output=True)
        problems, mean, centres = self._problems(X, y, sample_weight)
        problems = [
            problem.priced(self.alpha or VANISHING * problem.largest_alpha(problem.start()))
            for problem in problems
        ]
        starts, solver = self._starts(len(problems), X.shape[1]), self._solver()

        def solve_and_keep(budget):
            with workers(1):  # the systems are too small for the threads of BLAS
                solutions = in_turn(
                    lambda k, share: solver.solve(problems[k], share, starts[k]),
                    len(problems),
                    budget,
                )
            found = list(zip(problems, solutions, strict=True))
            proofs = [problem.certify(one.point, self._tol) for problem, one in found]
            is_over = all(one.stopped != "interrupted" for one in solutions)
            self.converged_ = is_over and all(proof.optimal for proof in proofs)
            self.certificate_ = replace(combine(proofs), tol=min(proof.tol for proof in proofs))
            self.dual_gap_ = np.array([problem.mean_gap(one.point) for problem, one in found])
            self._keep(solutions, mean, centres)
            if y.ndim == 1 and self.fit_intercept:
                self.intercept_ = float(self.intercept_[0])
            return solutions

        return len(problems), solve_and_keep

    def path(self, X, y, alphas=None, n_alphas=100, eps=1e-3, sample_weight=None):
        """The model for many alphas, each begun at the last one; the estimator is not changed.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        alphas : array of positive numbers, optional
            They are taken in decreasing order.
        n_alphas : int, default=100
            The number of alphas if `alphas` is not given: they are evenly spaced on a logarithmic
            scale, down from the smallest one that leaves all weights zero.
        eps : float in (0, 1], default=1e-3
            The smallest of these alphas, as a part of the largest.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        Path
            alphas, coefs (one row each), intercepts and dual_gaps.

        Examples
        --------
        >>> from maxmargin import Lasso
        >>> path = Lasso().path([[-1.0], [0.0], [1.0]], [-3.0, 0.0, 3.0], alphas=[2.0, 1.0, 0.5])
        >>> path.coefs.ravel().round(6)
        array([0.  , 1.5 , 2.25])
        """
        check_parameters(self, CONSTRAINTS)
        X, y = clone(self)._validated(X, y)
        (problem,), mean, centres = self._problems(X, y, sample_weight)
        if alphas is None:
            alphas = _grid(problem.largest_alpha(problem.start()), n_alphas, eps)
        alphas = _checked(alphas)
        coefs, gaps, are_optimal = map(np.array, zip(*self._along(problem, alphas), strict=True))
        if not np.all(are_optimal):
            self._warn(float(np.max(gaps)), f"at max_iter={self.max_iter}")
        return Path(alphas, coefs, centres[0] - coefs @ mean, gaps)

    def _along(self, problem, alphas):
        """Yield w, its gap and whether it is proved to be optimal, for one alpha after the other,
        each begun at the one before."""
        solver, last = self._solver(), None
        for alpha in alphas:
            priced = problem.priced(alpha)
            with workers(1):
                last = solver.solve(priced, Budget(self.max_iter), last)
            if last.stopped == "interrupted":
                raise KeyboardInterrupt
            is_optimal = priced.certify(last.point, self._tol).optimal
            yield last.weights, priced.mean_gap(last.point), is_optimal

    @property
    def sparse_coef_(self):
        """`coef_` as a sparse matrix with one row per target."""
        check_is_fitted(self)
        self._check_unaltered()
        return sparse.csr_matrix(self.coef_)

    def _problems(self, X, y, sample_weight):
        """One problem per target, on the same features; and the means subtracted from X and y."""
        weight = checked_weight(sample_weight, X)
        used = weight > 0
        if not np.all(used):
            X, y, weight = X[used], y[used], weight[used]
        targets = y.reshape(len(y), -1).astype(np.float64)
        mean, centres = np.zeros(X.shape[1]), np.zeros(targets.shape[1])
        if self.fit_intercept:
            mean = np.asarray(X.T @ weight) / weight.sum()
            centres = targets.T @ weight / weight.sum()
        features = Features.of(X, weight, mean)
        targets -= centres
        targets[np.abs(targets) <= 4 * np.finfo(np.float64).eps * np.abs(centres)] = 0.0
        targets *= features.root[:, None]
        problems = [
            LassoProblem(features, column.copy(), positive=self.positive) for column in targets.T
        ]
        return problems, mean, centres

    def _check_start(self):
        """Refuse an altered `coef_`; one that was set before the first fit is a start, too."""
        n_features = getattr(self, "n_features_in_", None)
        check_unaltered(self, coef_=(None, n_features)[np.ndim(self.coef_) == 1 :])

    def _starts(self, n_targets, n_features):
        """The weights of the previous fit for each target, for a warm start."""
        coef = np.atleast_2d(arrays.dense(getattr(self, "coef_", 0.0))).astype(np.float64)
        if not self.warm_start or coef.shape != (n_targets, n_features):
            return [None] * n_targets
        return [LinearSolution(w) for w in (np.maximum(coef, 0.0) if self.positive else coef)]

    def _solver(self):
        return solver_named("coordinate_descent")(self._tol)

    @property
    def _tol(self):
        return max(self.tol, ROUNDING)

    def _keep(self, solutions, mean, centres):
        """Keep the model. As in scikit-learn, one target has a vector even if y has a column."""
        self.coef_ = np.array([solution.weights for solution in solutions])
        self.intercept_ = centres - self.coef_ @ mean if self.fit_intercept else 0.0
        self.n_iter_ = [max(1, solution.n_iter) for solution in solutions]
        if len(solutions) == 1:
            self.coef_, self.n_iter_ = self.coef_[0], self.n_iter_[0]
            self.dual_gap_ = float(self.dual_gap_[0])

    def _warn(self, gap, end):
        warn(
            f"Lasso stopped {end}: duality gap {gap:.1e}, which is above tol={self.tol:.0e} times "
            "the mean square of y. Scale the features, or raise max_iter or alpha.",
            ConvergenceWarning,
        )


def _grid(largest, n_alphas, eps):
    if not is_whole(n_alphas) or n_alphas < 1:
        raise ValueError(f"Lasso: n_alphas must be a whole number of at least 1, got {n_alphas!r}.")
    if not is_real(eps) or not 0 < eps <= 1:
        raise ValueError(f"Lasso: eps must be a number in (0, 1], got {eps!r}.")
    # If y is constant, the largest alpha is zero, and any positive one will do.
    largest = max(largest, np.finfo(np.float64).tiny / eps)
    return np.geomspace(largest, eps * largest, n_alphas)


def _checked(alphas):
    alphas = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if not len(alphas) or not np.all(np.isfinite(alphas)) or alphas[-1] <= 0:
        raise ValueError(f"Lasso: alphas must be positive numbers, got {alphas.tolist()}.")
    return alphas
