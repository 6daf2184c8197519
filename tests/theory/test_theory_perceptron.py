"""The formulas of docs/theory/perceptron.md, evaluated."""

import numpy as np
import pytest
from theory_pages import states

from maxmargin import Perceptron
from maxmargin.datasets import make_separable
from maxmargin.solvers.plain import perceptron, perceptron_without_offset


@pytest.fixture
def data():
    return make_separable(60, margin=0.2, random_state=1, return_separator=True)


@states("P1", "P2")
def test_the_decision_is_a_sum_of_products_and_a_mistake_has_the_wrong_sign(data):
    X, y, _, _ = data
    model = Perceptron(max_updates=3)
    with pytest.warns(UserWarning, match="max_updates"):
        model.fit(X, y)
    f = X[:, 0] * model.coef_[0, 0] + X[:, 1] * model.coef_[0, 1] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), f)
    assert np.count_nonzero(y * f <= 0) == model.mistakes_left_ > 0
    np.testing.assert_array_equal(y * f <= 0, model.predict(X) != y)


@states("P3", "P4")
def test_a_correction_adds_the_point_and_raises_its_own_margin(data):
    X, y, _, _ = data
    w, b = np.array([0.3, -0.4]), 0.2
    for x, label in zip(X, y, strict=True):
        raised = label * ((w + label * x) @ x + b + label)
        assert raised == pytest.approx(label * (w @ x + b) + x @ x + 1)
    with pytest.warns(UserWarning, match="max_updates=1"):
        first = Perceptron(max_updates=1).fit(X, y)
    np.testing.assert_allclose(first.coef_[0], y[0] * X[0])
    assert first.intercept_[0] == y[0]


@states("P5")
def test_the_offset_is_the_weight_of_a_one(data):
    X, y, _, _ = data
    w, b, updates = perceptron(X, y)
    longer, same = perceptron_without_offset(np.column_stack([np.ones(len(X)), X]), y)
    np.testing.assert_allclose(longer, [b, *w])
    assert same == updates


@states("P6", "P7", "P8", "P9")
def test_shadow_and_length_of_w_bound_the_number_of_corrections(data):
    X, y, u, offset = data
    tilde = np.column_stack([np.ones(len(X)), X])
    unit = np.array([offset, *u]) / np.sqrt(1 + offset**2)
    rho, R = (y * (tilde @ unit)).min(), np.linalg.norm(tilde, axis=1).max()
    assert rho == pytest.approx((y * (X @ u + offset)).min() / np.sqrt(1 + offset**2))
    w, T = np.zeros(3), 0
    for _ in range(1000):
        for x, label in zip(tilde, y, strict=True):
            if label * (w @ x) <= 0:
                assert np.sum((w + label * x) ** 2) <= w @ w + R**2 + 1e-9
                w, T = w + label * x, T + 1
                assert T * rho <= w @ unit + 1e-9
                assert w @ unit <= np.linalg.norm(w) <= np.sqrt(T) * R + 1e-9
    assert np.all(y * (tilde @ w) > 0)
    assert T == perceptron(X, y)[2] <= (R / rho) ** 2
    longest = (X**2).sum(axis=1).max()
    of_the_page = (longest + 1) * (1 + offset**2) / (y * (X @ u + offset)).min() ** 2
    assert of_the_page == pytest.approx((R / rho) ** 2)


@states("P10")
def test_counts_of_mistakes_are_the_whole_model(data):
    X, y, _, _ = data
    model = Perceptron().fit(X, y)
    m = np.ravel(model.mistakes_)
    f = ((X @ X.T) + 1) @ (m * y)
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-9)
    np.testing.assert_allclose(model.coef_[0], (m * y) @ X)
    np.testing.assert_allclose(model.intercept_, (m * y).sum())


@pytest.mark.parametrize("seed", range(5))
def test_the_plain_loop_is_the_estimator(seed):
    X, y = make_separable(50, 3, margin=0.1, random_state=seed)
    w, b, updates = perceptron(X, y)
    model = Perceptron().fit(X, y)
    np.testing.assert_allclose(model.coef_[0], w)
    assert (model.intercept_[0], model.n_updates_) == (b, updates)
    tilde = np.column_stack([np.ones(len(X)), X])
    without = Perceptron(fit_intercept=False).fit(tilde, y)
    np.testing.assert_allclose(without.coef_[0], perceptron_without_offset(tilde, y)[0])
