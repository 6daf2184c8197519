"""What a regressor keeps and predicts has scikit-learn's shapes, whatever the shape of y."""

import numpy as np
import pytest
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.svm
from scipy import sparse

import maxmargin

THEIRS = {
    "LinearRegression": sklearn.linear_model.LinearRegression,
    "Ridge": sklearn.linear_model.Ridge,
    "Lasso": sklearn.linear_model.Lasso,
    "KernelRidge": sklearn.kernel_ridge.KernelRidge,
    "SVR": sklearn.svm.SVR,
    "NuSVR": sklearn.svm.NuSVR,
    "LinearSVR": sklearn.svm.LinearSVR,
    "GradientDescentRegressor": sklearn.linear_model.SGDRegressor,
}
KEPT = ("coef_", "intercept_", "dual_coef_", "dual_gap_", "sparse_coef_")
WITHOUT_INTERCEPT = ("LinearRegression", "Ridge", "Lasso", "LinearSVR", "GradientDescentRegressor")
OPTIONS = {
    "SVR": {"kernel": "linear"},
    "NuSVR": {"kernel": "linear"},
    "Lasso": {"alpha": 0.01},
    "LinearSVR": {"random_state": 0, "max_iter": 100_000},
}
MANY_TARGETS = ("LinearRegression", "Ridge", "Lasso", "KernelRidge")


def shapes(model, X, y):
    model.fit(X, y)
    kept = {name: np.shape(getattr(model, name)) for name in KEPT if hasattr(model, name)}
    return {**kept, "predict": model.predict(X).shape}


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    return X, X[:, :2] + 0.1 * rng.standard_normal((40, 2))


def assert_same_shapes(name, X, y, **options):
    options |= OPTIONS.get(name, {})
    ours, theirs = getattr(maxmargin, name)(**options), THEIRS[name](**options)
    assert shapes(ours, X, y) == shapes(theirs, X, y)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_columns", [None, 1, 2])
@pytest.mark.parametrize("name", THEIRS)
def test_shapes_are_scikit_learns(name, n_columns, container):
    X, Y = data()
    y = Y[:, 0] if n_columns is None else Y[:, :n_columns]
    if n_columns is None or name in MANY_TARGETS:
        assert_same_shapes(name, container(X), y)
        return
    for model in (getattr(maxmargin, name)(), THEIRS[name]()):
        if n_columns == 1:
            with pytest.warns(sklearn.exceptions.DataConversionWarning):
                assert model.fit(container(X), y).predict(container(X)).shape == (len(X),)
        else:
            with pytest.raises(ValueError, match="y should be a 1d array"):
                model.fit(container(X), y)


@pytest.mark.parametrize("n_columns", [None, 1, 2])
@pytest.mark.parametrize("name", WITHOUT_INTERCEPT)
def test_shapes_are_scikit_learns_without_an_intercept(name, n_columns):
    X, Y = data()
    if n_columns is None or name in MANY_TARGETS:
        y = Y[:, 0] if n_columns is None else Y[:, :n_columns]
        assert_same_shapes(name, X, y, fit_intercept=False)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "Lasso"])
def test_the_intercept_of_one_target_is_a_number_and_no_array(name):
    X, Y = data()
    assert isinstance(getattr(maxmargin, name)().fit(X, Y[:, 0]).intercept_, float)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge", "Lasso"])
def test_a_column_has_the_numbers_of_the_vector(name):
    X, Y = data()
    model = getattr(maxmargin, name)(**OPTIONS.get(name, {}))
    vector = model.fit(X, Y[:, 0]).predict(X)
    column = model.fit(X, Y[:, :1])
    np.testing.assert_array_equal(column.predict(X).ravel(), vector)
    assert np.shape(column.intercept_) == (1,)
