"""LinearSVC(multi_class="crammer_singer"): its optimum, whatever the scale of the data and of C."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from oracle import joint_oracle_objective
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)

from maxmargin import LinearSVC
from maxmargin.errors import ConvergenceWarning
from maxmargin.problems.joint_loss import JointLoss
from maxmargin.solvers import interior_point
from maxmargin.solvers.base import Budget
from maxmargin.solvers.crammer_singer import CrammerSinger


def machine(**options):
    return LinearSVC(multi_class="crammer_singer", random_state=0, **options)


def liblinears(X, y, weight=None, **options):
    model = sklearn.svm.LinearSVC(multi_class="crammer_singer", random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns wherever it made more passes than max_iter
        return model.fit(X, y, weight)


def objective(model, X, y, C=1.0, weight=None, scaling=1.0):
    """1/2 sum_m |w_m|^2 + sum_i C_i max_m (f_im - f_iy + [m is not y]), from the coefficients."""
    W, b = np.atleast_2d(model.coef_), np.broadcast_to(model.intercept_, len(model.coef_))
    if len(model.classes_) == 2:  # which share a difference
        W, b = np.vstack([-W, W]) / 2, np.append(-b, b) / 2
    decisions = np.asarray(X @ W.T) + b
    is_own = np.asarray(y)[:, None] == model.classes_
    slack = np.max(decisions + ~is_own, axis=1) - decisions[is_own]
    weight = np.ones(len(y)) if weight is None else weight
    return 0.5 * (np.sum(W**2) + np.sum(b**2) / scaling**2) + C * weight @ slack


def check_optimal(model, X, y, **options):
    """Proved, and the proof is of this model."""
    assert model.converged_
    assert model.certificate_.relative_gap <= model.tol
    found = objective(model, X, y, **options)
    assert found == pytest.approx(model.certificate_.primal_objective, rel=1e-8)
    return found


@pytest.mark.parametrize(
    ("load", "C"),
    [
        (load_wine, 1e-3),
        (load_wine, 1.0),
        (load_wine, 1e4),
        (load_breast_cancer, 1e-3),
        (load_iris, 1e-2),
        (load_iris, 1.0),
        (load_iris, 1e4),
        (load_digits, 1e-3),
        (load_digits, 100.0),
    ],
)
def test_unscaled_data_and_any_price_reach_the_optimum_and_beat_liblinear(load, C):
    X, y = load(return_X_y=True)
    found = check_optimal(machine(C=C).fit(X, y), X, y, C=C)
    assert found <= objective(liblinears(X, y, C=C), X, y, C) * (1 + 1e-6)


def scaled_columns(X, rng):
    return X * 10.0 ** rng.integers(0, 5, X.shape[1])


TROUBLES = {
    "none": lambda X, rng: X,
    "scaled columns": scaled_columns,
    "rows of zeros": lambda X, rng: X * (rng.random(len(X)) < 0.7)[:, None],
    "equal rows": lambda X, rng: X[rng.integers(0, 10, len(X))],
    "collinear": lambda X, rng: np.outer(X[:, 0], X[0]),
    "far from the origin": lambda X, rng: X + 1e2,
    "a row far out": lambda X, rng: np.vstack([X[:-1], 1e3 * X[-1:]]),
    "nothing": lambda X, rng: 0.0 * X,
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_the_objective_is_that_of_an_interior_point_oracle(trouble, n_classes, C):
    X, y = make_classification(
        40, 6, n_classes=n_classes, n_informative=5, n_redundant=0, flip_y=0.2, random_state=1
    )
    X = TROUBLES[trouble](X, np.random.default_rng(0))
    model = machine(C=C, tol=1e-7).fit(X, y)
    best = joint_oracle_objective(X, y, np.full(len(y), C), bias=1.0)
    assert check_optimal(model, X, y, C=C) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("bias", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 5.0}])
def test_weights_and_the_constant_feature_are_in_the_objective(bias, class_weight):
    X, y = (values[::3] for values in load_wine(return_X_y=True))
    X, weight = X[::2], np.random.default_rng(0).choice([0.1, 1.0, 10.0], len(y))[::2]
    y = y[::2]
    options = {"fit_intercept": bias > 0, "intercept_scaling": bias or 1.0}
    model = machine(tol=1e-7, class_weight=class_weight, **options).fit(X, y, weight)
    factors = {0: 5.0} if isinstance(class_weight, dict) else {}
    if class_weight == "balanced":
        sums = np.bincount(y, weights=weight)
        factors = dict(enumerate(weight.sum() / (3 * sums)))
    price = weight * np.array([factors.get(label, 1.0) for label in y])
    found = check_optimal(model, X, y, weight=price, scaling=bias or 1.0)
    assert found == pytest.approx(joint_oracle_objective(X, y, price, bias), rel=1e-6)


def test_a_hundred_classes():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 100
    X = scaled_columns(rng.normal(size=(100, 8))[y] + 0.3 * rng.normal(size=(300, 8)), rng)
    found = check_optimal(machine(C=10.0).fit(X, y), X, y, C=10.0)
    assert found <= objective(liblinears(X, y, C=10.0), X, y, 10.0) * (1 + 1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_sparse_rows_like_text(C):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 400)
    X = sparse.random(400, 2000, density=0.01, random_state=0, format="lil")
    X[np.arange(400), y] = 0.5
    X = X.tocsr()
    found = check_optimal(machine(C=C).fit(X, y), X, y, C=C)
    assert found <= objective(liblinears(X, y, C=C, tol=1e-6), X, y, C) * (1 + 1e-4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_more_badly_scaled_columns_than_rows(container):
    X, y = make_classification(50, 200, n_classes=4, n_informative=8, random_state=0)
    X = container(scaled_columns(X, np.random.default_rng(0)) / 1e4)
    model = machine(tol=1e-6).fit(X, y)
    found = check_optimal(model, X, y)
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    assert found == pytest.approx(joint_oracle_objective(dense, y, np.ones(50), 1.0), rel=1e-5)


def test_the_order_of_the_rows_does_not_matter():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    first, second = machine(C=10.0).fit(X, y), machine(C=10.0).fit(X[order], y[order])
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X), atol=1e-4)


def test_a_weight_of_two_is_the_row_twice():
    X, y = load_wine(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = machine().fit(X, y, weight)
    repeated = machine().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    decisions = (model.decision_function(X) for model in (weighted, repeated))
    np.testing.assert_allclose(*decisions, atol=1e-4)


def test_contradictory_rows_cost_what_they_must():
    X, y = (values[::3] for values in load_iris(return_X_y=True))
    X, y = np.vstack([X, X]), np.append(y, (y + 1) % 3)
    found = check_optimal(machine(C=1e3, tol=1e-7).fit(X, y), X, y, C=1e3)
    assert found == pytest.approx(joint_oracle_objective(X, y, np.full(100, 1e3), 1.0), rel=1e-6)


@pytest.mark.parametrize("max_iter", [0, 1, 15, 24])
def test_a_limit_is_kept_and_said(max_iter):
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=f"max_iter={max_iter}: relative duality gap"):
        model = machine(max_iter=max_iter, tol=1e-6).fit(X, y)
    assert model.n_iter_ == max_iter
    assert not model.converged_
    assert model.certificate_.relative_gap > 1e-6


def problem_of(X, y, C):
    return JointLoss(X, 1.0, y, int(y.max()) + 1, np.full(len(y), C))


def test_descent_and_the_interior_point_method_meet(monkeypatch):
    problem = problem_of(*make_classification(200, 8, n_classes=3, n_informative=5), C=0.05)
    inner = interior_point.InteriorPoint(1e-7).solve(problem, Budget(100))
    monkeypatch.setattr(interior_point, "fits", lambda problem: False)
    other = CrammerSinger(1e-7).solve(problem, Budget(20_000))
    assert inner.converged
    assert other.converged
    np.testing.assert_allclose(
        inner.weights, other.weights, atol=1e-3 * np.abs(other.weights).max()
    )
    proofs = [problem.certify(one.weights, one.coef, 1e-7) for one in (inner, other)]
    assert proofs[0].primal_objective == pytest.approx(proofs[1].primal_objective, rel=1e-6)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_prices_end_exactly_at_their_bounds(load):
    X, y = load(return_X_y=True)
    proof = machine(C=100.0).fit(X, y).certificate_
    assert proof.n_zero > 0.5 * len(y)
    assert proof.n_zero + proof.n_free + proof.n_bound == len(y)
    assert proof.n_free < 0.3 * len(y)


@pytest.mark.parametrize("C", [1e-300, 1e-30, 1e30])
@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1e8, 1e70])
def test_extreme_scales_end_with_the_optimum_or_a_warning(C, scale):
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = machine(C=C).fit(X * scale, y)
    assert model.converged_ == (not caught)
    assert model.converged_ == model.certificate_.optimal
    assert np.all(np.isfinite(model.coef_))
