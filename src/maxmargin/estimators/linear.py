"""Linear regression with a squared loss: LinearRegression and Ridge, both in closed form.

The intercept is not penalised, so it drops out when rows and targets are centred by their weighted
mean. What is left is one linear system (`solvers/closed_form.py`), or, if weights must not be
negative, one for each set of weights that are not zero (`solvers/nonnegative.py`).
"""

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from maxmargin import arrays
from maxmargin.errors import RankWarning, warn
from maxmargin.estimators.limits import LIMITS, LimitedFit
from maxmargin.estimators.linear_base import LinearModel, LinearRegressor, Path
from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    FLAG,
    N_JOBS,
    SEED,
    Constraint,
    check_parameters,
    is_real,
    one_of,
    or_none,
)
from maxmargin.estimators.validation import checked_weight
from maxmargin.solvers import closed_form
from maxmargin.solvers.base import Budget
from maxmargin.solvers.nonnegative import nonnegative


def _is_penalty(value):
    return is_real(value) and 0 <= value < np.inf


def are_penalties(value):
    """Whether it is a number of at least 0, or a list of them."""
    return _is_penalty(value) or (
        isinstance(value, (list, tuple, np.ndarray))
        and np.ndim(value) == 1
        and len(value) > 0
        and all(map(_is_penalty, value))
    )


PENALTIES = Constraint("a number of at least 0, or one per target", are_penalties)
OWN_SOLVERS = ("auto", "primal", "dual", "cholesky", "svd", "lsmr")
CONSTRAINTS = {
    "fit_intercept": FLAG,
    "alpha": PENALTIES,
    "solver": one_of(*OWN_SOLVERS, *closed_form.SAME_LIMIT, "lbfgs"),
    "positive": FLAG,
    "max_iter": or_none(AT_LEAST_ONE),
    "tol": AT_LEAST_ZERO,
    "copy_X": FLAG,
    "n_jobs": N_JOBS,
    "random_state": SEED,
    **LIMITS,
}


def one_per_target(estimator, n_targets):
    """alpha as an array with an entry for every target."""
    alphas = np.asarray(estimator.alpha, dtype=np.float64)
    if alphas.ndim and len(alphas) != n_targets:
        raise ValueError(
            f"{type(estimator).__name__}: alpha must be a number or one per target, got "
            f"{len(alphas)} numbers for {n_targets} targets."
        )
    return np.full(n_targets, alphas) if alphas.ndim == 0 else alphas


class SquaredLossModel(LinearRegressor, LimitedFit, LinearModel):
    """What the two models share: centring, several targets, the smallest-norm warning.

    A subclass writes `_solve`, which returns w with a column per target, the rank of the centred X
    where the solution needed it, and the solutions of a solver that iterates.
    """

    max_time = callbacks = None  # a subclass may lack these parameters
    verbose = 0
    _flattens_one_column = False  # whether a y of one column gives a `coef_` of shape (d,)

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,) or (n, targets)
        sample_weight : array of shape (n,), optional
            The factor of each squared error; a weight of two equals the row twice.

        Returns
        -------
        self
        """
        max_iter = getattr(self, "max_iter", None) or np.inf
        self._fit_within_limits(X, y, sample_weight, max_iter)
        return self

    def _prepared(self, X, y, sample_weight):
        check_parameters(self, CONSTRAINTS)
        A, B, target_mean, y = self._centred(X, y, sample_weight)

        def solve_and_keep(budget):
            w, rank, solutions = self._solve(A, B, budget)
            self.coef_, self.intercept_ = self._as_shaped(w, target_mean - A.mean @ w, y)
            if not self.fit_intercept:
                self.intercept_ = 0.0
            self._warn_unless_unique(rank, A.shape[1])
            return solutions

        return B.shape[1], solve_and_keep

    def _centred(self, X, y, sample_weight):
        """A and B of `solvers/closed_form.py`, the mean of the targets, and y as it was given."""
        X, y = self._validated(X, y, multi_output=True)
        weight = checked_weight(sample_weight, X)
        used = np.flatnonzero(weight > 0)
        targets = y.astype(np.float64).reshape(len(y), -1)
        if len(used) < len(y):
            X, targets, weight = arrays.take(X, used), targets[used], weight[used]
        A = closed_form.Centred(X, weight, self.fit_intercept)
        B = closed_form.Centred(targets, weight, self.fit_intercept)
        return A, B.rows, B.mean, y

    def _warn_unless_unique(self, rank, n_columns):
        if rank is not None and rank < n_columns:
            warn(
                f"{type(self).__name__}: X has rank {rank}, fewer than its {n_columns} columns"
                f"{' (after centring)' if self.fit_intercept else ''}, so many answers fit equally "
                "well. The one of smallest norm was taken; Ridge with alpha > 0 has only one.",
                RankWarning,
            )

    def _as_shaped(self, w, intercept, y):
        """A vector and a number for y of shape (n,), as scikit-learn has them."""
        is_row = y.ndim == 1 or (self._flattens_one_column and y.shape[1] == 1)
        w = np.ascontiguousarray(w[..., 0] if is_row else np.swapaxes(w, -1, -2))
        return w, intercept[..., 0][()] if y.ndim == 1 else intercept


class LinearRegression(SquaredLossModel):
    """Ordinary least squares, by an orthogonal factorisation.

    It minimises sum_i s_i (y_i - w.x_i - b)^2, with s the sample weights. Where many w do that
    (with more features than points, or features that depend on each other), the w of smallest norm
    is taken, and a `RankWarning` says so.

    Parameters
    ----------
    fit_intercept : bool, default=True
    positive : bool, default=False
        Ask for w >= 0.
    copy_X, tol, n_jobs : default=True, 1e-6, None
        Accepted as in scikit-learn, without influence: X is never overwritten, and the answer is
        exact up to rounding.

    Attributes
    ----------
    coef_ : array of shape (d,), or (targets, d) where y has columns
    intercept_ : float, or array of shape (targets,); 0.0 without an intercept
    rank_ : int
        The rank of X, centred if there is an intercept. It is None with `positive`, and for a
        sparse X too large to factorise, which is solved by iteration.
    singular_ : array of shape (min(n, d),)
        The singular values of the same matrix, or None.
    certificate_ : Certificate or None
        With `positive`: the KKT conditions of 1/2 sum_i s_i (y_i - w.x_i - b)^2, a part per target.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(6)
    array([7.])
    >>> model.rank_
    1
    """

    def __init__(self, *, fit_intercept=True, copy_X=True, tol=1e-6, n_jobs=None, positive=False):
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    def _solve(self, A, B, budget):
        if self.positive:
            self.rank_ = self.singular_ = None
            w, self.certificate_, solutions = nonnegative(A, B, np.zeros(B.shape[1]), budget)
            return w, None, solutions
        self.certificate_ = None
        w, spectrum, solutions = closed_form.least_squares(A, B, budget)
        self.rank_ = None if spectrum is None else spectrum.rank
        self.singular_ = None if spectrum is None else spectrum.singular
        return w, self.rank_, solutions


class Ridge(SquaredLossModel):
    """Least squares with a price on the squared length of w, in closed form.

    It minimises sum_i s_i (y_i - w.x_i - b)^2 + alpha |w|^2, as in scikit-learn; b is not
    penalised. Texts write the same with other factors: 1/(2n) sum (y - f)^2 + lambda/(2n) |w|^2 has
    alpha = lambda, and 1/(2n) sum (y - f)^2 + lambda/2 |w|^2, a mean loss, has alpha = n lambda.

    Parameters
    ----------
    alpha : float of at least 0, or one per target, default=1.0
        0 is `LinearRegression`.
    fit_intercept : bool, default=True
    solver : str, default="auto"
        "primal" solves d equations in w, (A'A + alpha I) w = A'y with A the centred X; "dual"
        solves n of them, (AA' + alpha I) u = y, w = A'u. Both use Cholesky and refine the answer.
        "cholesky" is the smaller of the two. "svd" uses the singular values, also where Cholesky is
        not exact enough. "lsmr" iterates and needs products with X only. "auto" is "cholesky",
        "svd" for an alpha of 0 or several, and "lsmr" for a sparse X too large for a matrix. As
        scikit-learn's other solvers find the same w, "lsqr" and "sparse_cg" stand for "lsmr", "sag"
        and "saga" for "auto". "lbfgs" is for `positive`, as there.
    positive : bool, default=False
        Ask for w >= 0; `solver` is then "auto" or "lbfgs", and the search is exact.
    max_iter : int or None, default=None
        The most iterations of "lsmr"; None is ten times the smaller side of X, and 10_000 at least.
    copy_X, tol, random_state : default=True, 1e-4, None
        Accepted as in scikit-learn, without influence: X is never overwritten, the answer is exact
        up to rounding, and nothing is drawn.
    max_time : float or None, default=None
        The seconds that iterations of "lsmr" and of `positive` may take; a factorisation has no
        limit.
    callbacks : list of callables or None, default=None
        Each is called with a `Progress` after every such iteration; one that returns True ends
        the fit, which keeps the model so far.
    verbose : int, default=0
        1 shows a live line of progress on a terminal, 2 writes lines.

    Attributes
    ----------
    coef_ : array of shape (d,), or (targets, d) where y has two columns or more
    intercept_ : float, or array of shape (targets,) where y has columns; 0.0 without an intercept
    certificate_ : Certificate
        The certificate of 1/2 |w|^2 + 1/(2 alpha) sum_i s_i (y_i - w.x_i - b)^2, with a part per
        target; None for alpha=0, and for an alpha so small that rounding leaves nothing to prove.
        With `positive` it has the KKT conditions of alpha times that.
    n_iter_ : array of shape (targets,) or None
        The iterations of "lsmr".
    solver_ : str
        The solver used: "primal", "dual", "svd", "lsmr" or, with `positive`, "nonnegative".
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import Ridge
    >>> model = Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.coef_.round(4)
    array([1.3333])
    >>> model.certificate_.optimal
    True
    >>> model.path([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0], alphas=[0.0, 2.0]).coefs.round(4)
    array([[2.],
           [1.]])
    """

    _flattens_one_column = True

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        solver="auto",
        positive=False,
        random_state=None,
        max_time=None,
        callbacks=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.max_time = max_time
        self.callbacks = callbacks
        self.verbose = verbose

    def _check_solver(self):
        if self.solver in ("auto", "lbfgs") if self.positive else self.solver != "lbfgs":
            return
        wanted = "'auto' or 'lbfgs'" if self.positive else "another one"
        raise ValueError(
            f"Ridge: solver must be {wanted} for positive={self.positive}, got {self.solver!r}."
        )

    def _solve(self, A, B, budget):
        self._check_solver()
        alphas = one_per_target(self, B.shape[1])
        if self.positive:
            self.solver_, self.n_iter_ = "nonnegative", None
            w, self.certificate_, solutions = nonnegative(
                A, B, alphas, replace(budget, max_iter=np.inf)
            )
            return w, None, solutions
        w, u, rank, self.solver_, solutions = closed_form.ridge(A, B, alphas, self.solver, budget)
        self.n_iter_ = np.array([one.n_iter for one in solutions]) if solutions else None
        self.certificate_ = closed_form.certify_ridge(A, B, w, u, alphas)
        return w, rank if np.min(alphas) == 0 else None, solutions

    def path(self, X, y, alphas, sample_weight=None):
        """The model for many alphas, at about the cost of one; `alpha` itself is not used.

        With `positive` each alpha costs as much as a fit.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, which this neither needs nor replaces.
        alphas : array of shape (m,)

        Returns
        -------
        Path
            `coefs` of shape (m, d), or (m, targets, d) where y has two columns or more.
        """
        check_parameters(self, CONSTRAINTS)
        if np.ndim(alphas) != 1 or not are_penalties(alphas):
            raise ValueError(
                f"Ridge: alphas must be a list of numbers of at least 0, got {alphas!r}."
            )
        alphas = np.asarray(alphas, dtype=np.float64)
        A, B, target_mean, y = clone(self)._centred(X, y, sample_weight)
        w, rank = self._solve_path(A, B, alphas)
        coefs, intercepts = self._as_shaped(w, target_mean - A.mean @ w, y)
        self._warn_unless_unique(rank if np.min(alphas) == 0 else None, A.shape[1])
        return Path(alphas, coefs, intercepts, np.zeros(len(alphas)))

    def _solve_path(self, A, B, alphas):
        self._check_solver()
        if not self.positive:
            return closed_form.ridge_path(A, B, alphas)
        found = [nonnegative(A, B, np.full(B.shape[1], a), Budget(np.inf)) for a in alphas]
        if any(one.stopped == "interrupted" for _, _, solutions in found for one in solutions):
            raise KeyboardInterrupt
        return np.array([w for w, _, _ in found]), None
