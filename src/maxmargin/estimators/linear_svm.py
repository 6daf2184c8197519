"""Linear machines without a kernel: LinearSVC and LinearSVR.

They solve for w directly, penalise the bias like a weight, and so differ a little from
`SVC(kernel="linear")`; they scale to far more points.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.engines.threads import workers
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.estimators.decomposition import ABSENT
from maxmargin.estimators.limits import LimitedFit
from maxmargin.estimators.linear_base import LinearClassifier, LinearModel, Machine, rows_that_count
from maxmargin.estimators.parameters import LINEAR_CONSTRAINTS, check_parameters
from maxmargin.estimators.validation import checked_weight, prices, seed_of
from maxmargin.problems.certificate import combine, nothing_known
from maxmargin.problems.joint_loss import JointLoss
from maxmargin.problems.linear import linear_svc, linear_svr
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import LinearSolution
from maxmargin.solvers.newton import LARGEST as LARGEST_FOR_NEWTON
from maxmargin.solvers.several import in_turn, side_by_side
from maxmargin.solvers.smoothing import LARGEST as LARGEST_FOR_SMOOTHING
from maxmargin.solvers.smoothing import is_tall

PATIENCE = 100  # Dual descent makes this many passes before smoothing takes over.
FEWEST_TOGETHER = 4  # From this many classes on it pays to read each row once for all of them.


class LinearSVM(LimitedFit, LinearModel):
    """What the linear machines share: the choice of solver, certificate, warning."""

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            The factor of C for each row; a weight of two equals the row twice.

        Returns
        -------
        self
        """
        solutions = self._fit_within_limits(X, y, sample_weight, self.max_iter)
        if not self.converged_:
            self._warn(solutions)
        return self

    def _warn(self, solutions):
        gap = f"relative duality gap {self.certificate_.relative_gap:.1e}, tol {self.tol:.0e}"
        words = (
            f"{type(self).__name__} failed to converge within max_iter={self.max_iter}: {gap}. "
            "Scale the features, which helps most, or raise max_iter."
        )
        if any(one.stopped in ("max_time", "callback") for one in solutions):
            words = f"{type(self).__name__} stopped {self._end_of(solutions)}: {gap}."
        warn(words, ConvergenceWarning)

    def _prepared(self, X, y, sample_weight):
        check_parameters(self, LINEAR_CONSTRAINTS)
        self._check_combination()
        known = self._known()
        X, y = self._validated(X, y)
        machines = self._machines(y, checked_weight(sample_weight, X))
        used = rows_that_count(machines)
        rows = X if len(used) == len(y) else X[used]
        problems = self._problems(rows, [machine.of(used) for machine in machines])
        starts = self._starts(known, len(machines), X.shape[1])

        def solve_and_keep(budget):
            weights, solutions, proofs = self._solve(problems, starts, budget)
            self._keep(weights, machines)
            self.n_iter_ = int(max(one.n_iter for one in solutions))
            self.certificate_ = combine(proofs)
            self.converged_ = self.certificate_.optimal and all(one.converged for one in solutions)
            return solutions

        return (1 if self._can_share_rows(problems) else len(problems)), solve_and_keep

    def _check_combination(self):
        """Refuse parameters that do not go together."""

    def _known(self):
        """The model of the last fit, at which the next one may begin, or None."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        self._check_unaltered()
        return {**vars(self), "coef_": arrays.dense(self._coef_rows())}

    def _starts(self, known, n_machines, n_features):
        """Where each machine begins: None, or at the weights of the last fit if they are alike."""
        is_alike = known is not None and known["coef_"].shape == (n_machines, n_features)
        if not is_alike or not np.array_equal(
            known.get("classes_"), getattr(self, "classes_", None)
        ):
            return [None] * n_machines
        intercept = np.broadcast_to(known["intercept_"], n_machines)
        bias = intercept / self._bias if self._bias else np.zeros(n_machines)
        silenced = intercept == ABSENT
        return [
            None if silenced[k] else LinearSolution(np.append(known["coef_"][k], bias[k]))
            for k in range(n_machines)
        ]

    @property
    def _bias(self):
        """The value of the constant feature."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _keep(self, weights, machines):
        self.coef_ = np.ascontiguousarray(weights[:, :-1])
        self.intercept_ = self._bias * weights[:, -1] if self.fit_intercept else 0.0
        self._silence_absent_classes(machines)

    def _problems(self, X, machines):
        return [self._problem(X, one.target, prices(self.C, one.cost)) for one in machines]

    def _solve(self, problems, starts, budget):
        """The weights of all machines, their solutions and the proofs."""
        seed = seed_of(self.random_state)  # one for all: a random source is drawn from once
        if self._can_share_rows(problems):
            return self._solve_together(problems, starts, budget, seed)

        def solve(k, share, n_threads=None):
            return self._solve_one(problems[k], share, starts[k], seed, n_threads)

        if len(problems) == 1 or budget.callbacks:  # callbacks hear of the problems in order
            solutions = in_turn(solve, len(problems), budget)
        else:
            solutions = side_by_side(lambda k, share: solve(k, share, 1), len(problems), budget)
        weights = np.array([solution.weights for solution in solutions])
        coefs = [solution.coef for solution in solutions]
        return weights, solutions, self._proofs(problems, weights, coefs, solutions)

    def _proofs(self, problems, weights, coefs, solutions):
        """The proofs. They are made only here, from the data, whatever a solver says.

        After Ctrl-C there is no time for them.
        """
        if any(solution.stopped == "interrupted" for solution in solutions):
            return [nothing_known(self.tol)]
        proofs = [None] * len(problems)

        def prove(k):
            proofs[k] = problems[k].certify(weights[k], coefs[k], self.tol)

        if len(problems) == 1:  # one problem may use all threads of BLAS
            prove(0)
        else:
            with workers() as pool:
                pool.map(prove, range(len(problems)))
        return proofs

    def _solve_one(self, problem, budget, start, seed, n_threads):
        solution = self._solver(problem, seed, n_threads).solve(problem, budget, start)
        if solution.stopped != "stalled" or self._way(problem) != "dual_descent":
            return solution
        n_done, solver = solution.n_iter, solver_named("smoothing")(self.tol, n_threads)
        solution = solver.solve(problem, budget.after(n_done))
        return replace(solution, n_iter=n_done + solution.n_iter)

    def _can_share_rows(self, problems):
        """Whether dual descent would solve many classes of sparse rows one after the other."""
        first = problems[0]
        enough = len(problems) >= FEWEST_TOGETHER and arrays.is_sparse(first.X)
        # Plain losses need many passes over few points, which differ from class to class.
        return enough and first.is_squared and self._way(first) == "dual_descent"

    def _solve_together(self, problems, starts, budget, seed):
        start = None
        if None not in starts:
            start = LinearSolution(np.array([one.weights for one in starts]))
        solution = solver_named("one_vs_rest")(self.tol, seed).solve(problems, budget, start)
        proofs = self._proofs(problems, solution.weights, solution.coef, [solution])
        return solution.weights, [solution], proofs

    def _way(self, problem):
        """The solver's name: Newton for squared losses with not too many features, smoothing for
        plain losses with few features and many points, and dual descent for the rest."""
        if getattr(self, "penalty", "l2") == "l1":
            return "l1_newton"
        if problem.is_squared and problem.X.shape[1] < LARGEST_FOR_NEWTON:
            return "newton"
        if not problem.is_squared and is_tall(problem):
            return "smoothing"
        return "dual_descent"

    def _solver(self, problem, seed, n_threads):
        way = self._way(problem)
        if way != "dual_descent":
            return solver_named(way)(self.tol, n_threads)
        is_narrow = not problem.is_squared and problem.X.shape[1] <= LARGEST_FOR_SMOOTHING
        return solver_named(way)(self.tol, seed, PATIENCE if is_narrow else np.inf)

    def sparsify(self):
        """Store `coef_` as a sparse matrix, which an l1 penalty makes small."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self):
        """Store `coef_` as an array again."""
        check_is_fitted(self)
        self._check_unaltered()
        self.coef_ = arrays.dense(self.coef_)
        return self


class LinearSVC(LinearClassifier, LinearSVM):
    """Linear classification, one machine per class against the rest.

    It minimises 1/2 (|w|^2 + b^2 / s^2) + C sum_i weight_i loss(1 - y_i (w.x_i + b)) with the hinge
    loss or its square; s is `intercept_scaling`.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        "l1" leaves most weights zero; it goes with the squared hinge loss and dual=False.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    dual : bool or "auto", default="auto"
        Accepted for compatibility: both problems have the same solution, and the faster is solved.
    tol : float, default=1e-4
        The largest relative duality gap.
    C, fit_intercept, intercept_scaling, random_state, max_iter
        As in `sklearn.svm.LinearSVC`.
    class_weight : None, "balanced" or dict, default=None
        Factors of C. With three or more classes each has its factor only in its own machine, where
        the rest has C, as in LIBLINEAR; Crammer and Singer's loss uses all of them.
    verbose : int, default=0
        1 shows a live line of progress on a terminal, 2 writes lines.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One machine per class against the rest, or one loss for all classes (hinge, l2). For the
        latter, `max_iter` limits the passes and Newton steps together, and `n_iter_` counts them;
        scikit-learn ignores its limit there, and makes up to 100,000 passes.
    max_time : float or None, default=None
        The seconds that the whole fit may take.
    callbacks : list of callables or None, default=None
        Each is called with a `Progress` after every pass or step; one that returns True ends the
        fit, which keeps the model so far.
    warm_start : bool, default=False
        Begin at the `coef_` and `intercept_` of the last fit, if its features and classes were the
        same; not with Crammer and Singer's loss.

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
        max_time=None,
        callbacks=None,
        warm_start=False,
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
        self.max_time = max_time
        self.callbacks = callbacks
        self.warm_start = warm_start

    def _check_combination(self):
        """Refuse the combinations that LIBLINEAR refuses, in its words."""
        if self._has_one_loss:
            return  # the other three are ignored, as in scikit-learn
        penalty, loss, dual = self.penalty, self.loss, self.dual
        combination = f"The combination of penalty='{penalty}' and loss='{loss}'"
        if penalty == "l1" and loss == "hinge":
            unsupported = f"{combination} is not supported"
        elif penalty == "l1" and dual is True:
            unsupported = f"{combination} are not supported when dual=True"
        elif penalty == "l2" and loss == "hinge" and dual is False:
            unsupported = f"{combination} are not supported when dual=False"
        else:
            return
        raise ValueError(
            f"Unsupported set of arguments: {unsupported}, Parameters: penalty={penalty!r}, "
            f"loss={loss!r}, dual={dual!r}"
        )

    def _machines(self, y, weight):
        return self._class_targets(y, weight, self.class_weight, self._has_one_loss)

    @property
    def _has_one_loss(self):
        return self.multi_class == "crammer_singer"

    def _problem(self, X, y, C):
        squared, l1 = self.loss == "squared_hinge", self.penalty == "l1"
        return linear_svc(X, y, C, self._bias, squared, l1)

    def _problems(self, X, machines):
        if not self._has_one_loss:
            return super()._problems(X, machines)
        labels = (machines[0].target > 0).astype(int)
        if len(machines) > 1:
            labels = np.argmax([machine.target for machine in machines], axis=0)
        present, labels = np.unique(labels, return_inverse=True)  # some may have no weight
        C = prices(self.C, machines[0].cost)
        return [JointLoss(X, self._bias, labels, len(present), C, present)]

    def _solve(self, problems, starts, budget):
        if not self._has_one_loss:
            return super()._solve(problems, starts, budget)
        solver = solver_named("crammer_singer")(self.tol, seed_of(self.random_state))
        solution = solver.solve(problems[0], budget)
        proofs = self._proofs(problems, [solution.weights], [solution.coef], [solution])
        W = np.zeros((len(self.classes_), solution.weights.shape[1]))
        W[problems[0].present] = solution.weights
        if len(self.classes_) == 2:  # one function is enough, as in scikit-learn
            W = W[[1]] - W[[0]]
        return W, [solution], proofs


class LinearSVR(RegressorMixin, LinearSVM):
    """Linear regression with the epsilon-insensitive loss or its square.

    Parameters
    ----------
    epsilon : float of at least 0, default=0.0
    tol : float, default=1e-4
        The largest relative duality gap.
    C, fit_intercept, intercept_scaling, random_state, max_iter
        As in `sklearn.svm.LinearSVR`.
    verbose : int, default=0
        1 shows a live line of progress on a terminal, 2 writes lines.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    dual : bool or "auto", default="auto"
        Accepted for compatibility: both problems have the same solution, and the faster is solved.
    max_time, callbacks, warm_start
        As in `LinearSVC`.

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
        max_time=None,
        callbacks=None,
        warm_start=False,
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
        self.max_time = max_time
        self.callbacks = callbacks
        self.warm_start = warm_start

    def _keep(self, weights, machines):
        super()._keep(weights, machines)
        self.coef_ = self.coef_.ravel()

    def _machines(self, y, weight):
        return [Machine(np.asarray(y, dtype=np.float64), weight)]

    def _problem(self, X, y, C):
        squared = self.loss == "squared_epsilon_insensitive"
        return linear_svr(X, y, C, self._bias, self.epsilon, squared)

    def predict(self, X):
        """The predicted target of every row of X."""
        return self._decisions(X)[:, 0]


def l1_min_c(X, y, *, loss="squared_hinge", fit_intercept=True, intercept_scaling=1.0):
    """The smallest C at which an l1-penalised linear model is not all zero.

    At w = 0 every feature's slope is C times a number that the data give, and the weights stay zero
    as long as no slope exceeds one.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
    loss : {"squared_hinge", "log"}, default="squared_hinge"
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0

    Examples
    --------
    >>> from maxmargin import l1_min_c
    >>> l1_min_c([[0.0], [2.0]], [0, 1])
    0.25
    """
    slopes = {"squared_hinge": 2.0, "log": 0.5}
    if loss not in slopes:
        raise ValueError(f"l1_min_c: loss must be 'squared_hinge' or 'log', got {loss!r}.")
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    check_consistent_length(X, y)
    labels = LabelBinarizer(neg_label=-1).fit_transform(y).T
    steepest = np.max(np.abs(np.asarray(X.T @ labels.T)), initial=0.0)
    if fit_intercept:
        constant = intercept_scaling * np.abs(labels.sum(axis=1)).max()
        steepest = max(steepest, constant)
    if steepest == 0.0:
        raise ValueError(
            "Ill-posed l1_min_c calculation: l1 will always select zero coefficients for this data"
        )
    return float(1.0 / (slopes[loss] * steepest))
