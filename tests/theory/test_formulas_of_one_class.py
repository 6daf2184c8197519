"""The formulas of docs/theory/one_class.md, evaluated beside the code that they explain."""

import numpy as np
import pytest
import qpsolvers
from matrices import matrix_of
from oracle import oracle_objective
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM as SklearnOneClassSVM
from theory_pages import states

from maxmargin import OneClassSVM
from maxmargin.datasets import make_moons
from maxmargin.kernels import RBF
from maxmargin.problems import one_class

X, _ = make_moons(60)
N, NU, GAMMA = 60, 0.3, 1.5
K = rbf_kernel(X, gamma=GAMMA)
PROBLEM = one_class(matrix_of(RBF(gamma=GAMMA), X), np.ones(N), NU)


@pytest.fixture(scope="module")
def model():
    return OneClassSVM(nu=NU, gamma=GAMMA, tol=1e-10).fit(X)


@pytest.fixture(scope="module")
def c(model):
    coef = np.zeros(N)
    coef[model.support_] = model.dual_coef_[0]
    return coef


@states("OC1", "OC4")
def test_the_dual_is_its_formula_the_oracles_and_the_primal(model, c):
    rho = model.offset_[0]
    dual = -0.5 * c @ K @ c
    primal = 0.5 * c @ K @ c - NU * N * rho + np.maximum(0, rho - K @ c).sum()
    assert dual == pytest.approx(model.certificate_.dual_objective)
    assert dual == pytest.approx(oracle_objective(PROBLEM), abs=1e-7)
    assert primal == pytest.approx(dual, abs=1e-6)


@states("OC4")
def test_the_multipliers_lie_in_their_box_and_add_up_to_nu_n(c):
    assert np.all((c >= 0) & (c <= 1))
    assert c.sum() == pytest.approx(NU * N)


@states("OC3")
def test_the_lagrangian_with_its_derivatives_at_zero_is_the_dual():
    rng = np.random.default_rng(0)
    c = rng.uniform(size=N)
    c *= NU * N / c.sum()
    xi, rho = rng.uniform(size=N), 0.7
    held = K @ c - rho + xi
    lagrangian = 0.5 * c @ K @ c - NU * N * rho + xi.sum() - c @ held - (1 - c) @ xi
    assert lagrangian == pytest.approx(-0.5 * c @ K @ c)


@states("OC2", "OC5")
def test_rho_is_the_score_of_every_free_point(model, c):
    free = (c > 0) & (c < 1)
    assert free.any()
    np.testing.assert_allclose((K @ c)[free], model.offset_[0], atol=1e-7)
    np.testing.assert_allclose(model.score_samples(X), K @ c, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), K @ c - model.offset_, atol=1e-7)
    theirs = SklearnOneClassSVM(nu=NU, gamma=GAMMA, tol=1e-8).fit(X)
    np.testing.assert_allclose(theirs.decision_function(X), K @ c - model.offset_, atol=1e-4)


@states("OC6")
@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_nu_lies_between_the_share_outside_and_the_share_of_support_vectors(nu):
    model = OneClassSVM(nu=nu, gamma=GAMMA, tol=1e-8).fit(X)
    outside = np.sum(model.decision_function(X) < -1e-6)
    assert outside <= nu * N <= len(model.support_)


@states("OC7", "OC8", "OC9")
def test_the_smallest_ball_has_the_multipliers_over_nu_n(model, c):
    beta = qpsolvers.solve_qp(
        2 * K, -np.diag(K), A=np.ones((1, N)), b=np.ones(1), lb=np.zeros(N),
        ub=np.full(N, 1 / (NU * N)), solver="piqp", eps_abs=1e-12, eps_rel=1e-12,
    )  # fmt: skip
    ball_dual = beta @ np.diag(K) - beta @ K @ beta
    centre = c / (NU * N)
    away = np.diag(K) - 2 / (NU * N) * (K @ c) + centre @ K @ centre
    by_definition = np.diag(K) - 2 * K @ beta + beta @ K @ beta
    np.testing.assert_allclose(away, by_definition, atol=1e-6)
    assert ball_dual == pytest.approx(1 - c @ K @ c / (NU * N) ** 2)
    square_of_radius = away[(c > 0) & (c < 1)].mean()
    ball = square_of_radius + np.maximum(0, away - square_of_radius).sum() / (NU * N)
    assert ball == pytest.approx(ball_dual, abs=1e-6)


@states("OC10")
def test_with_nu_one_the_score_is_the_sum_of_all_kernels():
    model = OneClassSVM(nu=1.0, gamma=GAMMA).fit(X)
    np.testing.assert_allclose(model.score_samples(X), K.sum(axis=1))
