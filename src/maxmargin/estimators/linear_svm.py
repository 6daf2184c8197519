"""Linear machines without a kernel: LinearSVC and LinearSVR.

They solve for w directly, penalise the bias like a weight, and so differ a little from
`SVC(kernel="linear")`; they scale to far more points.
"""

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.engines.threads import workers
from maxmargin.errors import ConvergenceWarning, warn
from maxmargin.estimators.base import restored_on_error
from maxmargin.estimators.linear_base import LinearModel, rows_that_count
from maxmargin.estimators.parameters import LINEAR_CONSTRAINTS, check_parameters
from maxmargin.estimators.validation import checked_weight, prices, seed_of
from maxmargin.problems.certificate import combine
from maxmargin.problems.joint_loss import JointLoss
from maxmargin.problems.linear import linear_svc, linear_svr
from maxmargin.solvers import solver_named
from maxmargin.solvers.newton import LARGEST as LARGEST_FOR_NEWTON
from maxmargin.solvers.smoothing import LARGEST as LARGEST_FOR_SMOOTHING
from maxmargin.solvers.smoothing import is_tall

PATIENCE = 100  # passes of dual descent, where smoothing could do it too
FEWEST_TOGETHER = 4  # classes for which it pays to read each row once for all of them


class LinearSVM(LinearModel):
    """What the linear machines share: the choice of solver, certificate, warning."""

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
            self._fit(X, y, sample_weight)
        if not self.converged_:
            gap = self.certificate_.relative_gap
            warn(
                "Liblinear failed to converge, increase the number of iterations. "
                f"({type(self).__name__}: relative duality gap {gap:.1e}, tol {self.tol:.0e}, "
                f"max_iter={self.max_iter}. Scaling the features helps most.)",
                ConvergenceWarning,
            )
        return self

    def _fit(self, X, y, sample_weight):
        check_parameters(self, LINEAR_CONSTRAINTS)
        X, y = self._validated(X, y)
        targets, costs = self._targets(y, checked_weight(sample_weight, X))
        used = rows_that_count(costs)
        X = X if len(used) == len(y) else X[used]
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        distinct = {id(cost): cost for cost in costs}  # without class weights, one for all machines
        priced = {key: prices(self.C, cost[used]) for key, cost in distinct.items()}
        weights, self.n_iter_, proofs, reasons = self._solve(
            X, [t[used] for t in targets], [priced[id(cost)] for cost in costs], bias
        )
        self.coef_ = np.ascontiguousarray(weights[:, :-1])
        self.intercept_ = bias * weights[:, -1] if self.fit_intercept else 0.0
        self._silence_absent_classes(targets, costs)
        self.certificate_ = combine(proofs)
        self.converged_ = reasons == {"converged"} and self.certificate_.optimal

    def _solve(self, X, targets, C, bias):
        """One machine per target: the weights, the iterations, the proofs and why they ended."""
        problems = [self._problem(X, *machine, bias) for machine in zip(targets, C, strict=True)]
        seed = seed_of(self.random_state)  # one for all of them: a source of numbers is drawn once
        if self._can_share_rows(problems):
            return self._solve_together(problems, seed)
        found = [None] * len(targets)

        def solve(k, n_threads):
            problem = problems[k]
            solver = self._solver(problem, seed)
            solver.n_threads = n_threads
            w, coef, n_iter, stopped = solver.solve(problem)
            if stopped == "slow":
                solver = solver_named("smoothing")(self.tol, self.max_iter - n_iter, n_threads)
                w, coef, steps, stopped = solver.solve(problem)
                n_iter += steps
            found[k] = w, n_iter, solver.certify(problem, w, coef), stopped

        if len(problems) == 1:  # which has the threads to itself
            solve(0, None)
        else:
            with workers() as pool:
                pool.map(lambda k: solve(k, 1), range(len(problems)))
        weights, n_iters, proofs, reasons = zip(*found, strict=True)
        return np.array(weights), int(max(n_iters)), list(proofs), set(reasons)

    def _can_share_rows(self, problems):
        """Many classes of sparse rows that dual descent would solve one after the other."""
        first = problems[0]
        enough = len(problems) >= FEWEST_TOGETHER and arrays.is_sparse(first.X)
        # Plain losses need many passes, over few points each: those differ from class to class.
        return enough and first.is_squared and self._way(first) == "dual_descent"

    def _solve_together(self, problems, seed):
        solver = solver_named("one_vs_rest")(self.tol, self.max_iter, seed)
        found = solver.solve(problems)
        weights, _, proofs, n_iters, reasons = zip(*found, strict=True)
        # Whoever sets a limit and was already there has nothing to be warned of.
        done = all(proof.optimal for proof in proofs)
        return np.array(weights), n_iters[0], list(proofs), {"converged"} if done else set(reasons)

    def _way(self, problem):
        """Newton for squared losses of not too many features, also with a rounded kink for plain
        losses of few features and many points; dual descent for the rest, while it is fast."""
        if getattr(self, "penalty", "l2") == "l1":
            return "l1_newton"
        if problem.is_squared and problem.X.shape[1] < LARGEST_FOR_NEWTON:
            return "newton"
        if not problem.is_squared and is_tall(problem):
            return "smoothing"
        return "dual_descent"

    def _solver(self, problem, seed):
        way = self._way(problem)
        if way != "dual_descent":
            return solver_named(way)(self.tol, self.max_iter)
        is_narrow = not problem.is_squared and problem.X.shape[1] <= LARGEST_FOR_SMOOTHING
        patience = PATIENCE if is_narrow else None
        return solver_named(way)(self.tol, self.max_iter, seed, patience)

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


class LinearSVC(ClassifierMixin, LinearSVM):
    """Linear classification, one machine per class against the rest.

    Minimises 1/2 (|w|^2 + b^2 / s^2) + C sum_i weight_i loss(1 - y_i (w.x_i + b)) with the hinge
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
        Factors of C. Of three or more classes each has its factor only in its own machine, where
        the rest has C, as in LIBLINEAR; Crammer and Singer's loss has them all.
    verbose : int, default=0
        Accepted for compatibility, without effect.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One machine per class against the rest, or one loss for all classes (hinge, l2). Of the
        latter `max_iter` limits the passes and Newton steps together, and `n_iter_` counts them;
        scikit-learn ignores its limit there, and makes up to 100,000 passes.

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
        one_loss = self.multi_class == "crammer_singer"
        return self._class_targets(y, weight, self.class_weight, one_loss)

    def _problem(self, X, y, C, bias):
        return linear_svc(X, y, C, bias, squared=self.loss == "squared_hinge")

    def _fit(self, X, y, sample_weight):
        check_parameters(self, LINEAR_CONSTRAINTS)
        _check_combination(self.penalty, self.loss, self.dual, self.multi_class)
        super()._fit(X, y, sample_weight)

    def _solve(self, X, targets, C, bias):
        if self.multi_class == "ovr":
            return super()._solve(X, targets, C, bias)
        labels = np.argmax(targets, axis=0) if len(targets) > 1 else (targets[0] > 0).astype(int)
        solver = solver_named("crammer_singer")(self.tol, self.max_iter, seed_of(self.random_state))
        present, labels = np.unique(labels, return_inverse=True)  # without classes of no weight
        problem = JointLoss(X, bias, labels, len(present), C[0])
        found, n_iter, proof, stopped = solver.solve(problem)
        W = np.zeros((len(self.classes_), found.shape[1]))
        W[present] = found
        if len(self.classes_) == 2:  # one function is enough, as in scikit-learn
            W = W[[1]] - W[[0]]
        return W, n_iter, [proof], {stopped}

    def decision_function(self, X):
        """Signed values: one per row for two classes, one per row and class for more."""
        return self._class_decisions(X)

    def predict(self, X):
        """The label of every row of X."""
        return self._predicted_classes(X)


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
        Accepted for compatibility, without effect.
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
        super()._fit(X, y, sample_weight)
        self.coef_ = self.coef_.ravel()

    def _targets(self, y, weight):
        return [np.asarray(y, dtype=np.float64)], [weight]

    def _problem(self, X, y, C, bias):
        squared = self.loss == "squared_epsilon_insensitive"
        return linear_svr(X, y, C, bias, self.epsilon, squared)

    def predict(self, X):
        """The predicted target of every row of X."""
        return self._decisions(X)[:, 0]


def _check_combination(penalty, loss, dual, multi_class):
    """Refuse what LIBLINEAR refuses, in its words."""
    if multi_class == "crammer_singer":
        return  # the other three are ignored, as in scikit-learn
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


def l1_min_c(X, y, *, loss="squared_hinge", fit_intercept=True, intercept_scaling=1.0):
    """The smallest C at which an l1-penalised linear model is not all zero.

    At w = 0 every feature's slope is at most C times a number that the data give; the penalty wins
    as long as that is below one.

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
