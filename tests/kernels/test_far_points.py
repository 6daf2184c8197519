"""One point far away does not cost the others the digits of their distances."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SVC, arrays
from maxmargin.engines.cpu import CPUEngine
from maxmargin.kernels import RBF


def test_neighbours_stay_apart_beside_a_far_point():
    X = np.array([[99998.0], [100002.0], [100001.0], [1000030000.0]])
    expected = np.exp(-0.1 * (X - X.T) ** 2)
    np.testing.assert_allclose(RBF(0.1)(X), expected, rtol=1e-5, atol=1e-300)
    model = SVC(kernel="rbf", gamma=10.0, C=float("inf")).fit(X, [1, 1, 1, 0])
    np.testing.assert_allclose(model.decision_function(X[:3]), 1.0, atol=1e-2)


@pytest.mark.parametrize("shift", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("far", [0.02, 0.5, 0.9])
def test_clusters_far_apart_keep_their_digits(far, shift):
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, size=(900, 3)) / 8.0  # so that the shift rounds nothing
    X[rng.random(900) < far] += shift
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    expected = np.exp(-0.5 * distances)
    np.testing.assert_allclose(RBF(0.5)(X), expected, rtol=1e-7, atol=1e-300)
    with CPUEngine() as engine:
        points = engine.points(X)
        found = engine.matrix(RBF(0.5), points).values(np.arange(900))
        coef = rng.normal(size=(900, 1))
        decisions = engine.expand(RBF(0.5), points, points, coef)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-300)
    np.testing.assert_allclose(decisions, expected @ coef, rtol=1e-6, atol=1e-9)
    y = np.where(rng.random(900) < 0.3, -1, 1) * np.sign(X[:, 0] - np.round(X[:, 0] / 1e4) * 1e4)
    y[:2] = 1, -1
    y[y == 0] = 1
    model = SVC(gamma=0.5, tol=1e-6).fit(X, y)
    assert model.converged_
    exact = SVC(kernel="precomputed", tol=1e-6).fit(expected, y)
    np.testing.assert_allclose(
        model.decision_function(X), exact.decision_function(expected), atol=1e-4
    )


@pytest.mark.parametrize("n", [0, 1, 2, 101, 5000])
def test_the_middle_is_amid_the_rows(n):
    X = np.random.default_rng(0).normal(size=(n, 3)) + 7.0
    X[: n // 50] = 1e300
    found = arrays.middle(X)
    assert found.shape == (3,)
    if n > 50:
        np.testing.assert_allclose(found, 7.0, atol=0.5)
        np.testing.assert_array_equal(arrays.middle(sparse.csr_array(X)), found)


@pytest.mark.parametrize("period", [3, 10, 20, 22, 40, 50, 100])
@pytest.mark.parametrize("n", [90, 1000, 4321])
def test_no_order_of_the_rows_makes_far_ones_the_middle(n, period):
    X = np.random.default_rng(0).normal(size=(n, 3))
    X[::period] += 1e8
    assert np.all(np.abs(arrays.middle(X)) < 2.0)
