"""The formulas of docs/theory/support_vector_regression.md, beside the code that they explain."""

import numpy as np
import pytest
from matrices import matrix_of
from oracle import oracle_objective
from sklearn.metrics.pairwise import rbf_kernel
from theory_pages import states

from maxmargin import SVR, NuSVR
from maxmargin.kernels import RBF
from maxmargin.losses import EpsilonInsensitive
from maxmargin.problems import epsilon_svr, nu_svr
from maxmargin.problems.reductions import model_of_nu_svr
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import Budget

N, C, EPSILON, NU = 50, 2.0, 0.15, 0.3
X = np.linspace(0.0, 6.0, N)[:, None]
y = np.sin(X[:, 0]) + 0.2 * np.random.default_rng(0).standard_normal(N)
K = rbf_kernel(X, gamma=0.5)
MATRIX = matrix_of(RBF(gamma=0.5), X)
PRICES = np.full(N, C)


def solve(problem):
    return solver_named("smo")(1e-10).solve(problem, Budget(10**7))


@pytest.fixture(scope="module")
def solved():
    """c and b."""
    solution = solve(epsilon_svr(MATRIX, y, PRICES, EPSILON))
    return solution.coef, solution.bias[0]


@pytest.fixture(scope="module")
def of_share():
    return solve(nu_svr(MATRIX, y, PRICES, NU))


@states("SV1")
def test_the_loss_is_what_sticks_out_of_the_tube():
    f = y + np.linspace(-0.5, 0.5, N)
    sticks_out = np.maximum(0, np.abs(y - f) - EPSILON)
    np.testing.assert_allclose(EpsilonInsensitive(EPSILON).value(y, f), sticks_out)


@states("SV2", "SV3", "SV6")
def test_the_dual_is_its_formula_and_meets_the_primal(solved):
    c, b = solved
    dual = y @ c - EPSILON * np.abs(c).sum() - 0.5 * c @ K @ c
    residual = y - K @ c - b
    above, below = np.maximum(0, residual - EPSILON), np.maximum(0, -residual - EPSILON)
    assert np.all((residual <= EPSILON + above) & (-residual <= EPSILON + below))
    primal = 0.5 * c @ K @ c + C * (above + below).sum()
    assert dual == pytest.approx(oracle_objective(epsilon_svr(MATRIX, y, PRICES, EPSILON)))
    assert dual == pytest.approx(primal, abs=1e-7)
    assert abs(c.sum()) < 1e-9
    assert np.abs(c).max() <= C


@states("SV4", "SV5")
def test_the_lagrangian_with_its_derivatives_at_zero_is_the_dual():
    rng = np.random.default_rng(1)
    above, below = rng.uniform(0, C, (2, N))
    below *= above.sum() / below.sum()
    xi, xi_star, b = rng.uniform(size=N), rng.uniform(size=N), 0.7
    c = above - below
    f = K @ c + b
    lagrangian = (
        0.5 * c @ K @ c
        + C * (xi + xi_star).sum()
        - (C - above) @ xi
        - (C - below) @ xi_star
        - above @ (EPSILON + xi - y + f)
        - below @ (EPSILON + xi_star + y - f)
    )
    dual = y @ c - EPSILON * (above + below).sum() - 0.5 * c @ K @ c
    assert lagrangian == pytest.approx(dual)


@states("SV7")
def test_where_a_point_lies_says_what_its_multiplier_is(solved):
    c, b = solved
    residual = y - K @ c - b
    inside, outside = np.abs(residual) < EPSILON - 1e-6, np.abs(residual) > EPSILON + 1e-6
    assert inside.any()
    assert outside.any()
    assert not c[inside].any()
    np.testing.assert_array_equal(c[outside], C * np.sign(residual[outside]))
    free = (c != 0) & (np.abs(c) < C)
    np.testing.assert_allclose(y[free] - (K @ c)[free] - EPSILON * np.sign(c[free]), b, atol=1e-7)


def test_a_target_outside_may_go_further_out_and_nothing_changes(solved):
    c, b = solved
    residual = y - K @ c - b
    further = np.where(residual > EPSILON + 1e-6, 10.0 + y, y)
    again = solve(epsilon_svr(MATRIX, further, PRICES, EPSILON))
    np.testing.assert_allclose(K @ again.coef + again.bias[0], K @ c + b, atol=1e-6)


# nu.


@states("SV9")
def test_the_sums_of_a_nu_svr_are_half_of_the_price_of_the_tube_each(of_share):
    above, below = of_share.coef[:N], -of_share.coef[N:]
    for multipliers in (above, below):
        assert np.all((multipliers >= 0) & (multipliers <= C))
        assert multipliers.sum() == pytest.approx(C * NU * N / 2)


@states("SV8", "SV10")
def test_the_two_offsets_are_b_plus_and_minus_the_width(of_share):
    model = model_of_nu_svr(of_share)
    b, epsilon = of_share.bias.mean(), 0.5 * (of_share.bias[0] - of_share.bias[1])
    residual = y - K @ model.coef - b
    on_edge = (model.coef != 0) & (np.abs(model.coef) < C)
    assert on_edge.any()
    np.testing.assert_allclose(np.abs(residual[on_edge]), epsilon, atol=1e-7)
    primal = 0.5 * model.coef @ K @ model.coef
    primal += C * (NU * N * epsilon + np.maximum(0, np.abs(residual) - epsilon).sum())
    assert primal == pytest.approx(oracle_objective(nu_svr(MATRIX, y, PRICES, NU)), abs=1e-6)
    same = SVR(C=C, epsilon=epsilon, gamma=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(same.predict(X), K @ model.coef + b, atol=1e-6)


@states("SV11")
@pytest.mark.parametrize("nu", [0.1, 0.4, 0.8])
def test_nu_lies_between_the_share_outside_and_the_share_of_support_vectors(nu):
    model = NuSVR(nu=nu, C=C, gamma=0.5, tol=1e-8).fit(X, y)
    misses = np.abs(y - model.predict(X))
    epsilon = misses[model.support_].min()
    assert np.sum(misses > epsilon + 1e-6) <= nu * N <= len(model.support_)
