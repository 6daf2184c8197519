"""Support vector classification: SVC with a price C of slack, NuSVC with a share nu of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import floor

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin.estimators.base import DEFAULT_MAX_ITER, BaseSVM, Machine
from maxmargin.estimators.found import Found
from maxmargin.estimators.margins import ROLES, Margins, role_codes
from maxmargin.estimators.multiclass import OneVsOne, OneVsRest, pairs_of
from maxmargin.estimators.probability import (
    N_FOLDS,
    Population,
    agree,
    as_they_are,
    fit_slopes,
    fold_of,
    positive_probability,
)
from maxmargin.estimators.validation import costs, part_of, prices, seed_of
from maxmargin.problems.reductions import c_svc, model_of_hulls, nu_svc
from maxmargin.solvers.leave_out import leave_out
from maxmargin.solvers.margin import solve_hard_margin, solve_nu


@dataclass(frozen=True)
class ClassTargets:
    """Labels as numbers from 0, what each row counts, and what its slack costs relative to C."""

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
        """The rows of each class that count."""
        counted = np.flatnonzero(self.cost > 0)
        order = counted[np.argsort(self.labels[counted], kind="stable")]
        ends = np.cumsum(np.bincount(self.labels[counted], minlength=len(self.classes)))
        return np.split(order, ends[:-1])

    def of_task(self, how, task):
        """The rows of a machine that count, +1 for the class a positive decision means, and, for a
        pair of many classes, where in those rows each of the two stands."""
        if len(task) == 2 and len(self.classes) > 2:
            one, other = (self.members[k] for k in task)
            rows = np.concatenate([one, other])
            parts = {task[0]: slice(0, len(one)), task[1]: slice(len(one), len(rows))}
        else:
            rows, parts = np.flatnonzero(self.cost > 0), {}
        return rows, how.signs(self.labels[rows], task), parts


@dataclass(frozen=True)
class Machines(Sequence):
    """The machine of each task, set up when it is asked for."""

    make: Callable
    kernel: object
    X: object
    targets: ClassTargets
    how: object
    tasks: list

    def __len__(self):
        return len(self.tasks)

    def __getitem__(self, position):
        return self.make(self.kernel, self.X, self.targets, self.how, self.tasks[position])


class ClassificationSVM(ClassifierMixin, BaseSVM):
    """Classification with any binary machine, decomposed into pairs or one against the rest.

    A subclass writes `_problem`, the one line that names its reduction.
    """

    # Fitting.

    def _targets(self, y, weight):
        if y.dtype.kind not in "biuUS":  # numbers that may turn out to be continuous
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
        """Into the binary problems of a fit."""
        rest = getattr(self, "multi_class", "ovo") == "ovr" and n_classes > 2
        return OneVsRest(n_classes) if rest else OneVsOne(n_classes)

    def _keep_decomposition(self):
        """Of classes that are known, from a fit or from elsewhere."""
        self._how = self._decomposition(len(self.classes_))

    def _fitted_decomposition(self):
        """That of the last fit, whatever `multi_class` says by now."""
        return getattr(self, "_how", None) or self._decomposition(len(self.classes_))

    def _is_one_vs_rest(self):
        return isinstance(self._fitted_decomposition(), OneVsRest)

    def _shapes(self, n_support):
        how = self._fitted_decomposition()
        n_machines = len(how.tasks)
        shapes = {
            "dual_coef_": (how.n_coef_rows, n_support),
            "intercept_": (n_machines,),
            "n_support_": (how.n_classes,),
        }
        if hasattr(self, "norms_"):  # not if the model comes from elsewhere
            shapes |= {
                "norms_": (n_machines,),
                "_slopes": (n_machines, 2),
                "class_weight_": (how.n_classes,),
            }
        return shapes

    def _machines(self, kernel, X, targets):
        """The machines that have rows of positive weight on both sides."""
        how = self._decomposition(len(targets.classes))
        absent = {k for k, rows in enumerate(targets.members) if not len(rows)}
        tasks = [task for task in how.tasks if absent.isdisjoint(task)] if absent else how.tasks
        return Machines(self._machine_of, kernel, X, targets, how, tasks)

    def _machine_of(self, kernel, X, targets, how, task):
        rows, signs, parts = targets.of_task(how, task)
        population = Population(targets.weight[rows], targets.cost[rows])
        build = partial(self._build, kernel, X, rows, signs, population.cost)
        return self._machine(rows, build, pair=task, parts=parts, population=population)

    def _machine(self, rows, build, **options):
        return Machine(rows, build, **options)

    def _build(self, kernel, X, rows, signs, cost):
        return self._problem(kernel, part_of(kernel, X, rows), signs, cost)

    def _extras(self, machine, solver, problem, solution, engine, budget):
        """With probability=True, the slopes of the sigmoid, from cross-validated decisions."""
        if self.probability is not True:
            return None
        signs = np.where(problem.upper > 0, 1.0, -1.0)
        folds = fold_of(signs, seed_of(self.random_state))
        decisions = np.empty(problem.n)
        for fold in range(N_FOLDS):
            keep = folds != fold
            found = self._solve_fold(solver, problem, keep, solution, engine, budget)
            if found.stopped == "interrupted":
                raise KeyboardInterrupt
            decisions[~keep] = (found.expansion + found.bias[0])[~keep]
        population = machine.population
        return fit_slopes(decisions, signs, population.share, population.offset(signs))

    def _start(self, machine, targets):
        """What the last fit found for the rows of this machine, if it was about the same rows."""
        n = len(targets.labels)
        same = hasattr(self, "dual_coef_") and self.shape_fit_[0] == n
        if not same or not np.array_equal(self.classes_, targets.classes):
            return None
        how = self._fitted_decomposition()
        if machine.pair not in how.tasks:
            return None
        dual_coef, start = self._last_coef(), np.zeros(n)
        for row, k in how.coef_rows(machine.pair):
            part = self._support_of(k)
            start[self.support_[part]] = dual_coef[row, part]
        return start[machine.rows]

    def _support_of(self, k):
        """Where the support vectors of a class stand: they are grouped by class."""
        end = int(np.sum(self.n_support_[: k + 1]))
        return slice(end - int(self.n_support_[k]), end)

    def _solve_at_once(self, machines, targets, budget, known):
        """Small pairs of classes, if nobody looks on and nothing is asked that they do not know."""
        how = machines.how
        present = {k for k, rows in enumerate(targets.members) if len(rows)}
        bias = how.intercepts_without_training(present)
        slopes = np.full((len(bias), 2), 100.0)  # an absent class: next to impossible
        found = Found.nothing(how.n_coef_rows, len(targets.labels), bias, slopes)
        if not self._are_pairs_plain(machines, budget):
            return found, list(machines)
        from maxmargin.solvers.small_pairs import Classes, solve_small_pairs

        classes = Classes(
            machines.kernel, machines.X, targets.members, prices(self.C, targets.cost),
            targets.weight, targets.class_weight,
        )  # fmt: skip
        limit = DEFAULT_MAX_ITER if self.max_iter == -1 else self.max_iter
        with self._new_engine() as engine:
            solve_small_pairs(
                classes, how.pairs, self._new_solver(1), engine, replace(budget, max_iter=limit),
                known["ulps"], self._folds() if self.probability is True else None, found,
            )  # fmt: skip
        left = set() if found.done.all() else {how.tasks[k] for k in np.flatnonzero(~found.done)}
        return found, [machines[k] for k, task in enumerate(machines.tasks) if task in left]

    def _are_pairs_plain(self, machines, budget):
        """Whether they are C-SVCs that the pass over small pairs solves as the solver would."""
        return False

    def _folds(self):
        """The fold of every row of a pair, by the number of rows on its two sides."""
        seed = seed_of(self.random_state)
        return lambda n, m: fold_of(np.repeat([1.0, -1.0], [n, m]), seed)

    def _certificates(self, machines, found, outcomes, known):
        """In the order of the machines."""
        by_themselves = super()._certificates(machines, found, outcomes, known)
        if not np.any(found.done):
            return by_themselves
        at_once = found.certificates(self.tol, known["mercer"])
        if not outcomes:
            return at_once
        is_there = np.zeros(len(found.done), dtype=bool)
        is_there[[machines.how.position(task) for task in machines.tasks]] = True
        place = np.cumsum(is_there) - 1
        taken = [place[machines.how.position(outcome.machine.pair)] for outcome in outcomes]
        return at_once.beside(by_themselves, taken)

    def _keep(self, X, targets, outcomes, found):
        self.classes_, self.class_weight_ = targets.classes, targets.class_weight
        self._keep_decomposition()
        labels = targets.labels
        for outcome in outcomes:
            position = self._how.position(outcome.machine.pair)
            self._take_in(found, position, outcome, labels)
        self.intercept_, self.n_iter_, self.norms_ = found.bias, found.n_iter, found.norms
        self._trained, self._slopes = found.done, found.slopes
        self._calibrated = self.probability is True and all(
            outcome.extras is not None for outcome in outcomes
        )
        self.roles_ = ROLES[found.roles.max(axis=0)]
        support = np.flatnonzero(np.any(found.coef != 0, axis=0))
        support = support[np.argsort(labels[support], kind="stable")]  # grouped by class
        counts = np.bincount(labels[support], minlength=len(self.classes_))
        self.n_support_ = counts.astype(np.int32)
        self._keep_support(X, support, found.coef)

    def _take_in(self, found, position, outcome, labels):
        """What a machine found by itself, beside what was found at once."""
        solution, rows, task = outcome.solution, outcome.machine.rows, outcome.machine.pair
        decision = self._how.signs(labels[rows], task) * (solution.expansion + solution.bias[0])
        codes = role_codes(solution.coef, outcome.at_bound, decision)
        for row, k in self._how.coef_rows(task):
            own = labels[rows] == k
            found.coef[row, rows[own]] = solution.coef[own]
            found.roles[row, rows[own]] = codes[own]
        found.bias[position], found.n_iter[position] = solution.bias[0], solution.n_iter
        found.norms[position] = np.sqrt(max(0.0, solution.coef @ solution.expansion))
        found.done[position] = True
        if outcome.extras is not None:
            found.slopes[position] = outcome.extras

    # Prediction.

    def decision_function(self, X):
        """Signed values whose sign decides.

        Two classes: shape (n,), positive for `classes_[1]`. More: one column per class ("ovr"), or
        one per pair of classes ("ovo"), positive for the first of the pair.
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

        return self._answers(X, labels)

    @available_if(lambda self: _check_probability(self))
    def predict_proba(self, X):
        """The probability of every class, in the order of `classes_`; needs probability=True.

        Rows sum to one, and the largest probability is that of the predicted class. They describe
        the rows as they are: with `class_weight`, which makes mistakes in some classes dearer, the
        predicted class is the one whose probability times its weight is largest.
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

    def _decisions_of(self, engine, X):
        """One column per machine."""
        how = self._fitted_decomposition()
        classes = [self._support_of(k) for k in range(how.n_classes)]
        return how.decisions(partial(self._expand, engine, X), classes, self.intercept_)

    def margins(self, X, y):
        """Functional margins y f(x) and geometric margins y f(x) / |w| of points with labels.

        Negative where a point is on the wrong side. With several classes, the smallest over the
        machines of the point's own class against each other one.
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

    def _linear_coef(self):
        how = self._fitted_decomposition()
        rows = [
            sum(
                self.dual_coef_[[row], self._support_of(k)]
                @ self.support_vectors_[self._support_of(k)]
                for row, k in how.coef_rows(task)
            )
            for task in how.tasks
        ]
        return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.vstack(rows)


class SVC(ClassificationSVM):
    """Soft margin classification with kernels, and its proof of optimality.

    Minimises 1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i f(x_i)) through its dual, one pair of
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
        Of the kernels named by a string. gamma="scale" is 1 / (n_features * variance of X), the
        variance weighted by `sample_weight`.
    shrinking : bool, default=True
        Accepted for compatibility; it does not change the result.
    probability : bool, default=False
        Fit a sigmoid to cross-validated decision values, so that `predict_proba` is there. It
        passes through 1/2 at the boundary: the likelier class is the predicted one. (With
        `class_weight`, where probability times weight is the same: it describes the rows as they
        are, weighted by `sample_weight` alone.)
    tol : float, default=1e-3
        The largest violation of the optimality conditions, as in LIBSVM.
    cache_size : float, default=200
        The memory in MB for kernel rows and working copies.
    class_weight : dict or "balanced", optional
        Factors of C per class.
    verbose : bool or int, default=False
        1 draws one live line on a terminal (with rich, if installed); 2 writes a line a second to
        standard error, whatever it is, and at the end what the time was spent on.
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
        "coordinate_ascent". An object of `maxmargin.solvers` carries its own options, as in
        `SMOPairs(order=1)`; `tol`, `cache_size` and `random_state` come from here.
    engine : {"auto", "cpu"}, default="auto"
    max_time : float, optional
        Seconds after which the fit stops with the model so far and a warning.
    warm_start : bool, default=False
        Start from the solution of the last fit if it had as many rows and the same classes.
    callbacks : list of callables, optional
        Each is called with a `Progress` after every slice of work; one that returns True stops
        the fit, which keeps the model so far.
    trace : bool or int, default=False
        Record every step in `trace_`: every pair of a teaching solver, every slice of the fast
        one. A number is the most rows to keep (True: 100 000).
    multi_class : {"ovo", "ovr"}, default="ovo"
        With several classes, a machine per pair that vote, as in scikit-learn, or a machine per
        class against the rest, of which the largest decision wins. The rest share kernel rows.

    Attributes
    ----------
    certificate_ : Certificate
        Objectives, duality gap and KKT conditions, recomputed in float64.
    converged_ : bool
    roles_ : array of str of shape (n,)
        Per training point "out" (alpha = 0), "margin" (0 < alpha < C), "inside" (alpha = C) or
        "misclassified" (alpha = C and slack above 1); with several classes its worst role.
    kernel_ : Kernel
        With every parameter a number.
    norms_ : array of shape (number of binary problems,)
        |w| in feature space; the margin is 1 / |w| wide on either side of the boundary.
    trace_ : Trace
        With trace=True; `trace_["objective"]`, `trace_.to_frame()`, `trace_.replay()`.
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
        self.multi_class = multi_class

    def _targets(self, y, weight):
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                "SVC: decision_function_shape='ovo' needs a machine per pair of classes; "
                "multi_class='ovr' has none."
            )
        return super()._targets(y, weight)

    def _problem(self, kernel, X, signs, cost):
        return c_svc(kernel, X, signs, prices(self.C, cost))

    def _are_pairs_plain(self, machines, budget):
        if self.warm_start or budget.callbacks or budget.trace is not None or np.isinf(self.C):
            return False
        if self.probability and self._shares_random_numbers():
            return False
        if not isinstance(machines.how, OneVsOne) or len(machines) < 3:
            return False
        from maxmargin.solvers.small_pairs import stands_in_for

        return stands_in_for(self._new_solver(1))

    def _solve_fold(self, solver, problem, keep, solution, engine, budget):
        if np.isinf(self.C):
            return solution  # a hard margin has no softer version to learn from
        without = replace(problem, lower=problem.lower * keep, upper=problem.upper * keep)
        return leave_out(solver, without, engine, budget, solution)

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
    solver, engine, max_time, warm_start, callbacks, trace
        As in `SVC`.

    Attributes
    ----------
    certificate_, converged_, roles_, norms_, kernel_
        As in `SVC`; the certificate is that of the nu problem, in which alpha is at most the weight
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

    def _targets(self, y, weight):
        """Also refuse a nu that no weights of the points can meet."""
        targets = super()._targets(y, weight)
        for pair in pairs_of(len(targets.classes)):
            rows, signs, _ = targets.of_task(OneVsOne(len(targets.classes)), pair)
            first, second = (targets.cost[rows][signs == sign].sum() for sign in (1, -1))
            largest = 2 * min(first, second) / (first + second) if len(rows) else 1.0
            if 0 < largest < self.nu * (1 - 1e-12):
                raise ValueError(
                    f"specified nu is infeasible. NuSVC: nu={self.nu} is too large for class sizes "
                    f"{second:g} and {first:g}; it must be at most {floor(largest * 1e3) / 1e3:g}."
                )
        return targets

    def _problem(self, kernel, X, signs, cost):
        return nu_svc(kernel, X, signs, cost, self.nu)

    def _solve_fold(self, solver, problem, keep, solution, engine, budget):
        signs, weight = np.where(problem.upper > 0, 1.0, -1.0), problem.upper - problem.lower
        left = [weight[keep & (signs == sign)].sum() for sign in (1, -1)]
        if min(left) == 0:
            return model_of_hulls(solution)  # without a class there is nothing to learn
        nu = min(self.nu, 2 * min(left) / sum(left))  # what these points can meet
        without = nu_svc(problem.kernel, problem.X, signs, weight * keep, nu)
        return model_of_hulls(solve_nu(solver, without, engine, budget.in_silence()))

    def _machine(self, rows, build, **options):
        return super()._machine(rows, build, solve=solve_nu, model=model_of_hulls, **options)


def _check_probability(model):
    if model.probability is not True:
        raise AttributeError("predict_proba is not available when probability=False")
    return True
