"""The perceptron as an estimator, in w or with a kernel."""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.estimators.base import restored_on_error
from maxmargin.estimators.linear_base import LinearModel
from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    FINITE_POSITIVE,
    FLAG,
    KERNELS,
    N_JOBS,
    SEED,
    SVM_CONSTRAINTS,
    Constraint,
    check_parameters,
    kernel_of,
    or_none,
)
from maxmargin.estimators.validation import check_unaltered, checked_kernel, seed_of
from maxmargin.kernels import Kernel

BLOCK_ENTRIES = 1_000_000  # of the kernel matrix that a prediction holds at a time
KERNEL_NAMES = tuple(name for name in KERNELS if name != "precomputed")

PERCEPTRON_CONSTRAINTS = {
    "fit_intercept": FLAG,
    "max_updates": AT_LEAST_ONE,
    "kernel": Constraint(
        "None, " + ", ".join(map(repr, KERNEL_NAMES)) + " or a Kernel of features",
        lambda v: (
            v is None
            or (isinstance(v, str) and v in KERNEL_NAMES)
            or (isinstance(v, Kernel) and v.takes != "gram")
        ),
    ),
    **{name: SVM_CONSTRAINTS[name] for name in ("degree", "gamma", "coef0")},
    "max_iter": or_none(AT_LEAST_ONE),
    "eta0": FINITE_POSITIVE,
    "shuffle": FLAG,
    "random_state": SEED,
    "class_weight": Constraint(
        "None, 'balanced' or a dict of finite class weights above 0",
        lambda v: (
            SVM_CONSTRAINTS["class_weight"].holds(v)
            and (v is None or isinstance(v, str) or all(weight > 0 for weight in v.values()))
        ),
    ),
    "warm_start": FLAG,
    "n_jobs": N_JOBS,
}


class Perceptron(ClassifierMixin, LinearModel):
    """Rosenblatt's perceptron: w += y x and b += y at every mistake y (w.x + b) <= 0.

    The points are visited in their order, again and again, until a whole pass is right. On data
    that a hyperplane separates this ends after at most (R / rho)^2 updates, R being the length of
    the longest point and rho the margin (`maxmargin.solvers.perceptron` has the proof); on other
    data it ends at `max_updates`, with a warning that counts the mistakes left. Several classes are
    learned one against the rest.

    Parameters
    ----------
    fit_intercept : bool, default=True
    max_updates : int, default=10_000
        The most corrections, for each class against the rest.
    kernel : None, str or Kernel, default=None
        None learns w itself. A kernel ("linear", "poly", "rbf", "sigmoid", "laplacian" or an object
        of `maxmargin.kernels`) takes the place of the dot product: the dual form, which counts the
        mistakes at every point, f(x) = sum_i mistakes_i y_i (k(x_i, x) + 1).
    degree, gamma, coef0
        Of a kernel given by its name, as in `SVC`.
    max_iter : int or None, default=None
        The most passes over the data.
    eta0 : float above 0, default=1.0
        A factor of every correction, and so of w; it changes no prediction but after a warm start.
    shuffle : bool, default=False
        Visit the points in a new order in every pass.
    random_state : int, RandomState, Generator or None, default=None
        The seed of these orders; None is the same every time.
    class_weight : None, "balanced" or dict, default=None
        Factors of the corrections at the points of each class. Of three or more classes each has
        its weight only in its own machine, where the rest has weight one, as in scikit-learn.
    warm_start : bool, default=False
        Begin at the weights of the last fit, which had the same features and classes. Not with a
        kernel.
    n_jobs : int or None, default=None
        Accepted as in scikit-learn, without influence.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, d)
        Without a kernel only.
    intercept_ : array of shape (1 or n_classes,)
    mistakes_ : array of int of shape (n,), or (n_classes, n) for more than two classes
        How often each training point was corrected.
    n_updates_ : int
        The sum of `mistakes_`.
    n_passes_, n_iter_ : int
        Passes over the data, the last one included; the most of any class.
    mistakes_left_ : int
        Training points still on the wrong side (of any class's boundary).
    converged_ : bool
        Whether no mistake is left.
    support_, support_vectors_, dual_coef_
        With a kernel: the points corrected at least once, and mistakes_i y_i for each, times
        `eta0` and the weight of its class.
    kernel_ : Kernel or None
        With every parameter a number.
    classes_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from maxmargin import Perceptron
    >>> model = Perceptron().fit([[0, 0], [1, 1], [3, 3], [4, 4]], [0, 0, 1, 1])
    >>> model.predict([[0.5, 0.5], [3.5, 3.5]])
    array([0, 1])
    >>> model.n_updates_, model.mistakes_
    (5, array([2, 2, 1, 0]))
    """

    def __init__(
        self,
        *,
        fit_intercept=True,
        max_updates=10_000,
        kernel=None,
        degree=3,
        gamma="scale",
        coef0=0.0,
        max_iter=None,
        eta0=1.0,
        shuffle=False,
        random_state=None,
        class_weight=None,
        warm_start=False,
        n_jobs=None,
    ):
        self.fit_intercept = fit_intercept
        self.max_updates = max_updates
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.max_iter = max_iter
        self.eta0 = eta0
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def fit(self, X, y):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        self
        """
        with restored_on_error(self):
            self._fit(X, y)
        if not self.converged_:
            self._warn()
        return self

    def _warn(self):
        advice = (
            "another kernel" if self.kernel_ is not None else "a kernel, or a soft margin (SVC)"
        )
        limit = "max_iter" if self.n_passes_ == self.max_iter else "max_updates"
        warn(
            f"{type(self).__name__} stopped at {limit}={getattr(self, limit)} with mistakes "
            f"left: {self.mistakes_left_} of {self.mistakes_.shape[-1]} training points are "
            f"still wrong. The data may not be separable: raise {limit}, or try {advice}.",
            ConvergenceWarning,
        )

    def _fit(self, X, y):
        check_parameters(self, PERCEPTRON_CONSTRAINTS)
        known = vars(self).copy() if self.warm_start and hasattr(self, "coef_") else None
        X, y = self._validated(X, y)
        targets, costs = self._class_targets(y, np.ones(len(y)), self.class_weight)
        self.kernel_ = None if self.kernel is None else checked_kernel(kernel_of(self), X)
        starts = self._starts(known, (len(targets), X.shape[1]))
        machines = zip(targets, costs, starts, strict=True)
        steps, outcomes = [], []
        for target, cost, start in machines:
            steps.append(self.eta0 * cost * target)
            outcomes.append(self._learn(X, target, self.eta0 * cost, start))
        self._keep(X, steps, outcomes)

    def _starts(self, known, shape):
        """Where each machine begins: None, or the w and b of the last fit."""
        if self.warm_start and self.kernel is not None:
            raise ValueError("Perceptron: warm_start goes on with w, which a kernel has not.")
        if known is None:
            return [None] * shape[0]
        same = np.array_equal(known["classes_"], self.classes_) and known["coef_"].shape == shape
        if not same:
            raise ValueError(
                "Perceptron: warm_start goes on with the features and the classes of the last fit, "
                "and these are others; set warm_start=False."
            )
        return np.column_stack([known["coef_"], known["intercept_"]])

    def _learn(self, X, target, rates, start):
        from maxmargin.solvers.perceptron import Visits, dual, primal

        max_passes = np.inf if self.max_iter is None else self.max_iter
        seed = seed_of(self.random_state) if self.shuffle else None
        visits = Visits(self.max_updates, max_passes, rates, seed)
        if self.kernel_ is None:
            return primal(X, target, bool(self.fit_intercept), visits, start)
        return dual(self.kernel_, X, target, bool(self.fit_intercept), visits)

    def _keep(self, X, steps, outcomes):
        mistakes = np.array([outcome.mistakes for outcome in outcomes])
        weights = np.array([outcome.w for outcome in outcomes])
        self.intercept_ = weights[:, -1].copy()
        for name in ("coef_", "support_", "support_vectors_", "dual_coef_"):
            vars(self).pop(name, None)  # an earlier fit may have had the other form
        if self.kernel_ is None:
            self.coef_ = np.ascontiguousarray(weights[:, :-1])
        else:
            self.support_ = np.flatnonzero(mistakes.any(axis=0))
            self.support_vectors_ = arrays.take(X, self.support_)
            self.dual_coef_ = (mistakes * np.array(steps))[:, self.support_]
        self.mistakes_ = mistakes[0] if len(mistakes) == 1 else mistakes
        self.n_updates_ = int(mistakes.sum())
        self.n_passes_ = max(outcome.n_passes for outcome in outcomes)
        wrong = np.array([outcome.wrong for outcome in outcomes])
        self.mistakes_left_ = int(wrong.any(axis=0).sum())
        self.converged_ = self.mistakes_left_ == 0

    @property
    def n_iter_(self):
        """The passes, by scikit-learn's name."""
        return self.n_passes_

    def _validated_for_predict(self, X, order=None):
        check_is_fitted(self)
        if self.kernel_ is None:
            return super()._validated_for_predict(X, order)
        X = super()._validated_for_predict(X, "C")
        return arrays.canonical_csr(X) if arrays.is_sparse(self.support_vectors_) else X

    def _rows_at_a_time(self):
        if self.kernel_ is None:
            return super()._rows_at_a_time()
        return max(1, BLOCK_ENTRIES // len(self.support_))

    def _decisions_of(self, X):
        if self.kernel_ is None:
            return super()._decisions_of(X)
        decisions = self.kernel_(X, self.support_vectors_) @ self.dual_coef_.T
        decisions += self.intercept_
        return decisions

    def _check_unaltered(self):
        if self.kernel_ is None:
            return super()._check_unaltered()
        n_outputs, n_support = self._n_outputs(), len(self.support_)
        return check_unaltered(
            self,
            support_=(n_support,),
            support_vectors_=(n_support, self.n_features_in_),
            dual_coef_=(n_outputs, n_support),
            intercept_=(n_outputs,),
        )

    def decision_function(self, X):
        """Signed values: one per row for two classes, one per row and class for more."""
        return self._class_decisions(X)

    def predict(self, X):
        """The label of every row of X."""
        return self._predicted_classes(X)
