"""The one fit of every SVM: validate, reduce to dual problems, solve, certify, keep.

Invariant: a fit that fails leaves the estimator exactly as it was.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin import arrays
from maxmargin.engines.exactness import ulps_of
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.estimators.answers import KernelModel
from maxmargin.estimators.decomposition import Single
from maxmargin.estimators.limits import LimitedFit
from maxmargin.estimators.machines import Found, Machine, Machines, Workshop
from maxmargin.estimators.parameters import SVM_CONSTRAINTS, check_parameters, kernel_of
from maxmargin.estimators.reached import Reached, digest_of
from maxmargin.estimators.validation import (
    altered,
    check_labels_finite,
    check_unaltered,
    checked_weight,
    look_at_mercer,
    resolved_kernel,
    seed_of,
    shape_of_rows,
)
from maxmargin.kernels import Linear
from maxmargin.memory import rows_at_a_time
from maxmargin.problems.certificate import Certificate, combine
from maxmargin.problems.trace import LIMIT, Trace
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import Solution, Solver

HELD_PER_MACHINE = 4  # An answer holds at most this many numbers per row and machine, as votes do.
# The largest value of a feature that was scaled lies between these.
SCALED = (1e-2, 1e2)


class BaseSVM(LimitedFit, KernelModel, BaseEstimator):
    """What all kernel machines share.

    A subclass writes `_targets`, which checks and encodes y; `_decomposition`, which names the
    machines for a number of classes; `_machines`, which makes them; and `_problem`, the one line
    that names its reduction. It may keep more than `_keep` does. `_linear_twin` is the call that
    makes an estimator of nearly the same problem without a kernel.
    """

    _linear_twin: str | None = None

    # Input.

    def _is_of_function(self):
        """Whether the fit used a plain function, which needs all training rows again."""
        return self.kernel_.needs_all_rows

    def _targets_of_anything(self, y):
        return check_labels_finite(column_or_1d(y, warn=True))

    def _rows_for_predict(self, X):
        X, holds = super()._rows_for_predict(X), self.kernel_.takes
        is_sparse, was_sparse = arrays.is_sparse(X), arrays.is_sparse(self.support_vectors_)
        if is_sparse and not was_sparse and holds != "anything":
            name = type(self).__name__
            raise ValueError(f"cannot use sparse input in {name!r} trained on dense data")
        if holds == "gram" and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        return arrays.canonical_csr(X) if was_sparse else X

    def _check_unaltered(self):
        """Refuse fitted attributes that were overwritten, before they are read wrongly."""
        n_support, holds = len(self.support_), self.kernel_.takes
        shapes = {"support_": (n_support,), **self._fitted_decomposition().shapes(n_support)}
        if holds != "gram":
            shapes["support_vectors_"] = shape_of_rows(self, n_support, holds)
        if self._is_of_function():
            shapes["_X_fit"] = self.shape_fit_[0]
        check_unaltered(self, **shapes, **self._more_shapes())
        if np.min(self.n_support_) < 0 or np.sum(self.n_support_) != n_support:
            raise altered(self, f"n_support_ does not count the {n_support} support vectors.")
        if self.kernel_.takes == "gram":
            is_row = (self.support_ >= 0) & (self.support_ < self.shape_fit_[0])
            if not np.all(is_row):
                raise altered(self, "support_ has a number that is no row of the kernel matrix.")

    # Fitting.

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or (n, n) for a precomputed kernel
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            The factor of C for each row; a weight of two equals the row twice.

        Returns
        -------
        self
        """
        solutions = self._fit_within_limits(X, y, sample_weight, self.max_iter)
        self._warn_unless_converged(solutions, X)
        return self

    def _prepared(self, X, y, sample_weight):
        check_parameters(self, SVM_CONSTRAINTS)
        X, y = self._validated_for_fit(X, y, y_numeric=is_regressor(self))
        weight = checked_weight(sample_weight, X)
        targets = self._targets(y, weight)
        machines = self._machines(targets)
        return len(machines), partial(self._solve_and_keep, X, targets, machines)

    def _workshop(self, engine, X, targets, budget):
        """What the machines are solved with: the rows of positive weight, and the kernel."""
        used, kernel = np.flatnonzero(targets.is_used), kernel_of(self)
        points = self._points(engine, kernel, X, used)
        kernel = resolved_kernel(kernel, points, targets.weight[used])
        known = self._known_of(engine.matrix(kernel, points))
        start = self._start_of(targets, digest_of(X, kernel) if self.warm_start else None)
        return Workshop(
            kernel, points, engine, self._new_solver(), budget, known, start, self.certify is True
        )

    def _points(self, engine, kernel, X, used):
        """The rows of positive weight. The values of the others must not matter, unless the kernel
        is a function of all rows."""
        if len(used) == arrays.n_rows(X):
            return engine.points(X)
        if kernel.needs_all_rows:
            return engine.points(X)[used]
        return engine.points(arrays.take(X, used), used)

    def _known_of(self, matrix):
        """What a certificate must know about the kernel on the rows of positive weight."""
        return {"mercer": look_at_mercer(matrix), "ulps": ulps_of(matrix)}

    def _more_shapes(self):
        """The shapes of fitted attributes that a subclass adds."""
        return {}

    def _start_of(self, targets, digest):
        """The function that says where a machine begins. With `warm_start` and like machines that
        is where the last fit stood, if it had the same rows and kernel, or at the coefficients that
        it found, if it had as many rows."""
        n = len(targets.weight)
        is_like = hasattr(self, "dual_coef_") and self.shape_fit_[0] == n and targets.is_like(self)
        if not (self.warm_start and is_like):
            return lambda machine, problem: None
        self._last_coef()  # refuses altered coefficients, whether they are read or not
        how, reached = self._fitted_decomposition(), getattr(self, "_reached", Reached())
        known, is_same = set(how.tasks), digest is not None and reached.digest == digest

        def start(machine, problem):  # starts of all machines at once would fill the memory
            if machine.task not in known:
                return None
            if is_same and (there := reached.start(machine, problem)) is not None:
                return there
            coef = how.last_coef(machine.task, self, n)[machine.all_rows]
            return Solution.at(problem.start_from(coef))

        return start

    def _solve_and_keep(self, X, targets, machines, budget):
        with self._new_engine() as engine:
            with budget.clock("points"):
                workshop = self._workshop(engine, X, targets, budget)
            found, left = self._solve_at_once(workshop, machines, targets)
            may_be_beside = len(left) == len(machines) and not self._shares_random_numbers()
            outcomes = workshop.solve_all(left, may_be_beside)
        solutions = [outcome.solution for outcome in outcomes]
        self.kernel_ = workshop.kernel
        self._keep_trace(budget.trace)
        self._keep_rows(X)
        self.converged_ = all(solution.converged for solution in solutions)
        self.fit_status_ = int(not self.converged_)
        at_once = replace(found, done=found.done.copy())  # the others are added below
        self._keep_certificate(workshop, partial(self._certificates, machines, at_once), outcomes)
        self._keep_reached(workshop, X, outcomes)
        self._how = machines.how
        for outcome in outcomes:
            found.add(self._how, outcome, targets.labels)
        self._keep(targets, outcomes, found)
        self._keep_support(X, targets.labels, found.coef)
        return solutions

    def _keep_certificate(self, workshop, certificates, outcomes):
        """Keep the certificate of all machines, or what it will be made of when it is needed."""
        for name in ("certificate_", "_proof_to_come"):
            vars(self).pop(name, None)  # an earlier fit may have left one
        self.certificate_ = combine(certificates(outcomes, workshop.known))
        if self.certify == "lazy":
            self._proof_to_come = ProofToCome(self.certificate_, workshop, certificates, outcomes)
            del self.certificate_

    def __getattr__(self, name):
        """Make the certificate when it is first looked at, if the fit has put it off."""
        to_come = vars(self).get("_proof_to_come")
        if name != "certificate_" or to_come is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.certificate_ = to_come.certificate()
        del self._proof_to_come
        if self.converged_ and not self.certificate_.stationary:
            self.converged_, self.fit_status_ = False, 1
            self._warn(STOPPED_WORDS["stalled"])
        return self.certificate_

    def _keep_reached(self, workshop, X, outcomes):
        """Keep where the solvers stood, for a warm start."""
        vars(self).pop("_reached", None)  # an earlier fit may have left it
        if self.warm_start:
            self._reached = Reached.by(outcomes, digest_of(X, workshop.kernel))

    def __getstate__(self):
        """The state without what is kept for later work in this process."""
        state = super().__getstate__()
        return {name: state[name] for name in state if name not in ("_reached", "_proof_to_come")}

    def _keep_rows(self, X):
        """Keep the shape of X and, for a function that needs them again, its rows."""
        self.shape_fit_ = getattr(X, "shape", (arrays.n_rows(X),))
        vars(self).pop("_X_fit", None)  # an earlier fit may have left it
        if self._is_of_function():
            self._X_fit = arrays.copy_of(X)

    def _solve_at_once(self, workshop, machines, targets):
        """What a subclass finds for many machines at once, in arrays with room for the others, and
        the machines left."""
        return Found.nothing(machines.how, targets.labels), list(machines)

    def _keep(self, targets, outcomes, found):
        self.intercept_, self.n_iter_ = found.bias, found.n_iter

    def _decomposition(self, n_classes):
        return Single()

    def _fitted_decomposition(self):
        """The decomposition of the last fit, although parameters may have changed since; for a
        model from elsewhere, the one that its parameters name."""
        return getattr(self, "_how", None) or self._decomposition(
            len(getattr(self, "classes_", ()))
        )

    def _keep_decomposition(self):
        """Keep the decomposition, so that parameters that are set later do not change it."""
        self._how = self._fitted_decomposition()

    def _certificates(self, machines, found, outcomes, known):
        return [outcome.certificate for outcome in outcomes]

    def _keep_trace(self, trace):
        if trace is not None:
            self.trace_ = trace
        elif hasattr(self, "trace_"):
            del self.trace_  # it belongs to an earlier fit

    def _shares_random_numbers(self):
        """Whether the machines draw their random numbers from one source, in turn."""
        sources = (np.random.RandomState, np.random.Generator)
        return isinstance(getattr(self, "random_state", None), sources)

    def _new_trace(self):
        return Trace(LIMIT if self.trace is True else self.trace) if self.trace else None

    def _new_solver(self):
        """The solver by its name, or the one given, with this estimator's tolerance."""
        solver = self.solver if isinstance(self.solver, Solver) else solver_named(self.solver)()
        limits = {"tol": self.tol}
        random_state = getattr(self, "random_state", None)
        if hasattr(solver, "seed") and random_state is not None:
            limits["seed"] = seed_of(random_state)
        return replace(solver, **limits)

    def _keep_support(self, X, labels, coef):
        """Keep the rows with a coefficient, grouped by class.

        `coef` has a row per function and a column per training row.
        """
        support = np.flatnonzero(np.any(coef != 0, axis=0))
        support = support[np.argsort(labels[support], kind="stable")]
        counts = np.bincount(labels[support], minlength=self._how.n_classes)
        self.n_support_, self.support_ = counts.astype(np.int32), support.astype(np.int32)
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

    def _rows_at_a_time(self):
        return rows_at_a_time(HELD_PER_MACHINE * len(self.intercept_))

    def _centres(self, engine):
        """The support vectors, as points."""
        if self._is_of_function():
            return engine.points(self._X_fit)[self.support_]
        Z = np.empty((len(self.support_), 0))
        if self.kernel_.takes != "gram":
            Z = arrays.canonical(self.support_vectors_)
        return engine.points(Z, index=self.support_)

    def _decisions_from(self, expand):
        """The decisions, one column per machine."""
        how = self._fitted_decomposition()
        return how.decisions(self._sums_by(expand), how.parts(self.n_support_), self.intercept_)

    def _rough_decisions_from(self, expand):
        """The same, and the largest errors of each, or None where there are only exact ones."""
        how = self._fitted_decomposition()
        found = how.sums(self._sums_by(expand), how.parts(self.n_support_))
        if found is None:
            return None
        sums, errors = found
        return how.decisions_of(sums, self.intercept_), how.errors_of(errors)

    def _sums_by(self, expand):
        return partial(expand, np.ascontiguousarray(arrays.dense(self.dual_coef_).T))

    def _warn_unless_converged(self, solutions, X):
        for stopped, words in STOPPED_WORDS.items():
            steps = [one.n_iter for one in solutions if one.stopped == stopped]
            if steps:
                said = words.format(max_iter=max(steps), max_time=self.max_time)
                self._warn(said + self._advice(stopped, X))
                return

    @property
    def _said(self):
        """The certificate, or while it is put off what the solver says."""
        to_come = vars(self).get("_proof_to_come")
        return self.certificate_ if to_come is None else to_come.said

    def _warn(self, words):
        said = self._said
        warn(
            f"{words} KKT violation {said.kkt_violation:.1e} (tol {self.tol:.0e}),"
            f" duality gap {100 * said.relative_gap:.3g} %.",
            ConvergenceWarning,
        )

    def _advice(self, stopped, X):
        """What else may help a fit that took too long; max_iter's words are scikit-learn's, which
        speak of scaling already."""
        if stopped in ("max_time", "callback") and self._lacks_only_the_proof():
            return " All that is missing is the proof, which certify='lazy' puts off."
        if stopped not in ("max_iter", "max_time", "stalled"):
            return ""
        advice = ""
        if stopped != "max_iter" and not self._is_scaled(X):
            advice += " Scale the features."
        if self._linear_twin and isinstance(self.kernel_, Linear):
            advice += (
                f" With a linear kernel, {self._linear_twin} finds nearly the same model, on many "
                "rows in a fraction of the time."
            )
        return advice

    def _lacks_only_the_proof(self):
        said = self._said
        return not said.recomputed and said.kkt_violation <= said.tol

    def _is_scaled(self, X):
        """Whether the features look scaled, or there are none to scale."""
        if self.kernel_.takes != "features":
            return True
        sizes, (smallest, largest) = arrays.largest_in_columns(X), SCALED
        return bool(np.all((sizes == 0) | ((sizes >= smallest) & (sizes <= largest))))

    @property
    def coef_(self):
        """w, one row per binary problem; only for the linear kernel."""
        kernel = getattr(self, "kernel_", self.kernel)
        if kernel != "linear" and not isinstance(kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        self._check_unaltered()
        coef = self._fitted_decomposition().weights(self)
        if arrays.is_sparse(coef):
            coef.sort_indices()  # SciPy would try to do it later, in place
        flags = (coef.data if arrays.is_sparse(coef) else coef).flags
        flags.writeable = False
        return coef


@dataclass(frozen=True)
class ProofToCome:
    """What a certificate will be made of when it is first looked at, and, in `said`, what the
    solvers claim until then. It holds the training rows."""

    said: Certificate
    workshop: Workshop
    certificates: Callable
    outcomes: Sequence

    def certificate(self):
        with self.workshop.engine:
            proved = [self.workshop.proved(outcome) for outcome in self.outcomes]
        return combine(self.certificates(proved, self.workshop.known))


class SingleSVM(BaseSVM):
    """SVMs of one dual problem: regression and one-class."""

    def _targets(self, y, weight):
        return Targets(y, weight)

    def _machines(self, targets):
        rows = np.flatnonzero(targets.weight > 0)
        build = partial(self._problem, y=targets.y[rows], weight=targets.weight[rows])
        return Machines(lambda task: self._machine((rows,), build, task=task), Single())

    def _machine(self, rows, build, **options):
        return Machine(rows, build, **options)

    def _keep(self, targets, outcomes, found):
        super()._keep(targets, outcomes, found)
        self.n_iter_ = int(found.n_iter[0])

    def _decisions(self, X):
        return self._answers(X, lambda decisions, rows: decisions[:, 0])


@dataclass(frozen=True)
class Targets:
    """What one machine is to fit, and how much each row counts."""

    y: np.ndarray
    weight: np.ndarray

    @property
    def is_used(self):
        return self.weight > 0

    @property
    def labels(self):
        """Zeros, because all rows count as one class."""
        return np.zeros(len(self.weight), dtype=np.int64)

    def is_like(self, model):
        """Whether a model was fitted to targets of this kind."""
        return True


STOPPED_WORDS = {
    "max_iter": "Solver terminated early (max_iter={max_iter}).  Consider pre-processing your data "
    "with StandardScaler or MinMaxScaler.",
    "max_rounds": "Solver terminated early (its max_rounds). Give the solver more rounds, such as "
    "solver=SMORandomPair(max_rounds=10000), or use solver='smo'.",
    "max_time": "Solver terminated early (max_time={max_time} s). Allow more time.",
    "callback": "Solver terminated early (a callback asked for it).",
    "no_margin": "nu is too small for these classes: the hulls of their points meet, so that there "
    "is no margin that tol can tell, and which side a point is on means little. Use a larger nu, a "
    "smaller tol, or SVC.",
    "coarse_tol": "tol is large beside the targets (of a one-class SVM: beside the kernel values), "
    "so that next to any model is within it, and many steps beyond it did not suffice. Scale the "
    "targets to about one, or use a smaller tol.",
    "stalled": "Solver terminated early: rounding errors leave no step that helps. Use a "
    "smaller C.",
}
