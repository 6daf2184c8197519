"""Kernels of a distance do not care where the origin is."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from maxmargin.kernels import RBF, Laplacian
from maxmargin.kernels.pairs import Pairs, Points, points_of

KERNELS = [(RBF(0.5), "sqeuclidean"), (Laplacian(0.5), "cityblock")]


def some_points():
    rng = np.random.default_rng(4)
    return rng.standard_normal((40, 3)), rng.standard_normal((20, 3))


@pytest.mark.parametrize("shift", [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8])
@pytest.mark.parametrize("kernel", [kernel for kernel, _ in KERNELS], ids=str)
def test_shift_moves_the_kernel_no_more_than_it_rounds_the_points(kernel, shift):
    X, Z = some_points()
    rounding = np.spacing(shift)
    assert np.abs(kernel(X + shift) - kernel(X)).max() <= 100 * rounding
    assert np.abs(kernel(X - shift, Z - shift) - kernel(X, Z)).max() <= 100 * rounding


@pytest.mark.parametrize("shift", [1e2, 1e5, 1e8])
@pytest.mark.parametrize(("kernel", "metric"), KERNELS, ids=str)
def test_shifted_points_lose_no_digit_they_still_have(kernel, metric, shift):
    X, Z = (rows + np.array([shift, -shift, 0.0]) for rows in some_points())
    exact = np.exp(-0.5 * cdist(X, Z, metric))
    np.testing.assert_allclose(kernel(X, Z), exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(kernel(X[:1], Z), exact[:1], rtol=0, atol=1e-14)


def test_distance_of_a_point_to_itself_is_zero_and_none_is_negative():
    X = np.repeat(some_points()[0], 2, axis=0) + 1e6
    A, B = points_of(X)
    squares = Pairs(A, B).squared_distances()
    assert not np.diagonal(squares).any()
    assert squares.min() >= 0
    twins = Pairs(*points_of(X, X.copy())).squared_distances()
    assert twins.min() >= 0
    np.testing.assert_array_equal(np.diagonal(RBF(1e9)(X)), 1.0)


def test_float32_points_are_centred_before_they_are_rounded():
    X = some_points()[0]
    A = Points(X + 1e6, np.float32)
    squares = Pairs(A, A).squared_distances()
    assert squares.dtype == np.float32
    np.testing.assert_allclose(squares, cdist(X, X, "sqeuclidean"), rtol=0, atol=1e-5)


def test_slice_of_points_has_the_rows_of_every_form():
    X = some_points()[0]
    whole, rows = Points(X), np.array([5, 3, 30])
    part, twice = whole[rows], whole[10:][np.array([0, 2])]
    for name in ("X", "numbers", "centred", "centred_squared_norms", "index"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[rows])
        np.testing.assert_array_equal(getattr(twice, name), getattr(whole, name)[[10, 12]])
    assert len(part) == 3


def test_a_form_that_is_another_one_is_counted_once():
    X = some_points()[0]
    X[np.abs(X) < 1] = 0
    X = sparse.csr_array(X)
    A = Points(X, np.float32)
    assert A.centred is A.numbers  # a matrix with many zeros is not shifted
    expected = X.data.nbytes // 2 + X.indices.nbytes + X.indptr.nbytes
    assert A.n_bytes == expected
    assert Points(X).n_bytes == 0
