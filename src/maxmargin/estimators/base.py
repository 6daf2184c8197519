"""The one fit of every SVM: validate, reduce to dual problems, solve, certify, keep.

Invariant: a fit that fails leaves the estimator exactly as it was.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin import arrays
from maxmargin.engines import engine_named
from maxmargin.engines.exactness import ulps_of
from maxmargin.engines.shared import SharedBlocks, bytes_within
from maxmargin.engines.threads import workers
from maxmargin.errors import OVERFLOW, ConvergenceWarning, KernelError, warn
from maxmargin.estimators.callbacks import CallbackSupport, fit_told
from maxmargin.estimators.parameters import SVM_CONSTRAINTS, check_parameters, kernel_of, rows_of
from maxmargin.estimators.progress import ProgressLine
from maxmargin.estimators.validation import (
    altered,
    check_dense_gram,
    check_gram,
    check_labels_finite,
    check_symmetric,
    check_unaltered,
    checked_weight,
    look_at_mercer,
    part_of,
    resolved_kernel,
    seed_of,
    shape_of_rows,
    validate_data,
)
from maxmargin.kernels import Kernel, Linear
from maxmargin.memory import check_room, in_blocks, rows_at_a_time
from maxmargin.problems.certificate import Certificate, combine
from maxmargin.problems.dual import DualProblem
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import Budget, Solution, Solver
from maxmargin.solvers.proved import solve_and_prove, solve_in_unit
from maxmargin.solvers.trace import LIMIT, Trace

SMALLEST_BESIDE, LARGEST_BESIDE = 256, 8192  # points of machines that are solved side by side
MOST_BESIDE = 4  # each has this part of the memory, however many threads there are
MOST_SHARED = 0.25  # of the memory, for kernel blocks that they have in common
HELD_PER_MACHINE = 4  # numbers for each row that is answered, about as many as votes take
DEFAULT_MAX_ITER = 10_000_000  # LIBSVM's: this, or 100 per point if that is more


@dataclass(frozen=True)
class Machine:
    """One dual problem of a fit.

    `rows` are the training rows it uses. `build` sets it up when its turn comes, so that only one
    problem's copy of the data exists at a time; `solve` solves it with a given solver, and `model`
    leads from its solution to the model. `parts` says which of its rows are those of a class, if
    they are those of two, and `population` how much its rows count for probabilities.
    """

    rows: np.ndarray
    build: Callable[[], DualProblem]
    solve: Callable[..., Solution] = field(default=solve_in_unit)
    model: Callable[[Solution], Solution] = field(default=lambda solution: solution)
    pair: tuple[int, int] = (0, 1)
    parts: dict[int, slice] = field(default_factory=dict)
    population: object = None


@dataclass(frozen=True)
class Outcome:
    """A machine, solved: what its model is, which rows are at a bound, and the proof."""

    machine: Machine
    solution: Solution
    at_bound: np.ndarray
    certificate: Certificate
    extras: object = None


class BaseSVM(CallbackSupport, BaseEstimator):
    """What all kernel machines share.

    A subclass writes `_targets`, which checks and encodes y; `_machines`, which reduces the data to
    dual problems; and `_keep`, which turns their solutions into fitted attributes.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._rows() != "gram"
        tags.input_tags.pairwise = self._rows() == "gram"
        return tags

    # Input.

    def _rows(self):
        """What the rows of X hold in a fit."""
        return rows_of(self.kernel)

    def _fitted_rows(self):
        """What they held in the last one, whatever the parameter `kernel` says by now."""
        return "anything" if self._is_of_function() else self.kernel_.takes

    def _is_of_function(self):
        """Whether the fit used a plain function, which scikit-learn always gives all training rows
        at once: it may count on that. (`Custom` is called on blocks.)"""
        return hasattr(self, "_function")

    def _keep_function(self, X):
        """The function and the rows it will be asked about again, or none of an earlier fit."""
        for name in ("_function", "_X_fit"):
            vars(self).pop(name, None)
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            self._function, self._X_fit = self.kernel, arrays.copy_of(X)

    def _matrix_of_function(self, X, X_fit):
        expected = (arrays.n_rows(X), arrays.n_rows(X_fit))
        check_room(
            f"{type(self).__name__}: a function as kernel returns the whole matrix", expected,
            "kernel=Custom(function) is called on blocks of it.",
        )  # fmt: skip
        matrix = np.asarray(arrays.dense(self._function(X, X_fit)), dtype=np.float64)
        if matrix.shape != expected:
            raise KernelError(
                f"{type(self).__name__}: the kernel function must return a matrix of shape "
                f"{expected}, got {matrix.shape}."
            )
        if not np.all(np.isfinite(matrix)):
            place = arrays.first_not_finite(matrix)
            raise KernelError(OVERFLOW.format(f"the kernel function at {place}"))
        return matrix

    def _validate(self, X, y, sample_weight):
        """Check X, y and the weights before any work."""
        if arrays.is_sparse(X):
            if self._rows() == "gram":
                check_dense_gram(X)
            arrays.check_indices(X)
        if self._rows() == "anything":
            check_consistent_length(X, y)
            y = check_labels_finite(column_or_1d(y, warn=True))
        else:
            X, y = validate_data(
                self, X, y, dtype=np.float64, order="C", accept_sparse="csr",
                y_numeric=is_regressor(self),
            )  # fmt: skip
        if arrays.is_sparse(X):
            X = arrays.canonical_csr(X)
        if self._rows() == "gram":
            check_gram(X)
        weight = checked_weight(sample_weight, X)
        return X, y, weight

    def _validate_for_predict(self, X):
        check_is_fitted(self)
        if arrays.is_sparse(X):
            arrays.check_indices(X)
        holds = self._fitted_rows()
        if holds != "anything":
            X = validate_data(
                self, X, dtype=np.float64, order="C", accept_sparse="csr", reset=False
            )
        name = type(self).__name__
        trained_sparse = arrays.is_sparse(self.support_vectors_)
        if arrays.is_sparse(X):
            if not trained_sparse and holds != "anything":
                raise ValueError(f"cannot use sparse input in {name!r} trained on dense data")
            X = arrays.canonical_csr(X)
        elif trained_sparse:
            X = arrays.canonical_csr(X)
        if holds == "gram" and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        self._check_unaltered()
        return self._matrix_of_function(X, self._X_fit) if self._is_of_function() else X

    def _check_unaltered(self):
        """Fitted attributes can be overwritten; never let that turn into a wrong read."""
        n_support, holds = len(self.support_), self._fitted_rows()
        shapes = {"support_": (n_support,), **self._shapes(n_support)}
        if holds != "gram":
            shapes["support_vectors_"] = shape_of_rows(self, n_support, holds)
        if self._is_of_function():
            shapes["_X_fit"] = self.shape_fit_[0]
        check_unaltered(self, **shapes)
        if np.min(self.n_support_) < 0 or np.sum(self.n_support_) != n_support:
            raise altered(self, f"n_support_ does not count the {n_support} support vectors.")
        if self.kernel_.takes == "gram":
            is_row = (self.support_ >= 0) & (self.support_ < self.shape_fit_[0])
            if not np.all(is_row):
                raise altered(self, "support_ names what is no row of the kernel matrix.")

    # Fitting.

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or (n, n) for a precomputed kernel
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors of C per row: a weight of two equals the row twice.

        Returns
        -------
        self
        """
        with restored_on_error(self):
            outcomes = self._fit(X, y, sample_weight)
        if any(outcome.solution.stopped == "interrupted" for outcome in outcomes):
            raise KeyboardInterrupt  # the model so far has been kept
        self._warn_unless_converged(outcomes)
        return self

    def _fit(self, X, y, sample_weight):
        check_parameters(self, SVM_CONSTRAINTS)
        X, y, weight = self._validate(X, y, sample_weight)
        targets = self._targets(y, weight)
        self._keep_function(X)
        rows = X
        if self._is_of_function():
            rows = self._matrix_of_function(X, X)
            check_symmetric("the kernel matrix", rows, rows.T)
        kernel = resolved_kernel(kernel_of(self), rows, weight)
        known = self._known_of(kernel, part_of(kernel, rows, np.flatnonzero(targets.is_used)))
        machines = self._machines(kernel, rows, targets)
        with ProgressLine(self.verbose) as line:
            budget = self._budget(line)
            work = partial(self._solve_and_keep, kernel, X, machines, targets, budget, known)
            outcomes = fit_told(self, budget, len(machines), work, X, y, sample_weight)
            line.tell_times(budget.clock.seconds)
        return outcomes

    def _known_of(self, kernel, X):
        """What a certificate must know of the kernel on these rows."""
        mercer = look_at_mercer(kernel, X)
        with self._new_engine(n_threads=1) as engine:
            return {"mercer": mercer, "ulps": ulps_of(engine, kernel, X)}

    def _solve_and_keep(self, kernel, X, machines, targets, budget, known):
        found, left = self._solve_at_once(machines, targets, budget, known)
        none_solved = len(left) == len(machines)
        outcomes = self._solve(left, targets, budget, known, none_solved)
        self.kernel_ = kernel
        self._keep_trace(budget.trace)
        self.shape_fit_ = getattr(X, "shape", (arrays.n_rows(X),))
        self.converged_ = all(outcome.solution.converged for outcome in outcomes)
        self.fit_status_ = int(not self.converged_)
        self.certificate_ = combine(self._certificates(machines, found, outcomes, known))
        self._keep(X, targets, outcomes, found)
        return outcomes

    def _solve_at_once(self, machines, targets, budget, known):
        """What a subclass finds in another way than machine by machine, and the machines left."""
        return None, machines

    def _certificates(self, machines, found, outcomes, known):
        return [outcome.certificate for outcome in outcomes]

    def _keep_trace(self, trace):
        if trace is not None:
            self.trace_ = trace
        elif hasattr(self, "trace_"):
            del self.trace_  # of an earlier fit

    def _solve(self, machines, targets, budget, known, may_be_beside):
        """Solve one machine after the other or, where they are many and small, side by side.

        Where small pairs have been solved at once, the others go one after the other.
        """
        n = len(machines)
        outcomes = [None] * n
        shared, taken = None, 0

        def solve(position, engine, n_beside):
            machine, share = machines[position], budget.share(position, n)
            start = self._start(machine, targets) if self.warm_start else None
            solver = self._new_solver(n_beside, taken)
            outcomes[position] = self._solve_one(
                machine, engine, share, start, solver, known, shared
            )
            if outcomes[position].solution.stopped == "interrupted" and None in outcomes:
                raise KeyboardInterrupt  # the others have no solution: nothing to keep

        def solve_beside_others(position):
            try:
                with self._new_engine(n_threads=1) as engine:
                    solve(position, engine, MOST_BESIDE)
            except BaseException:
                budget.end_now()
                raise

        if may_be_beside and self._are_many_and_small(machines, budget):
            taken = self._bytes_to_share(machines)
            shared = SharedBlocks() if taken else None
            with workers(most=MOST_BESIDE) as pool:
                pool.map(solve_beside_others, range(n))
        else:
            with self._new_engine() as engine:
                for position in range(n):
                    solve(position, engine, 1)
        return outcomes

    def _are_many_and_small(self, machines, budget):
        """Whether threads do more for whole machines than for the tiles of one.

        What listens to progress wants it in order, and a shared source of random numbers too.
        """
        if budget.callbacks or budget.trace is not None or len(machines) < 3:
            return False
        if self._shares_random_numbers():
            return False
        sizes = [len(machine.rows) for machine in machines]
        return min(sizes) >= SMALLEST_BESIDE and max(sizes) <= LARGEST_BESIDE

    def _shares_random_numbers(self):
        """Whether each machine takes the next ones from the same source."""
        sources = (np.random.RandomState, np.random.Generator)
        return isinstance(getattr(self, "random_state", None), sources)

    def _bytes_to_share(self, machines):
        """The memory for what pairs of classes have in common; 0 if it is too much or nothing."""
        if self._rows() != "features" or not all(machine.parts for machine in machines):
            return 0
        taken = bytes_within([machine.parts for machine in machines])
        if taken > MOST_SHARED * self.cache_size * 2**20:
            return 0
        largest = getattr(self._new_solver(MOST_BESIDE, taken), "largest_whole", 0)
        fit = [len(machine.rows) <= largest for machine in machines]
        return taken if np.mean(fit) >= 0.5 else 0  # the others pay without a gain

    def _solve_one(self, machine, engine, budget, start, solver, known, shared=None):
        problem = machine.build()
        if shared is not None:
            engine.share(problem.X, machine.parts, shared)
        if self.max_iter == -1:
            budget.max_iter = max(DEFAULT_MAX_ITER, 100 * problem.n)
        start = None if start is None else problem.start_from(start)
        solution, proof = solve_and_prove(
            machine.solve, solver, problem, engine, budget, start, **known
        )
        at_bound = (solution.coef <= problem.lower) | (solution.coef >= problem.upper)
        extras = None
        if solution.stopped != "interrupted":
            try:
                extras = self._extras(machine, solver, problem, solution, engine, budget)
            except KeyboardInterrupt:  # the solution is there, what else was asked for is not
                solution = replace(solution, stopped="interrupted")
        model = machine.model(solution)
        return Outcome(machine, model, at_bound & (solution.coef != 0), proof, extras)

    def _extras(self, machine, solver, problem, solution, engine, budget):
        """What else a subclass wants to know of a machine while its problem is at hand."""
        return None

    def _budget(self, line):
        callbacks = list(self.callbacks or ())
        if not line.is_silent:
            callbacks.append(line)
        trace = None
        if self.trace:
            trace = Trace(LIMIT if self.trace is True else self.trace)
        return Budget(self.max_iter, self.max_time, callbacks, trace=trace)

    def _new_solver(self, n_beside, taken=0):
        """The solver by its name, or the one given, with this estimator's tolerance.

        Several beside each other share the memory that is not `taken`, and do no more than tol asks
        for.
        """
        solver = self.solver if isinstance(self.solver, Solver) else solver_named(self.solver)()
        limits = {"tol": self.tol, "cache_bytes": int((self.cache_size * 2**20 - taken) / n_beside)}
        if n_beside > 1 and hasattr(solver, "tight"):
            limits["tight"] = False
        random_state = getattr(self, "random_state", None)
        if hasattr(solver, "seed") and random_state is not None:
            limits["seed"] = seed_of(random_state)
        return replace(solver, **limits)

    def _new_engine(self, **options):
        return engine_named("cpu" if self.engine == "auto" else self.engine, **options)

    def _keep_support(self, X, support, coef):
        """`coef` has a row per function and a column per training row."""
        self.support_ = support.astype(np.int32)
        is_gram = self._rows() == "gram"
        self.support_vectors_ = np.empty((0, 0)) if is_gram else arrays.take(X, support)
        self.dual_coef_ = np.ascontiguousarray(coef[:, support])
        if arrays.is_sparse(X):
            self.support_vectors_ = sparse.csr_matrix(self.support_vectors_)
            self.dual_coef_ = sparse.csr_matrix(self.dual_coef_)

    def _last_coef(self):
        """`dual_coef_` of the last fit, for a warm start; its X may have had other features."""
        check_unaltered(self, dual_coef_=(None, len(self.support_)))
        return arrays.dense(self.dual_coef_)

    def _answers(self, X, answer):
        """answer(decisions, rows), a row for each of X, from a block of rows at a time.

        `decisions` has a column per machine, and `rows` says which rows of X they are.
        """
        X = self._validate_for_predict(X)
        n, n_machines = arrays.n_rows(X), len(self.intercept_)
        with self._new_engine() as engine:

            def of_block(rows):
                block = X if rows == slice(0, n) else arrays.take(X, rows)
                return answer(self._decisions_of(engine, block), rows)

            return in_blocks(of_block, n, rows_at_a_time(HELD_PER_MACHINE * n_machines))

    def _expand(self, engine, X, parts=None):
        """sum_i dual_coef_[:, i] k(x_i, x) over the support vectors, or over each part of them."""
        coef = np.ascontiguousarray(arrays.dense(self.dual_coef_).T)
        if self.kernel_.takes == "gram":
            Z = np.empty((len(self.support_), 0))
        else:
            Z = self.support_vectors_
            Z = arrays.canonical_csr(Z) if arrays.is_sparse(Z) else Z
        return engine.expand(self.kernel_, X, Z, coef, self.support_, parts)

    def _warn_unless_converged(self, outcomes):
        for stopped, words in STOPPED_WORDS.items():
            steps = [o.solution.n_iter for o in outcomes if o.solution.stopped == stopped]
            if steps:
                warn(
                    words.format(max_iter=max(steps), max_time=self.max_time)
                    + f" KKT violation {self.certificate_.kkt_violation:.1e} (tol {self.tol:.0e}),"
                    f" duality gap {100 * self.certificate_.relative_gap:.3g} %.",
                    ConvergenceWarning,
                )
                return

    @property
    def coef_(self):
        """w, one row per binary problem; only for the linear kernel."""
        kernel = getattr(self, "kernel_", self.kernel)
        if kernel != "linear" and not isinstance(kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        self._check_unaltered()
        coef = self._linear_coef()
        if arrays.is_sparse(coef):
            coef.sort_indices()  # SciPy would want to do it later, in place
        flags = (coef.data if arrays.is_sparse(coef) else coef).flags
        flags.writeable = False
        return coef


class SingleSVM(BaseSVM):
    """SVMs of one dual problem: regression and one-class.

    A subclass writes `_problem`, the one line that names its reduction.
    """

    def _targets(self, y, weight):
        return Targets(y, weight)

    def _shapes(self, n_support):
        """Of the attributes that depend on the number of machines."""
        return {"dual_coef_": (1, n_support), "intercept_": (1,), "n_support_": (1,)}

    def _machines(self, kernel, X, targets):
        rows = np.flatnonzero(targets.weight > 0)
        y, weight = targets.y[rows], targets.weight[rows]
        build = partial(self._problem, kernel, part_of(kernel, X, rows), y, weight)
        return [self._machine(rows, build)]

    def _machine(self, rows, build):
        return Machine(rows, build)

    def _start(self, machine, targets):
        if not hasattr(self, "dual_coef_") or self.shape_fit_[0] != len(targets.weight):
            return None
        start = np.zeros(len(targets.weight))
        start[self.support_] = self._last_coef()[0]
        return start[machine.rows]

    def _keep(self, X, targets, outcomes, found):
        solution, rows = outcomes[0].solution, outcomes[0].machine.rows
        coef = np.zeros((1, len(targets.weight)))
        coef[0, rows] = solution.coef
        self._keep_support(X, np.flatnonzero(coef[0]), coef)
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self.intercept_ = np.array([solution.bias[0]])
        self.n_iter_ = int(solution.n_iter)

    def _decisions(self, X):
        return self._answers(X, lambda decisions, rows: decisions[:, 0])

    def _decisions_of(self, engine, X):
        return self._expand(engine, X) + self.intercept_

    def _linear_coef(self):
        return self.dual_coef_ @ self.support_vectors_


@dataclass(frozen=True)
class Targets:
    """What one machine is to fit, and how much each row counts."""

    y: np.ndarray
    weight: np.ndarray

    @property
    def is_used(self):
        return self.weight > 0


STOPPED_WORDS = {
    "max_iter": "Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data "
    "with StandardScaler or MinMaxScaler.",
    "max_rounds": "Solver terminated early (its max_rounds). Give the solver more rounds, such as "
    "solver=SMORandomPair(max_rounds=10000), or use solver='smo'.",
    "max_time": "Solver terminated early (max_time={max_time} s). Scale the features, or allow "
    "more time.",
    "callback": "Solver terminated early (a callback asked for it).",
    "no_margin": "nu is too small for these classes: the hulls of their points meet, so that there "
    "is no margin that tol can tell, and which side a point is on means little. Use a larger nu, a "
    "smaller tol, or SVC.",
    "coarse_tol": "tol is large beside the targets (of a one-class SVM: beside the kernel values), "
    "so that next to any model is within it, and many steps beyond it did not suffice. Scale the "
    "targets to about one, or use a smaller tol.",
    "stalled": "Solver terminated early: rounding errors leave no step that helps. Scale the "
    "features, or use a smaller C.",
}


@contextmanager
def restored_on_error(estimator):
    """Leave the estimator as it was when the block raises."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
