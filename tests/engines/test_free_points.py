"""Strides of all free points at once end hard problems that pairs of points creep through."""

import warnings

import numpy as np
import pytest

from maxmargin import SVC, SVR, NuSVC, OneClassSVM
from maxmargin.engines.free_points import _inverse, _without


def noisy(n=400):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5))
    return X, (X[:, 0] + rng.standard_normal(n) > 0).astype(int)


@pytest.mark.parametrize("C", [1e5, 1e7])
@pytest.mark.parametrize(
    "options", [{"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}], ids=str
)
def test_a_large_price_of_a_kernel_of_low_rank_is_solved_in_few_steps(options, C):
    X, y = noisy()
    model = SVC(C=C, **options).fit(X, y)
    assert model.converged_
    assert model.n_iter_[0] < 300_000  # pairs alone: ten million, and no end


def test_without_strides_the_same_answer_takes_many_more_steps(monkeypatch):
    X, y = noisy(200)
    with_strides = SVC(kernel="linear", C=1e3).fit(X, y)
    monkeypatch.setattr("maxmargin.engines.host_block.stride", lambda block, rounding: (0.0, 0))
    without = SVC(kernel="linear", C=1e3).fit(X, y)
    assert 2 * with_strides.n_iter_[0] < without.n_iter_[0]
    objectives = [model.certificate_.dual_objective for model in (with_strides, without)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-5)


def test_a_checkerboard_at_a_large_price():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (3000, 2))
    y = (np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2
    model = SVC(C=1e4, gamma=1.0).fit(X, y)
    assert model.converged_
    assert model.certificate_.relative_gap < 1e-3


def test_where_tol_is_below_rounding_the_best_point_is_kept():
    rng = np.random.RandomState(165)
    X = 1100.0 * rng.randn(182, 5)
    y = np.where(X[:, 0] + 550.0 * rng.randn(182) > 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounding leaves a violation of a hundredth
        model = SVC(kernel="linear", C=4e6).fit(X, y)
    assert model.certificate_.relative_gap < 0.01  # of the last point it would be 0.999


def test_a_callback_that_says_stop_is_asked_no_more(monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.smo.SLICE", 100_000)
    X, y = noisy()
    seen = []

    def stop_beyond_tol(progress):
        seen.append(progress.violation)
        return progress.violation <= progress.tol or len(seen) > 10_000

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SVC(kernel="linear", C=1e4, callbacks=[stop_beyond_tol]).fit(X, y)
    assert sum(violation <= 1e-3 for violation in seen) <= 2  # one, and the last of a fit


@pytest.mark.parametrize("size", [1e6, 1e7, 1e8])
@pytest.mark.parametrize("n", [300, 3000])
def test_one_point_far_out_does_not_make_the_others_stop_early(n, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    X[0], y[0] = [size, 0.0, 0.0], 1
    models = [SVC(kernel="linear", warm_start=True), NuSVC(kernel="linear", nu=0.6)]
    if n == 300:
        models.append(OneClassSVM(kernel="linear", nu=0.5))
    for model in models:
        assert model.fit(X, y).converged_
    assert models[0].set_params(C=100.0).fit(X, y).converged_


def test_strides_keep_the_sum_where_all_points_look_the_same():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y = rng.normal(size=(12, 2)), 100.0 + (np.arange(12) == 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the kernel is one up to 1e-3, and tol below rounding
            model = SVR(epsilon=0.0, gamma=5e-5, tol=1e-9).fit(X, y)
        assert abs(model.dual_coef_.sum()) < 1e-9
        assert model.certificate_.relative_gap < 1e-6


def test_the_tube_of_a_regression_is_not_crossed_by_a_stride():
    X, _ = noisy(600)
    model = SVR(kernel="linear", C=1e4, epsilon=0.3).fit(X, X[:, 0] + np.sin(3 * X[:, 1]))
    assert model.converged_
    assert model.certificate_.dual_feasibility == 0


def test_rows_are_taken_out_of_an_inverse():
    X = np.random.default_rng(0).standard_normal((8, 20))
    K = X @ X.T
    left = np.delete(np.delete(K, [2, 5], axis=0), [2, 5], axis=1)
    np.testing.assert_allclose(_without(_inverse(K), np.array([2, 5])), np.linalg.inv(left))


def test_a_singular_matrix_gets_a_little_on_its_diagonal():
    K = np.ones((5, 5))
    inverse = _inverse(K)
    assert np.all(np.isfinite(inverse))
    assert np.all(np.linalg.eigvalsh(inverse) > 0)
