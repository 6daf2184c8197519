"""LinearSVC and LinearSVR against LIBLINEAR and their own duality gap."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression

from maxmargin import SVC, LinearSVC, LinearSVR, l1_min_c
from maxmargin.compiled.linear import descend
from maxmargin.errors import ConvergenceWarning

CASES = [
    (LinearSVC, {"loss": "hinge"}),
    (LinearSVC, {"loss": "squared_hinge"}),
    (LinearSVR, {"loss": "epsilon_insensitive", "epsilon": 0.1}),
    (LinearSVR, {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}),
]


def data(cls, seed=0, n=150, d=6):
    if cls is LinearSVC:
        return make_classification(n, d, flip_y=0.1, random_state=seed)
    X, y = make_regression(n, d, noise=5.0, random_state=seed)
    return X, y / 20


def objective(cls, options, w, b, X, y, C, weight):
    f = X @ np.ravel(w) + b
    if cls is LinearSVC:
        loss = np.maximum(0, 1 - np.where(y > 0, 1, -1) * f)
    else:
        loss = np.maximum(0, np.abs(y - f) - options["epsilon"])
    if options["loss"].startswith("squared"):
        loss = loss**2
    return 0.5 * (np.sum(np.square(w)) + np.sum(np.square(b))) + C * weight @ loss


@pytest.mark.parametrize(("cls", "options"), CASES)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_objective_is_at_least_as_good_as_liblinears_and_certified(cls, options, seed, C):
    X, y = data(cls, seed)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], len(y))
    ours = cls(C=C, tol=1e-6, max_iter=100_000, **options).fit(X, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where LIBLINEAR does not get there, we still may
        theirs = getattr(sklearn.svm, cls.__name__)(
            C=C, tol=1e-6, max_iter=20_000, dual=True, random_state=0, **options
        ).fit(X, y, weight)
    mine, reference = (
        objective(cls, options, m.coef_, m.intercept_, X, y, C, weight) for m in (ours, theirs)
    )
    proof = ours.certificate_
    assert mine == pytest.approx(proof.primal_objective)
    assert mine <= reference * (1 + 1e-6)
    assert proof.optimal
    assert -1e-9 <= proof.relative_gap <= 1e-6
    assert ours.converged_


@pytest.mark.parametrize(("cls", "options"), CASES)
def test_sparse_is_dense(cls, options):
    X, y = data(cls)
    X[np.abs(X) < 0.5] = 0
    dense = cls(tol=1e-8, max_iter=100_000, **options).fit(X, y)
    stored = cls(tol=1e-8, max_iter=100_000, **options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(stored.coef_, dense.coef_, atol=1e-3)
    np.testing.assert_allclose(stored.predict(sparse.csc_matrix(X)), stored.predict(X))


def test_targets_of_another_type_compile_no_loop_anew():
    X, y = data(LinearSVR)
    expected = LinearSVR(max_iter=100_000).fit(X, y.round())
    n_compiled = len(descend.signatures)
    for dtype in (np.float32, np.int64, np.int8):
        model = LinearSVR(max_iter=100_000).fit(X, y.round().astype(dtype))
        np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert len(descend.signatures) == n_compiled


def test_squared_hinge_is_exact():
    X, y = data(LinearSVC)
    ours = LinearSVC().fit(X, y)
    theirs = sklearn.svm.LinearSVC(tol=1e-12, dual=False, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    assert ours.certificate_.relative_gap < 1e-12
    assert ours.n_iter_ < 30


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_several_classes_look_like_scikit_learns(loss):
    X, y = make_classification(200, 8, n_classes=4, n_informative=6, random_state=0)
    ours = LinearSVC(loss=loss, max_iter=10_000, tol=1e-6).fit(X, y)
    theirs = sklearn.svm.LinearSVC(
        loss=loss, max_iter=100_000, tol=1e-4, dual=True, random_state=0
    ).fit(X, y)
    for name in ("coef_", "intercept_", "classes_"):
        assert getattr(ours, name).shape == getattr(theirs, name).shape
        assert getattr(ours, name).dtype == getattr(theirs, name).dtype
    assert type(ours.n_iter_) is type(theirs.n_iter_) is int
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.98
    assert len(ours.certificate_.parts) == 4
    binary = LinearSVC().fit(X, y > 1)
    assert binary.coef_.shape == (1, 8)
    assert binary.intercept_.shape == (1,)
    assert LinearSVC(fit_intercept=False).fit(X, y).intercept_ == 0.0


@pytest.mark.parametrize("class_weight", [{0: 1, 1: 10, 2: 0.3}, "balanced", {1: 0}])
@pytest.mark.parametrize(
    "options",
    [
        {"loss": "hinge", "dual": True},
        {"dual": True},
        {"dual": False},
        {"penalty": "l1", "dual": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_class_weights_of_several_classes_are_liblinears(
    class_weight, options, container, is_weighted
):
    X, y = (values[20:] for values in load_iris(return_X_y=True))
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], len(y)) if is_weighted else None
    assert_decides_as_liblinear(container(X), y, weight, class_weight, C=0.1, **options)


@pytest.mark.parametrize("class_weight", [{0: 5, 3: 0.2}, "balanced", {2: 0}])
def test_class_weights_are_liblinears_also_where_classes_share_their_rows(class_weight):
    X = sparse.random(300, 2500, density=0.01, random_state=0, format="csr")
    random = np.random.default_rng(0)
    y, weight = random.integers(0, 6, 300), random.choice([0.0, 0.5, 1.0, 3.0], 300)
    assert_decides_as_liblinear(X, y, weight, class_weight)


def assert_decides_as_liblinear(X, y, weight, class_weight, **options):
    """But for a class of weight zero: no machine has seen it, and it is never predicted."""
    options |= {"class_weight": class_weight, "tol": 1e-8, "max_iter": 500_000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so small a tol is not always reached
        ours = LinearSVC(**options).fit(X, y, weight)
        theirs = sklearn.svm.LinearSVC(random_state=0, **options).fit(X, y, weight)
    factors = {} if class_weight == "balanced" else class_weight
    weightless = [k for k, factor in factors.items() if factor == 0]
    mine, reference = (np.delete(m.decision_function(X), weightless, 1) for m in (ours, theirs))
    np.testing.assert_allclose(mine, reference, atol=2e-5)
    assert not np.isin(ours.predict(X), weightless).any()


def test_crammer_singers_loss_has_the_weights_of_all_classes():
    X, y = (values[20:] for values in load_iris(return_X_y=True))
    options = {"multi_class": "crammer_singer", "C": 0.1, "tol": 1e-8, "max_iter": 500_000}
    factors = np.array([1.0, 10.0, 0.3])
    by_class = LinearSVC(class_weight=dict(enumerate(factors)), **options).fit(X, y)
    by_row = LinearSVC(**options).fit(X, y, factors[y])
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)


def test_many_features_take_the_dual_way():
    rng = np.random.default_rng(0)
    X = sparse.random(60, 5000, density=0.01, random_state=0, format="csr")
    y = rng.integers(0, 2, 60)
    ours = LinearSVC().fit(X, y)
    assert ours.certificate_.optimal
    theirs = sklearn.svm.LinearSVC(tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-2 * abs(theirs.coef_).max())


@pytest.mark.parametrize(("cls", "options"), CASES)
def test_fits_in_threads_are_identical_for_a_seed(cls, options):
    X, y = data(cls)

    def fit(_):
        return cls(random_state=3, max_iter=50_000, **options).fit(X, y).coef_

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(fit, range(16)))
    assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize("options", [{}, {"loss": "hinge"}, {"multi_class": "crammer_singer"}])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_source_of_random_numbers_is_drawn_once(n_classes, options):
    X = sparse.random(60, 2500, density=0.01, random_state=0, format="csr")
    y = np.arange(60) % n_classes
    source, twin = np.random.RandomState(5), np.random.RandomState(5)
    model = LinearSVC(random_state=source, **options).fit(X, y)
    seeded = LinearSVC(random_state=twin.randint(np.iinfo(np.int32).max), **options).fit(X, y)
    np.testing.assert_array_equal(model.coef_, seeded.coef_)
    assert source.randint(1000) == twin.randint(1000)


@pytest.mark.parametrize(("cls", "options"), CASES)
def test_a_weight_of_two_is_the_row_twice(cls, options):
    X, y = data(cls, n=40)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    options = {"tol": 1e-9, "max_iter": 500_000, **options}
    weighted = cls(**options).fit(X, y, weight)
    repeated = cls(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


def test_badly_scaled_columns_end_with_an_honest_warning_or_the_answer():
    X, y = data(LinearSVC)
    X = X * 10.0 ** np.arange(6)
    model = LinearSVC().fit(X, y)
    assert model.certificate_.optimal
    with pytest.warns(ConvergenceWarning, match="failed to converge.*relative duality gap"):
        stopped = LinearSVC(loss="hinge", max_iter=20).fit(X, y)
    assert not stopped.converged_
    assert stopped.certificate_.relative_gap > stopped.tol


@pytest.mark.filterwarnings("ignore::maxmargin.errors.ConvergenceWarning")
@pytest.mark.parametrize("n", [50, 2500, 9000])
@pytest.mark.parametrize("size", [1e-60, 1e-100, 1e-150])
@pytest.mark.parametrize("tiny", ["y", "X and y"])
def test_targets_too_small_to_cube_have_an_answer(n, size, tiny):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * random.normal(size=n)
    model = LinearSVR().fit(X * size if tiny != "y" else X, y * size)
    if tiny == "y":  # so small that only the losses count
        np.testing.assert_allclose(model.coef_ / size, [1, 2, 3], atol=0.1)
    else:  # so small that next to nothing is gained by any w
        assert np.all(np.abs(model.coef_) <= size * 10 * n)
        assert np.all(model.coef_ > 0)


@pytest.mark.parametrize("n", [50, 2500, 9000])
def test_targets_too_small_to_square_leave_no_weights(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    with pytest.warns(ConvergenceWarning):
        model = LinearSVR().fit(X, X[:, 0] * 1e-300)
    np.testing.assert_array_equal(model.coef_, 0.0)


def test_agrees_with_svc_where_the_bias_is_free():
    X, y = data(LinearSVC)
    X = X - X.mean(axis=0)
    linear = LinearSVC(loss="hinge", intercept_scaling=100, tol=1e-6, max_iter=200_000).fit(X, y)
    kernel = SVC(kernel="linear", tol=1e-6).fit(X, y)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=2e-2)
    assert (linear.predict(X) == kernel.predict(X)).mean() > 0.98


@pytest.mark.parametrize("C", [0.01, 0.1, 10.0])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_l1_penalty_is_liblinears_and_certified(C, container):
    X, y = make_classification(150, 30, n_informative=4, flip_y=0.1, random_state=0)
    ours = LinearSVC(penalty="l1", dual=False, C=C).fit(container(X), y)
    theirs = sklearn.svm.LinearSVC(
        penalty="l1", dual=False, C=C, tol=1e-10, max_iter=100_000, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert np.sum(ours.coef_ == 0) == np.sum(theirs.coef_ == 0)
    assert ours.certificate_.optimal
    assert ours.certificate_.relative_gap < 1e-8


def test_l1_with_more_features_than_points():
    rng = np.random.default_rng(0)
    X = sparse.random(80, 3000, density=0.05, random_state=0, format="csr")
    y = rng.integers(0, 2, 80)
    model = LinearSVC(penalty="l1", dual=False, C=5.0).fit(X, y)
    assert model.certificate_.optimal
    assert 0 < np.count_nonzero(model.coef_) < 80


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_crammer_singer_is_liblinears_and_certified(n_classes, container):
    X, y = make_classification(
        200, 8, n_classes=n_classes, n_informative=6, flip_y=0.1, random_state=0
    )
    options = {"multi_class": "crammer_singer", "max_iter": 50_000, "random_state": 0}
    ours = LinearSVC(tol=1e-6, **options).fit(container(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LIBLINEAR may stop short of 1e-8
        theirs = sklearn.svm.LinearSVC(tol=1e-8, **options).fit(X, y)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    assert ours.certificate_.optimal


@pytest.mark.parametrize("scale", [0.0, 1e-160, 1e-9])
@pytest.mark.parametrize("C", [1e-30, 1.0])
def test_rows_at_the_origin_cost_what_they_must_and_no_more(C, scale):
    X, y = make_classification(60, 5, n_classes=3, n_informative=4, n_redundant=0, random_state=0)
    tiny, labels = np.vstack([X, scale * X[:4]]), np.append(y, [0, 1, 2, 2])
    model = LinearSVC(multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-6)
    without = model.set_params(max_iter=50_000).fit(X, y).certificate_
    proof = model.fit(tiny, labels).certificate_
    assert model.converged_
    assert proof.relative_gap <= 1e-6
    assert proof.primal_objective == pytest.approx(without.primal_objective + 4 * C, rel=2e-6)
    assert proof.stationarity <= 1e-15 * C  # the multipliers of a point sum to zero


@pytest.mark.parametrize(
    "options",
    [
        {"penalty": "l1", "loss": "hinge"},
        {"penalty": "l1", "dual": True},
        {"loss": "hinge", "dual": False},
    ],
)
def test_combinations_that_liblinear_refuses_are_refused_in_its_words(options):
    X, y = data(LinearSVC)
    with pytest.raises(ValueError, match="Unsupported set of arguments") as ours:
        LinearSVC(**options).fit(X, y)
    with pytest.raises(ValueError, match="Unsupported set of arguments") as theirs:
        sklearn.svm.LinearSVC(**{"dual": False, **options}).fit(X, y)
    assert str(ours.value).split(", Parameters")[0] == str(theirs.value).split(", Parameters")[0]


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_l1_min_c_is_scikit_learns(loss, fit_intercept):
    X, y = make_classification(60, 8, n_classes=3, n_informative=4, random_state=0)
    options = {"loss": loss, "fit_intercept": fit_intercept, "intercept_scaling": 3.0}
    for container in (np.asarray, sparse.csr_matrix):
        assert l1_min_c(container(X), y, **options) == pytest.approx(
            sklearn.svm.l1_min_c(X, y, **options)
        )
    if loss == "squared_hinge" and fit_intercept:
        C = l1_min_c(X, y > 0)
        below = LinearSVC(penalty="l1", dual=False, C=0.99 * C).fit(X, y > 0)
        above = LinearSVC(penalty="l1", dual=False, C=1.1 * C).fit(X, y > 0)
        assert not np.any(below.coef_)
        assert np.any(above.coef_) or np.any(above.intercept_)
    with pytest.raises(ValueError, match="Ill-posed l1_min_c"):
        l1_min_c(np.zeros((4, 2)), [0, 0, 1, 1], fit_intercept=False)


def test_sparsify_and_densify_predict_the_same():
    X, y = make_classification(100, 10, n_classes=3, n_informative=5, random_state=0)
    model = LinearSVC(penalty="l1", dual=False, C=0.1).fit(X, y)
    expected = model.decision_function(X)
    assert sparse.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), expected)
    np.testing.assert_allclose(model.decision_function(sparse.csr_array(X)), expected)
    np.testing.assert_allclose(model.densify().decision_function(X), expected)


@pytest.mark.parametrize("options", [{"fit_intercept": False}, {"C": 1e4}, {"C": 1e-6}])
def test_large_features_do_not_look_like_failure(options):
    X, y = data(LinearSVC)
    model = LinearSVC(**options).fit(X * 1e8, y)
    assert model.converged_
    assert model.n_iter_ < 100


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_small_data_on_which_coordinates_creep_are_solved_all_the_same(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4)) * [1.0, scale, 1.0, 1.0] + [0.0, 0.0, scale, 0.0]
    y = X @ [1.0, 1 / scale, 1.0, -1.0] + rng.laplace(size=120)
    model = LinearSVR(C=10.0, tol=1e-6).fit(X, y)
    assert model.converged_
    assert model.certificate_.relative_gap <= 1e-6
    labels = np.where(y > np.median(y), 1, -1)
    model = LinearSVC(loss="hinge", C=10.0, tol=1e-6).fit(X, labels)
    assert model.converged_


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC(penalty="l1"),
        LinearSVR(loss="squared_epsilon_insensitive"),
        LinearSVR(C=10.0),
    ],
    ids=str,
)
def test_a_warm_start_begins_at_the_last_weights(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 5))
    y = X @ np.arange(1.0, 6.0) + rng.standard_normal(3000)
    y = y > 0 if isinstance(model, LinearSVC) else y
    cold = clone(model).fit(X, y)
    warm = clone(model).set_params(warm_start=True).fit(X, y).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.certificate_.optimal
    np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=1e-2, atol=1e-3)


def test_a_warm_start_after_other_features_or_classes_begins_at_zero():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)), rng.integers(0, 3, 200)
    model = LinearSVC(warm_start=True).fit(X, y)
    for other, labels in ((X[:, :3], y), (X, y + 1), (X, y > 0)):
        begun = clone(model).fit(other, labels)
        np.testing.assert_array_equal(model.fit(other, labels).coef_, begun.coef_)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_warm_start_of_sparse_classes_goes_on(loss):
    rng = np.random.default_rng(0)
    X = sparse.random(150, 2500, 0.02, "csr", random_state=0)
    y = rng.integers(0, 5, 150)
    model = LinearSVC(loss=loss, warm_start=True, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        first = model.fit(X, y).certificate_.primal_objective
    model.set_params(max_iter=1000).fit(X, y)
    assert model.certificate_.optimal
    assert model.certificate_.primal_objective < first
