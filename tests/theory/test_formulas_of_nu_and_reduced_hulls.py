"""The formulas of docs/theory/nu_and_reduced_hulls.md, beside the code that they explain."""

import numpy as np
import pytest
from matrices import matrix_of
from oracle import oracle_objective
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import NuSVC as SklearnNuSVC
from theory_pages import states

from maxmargin import SVC, NuSVC
from maxmargin.datasets import make_gaussian_mixture
from maxmargin.kernels import RBF
from maxmargin.problems import nu_svc
from maxmargin.problems.reductions import margin_of
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import Budget
from maxmargin.solvers.margin import solve_nu

X, y = make_gaussian_mixture(60, centres={-1: [(-1, 0)], 1: [(1, 0)]}, noise=0.7)
N, NU = 60, 0.4
K = rbf_kernel(X, gamma=0.5)
PROBLEM = nu_svc(matrix_of(RBF(gamma=0.5), X), y, np.ones(N), NU)


@pytest.fixture(scope="module")
def solved():
    """alpha, b and rho of the nu problem."""
    solution = solve_nu(solver_named("smo")(1e-10), PROBLEM, Budget(10**7))
    return y * solution.coef, solution.bias.mean(), margin_of(solution)


def primal(w_square, f, rho):
    return 0.5 * w_square - NU * N * rho + np.maximum(0, rho - y * f).sum()


@states("NU3")
def test_the_dual_is_its_formula_and_the_oracles(solved):
    alpha, _, _ = solved
    dual = -0.5 * (y * alpha) @ K @ (y * alpha)
    assert dual == pytest.approx(PROBLEM.objective(y * alpha, K @ (y * alpha)))
    assert dual == pytest.approx(oracle_objective(PROBLEM), abs=1e-7)


@states("NU3")
def test_the_constraints_are_a_box_and_half_of_nu_n_for_each_class(solved):
    alpha, _, _ = solved
    assert np.all((alpha >= 0) & (alpha <= 1))
    for sign in (1, -1):
        assert alpha[y == sign].sum() == pytest.approx(NU * N / 2)
    np.testing.assert_allclose(PROBLEM.totals, [NU * N / 2, -NU * N / 2])
    assert not PROBLEM.linear.any()


@states("NU1")
def test_the_primal_meets_the_dual_and_rises_from_there(solved):
    alpha, b, rho = solved
    c = y * alpha
    best = primal(c @ K @ c, K @ c + b, rho)
    assert best == pytest.approx(-0.5 * c @ K @ c, abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        d = c + 0.05 * rng.standard_normal(N)
        near = primal(d @ K @ d, K @ d + b + 0.1 * rng.normal(), rho + 0.1 * rng.normal())
        assert near >= best - 1e-6


@states("NU2")
def test_the_lagrangian_with_its_derivatives_at_zero_is_the_dual():
    rng = np.random.default_rng(1)
    alpha = rng.uniform(0, 0.7, N)
    for sign in (1, -1):
        alpha[y == sign] *= NU * N / 2 / alpha[y == sign].sum()
    xi, rho, b = rng.uniform(size=N), 0.7, -0.3
    c = y * alpha
    held = y * (K @ c + b) - rho + xi
    lagrangian = 0.5 * c @ K @ c - NU * N * rho + xi.sum() - alpha @ held - (1 - alpha) @ xi
    assert lagrangian == pytest.approx(-0.5 * c @ K @ c)


@states("NU4", "NU5")
def test_w_is_the_difference_of_the_nearest_points_of_the_reduced_hulls(solved):
    alpha, _, _ = solved
    weights = 2 * alpha / (NU * N)
    assert np.all(weights <= 2 / (NU * N))
    for sign in (1, -1):
        assert weights[y == sign].sum() == pytest.approx(1)
    distance = (y * weights) @ K @ (y * weights)
    assert (y * alpha) @ K @ (y * alpha) == pytest.approx((NU * N / 2) ** 2 * distance)


@states("NU6")
def test_rho_is_the_square_of_w_and_the_slacks_over_nu_n(solved):
    alpha, b, rho = solved
    c = y * alpha
    slack = np.maximum(0, rho - y * (K @ c + b))
    assert rho == pytest.approx((c @ K @ c + slack.sum()) / (NU * N))


@states("NU7")
@pytest.mark.parametrize("nu", [0.25, 0.5, 0.9])
def test_nu_lies_between_the_share_with_slack_and_the_share_of_support_vectors(nu):
    model = NuSVC(nu=nu, gamma=0.5, tol=1e-8).fit(X, y)
    breaks = np.sum(y * model.decision_function(X) < 1 - 1e-6)
    assert breaks <= nu * N <= len(model.support_)


@states("NU9")
def test_in_units_of_rho_the_problem_is_a_soft_margin(solved):
    alpha, b, rho = solved
    c = y * alpha
    slack = np.maximum(0, rho - y * (K @ c + b))
    square = c @ K @ c / rho**2
    inside = 0.5 * square + (slack / rho).sum() / rho
    assert 0.5 * c @ K @ c + slack.sum() == pytest.approx(rho**2 * inside)
    np.testing.assert_array_less(1 - slack / rho - 1e-9, y * (K @ c + b) / rho)
    soft = SVC(C=1 / rho, gamma=0.5, tol=1e-8).fit(X, y).certificate_
    assert inside == pytest.approx(soft.primal_objective, rel=1e-6)


@states("NU10")
def test_the_price_is_one_over_rho(solved):
    _, _, rho = solved
    by_share = NuSVC(nu=NU, gamma=0.5, tol=1e-8).fit(X, y)
    by_price = SVC(C=1 / rho, gamma=0.5, tol=1e-8).fit(X, y)
    decisions = by_price.decision_function(X)
    np.testing.assert_allclose(by_share.decision_function(X), decisions, atol=1e-5)
    theirs = SklearnNuSVC(nu=NU, gamma=0.5, tol=1e-8).fit(X, y).decision_function(X)
    np.testing.assert_allclose(theirs, decisions, atol=1e-4)


@states("NU8")
@pytest.mark.parametrize(("nu", "fits"), [(0.499, True), (0.501, False)])
def test_nu_is_at_most_twice_the_share_of_the_smaller_class(nu, fits):
    labels = np.repeat([1, -1], [15, 45])
    if fits:
        assert NuSVC(nu=nu).fit(X + labels[:, None], labels).converged_
    else:
        with pytest.raises(ValueError, match=r"it must be at most 0\.5"):
            NuSVC(nu=nu).fit(X, labels)
