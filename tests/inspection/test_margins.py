"""Margins of points and of sets."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_iris

from maxmargin import SVC, LinearRegression, LinearSVC, NuSVC, Perceptron
from maxmargin.datasets import make_separable
from maxmargin.inspection import margins
from maxmargin.kernels import RBF, Polynomial


@pytest.fixture
def separable():
    return make_separable(60, 3, margin=0.3)


def test_functional_and_geometric_of_a_linear_machine(separable):
    X, y = separable
    model = LinearSVC(C=10.0).fit(X, y)
    report = margins(model, X, y)
    w, b = model.coef_[0], model.intercept_[0]
    np.testing.assert_allclose(report.functional, y * (X @ w + b))
    np.testing.assert_allclose(report.geometric, y * (X @ w + b) / np.linalg.norm(w))
    assert report.functional_of_set == pytest.approx((y * (X @ w + b)).min())
    assert report.width == pytest.approx(1 / np.linalg.norm(w))


def test_geometric_margin_does_not_depend_on_the_length_of_w(separable):
    X, y = separable
    model = Perceptron().fit(X, y)
    before = margins(model, X, y)
    model.coef_, model.intercept_ = 7 * model.coef_, 7 * model.intercept_
    after = margins(model, X, y)
    np.testing.assert_allclose(after.geometric, before.geometric)
    np.testing.assert_allclose(after.functional, 7 * before.functional)


def test_hard_margin_has_the_largest_geometric_margin_of_the_set(separable):
    X, y = separable
    hard = margins(SVC(kernel="linear", C=np.inf, tol=1e-6).fit(X, y), X, y)
    assert hard.functional_of_set == pytest.approx(1.0, abs=1e-5)
    assert hard.geometric_of_set == pytest.approx(hard.width, rel=1e-5)
    for other in (Perceptron(), LinearSVC(C=100.0), SVC(kernel="linear", C=0.1)):
        assert margins(other.fit(X, y), X, y).geometric_of_set <= hard.geometric_of_set + 1e-6


@pytest.mark.parametrize("kernel", [RBF(gamma=0.7), Polynomial(2, 1.0, 1.0)], ids=str)
def test_norm_of_a_kernel_machine_is_the_root_of_aKa(kernel, binary):
    X, y = binary
    model = SVC(kernel=kernel).fit(X, y)
    a = model.dual_coef_[0]
    norm = np.sqrt(a @ kernel(model.support_vectors_) @ a)
    report = margins(model, X, y)
    assert report.norm == pytest.approx(norm)
    signs = np.where(y == 1, 1, -1)
    np.testing.assert_allclose(report.geometric, signs * model.decision_function(X) / norm)


def test_explicit_feature_map_gives_the_same_norm(binary):
    X, y = binary
    kernel = Polynomial(2, 1.0, 1.0)
    model = SVC(kernel=kernel).fit(X, y)
    w = model.dual_coef_[0] @ kernel.feature_map(model.support_vectors_)
    assert margins(model, X, y).norm == pytest.approx(np.linalg.norm(w))


@pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.2), LinearSVC(C=0.1)], ids=str)
def test_several_classes_are_positive_exactly_where_every_machine_agrees(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    report = margins(model, X, y)
    assert report.functional.shape == (150,)
    assert np.all(model.predict(X[report.functional > 0]) == y[report.functional > 0])


def test_repr_and_errors(separable):
    X, y = separable
    model = LinearSVC(C=10.0).fit(X, y)
    assert "60 points, 0 on the wrong side" in repr(margins(model, X, y))
    with pytest.raises(ValueError, match="margins: y holds the label 5, which was not in the fit"):
        margins(model, X, np.full(60, 5))
    with pytest.raises(TypeError, match=r"margins: model must be an SVC .* got LinearRegression\."):
        margins(LinearRegression().fit(X, y), X, y)
    with pytest.raises(TypeError, match=r"an SVC or NuSVC of maxmargin, .* got SVC of sklearn\.$"):
        margins(sklearn.svm.SVC().fit(X, y), X, y)
