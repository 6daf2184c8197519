"""GramDisplay shows the kernel matrix by class, and eigenvalues that are those of the matrix."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, KernelRidge, LinearSVC, Perceptron
from maxmargin.datasets import make_circles
from maxmargin.displays import GramDisplay
from maxmargin.errors import KernelError
from maxmargin.kernels import RBF, Linear, Precomputed, Sigmoid, mercer

matplotlib.use("Agg")

X, y = make_circles(90)
ORDER = np.argsort(y, kind="stable")


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def test_rows_are_sorted_by_class():
    display = GramDisplay.from_kernel(RBF(gamma=2.0), X, y)
    np.testing.assert_array_equal(display.rows, ORDER)
    np.testing.assert_array_equal(display.y, y[ORDER])
    np.testing.assert_allclose(display.K, rbf_kernel(X[ORDER], gamma=2.0))
    matrix = display.axes_[0]
    assert [text.get_text() for text in matrix.get_xticklabels()] == ["-1", "1"]
    assert len(matrix.lines) == 2  # between two classes, across and down


def test_eigenvalues_are_those_of_the_matrix():
    display = GramDisplay.from_kernel(RBF(gamma=2.0), X, y, plot=False)
    values = np.linalg.eigvalsh(rbf_kernel(X, gamma=2.0))
    np.testing.assert_allclose(display.eigenvalues, values[::-1], atol=1e-12)
    assert display.report.satisfied


def test_an_indefinite_kernel_is_told_and_its_negative_values_are_marked():
    kernel = Sigmoid(gamma=1.0, coef0=-1.0)
    display = GramDisplay.from_kernel(kernel, X, y)
    report = mercer(kernel, X)
    assert display.report.smallest_eigenvalue == pytest.approx(report.smallest_eigenvalue)
    assert not display.report.satisfied
    spectrum = display.axes_[1]
    assert "not positive semidefinite" in spectrum.get_title()
    assert f"{report.smallest_eigenvalue:.2g}" in spectrum.get_title()
    negative = next(line for line in spectrum.lines if "negative" in line.get_label())
    largest = display.report.largest_eigenvalue
    marked = np.sum(display.eigenvalues < -1e-10 * max(largest, -report.smallest_eigenvalue))
    assert len(negative.get_xdata()) == marked > 0


@pytest.mark.parametrize(
    "model",
    [
        SVC(gamma=2.0),
        SVC(kernel=RBF(gamma=2.0)),
        SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=2.0)),
        KernelRidge(kernel="rbf", gamma=2.0),
        Perceptron(kernel="rbf", gamma=2.0),
    ],
    ids=lambda model: str(model).split("(")[0],
)
def test_every_kernel_machine_has_its_matrix(model):
    display = GramDisplay.from_estimator(model.fit(X, y), X, y, plot=False)
    np.testing.assert_allclose(display.K, rbf_kernel(X[ORDER], gamma=2.0), atol=1e-12)


def test_a_precomputed_matrix_is_its_own_kernel():
    K = rbf_kernel(X, gamma=2.0)
    for display in (
        GramDisplay.from_estimator(SVC(kernel="precomputed").fit(K, y), K, y, plot=False),
        GramDisplay.from_kernel(Precomputed(), K, y, plot=False),
    ):
        np.testing.assert_array_equal(display.K, K[np.ix_(ORDER, ORDER)])


def test_a_pipeline_scales_before_the_kernel():
    model = make_pipeline(StandardScaler(), SVC(gamma=1.0)).fit(X, y)
    display = GramDisplay.from_estimator(model, X, y, plot=False)
    rows = model[0].transform(X)[ORDER]
    np.testing.assert_allclose(display.K, rbf_kernel(rows, gamma=1.0))


def test_scale_means_what_it_means_in_a_fit():
    model = SVC().fit(X, y)
    display = GramDisplay.from_kernel(RBF(gamma="scale"), X, y, max_rows=20, plot=False)
    np.testing.assert_allclose(display.K, rbf_kernel(X[display.rows], gamma=model.kernel_.gamma))
    assert display.kernel == f"RBF(gamma={model.kernel_.gamma:.4g})"


@pytest.mark.parametrize("as_rows", [sparse.csr_array, pd.DataFrame, np.ndarray.tolist])
def test_rows_may_be_stored_in_other_ways(as_rows):
    display = GramDisplay.from_kernel(RBF(gamma="scale"), as_rows(X), y, plot=False)
    gamma = 1 / (2 * X.var())
    np.testing.assert_allclose(display.K, rbf_kernel(X[ORDER], gamma=gamma), atol=1e-12)


def test_of_many_rows_a_sample_is_shown_the_same_every_time():
    first, again = (GramDisplay.from_kernel(RBF(), X, y, max_rows=30, plot=False) for _ in range(2))
    assert len(first.rows) == len(np.unique(first.rows)) == 30
    np.testing.assert_array_equal(first.rows, again.rows)
    np.testing.assert_array_equal(first.y, y[first.rows])
    other = GramDisplay.from_kernel(RBF(), X, y, max_rows=30, random_state=1)
    assert not np.array_equal(first.rows, other.rows)
    assert "30 of 90 rows" in other.axes_[0].get_title()
    assert len(first.eigenvalues) == 30


def test_without_labels_rows_keep_their_order():
    display = GramDisplay.from_kernel(RBF(), X)
    np.testing.assert_array_equal(display.rows, np.arange(90))
    assert display.axes_[0].get_xlabel() == "row"


def test_targets_of_a_regression_sort_without_blocks():
    target = X[:, 0]
    display = GramDisplay.from_estimator(SVR().fit(X, target), X, target)
    assert np.all(np.diff(display.y) >= 0)
    assert display.axes_[0].get_xlabel() == "row, by target"
    assert not display.axes_[0].lines


def test_points_at_the_origin_have_a_spectrum_of_zeros():
    display = GramDisplay.from_kernel(Linear(), np.zeros((5, 2)))
    assert not display.eigenvalues.any()
    assert display.report.satisfied


# Refusals.


def test_a_model_without_a_kernel():
    message = r"^GramDisplay: LinearSVC has no kernel_; use GramDisplay\.from_kernel\(Linear\(\), X"
    with pytest.raises(TypeError, match=message):
        GramDisplay.from_estimator(LinearSVC().fit(X, y), X, y)


def test_a_name_is_no_kernel():
    message = r"^GramDisplay: kernel must be a Kernel, as RBF\(gamma=1\.0\), .* got 'rbf'\.$"
    with pytest.raises(TypeError, match=message):
        GramDisplay.from_kernel("rbf", X, y)


def test_a_kernel_that_overflows():
    with pytest.raises(KernelError, match="kernel overflow"), np.errstate(over="ignore"):
        GramDisplay.from_kernel(Linear() ** 200, 1e3 * X, y)
