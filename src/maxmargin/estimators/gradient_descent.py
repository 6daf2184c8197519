"""Linear models fitted by gradient descent: any loss, any penalty, batches of any size.

Invariant: `fit` is `partial_fit` repeated. Both continue from the same state (the iterate, its mean
and the step counter), and the order of the rows depends only on the seed and the epoch.
"""

from dataclasses import replace

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.estimators.limits import LIMITS, LimitedFit, restored_on_error
from maxmargin.estimators.linear_base import LinearClassifier, LinearModel, Machine, rows_that_count
from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    FLAG,
    SEED,
    SVM_CONSTRAINTS,
    Constraint,
    check_parameters,
    is_real,
    one_of,
)
from maxmargin.estimators.validation import checked_weight, seed_of
from maxmargin.losses import loss_named
from maxmargin.penalties import PENALTIES, penalty_named
from maxmargin.solvers.base import Budget
from maxmargin.solvers.several import in_turn

DESCENT_CONSTRAINTS = {
    "penalty": Constraint(
        "None or one of " + ", ".join(map(repr, PENALTIES)),
        lambda v: v is None or (isinstance(v, str) and v in PENALTIES),
    ),
    "alpha": AT_LEAST_ZERO,
    "epsilon": AT_LEAST_ZERO,
    "batch_size": Constraint(
        "None (all rows) or a whole number of at least 1",
        lambda v: v is None or AT_LEAST_ONE.holds(v),
    ),
    "schedule": one_of("constant", "inverse", "pegasos"),
    "eta0": Constraint(
        "'auto' or a positive finite number",
        lambda v: v == "auto" if isinstance(v, str) else is_real(v) and 0 < v < np.inf,
    ),
    "max_iter": AT_LEAST_ONE,
    "tol": Constraint("a number in [0, 1)", lambda v: is_real(v) and 0 <= v < 1),
    "n_iter_no_change": AT_LEAST_ONE,
    "average": FLAG,
    "fit_intercept": FLAG,
    "shuffle": FLAG,
    "early_stopping": FLAG,
    "validation_fraction": Constraint("a number in (0, 1)", lambda v: is_real(v) and 0 < v < 1),
    "warm_start": FLAG,
    "random_state": SEED,
    "class_weight": SVM_CONSTRAINTS["class_weight"],
    **LIMITS,
}
CLASSIFIER_CONSTRAINTS = {
    **DESCENT_CONSTRAINTS,
    "loss": one_of("hinge", "squared_hinge", "logistic", "squared"),
}
REGRESSOR_CONSTRAINTS = {
    **DESCENT_CONSTRAINTS,
    "loss": one_of("squared", "epsilon_insensitive", "squared_epsilon_insensitive"),
}


class GradientDescentModel(LimitedFit, LinearModel):
    """What the classifier and the regressor share.

    A subclass has `_constraints`; `_machines`, which encodes y; and the shape of `coef_`.
    """

    def fit(self, X, y, sample_weight=None):
        """Fit the model; with `warm_start`, go on from where the last call ended.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            A weight of two equals the row twice: exactly for full batches, and in the objective
            (not step by step) for smaller ones.

        Returns
        -------
        self
        """
        solutions = self._fit_within_limits(X, y, sample_weight, self.max_iter)
        self._warn_unless_converged(solutions)
        return self

    def _prepared(self, X, y, sample_weight):
        self._check_parameters()
        goes_on = self.warm_start and hasattr(self, "_iterates")
        X, y = self._validated(X, y)
        known = getattr(self, "classes_", None)
        machines = self._machines(y, checked_weight(sample_weight, X))
        if goes_on:
            self._check_same_shape(X, known)

        def solve_and_keep(budget):
            solutions = self._descend(X, machines, goes_on, budget)
            self._silence_absent_classes(machines)
            return solutions

        return len(machines), solve_and_keep

    def _warn_unless_converged(self, solutions):
        left = [one for one in solutions if not one.converged]
        if not left or (self.tol == 0 and all(one.stopped == "max_iter" for one in left)):
            return
        place, advice = self._end_of(left), "raise max_iter, or choose another eta0 or"
        if place is None:
            place = f"after {self.n_iter_} epochs, because the steps went to and fro"
            advice = "set average=True, or choose a smaller eta0 or another"
        lack = "the loss on the rows set aside was still falling"
        if not self.early_stopping:
            to_gain = max(one.violation for one in left)
            lack = f"up to {to_gain:.2g} of the objective may be left to gain (tol {self.tol:.0e})"
        warn(
            f"{type(self).__name__} stopped {place}: {lack}. Scale the features (StandardScaler), "
            f"{advice} schedule.",
            ConvergenceWarning,
        )

    def _partial_fit(self, X, y, sample_weight, encode):
        """Make one epoch over these rows, from where the last call ended.

        `encode` gives the machines. After Ctrl-C the estimator is as it was.
        """
        with restored_on_error(self):
            self._check_parameters()
            if self.early_stopping:
                raise ValueError(
                    f"{type(self).__name__}: partial_fit makes one epoch and cannot stop early; "
                    "set early_stopping=False."
                )
            goes_on = hasattr(self, "_iterates")
            X, y = self._validated(X, y, reset=not goes_on)
            machines = encode(y, checked_weight(sample_weight, X))
            if not len(rows_that_count(machines)):
                raise ValueError("Invalid input - all samples have zero or negative weights.")
            solutions = self._descend(X, machines, goes_on, Budget(1))
            if any(one.stopped == "interrupted" for one in solutions):
                raise KeyboardInterrupt
        return self

    def _check_parameters(self):
        check_parameters(self, self._constraints)
        pays = self.penalty == "l2" and self.alpha > 0
        if self.schedule == "pegasos" and not pays:
            raise ValueError(
                f"{type(self).__name__}: schedule='pegasos' steps by 1 / (alpha t), which needs "
                f"penalty='l2' and alpha above 0, got penalty={self.penalty!r} and "
                f"alpha={self.alpha!r}."
            )

    def _check_same_shape(self, X, known_classes):
        n_features = len(self._iterates[0].w) - 1
        same_classes = np.array_equal(known_classes, getattr(self, "classes_", None))
        if X.shape[1] != n_features or not same_classes:
            raise ValueError(
                f"{type(self).__name__}: warm_start goes on with the {n_features} features and the "
                "classes of the last fit, and these are others; set warm_start=False."
            )

    def _descend(self, X, machines, goes_on, budget):
        """Solve every machine and keep what was found."""
        seed, used = seed_of(self.random_state), rows_that_count(machines)
        held_out = self._held_out(len(used), seed)
        parts = [used] if held_out is None else [used[~held_out], used[held_out]]
        rows = [(X if len(part) == X.shape[0] else X[part], part) for part in parts]
        solver = self._solver(seed)
        starts = self._starts() if goes_on else [None] * len(machines)

        def solve(k, share):
            objectives = [self._objective(X, machines[k].of(part)) for X, part in rows]
            problem = replace(objectives[0], validation=(objectives[1:] or [None])[0])
            return self._solve(solver, problem, share, starts[k])

        solutions = in_turn(solve, len(machines), budget)
        for k, solution in enumerate(solutions):
            solution.trace["problem"] = k
        before = [self.trace_] if goes_on else []
        self.trace_ = np.concatenate([*before, *(solution.trace for solution in solutions)])
        self.converged_ = all(solution.converged for solution in solutions)
        self._keep(solutions)
        return solutions

    def _starts(self):
        """The iterates at which the last call ended."""
        from maxmargin.solvers.gradient_descent import DescentSolution

        return [DescentSolution(one.w, iterate=one) for one in self._iterates]

    def _held_out(self, n, seed):
        """Which rows early stopping sets aside, or None."""
        if not self.early_stopping:
            return None
        size = int(np.ceil(self.validation_fraction * n))
        if size >= n:
            raise ValueError(
                f"{type(self).__name__}: validation_fraction={self.validation_fraction} of {n} "
                "rows leaves none to learn from."
            )
        return np.random.default_rng(seed).permutation(n) < size

    def _objective(self, X, machine):
        from maxmargin.solvers.gradient_descent import Objective

        loss = loss_named(self.loss, getattr(self, "epsilon", 0.0))
        # All rows of a batch may be of a class of weight zero.
        share = machine.cost / (machine.cost.sum() or 1.0)
        return Objective(X, machine.target, share, loss, penalty_named(self.penalty), self.alpha)

    def _solver(self, seed):
        from maxmargin.solvers.gradient_descent import GradientDescent

        return GradientDescent(
            schedule=self.schedule,
            eta0=self.eta0,
            batch_size=self.batch_size,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
            fit_intercept=bool(self.fit_intercept),
            averages=bool(self.average),
            shuffle=bool(self.shuffle),
            seed=seed,
        )

    def _solve(self, solver, problem, budget, start):
        try:
            return solver.solve(problem, budget, start)
        except FloatingPointError as error:
            raise ValueError(
                f"{type(self).__name__} diverged: the steps are too long for this data "
                f"(eta0={self.eta0!r}, schedule={self.schedule!r}). Use a smaller eta0, or "
                "eta0='auto', and scale the features (StandardScaler)."
            ) from error

    def _keep(self, solutions):
        weights = np.array([solution.weights for solution in solutions])
        self._iterates = iterates = [solution.iterate for solution in solutions]
        self.coef_ = np.ascontiguousarray(weights[:, :-1])
        self.intercept_ = weights[:, -1].copy()
        self.n_iter_ = max(iterate.n_epochs for iterate in iterates)
        self.t_ = max(iterate.t for iterate in iterates)


class GradientDescentClassifier(LinearClassifier, GradientDescentModel):
    """Linear classification by (stochastic) gradient descent, each class against the rest.

    It minimises, with y = +-1 and s the sample weights times the class weights,

        sum_i s_i loss(y_i, w.x_i + b) / sum_i s_i + alpha penalty(w).

    The hinge loss with the l2 penalty and alpha = 1 / (n C) is the soft-margin SVM of that C. Texts
    that write lambda |w|^2 have lambda = alpha / 2: 1 / (2 n C) beside the mean of the losses,
    1 / (2 C) beside their sum.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "logistic", "squared"}, default="hinge"
        max(0, 1 - y f), its square, log(1 + exp(-y f)), or 1/2 (y - f)^2.
    penalty : {"l2", "l1", "none"} or None, default="l2"
        1/2 |w|^2, |w|_1 or zero; b is never penalised. The step of "l1" is the subgradient sign(w),
        with sign(0) = 0: it brings weights close to zero but seldom to it.
    alpha : float of at least 0, default=1e-4
    batch_size : int or None, default=None
        Rows per step; None means all of them, 1 is stochastic gradient descent.
    schedule : {"constant", "inverse", "pegasos"}, default="constant"
        The size of step t: eta0, eta0 / t, or 1 / (alpha t). The last is for the l2 penalty, does
        not use eta0, and with the hinge loss keeps w in the ball |w|^2 <= 1 / alpha. Its first
        steps are very long, which b never quite recovers from: append a constant feature instead
        (`fit_intercept=False`).
    eta0 : "auto" or float, default="auto"
        "auto" is 1 / L, with L the curvature of the objective (full batch) or of its worst row
        (smaller batches): smooth losses then never diverge, and fall with every full batch. A loss
        with a kink (hinge) has no such L, and is treated as if its curvature were 1: with a
        constant step it ends up circling the optimum, closer the smaller eta0 is. `partial_fit`
        finds L anew from the rows of every call.
    max_iter : int, default=1000
        The most epochs, which are passes over the data.
    tol : float in [0, 1), default=1e-4
        The fit ends when an epoch moves w and b by |dw| + |db| <= tol (|w| + |b|), or when for
        `n_iter_no_change` epochs in a row the objective has not fallen by a share tol below its
        best; but only if a duality gap proves that no w and b lower the objective by more than a
        share tol, or if the gap is below a share tol of what the mean of the targets costs. (A loss
        with kinks has no such proof without a penalty.) Short steps alone do not end the fit.
        Constant steps that only oscillate end it, too, with a warning. 0 makes all `max_iter`
        epochs. With `early_stopping` the rows set aside decide instead, also if it is 0.
    n_iter_no_change : int, default=5
    average : bool, default=False
        Use the mean of the iterates, in which late ones count most (iterate t about as t^3). This
        makes stochastic steps and Pegasos precise.
    fit_intercept : bool, default=True
    shuffle : bool, default=True
        Draw a new order of the rows in every epoch, for batches smaller than all rows.
    early_stopping : bool, default=False
        Set rows aside, stop when the loss on them has not fallen by a share tol for
        `n_iter_no_change` epochs, and keep the weights that were best on them.
    validation_fraction : float in (0, 1), default=0.1
    class_weight : None, "balanced" or dict, default=None
        The weights of the classes. With three or more classes each has its weight only in its own
        machine, where the rest has weight one, as in `sklearn.linear_model.SGDClassifier`.
    warm_start : bool, default=False
        `fit` goes on with the weights and the step counter of the last call.
    random_state : int, RandomState, Generator or None, default=None
        The seed of the order and of the rows set aside; None is the same every time.
    max_time : float or None, default=None
        The seconds that the whole of `fit` may take.
    callbacks : list of callables or None, default=None
        Each is called with a `Progress` after every epoch of `fit`; one that returns True ends it,
        and the model so far is kept.
    verbose : int, default=0
        1 shows a live line of progress on a terminal, 2 writes lines.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, d)
    intercept_ : array of shape (1 or n_classes,)
    classes_, n_features_in_, feature_names_in_
    n_iter_, t_ : int
        Epochs and steps that led to the weights, including those of earlier calls that this one
        went on from; the most of any class.
    converged_ : bool
        Whether the objective is proved to be within `tol` of its optimum, or early stopping ended
        the fit.
    trace_ : structured array
        A row per epoch: `problem` (the class, of several), `epoch`, `objective` and `loss` (of the
        model after that epoch, over all rows it learns from), `validation` (the loss on the rows
        set aside, or NaN), `movement` (|dw| + |db|), `eta` (the last step size) and `seconds`
        (since the call began to learn that class).

    Examples
    --------
    >>> from maxmargin import GradientDescentClassifier
    >>> X, y = [[0, 0], [1, 1], [3, 3], [4, 4]], [0, 0, 1, 1]
    >>> model = GradientDescentClassifier(loss="logistic", alpha=0.1).fit(X, y)
    >>> model.predict([[0.5, 0.5], [3.5, 3.5]])
    array([0, 1])
    >>> bool(model.trace_["objective"][-1] < model.trace_["objective"][0])
    True
    """

    _constraints = CLASSIFIER_CONSTRAINTS

    def __init__(
        self,
        loss="hinge",
        *,
        penalty="l2",
        alpha=1e-4,
        batch_size=None,
        schedule="constant",
        eta0="auto",
        max_iter=1000,
        tol=1e-4,
        n_iter_no_change=5,
        average=False,
        fit_intercept=True,
        shuffle=True,
        early_stopping=False,
        validation_fraction=0.1,
        class_weight=None,
        warm_start=False,
        random_state=None,
        max_time=None,
        callbacks=None,
        verbose=0,
    ):
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.batch_size = batch_size
        self.schedule = schedule
        self.eta0 = eta0
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.average = average
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.max_time = max_time
        self.callbacks = callbacks
        self.verbose = verbose

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """One epoch over these rows, from where the last call of `partial_fit` or `fit` ended.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        classes : array, optional
            All classes there will be; needed in the first call.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        self._partial_fit(
            X, y, sample_weight, lambda y, weight: self._part_of_machines(y, classes, weight)
        )
        factors = self.class_weight or {}
        self._silence([k for k, name in enumerate(self.classes_) if factors.get(name) == 0])
        return self

    def _machines(self, y, weight):
        return self._class_targets(y, weight, self.class_weight)

    def _part_of_machines(self, y, classes, weight):
        """The machines as in `_class_targets`, for rows that need not hold every class."""
        name = type(self).__name__
        known = getattr(self, "classes_", None)
        if known is None and classes is None:
            raise ValueError(f"{name}: the first call of partial_fit needs classes.")
        if known is None:
            self.classes_ = known = np.unique(classes)
            if len(known) < 2:
                raise ValueError(f"{name}: classes must name at least 2, got {known.tolist()}.")
        elif classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(
                f"{name}: classes must be those of the first call, {known.tolist()}, "
                f"got {np.unique(classes).tolist()}."
            )
        strange = np.setdiff1d(y, known)
        if len(strange):
            raise ValueError(f"{name}: y holds {strange.tolist()}, which classes does not.")
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"{name}: class_weight='balanced' needs all rows at once; give partial_fit a dict, "
                "or sample_weight."
            )
        labels, factors = self._labels_and_factors(y, weight, self.class_weight)
        return self._one_vs_rest(labels, weight, factors)


class GradientDescentRegressor(RegressorMixin, GradientDescentModel):
    """Linear regression by (stochastic) gradient descent.

    It minimises sum_i s_i loss(y_i, w.x_i + b) / sum_i s_i + alpha penalty(w), where s are the
    sample weights. The squared loss is ridge regression with the penalty n alpha |w|^2 beside the
    sum of the squares ("l2"), or the lasso with alpha as in `sklearn.linear_model.Lasso` ("l1").

    Parameters
    ----------
    loss : {"squared", "epsilon_insensitive", "squared_epsilon_insensitive"}, default="squared"
        1/2 (y - f)^2, max(0, |y - f| - epsilon), or the square of that.
    epsilon : float of at least 0, default=0.1
        The half-width of the tube.
    penalty, alpha, batch_size, schedule, eta0, max_iter, tol, n_iter_no_change, average,
    fit_intercept, shuffle, early_stopping, validation_fraction, warm_start, random_state,
    max_time, callbacks, verbose
        As in `GradientDescentClassifier`; the loss with kinks is "epsilon_insensitive" here.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : array of shape (1,)
    n_iter_, t_, converged_, trace_, n_features_in_, feature_names_in_
        As in `GradientDescentClassifier`.

    Examples
    --------
    >>> from maxmargin import GradientDescentRegressor
    >>> model = GradientDescentRegressor(alpha=0.0, tol=1e-8, max_iter=10_000)
    >>> model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(3)
    array([7.])
    """

    _constraints = REGRESSOR_CONSTRAINTS

    def __init__(
        self,
        loss="squared",
        *,
        epsilon=0.1,
        penalty="l2",
        alpha=1e-4,
        batch_size=None,
        schedule="constant",
        eta0="auto",
        max_iter=1000,
        tol=1e-4,
        n_iter_no_change=5,
        average=False,
        fit_intercept=True,
        shuffle=True,
        early_stopping=False,
        validation_fraction=0.1,
        warm_start=False,
        random_state=None,
        max_time=None,
        callbacks=None,
        verbose=0,
    ):
        self.loss = loss
        self.epsilon = epsilon
        self.penalty = penalty
        self.alpha = alpha
        self.batch_size = batch_size
        self.schedule = schedule
        self.eta0 = eta0
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.average = average
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.max_time = max_time
        self.callbacks = callbacks
        self.verbose = verbose

    def partial_fit(self, X, y, sample_weight=None):
        """One epoch over these rows, from where the last call of `partial_fit` or `fit` ended.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, sample_weight, self._machines)

    def _machines(self, y, weight):
        return [Machine(np.asarray(y, dtype=np.float64), weight)]

    def _keep(self, solutions):
        super()._keep(solutions)
        self.coef_ = self.coef_.ravel()

    def predict(self, X):
        """The predicted target of every row of X."""
        return self._decisions(X)[:, 0]
