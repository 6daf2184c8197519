"""SVR, NuSVC, NuSVR and OneClassSVM against the oracle, against scikit-learn, and one by one."""

import numpy as np
import pytest
import sklearn.svm
from matrices import matrix_of
from oracle import oracle_objective
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

import maxmargin
from maxmargin import SVC, SVR, LinearSVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.errors import ConvergenceWarning
from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial, Precomputed
from maxmargin.problems import epsilon_svr, nu_svc, nu_svr, one_class

KERNELS = [
    Linear(),
    Polynomial(2, 0.5, 1.0),
    RBF(gamma=0.5),
    Laplacian(gamma=0.3),
    Polynomial(3, gamma=0.3, coef0=1.0),
    0.5 * RBF(gamma=0.2) + Linear() * Polynomial(1, coef0=1.0),
]
FAMILY = [SVR, NuSVC, NuSVR, OneClassSVM]


def random_data(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 100)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d))
    target = np.sin(2 * X[:, 0]) + X[:, -1] + 0.5 * rng.standard_normal(n)
    labels = np.where(target > 0, 1.0, -1.0)
    labels[:2] = [1, -1]
    return X, target, labels, rng.choice([0.5, 1, 2], n), 10 ** rng.uniform(-3, 3), rng


def reduced(cls, kernel, seed, tol=1e-9):
    """A fitted model and its dual problem, for random data."""
    X, target, labels, weight, C, rng = random_data(seed)
    nu = float(rng.uniform(0.05, 0.9))
    if cls is SVR:
        model = SVR(C=C, epsilon=0.1, kernel=kernel, tol=tol).fit(X, target, weight)
        return model, epsilon_svr(matrix_of(kernel, X), target, C * weight, 0.1)
    if cls is NuSVR:
        model = NuSVR(C=C, nu=nu, kernel=kernel, tol=tol).fit(X, target, weight)
        return model, nu_svr(matrix_of(kernel, X), target, C * weight, nu)
    if cls is OneClassSVM:
        model = OneClassSVM(nu=nu, kernel=kernel, tol=tol).fit(X, sample_weight=weight)
        return model, one_class(matrix_of(kernel, X), weight, nu)
    share = 2 * min(weight[labels > 0].sum(), weight[labels < 0].sum()) / weight.sum()
    model = NuSVC(nu=0.9 * share, kernel=kernel, tol=tol).fit(X, labels, weight)
    return model, nu_svc(matrix_of(kernel, X), labels, weight, 0.9 * share)


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("cls", FAMILY)
def test_objective_is_the_oracles(cls, seed, path):
    # The origin lies among the points, so a linear one-class machine has nothing to find.
    kernels = KERNELS[1:] if cls is OneClassSVM else KERNELS
    model, problem = reduced(cls, kernels[seed % len(kernels)], seed)
    weights = random_data(seed)[3]
    proof = model.certificate_
    found = proof.dual_objective
    if cls is NuSVC:  # certified in units of the weights; the problem is in units of the hulls
        found *= float(np.max(problem.upper - problem.lower)) ** 2 / np.max(weights) ** 2
    best = oracle_objective(problem)
    assert found >= best - 1e-9 * abs(best) - 1e-13
    assert proof.relative_gap <= 1e-6 or proof.duality_gap <= 1e-9
    assert proof.optimal
    default = reduced(cls, kernels[seed % len(kernels)], seed, tol=1e-3)[0].certificate_
    assert default.optimal
    assert default.dual_objective == pytest.approx(proof.dual_objective, rel=1e-2)


@pytest.mark.parametrize("seed", range(34))
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("cls", FAMILY)
def test_predictions_are_scikit_learns(cls, kernel, seed):
    X, target, labels, weight, _, _ = random_data(seed)
    y = labels if cls is NuSVC else target
    options = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0, "tol": 1e-8}
    if cls is NuSVC:  # a smaller nu leaves no margin, and then both libraries return noise
        options["nu"] = 1.5432 * min(weight[y > 0].sum(), weight[y < 0].sum()) / weight.sum()
    if cls is NuSVR:  # with a round nu no multiplier need be free, and then b is an interval
        options["nu"] = 0.4321
    if cls is OneClassSVM and kernel == "linear":
        X = X + 3  # away from the origin
    ours = cls(**options).fit(X, y, sample_weight=weight)
    theirs = getattr(sklearn.svm, cls.__name__)(**options).fit(X, y, sample_weight=weight)
    method = "predict" if cls in (SVR, NuSVR) else "decision_function"
    expected = getattr(theirs, method)(X)
    # LIBSVM keeps its kernel rows in float32; OneClassSVM and NuSVC divide by a small margin.
    scale = np.abs(expected).max()
    np.testing.assert_allclose(getattr(ours, method)(X), expected, rtol=0, atol=1e-4 * scale)


@pytest.mark.parametrize("cls", FAMILY)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_fitted_attributes_look_like_scikit_learns(cls, container):
    X, target, labels, *_ = random_data(3)
    X, y = container(X), labels if cls is NuSVC else target
    ours = cls(kernel="linear", nu=0.3) if cls is not SVR else cls(kernel="linear")
    theirs = getattr(sklearn.svm, cls.__name__)(
        **{k: v for k, v in ours.get_params().items() if k in ("kernel", "nu")}
    )
    ours.fit(X, y)
    theirs.fit(X, y)
    names = ["support_", "support_vectors_", "n_support_", "dual_coef_", "coef_", "intercept_"]
    for name in [*names, *(["offset_"] if cls is OneClassSVM else [])]:
        mine, reference = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(reference), name
        assert mine.dtype == reference.dtype, name
        assert mine.ndim == reference.ndim, name
    assert type(ours.n_iter_) is type(theirs.n_iter_)
    assert ours.shape_fit_ == theirs.shape_fit_
    with pytest.raises(ValueError, match="read-only"):
        (ours.coef_.data if sparse.issparse(ours.coef_) else ours.coef_)[:] = 0


def test_infeasible_nu_is_refused_before_a_kernel_value_is_computed():
    def never(left, right):
        raise AssertionError("a kernel value was computed")

    X, y = np.zeros((120, 2)), np.repeat([0, 1], [20, 100])
    with pytest.raises(ValueError) as error:
        NuSVC(nu=0.9, kernel=never).fit(X, y)
    assert str(error.value) == (
        "specified nu is infeasible. NuSVC: nu=0.9 is too large for class sizes 20 and 100; "
        "it must be at most 0.333."
    )


def test_class_weight_of_nu_svc_works():
    X, y = make_blobs(200, 2, centers=2, cluster_std=3.0, random_state=0)
    plain = NuSVC(nu=0.3).fit(X, y)
    leaning = NuSVC(nu=0.3, class_weight={0: 3.0}).fit(X, y)
    same = NuSVC(nu=0.3, gamma=leaning.kernel_.gamma).fit(X, y, np.where(y == 0, 3.0, 1.0))
    np.testing.assert_allclose(leaning.decision_function(X), same.decision_function(X), atol=1e-7)
    assert np.abs(leaning.decision_function(X) - plain.decision_function(X)).max() > 0.1


def test_nu_bounds_errors_and_support_vectors():
    X, y = make_blobs(300, 2, centers=2, cluster_std=3.0, random_state=0)
    for nu in (0.3, 0.5):
        model = NuSVC(nu=nu).fit(X, y)
        margin_errors = np.isin(model.roles_, ["inside", "misclassified"]).mean()
        assert margin_errors <= nu + 1e-9 <= len(model.support_) / len(y) + 2 / len(y)
        region = OneClassSVM(nu=nu).fit(X)
        assert (region.predict(X) < 0).mean() <= nu + 1e-9
        assert len(region.support_) / len(y) >= nu - 1e-9


def test_nu_svr_finds_the_width_that_svr_is_given():
    X, target, *_ = random_data(1)
    nu = NuSVR(nu=0.4, C=5.0, tol=1e-9).fit(X, target)
    residual = np.abs(target - nu.predict(X))
    free = (np.abs(nu.dual_coef_[0]) > 1e-6) & (np.abs(nu.dual_coef_[0]) < 5.0 - 1e-6)
    width = residual[nu.support_][free].mean()
    same = SVR(epsilon=width, C=5.0, tol=1e-9).fit(X, target)
    np.testing.assert_allclose(same.predict(X), nu.predict(X), atol=1e-5)


@pytest.mark.parametrize("model", [SVR(C=2.0, epsilon=0.3, tol=1e-9), NuSVR(C=2.0, tol=1e-9)])
def test_roles_of_a_regression_say_where_each_row_lies(model):
    X, target, _, weight, *_ = random_data(4)
    weight[[3, 7]] = 0.0
    model = clone(model).fit(X, target, weight)
    errors, coef = np.abs(target - model.predict(X)), np.zeros(len(X))
    coef[model.support_] = np.abs(model.dual_coef_[0])
    edge = errors[model.roles_ == "edge"]
    width = edge.mean()
    np.testing.assert_allclose(edge, width, rtol=1e-6)
    assert isinstance(model, NuSVR) or width == pytest.approx(0.3, rel=1e-6)
    assert np.all(errors[model.roles_ == "inside"] <= width * (1 + 1e-6))
    assert np.all(errors[model.roles_ == "outside"] >= width * (1 - 1e-6))
    assert np.all((coef == 0) == np.isin(model.roles_, ["inside", "unused"]))
    at_bound = np.isclose(coef, 2.0 * weight, rtol=1e-9)
    assert np.all(at_bound == np.isin(model.roles_, ["outside", "unused"]))
    assert np.flatnonzero(model.roles_ == "unused").tolist() == [3, 7]
    assert set(model.roles_) == {"inside", "edge", "outside", "unused"}


def test_one_class_scores_and_offset():
    X, *_ = random_data(2)
    model = OneClassSVM(nu=0.2).fit(X)
    np.testing.assert_allclose(
        model.score_samples(X) - model.offset_, model.decision_function(X), atol=1e-12
    )
    np.testing.assert_array_equal(
        model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1)
    )
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))


@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_constant_target_is_predicted_without_support_vectors(cls):
    X = np.random.default_rng(0).standard_normal((20, 2))
    model = cls().fit(X, np.full(20, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, atol=1e-9)
    if cls is SVR:
        assert model.support_vectors_.shape == (0, 2)
        assert model.dual_coef_.shape == (1, 0)


@pytest.mark.parametrize("cls", FAMILY)
def test_every_form_of_input_gives_the_same_model(cls):
    X, target, labels, weight, *_ = random_data(4)
    y, options = (labels if cls is NuSVC else target), {"tol": 1e-9}
    if cls is NuSVC:
        options["nu"] = 0.2
    kernel = RBF(gamma=0.5)
    method = "predict" if cls in (SVR, NuSVR) else "decision_function"
    expected = getattr(cls(kernel=kernel, **options).fit(X, y, sample_weight=weight), method)(X)
    gram, csr = kernel(X), sparse.csr_array(X)
    for given, other in [
        (csr, kernel), (X, "rbf"), (gram, "precomputed"), (gram, 1.0 * Precomputed()),
        (X, kernel.__call__), (X.astype(np.float32).astype(float) * 0 + X, kernel),
    ]:  # fmt: skip
        more = {"gamma": 0.5} if other == "rbf" else {}
        model = cls(kernel=other, **more, **options).fit(given, y, sample_weight=weight)
        np.testing.assert_allclose(getattr(model, method)(given), expected, atol=1e-6)


@pytest.mark.parametrize("cls", [*FAMILY, SVC])
def test_limits_warm_start_and_callbacks(cls):
    X, target, labels, *_ = random_data(5)
    y = labels if cls in (NuSVC, SVC) else target
    options = {"nu": 0.2} if cls is NuSVC else {}
    with pytest.warns(maxmargin.errors.ConvergenceWarning, match=r"terminated early \(max_iter=2"):
        stopped = cls(max_iter=2, **options).fit(X, y)
    assert np.all(stopped.n_iter_ == 2)
    model = cls(warm_start=True, tol=1e-6, **options).fit(X, y)
    cold = np.sum(model.n_iter_)
    method = "predict" if cls in (SVR, NuSVR) else "decision_function"
    before = getattr(model, method)(X)
    model.fit(X, y)
    assert np.sum(model.n_iter_) <= cold
    np.testing.assert_allclose(getattr(model, method)(X), before, atol=1e-5)
    assert model.converged_
    assert "optimal" in repr(model.certificate_)


@pytest.mark.parametrize("cls", FAMILY)
def test_a_shift_of_the_points_changes_nothing(cls):
    X, target, labels, *_ = random_data(6)
    y = labels if cls is NuSVC else target
    options = {"gamma": 0.5, **({"nu": 0.2} if cls is NuSVC else {})}
    method = "predict" if cls in (SVR, NuSVR) else "decision_function"
    X = X.round(3)
    near = getattr(cls(**options).fit(X, y), method)(X)
    far = getattr(cls(**options).fit(X + 1e6, y), method)(X + 1e6)
    np.testing.assert_allclose(far, near, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_a_nu_that_leaves_no_margin_is_said_so(kernel, nu):
    """The reduced hulls meet: w = 0, and what is divided by the margin would be rounding."""
    X, y = np.random.default_rng(0).standard_normal((200, 2)), np.arange(200) % 2
    with pytest.warns(ConvergenceWarning, match="nu is too small for these classes"):
        model = NuSVC(kernel=kernel, nu=nu).fit(X + 0.4 * y[:, None], y)
    assert not model.converged_
    assert np.abs(model.dual_coef_).max() <= 1.0


def test_a_narrow_margin_of_a_small_nu_svc_is_found():
    """As the order of the rows says, which would show in what is left of rounding."""
    X, y = np.random.default_rng(0).standard_normal((200, 2)), np.arange(200) % 2
    X += 0.4 * y[:, None]
    models = [
        NuSVC(nu=0.5).fit(X[order], y[order]) for order in (slice(None), slice(None, None, -1))
    ]
    assert all(model.converged_ for model in models)
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


@pytest.mark.parametrize("cls", FAMILY)
def test_the_certificate_of_weights_is_that_of_repeated_rows(cls):
    X, target, labels, *_ = random_data(3)
    y = labels if cls is NuSVC else target
    for weight in (np.full(len(y), 2), np.random.default_rng(0).integers(1, 5, len(y))):
        model = cls(nu=0.3) if cls is not SVR else cls()
        weighted = clone(model).fit(X, y, sample_weight=weight)
        repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(model_values(weighted, X), model_values(repeated, X), atol=1e-6)
        one, other = weighted.certificate_, repeated.certificate_
        assert one.primal_objective == pytest.approx(other.primal_objective, rel=1e-6)
        assert one.dual_objective == pytest.approx(other.dual_objective, rel=1e-6)


def test_no_scale_of_all_weights_changes_a_nu_classifier_or_its_verdict():
    X, _, labels, *_ = random_data(3)
    plain = NuSVC(nu=0.3).fit(X, labels)
    for size in (1e-6, 1e6):
        model = NuSVC(nu=0.3).fit(X, labels, sample_weight=np.full(len(labels), size))
        assert model.certificate_.optimal
        np.testing.assert_allclose(model_values(model, X), model_values(plain, X), atol=1e-6)
        begun = NuSVC(nu=0.3, max_iter=3)
        with pytest.warns(ConvergenceWarning):
            begun.fit(X, labels, sample_weight=np.full(len(labels), size))
        assert not begun.certificate_.optimal


def model_values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def test_a_certificate_of_one_class_is_in_units_of_the_kernel():
    X = 1e-4 * (1 + np.random.default_rng(0).standard_normal((60, 3)))
    with pytest.warns(ConvergenceWarning):
        begun = OneClassSVM(kernel="linear", nu=0.3, max_iter=1).fit(X)
    assert not begun.certificate_.optimal
    assert OneClassSVM(kernel="linear", nu=0.3).fit(X).certificate_.optimal


@pytest.mark.parametrize("C", [1e12, 1e20, 1e90, float("inf")])
@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_no_C_of_a_regression_is_too_large(cls, C):
    """The loss has won long before: the answer is that of 1e10."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + rng.standard_normal(60)
    large, usual = (cls(kernel="linear", C=price).fit(X, y).predict(X) for price in (C, 1e10))
    np.testing.assert_allclose(large, usual, atol=1e-3)


@pytest.mark.parametrize("cls", [SVR, NuSVR])
def test_a_large_C_of_a_regression_of_small_features_is_not_taken_for_a_smaller_one(cls):
    X, y = 1e-6 * np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    model = cls(kernel="linear", C=1e13).set_params(**({"epsilon": 0.0} if cls is SVR else {}))
    np.testing.assert_allclose(model.fit(X, y).predict(X), y, atol=1e-6)


@pytest.mark.parametrize("cls", [SVR, NuSVR, LinearSVR])
def test_targets_that_are_written_numbers(cls):
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    written = cls().fit(X, y.astype(str)).predict(X)
    np.testing.assert_array_equal(written, cls().fit(X, y).predict(X))


@pytest.mark.parametrize("scale", [1e-8, 1e-4, 1e-1])
def test_nu_svc_and_one_class_do_not_depend_on_a_small_scale_of_the_kernel(scale):
    X, _, labels, *_ = random_data(7)
    X = X + 3
    small, usual = (NuSVC(kernel="linear", nu=0.8, tol=1e-6).fit(x, labels) for x in (X * scale, X))
    expected = usual.decision_function(X)
    np.testing.assert_allclose(small.decision_function(X * scale), expected, atol=1e-3)
    small, usual = (OneClassSVM(kernel="linear", nu=0.4, tol=1e-6).fit(x) for x in (X * scale, X))
    expected = usual.decision_function(X)
    found = small.decision_function(X * scale) / scale**2
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
