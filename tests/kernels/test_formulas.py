"""Every formula against scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

PAIRS = [
    (Linear(), pairwise.linear_kernel, {}),
    (Polynomial(), pairwise.polynomial_kernel, {"degree": 3, "gamma": 1.0, "coef0": 0.0}),
    (Polynomial(2, 0.5, 2), pairwise.polynomial_kernel, {"degree": 2, "gamma": 0.5, "coef0": 2}),
    (Polynomial(5, 0.2, -1), pairwise.polynomial_kernel, {"degree": 5, "gamma": 0.2, "coef0": -1}),
    (Sigmoid(0.3, -0.5), pairwise.sigmoid_kernel, {"gamma": 0.3, "coef0": -0.5}),
    (RBF(), pairwise.rbf_kernel, {"gamma": 1.0}),
    (RBF(0.05), pairwise.rbf_kernel, {"gamma": 0.05}),
    (RBF(0.0), pairwise.rbf_kernel, {"gamma": 0.0}),
    (Laplacian(0.7), pairwise.laplacian_kernel, {"gamma": 0.7}),
]


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("kernel", "function", "params"), PAIRS, ids=[str(p[0]) for p in PAIRS])
def test_formula_is_that_of_scikit_learn(kernel, function, params, stored):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((50, 6)), rng.standard_normal((30, 6))
    expected = function(X, Z, **params)
    tolerance = 1e-12 * np.abs(expected).max()
    np.testing.assert_allclose(kernel(stored(X), stored(Z)), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(
        kernel(stored(X)), function(X, **params), rtol=0, atol=1e-12 * np.abs(kernel(X)).max()
    )


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(-1.0), "RBF: gamma must be a number of at least 0, got -1.0."),
        (RBF(np.inf), "RBF: gamma must be a number of at least 0, got inf."),
        (RBF(True), "RBF: gamma must be a number of at least 0, got True."),
        (RBF(sigma=0.0), "RBF: sigma must be a number above 0, got 0.0."),
        (Laplacian(None), "Laplacian: gamma must be a number of at least 0, got None."),
        (Polynomial(2.5), "Polynomial: degree must be a whole number of at least 0, got 2.5."),
        (Polynomial(-1), "Polynomial: degree must be a whole number of at least 0, got -1."),
        (Polynomial(coef0="1"), "Polynomial: coef0 must be a number, got '1'."),
        (Sigmoid(coef0=np.nan), "Sigmoid: coef0 must be a number, got nan."),
        (RBF("wide"), "RBF: gamma must be 'scale', 'auto' or a number of at least 0, got 'wide'."),
    ],
    ids=str,
)
def test_parameter_without_meaning_is_refused(kernel, message):
    for call in (kernel, kernel.diagonal):
        with pytest.raises(ValueError) as refusal:
            call(np.eye(3))
        assert str(refusal.value) == message


def test_numbers_of_numpy_are_numbers():
    X = np.random.default_rng(0).standard_normal((5, 2))
    kernel = Polynomial(np.int64(2), np.float32(0.5), np.float64(1.0))
    np.testing.assert_array_equal(kernel(X), Polynomial(2, 0.5, 1.0)(X))
    assert kernel.positive_semidefinite is True


def test_polynomial_of_degree_zero_is_one():
    np.testing.assert_array_equal(Polynomial(0)(np.zeros((2, 1)), np.eye(1)), [[1.0], [1.0]])


def test_rows_may_be_lists():
    np.testing.assert_array_equal(Linear()([[1, 2]], [[3, 4], [0, 1]]), [[11.0, 2.0]])
    np.testing.assert_array_equal(Linear().diagonal([[1, 2]]), [5.0])
