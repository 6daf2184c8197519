"""The formulas of docs/theory/kernels_and_mercer.md, evaluated."""

from math import factorial

import numpy as np
import pytest
from theory_pages import states

from maxmargin import SVC, mercer
from maxmargin.datasets import make_moons
from maxmargin.kernels import RBF, Linear, Polynomial, Sigmoid

X, y = make_moons(50, noise=0.2, random_state=1)
rng = np.random.default_rng(0)
FINITE = [Linear(), Polynomial(degree=2, coef0=1.0), Polynomial(degree=3, gamma=0.5)]


@states("K1", "K3")
@pytest.mark.parametrize("kernel", FINITE, ids=str)
def test_a_kernel_is_the_dot_product_of_features(kernel):
    phi, K = kernel.feature_map(X), kernel(X)
    np.testing.assert_allclose(phi @ phi.T, K)
    distances = np.sum((phi[:, None] - phi[None]) ** 2, axis=2)
    np.testing.assert_allclose(np.diag(K)[:, None] + np.diag(K)[None] - 2 * K, distances, atol=1e-9)
    c = rng.standard_normal(len(X))
    assert c @ K @ c == pytest.approx(np.sum((c @ phi) ** 2))


@states("K2")
def test_training_and_decision_need_the_kernel_only():
    kernel = RBF(gamma=1.5)
    model, K = SVC(kernel=kernel, tol=1e-9).fit(X, y), kernel(X)
    c = np.zeros(len(y))
    c[model.support_] = model.dual_coef_[0]
    dual = np.abs(c).sum() - 0.5 * c @ K @ c
    assert dual == pytest.approx(model.certificate_.dual_objective)
    np.testing.assert_allclose(K @ c + model.intercept_[0], model.decision_function(X))


@states("K4", "K5", "K6")
def test_the_three_kernels_their_width_and_their_angle():
    x, z = X[:1], X[1:2]
    dot, distance = float(x[0] @ z[0]), np.sum((x - z) ** 2)
    assert Linear()(x, z)[0, 0] == pytest.approx(dot)
    assert Polynomial(3, 0.7, 1.2)(x, z)[0, 0] == pytest.approx((0.7 * dot + 1.2) ** 3)
    assert RBF(gamma=0.9)(x, z)[0, 0] == pytest.approx(np.exp(-0.9 * distance))
    sigma = 0.8
    assert RBF(sigma=sigma)(x, z)[0, 0] == pytest.approx(np.exp(-distance / (2 * sigma**2)))
    np.testing.assert_allclose(RBF(sigma=sigma)(X), RBF(gamma=1 / (2 * sigma**2))(X))
    kernel = FINITE[1]
    phi, K = kernel.feature_map(X), kernel(X)
    lengths = np.linalg.norm(phi, axis=1)
    cosine = (phi / lengths[:, None]) @ (phi / lengths[:, None]).T
    np.testing.assert_allclose(K / np.sqrt(np.outer(np.diag(K), np.diag(K))), cosine)
    np.testing.assert_allclose(kernel.normalised()(X), cosine)


@states("K7", "K8", "K9")
def test_gram_matrices_are_symmetric_and_semidefinite_and_have_features():
    for kernel in [*FINITE, RBF(gamma=1.0)]:
        K = kernel(X)
        np.testing.assert_allclose(K, K.T)
        for c in rng.standard_normal((20, len(X))):
            assert c @ K @ c >= -1e-9
        values, V = np.linalg.eigh(K)
        root = V * np.sqrt(np.maximum(values, 0))
        np.testing.assert_allclose(root @ root.T, K, atol=1e-9)
        assert mercer(kernel, X).satisfied
    phi, c = FINITE[1].feature_map(X), rng.standard_normal(len(X))
    by_features = sum((c @ phi[:, m]) ** 2 for m in range(phi.shape[1]))
    assert c @ FINITE[1](X) @ c == pytest.approx(by_features)


@states("K10")
def test_a_kernel_on_an_interval_is_a_sum_over_its_eigenfunctions():
    nodes, weights = np.polynomial.legendre.leggauss(60)
    K = RBF(gamma=1.0)(nodes[:, None])
    root = np.sqrt(weights)
    values, U = np.linalg.eigh(root[:, None] * K * root)
    psi = U / root[:, None]  # of the integral operator, orthonormal on [-1, 1]
    np.testing.assert_allclose((psi * weights[:, None]).T @ psi, np.eye(60), atol=1e-9)
    np.testing.assert_allclose(K @ (weights[:, None] * psi), psi * values, atol=1e-9)
    largest = np.argsort(values)[::-1][:12]
    series = (psi[:, largest] * values[largest]) @ psi[:, largest].T
    np.testing.assert_allclose(series, K, atol=1e-8)  # twelve terms are enough
    assert values.min() > -1e-12


@states("K11", "K12", "K13", "K15")
def test_every_rule_of_the_algebra_has_its_map():
    one, two = FINITE[1], FINITE[2]
    phi_1, phi_2 = one.feature_map(X), two.feature_map(X)
    K1, K2 = one(X), two(X)
    maps = {
        "scaled": (np.sqrt(2.5) * phi_1, 2.5 * K1, 2.5 * one),
        "sum": (np.hstack([phi_1, phi_2]), K1 + K2, one + two),
        "product": (np.einsum("im,il->iml", phi_1, phi_2).reshape(len(X), -1), K1 * K2, one * two),
    }
    for phi, expected, kernel in maps.values():
        np.testing.assert_allclose(phi @ phi.T, expected)
        np.testing.assert_allclose(kernel(X), expected)
        np.testing.assert_allclose(
            np.sort(kernel.feature_map(X), axis=1), np.sort(phi, axis=1), atol=1e-12
        )

    def g(rows):
        return 1 + np.abs(rows[:, 0])

    sided = g(X)[:, None] * phi_1
    np.testing.assert_allclose(sided @ sided.T, one.conformal(g)(X))
    np.testing.assert_allclose(one.conformal(g)(X), np.outer(g(X), g(X)) * K1)


@states("K14", "K16", "K17", "K18")
def test_the_gaussian_is_built_from_the_linear_kernel():
    gamma = 0.8
    linear = Linear()(X)
    series = sum(linear**p / factorial(p) for p in range(40))
    np.testing.assert_allclose(Linear().exp()(X), series)
    side = np.exp(-gamma * np.sum(X**2, axis=1))
    middle = np.exp(2 * gamma * linear)
    np.testing.assert_allclose(side[:, None] * middle * side, RBF(gamma=gamma)(X))
    polynomials = sum((2 * gamma) ** p / factorial(p) * linear**p for p in range(60))
    np.testing.assert_allclose(middle, polynomials)
    np.testing.assert_allclose((2 * gamma * Linear()).exp().normalised()(X), RBF(gamma=gamma)(X))
    x = rng.uniform(-1, 1, 20)
    phi = np.column_stack([
        np.exp(-gamma * x**2) * np.sqrt((2 * gamma) ** p / factorial(p)) * x**p for p in range(30)
    ])  # fmt: skip
    np.testing.assert_allclose(phi @ phi.T, RBF(gamma=gamma)(x[:, None]))


@states("K19")
def test_the_sigmoid_fails_on_one_and_two():
    K = Sigmoid(gamma=1.0)([[1.0], [2.0]])
    by_hand = np.tanh(1) * np.tanh(4) - np.tanh(2) ** 2
    assert np.linalg.det(K) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(-0.17, abs=0.005)
    assert not mercer(Sigmoid(gamma=1.0), [[1.0], [2.0]]).satisfied
