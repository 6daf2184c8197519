"""What the models in w itself promise: their objective, its optimum, and the residual they leave.

Objectives are computed in long doubles from `coef_` and `intercept_`; optima come from PIQP on the
dual where there is one, and else from scikit-learn.
"""

import warnings

import numpy as np
import qpsolvers
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.svm
from disagreement import require, require_close
from kernel_checks import is_semidefinite, row
from linear_oracle import least_objective
from oracle import joint_oracle
from plain import LONG, ULP, gram

from maxmargin.errors import ConvergenceWarning
from maxmargin.losses import loss_named

ENOUGH = 1000  # iterations for any data: the default limit
REACHED = 1e-6  # the relative distance from the optimum at which such a fit ends at the latest,
BARELY = 1e-6  # of the largest singular value: of smaller ones, squares are near rounding
ROUNDINGS = 1e3  # or at this many times the rounding of the objective itself

# LinearSVC and LinearSVR.


class Objective:
    """1/2 |w|^2 + sum_i C_i loss_i of one linear machine, with the bias as one more feature."""

    def __init__(self, X, y, C, scaling, epsilon, is_classifier, is_squared, is_l1):
        self.X = np.column_stack([X.astype(LONG), np.full(len(X), LONG(scaling))])
        self.y, self.C, self.epsilon = y.astype(LONG), C.astype(LONG), epsilon
        self.is_classifier, self.is_squared, self.is_l1 = is_classifier, is_squared, is_l1

    def excess(self, w):
        f = self.X @ w
        if self.is_classifier:
            return np.maximum(1 - self.y * f, 0)
        return np.maximum(np.abs(self.y - f) - self.epsilon, 0)

    def value(self, w):
        excess = self.excess(w)
        penalty = np.abs(w).sum() if self.is_l1 else w @ w / 2
        return penalty + self.C @ (excess**2 if self.is_squared else excess)

    def slip(self, w):
        """What float64 may lose in the value."""
        wrong = (len(w) + 8) * ULP * (np.abs(self.X) @ np.abs(w) + np.abs(self.y) + self.epsilon)
        if self.is_squared:
            wrong = 2 * self.excess(w) * wrong + wrong**2
        return self.C @ wrong + (len(self.y) + 8) * ULP * self.value(w)

    def oracle(self):
        """A point of the dual and its objective, by PIQP; None where it finds none."""
        n = len(self.y)
        K = (self.X @ self.X.T).astype(np.float64)
        damping = (0.5 / self.C if self.is_squared else np.zeros(n)).astype(np.float64)
        bound = np.full(n, np.inf) if self.is_squared else self.C.astype(np.float64)
        y = self.y.astype(np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._solve(K, damping, bound, y)
        if found is None or not np.all(np.isfinite(found)):
            return None
        c = found.astype(LONG)
        w = self.X.T @ c
        dual = self.y @ c - self.epsilon * np.abs(c).sum() - w @ w / 2 - damping @ c**2 / 2
        return w, dual

    def _solve(self, K, damping, bound, y):
        if self.is_classifier:
            signed = qp(
                K + np.diag(damping), -y, np.where(y > 0, 0, -bound), np.where(y > 0, bound, 0)
            )
            return (
                None
                if signed is None
                else np.clip(signed, np.where(y > 0, 0, -bound), np.where(y > 0, bound, 0))
            )
        n, damped = len(y), np.diag(damping)
        P = np.block([[K + damped, -K - damped], [-K - damped, K + damped]])
        q = np.concatenate([self.epsilon - y, self.epsilon + y])
        both = qp(P, q, np.zeros(2 * n), np.tile(bound, 2))
        return None if both is None else np.clip(both[:n] - both[n:], -bound, bound)


def qp(P, q, lower, upper):
    scale = max(np.max(np.abs(P)), 1e-300)
    try:
        return qpsolvers.solve_qp(
            P / scale, q / scale, lb=lower, ub=upper, solver="piqp", eps_abs=1e-12, eps_rel=1e-12,
            max_iter=1000,
        )  # fmt: skip
    except qpsolvers.exceptions.QPError:
        return None


def check_linear_machine(case, model, again):
    objectives = objectives_of(case, model)
    proofs = model.certificate_.parts or (model.certificate_,)
    if model.converged_:
        require(model.certificate_.relative_gap <= case.parameters["tol"], "no proof", proofs)
    check_linear_decisions(case, model)
    if case.parameters.get("multi_class") == "crammer_singer":
        return check_crammer_singer(case, model, again)
    theirs = fitted_by_sklearn(case)
    for k, (objective, proof) in enumerate(zip(objectives, proofs, strict=True)):
        if objective.is_classifier and np.all(objective.y < 0):
            continue  # a class without weight, which is silenced
        w = weights_of(case, model, k)
        value, slip = objective.value(w), objective.slip(w)
        require_close(proof.primal_objective, value, slip, "primal is untrue")
        gap = max(proof.duality_gap, 0) + slip
        if not objective.is_l1:
            check_linear_oracle(objective, proof, value, gap)
        other = weights_of(case, again, k)
        other_proof = (again.certificate_.parts or (again.certificate_,))[k]
        other_gap = max(other_proof.duality_gap, 0) + objective.slip(other)
        require_close(value, objective.value(other), gap + other_gap, "depends on the container")
        if theirs is not None:
            reference = objective.value(weights_of(case, theirs, k))
            require(value <= reference + gap, "scikit-learn is better", f"{value} > {reference}")


def check_linear_oracle(objective, proof, value, slip):
    """The oracle's dual point is below every primal value, its w above every dual one."""
    solution = objective.oracle()
    if solution is None:
        return
    w, dual = solution
    own = objective.slip(w) + abs(dual) * 1e-14
    require(value >= dual - slip - own, "primal below the oracle's dual", f"{value} < {dual}")
    above = objective.value(w)
    require(proof.dual_objective <= above + own + slip, "dual above the oracle's primal", above)


def objectives_of(case, model):
    chosen = case.parameters
    own, used = linear_costs(case), linear_costs(case) > 0
    scaling = chosen["intercept_scaling"] if chosen["fit_intercept"] else 0.0
    common = {"is_squared": chosen["loss"].startswith("squared"), "scaling": scaling}
    X, C = case.plain[used], chosen["C"] * own[used]
    if case.family == "LinearSVR":
        y, epsilon = case.y[used], chosen["epsilon"]
        return [Objective(X, y, C, epsilon=epsilon, is_classifier=False, is_l1=False, **common)]
    # Two classes share a machine; of more each has its weight in its own, as in LIBLINEAR.
    is_shared = len(model.classes_) == 2
    rest = C if is_shared else chosen["C"] * case.weights[used]
    return [
        Objective(
            X, np.where(case.y[used] == label, 1.0, -1.0), np.where(case.y[used] == label, C, rest),
            epsilon=0.0, is_classifier=True, is_l1=chosen.get("penalty") == "l1", **common,
        )
        for label in model.classes_[is_shared:]
    ]  # fmt: skip


def linear_costs(case):
    if case.parameters.get("class_weight") != "balanced":
        return case.weights
    classes, codes = np.unique(case.y, return_inverse=True)
    counts = np.bincount(codes, weights=case.weights)
    factors = case.weights.sum() / (len(classes) * np.where(counts > 0, counts, np.inf))
    return case.weights * factors[codes]


def weights_of(case, model, k):
    """w of a machine, the weight of the constant feature last."""
    scaling = case.parameters["intercept_scaling"]
    bias = np.atleast_1d(model.intercept_)
    b = bias[k] if len(bias) > k else 0.0
    return np.append(np.atleast_2d(model.coef_)[k], b / scaling).astype(LONG)


def fitted_by_sklearn(case):
    """scikit-learn's model, or None where it cannot be asked."""
    if np.any(linear_costs(case) == 0):
        return None
    # The primal solver has been seen to hang (known.py); for l1 there is no other.
    dual = case.parameters.get("penalty") != "l1"
    chosen = {**case.parameters, "max_iter": 2000, "random_state": 0, "dual": dual}
    model = getattr(sklearn.svm, case.family)(**chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.fit(model, case.plain)


def check_linear_decisions(case, model):
    method = model.decision_function if hasattr(model, "decision_function") else model.predict
    decisions = np.asarray(method(case.stored))
    require(np.all(np.isfinite(decisions)), "decides with something not finite", decisions)
    X, coef = case.plain.astype(LONG), np.atleast_2d(model.coef_).astype(LONG)
    expected = X @ coef.T + model.intercept_
    slip = (X.shape[1] + 8) * ULP * (np.abs(X) @ np.abs(coef).T + np.abs(model.intercept_)) + 1e-290
    decisions = decisions.reshape(expected.shape)
    require_close(decisions, expected, slip, "decides otherwise")
    for i in {0, len(X) - 1}:
        alone = np.asarray(method(row(case.stored, i))).reshape(1, -1)[0]
        require_close(alone, decisions[i], 2 * slip[i], "decides a row alone otherwise")


# Crammer and Singer's one loss for all classes.


class JointObjective:
    """1/2 sum_k |w_k|^2 + sum_i C_i max_k (f_k - f_y + [k is not y])."""

    def __init__(self, case, classes):
        chosen, cost = case.parameters, linear_costs(case)
        used = cost > 0
        scaling = chosen["intercept_scaling"] if chosen["fit_intercept"] else 0.0
        self.case, self.scaling, self.n_classes = case, scaling, len(classes)
        X = np.column_stack([case.plain.astype(LONG), np.full(len(cost), LONG(scaling))])
        self.X, self.C = X[used], chosen["C"] * cost[used]
        codes = np.searchsorted(classes, case.y[used])
        self.present = np.unique(codes)  # a class without weight is out of the game
        self.codes = np.searchsorted(self.present, codes)

    def weights_of(self, model):
        W = [weights_of(self.case, model, k) for k in range(len(np.atleast_2d(model.coef_)))]
        W = np.array([-W[0] / 2, W[0] / 2] if self.n_classes == 2 else W)
        return W[self.present]

    def value(self, W):
        f = self.X @ W.T
        own = f[np.arange(len(f)), self.codes][:, None]
        excess = np.max(f - own + (self.codes[:, None] != np.arange(len(W))), axis=1)
        return (W**2).sum() / 2 + self.C @ excess

    def slip(self, W):
        """What float64 may lose in the value."""
        sizes = np.max(np.abs(self.X) @ np.abs(W).T, axis=1)
        wrong = 2 * (self.X.shape[1] + 8) * ULP * sizes + 8 * ULP
        return self.C @ wrong + (len(self.C) + 8) * ULP * self.value(W)

    def floats_can_tell(self, tol):
        """Whether a step of Newton's method, which squares the condition of X and the lengths of
        its rows, sees all of it, to a hundredth of tol."""
        singular = np.linalg.svd(self.X.astype(np.float64), compute_uv=False)
        lengths = np.sqrt((self.X**2).sum(axis=1))
        sizes = [singular[singular > ULP * singular[0]], lengths[lengths > 0]]
        barely = max(BARELY, np.sqrt(100 * ULP / tol))
        return all(np.min(size, initial=np.inf) > barely * singular[0] for size in sizes)

    def oracle(self):
        """W by PIQP, or None where it finds none."""
        X = self.X[:, :-1].astype(np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                W = joint_oracle(X, self.codes, self.C, self.scaling)
            except qpsolvers.exceptions.QPError:
                return None
        return None if W is None or not np.all(np.isfinite(W)) else W.astype(LONG)


def check_crammer_singer(case, model, again):
    objective, proof = JointObjective(case, model.classes_), model.certificate_
    W, other = objective.weights_of(model), objective.weights_of(again)
    value, slip = objective.value(W), objective.slip(W)
    gap = max(proof.duality_gap, 0) + slip
    require_close(proof.primal_objective, value, gap, "primal is untrue")
    other_gap = max(again.certificate_.duality_gap, 0) + objective.slip(other)
    require_close(value, objective.value(other), gap + other_gap, "depends on the container")
    theirs, oracle = fitted_by_sklearn(case), objective.oracle()
    found = [] if theirs is None else [("scikit-learn", objective.weights_of(theirs))]
    found += [] if oracle is None else [("the oracle", oracle)]
    for name, V in found:
        reference, doubt = objective.value(V), objective.slip(V)
        require(value <= reference + gap, f"{name} is better", f"{value} > {reference}")
        known = proof.dual_objective <= reference + doubt + slip
        require(known, f"dual above {name}'s primal", f"{proof.dual_objective} > {reference}")
        tol = max(case.parameters["tol"], REACHED)
        if case.parameters["max_iter"] >= ENOUGH and objective.floats_can_tell(tol):
            allowed = tol * reference
            allowed += ROUNDINGS * (slip + doubt)
            require(value <= reference + allowed, f"stops short of {name}", value - reference)


# Squared losses.


def centred(case, fit_intercept):
    """Rows and targets less their weighted means, and the weights."""
    X, y, weight = case.plain.astype(LONG), case.y.astype(LONG), case.weights.astype(LONG)
    if fit_intercept:
        share = weight / weight.sum()
        X, y = X - share @ X, y - share @ y
    return X, y, weight


def check_least_squares(case, model, again):
    """No other w is better by more than rounding explains."""
    check_linear_decisions(case, model)
    squares = Squares(case)
    theirs = fitted_regression(case)
    require(model.coef_.shape == theirs.coef_.shape, "coef_ of another shape", model.coef_.shape)
    for found in (model, again):
        w = found.coef_.astype(LONG)
        squares.require_best(w, squares.least(), "LAPACK is better")
        squares.require_best(w, theirs.coef_.astype(LONG), "scikit-learn is better")


class Squares:
    """sum_i s_i (y_i - w.x_i)^2 + alpha |w|^2 of the centred data: |B - A w|^2, stacked."""

    def __init__(self, case):
        X, y, weight = centred(case, case.parameters["fit_intercept"])
        d, root = X.shape[1], np.sqrt(weight)
        price = np.sqrt(LONG(case.parameters.get("alpha", 0.0)))
        self.A = np.vstack([root[:, None] * X, price * np.eye(d)])
        self.B = np.concatenate([root * y, np.zeros(d)])
        # What is given has an ulp of its own, and so has the mean that is taken off.
        given = root[:, None] * np.maximum(np.abs(X), np.abs(case.plain))
        self.size = float(np.sqrt((given**2).sum() + d * price**2))
        self.length = float(np.sqrt((root**2 * np.maximum(np.abs(y), np.abs(case.y)) ** 2).sum()))

    def least(self):
        A, B = self.A.astype(np.float64), self.B.astype(np.float64)
        return np.linalg.lstsq(A, B, rcond=None)[0].astype(LONG)

    def residual(self, w):
        rest = self.B - self.A @ w
        return np.sqrt(rest @ rest)

    def doubt(self, w):
        """How far |B - A w| moves when A and B do by some ulps of every row."""
        return 8 * len(self.B) * ULP * (self.size * np.sqrt(w @ w) + self.length) + 1e-290

    def require_best(self, w, other, what):
        """A backward stable w is the best one for some A and B that are off by some ulps, so there
        it beats every other one; both doubts are paid once."""
        if self.size < 1e-150:
            return  # its squares underflow, and that counts as zero
        if not np.all(np.isfinite(other)):
            return  # a subnormal column, through which LAPACK divides
        found, reference = self.residual(w), self.residual(other)
        allowed = reference + self.doubt(w) + self.doubt(other)
        require(found <= allowed, what, f"{found} > {reference}, allowed {allowed}")


def fitted_regression(case):
    chosen = {n: v for n, v in case.parameters.items() if n != "solver"}
    model = getattr(sklearn.linear_model, case.family)(**chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.fit(model, case.plain)


def check_lasso(case, model, again):
    check_linear_decisions(case, model)
    alpha = case.parameters["alpha"]
    X, y, weight = centred(case, case.parameters["fit_intercept"])

    def objective(w):
        total = weight.sum()
        return weight @ (y - X @ w) ** 2 / (2 * total) + alpha * np.abs(w).sum()

    w = model.coef_.astype(LONG)
    if case.parameters["positive"]:
        require(np.all(w >= 0), "has a negative weight", w)
    scale = np.sqrt(objective(w)) * np.sqrt(objective(0 * w) + objective(w))
    slip = 100 * len(y) * ULP * float(scale + objective(w))
    # Far from the origin, differences from the mean are known to an ulp of the entries only.
    blur = 8 * ULP * float(np.max(np.abs(case.plain)) * np.abs(w).sum() + np.max(np.abs(case.y)))
    slip += blur * float(np.sqrt(objective(w))) + blur**2
    gap = max(float(model.dual_gap_), 0) + slip
    if model.converged_:
        square = weight @ y**2 / weight.sum()
        require(gap <= max(case.parameters["tol"], 1e-14) * square + 2 * slip, "no proof", gap)
    other_gap = max(float(again.dual_gap_), 0) + slip
    other = objective(again.coef_.astype(LONG))
    require_close(objective(w), other, gap + other_gap, "depends on the container")
    theirs = fitted_regression(case)
    reference = objective(theirs.coef_.astype(LONG))
    value = objective(w)
    require(value <= reference + gap, "scikit-learn is better", f"{value} > {reference} + {gap}")


def check_kernel_ridge(case, model, again):
    """(K + alpha / s) c = y, as closely as LAPACK's eigenvectors solve it and rounding allows."""
    K = gram(model.kernel_, case.plain)
    require(np.all(np.isfinite(model.predict(case.stored))), "predicts something not finite", "")
    if not is_semidefinite(K):
        return
    system = RidgeSystem(case, K)
    for found, X in ((model, case.stored), (again, case.plain)):
        c = found.dual_coef_[system.used].astype(LONG) / system.root
        residual, allowed = system.residual(c), system.allowed(c)
        if residual > allowed and system.by_gradients and says_so(case, X):
            allowed = float(np.sqrt(system.y @ system.y))  # of no coefficients at all
        require(residual <= allowed, "leaves a residual", f"{residual} > {allowed}")


def says_so(case, X):
    """Whether the fit of these rows warns that it has not converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        case.fit(case.estimator(), X)
    return any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


class RidgeSystem:
    """(root K root + alpha) u = root y with c = root u: the symmetric form that weights have."""

    def __init__(self, case, K):
        self.used, self.alpha = case.weights > 0, case.parameters["alpha"]
        self.by_gradients = case.parameters["solver"] == "cg"
        block = np.ix_(self.used, self.used)
        self.root = np.sqrt(case.weights[self.used].astype(LONG))
        scale = np.outer(self.root, self.root)
        self.K, self.error = scale * K.value[block], scale * K.error[block]
        self.y = self.root * case.y[self.used]

    def residual(self, u):
        rest = self.y - self.K @ u - self.alpha * u
        return float(np.sqrt(rest @ rest))

    def doubt(self, u):
        """What ulps of K and of every sum may do to the residual."""
        size, length = float(np.sqrt((self.K**2).sum())) + self.alpha, float(np.sqrt(u @ u))
        entries = self.error @ np.abs(u)
        return 8 * len(u) * ULP * size * length + float(np.sqrt(entries @ entries)) + 1e-290

    def allowed(self, u):
        values, vectors = np.linalg.eigh(self.K.astype(np.float64))
        best = vectors @ ((vectors.T @ self.y) / (np.maximum(values, 0) + self.alpha))
        allowed = self.doubt(u) + self.residual(best) + self.doubt(best)
        return allowed + (1e-8 * float(np.sqrt(self.y @ self.y)) if self.by_gradients else 0.0)


# The perceptron.


def check_perceptron(case, model, again):
    check_linear_decisions(case, model)
    require(np.array_equal(model.mistakes_, again.mistakes_) or not is_exact(case),
            "depends on the container", "")  # fmt: skip
    if model.converged_:
        require(np.all(model.predict(case.stored) == case.y), "claims no mistakes", model)
    if is_exact(case) and len(model.classes_) == 2:
        y = np.where(case.y == model.classes_[1], 1.0, -1.0)
        w, b, mistakes = replayed(case, y)
        require(np.array_equal(model.mistakes_, mistakes), "makes other mistakes", mistakes)
        require(np.array_equal(model.coef_[0], w), "has another w", w)
        require(model.intercept_[0] == b, "has another b", b)


def is_exact(case):
    """Whether float64 makes no error in any sum of the points."""
    X = case.plain
    return bool(np.all(np.rint(X) == X) and np.max(np.abs(X)) <= 1e4)


def replayed(case, y):
    """The algorithm, in as many words."""
    X = case.plain
    w, b, mistakes = np.zeros(X.shape[1]), 0.0, np.zeros(len(y), dtype=int)
    limit, clean = case.parameters["max_updates"], False
    while not clean and mistakes.sum() < limit:
        clean = True
        for i in range(len(y)):
            if y[i] * (w @ X[i] + b) <= 0 and mistakes.sum() < limit:
                w, b = w + y[i] * X[i], b + y[i] * case.parameters["fit_intercept"]
                mistakes[i] += 1
                clean = False
    return w, b, mistakes


# Gradient descent.


def check_gradient_descent(case, model, again):
    """Converged means within tol of the optimum, or of what is next to a perfect fit."""
    chosen, X, y = case.parameters, case.plain, case.y.astype(np.float64)
    value = _mean_loss(chosen, X.astype(LONG), y, model)
    require(np.isfinite(value), "has an objective that is no number", value)
    spread = float(np.ptp(y))
    if not model.converged_ or spread < 1e-12 * np.max(np.abs(y), initial=1e-300):
        return
    try:
        best = least_objective(
            chosen["loss"], chosen["epsilon"], chosen["penalty"], chosen["alpha"], X, y
        )
    except (AssertionError, qpsolvers.exceptions.QPError, np.linalg.LinAlgError):
        return
    constant = loss_named(chosen["loss"], chosen["epsilon"]).value(y, y.mean()).mean()
    tol = chosen["tol"]
    allowed = max(best, 0.0) / (1 - tol) * (1 + 1e-4) + (tol + 1e-9) * constant
    require(value <= allowed, "says converged far from the optimum", f"{value} > {best}")


def _mean_loss(chosen, X, y, model):
    residual = np.abs(
        y - X @ model.coef_.astype(LONG).ravel() - LONG(np.ravel(model.intercept_)[0])
    )
    excess = np.maximum(residual - (chosen["epsilon"] if "epsilon" in chosen["loss"] else 0), 0)
    loss = {"squared": excess**2 / 2, "epsilon_insensitive": excess}.get(chosen["loss"], excess**2)
    w = model.coef_.ravel()
    penalty = {None: 0.0, "l1": np.abs(w).sum(), "l2": w @ w / 2}[chosen["penalty"]]
    return float(loss.mean() + chosen["alpha"] * penalty)


CHECKS = {
    "GradientDescentRegressor": check_gradient_descent,
    "LinearSVC": check_linear_machine,
    "LinearSVR": check_linear_machine,
    "Ridge": check_least_squares,
    "LinearRegression": check_least_squares,
    "Lasso": check_lasso,
    "KernelRidge": check_kernel_ridge,
    "Perceptron": check_perceptron,
}
