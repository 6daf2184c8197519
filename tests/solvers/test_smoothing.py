"""Newton steps on rounded losses reach the optimum of plain linear machines to many digits."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC as Liblinear

from maxmargin import LinearSVC, LinearSVR
from maxmargin.problems.linear import linear_svc, linear_svr
from maxmargin.solvers.base import Budget
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.smoothing import Smoothing, is_tall


def solved(problem, tol, max_iter=1000):
    return Smoothing(tol).solve(problem, Budget(max_iter))


def tall(n=2500, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sign(X @ rng.standard_normal(d) + rng.standard_normal(n))
    return X, y


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
def test_is_at_least_as_good_as_coordinate_descent(C):
    X, y = tall()
    problem = linear_svc(X, y, np.full(len(y), C), 1.0, squared=False)
    assert is_tall(problem)
    found = solved(problem, 1e-8)
    proof = problem.certify(found.weights, found.coef, 1e-8)
    assert found.converged
    assert proof.optimal, proof
    assert found.n_iter < 80
    other = DualDescent(1e-8).solve(problem, Budget(2000)).weights  # it creeps for large C
    assert problem.primal(found.weights) <= problem.primal(other) * (1 + 1e-8)
    if C <= 1:
        np.testing.assert_allclose(found.weights, other, atol=1e-3 * np.abs(other).max())


def test_weights_bounds_and_sparse_rows():
    X, y = tall()
    C = 10 ** np.random.default_rng(1).uniform(-3, 2, len(y))
    dense = linear_svc(X, y, C, 2.0, squared=False)
    thin = linear_svc(sparse.csr_array(X), y, C, 2.0, squared=False)
    found = [solved(p, 1e-9).weights for p in (dense, thin)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-8)


def test_regression_has_two_sides():
    X, _ = tall()
    y = X[:, 0] + np.random.default_rng(2).laplace(size=len(X))
    problem = linear_svr(X, y, np.full(len(y), 2.0), 1.0, 0.3, squared=False)
    found = solved(problem, 1e-8)
    assert found.converged
    assert problem.certify(found.weights, found.coef, 1e-8).optimal


def test_the_same_twice_and_a_limit_of_steps():
    X, y = tall(20_000)
    problem = linear_svc(X, y, np.ones(len(y)), 1.0, squared=False)
    first, second = (solved(problem, 1e-6).weights for _ in range(2))
    np.testing.assert_array_equal(first, second)
    limited = solved(problem, 1e-9, 2)
    assert (limited.n_iter, limited.stopped) == (2, "max_iter")


def test_the_estimators_use_it_and_beat_liblinears_objective():
    X, y = tall()
    model = LinearSVC(loss="hinge").fit(X, y)
    assert model.certificate_.relative_gap < 0.1 * model.tol
    model.set_params(tol=1e-7).fit(X, y)
    other = Liblinear(loss="hinge", max_iter=100_000).fit(X, y)

    def objective(m):
        slack = np.maximum(0, 1 - y * m.decision_function(X)).sum()
        return 0.5 * (np.sum(m.coef_**2) + m.intercept_[0] ** 2) + slack

    assert objective(model) <= objective(other) * (1 + 1e-9)
    assert LinearSVR().fit(X, X[:, 0] + y).certificate_.relative_gap < 1e-5


def test_points_far_from_a_kink_are_exactly_at_a_bound():
    X, y = tall()
    proof = LinearSVC(loss="hinge", tol=1e-8).fit(X, y).certificate_
    assert proof.n_free <= 40
    assert min(proof.n_zero, proof.n_bound) > 800


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["classes", "separable", "targets", "no tube", "constant"])
def test_ends_within_tol_on_hard_problems(kind, scale):
    X, y = tall(2200, 8, seed=3)
    X = X * scale
    X[:, 3], X[:, 4] = X[:, 2], 0.0  # a feature twice, and one that says nothing
    C = np.full(len(y), 10.0)
    if kind == "classes":
        problem = linear_svc(X, y, C, 1.0, squared=False)
    elif kind == "separable":
        problem = linear_svc(X, np.where(X[:, 0] > 0, 1.0, -1.0), C, 0.0, squared=False)
    else:
        target = np.zeros(len(y)) if kind == "constant" else scale * (X[:, 0] + y)
        epsilon = 0.1 * scale if kind == "targets" else 0.0
        problem = linear_svr(X, target, C, 1.0, epsilon, squared=False)
    found = solved(problem, 1e-5)
    assert found.converged
    assert problem.certify(found.weights, found.coef, 1e-5).optimal


def test_a_part_that_loses_nothing_is_not_the_whole():
    X, _ = tall(30_000, 2)
    y = np.zeros(len(X))
    lost = np.setdiff1d(
        np.arange(len(X)), np.random.default_rng(0).choice(len(X), len(X) // 8, replace=False)
    )[:50]
    y[lost] = 5.0  # all of them outside the part on which the path begins
    problem = linear_svr(X, y, np.ones(len(y)), 1.0, 1.0, squared=False)
    found = solved(problem, 1e-6)
    assert found.converged
    assert problem.certify(found.weights, found.coef, 1e-6).optimal
    assert found.n_iter > 1


@pytest.mark.parametrize("tol", [1e-4, 1e-10])
def test_a_path_begun_on_a_part_ends_where_it_should(tol):
    X, y = tall(60_000, 4)
    X[:, 3] *= np.random.default_rng(3).random(len(X)) < 1e-3  # of which the part sees little
    problem = linear_svc(X, y, np.ones(len(y)), 1.0, squared=False)
    found = solved(problem, tol)
    assert found.converged
    assert problem.certify(found.weights, found.coef, tol).optimal
    assert found.n_iter < 80


def test_no_tolerance_is_an_end_too():
    X, y = tall(3000, 3)
    problem = linear_svc(X, y, np.ones(len(y)), 1.0, squared=False)
    found = solved(problem, 1e-17)
    assert found.n_iter < 200
    assert problem.certify(found.weights, found.coef, 1e-12).optimal


@pytest.mark.parametrize("seed", [1, 2])
def test_rare_points_of_great_weight(seed):
    X, _ = tall(2500, 6, seed)
    y = np.where(np.random.default_rng(seed).random(len(X)) < 0.002, 1.0, -1.0)
    problem = linear_svc(X, y, np.where(y > 0, 1e6, 1.0), 1.0, squared=False)
    found = solved(problem, 1e-4)
    assert found.converged
    assert problem.certify(found.weights, found.coef, 1e-4).optimal


@pytest.mark.parametrize("size", [1e-17, 1e-14, 1e-12])
def test_a_part_that_loses_next_to_nothing(size):
    X, _ = tall(30_000, 2)
    y = size * np.random.default_rng(5).standard_normal(len(X))
    part = np.random.default_rng(0).choice(len(X), len(X) // 8, replace=False)
    y[np.setdiff1d(np.arange(len(X)), part)[:10]] = 1e3
    problem = linear_svr(X, y, np.ones(len(y)), 1.0, 0.0, squared=False)
    found = solved(problem, 1e-4)
    assert found.converged
    assert problem.certify(found.weights, found.coef, 1e-4).optimal


def test_every_step_counts_for_who_limits_them():
    X, y = tall(20_000, 3)
    problem = linear_svc(X, y, np.ones(len(y)), 1.0, squared=False)
    assert not np.any(solved(problem, 1e-8, 0).weights)
    limited = solved(problem, 1e-8, 2)
    assert (limited.n_iter, limited.stopped) == (2, "max_iter")


def test_not_converged_hands_back_the_best_point():
    X, y = tall()
    C = np.ones(len(y))
    C[:3] = 1e9
    problem = linear_svc(X, y, C, 1.0, squared=False)
    short, long = (solved(problem, 1e-12, k).weights for k in (20, 200))
    assert problem.primal(long) <= problem.primal(short) * (1 + 1e-12)
