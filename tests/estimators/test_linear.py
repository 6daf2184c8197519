"""LinearRegression and Ridge against scikit-learn, SciPy and their own duality gap."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from regression_data import abalone, cal_housing, leu
from scipy import linalg, optimize, sparse

from maxmargin.errors import ConvergenceWarning, RankWarning
from maxmargin.estimators.linear import LinearRegression, Ridge
from maxmargin.problems.nonnegative import NonNegativeProblem
from maxmargin.solvers import closed_form, nonnegative

ALPHAS = [1e-6, 1e-2, 1.0, 1e3]
DATA_SETS = [abalone, cal_housing, leu]


def random_data(n=120, d=7, targets=None, seed=0, shift=3.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.1, 10, d) + shift
    X[rng.random((n, d)) < 0.5] = 0.0
    shape = (n,) if targets is None else (n, targets)
    return X, rng.standard_normal(shape) + X[:, :1].reshape(-1, *([1] * (targets is not None)))


def dependent_data():
    """A constant column, a doubled one, and one that is the sum of two others."""
    X, y = random_data(d=5)
    return np.column_stack([X, np.full(len(X), 0.1), X[:, 0], X[:, 1] + X[:, 2]]), y


def augmented(X, y, alpha, fit_intercept):
    """Ridge as least squares with sqrt(alpha) I below A: an oracle that squares nothing."""
    mean, offset = (X.mean(axis=0), y.mean()) if fit_intercept else (0.0 * X[0], 0.0)
    A = np.vstack([X - mean, np.sqrt(alpha) * np.eye(X.shape[1])])
    w = linalg.lstsq(A, np.append(y - offset, np.zeros(X.shape[1])))[0]
    return w, offset - mean @ w


def assert_same_model(ours, theirs, X, tol=1e-8):
    """Coefficients relative to the largest, predictions to the spread of the targets."""
    largest = np.max(np.abs(theirs.coef_))
    assert np.shape(ours.coef_) == np.shape(theirs.coef_)
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=tol * largest)
    expected = theirs.predict(X)
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(ours.predict(X), expected, rtol=0, atol=tol * scale)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("load", [abalone, cal_housing])
def test_least_squares_is_scikit_learns(load, fit_intercept):
    X, y = load()
    ours = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    theirs = sklearn.linear_model.LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    assert_same_model(ours, theirs, X)
    assert ours.rank_ == X.shape[1]
    np.testing.assert_allclose(ours.singular_, theirs.singular_, rtol=1e-10)


@pytest.mark.parametrize(("load", "rank"), [(leu, 37), (dependent_data, 5)])
def test_without_a_unique_answer_the_smallest_is_taken_and_said_so(load, rank):
    X, y = load()
    words = rf"^LinearRegression: X has rank {rank}, fewer than its {X.shape[1]} columns"
    with pytest.warns(RankWarning, match=words + ".*smallest norm was taken"):
        ours = LinearRegression().fit(X, y)
    assert ours.rank_ == rank
    A = X - X.mean(axis=0)
    smallest = linalg.pinv(A, rtol=1e-10) @ (y - y.mean())
    largest = np.max(np.abs(smallest))
    np.testing.assert_allclose(ours.coef_, smallest, rtol=0, atol=1e-8 * largest)
    assert_same_model(ours, sklearn.linear_model.LinearRegression().fit(X, y), X)


def test_columns_that_do_not_vary_get_no_weight():
    X = np.full((50, 2), 0.1)
    y = np.random.default_rng(0).standard_normal(50)
    weight = np.random.default_rng(1).random(50)
    for container in (np.asarray, sparse.csr_array):
        with pytest.warns(RankWarning, match="rank 0"):
            model = LinearRegression().fit(container(X), y, weight)
        assert not np.any(model.coef_)
        assert not np.any(Ridge(alpha=1e-30).fit(container(X), y, weight).coef_)


def test_data_far_from_the_origin_keep_their_digits():
    X, y = random_data()
    X = np.round(X * 1024) / 1024  # so that the shift itself is exact
    near, far = (LinearRegression().fit(X + shift, y) for shift in (0.0, 2.0**30))
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-10)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("load", DATA_SETS)
def test_ridge_is_scikit_learns_and_certified(load, alpha):
    X, y = load()
    ours = Ridge(alpha).fit(X, y)
    theirs = sklearn.linear_model.Ridge(alpha, solver="svd").fit(X, y)
    assert_same_model(ours, theirs, X)
    assert ours.certificate_.optimal
    assert abs(ours.certificate_.relative_gap) < 1e-10


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("solver", ["primal", "dual", "svd", "lsmr"])
@pytest.mark.parametrize("make", [random_data, dependent_data, lambda: random_data(30, 80)])
def test_every_way_to_ridge_leads_to_the_same_answer(make, solver, alpha, fit_intercept):
    X, y = make()
    options = {"alpha": alpha, "fit_intercept": fit_intercept}
    theirs = sklearn.linear_model.Ridge(solver="svd", **options).fit(X, y)
    theirs.coef_, theirs.intercept_ = augmented(X, y, **options)  # theirs has 7 digits at 1e-6
    for container in (np.asarray, sparse.csr_array):
        ours = Ridge(solver=solver, **options).fit(container(X), y)
        assert_same_model(ours, theirs, X)
        assert ours.certificate_.optimal


@pytest.mark.parametrize(
    ("solver", "used"),
    [
        ("cholesky", "primal"),
        ("svd", "svd"),
        ("lsqr", "lsmr"),
        ("sparse_cg", "lsmr"),
        ("sag", "primal"),
        ("saga", "primal"),
    ],
)
def test_scikit_learns_solvers_have_their_names_here_and_the_limit_is_theirs(solver, used):
    X, y = random_data(shift=0.0, targets=2)
    X /= np.std(X, axis=0)
    ours = Ridge(3.0, solver=solver, random_state=0).fit(X, y)
    theirs = sklearn.linear_model.Ridge(
        3.0, solver=solver, tol=1e-12, max_iter=100_000, random_state=0
    ).fit(X, y)
    assert_same_model(ours, theirs, X, tol=1e-7)
    assert ours.solver_ == used
    assert (ours.n_iter_ is None) == (used != "lsmr")
    assert Ridge(3.0, solver="cholesky").fit(X[:5], y[:5]).solver_ == "dual"


def test_iterations_are_counted_and_end_where_asked():
    X, y = random_data(targets=2)
    with pytest.warns(ConvergenceWarning, match="^LSMR stopped after 2 iterations"):
        model = Ridge(solver="lsqr", max_iter=2).fit(X, y)
    np.testing.assert_array_equal(model.n_iter_, [2, 2])
    assert not model.certificate_.optimal


def nonnegative_oracle(X, y, weight, alpha, fit_intercept):
    """scipy's nnls, of ridge as least squares on more rows."""
    mean, offset = np.zeros(X.shape[1]), 0.0
    if fit_intercept:
        mean, offset = weight @ X / weight.sum(), weight @ y / weight.sum()
    root = np.sqrt(weight)
    A = np.vstack([(X - mean) * root[:, None], np.sqrt(alpha) * np.eye(X.shape[1])])
    w, _ = optimize.nnls(A, np.append((y - offset) * root, np.zeros(X.shape[1])))
    return w, offset - mean @ w


NONNEGATIVE = {
    "tall": lambda: random_data(300, 40),
    "few in use": lambda: random_data(200, 60, shift=0.0),
    "wide": lambda: random_data(20, 60),
    "dependent": dependent_data,
    "of all sizes": lambda: (random_data()[0] * 10.0 ** np.arange(-6, 8, 2), random_data()[1]),
    "nothing in use": lambda: (np.arange(9.0)[:, None], -np.arange(9.0)),
    "constant columns": lambda: (np.ones((9, 2)), np.arange(9.0)),
}


def value(model, X, y, weight, alpha):
    return weight @ (y - model.predict(X)) ** 2 + alpha * model.coef_ @ model.coef_


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 2.0])
@pytest.mark.parametrize("case", NONNEGATIVE)
def test_weights_that_must_not_be_negative_are_the_best_such(case, alpha, fit_intercept, container):
    X, y = NONNEGATIVE[case]()
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    model = Ridge(alpha, positive=True, fit_intercept=fit_intercept)
    model.fit(container(X), y, weight)
    assert model.certificate_.optimal
    assert np.all(model.coef_ >= 0)
    theirs = sklearn.linear_model.Ridge(alpha)
    theirs.n_features_in_ = X.shape[1]
    theirs.coef_, theirs.intercept_ = nonnegative_oracle(X, y, weight, alpha, fit_intercept)
    best = value(theirs, X, y, weight, alpha)
    np.testing.assert_allclose(value(model, X, y, weight, alpha), best, rtol=1e-9, atol=1e-18)
    if alpha > 0 or case not in ("wide", "dependent", "constant columns"):  # the best is one
        assert_same_model(model, theirs, X)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("targets", [None, 1, 3])
def test_least_squares_without_negative_weights_are_scikit_learns(targets, fit_intercept):
    X, y = random_data(targets=targets)
    options = {"positive": True, "fit_intercept": fit_intercept}
    ours = LinearRegression(**options).fit(X, y)
    assert_same_model(ours, sklearn.linear_model.LinearRegression(**options).fit(X, y), X)
    assert ours.rank_ is ours.singular_ is None
    assert ours.certificate_.optimal
    assert len(ours.certificate_.parts) == (3 if targets == 3 else 0)
    ridge = Ridge(0.0, **options).fit(X, y)
    np.testing.assert_array_equal(ridge.coef_.ravel(), ours.coef_.ravel())
    assert LinearRegression().fit(X, y).certificate_ is None


def test_ridge_without_negative_weights_is_scikit_learns():
    X, y = random_data(targets=2)
    ours = Ridge([0.5, 4.0], positive=True, solver="lbfgs").fit(X, y)
    alphas = np.array([0.5, 4.0])
    theirs = sklearn.linear_model.Ridge(alphas, positive=True, tol=1e-12).fit(X, y)
    assert_same_model(ours, theirs, X, tol=1e-5)  # L-BFGS ends no nearer
    path = Ridge(positive=True).path(X, y, [0.5, 4.0])
    np.testing.assert_allclose(path.coefs[0][0], ours.coef_[0])
    np.testing.assert_allclose(path.coefs[1][1], ours.coef_[1])


def test_both_searches_for_the_weights_in_use_find_them(monkeypatch):
    X, y = random_data(300, 40)
    fast = LinearRegression(positive=True).fit(X, y)
    monkeypatch.setattr(nonnegative, "EXCHANGES", 0)
    sure = LinearRegression(positive=True).fit(X, y)
    np.testing.assert_allclose(sure.coef_, fast.coef_, rtol=1e-10)
    assert sure.certificate_.optimal


def test_a_certificate_refuses_weights_that_are_not_the_best():
    X, y = random_data()
    A, B = (closed_form.Centred(v, np.ones(len(y)), True) for v in (X, y[:, None]))
    problem = NonNegativeProblem(A, B.rows[:, 0], 1.0, nonnegative.Products(A))
    w = Ridge(1.0, positive=True).fit(X, y).coef_
    assert problem.certify(w).optimal
    assert problem.certify(w).duality_gap == pytest.approx(0.0, abs=1e-9)
    assert not problem.certify(1.001 * w).optimal  # some slopes are not zero
    assert not problem.certify(np.zeros_like(w)).optimal  # some are positive
    assert not problem.certify(Ridge(1.0).fit(X, y).coef_).optimal  # some weights are negative


def test_the_objective_is_the_one_of_the_docstring():
    X, y = random_data()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    model = Ridge(alpha=3.0).fit(X, y, weight)

    def objective(w, b):
        return weight @ (y - X @ w - b) ** 2 + 3.0 * w @ w

    best = objective(model.coef_, model.intercept_)
    assert model.certificate_.primal_objective == pytest.approx(best / (2 * 3.0))
    rng = np.random.default_rng(2)
    for _ in range(20):
        step = 1e-3 * rng.standard_normal(X.shape[1] + 1)
        assert objective(model.coef_ + step[:-1], model.intercept_ + step[-1]) > best


def test_scaling_of_lambda_in_the_texts():
    X, y = random_data(shift=0.0)
    n, d = X.shape
    gram, slope = X.T @ X / n, X.T @ y / n
    divided = linalg.solve(gram + 5.0 / n * np.eye(d), slope)  # 1/(2n) |y-Xw|^2 + 5/(2n) |w|^2
    plain = linalg.solve(gram + 0.05 * np.eye(d), slope)  # 1/(2n) |y-Xw|^2 + 0.05/2 |w|^2
    options = {"fit_intercept": False}
    np.testing.assert_allclose(Ridge(5.0, **options).fit(X, y).coef_, divided, rtol=1e-9)
    np.testing.assert_allclose(Ridge(0.05 * n, **options).fit(X, y).coef_, plain, rtol=1e-9)


def test_ridge_without_penalty_is_least_squares():
    X, y = random_data()
    for solver in ("auto", "primal"):
        model = Ridge(alpha=0, solver=solver).fit(X, y)
        assert_same_model(model, LinearRegression().fit(X, y), X)
        assert model.certificate_ is None
    X, y = dependent_data()
    for solver in ("auto", "primal", "dual"):
        with pytest.warns(RankWarning, match="^Ridge: X has rank 5, fewer than its 8 columns"):
            ridge = Ridge(alpha=0, solver=solver).fit(X, y)
        with pytest.warns(RankWarning):
            assert_same_model(ridge, LinearRegression().fit(X, y), X)


@pytest.mark.filterwarnings("ignore::maxmargin.errors.RankWarning")  # of alpha = 0
@pytest.mark.parametrize("alpha", [1e-20, 1e-40, 1e-160, 1e-200, 1e-308, 5e-324])
@pytest.mark.parametrize("shape", [(50, 4), (10, 30)])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_an_alpha_too_small_to_prove_anything_proves_nothing(alpha, shape, noise):
    """The answer is that of least squares, and so is what is said of it: no claim either way."""
    random = np.random.default_rng(0)
    X = random.normal(size=shape)
    y = X @ np.arange(shape[1]) + noise * random.normal(size=shape[0])
    model = Ridge(alpha).fit(X, y)
    np.testing.assert_allclose(model.coef_, Ridge(0.0).fit(X, y).coef_, rtol=1e-9, atol=1e-12)
    assert model.certificate_ is None or model.certificate_.optimal
    if alpha <= 1e-40:
        assert model.certificate_ is None


@pytest.mark.parametrize("alpha", [1e-10, 1e-3, 1.0])
def test_a_wrong_answer_is_still_not_certified(alpha):
    random = np.random.default_rng(0)
    X, weight = random.normal(size=(50, 4)), np.ones(50)
    A, B = closed_form.Centred(X, weight, False), (X @ np.arange(4.0) + 0.1)[:, None]
    w, u, *_ = closed_form.ridge(A, B, np.array([alpha]))
    assert closed_form.certify_ridge(A, B, w, u, np.array([alpha])).optimal
    assert not closed_form.certify_ridge(A, B, 1.001 * w, u, np.array([alpha])).optimal


def test_ill_conditioned_columns_do_not_cost_digits():
    t = np.linspace(0, 1, 60)
    X, y = np.vander(t, 9, increasing=True)[:, 1:], np.sin(6 * t)
    for alpha in (1e-12, 1e-8, 1e-3):
        theirs = sklearn.linear_model.Ridge(alpha, solver="svd").fit(X, y)
        for solver in ("auto", "primal", "dual"):
            assert_same_model(Ridge(alpha, solver=solver).fit(X, y), theirs, X, 1e-7)


@pytest.mark.parametrize(
    ("load", "fit_intercept"), [(abalone, False), (cal_housing, True), (leu, True)]
)
def test_a_path_is_its_separate_fits(load, fit_intercept):
    X, y = load()
    model = Ridge(fit_intercept=fit_intercept)
    path = model.path(X, y, ALPHAS)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")
    assert path.coefs.shape == (len(ALPHAS), X.shape[1])
    for alpha, coef, intercept in zip(path.alphas, path.coefs, path.intercepts, strict=True):
        single = Ridge(alpha, fit_intercept=fit_intercept).fit(X, y)
        largest = np.max(np.abs(single.coef_))
        np.testing.assert_allclose(coef, single.coef_, rtol=0, atol=1e-8 * largest)
        assert intercept == pytest.approx(single.intercept_, rel=1e-8, abs=1e-8)


def test_a_path_of_several_targets_with_weights():
    X, y = random_data(targets=3)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    path = Ridge().path(sparse.csr_array(X), y, [0.0, 2.0], weight)
    assert path.coefs.shape == (2, 3, X.shape[1])
    assert path.intercepts.shape == (2, 3)
    for k, model in enumerate([LinearRegression(), Ridge(2.0)]):
        model.fit(X, y, weight)
        np.testing.assert_allclose(path.coefs[k], model.coef_, rtol=1e-8)
        np.testing.assert_allclose(path.intercepts[k], model.intercept_, rtol=1e-8)
    with pytest.raises(ValueError, match=r"^Ridge: alphas must be a list of numbers .* got -1"):
        Ridge().path(X, y, -1)
    with pytest.warns(RankWarning, match="^Ridge: X has rank 5"):
        Ridge().path(*dependent_data(), [0.0])


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), Ridge(np.array([0.1, 1.0, 30.0]))])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.coo_array])
def test_several_targets_are_several_models(model, container):
    X, y = random_data(targets=3)
    theirs = getattr(sklearn.linear_model, type(model).__name__)()
    known = theirs.get_params()
    theirs.set_params(**{key: one for key, one in model.get_params().items() if key in known})
    theirs = theirs if "alpha" not in model.get_params() else theirs.set_params(solver="svd")
    model.fit(container(X), y)
    assert_same_model(model, theirs.fit(X, y), X)
    if isinstance(model, Ridge):
        assert len(model.certificate_.parts) == 3
        assert model.certificate_.optimal


@pytest.mark.parametrize(
    "model",
    [LinearRegression(), Ridge(0.5, solver="primal"), Ridge(0.5, solver="dual"), Ridge(1e-9)],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_weight_of_two_is_the_row_twice(model, container):
    X, y = random_data()
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    X[weight == 0] *= 1e6  # a row that does not count may hold anything
    repeated = model.fit(container(np.repeat(X, weight, axis=0)), np.repeat(y, weight))
    coef, intercept = repeated.coef_, repeated.intercept_
    weighted = model.fit(container(X), y, weight)
    np.testing.assert_allclose(weighted.coef_, coef, rtol=1e-10, atol=1e-12)
    assert weighted.intercept_ == pytest.approx(intercept, rel=1e-10)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(200, 30), (30, 200)])
def test_large_sparse_data_are_iterated_to_the_same_answer(shape, fit_intercept, monkeypatch):
    X, y = random_data(*shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        dense = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    monkeypatch.setattr(closed_form, "MOST_WORK", 0)
    monkeypatch.setattr(closed_form, "LARGEST", 0)
    stored = LinearRegression(fit_intercept=fit_intercept).fit(sparse.csr_array(X), y)
    assert stored.rank_ is stored.singular_ is None
    assert_same_model(stored, dense, X)
    ridge = Ridge(0.1, fit_intercept=fit_intercept)
    path = ridge.path(sparse.csr_array(X), y, [0.1])
    assert_same_model(ridge.fit(sparse.csr_array(X), y), Ridge(0.1, **{
        "fit_intercept": fit_intercept}).fit(X, y), X)  # fmt: skip
    np.testing.assert_allclose(path.coefs[0], ridge.coef_)
    assert ridge.certificate_.optimal


def test_rows_and_columns_are_factorised_in_pieces():
    tall, y = random_data(10_000, 5)
    theirs = sklearn.linear_model.LinearRegression().fit(tall, y)
    assert_same_model(LinearRegression().fit(sparse.csr_array(tall), y), theirs, tall)
    wide, y = random_data(5, 10_000)
    theirs = sklearn.linear_model.LinearRegression(fit_intercept=False).fit(wide, y)
    with pytest.warns(RankWarning, match="rank 5, fewer than its 10000"):
        ours = LinearRegression(fit_intercept=False).fit(sparse.csr_array(wide), y)
    assert_same_model(ours, theirs, wide)


def test_an_iteration_that_takes_too_long_is_reported():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 300)) * 10.0 ** np.linspace(-9, 9, 300)
    with pytest.warns(ConvergenceWarning, match=r"^LSMR stopped after 10000 iterations"):
        Ridge(1e-30, solver="lsmr").fit(X, rng.standard_normal(400))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": -1}, r"^Ridge: alpha must be a number of at least 0, or one per target, got -1"),
        ({"alpha": np.inf}, r"^Ridge: alpha must be .* got inf"),
        ({"alpha": [1.0, 2.0]}, r"^Ridge: alpha must be .* got 2 numbers for 1 targets"),
        ({"alpha": "1"}, r"^Ridge: alpha must be .* got '1'"),
        ({"solver": "qr"}, r"^Ridge: solver must be 'auto', 'primal', .* or 'lbfgs', got 'qr'"),
        (
            {"solver": "lbfgs"},
            r"^Ridge: solver must be another one for positive=False, got 'lbfgs'",
        ),
        (
            {"solver": "svd", "positive": True},
            r"^Ridge: solver must be 'auto' or 'lbfgs' for positive=True, got 'svd'",
        ),
        ({"max_iter": 0}, r"^Ridge: max_iter must be None or a whole number of at least 1, got 0"),
        ({"fit_intercept": 1}, r"^Ridge: fit_intercept must be True or False, got 1"),
    ],
)
def test_errors_say_what_was_expected_and_leave_the_model_alone(options, words):
    X, y = random_data()
    model = Ridge().fit(X, y)
    before = model.coef_
    with pytest.raises(ValueError, match=words):
        model.set_params(**options).fit(X[:, :3], y)
    assert model.coef_ is before
    assert model.n_features_in_ == X.shape[1]


def test_single_precision_is_computed_in_double():
    X, y = random_data()
    X32 = X.astype(np.float32)
    model = LinearRegression().fit(X32, y.astype(np.float32))
    same = LinearRegression().fit(X32.astype(np.float64), y.astype(np.float32).astype(np.float64))
    assert model.coef_.dtype == np.float64
    np.testing.assert_array_equal(model.coef_, same.coef_)
