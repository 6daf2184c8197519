"""Explicit feature maps: phi(x).phi(z) is k(x, z)."""

import re
from math import comb, sqrt

import numpy as np
import pytest
from scipy import sparse

from maxmargin.errors import NoFeatureMapError
from maxmargin.kernels import RBF, Custom, Laplacian, Linear, Polynomial, Precomputed, Sigmoid


def some_points():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 3)) * (rng.random((12, 3)) < 0.7)
    X[2] = 0.0
    return X, rng.standard_normal((8, 3))


def decay(X):
    return 1 / (1 + np.asarray(abs(X).sum(axis=1)).ravel())


def title(kernel):
    """A name for a test: the repr without the addresses of functions."""
    return re.sub(r"<function (\w+) at \w+>", r"\1", str(kernel))


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


WITH_MAP = [
    Linear(),
    *(Polynomial(p, g, c) for p in (0, 1, 2, 3) for g in (0.5, 1.0) for c in (0.0, 1.0, 2.5)),
    Polynomial(4, 0.3, 0.7),
    3.0 * Linear(),
    0.5 * Polynomial(2, coef0=1.0),
    Linear() + Polynomial(2),
    Linear() * Polynomial(2, 0.5, 1.0),
    Linear() * Linear(),
    Linear() ** 3,
    Linear().conformal(decay),
    Polynomial(2).conformal(decay),
    Linear().normalised(),
    Polynomial(2, coef0=1.0).normalised(),
    (2.0 * Linear() + Polynomial(2, coef0=1.0)) * Linear().normalised() + Linear() ** 2,
    (3.0 * (Linear() + Linear().conformal(decay))) ** 2,
]
WITHOUT_MAP = [
    RBF(),
    Laplacian(),
    Sigmoid(),
    Precomputed(),
    Custom(np.inner),
    Polynomial(coef0=-1.0),
]
STORED = {
    "dense": np.asarray,
    "list": np.ndarray.tolist,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "coo_matrix": sparse.coo_matrix,
    "lil_array": sparse.lil_array,
}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
@pytest.mark.parametrize("kernel", WITH_MAP, ids=title)
def test_dot_products_of_features_are_kernel_values(kernel, stored):
    X, Z = some_points()
    K = kernel(X, Z)
    phi_x, phi_z = (dense(kernel.feature_map(stored(rows))) for rows in (X, Z))
    np.testing.assert_allclose(phi_x @ phi_z.T, K, rtol=0, atol=1e-10 * np.abs(K).max())


def test_map_of_the_squared_dot_product_is_the_textbooks():
    (u, v), c = (0.5, -2.0), 3.0
    squared = Polynomial(2).feature_map([[u, v]])
    np.testing.assert_allclose(squared, [[u * u, sqrt(2) * u * v, v * v]], rtol=1e-15)
    shifted = Polynomial(2, coef0=c).feature_map([[u, v]])
    expected = [u * u, sqrt(2) * u * v, v * v, sqrt(2 * c) * u, sqrt(2 * c) * v, c]
    np.testing.assert_allclose(np.sort(shifted[0]), np.sort(expected), rtol=1e-15)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5])
def test_polynomial_map_has_one_feature_per_monomial(degree):
    X, _ = some_points()
    assert Polynomial(degree).feature_map(X).shape == (12, comb(3 + degree - 1, degree))
    assert Polynomial(degree, coef0=1.0).feature_map(X).shape == (12, comb(3 + degree, degree))


def test_map_of_a_multiple_is_the_map_times_the_root():
    X, _ = some_points()
    phi = Polynomial(2, coef0=1.0).feature_map(X)
    np.testing.assert_array_equal((7.0 * Polynomial(2, coef0=1.0)).feature_map(X), sqrt(7.0) * phi)


def test_map_of_float32_rows_loses_no_digit():
    X = some_points()[0].astype(np.float32)
    for kernel in (Linear(), Polynomial(2), Linear().normalised()):
        wide = kernel.feature_map(X.astype(np.float64))
        np.testing.assert_array_equal(kernel.feature_map(X), wide)
        np.testing.assert_array_equal(dense(kernel.feature_map(sparse.csr_array(X))), wide)


def test_sparse_rows_keep_sparse_features_where_they_can():
    X = sparse.csr_array(some_points()[0])
    for kernel in (Linear(), 2.0 * Linear(), Linear() * Linear(), Linear().normalised()):
        assert sparse.issparse(kernel.feature_map(X))


@pytest.mark.parametrize("kernel", WITHOUT_MAP, ids=title)
@pytest.mark.parametrize(
    "compose",
    [
        lambda k: k,
        lambda k: 2.0 * k,
        lambda k: k + Linear(),
        lambda k: Linear() * k,
        lambda k: k**2,
        lambda k: k.conformal(decay),
        lambda k: k.normalised(),
    ],
    ids=["itself", "scaled", "sum", "product", "power", "conformal", "normalised"],
)
def test_kernel_without_a_map_says_so_by_name(kernel, compose):
    square = np.eye(3)
    with pytest.raises(NoFeatureMapError) as refusal:
        compose(kernel).feature_map(square)
    assert str(refusal.value) == f"{kernel} has no finite feature map."


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (-1.0 * Linear(), "Scaled: factor must be a number above 0, got -1.0."),
        (Linear() ** 0.5, "Power: degree must be a whole number of at least 1, got 0.5."),
        (Linear() + Polynomial(-1), "Polynomial: degree must be a whole number of at least 0"),
        (
            Polynomial(gamma="scale"),
            "Polynomial: gamma='scale' is a number only once there is data",
        ),
    ],
    ids=title,
)
def test_parameter_without_meaning_has_no_map(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.feature_map(some_points()[0])
