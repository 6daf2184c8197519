"""KernelRidge against scikit-learn, ridge on explicit features, and its two solvers."""

import numpy as np
import pytest
import sklearn.kernel_ridge
from regression_data import abalone, cal_housing, leu
from scipy import linalg, sparse
from sklearn.model_selection import GridSearchCV

from maxmargin import kernels
from maxmargin.errors import ConvergenceWarning, KernelError, MercerWarning, RankWarning
from maxmargin.estimators.kernel_ridge import KernelRidge
from maxmargin.estimators.linear import Ridge
from maxmargin.solvers import kernel_system

NAMED = [
    {"kernel": "linear"},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.5},
    {"kernel": "poly", "degree": 2, "coef0": 0.5},
    {"kernel": "polynomial"},
    {"kernel": "laplacian", "gamma": 0.2},
]


def part_of(load, n=2000):
    X, y = load()
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    return X[rows], (y[rows] - y[rows].mean()) / y[rows].std()


def random_data(n=90, d=4, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.4] = 0.0
    y = np.sin(X.sum(axis=1))
    if targets is None:
        return X, y + 0.1 * rng.standard_normal(n)
    return X, y[:, None] + 0.1 * rng.standard_normal((n, targets))


def assert_close(ours, theirs, tol=1e-8):
    """Relative to the largest."""
    assert np.shape(ours) == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tol * np.max(np.abs(theirs)))


@pytest.mark.parametrize("load", [abalone, cal_housing, leu])
@pytest.mark.parametrize("options", NAMED, ids=lambda options: "-".join(map(str, options.values())))
def test_equals_scikit_learns(load, options):
    X, y = part_of(load, 500)
    ours = KernelRidge(alpha=0.3, **options).fit(X, y)
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=0.3, **options).fit(X, y)
    assert_close(ours.dual_coef_, theirs.dual_coef_)
    assert_close(ours.predict(X), theirs.predict(X))
    assert ours.n_iter_ == 1


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "polynomial", "degree": 2},
        {"kernel": "polynomial", "degree": None, "coef0": None},
        {"kernel": "laplacian"},
        {"kernel": "cosine"},
    ],
    ids=str,
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_names_of_pairwise_kernels_are_scikit_learns(options, container):
    X, y = random_data()
    X[3] = 0.0  # which has the cosine 0 with every row, itself included
    ours = KernelRidge(alpha=0.3, **options).fit(container(X), y)
    options = {name: value for name, value in options.items() if value is not None}
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=0.3, **options).fit(X, y)
    assert_close(ours.dual_coef_, theirs.dual_coef_)
    assert_close(ours.predict(container(X)), theirs.predict(X))


def test_two_thousand_houses():
    X, y = part_of(cal_housing)
    ours = KernelRidge(alpha=0.1, kernel="rbf").fit(X, y)
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=0.1, kernel="rbf").fit(X, y)
    assert_close(ours.dual_coef_, theirs.dual_coef_)
    assert_close(ours.predict(X), theirs.predict(X))


def test_an_indefinite_kernel_is_solved_as_it_stands_and_said_so():
    X, y = random_data()
    options = {"alpha": 0.3, "kernel": "sigmoid", "gamma": 2.0}
    with pytest.warns(MercerWarning, match="violates Mercer's condition"):
        ours = KernelRidge(**options).fit(X, y)
    K = np.tanh(2.0 * X @ X.T + 1)
    assert_close(ours.dual_coef_, linalg.solve(K + 0.3 * np.eye(len(X)), y))


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize(
    "kernel",
    [kernels.Linear(), kernels.Polynomial(2, 0.5, 1.0), 2 * kernels.Linear() ** 2],
    ids=str,
)
def test_equals_ridge_on_the_explicit_features(kernel, alpha):
    X, y = random_data()
    Z, _ = random_data(40, seed=1)
    with_kernel = KernelRidge(alpha=alpha, kernel=kernel).fit(X, y)
    features = Ridge(alpha=alpha, fit_intercept=False).fit(kernel.feature_map(X), y)
    assert_close(with_kernel.predict(Z), features.predict(kernel.feature_map(Z)))
    assert_close(kernel.feature_map(X).T @ with_kernel.dual_coef_, features.coef_, 1e-7)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("options", NAMED, ids=lambda options: "-".join(map(str, options.values())))
def test_conjugate_gradients_equal_cholesky(options, container):
    X, y = random_data(200, targets=2)
    weight = np.random.default_rng(0).uniform(0, 2, len(X))
    options = {"alpha": [0.1, 1.0], **options}
    direct = KernelRidge(solver="cholesky", **options).fit(container(X), y, weight)
    options = {"solver": "cg", "tol": 1e-12, "memory_limit": 0.15, **options}  # of 30 pivots
    steps = KernelRidge(**options).fit(container(X), y, weight)
    assert_close(steps.dual_coef_, direct.dual_coef_)
    assert_close(steps.predict(X), direct.predict(X))


def test_conjugate_gradients_on_houses():
    X, y = part_of(cal_housing)
    direct = KernelRidge(alpha=0.01, kernel="rbf").fit(X, y)
    steps = KernelRidge(alpha=0.01, kernel="rbf", solver="cg").fit(X, y)
    K = kernels.RBF(1 / 8)(X)
    rest = y - K @ steps.dual_coef_ - 0.01 * steps.dual_coef_
    assert np.linalg.norm(rest) <= 1.01e-8 * np.linalg.norm(y)
    assert_close(steps.predict(X), direct.predict(X), 1e-7)
    assert 1 < steps.n_iter_ < 100


@pytest.mark.parametrize("factor", [1.0, 1e12])
@pytest.mark.parametrize("alpha", [1e-6, 1e-14])
def test_a_small_alpha_does_not_spoil_the_preconditioner(alpha, factor):
    """Divided by it, the rounding of what the large eigenvalues explain was larger than they."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 20)), rng.standard_normal(1000)
    kernel = factor * kernels.RBF(gamma=0.1)
    model = KernelRidge(alpha=alpha, kernel=kernel, solver="cg").fit(X, y)
    assert model.n_iter_ < 100
    rest = y - kernel(X) @ model.dual_coef_ - alpha * model.dual_coef_
    assert np.linalg.norm(rest) <= 1.01e-8 * np.linalg.norm(y)


def test_the_memory_limit_decides_between_the_two(monkeypatch):
    X, y = random_data(400)  # K has 1.22 MB
    calls = []
    monkeypatch.setattr(
        kernel_system.KernelSystem,
        "matrix",
        lambda system: calls.append(1) or kernels.RBF(0.25)(system.points.X),
    )
    above = KernelRidge(kernel="rbf", memory_limit=1.3).fit(X, y)
    assert calls == [1]
    below = KernelRidge(kernel="rbf", memory_limit=1.2).fit(X, y)
    assert calls == [1]
    assert_close(below.dual_coef_, above.dual_coef_, 1e-7)


def test_nothing_to_explain():
    X, y = np.zeros((5, 2)), np.arange(5.0)
    model = KernelRidge(solver="cg").fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, y)  # (0 + 1 I) c = y
    assert not np.any(KernelRidge(solver="cg").fit(X + 1.0, 0.0 * y).dual_coef_)


def test_too_few_steps_are_reported_with_the_residual():
    X, y = random_data(400)
    model = KernelRidge(alpha=1e-4, kernel="laplacian", solver="cg", max_iter=2, memory_limit=0.01)
    words = r"^KernelRidge: conjugate gradients stopped after 2 steps .*residual of .*\(tol 1e-08\)"
    with pytest.warns(ConvergenceWarning, match=words):
        model.fit(X, y)
    assert model.n_iter_ == 2


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_precomputed_is_the_kernel(solver):
    X, y = random_data()
    Z, _ = random_data(30, seed=1)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    kernel = kernels.RBF(0.7)
    options = {"solver": solver, "tol": 1e-12}
    named = KernelRidge(kernel="rbf", gamma=0.7, **options).fit(X, y, weight)
    matrix = KernelRidge(kernel="precomputed", **options).fit(kernel(X), y, weight)
    assert_close(matrix.dual_coef_, named.dual_coef_)
    assert_close(matrix.predict(kernel(Z, X)), named.predict(Z))
    with pytest.raises(ValueError, match="is expecting 90 features"):
        matrix.predict(kernel(Z, X)[:, :50])
    with pytest.raises(ValueError, match="not symmetric"):
        matrix.fit(np.triu(np.ones((3, 3))), [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="Sparse precomputed"):
        matrix.fit(sparse.eye_array(3, format="csr"), [1.0, 2.0, 3.0])


def test_precomputed_matrices_are_split_by_rows_and_columns():
    X, y = random_data()
    grid = {"alpha": [0.1, 1.0]}
    named = GridSearchCV(KernelRidge(kernel="rbf", gamma=0.5), grid).fit(X, y)
    matrix = GridSearchCV(KernelRidge(kernel="precomputed"), grid).fit(kernels.RBF(0.5)(X), y)
    np.testing.assert_allclose(
        matrix.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"], rtol=1e-9
    )


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("options", [{"kernel": "rbf", "gamma": "scale"}, {"kernel": "poly"}])
def test_a_weight_of_two_is_the_row_twice(solver, options):
    X, y = random_data()
    Z, _ = random_data(30, seed=1)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    options = {"alpha": 0.1, "solver": solver, "tol": 1e-13, "max_iter": 300, **options}
    weighted = KernelRidge(**options).fit(X, y, weight)
    repeated = KernelRidge(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_close(weighted.predict(Z), repeated.predict(Z))
    assert not np.any(weighted.dual_coef_[weight == 0])
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=0.1, kernel="poly").fit(X, y, weight)
    if options["kernel"] == "poly":
        assert_close(weighted.predict(Z), theirs.predict(Z))


@pytest.mark.parametrize("alpha", [0.5, [0.1, 1.0, 20.0]])
def test_several_targets_are_several_models(alpha):
    X, y = random_data(targets=3)
    ours = KernelRidge(alpha=alpha, kernel="rbf").fit(X, y)
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=np.array(alpha), kernel="rbf")
    theirs = theirs.set_params(alpha=np.array(alpha) if np.ndim(alpha) else alpha).fit(X, y)
    assert_close(ours.dual_coef_, theirs.dual_coef_)
    assert_close(ours.predict(X), theirs.predict(X))
    with pytest.raises(ValueError, match=r"^KernelRidge: alpha must be .* 2 numbers for 3 targets"):
        KernelRidge(alpha=[1.0, 2.0]).fit(X, y)


@pytest.mark.parametrize("options", NAMED, ids=lambda options: "-".join(map(str, options.values())))
def test_sparse_is_dense(options):
    X, y = random_data()
    dense = KernelRidge(**options).fit(X, y)
    stored = KernelRidge(**options).fit(sparse.csc_array(X), y)
    assert_close(stored.dual_coef_, dense.dual_coef_)
    for model in (dense, stored):
        assert_close(model.predict(sparse.coo_array(X)), dense.predict(X))
        assert_close(model.predict(X), dense.predict(X))


def test_a_singular_system_gets_its_smallest_answer_and_a_warning():
    X, y = random_data()
    words = "^KernelRidge: the matrix K [+] alpha I has rank 4, fewer than its 90 columns"
    with pytest.warns(RankWarning, match=words):
        model = KernelRidge(alpha=0).fit(X, y)
    assert_close(model.dual_coef_, linalg.pinvh(X @ X.T, rtol=1e-10) @ y)
    best = linalg.lstsq(X, y)[0]
    assert_close(model.predict(X), X @ best)


def test_a_function_may_take_anything():
    words = ["tree", "three", "house", "mouse", "cat", "cats"]

    def shared_letters(left, right):
        return [[float(len(set(u) & set(v))) for v in right] for u in left]

    K, y = np.array(shared_letters(words, words)), np.arange(6.0)
    model = KernelRidge(kernel=shared_letters).fit(tuple(words), y)
    assert_close(model.dual_coef_, linalg.solve(K + np.eye(6), y))
    assert_close(model.predict(words), K @ model.dual_coef_)
    with pytest.raises(KernelError, match="must return a matrix of shape"):
        KernelRidge(kernel=lambda left, right: 1.0).fit(words, y)


def test_a_function_gets_its_keywords():
    X, y = random_data()
    options = {"alpha": 0.3, "kernel_params": {"power": 2, "shift": 1.0}}

    def kernel(x, z, power, shift):  # of rows, or of two sets of them
        return (x @ z.T + shift) ** power

    ours = KernelRidge(kernel=kernel, **options).fit(X, y)
    theirs = sklearn.kernel_ridge.KernelRidge(kernel=kernel, **options).fit(X, y)
    assert_close(ours.dual_coef_, theirs.dual_coef_)
    assert_close(ours.predict(X[:7]), theirs.predict(X[:7]))


def test_predictions_do_not_follow_the_callers_array():
    X, y = random_data()
    model = KernelRidge(kernel="rbf").fit(X, y)
    Z, before = X.copy(), model.predict(X)
    X[:] = 0.0
    np.testing.assert_array_equal(model.predict(Z), before)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": -1}, "alpha must be a number of at least 0, or one per target, got -1"),
        ({"kernel": "cosines"}, "kernel must be one of 'linear', .* or a callable, got 'cosines'"),
        ({"kernel_params": {"c": 1}}, "kernel_params are for a function, and have no effect"),
        ({"kernel_params": "c"}, "kernel_params must be None or a dict of keyword arguments"),
        ({"gamma": -1.0}, "gamma must be None, 'scale', 'auto' or a number of at least 0"),
        ({"solver": "svd"}, "solver must be 'auto', 'cholesky' or 'cg', got 'svd'"),
        ({"memory_limit": 0}, "memory_limit must be a positive finite number, got 0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"kernel": kernels.RBF(), "gamma": 2.0}, "gamma=2.0 has no effect beside the Kernel"),
    ],
)
def test_errors_say_what_was_expected_and_leave_the_model_alone(options, words):
    X, y = random_data()
    model = KernelRidge().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=f"^KernelRidge: {words}"):
        model.set_params(**options).fit(X[:, :2], y)
    assert vars(model) == {**before, **options}


def test_partial_cholesky_stops_when_the_matrix_is_explained():
    X, _ = random_data(50, 3)
    K = X @ X.T
    L = kernel_system.partial_cholesky(lambda i: K[:, i], np.diagonal(K), 50, 1e-12)
    assert len(L) == 3
    np.testing.assert_allclose(L.T @ L, K, atol=1e-12)
