"""What a fitted kernel machine promises: its certificate, its optimum, its decisions.

The bounds are theorems, not choices. The primal objective is strongly convex in w, so a gap g means
|w - w*|^2 <= 2 g; two fits of one problem are therefore at most sqrt(2 g) + sqrt(2 g') apart. A KKT
violation of tol means a gap of at most tol times the sum of the boxes. To each, what float64 may
lose is added, from `plain` and `machines`.
"""

import warnings

import known
import numpy as np
import oracle
import qpsolvers
import sklearn.svm
from disagreement import require, require_close
from machines import NuTube, class_costs, machines_of
from matrices import matrix_of
from plain import LONG, ULP, Rounded, gram
from scipy import sparse
from strategies import CLASSIFIERS

from maxmargin.kernels import Kernel, Precomputed
from maxmargin.problems import DualProblem, nu_svc, nu_svr

SKLEARN_ITERATIONS = 100_000  # LIBSVM has no limit of its own
SUM_ROUNDING = 1e-10  # what a hundred thousand steps may wear away of a sum, relative to it
FLOATS_CAN = 1e3  # times the finest violation that they can tell
SKLEARN_KERNELS = ("linear", "poly", "rbf", "sigmoid")


def check_machine(case, model, again):
    check_gamma(case, model)
    K = gram(model.kernel_, case.plain)
    found = machines_of(model, case, K)
    proofs = model.certificate_.parts or (model.certificate_,)
    require(len(proofs) == len(found), "counts its machines wrongly", (len(proofs), len(found)))
    concave = [is_semidefinite(Rounded(machine.K, machine.error)) for machine in found]
    if not lies(case):
        check_trace(case, model)
    for machine, proof, is_concave in zip(found, proofs, concave, strict=True):
        check_feasible(case, machine)
        check_certificate(case, machine, proof)
        if is_concave:
            check_promise(case, model, machine, proof)
            check_oracle(case, machine, proof)
        elif is_indefinite(machine):
            require(not proof.optimal, "calls a stationary point optimal", proof)
    check_decisions(case, model, found, K)
    check_rows_alone(case, model, found, K)
    if all(concave) and not lies(case):
        check_same_model(case, found, machines_of(again, case, K), "the dense float64 version")
        check_against_sklearn(case, model, found, K)


def is_semidefinite(K):
    """Whether no eigenvalue is below zero by more than float64 may do by itself."""
    smallest = np.linalg.eigvalsh(K.value.astype(np.float64))[0]
    n, largest = len(K.value), float(np.max(np.abs(K.value)))
    doubt = n * (float(np.max(K.error)) + 8 * ULP * largest)
    return smallest >= -min(doubt, 1e-6 * n * largest)  # where nobody can know, it is not


def is_indefinite(machine):
    """Whether an eigenvalue is below zero beyond any doubt."""
    eigenvalues = np.linalg.eigvalsh(machine.K.astype(np.float64))
    doubt = len(machine.K) * float(np.max(machine.error))
    return eigenvalues[0] < -max(1e-6 * np.max(np.abs(eigenvalues)), 2 * doubt)


def lies(case):
    """Whether the solver claims what it has not done."""
    return not isinstance(case.parameters["solver"], str)


def check_trace(case, model):
    """A complete trace leads to the model; that of a nu classifier to a multiple of it."""
    if not case.parameters["trace"] or not model.trace_.complete or case.family == "NuSVC":
        return
    if case.parameters.get("C") == np.inf:
        return
    for k in range(len(model.certificate_.parts) or 1):
        counts = np.count_nonzero(model.trace_.replay(k))
        proof = (model.certificate_.parts or (model.certificate_,))[k]
        require(counts == proof.n_free + proof.n_bound, "a complete trace ends elsewhere", counts)


def check_gamma(case, model):
    """gamma="scale" is 1 / (d Var X), every row counted by its weight."""
    if case.parameters.get("gamma") != "scale" or case.parameters["kernel"] == "linear":
        return
    X, weight = case.plain.astype(LONG), case.weights.astype(LONG)
    share = weight[:, None] / (weight.sum() * X.shape[1])
    spread = (share * (X - (share * X).sum()) ** 2).sum()
    largest = np.max(np.abs(X))
    if spread <= (1e-12 * largest) ** 2 or spread < 1e-290:
        return  # rounding decides whether that is zero
    doubt = 1e-12 + (1e3 * ULP * largest) ** 2 / spread
    expected = 1 / (X.shape[1] * spread)
    require_close(model.kernel_.gamma, expected, doubt * expected, "gamma='scale' is another one")


def check_feasible(case, machine):
    size = np.abs(machine.c).sum()
    beyond = np.maximum(machine.c - machine.upper, machine.lower - machine.c)
    box = np.maximum(machine.upper, -machine.lower)
    # The boxes of a nu classifier are a sum over c, which is off by as much as that may be.
    share = SUM_ROUNDING if case.family == "NuSVC" else 8 * ULP
    allowed = share * np.where(np.isinf(box), 0, box)
    require(np.all(beyond <= allowed), "leaves its box", float(np.max(beyond)))
    # Every step keeps the sum but for an ulp of the two that move.
    if isinstance(machine, NuTube):
        require(size <= machine.price * (1 + 1e-10), "uses more than nu allows", float(size))
        size = machine.price
    error = SUM_ROUNDING * size + 1e-290
    require_close(machine.c.sum(), machine.total, error, "has another sum")


def nu_unit(machine):
    """What the violations of a nu classifier are counted in, relative to the model.

    There the largest box is one, and a box that cannot bind counts as twice the sum of a class;
    None where rounding decides which.
    """
    largest = float(np.max(np.maximum(machine.upper, -machine.lower)) / class_sum(machine))
    if abs(largest - 1) < 1e-9:
        return None
    return 1 / (class_sum(machine) * (2.0 if largest > 1 else largest))


def has_margin(machine):
    """Whether the reduced hulls are clearly apart; if not, a nu classifier has no scale."""
    clear = 2 * gap_of_hulls(machine) < 0.01 * machine.square
    told = machine.square / class_sum(machine) > FLOATS_CAN * machine.grain
    return clear and told and np.max(np.abs(np.diagonal(machine.K))) > 1e-290


def class_sum(machine):
    return np.abs(machine.c).sum() / 2


def check_certificate(case, machine, proof):
    """The reported objectives are those of the public attributes."""
    if case.family == "NuSVC":  # in units in which a class sums to nu W / 2
        weight = class_costs(case)[2][machine.rows]
        unit = case.parameters["nu"] * weight.sum() / 2 / class_sum(machine)
        square, slip = unit**2 * machine.square, unit**2 * np.abs(machine.c) @ machine.slip
        # The unit is known as well as the sums of the classes are kept.
        slip += (ULP + 4 * proof.stationarity) * square
        require_close(proof.dual_objective, -square / 2, slip, "dual is untrue")
        return
    require_close(proof.dual_objective, machine.dual, machine.dual_slip, "dual is untrue")
    primal, slip = machine.primal, machine.primal_slip
    if isinstance(machine, NuTube):  # the best tube is at most as dear as the one reported
        require(primal <= proof.primal_objective + slip, "primal is untrue", proof)
    elif np.isfinite(primal + slip):
        require_close(proof.primal_objective, primal, slip, "primal is untrue")


def check_promise(case, model, machine, proof):
    """Optimal means a gap that tol explains, and not optimal that floats leave no more to gain."""
    finest, unit = machine.resolution, unit_of(case, machine)
    if not proof.stationary:
        limited = 0 <= case.parameters["max_iter"] <= np.max(model.n_iter_)
        excused = limited or machine.is_hard or case.family == "NuSVC" or is_blind(case, machine)
        excused = excused or lies(case) or unit < 1  # beyond LIBSVM's tolerance, steps are limited
        require(not model.converged_, "says converged without proof", proof)
        require(
            excused or case.parameters["tol"] < FLOATS_CAN * (finest + machine.grain_of_twins),
            "gives up though floats could do it",
            f"rounding {finest:.2g}, {proof}",
        )
    if not proof.stationary or machine.is_hard:
        return
    violation = case.parameters["tol"] * unit
    if case.family == "NuSVC":  # as the C machine that it is once divided by its margin
        unit = nu_unit(machine)
        if unit is None or not has_margin(machine) or not proof.optimal:
            return
        violation = proof.kkt_violation / unit
    allowed = 2 * violation * machine.box_size
    slip = machine.primal_slip + machine.dual_slip + 2 * finest * machine.box_size
    require(machine.gap <= allowed + slip, "gap is larger than tol allows", float(machine.gap))
    if proof.optimal and case.family != "NuSVC":
        most = max(0.01, case.parameters["tol"]) * max(abs(machine.primal), abs(machine.dual))
        require(machine.gap <= most + slip, "calls a large gap optimal", float(machine.gap))


def unit_of(case, machine):
    """What violations are counted in: the range of the targets where it is below one."""
    if case.family == "OneClassSVM":
        heaviest = float(np.max(machine.upper))
        return heaviest * min(1.0, float(np.max(np.diagonal(machine.K))))
    span = float(np.ptp(machine.p))
    return min(1.0, span) if span > 1e-280 else 1.0


def is_blind(case, machine):
    """Whether K cannot tell any point from another, and what it hides is more than tol: then not
    even the sign of a step's curvature is known."""
    doubt, square = np.max(machine.error), np.diagonal(machine.K)
    apart = np.max(square[:, None] + square[None, :] - 2 * machine.K)
    return apart <= 8 * doubt and doubt * machine.box_size > case.parameters["tol"]


def check_oracle(case, machine, proof):
    """No feasible point is better than the primal says."""
    if machine.is_hard:
        return
    problem = problem_of(case, machine)
    best, missing, size = oracle_value(problem)
    if best is None:
        return
    largest = abs(machine.b) + np.max(np.abs(machine.f) + np.abs(machine.p))  # of the biases
    if case.family == "NuSVC":  # in units of the hulls
        unit = class_sum(machine)
        found, largest = -machine.square / unit**2 / 2, largest / unit
        slip = np.abs(machine.c) @ machine.slip / unit**2 + proof.relative_gap * abs(found)
        slip += 8 * (len(machine.c) + 8) * ULP * abs(found)  # of the boxes, which are sums over c
    else:
        found, slip = machine.dual, max(machine.gap, 0) + machine.primal_slip + machine.dual_slip
    # The oracle's sums are not quite right, which each bias turns into gain; and its value is
    # computed in float64.
    noise = np.max(machine.error) + 4 * len(machine.c) * ULP * np.max(np.abs(machine.K))
    theirs = largest * missing + noise * size**2 + len(machine.c) * ULP * largest * size
    require(
        found >= best - slip - theirs,
        "the oracle is better",
        f"{found} < {best}, gap and rounding {slip}, of the oracle {theirs}",
    )


def problem_of(case, machine):
    """The dual problem as the library states it, around our own matrix."""
    K = machine.K.astype(np.float64)
    box, signs = np.maximum(machine.upper, -machine.lower), machine.p.astype(np.float64)
    if case.family == "NuSVC":
        problem = nu_svc(matrix_of(Precomputed(), K), signs, box, case.parameters["nu"])
        return problem.scaled(1 / problem.totals[0])  # in units of the hulls
    if case.family == "NuSVR":
        return nu_svr(matrix_of(Precomputed(), K), signs, box, case.parameters["nu"])
    n = len(box)
    return DualProblem(
        matrix_of(Precomputed(), K), signs, machine.lower, machine.upper,
        np.full(n, machine.epsilon), np.zeros(n, dtype=np.int64), np.array([machine.total]),
        np.zeros(n),
    )  # fmt: skip


def oracle_value(problem):
    """The oracle's objective, how far its sums are off, and the size of its coefficients; or None
    where it finds nothing."""
    K = problem.matrix.values(np.arange(problem.matrix.n))
    if not np.any(K) and not np.any(problem.linear):
        return None, 0.0, 0.0  # nothing to maximise
    if problem.rows is not None:
        K = K[np.ix_(problem.rows, problem.rows)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            coef = (oracle._split if np.any(problem.epsilon) else oracle._plain)(problem, K)
        except (AssertionError, qpsolvers.exceptions.QPError):
            return None, 0.0, 0.0
    coef = np.clip(coef, problem.lower, problem.upper)
    best = problem.objective(coef, K @ coef)
    sums = np.bincount(problem.groups, weights=coef, minlength=problem.n_groups)
    missing = float(np.abs(sums - problem.totals).sum())
    return (best if np.isfinite(best) else None), missing, float(np.abs(coef).sum())


# Decisions.


def decisions_of(case, model, X):
    """One column per machine, positive as the machines are written."""
    if case.family in ("SVR", "NuSVR"):
        return model.predict(X)[:, None]
    if case.family == "OneClassSVM":
        return model.decision_function(X)[:, None]
    shape = model.decision_function_shape
    model.decision_function_shape = "ovo"
    decisions = model.decision_function(X)
    model.decision_function_shape = shape
    return decisions[:, None] if decisions.ndim == 1 else decisions


def trained(case, model, decisions):
    """The columns that belong to machines; pairs without rows have none."""
    return decisions[:, model._trained] if case.family in CLASSIFIERS else decisions


def check_decisions(case, model, found, K):
    """f(x) = sum_i c_i k(x_i, x) + b, over all training rows."""
    decisions = decisions_of(case, model, case.stored)
    require(np.all(np.isfinite(decisions)), "decides with something not finite", decisions)
    for column, machine in zip(trained(case, model, decisions).T, found, strict=True):
        expected = K.value[:, machine.rows] @ machine.c + machine.b
        require_close(column, expected, decision_slip(case, machine, K), "decides otherwise")


def decision_slip(case, machine, K):
    """What float64 may lose in the decision of every row, those of no weight included."""
    block, size = K.value[:, machine.rows], np.abs(machine.c)
    slip = K.error[:, machine.rows] @ size
    slip = slip + (len(size) + 8) * ULP * (np.abs(block) @ size + abs(machine.b)) + 1e-290
    # Nearer than that counts as on the boundary of the region.
    return slip + 2e-8 * abs(machine.b) if case.family == "OneClassSVM" else slip


def check_rows_alone(case, model, found, K):
    """A row by itself is decided as in company."""
    stored = case.stored
    together = trained(case, model, decisions_of(case, model, stored))
    slips = np.array([decision_slip(case, machine, K) for machine in found])
    for i in {0, len(case.X) // 2, len(case.X) - 1}:
        alone = trained(case, model, decisions_of(case, model, row(stored, i)))[0]
        require_close(alone, together[i], 2 * slips[:, i], "decides a row alone otherwise")


def row(stored, i):
    if isinstance(stored, list):
        return [stored[i]]
    if hasattr(stored, "iloc"):
        return stored.iloc[[i]]
    return stored.tocsr()[[i]] if sparse.issparse(stored) else stored[[i]]


# Two models of one problem.


def check_same_model(case, found, others, whom):
    """|w - w'| <= sqrt(2 gap) + sqrt(2 gap')."""
    for machine, other in zip(found, others, strict=True):
        if machine.is_hard:
            continue
        difference, allowed = apart(case, machine, other)
        require(difference <= allowed, f"is another model than {whom}", f"{difference} > {allowed}")


def apart(case, machine, other):
    """How far two models of one problem are apart in feature space, and how far they may be."""
    pair = [in_common_units(case, one) for one in (machine, other)]
    (c, gap), (other_c, other_gap) = pair
    delta = c - other_c
    noise = np.abs(delta) @ (machine.error @ np.abs(delta))
    square = max(delta @ machine.K @ delta, 0)
    return np.sqrt(square), np.sqrt(2 * gap) + np.sqrt(2 * other_gap) + np.sqrt(noise)


def in_common_units(case, machine):
    """Coefficients and gap; of a nu classifier in units of the reduced hulls."""
    gap = max(machine.gap, 0) + machine.primal_slip + machine.dual_slip
    if case.family != "NuSVC":
        return machine.c, gap
    unit = class_sum(machine)
    return machine.c / unit, gap_of_hulls(machine) / unit**2


def gap_of_hulls(machine):
    """1/2 |w|^2 of two points in the reduced hulls, less the lower bound that a plane gives: with
    w fixed, the least w.(u - v) over points u, v of the hulls, less 1/2 |w|^2."""
    slip = np.abs(machine.c) @ machine.slip
    total = class_sum(machine)
    least = 0
    for sign in (1, -1):
        own = np.sign(machine.p) == sign
        box = np.maximum(machine.upper, -machine.lower)[own]
        values = sign * machine.f[own]
        order = np.argsort(values)
        before = np.concatenate([[0], np.cumsum(box[order])[:-1]])
        least += np.clip(total - before, 0, box[order]) @ values[order]
    return max(machine.square - least, 0) + 2 * slip


# scikit-learn.


def sklearn_model(case, K, kernel):
    own = ("gamma", "degree", "coef0", "solver", "trace", "cache_size")
    chosen = {name: value for name, value in case.parameters.items() if name not in own}
    X = case.plain
    if isinstance(chosen["kernel"], Kernel) or chosen["kernel"] not in SKLEARN_KERNELS:
        chosen["kernel"], X = "precomputed", K.value.astype(np.float64)
    else:
        names = ("gamma", "degree", "coef0")
        chosen |= {n: getattr(kernel, n) for n in names if hasattr(kernel, n)}
    chosen["max_iter"] = SKLEARN_ITERATIONS
    model = getattr(sklearn.svm, case.family)(**chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.fit(model, X), X


def check_against_sklearn(case, model, found, K):
    if known.is_beyond_sklearn(case) or any(machine.is_hard for machine in found):
        return
    try:
        theirs, X = sklearn_model(case, K, model.kernel_)
    except ValueError as error:
        largest = float(np.max(np.abs(K.value)))
        is_known = known.is_known_refusal(case, model.kernel_, largest, error)
        require(is_known, "scikit-learn refuses", error)
        return
    check_looks_alike(case, model, theirs, X)
    others = machines_of(theirs, case, K)
    for machine, other in zip(found, others, strict=True):
        if not is_sound(other):
            continue
        # A sum of c that is off by rounding pays, or costs, as much as p is large.
        imbalance = abs(float(other.c.sum() - other.total))
        slip = machine.primal_slip + other.dual_slip
        slip += imbalance * (float(np.max(np.abs(other.p))) + abs(float(other.b)))
        slip += bump(machine, other)
        if case.family != "NuSVC":
            require(other.dual <= machine.primal + slip, "scikit-learn is better", other.dual)
        difference, allowed = apart(case, machine, other)
        require(difference <= allowed, "is another model than scikit-learn's", difference)
    check_predictions(case, model, theirs, X)


def bump(machine, other):
    """How much a negative eigenvalue, too small to be told from rounding, may bend the dual."""
    smallest = np.linalg.eigvalsh(machine.K.astype(np.float64))[0]
    delta = machine.c - other.c
    return max(0.0, -float(smallest)) * float(delta @ delta) / 2


def is_sound(machine):
    """Whether scikit-learn's coefficients are feasible and its gap says something."""
    size = np.abs(machine.c).sum()
    beyond = np.maximum(machine.c - machine.upper, machine.lower - machine.c)
    balanced = abs(machine.c.sum() - machine.total) <= 1e-9 * size
    return size > 0 and balanced and np.max(beyond) <= 1e-9 * size


def check_looks_alike(case, model, theirs, X):
    if case.family in CLASSIFIERS:
        same = np.array_equal(model.classes_, theirs.classes_)
        require(same, "has other classes_", model.classes_)
        require(model.classes_.dtype == theirs.classes_.dtype, "classes_ of another type", "")
        ours, reference = model.decision_function(case.stored), theirs.decision_function(X)
        require(ours.shape == reference.shape, "decisions of another shape", ours.shape)
    require(model.dual_coef_.shape[0] == theirs.dual_coef_.shape[0], "dual_coef_ of other rows", "")
    require(model.intercept_.shape == theirs.intercept_.shape, "other intercepts", "")
    ours, reference = model.predict(case.stored), theirs.predict(X)
    require(ours.dtype == reference.dtype, "predicts another type", (ours.dtype, reference.dtype))
    require(ours.shape == reference.shape, "predicts another shape", ours.shape)


def check_predictions(case, model, theirs, X):
    """Where every decision is further from zero than the two models from each other."""
    if case.family in ("SVR", "NuSVR"):
        return
    ours, reference = decisions_of(case, model, case.stored), decisions_of(case, theirs, X)
    clear = np.all(np.abs(ours) > 2 * np.abs(ours - reference) + 1e-9, axis=1)
    if case.parameters.get("break_ties") and len(model.classes_) > 2:  # the largest score decides
        ours, reference = model.decision_function(case.stored), theirs.decision_function(X)
        second, first = np.sort(ours, axis=1)[:, -2:].T
        clear &= first - second > 2 * np.max(np.abs(ours - reference), axis=1) + 1e-9
    same = model.predict(case.stored) == theirs.predict(X)
    require(np.all(same[clear]), "predicts otherwise than scikit-learn", np.flatnonzero(~same))
