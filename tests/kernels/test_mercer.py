"""Mercer's condition, asked of the Gram matrix on data."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin.errors import KernelError
from maxmargin.kernels import RBF, Custom, Linear, Polynomial, Precomputed, Sigmoid, mercer


@pytest.fixture
def X():
    return np.random.default_rng(5).standard_normal((30, 3))


@pytest.mark.parametrize("kernel", [RBF(), Linear(), Polynomial(3, coef0=1.0), RBF() * Linear()])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array, np.ndarray.tolist])
def test_is_satisfied_by_what_is_semidefinite(X, kernel, stored):
    report = mercer(kernel, stored(X))
    eigenvalues = np.linalg.eigvalsh(kernel(X))
    assert report.satisfied is True
    assert report.asymmetry == 0.0
    assert report.smallest_eigenvalue == pytest.approx(eigenvalues[0], abs=1e-10)
    assert report.largest_eigenvalue == pytest.approx(eigenvalues[-1], rel=1e-12)


def test_is_violated_by_the_sigmoid(X):
    report = mercer(Sigmoid(gamma=1.0, coef0=-1.0), X)
    assert report.satisfied is False
    assert report.asymmetry == 0.0
    assert report.smallest_eigenvalue < -1e-3 * report.largest_eigenvalue


def test_reports_the_asymmetry_of_a_function(X):
    report = mercer(Custom(lambda A, B: A @ B.T + A[:, :1]), X)
    assert report.satisfied is False
    assert report.asymmetry == pytest.approx(np.ptp(X[:, 0]))


def test_takes_a_plain_function(X):
    assert mercer(lambda A, B: A @ B.T, X) == mercer(Custom(lambda A, B: A @ B.T), X)
    assert not mercer(lambda A, B: -(A @ B.T), X).satisfied


@pytest.mark.parametrize(
    ("kernel", "shown"), [("rbf", "'rbf'"), (None, "None"), (3, "3"), (RBF, "RBF")]
)
def test_what_is_no_kernel_is_named(X, kernel, shown):
    message = rf"^mercer: kernel must be a Kernel, as RBF\(gamma=1.0\), or a .* got {shown}\.$"
    with pytest.raises(TypeError, match=message):
        mercer(kernel, X)


def test_the_verdict_is_printed(X):
    assert repr(mercer(RBF(), X)).startswith("MercerReport(satisfied=True, smallest_eigenvalue=")
    assert "satisfied=False" in repr(mercer(Sigmoid(gamma=1.0, coef0=-1.0), X))


def test_is_violated_by_asymmetry_alone():
    report = mercer(Precomputed(), [[2.0, 0.5], [0.0, 2.0]])
    assert report.smallest_eigenvalue == pytest.approx(1.75)
    assert report.largest_eigenvalue == pytest.approx(2.25)
    assert report.asymmetry == 0.5
    assert not report.satisfied


def test_rounding_is_no_violation():
    assert mercer(Precomputed(), np.diag([1.0, -1e-12])).satisfied
    assert not mercer(Precomputed(), np.diag([1.0, -1e-8])).satisfied
    assert mercer(Precomputed(), np.zeros((3, 3))).satisfied


def test_matrix_that_is_not_finite_is_an_error():
    with pytest.raises(KernelError, match="kernel overflow"):
        mercer(Precomputed(), [[np.inf, 0.0], [0.0, 1.0]])
