"""Sums in float32 are never further off than their bound says, and labels never depend on them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from maxmargin import SVC
from maxmargin.engines.cpu import CPUEngine
from maxmargin.kernels import RBF

N = 1200


def rows(storage, rng):
    X = rng.standard_normal((N, 30)) * rng.uniform(0.1, 10.0, 30)
    if storage == "far":
        return X + 1e4
    if storage == "a few far":
        X[::50] *= 1e3
        return X
    if storage != "dense":
        X[rng.random(X.shape) < 0.9] = 0.0
    return sparse.csr_array(X) if storage == "sparse" else X


@pytest.mark.parametrize("storage", ["dense", "far", "a few far", "thin", "sparse"])
@pytest.mark.parametrize("gamma", [1e-5, 1e-3, 0.1])
def test_the_error_of_a_rough_sum_is_within_its_bound(storage, gamma):
    rng = np.random.default_rng(0)
    X, parts = rows(storage, rng), [slice(0, 300), slice(300, 500)]
    coef = rng.standard_normal((500, 3)) * 10.0 ** rng.uniform(-3, 3, (500, 1))
    with CPUEngine() as engine:
        points = engine.points(X)
        asked = RBF(gamma), points, points[np.arange(500)], coef, parts
        exact = engine.expand(*asked)
        sums, bounds = engine.expand_roughly(*asked)
    errors = np.max(np.abs(sums - exact), axis=2)
    assert np.all(errors <= bounds)
    if storage == "a few far":  # the others are not spoiled by them
        assert gamma > 1e-2 or np.mean(np.isfinite(bounds)) > 0.95
        bounds = bounds[np.isfinite(bounds)]
    assert np.median(bounds / np.max(np.abs(coef))) < 1.0  # it is of some use


def test_beyond_the_range_of_float32_there_is_no_bound_or_no_rough_way():
    X, coef = np.random.default_rng(0).standard_normal((N, 5)), np.ones((N, 1))
    with CPUEngine() as engine:
        points, far = engine.points(X), engine.points(1e20 * X)
        assert engine.expand_roughly(RBF(1e-40), far, far, coef) is None
        far = engine.points(1e20 * X, beside=points)
        assert np.all(np.isinf(engine.expand_roughly(RBF(0.1), far, points, coef)[1]))


def test_few_sums_and_other_kernels_have_no_rough_way():
    X = np.random.default_rng(0).standard_normal((N, 5))
    with CPUEngine() as engine:
        points = engine.points(X)
        assert engine.expand_roughly(RBF(1.0), points[:10], points, np.ones((N, 1))) is None
        assert engine.expand_roughly(2 * RBF(1.0), points, points, np.ones((N, 1))) is None


@pytest.mark.parametrize("strategy", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_are_those_of_the_exact_decisions_however_near_to_the_boundary(n_classes, strategy):
    """Rows between two others are halved until the boundary lies between neighbours."""
    X, y = make_blobs(N, 6, centers=n_classes, cluster_std=6.0, random_state=0)
    model = SVC(C=10.0, multi_class=strategy).fit(X, y)
    low, high = X[: N // 2], X[N // 2 :]
    label_of_low = model.predict(low)
    for _ in range(50):
        middle = 0.5 * (low + high)
        same = (model.predict(middle) == label_of_low)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    near = np.vstack([low, high])
    exact = model._answers(near, lambda decisions, rows: decisions)
    how = model._fitted_decomposition()
    distances = np.min(np.abs(exact), axis=1)
    if strategy == "ovr" and n_classes > 2:
        distances = np.diff(np.sort(exact, axis=1)[:, -2:], axis=1)[:, 0]
    assert np.any(distances < 1e-9)
    clear = distances > 1e-12  # rounding in float64 decides about the rest
    labels = model.classes_[how.winners(exact, False)]
    np.testing.assert_array_equal(model.predict(near)[clear], labels[clear])
