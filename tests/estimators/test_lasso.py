"""Lasso against scikit-learn's, its optimality conditions and its own duality gap."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from regression_data import abalone, cal_housing, leu
from scipy import sparse

from maxmargin import Lasso
from maxmargin.errors import ConvergenceWarning
from maxmargin.solvers import coordinate_descent

EXACT = {"tol": 1e-13}


def data(n=60, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    w = rng.standard_normal(d) * (rng.random(d) < 0.4)
    return X, X @ w + 0.5 * rng.standard_normal(n) + 3.0


def low_rank(n=40, d=60, rank=8):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return X, X[:, 0] - X[:, 5] + 0.3 * rng.standard_normal(n)


def largest_alpha(X, y):
    return np.max(np.abs((X - X.mean(axis=0)).T @ (y - y.mean()))) / len(y)


def objective(model, X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    squares = weight @ (y - model.predict(X)) ** 2
    return squares / (2 * weight.sum()) + model.alpha * np.abs(model.coef_).sum()


def theirs(alpha, X, y, weight=None, **options):
    options = {"tol": 1e-13, "max_iter": 1_000_000, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the gap it asks for may be below its rounding
        return sklearn.linear_model.Lasso(alpha, **options).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("load", [abalone, cal_housing, leu, data])
@pytest.mark.parametrize("part", [0.5, 0.1, 0.02])
def test_coefficients_are_scikit_learns(load, part):
    X, y = load()
    alpha = part * largest_alpha(X, y)
    ours, reference = Lasso(alpha, **EXACT).fit(X, y), theirs(alpha, X, y)
    size = np.max(np.abs(reference.coef_))
    np.testing.assert_allclose(ours.coef_, reference.coef_, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(ours.intercept_, reference.intercept_, rtol=1e-8, atol=1e-8 * size)
    np.testing.assert_allclose(ours.predict(X), reference.predict(X), rtol=0, atol=1e-8 * y.std())
    assert np.array_equal(ours.coef_ != 0, np.abs(reference.coef_) > 1e-10 * size)
    assert ours.converged_


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("part", [0.3, 0.01, 1e-4])
def test_dependent_features_have_the_same_objective_and_predictions(positive, fit_intercept, part):
    X, y = low_rank()
    X = np.hstack([X, X[:, :3], np.zeros((len(X), 1)), np.full((len(X), 1), 7.0)])
    alpha = part * largest_alpha(X, y)
    options = {"positive": positive, "fit_intercept": fit_intercept}
    ours = Lasso(alpha, **options, **EXACT).fit(X, y)
    reference = theirs(alpha, X, y, tol=1e-10, max_iter=100_000, **options)
    assert objective(ours, X, y) <= objective(reference, X, y) + 1e-12 * y.var()
    np.testing.assert_allclose(ours.predict(X), reference.predict(X), atol=1e-3 * y.std())
    assert ours.certificate_.optimal
    assert not positive or np.all(ours.coef_ >= 0)


@pytest.mark.parametrize("seed", range(40))
def test_the_gap_closes_on_every_shape(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 30), rng.integers(1, 50)
    X = rng.standard_normal((n, d))
    if seed % 4 == 1:
        X = X[:, rng.integers(0, d, d)]  # features that are the same
    elif seed % 4 == 2:
        X = rng.integers(-1, 2, (n, d)).astype(float)  # ties
    elif seed % 4 == 3:
        X = X * 10.0 ** rng.integers(-3, 4, d) + 10  # scales
    y = X[:, 0] + rng.standard_normal(n)
    alpha = largest_alpha(X, y) * 10 ** -rng.uniform(0, 5) + 1e-12
    model = Lasso(alpha, tol=1e-12, positive=bool(seed % 3 == 0)).fit(X, y)
    assert abs(model.dual_gap_) <= 1e-12 * max(y.var(), 1e-300)
    reference = theirs(alpha, X, y, tol=1e-8, max_iter=20_000, positive=model.positive)
    assert objective(model, X, y) <= objective(reference, X, y) + 1e-11 * y.var()


@pytest.mark.parametrize("max_iter", [1, 3, 10, 1000])
def test_the_gap_bounds_what_could_still_be_gained(max_iter):
    X, y = leu()
    alpha = 0.05 * largest_alpha(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = Lasso(alpha, max_iter=max_iter).fit(X, y)
    best = objective(theirs(alpha, X, y), X, y)
    proof = model.certificate_
    assert proof.primal_objective == pytest.approx(objective(model, X, y), rel=1e-10)
    assert objective(model, X, y) - best <= model.dual_gap_ + 1e-12
    assert proof.dual_objective <= best + 1e-12
    assert model.dual_gap_ == pytest.approx(proof.duality_gap, abs=1e-12)
    assert model.converged_ == proof.optimal == (model.dual_gap_ <= model.tol * y.var())


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_optimality_conditions(container):
    X, y = data(30, 50)
    model = Lasso(0.05, **EXACT).fit(container(X), y)
    residual = y - model.predict(X)
    slope = (X - X.mean(axis=0)).T @ residual / len(y)
    assert abs(residual.mean()) < 1e-12
    assert np.max(np.abs(slope)) <= model.alpha * (1 + 1e-9)
    in_use = model.coef_ != 0
    np.testing.assert_allclose(slope[in_use], model.alpha * np.sign(model.coef_[in_use]))
    assert model.certificate_.kkt_violation < 1e-9
    assert model.certificate_.n_free == in_use.sum()


def test_orthogonal_features_are_thresholded_softly():
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.standard_normal((40, 6)))[0] * np.sqrt(40)
    y = rng.standard_normal(40)
    least_squares = X.T @ y / 40
    expected = np.sign(least_squares) * np.maximum(np.abs(least_squares) - 0.1, 0)
    model = Lasso(0.1, fit_intercept=False, **EXACT).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-12)
    assert model.intercept_ == 0.0


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_weight_of_two_is_the_row_twice_and_zero_is_no_row(container):
    X, y = data(40, 60)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = Lasso(0.1, **EXACT).fit(container(X), y, weight)
    repeated = Lasso(0.1, **EXACT).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_)
    reference = theirs(0.1, X, y, weight)
    np.testing.assert_allclose(weighted.coef_, reference.coef_, atol=1e-8)
    np.testing.assert_allclose(
        weighted.certificate_.primal_objective, objective(weighted, X, y, weight)
    )


@pytest.mark.parametrize("way", [sparse.csr_array, sparse.csc_matrix, sparse.coo_matrix])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sparse_is_dense(way, fit_intercept):
    X, y = data(50, 80)
    X[np.abs(X) < 1.0] = 0.0
    dense = Lasso(0.05, fit_intercept=fit_intercept, **EXACT).fit(X, y)
    stored = Lasso(0.05, fit_intercept=fit_intercept, **EXACT).fit(way(X), y)
    np.testing.assert_allclose(stored.coef_, dense.coef_, atol=1e-9)
    np.testing.assert_allclose(stored.intercept_, dense.intercept_)
    np.testing.assert_allclose(stored.predict(way(X)), dense.predict(X))
    assert sparse.issparse(stored.sparse_coef_)
    np.testing.assert_array_equal(stored.sparse_coef_.toarray(), [stored.coef_])


def test_coordinate_descent_alone_ends_at_the_same_point(monkeypatch):
    """As it does where too many features are in use for a working set."""
    X, y = data(100, 30)
    expected = Lasso(0.01, **EXACT).fit(X, y)
    monkeypatch.setattr(coordinate_descent, "LARGEST", 0)
    for container in (np.asarray, sparse.csr_array):
        model = Lasso(0.01, tol=1e-12).fit(container(X), y)
        assert model.converged_
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)


@pytest.mark.parametrize("load", [leu, low_rank])
def test_features_exchanged_one_by_one_end_at_the_same_point(load, monkeypatch):
    X, y = load()
    alpha = 0.01 * largest_alpha(X, y)
    expected = Lasso(alpha, **EXACT).fit(X, y)
    monkeypatch.setattr(coordinate_descent, "FAR", 0.0)  # no coordinate descent,
    monkeypatch.setattr(coordinate_descent, "FEW", 0)  # no sign may be wrong,
    monkeypatch.setattr(coordinate_descent, "FEW_SHARE", 0.0)
    monkeypatch.setattr(coordinate_descent, "SHORTEST", 1.0)  # and no smaller strides
    model = Lasso(alpha, **EXACT).fit(X, y)
    assert model.converged_
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-6)


def test_a_working_set_that_is_full_begins_anew(monkeypatch):
    X, y = leu()
    expected = Lasso().path(X, y, n_alphas=20)
    monkeypatch.setattr(coordinate_descent, "LARGEST", 180)
    path = Lasso().path(X, y, n_alphas=20)
    np.testing.assert_allclose(path.coefs, expected.coefs, atol=1e-2)
    assert np.all(path.dual_gaps <= 1e-4 * y.var())


def test_several_targets_are_separate_problems():
    X, y = data()
    Y = np.column_stack([y, -2 * y + X[:, 3], np.full(len(y), 0.1)])
    together = Lasso(0.1, **EXACT).fit(X, Y)
    for k in range(3):
        alone = Lasso(0.1, **EXACT).fit(X, Y[:, k])
        np.testing.assert_allclose(together.coef_[k], alone.coef_, atol=1e-10)
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-10)
    assert together.dual_gap_.shape == (3,)
    assert len(together.n_iter_) == len(together.certificate_.parts) == 3
    assert not np.any(together.coef_[2])
    assert together.intercept_[2] == pytest.approx(0.1)


@pytest.mark.parametrize("load", [leu, low_rank, abalone])
def test_a_path_is_its_separate_fits(load):
    X, y = load()
    weight = np.random.default_rng(0).choice([1.0, 2.0, 0.0], len(y))
    path = Lasso(**EXACT).path(X, y, n_alphas=30, eps=1e-3, sample_weight=weight)
    assert path.coefs.shape == (30, X.shape[1])
    assert not np.any(path.coefs[0])
    assert np.any(path.coefs[1])
    np.testing.assert_allclose(path.alphas[-1], 1e-3 * path.alphas[0])
    assert np.all(np.diff(path.alphas) < 0)
    for alpha, coef, intercept, gap in zip(*path, strict=True):
        model = Lasso(alpha, **EXACT).fit(X, y, weight)
        predicted = X @ coef + intercept
        np.testing.assert_allclose(predicted, model.predict(X), atol=1e-6 * y.std())
        assert abs(gap) <= 1e-12 * y.var()


def test_a_path_takes_its_alphas_in_decreasing_order_and_leaves_the_estimator_alone():
    X, y = data()
    model = Lasso(0.3).fit(X, y)
    before = dict(vars(model))
    path = model.path(X, y, alphas=[0.1, 1.0, 0.5])
    assert path.alphas.tolist() == [1.0, 0.5, 0.1]
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    for options in ({"alphas": [0.1, 0.0]}, {"n_alphas": 0}, {"eps": 0.0}, {"eps": 2.0}):
        with pytest.raises(ValueError, match=f"Lasso: {next(iter(options))} must be"):
            Lasso().path(X, y, **options)
    constant = Lasso().path(X, np.full(len(y), 0.1), n_alphas=3)
    assert not np.any(constant.coefs)


def test_from_the_largest_alpha_on_all_weights_are_exactly_zero():
    X, y = data()
    largest = largest_alpha(X, y)
    for alpha in (largest * (1 + 1e-12), 2 * largest, 1e300):
        model = Lasso(alpha).fit(X, y)
        assert not np.any(model.coef_)
        assert model.intercept_ == pytest.approx(y.mean())
        assert model.dual_gap_ == pytest.approx(0.0, abs=1e-14)
    assert np.any(Lasso(0.999 * largest, **EXACT).fit(X, y).coef_)
    constant = Lasso(1e-3).fit(X, np.full(len(y), 0.1))
    assert not np.any(constant.coef_)
    assert constant.converged_


def test_alpha_zero_is_least_squares_and_says_so():
    X, y = data()
    with pytest.warns(UserWarning, match="alpha=0 is least squares"):
        model = Lasso(0.0).fit(X, y)
    expected = sklearn.linear_model.LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-7)
    assert model.converged_
    X, y = low_rank(10, 30)
    with pytest.warns(UserWarning, match="smallest"):
        shortest = Lasso(0.0, **EXACT).fit(X, y)
    expected = sklearn.linear_model.LinearRegression().fit(X, y)
    np.testing.assert_allclose(shortest.predict(X), expected.predict(X), atol=1e-6)
    assert np.abs(shortest.coef_).sum() < np.abs(expected.coef_).sum()


def test_a_warm_start_ends_where_a_cold_one_does():
    X, y = leu()
    alpha = 0.1 * largest_alpha(X, y)
    cold = Lasso(alpha, **EXACT).fit(X, y)
    warm = Lasso(1.2 * alpha, warm_start=True, **EXACT).fit(X, y).set_params(alpha=alpha).fit(X, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-9)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.fit(X, y).n_iter_ == 1
    warm.coef_ = np.random.default_rng(0).standard_normal(X.shape[1]) / 100  # nowhere near
    np.testing.assert_allclose(warm.fit(X, y).coef_, cold.coef_, atol=1e-9)
    assert warm.fit(X[:, :5], y).coef_.shape == (5,)
    begun = Lasso(alpha, warm_start=True, **EXACT)
    begun.coef_ = cold.coef_  # before any fit
    assert begun.fit(X, y).n_iter_ == 1
    begun.coef_ = np.eye(1, X.shape[1], dtype=int)[0]
    np.testing.assert_allclose(begun.fit(X, y).coef_, cold.coef_, atol=1e-9)


def test_stopping_early_is_said_with_the_gap():
    X, y = leu()
    alpha = 0.01 * largest_alpha(X, y)
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=1: duality gap \d\.\de-\d\d, .*tol=1e-04"
    ):
        model = Lasso(alpha, max_iter=1).fit(X, y)
    assert not model.converged_
    assert not model.certificate_.optimal
    assert model.dual_gap_ > 1e-4 * y.var()
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        Lasso(max_iter=1).path(X, y, n_alphas=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "Lasso: alpha must be a number of at least 0, got -1."),
        ({"max_iter": 0}, "Lasso: max_iter must be a whole number of at least 1, got 0."),
        ({"tol": np.inf}, "Lasso: tol must be a number of at least 0, got inf."),
        ({"positive": 1}, "Lasso: positive must be True or False, got 1."),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y = data()
    model = Lasso().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError) as error:
        model.set_params(**options).fit(X, y)
    assert str(error.value) == message
    assert model.coef_ is before["coef_"]
    assert vars(model).keys() == before.keys()
    with pytest.raises(ValueError, match="overflow"):
        Lasso().fit(X * 1e200, y * 1e200)


def test_large_offsets_cost_no_digits():
    X, y = data()
    plain = Lasso(0.1, **EXACT).fit(X, y)
    shifted = Lasso(0.1, **EXACT).fit(X + 1e6, y - 1e6)
    np.testing.assert_allclose(shifted.coef_, plain.coef_, atol=1e-7)
    assert shifted.converged_
    zero_tol = Lasso(0.1, tol=0).fit(X, y)
    assert zero_tol.converged_


def test_ends_on_columns_that_hardly_differ_from_their_means():
    rng = np.random.default_rng(0)
    X = 1e8 * rng.normal(size=8) + np.outer(rng.normal(size=39), rng.normal(size=8))
    y = 1.0 + 0.1 * rng.normal(size=39)
    for stored in (X, sparse.csr_array(X)):
        model = Lasso(alpha=5e-4, positive=True, tol=1e-3).fit(stored, y)
        assert np.all(model.coef_ >= 0)
