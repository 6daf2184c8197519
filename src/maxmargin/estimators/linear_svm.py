"""Linear machines without a kernel: LinearSVC and LinearSVR.

They solve for w directly, penalise the bias like a weight, and so differ a little from
`SVC(kernel="linear")`; they scale to far more points.
"""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin import arrays
from maxmargin.errors import ConvergenceWarning
from maxmargin.estimators.base import restored_on_error
from maxmargin.estimators.parameters import LINEAR_CONSTRAINTS, check_parameters
from maxmargin.estimators.validation import checked_weight
from maxmargin.problems.certificate import combine
from maxmargin.problems.linear import linear_svc, linear_svr
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import Budget
from maxmargin.solvers.newton import LARGEST as LARGEST_FOR_NEWTON


class LinearSVM(BaseEstimator):
    """What the linear machines share: validation, the choice of solver, certificate, warning."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C per row: a weight of two equals the row twice.

        Returns
        -------
        self
        """
        with restored_on_error(self):
            reasons = self._fit(X, y, sample_weight)
        if reasons - {"converged"}:
            gap = self.certificate_.relative_gap
            warnings.warn(
                "Liblinear failed to converge, increase the number of iterations. "
                f"({type(self).__name__}: relative duality gap {gap:.1e}, tol {self.tol:.0e}, "
                f"max_iter={self.max_iter}. Scaling the features helps most.)",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _fit(self, X, y, sample_weight):
        check_parameters(self, LINEAR_CONSTRAINTS)
        if arrays.is_sparse(X):
            arrays.check_indices(X)
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", accept_sparse="csr",
            y_numeric=isinstance(self, RegressorMixin),
        )  # fmt: skip
        X = arrays.canonical_csr(X) if arrays.is_sparse(X) else X
        targets, cost = self._targets(y, checked_weight(sample_weight, X))
        used = np.flatnonzero(cost > 0)
        X = X if len(used) == len(y) else X[used]
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        problems = [self._problem(X, t[used], self.C * cost[used], bias) for t in targets]
        outcomes = [self._solve(problem) for problem in problems]
        weights = np.array([w for w, *_ in outcomes])
        self.coef_ = np.ascontiguousarray(weights[:, :-1])
        self.intercept_ = bias * weights[:, -1] if self.fit_intercept else 0.0
        self.n_iter_ = int(max(n_iter for _, _, n_iter, _ in outcomes))
        self.certificate_ = combine(
            [p.certify(w, c, self.tol) for p, (w, c, *_) in zip(problems, outcomes, strict=True)]
        )
        reasons = {stopped for *_, stopped in outcomes}
        self.converged_ = reasons == {"converged"} and self.certificate_.optimal
        return reasons

    def _solve(self, problem):
        """Newton for squared losses of not too many features; dual descent for the rest."""
        budget = Budget(self.max_iter)
        if problem.is_squared and problem.X.shape[1] < LARGEST_FOR_NEWTON:
            return solver_named("newton")(self.tol, self.max_iter).solve(problem, budget)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(np.iinfo(np.int32).max)
        return solver_named("dual_descent")(self.tol, self.max_iter, seed or 0).solve(
            problem, budget
        )

    def _decisions(self, X):
        check_is_fitted(self)
        if arrays.is_sparse(X):
            arrays.check_indices(X)
        X = validate_data(self, X, dtype=np.float64, accept_sparse="csr", reset=False)
        return np.asarray(X @ np.atleast_2d(self.coef_).T) + self.intercept_


class LinearSVC(ClassifierMixin, LinearSVM):
    """Linear classification, one machine per class against the rest.

    Minimises 1/2 (|w|^2 + b^2 / s^2) + C sum_i weight_i loss(1 - y_i (w.x_i + b)) with the hinge
    loss or its square; s is `intercept_scaling`.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
        "l1" is not available yet.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    dual : bool or "auto", default="auto"
        Accepted for compatibility: both problems have the same solution, and the faster is solved.
    tol : float, default=1e-4
        The largest relative duality gap.
    C, fit_intercept, intercept_scaling, class_weight, verbose, random_state, max_iter
        As in `sklearn.svm.LinearSVC`.
    multi_class : {"ovr"}, default="ovr"
        "crammer_singer" is not available yet.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        Primal and dual objective and their gap, recomputed in float64.
    converged_ : bool

    Examples
    --------
    >>> from maxmargin import LinearSVC
    >>> model = LinearSVC(C=10.0).fit([[0, 0], [1, 1], [3, 3], [4, 4]], [0, 0, 1, 1])
    >>> model.predict([[0.5, 0.5], [3.5, 3.5]])
    array([0, 1])
    >>> model.certificate_.optimal
    True
    """

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    def _targets(self, y, weight):
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_.tolist()[0]!r}"
            )
        factors = compute_class_weight(
            self.class_weight, classes=self.classes_, y=y, sample_weight=weight
        )
        cost = weight * factors[labels]
        if len(np.unique(labels[cost > 0])) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class."
            )
        positives = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(labels == k, 1.0, -1.0) for k in positives], cost

    def _problem(self, X, y, C, bias):
        return linear_svc(X, y, C, bias, squared=self.loss == "squared_hinge")

    def decision_function(self, X):
        """Signed values: one per row for two classes, one per row and class for more."""
        decisions = self._decisions(X)
        return decisions[:, 0] if len(self.classes_) == 2 else decisions

    def predict(self, X):
        """The label of every row of X."""
        decisions = self._decisions(X)
        if len(self.classes_) == 2:
            return self.classes_[(decisions[:, 0] > 0).astype(np.intp)]
        return self.classes_[np.argmax(decisions, axis=1)]


class LinearSVR(RegressorMixin, LinearSVM):
    """Linear regression with the epsilon-insensitive loss or its square.

    Parameters
    ----------
    epsilon : float of at least 0, default=0.0
    tol : float, default=1e-4
        The largest relative duality gap.
    C, fit_intercept, intercept_scaling, verbose, random_state, max_iter
        As in `sklearn.svm.LinearSVR`.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    dual : bool or "auto", default="auto"
        Accepted for compatibility: both problems have the same solution, and the faster is solved.

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
    converged_ : bool

    Examples
    --------
    >>> from maxmargin import LinearSVR
    >>> model = LinearSVR(C=100.0, intercept_scaling=10).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(1)
    array([7.])
    """

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    def _fit(self, X, y, sample_weight):
        reasons = super()._fit(X, y, sample_weight)
        self.coef_ = self.coef_.ravel()
        return reasons

    def _targets(self, y, weight):
        return [y], weight

    def _problem(self, X, y, C, bias):
        squared = self.loss == "squared_epsilon_insensitive"
        return linear_svr(X, y, C, bias, self.epsilon, squared)

    def predict(self, X):
        """The predicted target of every row of X."""
        return self._decisions(X)[:, 0]
