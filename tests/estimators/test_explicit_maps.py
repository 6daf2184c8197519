"""Explicit feature maps as transformers: exact kernels, names, and data that become separable."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from maxmargin import SVC, LinearSVC
from maxmargin.datasets import make_circles, make_separable, make_xnor
from maxmargin.errors import NoFeatureMapError, NotSeparableError
from maxmargin.estimators.feature_maps import CircleMap, KernelMap, PolynomialMap, XNORMap
from maxmargin.kernels import RBF, Linear, Polynomial

MAPS = [
    KernelMap(),
    KernelMap(3.0 * Linear() + Polynomial(2) * Linear()),
    PolynomialMap(),
    PolynomialMap(3, gamma="scale", coef0=0.0),
    XNORMap(),
    CircleMap(),
]
FORMATS = [sparse.csr_array, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array]


def some_rows(seed=1, n=15, d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def products(feature_map, X, Z):
    return dense(feature_map.transform(X)) @ dense(feature_map.transform(Z)).T


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("gamma", [0.5, 1.0])
@pytest.mark.parametrize("coef0", [0.0, 1.0, 2.5])
def test_polynomial_map_is_the_polynomial_kernel(degree, gamma, coef0):
    X, Z = some_rows(), some_rows(seed=2, n=7)
    feature_map = PolynomialMap(degree, gamma, coef0).fit(X)
    expected = (gamma * X @ Z.T + coef0) ** degree
    np.testing.assert_allclose(products(feature_map, X, Z), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        2.0 * Polynomial(2, coef0=1.0),
        Linear() + Polynomial(3),
        Linear() * Polynomial(2, 0.5, 1.0),
        (Linear() + Polynomial(2)) ** 2,
        Polynomial(2, coef0=1.0).normalised(),
    ],
    ids=str,
)
def test_kernel_map_is_the_kernel(kernel):
    X, Z = some_rows(), some_rows(seed=2, n=7)
    K = kernel(X, Z)
    found = products(KernelMap(kernel).fit(X), X, Z)
    np.testing.assert_allclose(found, K, rtol=0, atol=1e-12 * np.abs(K).max())


def test_circle_map_is_its_kernel():
    X, Z = some_rows(), some_rows(seed=2, n=7)
    expected = X @ Z.T + np.outer((X**2).sum(axis=1), (Z**2).sum(axis=1))
    np.testing.assert_allclose(products(CircleMap().fit(X), X, Z), expected, atol=1e-12)


def test_named_gamma_is_resolved_on_the_training_rows():
    X = some_rows()
    feature_map = PolynomialMap(gamma="scale").fit(X)
    assert feature_map.kernel_.gamma == pytest.approx(1 / (3 * X.var()))
    assert feature_map.gamma == "scale"
    kernel_map = KernelMap(Polynomial(2, gamma="scale", coef0=1.0)).fit(X)
    np.testing.assert_array_equal(kernel_map.transform(X[:4]), feature_map.transform(X[:4]))


# Each map makes its own data separable, which they are not without it.


@pytest.mark.parametrize(
    ("feature_map", "data"),
    [
        (XNORMap(), make_xnor(120, noise=0.2)),
        (PolynomialMap(2), make_xnor(120, noise=0.2)),
        (CircleMap(), make_circles(120, noise=0.05)),
        (KernelMap(Linear() + Polynomial(2)), make_circles(120, noise=0.05)),
    ],
    ids=["xnor", "xnor by a polynomial", "circle", "circle by a sum"],
)
def test_map_makes_its_data_linearly_separable(feature_map, data):
    X, y = data
    with pytest.raises(NotSeparableError):
        SVC(kernel="linear", C=np.inf).fit(X, y)
    hard = make_pipeline(feature_map, SVC(kernel="linear", C=np.inf)).fit(X, y)
    assert hard.score(X, y) == 1.0
    assert hard[-1].certificate_.optimal
    soft = make_pipeline(feature_map, LinearSVC(C=100.0)).fit(X, y)
    assert soft.score(X, y) == 1.0


def test_machine_on_the_map_is_the_machine_with_the_kernel():
    X, y = make_separable(60, 3, margin=0.1)
    y[::7] *= -1
    mapped = make_pipeline(PolynomialMap(2), SVC(kernel="linear", tol=1e-8)).fit(X, y)
    kernel = SVC(kernel=Polynomial(2, coef0=1.0), tol=1e-8).fit(X, y)
    np.testing.assert_allclose(mapped.decision_function(X), kernel.decision_function(X), atol=1e-5)


def test_xnor_of_more_bits_is_their_parity():
    bits = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    even = (bits < 0).sum(axis=1) % 2 == 0
    np.testing.assert_array_equal(XNORMap().fit_transform(bits)[:, 0] > 0, even)


@pytest.mark.parametrize("stored", FORMATS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("feature_map", MAPS, ids=str)
def test_sparse_is_dense(feature_map, stored):
    X, Z = some_rows(), some_rows(seed=2, n=7)
    expected = clone(feature_map).fit(X).transform(Z)
    found = clone(feature_map).fit(stored(X)).transform(stored(Z))
    np.testing.assert_allclose(dense(found), expected, rtol=1e-14, atol=1e-14)
    across = clone(feature_map).fit(X).transform(stored(Z))
    np.testing.assert_allclose(dense(across), expected, rtol=1e-14, atol=1e-14)


def test_maps_that_can_stay_sparse_do():
    X = sparse.csr_array(some_rows())
    assert sparse.issparse(CircleMap().fit_transform(X))
    assert sparse.issparse(KernelMap().fit_transform(X))


@pytest.mark.parametrize("feature_map", MAPS, ids=str)
def test_float32_loses_no_digit(feature_map):
    X = some_rows().astype(np.float32)
    features = clone(feature_map).fit_transform(X)
    assert features.dtype == np.float64
    np.testing.assert_array_equal(features, clone(feature_map).fit_transform(X.astype(float)))


# Names.


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("coef0", [0.0, 0.5])
def test_polynomial_names_are_the_monomials_of_their_columns(degree, coef0):
    X = some_rows() + 3.0
    feature_map = PolynomialMap(degree, coef0=coef0).fit(X)
    names = feature_map.get_feature_names_out()
    plain = PolynomialFeatures(degree).fit(X)
    columns = dict(zip(plain.get_feature_names_out(), plain.transform(X).T, strict=True))
    assert len(set(names)) == len(names)
    for name, column in zip(names, feature_map.transform(X).T, strict=True):
        ratio = column / columns[name]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)
    if coef0:
        assert set(names) == set(columns)


def test_names_come_from_the_data_frame():
    frame = pd.DataFrame(some_rows(d=2), columns=["height", "width"])
    cases = {
        PolynomialMap(2): ["height^2", "height width", "height", "width^2", "width", "1"],
        PolynomialMap(2, coef0=0.0): ["height^2", "height width", "width^2"],
        XNORMap(): ["height width"],
        CircleMap(): ["height", "width", "|x|^2"],
        KernelMap(): ["kernelmap0", "kernelmap1"],
    }
    for feature_map, names in cases.items():
        out = feature_map.set_output(transform="pandas").fit_transform(frame)
        assert list(out.columns) == names
        assert list(feature_map.get_feature_names_out()) == names
        assert list(feature_map.feature_names_in_) == ["height", "width"]
        plain = clone(feature_map).set_output(transform="default").fit_transform(frame.to_numpy())
        np.testing.assert_array_equal(out.to_numpy(), plain)


def test_names_of_unnamed_and_of_wrongly_named_features():
    feature_map = CircleMap().fit([[1.0, 2.0]])
    assert list(feature_map.get_feature_names_out()) == ["x0", "x1", "|x|^2"]
    assert list(feature_map.get_feature_names_out(["a", "b"])) == ["a", "b", "|x|^2"]
    with pytest.raises(ValueError, match="input_features should have length"):
        feature_map.get_feature_names_out(["a"])
    with pytest.raises(NotFittedError):
        PolynomialMap().get_feature_names_out()


# Refusals.


@pytest.mark.parametrize(
    ("feature_map", "message"),
    [
        (PolynomialMap(-1), "PolynomialMap: degree must be a whole number of at least 0, got -1."),
        (PolynomialMap(2.5), "PolynomialMap: degree must be a whole number of at least 0, got 2.5"),
        (PolynomialMap(coef0=-1), "PolynomialMap: coef0 must be a number of at least 0, got -1."),
        (
            PolynomialMap(gamma="wide"),
            "PolynomialMap: gamma must be 'scale', 'auto' or a number of at least 0, got 'wide'.",
        ),
        (KernelMap("rbf"), "KernelMap: kernel must be 'linear' or a Kernel, got 'rbf'."),
        (KernelMap(Linear() ** 0), "Power: degree must be a whole number of at least 1, got 0."),
    ],
    ids=str,
)
def test_wrong_parameter_is_named(feature_map, message):
    with pytest.raises(ValueError) as refusal:
        feature_map.fit(some_rows())
    assert str(refusal.value).startswith(message)


def test_kernel_without_a_map_is_refused_by_fit():
    with pytest.raises(NoFeatureMapError) as refusal:
        KernelMap(Linear() + RBF()).fit(some_rows())
    assert str(refusal.value) == (
        "KernelMap: RBF() has no finite feature map. RandomFourierFeatures or Nystroem give an "
        "approximate one."
    )


@pytest.mark.parametrize("wrong", [{"coef0": -1.0}, {"degree": "two"}])
def test_failed_fit_leaves_the_map_as_it_was(wrong):
    X = some_rows()
    feature_map = PolynomialMap().fit(X)
    before = feature_map.transform(X)
    with pytest.raises(ValueError, match="PolynomialMap"):
        feature_map.set_params(**wrong).fit(X[:, :2])
    assert feature_map.n_features_in_ == 3
    np.testing.assert_array_equal(feature_map.transform(X), before)


def test_broken_sparse_rows_are_refused():
    X = sparse.csr_array(some_rows())
    X.indices[0] = 99
    with pytest.raises(ValueError, match=r"X: the sparse matrix has index 99, outside 0\.\.2"):
        CircleMap().fit(X)
