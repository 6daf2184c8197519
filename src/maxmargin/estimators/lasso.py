"""Lasso: least squares with an l1 penalty, which leaves most weights exactly zero."""

from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.engines.threads import workers
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.estimators.base import restored_on_error
from maxmargin.estimators.linear_base import LinearModel, Path
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
from maxmargin.problems.certificate import Certificate, combine
from maxmargin.problems.lasso import Features, LassoProblem

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
}
ROUNDING = 1e-14  # the smallest tol that floats can meet
VANISHING = 1e-10  # part of the largest alpha, which stands for the limit alpha -> 0


class Solved(NamedTuple):
    """One problem at one alpha, solved; the gap is in the scale of the objective."""

    w: np.ndarray
    gap: float
    n_iter: int
    proof: Certificate


class Lasso(RegressorMixin, LinearModel):
    """Linear regression with few features in use, exact and with a proof.

    Minimises 1/(2n) sum_i (y_i - w.x_i - b)^2 + alpha |w|_1. With sample weights, each square is
    multiplied by its weight and n is their sum: a weight of two equals the row twice. Texts that
    write 1/2 sum_i (...)^2 + lambda |w|_1 mean lambda = n alpha, those with sum_i (...)^2 mean
    lambda = 2 n alpha.

    Parameters
    ----------
    alpha : float of at least 0, default=1.0
        The price of |w|_1. Zero stands for the limit: of all least-squares solutions the one of
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

    Attributes
    ----------
    coef_ : array of shape (d,), or (number of targets, d) for two or more
    sparse_coef_ : sparse matrix of shape (number of targets, d)
    intercept_ : float, or array of shape (number of targets,) where y has columns
    dual_gap_ : float, or array of shape (number of targets,) for two or more
        How far at most the objective is from its minimum.
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

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
        with restored_on_error(self):
            self._fit(X, y, sample_weight)
        if self.alpha == 0:
            warn(
                "Lasso: alpha=0 is least squares without a penalty; of its solutions this is the "
                "one of smallest |w|_1. LinearRegression is faster.",
                UserWarning,
            )
        if not self.converged_:
            self._warn(float(np.max(self.dual_gap_)))
        return self

    def _fit(self, X, y, sample_weight):
        check_parameters(self, CONSTRAINTS)
        if self.warm_start and hasattr(self, "coef_"):
            self._check_start()  # before X tells of other features than those of the last fit
        X, y = self._validated(X, y, multi_output=True)
        problems, mean, centres = self._problems(X, y, sample_weight)
        solved = []
        with self._solver(problems[0].features) as solver:
            for k, problem in enumerate(problems):
                start = problem.start()
                alpha = self.alpha or VANISHING * problem.largest_alpha(start)
                start = self._previous(k, len(problems), problem) or start
                solved += self._along(solver, problem, [alpha], start)
        proofs = [step.proof for step in solved]
        self.converged_ = all(proof.optimal for proof in proofs)
        self.certificate_ = replace(combine(proofs), tol=min(proof.tol for proof in proofs))
        self._keep(solved, mean, centres)
        if y.ndim == 1 and self.fit_intercept:
            self.intercept_ = float(self.intercept_[0])

    def path(self, X, y, alphas=None, n_alphas=100, eps=1e-3, sample_weight=None):
        """The model for many alphas, each begun at the one before; the estimator is not changed.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        alphas : array of positive numbers, optional
            They are taken in decreasing order.
        n_alphas : int, default=100
            Without `alphas`: so many, evenly spaced on a logarithmic scale, from the smallest one
            that leaves all weights zero
        eps : float in (0, 1], default=1e-3
            down to this part of it.
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
        with self._solver(problem.features) as solver:
            start = problem.start()
            if alphas is None:
                alphas = _grid(problem.largest_alpha(start), n_alphas, eps)
            alphas = _checked(alphas)
            solved = self._along(solver, problem, alphas, start)
        coefs = np.array([step.w for step in solved])
        gaps = np.array([step.gap for step in solved])
        if not all(step.proof.optimal for step in solved):
            self._warn(float(np.max(gaps)))
        return Path(alphas, coefs, centres[0] - coefs @ mean, gaps)

    def predict(self, X):
        """The predicted target, or targets, of every row of X."""
        decisions = self._decisions(X)
        return decisions[:, 0] if self.coef_.ndim == 1 else decisions

    @property
    def sparse_coef_(self):
        """`coef_` as a sparse matrix with one row per target."""
        check_is_fitted(self)
        self._check_unaltered()
        return sparse.csr_matrix(self.coef_)

    def _problems(self, X, y, sample_weight):
        """One problem per target, on the same features; and what was subtracted from X and y."""
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
        problems = [LassoProblem(features, column.copy(), self.positive) for column in targets.T]
        return problems, mean, centres

    def _check_start(self):
        """Who has set `coef_` before the first fit may begin there, too."""
        n_features = getattr(self, "n_features_in_", None)
        check_unaltered(self, coef_=(None, n_features)[np.ndim(self.coef_) == 1 :])

    def _previous(self, k, n_targets, problem):
        """The point that the previous fit has left for target k, for a warm start."""
        coef = np.atleast_2d(arrays.dense(getattr(self, "coef_", 0.0))).astype(np.float64)
        if not self.warm_start or coef.shape != (n_targets, problem.features.n_features):
            return None
        return problem.at(np.maximum(coef[k], 0.0) if self.positive else coef[k])

    @contextmanager
    def _solver(self, features):
        from maxmargin.solvers.coordinate_descent import CoordinateDescent

        with workers(1):  # the systems are too small for the threads of BLAS
            yield CoordinateDescent(features, self._tol, self.max_iter)

    @property
    def _tol(self):
        return max(self.tol, ROUNDING)

    def _along(self, solver, problem, alphas, point):
        """Solve for one alpha after the other, each from the one before."""
        solved = []
        for alpha in alphas:
            penalty = alpha * problem.total_weight
            point, gap, n_iter = solver.solve(problem, penalty, point)
            proof = problem.certify(point, penalty, self._tol)
            solved.append(Solved(point.w, gap / problem.total_weight, n_iter, proof))
        return solved

    def _keep(self, solved, mean, centres):
        """One target has a vector and numbers; as in scikit-learn, not of y's shape."""
        self.coef_ = np.array([step.w for step in solved])
        self.intercept_ = centres - self.coef_ @ mean if self.fit_intercept else 0.0
        self.dual_gap_ = np.array([step.gap for step in solved])
        self.n_iter_ = [max(1, step.n_iter) for step in solved]
        if len(solved) == 1:
            self.coef_, self.n_iter_ = self.coef_[0], self.n_iter_[0]
            self.dual_gap_ = float(self.dual_gap_[0])

    def _warn(self, gap):
        warn(
            f"Lasso stopped at max_iter={self.max_iter}: duality gap {gap:.1e}, which is above "
            f"tol={self.tol:.0e} times the mean square of y. Scale the features, or raise max_iter "
            "or alpha.",
            ConvergenceWarning,
        )


def _grid(largest, n_alphas, eps):
    if not is_whole(n_alphas) or n_alphas < 1:
        raise ValueError(f"Lasso: n_alphas must be a whole number of at least 1, got {n_alphas!r}.")
    if not is_real(eps) or not 0 < eps <= 1:
        raise ValueError(f"Lasso: eps must be a number in (0, 1], got {eps!r}.")
    # Of a constant y the largest alpha is zero, and any positive one will do.
    largest = max(largest, np.finfo(np.float64).tiny / eps)
    return np.geomspace(largest, eps * largest, n_alphas)


def _checked(alphas):
    alphas = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
    if not len(alphas) or not np.all(np.isfinite(alphas)) or alphas[-1] <= 0:
        raise ValueError(f"Lasso: alphas must be positive numbers, got {alphas.tolist()}.")
    return alphas
