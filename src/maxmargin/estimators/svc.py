"""Support vector classification: SVC with a price C of slack, NuSVC with a share nu of it."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import floor

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.decomposition import OneVsOne, OneVsRest, pairs_of
from maxmargin.estimators.machines import DEFAULT_MAX_ITER, Found, Machine, Machines
from maxmargin.estimators.margins import ROLES, Margins
from maxmargin.estimators.probability import (
    N_FOLDS,
    Population,
    agree,
    as_they_are,
    fit_slopes,
    fold_of,
    positive_probability,
)
from maxmargin.estimators.validation import costs, prices, seed_of
from maxmargin.problems.reductions import c_svc, model_of_hulls, nu_svc
from maxmargin.solvers.leave_out import leave_out
from maxmargin.solvers.margin import solve_hard_margin, solve_nu


@dataclass(frozen=True)
class ClassTargets:
    """Labels as numbers from 0, the weight of each row, and what its slack costs relative to C."""

    classes: np.ndarray
    labels: np.ndarray
    class_weight: np.ndarray
    weight: np.ndarray
    cost: np.ndarray

    @property
    def is_used(self):
        return self.cost > 0

    @cached_property
    def members(self):
        """The rows of each class that have a weight."""
        counted = np.flatnonzero(self.cost > 0)
        order = counted[np.argsort(self.labels[counted], kind="stable")]
        ends = np.cumsum(np.bincount(self.labels[counted], minlength=len(self.classes)))
        return np.split(order, ends[:-1])

    def of_task(self, how, task):
        """The rows of a machine that have a weight, by class for a pair of many classes, and their
        signs: +1 for the class of a positive decision."""
        if len(task) == 2 and len(self.classes) > 2:
            rows = tuple(self.members[k] for k in task)
        else:
            rows = (np.flatnonzero(self.cost > 0),)
        return rows, how.signs(self.labels[np.concatenate(rows)], task)

    def is_like(self, model):
        """Whether a model was fitted to targets of this kind."""
        return np.array_equal(model.classes_, self.classes)


@dataclass(frozen=True)
class Fold:
    """Which rows of a machine a fold keeps, their labels, and what their slack costs."""

    keep: np.ndarray
    signs: np.ndarray
    cost: np.ndarray


class ClassificationSVM(ClassifierMixin, BaseSVM):
    """Classification with any binary machine, decomposed into pairs or one against the rest."""

    # Fitting.

    def _targets(self, y, weight):
        if y.dtype.kind not in "biuUS":  # these may be continuous numbers
            check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        class_weight = np.ones(len(classes))
        if self.class_weight is not None:
            class_weight = compute_class_weight(self.class_weight, classes=classes, y=y)
        cost = costs(weight, class_weight[labels])
        targets = ClassTargets(classes, labels, class_weight, weight, cost)
        if sum(len(rows) > 0 for rows in targets.members) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class."
            )
        return targets

    def _decomposition(self, n_classes):
        """The decomposition into the binary problems of a fit."""
        rest = getattr(self, "multi_class", "ovo") == "ovr" and n_classes > 2
        return OneVsRest(n_classes) if rest else OneVsOne(n_classes)

    def _is_one_vs_rest(self):
        return isinstance(self._fitted_decomposition(), OneVsRest)

    def _more_shapes(self):
        if not hasattr(self, "norms_"):  # the model was not fitted here
            return {}
        n = len(self._fitted_decomposition().tasks)
        return {"norms_": (n,), "_slopes": (n, 2), "class_weight_": (len(self.classes_),)}

    def _machines(self, targets):
        """The machines that have rows of positive weight on both sides."""
        how = self._decomposition(len(targets.classes))
        absent = {k for k, rows in enumerate(targets.members) if not len(rows)}
        tasks = [task for task in how.tasks if absent.isdisjoint(task)] if absent else None
        return Machines(partial(self._machine_of, targets, how), how, tasks)

    def _machine_of(self, targets, how, task):
        rows, signs = targets.of_task(how, task)
        every = np.concatenate(rows)
        population = Population(targets.weight[every], targets.cost[every])
        build = partial(self._problem, signs=signs, cost=population.cost)
        extras = partial(self._sigmoid, population) if self.probability is True else None
        return self._machine(rows, build, task=task, signs=signs, extras=extras)

    def _machine(self, rows, build, **options):
        return Machine(rows, build, **options)

    def _sigmoid(self, population, machine, solver, problem, solution, budget):
        """The slopes of the sigmoid, from cross-validated decisions."""
        signs = machine.signs
        folds = fold_of(signs, seed_of(self.random_state))
        decisions = np.empty(problem.n)
        for fold in range(N_FOLDS):
            keep = folds != fold
            rows = Fold(keep, signs, population.cost)
            found = self._solve_fold(solver, problem, rows, solution, budget)
            if found.stopped == "interrupted":
                raise KeyboardInterrupt
            decisions[~keep] = (found.expansion + found.bias[0])[~keep]
        return fit_slopes(decisions, signs, population.share, population.offset(signs))

    def _solve_at_once(self, workshop, machines, targets):
        """Solve small pairs of classes in one pass, if it knows all that is asked for."""
        how = machines.how
        present = {k for k, rows in enumerate(targets.members) if len(rows)}
        bias = how.intercepts_without_training(present)
        slopes = np.full((len(bias), 2), 100.0)  # an absent class is next to impossible
        found = Found.nothing(how, targets.labels, bias, slopes)
        if not self._are_pairs_plain(machines, workshop):
            return found, list(machines)
        from maxmargin.solvers.small_pairs import Classes, solve_small_pairs

        classes = Classes(
            workshop.engine.matrix(workshop.kernel, workshop.points), targets.members,
            prices(self.C, targets.cost), targets.weight, targets.class_weight,
        )  # fmt: skip
        limit = DEFAULT_MAX_ITER if self.max_iter == -1 else self.max_iter
        solve_small_pairs(
            classes, how.pairs, workshop.solver, replace(workshop.budget, max_iter=limit),
            workshop.known["ulps"], self._folds() if self.probability is True else None, found,
        )  # fmt: skip
        left = set() if found.done.all() else {how.tasks[k] for k in np.flatnonzero(~found.done)}
        return found, [machines[k] for k, task in enumerate(machines.tasks) if task in left]

    def _are_pairs_plain(self, machines, workshop):
        """Whether they are C-SVCs that the pass over small pairs solves as the solver would."""
        return False

    def _folds(self):
        """The fold of every row of a pair, by the number of rows on its two sides."""
        seed = seed_of(self.random_state)
        return lambda n, m: fold_of(np.repeat([1.0, -1.0], [n, m]), seed)

    def _certificates(self, machines, found, outcomes, known):
        """The certificates in the order of the machines."""
        by_themselves = super()._certificates(machines, found, outcomes, known)
        if not np.any(found.done):
            return by_themselves
        at_once = found.certificates(self.tol, known["mercer"])
        if not outcomes:
            return at_once
        is_there = np.zeros(len(found.done), dtype=bool)
        is_there[[machines.how.position(task) for task in machines.tasks]] = True
        place = np.cumsum(is_there) - 1
        taken = [place[machines.how.position(outcome.machine.task)] for outcome in outcomes]
        return at_once.beside(by_themselves, taken)

    def _keep(self, targets, outcomes, found):
        super()._keep(targets, outcomes, found)
        self.classes_, self.class_weight_ = targets.classes, targets.class_weight
        self.norms_, self._trained, self._slopes = found.norms, found.done, found.slopes
        self._calibrated = self.probability is True and all(
            outcome.extras is not None for outcome in outcomes
        )
        self.roles_ = ROLES[found.roles.max(axis=0)]

    # Prediction.

    def decision_function(self, X):
        """Signed values whose sign decides.

        For two classes they have shape (n,) and are positive for `classes_[1]`. For more they have
        one column per class ("ovr"), or one per pair of classes ("ovo"), positive for the first of
        the pair.
        """
        check_is_fitted(self)
        how = self._fitted_decomposition()

        def shaped(decisions, rows):
            if how.n_classes == 2:
                return decisions[:, 0]
            return how.scores(decisions) if self.decision_function_shape == "ovr" else decisions

        return self._answers(X, shaped)

    def predict(self, X):
        """The label of every row of X."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        how = self._fitted_decomposition()

        def labels(decisions, rows):
            return self.classes_[how.winners(decisions, self.break_ties)]

        # Ties are broken by sums of decisions, which are never sure.
        is_sure = None if self.break_ties and how.n_classes > 2 else how.are_sure
        return self._answers(X, labels, is_sure)

    @available_if(lambda self: _check_probability(self))
    def predict_proba(self, X):
        """The probability of every class, in the order of `classes_`; needs probability=True.

        Rows sum to one, and the largest probability is that of the predicted class. They do not
        count `class_weight`, which makes mistakes in some classes dearer: with it, the predicted
        class is the one whose probability times its weight is largest.
        """
        check_is_fitted(self)
        if not getattr(self, "_calibrated", False):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, or interrupted"
            )
        how = self._fitted_decomposition()

        def probabilities(decisions, rows):
            columns = positive_probability(decisions, self._slopes)
            chosen = how.winners(decisions, self.break_ties)
            counted = agree(how.probabilities(columns), chosen)
            return as_they_are(counted, self.class_weight_)

        return self._answers(X, probabilities)

    @available_if(lambda self: _check_probability(self))
    def predict_log_proba(self, X):
        """The logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def margins(self, X, y):
        """Functional margins y f(x) and geometric margins y f(x) / |w| of points with labels.

        They are negative where a point is on the wrong side. With several classes, each is the
        smallest over the machines of the point's own class against each other one.
        """
        y = column_or_1d(y)
        check_consistent_length(X, y)
        check_is_fitted(self)
        labels = np.searchsorted(self.classes_, y)
        labels = np.minimum(labels, len(self.classes_) - 1)
        if np.any(self.classes_[labels] != y):
            unknown = y[self.classes_[labels] != y].tolist()[0]
            raise ValueError(
                f"{type(self).__name__}: y holds the label {unknown!r}, which was not in the fit."
            )
        if not hasattr(self, "norms_"):
            raise ValueError(
                f"{type(self).__name__}: margins need |w|, and a model that was fitted elsewhere "
                "does not hold it; fit it here."
            )
        how = self._fitted_decomposition()

        def smallest(decisions, rows):
            signs = np.column_stack([how.signs(labels[rows], task) for task in how.tasks])
            signs[:, ~self._trained] = 0.0
            functional = np.where(signs != 0, signs * decisions, np.inf)
            with np.errstate(divide="ignore", invalid="ignore"):
                geometric = np.where(self.norms_ > 0, functional / self.norms_, np.inf)
            return np.column_stack([functional.min(axis=1), geometric.min(axis=1)])

        return Margins(*self._answers(X, smallest).T.copy())


class SVC(ClassificationSVM):
    """Soft margin classification with kernels, and its proof of optimality.

    It minimises 1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i f(x_i)) through its dual, one pair of
    classes at a time. Parameters, defaults and attributes are those of `sklearn.svm.SVC`.

    Parameters
    ----------
    C : float above 0, default=1.0
        The price of slack. `float("inf")` asks for the hard margin and raises
        `NotSeparableError` when there is none.
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed", an object of
        `maxmargin.kernels` (which carries its own parameters), or a function of two sets of rows
        that returns their matrix and is called once on all of them, in a fit and in a prediction,
        so that the whole matrix is held. (`kernels.Custom(function)` is called on blocks instead
        and needs no such matrix.)
    degree, gamma, coef0
        The parameters of a kernel named by a string. gamma="scale" is 1 / (n_features * variance of
        X), the variance weighted by `sample_weight`.
    shrinking : bool, default=True
        Accepted for compatibility; it does not change the result.
    probability : bool, default=False
        Fit a sigmoid to cross-validated decision values for `predict_proba`. It passes through 1/2
        at the boundary, so that the likelier class is the predicted one. (With `class_weight`, the
        boundary is where probability times weight is the same, because probabilities count
        `sample_weight` alone.)
    tol : float, default=1e-3
        The largest violation of the optimality conditions, as in LIBSVM.
    cache_size : float, default=200
        The memory in MB for kernel rows and working copies.
    class_weight : dict or "balanced", optional
        Factors of C per class.
    verbose : bool or int, default=False
        1 draws one live line on a terminal (with rich, if installed) or in a notebook; 2 writes a
        line a second to standard error, and at the end what the time was spent on.
    max_iter : int, default=-1
        The most pairs to move in each binary problem; -1 is ten million, or 100 per point.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
    break_ties : bool, default=False
    random_state : int, Generator, RandomState or None
        The seed of the folds of `probability=True` and of the teaching solvers' random choices;
        the default solver makes none. None is the same seed every time.
    solver : str or solver object, default="smo"
        "smo" is the fast one. The others are written to be read beside their derivation and keep
        the whole kernel matrix: "smo_simplified", "smo_random_pair", "smo_platt", "smo_pairs" and
        "coordinate_ascent". An object of `maxmargin.solvers` has its own options, as in
        `SMOPairs(order=1)`; `tol`, `cache_size` and `random_state` come from here.
    engine : {"auto", "cpu", "plain"} or engine object, default="auto"
        Where the work is done: by compiled loops on all cores, or in plain NumPy, which needs no
        Numba. An object of `maxmargin.engines` brings its own memory instead of `cache_size`.
    max_time : float, optional
        The seconds after which the fit stops with the best model so far, by its primal objective,
        and a warning. The model is proved where that takes no more than a quarter of the time.
    warm_start : bool, default=False
        Start from the solution of the last fit if it had as many rows and the same classes. With
        the same rows and kernel, the fit goes on exactly where the last one stood.
    callbacks : list of callables, optional
        Each is called with a `Progress` after every slice of work; one that returns True stops
        the fit, which keeps the model so far.
    trace : bool or int, default=False
        Record every step in `trace_`: every pair of a teaching solver, every slice of the fast
        one. A number is the most rows to keep (True: 100 000).
    certify : {True, "lazy", False}, default=True
        Whether the fit ends with a proof from the data. "lazy" puts it off to the first look at
        `certificate_`; until then the rows are held and must not change. False makes no proof that
        takes a pass over the data, so that `certificate_` and `converged_` are the solver's claim.
    multi_class : {"ovo", "ovr"}, default="ovo"
        With several classes, "ovo" has a machine per pair, which vote, as in scikit-learn; "ovr"
        has a machine per class against the rest, and the largest decision wins. These machines
        share kernel rows.

    Attributes
    ----------
    certificate_ : Certificate
        Objectives, duality gap and KKT conditions, recomputed in float64.
    converged_ : bool
    roles_ : array of str of shape (n,)
        The role of each training point: "out" (alpha = 0), "margin" (0 < alpha < C), "inside"
        (alpha = C) or "misclassified" (alpha = C, slack above 1); the worst of several machines.
    kernel_ : Kernel
        The kernel of the fit, with every parameter a number.
    norms_ : array of shape (number of binary problems,)
        |w| in feature space; the margin is 1 / |w| wide on either side of the boundary.
    trace_ : Trace
        The record of the fit, with trace=True; see `trace_.to_frame()` and `trace_.replay()`.
    classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, \
    fit_status_, class_weight_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Ctrl-C raises KeyboardInterrupt within half a second. If every binary problem had been begun,
    the model so far is kept and usable, with `converged_` False.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> model = SVC(kernel="linear", C=10.0).fit([[0, 0], [1, 1], [3, 3], [4, 4]], [0, 0, 1, 1])
    >>> model.predict([[0.5, 0.5], [3.5, 3.5]])
    array([0, 1])
    >>> model.certificate_.optimal
    True
    """

    _linear_twin = "LinearSVC(loss='hinge')"

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=False,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        solver="smo",
        engine="auto",
        max_time=None,
        warm_start=False,
        callbacks=None,
        trace=False,
        certify=True,
        multi_class="ovo",
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.solver = solver
        self.engine = engine
        self.max_time = max_time
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.trace = trace
        self.certify = certify
        self.multi_class = multi_class

    def _targets(self, y, weight):
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                "SVC: decision_function_shape='ovo' needs a machine per pair of classes; "
                "multi_class='ovr' has none."
            )
        return super()._targets(y, weight)

    def _problem(self, matrix, signs, cost):
        return c_svc(matrix, signs, prices(self.C, cost))

    def _are_pairs_plain(self, machines, workshop):
        budget = workshop.budget
        if self.warm_start or budget.callbacks or budget.trace is not None or np.isinf(self.C):
            return False
        if self.probability and self._shares_random_numbers():
            return False
        if not isinstance(machines.how, OneVsOne) or len(machines) < 3:
            return False
        from maxmargin.solvers.small_pairs import stands_in_for

        return stands_in_for(workshop.solver)

    def _solve_fold(self, solver, problem, rows, solution, budget):
        if np.isinf(self.C):
            return solution  # a hard margin is not calibrated on folds
        keep = rows.keep
        without = replace(problem, lower=problem.lower * keep, upper=problem.upper * keep)
        return leave_out(solver, without, budget, solution)

    def _machine(self, rows, build, **options):
        if np.isinf(self.C):
            options["solve"] = solve_hard_margin
        return super()._machine(rows, build, **options)


class NuSVC(ClassificationSVM):
    """Classification where nu bounds the share of margin errors, and its proof of optimality.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the share of margin errors and a lower bound on the share of support
        vectors, for each pair of classes. It cannot exceed twice the share of the smaller class.
    class_weight : dict or "balanced", optional
        Weights of the classes.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, verbose, max_iter, \
    decision_function_shape, break_ties, random_state
        As in `sklearn.svm.NuSVC`; see `SVC` for what this library adds to them.
    solver, engine, max_time, warm_start, callbacks, trace, certify
        As in `SVC`.

    Attributes
    ----------
    certificate_, converged_, roles_, norms_, kernel_
        As in `SVC`. The certificate is that of the nu problem, in which alpha is at most the weight
        of its row, before the solution is divided by the margin.
    classes_, support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, \
    fit_status_, class_weight_, shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import NuSVC
    >>> model = NuSVC(kernel="linear").fit([[0, 0], [1, 1], [3, 3], [4, 4]], [0, 0, 1, 1])
    >>> model.predict([[0.5, 0.5], [3.5, 3.5]])
    array([0, 1])
    """

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=False,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        solver="smo",
        engine="auto",
        max_time=None,
        warm_start=False,
        callbacks=None,
        trace=False,
        certify=True,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.solver = solver
        self.engine = engine
        self.max_time = max_time
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.trace = trace
        self.certify = certify

    def _targets(self, y, weight):
        """The targets; a nu that is too large for the weights of the classes is refused."""
        targets = super()._targets(y, weight)
        for pair in pairs_of(len(targets.classes)):
            rows, signs = targets.of_task(OneVsOne(len(targets.classes)), pair)
            cost = targets.cost[np.concatenate(rows)]
            first, second = (cost[signs == sign].sum() for sign in (1, -1))
            largest = 2 * min(first, second) / (first + second) if len(cost) else 1.0
            if 0 < largest < self.nu * (1 - 1e-12):
                raise ValueError(
                    f"specified nu is infeasible. NuSVC: nu={self.nu} is too large for class sizes "
                    f"{second:g} and {first:g}; it must be at most {floor(largest * 1e3) / 1e3:g}."
                )
        return targets

    def _problem(self, matrix, signs, cost):
        return nu_svc(matrix, signs, cost, self.nu)

    def _solve_fold(self, solver, problem, rows, solution, budget):
        keep, signs, weight = rows.keep, rows.signs, rows.cost
        left = [weight[keep & (signs == sign)].sum() for sign in (1, -1)]
        if min(left) == 0:
            return model_of_hulls(solution)  # a class has no points left
        nu = min(self.nu, 2 * min(left) / sum(left))  # a larger nu is infeasible for these points
        without = nu_svc(problem.matrix, signs, weight * keep, nu)
        return model_of_hulls(solve_nu(solver, without, budget.in_silence()))

    def _machine(self, rows, build, **options):
        return super()._machine(rows, build, solve=solve_nu, model=model_of_hulls, **options)


def _check_probability(model):
    if model.probability is not True:
        raise AttributeError("predict_proba is not available when probability=False")
    return True
