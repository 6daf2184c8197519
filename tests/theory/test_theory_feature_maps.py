"""The formulas of docs/theory/feature_maps.md, evaluated."""

from itertools import product
from math import comb, factorial, prod

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from theory_pages import states

from maxmargin import SVC, CircleMap, PolynomialMap, XNORMap
from maxmargin.datasets import make_circles, make_xnor
from maxmargin.kernels import Polynomial

rng = np.random.default_rng(0)


@states("F1", "F2")
def test_the_product_separates_xnor():
    X, y = make_xnor(80, random_state=1)
    np.testing.assert_allclose(XNORMap().fit_transform(X), X[:, :1] * X[:, 1:])
    model = make_pipeline(XNORMap(), SVC(kernel="linear")).fit(X, y)
    f = XNORMap().fit_transform(X) @ model[-1].coef_[0] + model[-1].intercept_[0]
    np.testing.assert_array_equal(np.sign(f), model.predict(X))
    np.testing.assert_array_equal(np.sign(X[:, 0] * X[:, 1]), y)


@states("F3", "F4")
def test_a_plane_on_the_bowl_is_a_circle():
    X, y = make_circles(80, noise=0.1, random_state=1)
    bowl = CircleMap().fit_transform(X)
    np.testing.assert_allclose(bowl, np.column_stack([X, (X**2).sum(axis=1)]))
    model = make_pipeline(CircleMap(), SVC(kernel="linear", C=10.0)).fit(X, y)
    (w1, w2, w3), b = model[-1].coef_[0], model[-1].intercept_[0]
    squared_radius = (w1**2 + w2**2) / (4 * w3**2) - b / w3
    inside = (X[:, 0] + w1 / (2 * w3)) ** 2 + (X[:, 1] + w2 / (2 * w3)) ** 2 < squared_radius
    np.testing.assert_array_equal(np.where(inside, 1, -1), model.predict(X))


@states("F5", "F6", "F7", "F8", "F9")
def test_dot_products_of_products_are_powers_of_dot_products():
    for _ in range(10):
        x, z, c = rng.standard_normal(3), rng.standard_normal(3), rng.uniform(0, 2)
        nine = [np.outer(point, point).ravel() for point in (x, z)]
        assert nine[0] @ nine[1] == pytest.approx((x @ z) ** 2)
        double = sum(x[i] * x[j] * z[i] * z[j] for i in range(3) for j in range(3))
        assert double == pytest.approx((x @ z) ** 2)
        three = [np.array([p[0] ** 2, np.sqrt(2) * p[0] * p[1], p[1] ** 2]) for p in (x, z)]
        assert three[0] @ three[1] == pytest.approx((x[:2] @ z[:2]) ** 2)
        np.testing.assert_allclose(Polynomial(degree=2).feature_map(x[None, :2])[0], three[0])
        root = np.sqrt(2 * c)
        expanded = double + sum(root * x[i] * root * z[i] for i in range(3)) + c**2
        assert expanded == pytest.approx((x @ z + c) ** 2)
        longer = [np.concatenate([np.outer(p, p).ravel(), root * p, [c]]) for p in (x, z)]
        assert longer[0] @ longer[1] == pytest.approx((x @ z + c) ** 2)


@states("F10", "F11")
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_multinomial_theorem_gives_the_features(degree):
    gamma, c = 0.7, 1.3
    x, z = rng.standard_normal(2), rng.standard_normal(2)
    u, v = ([*(np.sqrt(gamma) * point), np.sqrt(c)] for point in (x, z))
    total, features = 0.0, []
    for m in product(range(degree + 1), repeat=3):
        if sum(m) == degree:
            ways = factorial(degree) / prod(factorial(exponent) for exponent in m)
            of_x, of_z = (prod(a**e for a, e in zip(p, m, strict=True)) for p in (u, v))
            total += ways * of_x * of_z
            features.append(np.sqrt(ways) * of_x)
    assert total == pytest.approx((gamma * x @ z + c) ** degree)
    mapped = PolynomialMap(degree=degree, gamma=gamma, coef0=c).fit_transform(x[None])[0]
    np.testing.assert_allclose(np.sort(mapped), np.sort(features))


@states("F12")
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("p", [1, 2, 5])
def test_features_are_counted_by_binomials(d, p):
    X = rng.standard_normal((2, d))
    for coef0, expected in ((1.0, comb(d + p, p)), (0.0, comb(d + p - 1, p))):
        kernel = Polynomial(degree=p, coef0=coef0)
        assert kernel.feature_map(X).shape[1] == expected == kernel.n_features_of_map(d)


def test_the_table_of_counts_is_right():
    counts = [[comb(d + p, p) for p in (2, 3, 5)] for d in (2, 10, 100, 784)]
    assert counts[:3] == [[6, 10, 21], [66, 286, 3003], [5151, 176_851, 96_560_646]]
    assert counts[3][:2] == [308_505, 80_931_145]
    assert counts[3][2] == pytest.approx(2.5e12, rel=0.02)


@states("F13")
def test_the_dual_and_the_decision_ask_for_dot_products_only():
    X, y = make_xnor(60, random_state=2)
    kernel = Polynomial(degree=2, coef0=1.0)
    model = SVC(kernel=kernel, tol=1e-9).fit(X, y)
    phi, alpha = kernel.feature_map(X), np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    dual = alpha.sum() - 0.5 * (alpha * y) @ (phi @ phi.T) @ (alpha * y)
    assert dual == pytest.approx(model.certificate_.dual_objective)
    f = (phi @ phi.T) @ (alpha * y) + model.intercept_[0]
    np.testing.assert_allclose(f, model.decision_function(X), atol=1e-9)
    k = np.flatnonzero(model.roles_ == "margin")[0]
    assert y[k] - (phi @ phi[k]) @ (alpha * y) == pytest.approx(model.intercept_[0], abs=1e-6)
