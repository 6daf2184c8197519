"""The perceptron as an estimator, in w or with a kernel."""

from dataclasses import replace

import numpy as np

from maxmargin import arrays
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.estimators.answers import KernelModel
from maxmargin.estimators.limits import LIMITS, LimitedFit
from maxmargin.estimators.linear_base import LinearClassifier, LinearModel
from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    FINITE_POSITIVE,
    FLAG,
    N_JOBS,
    SEED,
    SVM_CONSTRAINTS,
    Constraint,
    check_parameters,
    kernel_of,
    or_none,
)
from maxmargin.estimators.validation import (
    check_unaltered,
    look_at_mercer,
    resolved_kernel,
    seed_of,
)
from maxmargin.kernels import Kernel
from maxmargin.kernels.named import SVM_NAMES
from maxmargin.solvers.base import LinearSolution
from maxmargin.solvers.several import in_turn

BLOCK_ENTRIES = 1_000_000  # A prediction holds this many entries of the kernel matrix at a time.
KERNEL_NAMES = tuple(name for name in SVM_NAMES if name != "precomputed")

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
    **LIMITS,
    "engine": SVM_CONSTRAINTS["engine"],
}


class Perceptron(LinearClassifier, LimitedFit, LinearModel, KernelModel):
    """Rosenblatt's perceptron: w += y x and b += y at every mistake y (w.x + b) <= 0.

    The points are visited in their order, again and again, until a whole pass is right. On data
    that a hyperplane separates this ends after at most (R / rho)^2 updates, where R is the length
    of the longest point and rho the margin (`maxmargin.solvers.perceptron` has the proof). On other
    data it ends at `max_updates`, with a warning that counts the mistakes left. Several classes are
    learned one against the rest.

    Parameters
    ----------
    fit_intercept : bool, default=True
    max_updates : int, default=10_000
        The most corrections, for each class against the rest.
    kernel : None, str or Kernel, default=None
        None learns w itself. A kernel ("linear", "poly", "rbf", "sigmoid", "laplacian" or an object
        of `maxmargin.kernels`) takes the place of the dot product in the dual form, which counts
        the mistakes at every point: f(x) = sum_i mistakes_i y_i (k(x_i, x) + 1).
    degree, gamma, coef0
        The parameters of a kernel given by its name, as in `SVC`.
    max_iter : int or None, default=None
        The most passes over the data.
    eta0 : float above 0, default=1.0
        A factor of every correction, and so of w; it changes no prediction but after a warm start.
    shuffle : bool, default=False
        Visit the points in a new order in every pass.
    random_state : int, RandomState, Generator or None, default=None
        The seed of these orders; None is the same every time.
    class_weight : None, "balanced" or dict, default=None
        Factors of the corrections at the points of each class. With three or more classes each has
        its weight only in its own machine, where the rest has weight one, as in scikit-learn.
    warm_start : bool, default=False
        Begin at the weights of the last fit, if it had the same features and classes. This does not
        work with a kernel.
    n_jobs : int or None, default=None
        Accepted as in scikit-learn, without influence.
    max_time : float or None, default=None
        The seconds that the whole fit may take.
    callbacks : list of callables or None, default=None
        Each is called with a `Progress` after every pass, whose violation counts its mistakes and
        whose objective counts all corrections; one that returns True ends the fit, which keeps the
        model so far.
    verbose : int, default=0
        1 shows a live line of progress on a terminal, 2 writes lines.
    engine : str or engine object, default="auto"
        The engine of a kernel, as in `SVC`.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, d)
        The weights, if there is no kernel.
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
        With a kernel, the points corrected at least once, and mistakes_i y_i for each, times
        `eta0` and the weight of its class.
    kernel_ : Kernel or None
        The kernel of the fit, with every parameter a number.
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
        max_time=None,
        callbacks=None,
        verbose=0,
        engine="auto",
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
        self.max_time = max_time
        self.callbacks = callbacks
        self.verbose = verbose
        self.engine = engine

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
        max_passes = np.inf if self.max_iter is None else self.max_iter
        solutions = self._fit_within_limits(X, y, None, max_passes)
        if not self.converged_:
            self._warn(solutions)
        return self

    def _warn(self, solutions):
        advice = (
            "another kernel" if self.kernel_ is not None else "a kernel, or a soft margin (SVC)"
        )
        limit = "max_iter" if self.n_passes_ == self.max_iter else "max_updates"
        end, more = f"at {limit}={getattr(self, limit)}", f"raise {limit}"
        if any(one.stopped in ("max_time", "callback") for one in solutions):
            end, more = self._end_of(solutions), "allow more"
        warn(
            f"{type(self).__name__} stopped {end} with mistakes left: {self.mistakes_left_} of "
            f"{self.mistakes_.shape[-1]} training points are still wrong. The data may not be "
            f"separable: {more}, or try {advice}.",
            ConvergenceWarning,
        )

    def _prepared(self, X, y, sample_weight):
        from maxmargin.solvers.perceptron import Separation

        check_parameters(self, PERCEPTRON_CONSTRAINTS)
        known = vars(self).copy() if self.warm_start and hasattr(self, "coef_") else None
        X, y = self._validated(X, y)
        machines = self._class_targets(y, np.ones(len(y)), self.class_weight)
        self.kernel_ = None if self.kernel is None else self._checked_kernel(X)
        starts = self._starts(known, (len(machines), X.shape[1]))
        problems = [
            Separation(X, one.target, self.eta0 * one.cost, bool(self.fit_intercept))
            for one in machines
        ]

        def solve_and_keep(budget):
            def solve(k, share):
                problem = replace(problems[k], matrix=matrix)
                return self._solver().solve(problem, share, starts[k])

            with self._new_engine() as engine:
                matrix = None if self.kernel_ is None else engine.matrix(self.kernel_, X)
                solutions = in_turn(solve, len(problems), budget)
            self._keep(X, [one.y * one.rates for one in problems], solutions)
            return solutions

        return len(problems), solve_and_keep

    def _checked_kernel(self, X):
        with self._new_engine() as engine:
            points = engine.points(X)
            kernel = resolved_kernel(kernel_of(self), points)
            look_at_mercer(engine.matrix(kernel, points))
        return kernel

    def _solver(self):
        from maxmargin.solvers import perceptron

        cls = perceptron.Perceptron if self.kernel_ is None else perceptron.KernelPerceptron
        return cls(self.max_updates, seed_of(self.random_state) if self.shuffle else None)

    def _starts(self, known, shape):
        """Where each machine begins: None, or the w and b of the last fit."""
        if self.warm_start and self.kernel is not None:
            raise ValueError("Perceptron: warm_start goes on with w, which a kernel does not have.")
        if known is None:
            return [None] * shape[0]
        same = np.array_equal(known["classes_"], self.classes_) and known["coef_"].shape == shape
        if not same:
            raise ValueError(
                "Perceptron: warm_start goes on with the features and the classes of the last fit, "
                "and these are others; set warm_start=False."
            )
        return [LinearSolution(w) for w in np.column_stack([known["coef_"], known["intercept_"]])]

    def _keep(self, X, steps, solutions):
        mistakes = np.array([solution.coef for solution in solutions])
        weights = np.array([solution.weights for solution in solutions])
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
        self.n_passes_ = max(solution.n_iter for solution in solutions)
        wrong = np.array([solution.wrong for solution in solutions])
        self.mistakes_left_ = int(wrong.any(axis=0).sum())
        self.converged_ = all(solution.converged for solution in solutions)

    @property
    def n_iter_(self):
        """The passes, by scikit-learn's name."""
        return self.n_passes_

    def _rows_for_predict(self, X):
        if self.kernel_ is None:
            return super()._rows_for_predict(X)
        X = KernelModel._rows_for_predict(self, X)
        return arrays.canonical_csr(X) if arrays.is_sparse(self.support_vectors_) else X

    def _rows_at_a_time(self):
        if self.kernel_ is None:
            return super()._rows_at_a_time()
        return max(1, BLOCK_ENTRIES // max(1, len(self.support_)))

    def _deciding(self, X):
        return (LinearModel if self.kernel_ is None else KernelModel)._deciding(self, X)

    def _centres(self, engine):
        return engine.points(self.support_vectors_)

    def _decisions_from(self, expand):
        return expand(np.ascontiguousarray(self.dual_coef_.T)) + self.intercept_

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
