"""The perceptron: Novikoff's bound, its two forms, and an honest end where nothing separates."""

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from sklearn.datasets import make_blobs, make_circles, make_classification
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC
from maxmargin.errors import ConvergenceWarning
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.kernels import RBF, Linear, Polynomial, Precomputed

LIMIT = "ignore:Perceptron stopped at max_updates.*:sklearn.exceptions.ConvergenceWarning"


def separable(seed, n=80, d=3, gap=0.3):
    """Points on both sides of a plane, none closer to it than `gap`."""
    rng = np.random.default_rng(seed)
    X, u, b = rng.standard_normal((4 * n, d)), rng.standard_normal(d), 0.2
    distance = (X @ u + b) / np.linalg.norm(u)
    keep = np.flatnonzero(np.abs(distance) > gap)[:n]
    return X[keep], np.sign(distance[keep]).astype(int)


def textbook(X, y, max_updates=10_000):
    """The algorithm as it stands on the page."""
    w, b, updates = np.zeros(X.shape[1]), 0.0, 0
    while updates < max_updates:
        mistakes = 0
        for x, label in zip(X, y, strict=True):
            if label * (w @ x + b) <= 0:
                w, b, mistakes = w + label * x, b + label, mistakes + 1
        updates += mistakes
        if mistakes == 0:
            break
    return w, b, updates


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_algorithm_of_the_textbooks(seed):
    X, y = separable(seed)
    w, b, updates = textbook(X, y)
    model = Perceptron().fit(X, y)
    np.testing.assert_array_equal(model.coef_, [w])
    np.testing.assert_array_equal(model.intercept_, [b])
    assert model.n_updates_ == updates
    assert model.converged_
    assert model.mistakes_left_ == 0
    assert model.score(X, y) == 1.0


ONE_BY_ONE = [
    {"max_iter": 1},
    {"max_iter": 7},
    {"max_iter": 4, "eta0": 0.25},
    {"max_iter": 5, "fit_intercept": False},
    {"max_iter": 3, "class_weight": {0: 2.0, 1: 0.5}},
    {"max_iter": 3, "class_weight": "balanced", "eta0": 3.0},
]
PASSES = "ignore:Perceptron stopped at max_iter.*:sklearn.exceptions.ConvergenceWarning"


@pytest.mark.filterwarnings(PASSES)
@pytest.mark.parametrize("options", ONE_BY_ONE, ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_scikit_learns_pass_by_pass(n_classes, options):
    X, y = make_classification(
        90, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0
    )
    X, y = X[20:], np.sort(y)[20:]  # of which the first class has fewer
    X[y == 0] += 1.0
    ours = Perceptron(**options).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(shuffle=False, tol=None, **options).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-12, atol=1e-12)
    assert ours.n_iter_ == ours.n_passes_ == theirs.n_iter_


@pytest.mark.filterwarnings(PASSES)
@pytest.mark.parametrize("options", ONE_BY_ONE, ids=str)
def test_the_kernel_form_has_the_same_rates_and_passes(options):
    X, y = make_classification(90, 5, random_state=0)
    for shuffle in (False, True):
        primal, dual = (
            Perceptron(kernel=kernel, shuffle=shuffle, **options).fit(X, y)
            for kernel in (None, "linear")
        )
        np.testing.assert_array_equal(dual.mistakes_, primal.mistakes_)
        np.testing.assert_allclose(dual.decision_function(X), primal.decision_function(X))
        np.testing.assert_allclose(dual.intercept_, primal.intercept_, atol=1e-12)
        assert dual.n_iter_ == primal.n_iter_


@pytest.mark.filterwarnings(PASSES)
def test_a_warm_start_goes_on_as_scikit_learns_does():
    X, y = make_classification(90, 5, random_state=0)
    theirs = sklearn.linear_model.Perceptron(shuffle=False, tol=None, warm_start=True)
    ours = Perceptron(warm_start=True)
    for max_iter, eta0 in ((2, 1.0), (3, 0.5)):
        for model in (ours, theirs):
            model.set_params(max_iter=max_iter, eta0=eta0).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-12)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-12)
    with pytest.raises(ValueError, match=r"^Perceptron: warm_start goes on with the features"):
        ours.fit(X[:, :3], y)
    with pytest.raises(ValueError, match=r"^Perceptron: warm_start goes on with w, which a kernel"):
        ours.set_params(kernel="rbf").fit(X, y)


def test_a_shuffled_order_is_that_of_its_seed():
    X, y = separable(0)
    plain = Perceptron().fit(X, y)
    shuffled, again, other = (
        Perceptron(shuffle=True, random_state=seed).fit(X, y) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(shuffled.mistakes_, again.mistakes_)
    assert np.any(shuffled.mistakes_ != other.mistakes_)
    assert np.any(shuffled.mistakes_ != plain.mistakes_)
    assert shuffled.converged_
    X, y = make_classification(90, 5, random_state=0)
    rows = np.random.default_rng(1).permutation(len(y))  # of the first pass
    with pytest.warns(ConvergenceWarning, match=r"^Perceptron stopped at max_iter=1 with mistakes"):
        first = Perceptron(shuffle=True, random_state=1, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        in_order = Perceptron(max_iter=1).fit(X[rows], y[rows])
    np.testing.assert_array_equal(first.coef_, in_order.coef_)


@pytest.mark.parametrize("seed", range(5))
def test_without_offset_on_one_and_x_is_with_offset_on_x(seed):
    X, y = separable(seed)
    with_offset = Perceptron().fit(X, y)
    augmented = Perceptron(fit_intercept=False).fit(np.column_stack([np.ones(len(X)), X]), y)
    np.testing.assert_array_equal(augmented.coef_[0, 1:], with_offset.coef_[0])
    assert augmented.coef_[0, 0] == with_offset.intercept_[0]
    np.testing.assert_array_equal(augmented.intercept_, [0.0])
    assert augmented.n_updates_ == with_offset.n_updates_
    np.testing.assert_array_equal(augmented.mistakes_, with_offset.mistakes_)


@pytest.mark.parametrize("gap", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_novikoffs_bound(seed, gap):
    X, y = separable(seed, gap=gap)
    model = Perceptron().fit(X, y)
    # The largest margin of [x, 1] through the origin: that of the points and their mirror images,
    # whose separator has no offset by symmetry.
    Z = np.column_stack([X, np.ones(len(X))])
    machine = SVC(C=np.inf, kernel="linear").fit(np.vstack([Z, -Z]), np.concatenate([y, -y]))
    margin = 1 / np.linalg.norm(machine.coef_)
    radius = np.linalg.norm(Z, axis=1).max()
    assert np.min(y * (Z @ machine.coef_[0])) * margin == pytest.approx(margin, rel=1e-2)
    assert 0 < model.n_updates_ <= (radius / margin) ** 2


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", Linear()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_kernel_form_with_the_linear_kernel_is_the_primal_form(
    fit_intercept, kernel, n_classes
):
    X, y = make_blobs(90, 3, centers=n_classes, cluster_std=0.5, random_state=4)
    X = X - X.mean(axis=0)
    options = {"fit_intercept": fit_intercept}
    primal, dual = Perceptron(**options).fit(X, y), Perceptron(kernel=kernel, **options).fit(X, y)
    np.testing.assert_array_equal(dual.mistakes_, primal.mistakes_)
    np.testing.assert_array_equal(dual.intercept_, primal.intercept_)
    assert (dual.n_updates_, dual.n_passes_) == (primal.n_updates_, primal.n_passes_)
    np.testing.assert_allclose(
        dual.decision_function(X), primal.decision_function(X), rtol=1e-9, atol=1e-9
    )
    w = dual.dual_coef_ @ dual.support_vectors_
    np.testing.assert_allclose(w, primal.coef_, rtol=1e-9, atol=1e-9)
    assert not hasattr(dual, "coef_")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": 2.0},
        {"kernel": RBF(gamma=2.0)},
        {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0},
        {"kernel": Polynomial(2, 1.0, 1.0)},
    ],
)
def test_kernels_separate_circles(container, options):
    X, y = make_circles(120, factor=0.4, noise=0.05, random_state=0)
    model = Perceptron(**options).fit(container(X), y)
    assert model.converged_
    assert model.score(X, y) == 1.0
    assert model.score(sparse.csc_matrix(X), y) == 1.0
    assert model.kernel_.gamma in (1.0, 2.0)
    signed = model.mistakes_ * np.where(y == 1, 1, -1)
    expected = model.kernel_(X) @ signed + signed.sum()
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9)


def test_counts_add_up():
    X, y = separable(1)
    model = Perceptron().fit(X, y)
    assert model.mistakes_.shape == (len(X),)
    assert type(model.n_updates_) is int
    assert model.n_updates_ == model.mistakes_.sum()
    assert model.mistakes_.max() <= model.n_passes_ - 1  # the last pass makes none
    np.testing.assert_allclose(model.coef_[0], (model.mistakes_ * y) @ X, atol=1e-12)
    assert model.intercept_[0] == (model.mistakes_ * y).sum()


@pytest.mark.parametrize("kernel", [None, "linear"])
def test_data_that_nothing_separates_ends_with_a_count_of_mistakes(kernel):
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [1, 1, -1, -1]
    with pytest.warns(ConvergenceWarning) as caught:
        model = Perceptron(max_updates=50, kernel=kernel).fit(X, y)
    left = int(np.sum(np.asarray(y) * model.decision_function(X) <= 0))
    assert left > 0
    advice = "a kernel, or a soft margin (SVC)" if kernel is None else "another kernel"
    assert str(caught[0].message) == (
        f"Perceptron stopped at max_updates=50 with mistakes left: {left} of 4 training points "
        "are still wrong. The data may not be separable: raise max_updates, or try "
        f"{advice}."
    )
    assert caught[0].filename == __file__
    assert model.n_updates_ == 50
    assert model.mistakes_left_ == left
    assert not model.converged_


@pytest.mark.parametrize("kernel", [None, "linear"])
def test_enough_updates_are_enough(kernel):
    """A limit equal to the updates needed is no failure, and one fewer is."""
    X, y = separable(2)
    needed = Perceptron(kernel=kernel).fit(X, y).n_updates_
    assert Perceptron(kernel=kernel, max_updates=needed).fit(X, y).converged_
    with pytest.warns(ConvergenceWarning, match=f"max_updates={needed - 1} with mistakes left"):
        Perceptron(kernel=kernel, max_updates=needed - 1).fit(X, y)


@pytest.mark.filterwarnings(LIMIT)
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("convert", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_is_dense(kernel, convert):
    X, y = make_classification(80, 10, n_classes=3, n_informative=5, random_state=0)
    X[np.abs(X) < 0.5] = 0
    options = {"kernel": kernel, "max_updates": 300, "gamma": "scale"}
    dense, stored = Perceptron(**options).fit(X, y), Perceptron(**options).fit(convert(X), y)
    np.testing.assert_array_equal(stored.mistakes_, dense.mistakes_)
    np.testing.assert_allclose(stored.decision_function(X), dense.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(
        dense.decision_function(convert(X)), dense.decision_function(X), atol=1e-8
    )


def test_a_new_fit_forgets_the_old_form():
    X, y = separable(0)
    model = Perceptron(kernel="rbf").fit(X, y)
    model.set_params(kernel=None).fit(X, y)
    assert not hasattr(model, "support_vectors_")
    assert model.score(X, y) == 1.0
    assert not hasattr(model.set_params(kernel="rbf").fit(X, y), "coef_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_updates": 0}, "Perceptron: max_updates must be a whole number of at least 1, got 0"),
        ({"kernel": "precomputed"}, "Perceptron: kernel must be None, 'linear', 'poly'"),
        ({"kernel": Precomputed()}, "or a Kernel of features, got Precomputed"),
        ({"fit_intercept": 1}, "Perceptron: fit_intercept must be True or False, got 1"),
        (
            {"class_weight": {0: 0.0}},
            "class_weight must be None, 'balanced' or a dict of .* above 0",
        ),
        ({"max_iter": 0}, "max_iter must be None or a whole number of at least 1, got 0"),
        ({"eta0": 0.0}, "eta0 must be a positive finite number, got 0.0"),
        ({"kernel": RBF(), "gamma": 1.0}, "gamma=1.0 has no effect beside the Kernel object"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    model = Perceptron(**options)
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(model, "classes_")


@pytest.mark.filterwarnings(LIMIT)
@parametrize_with_checks([Perceptron(), Perceptron(kernel="rbf", max_updates=500)])
def test_passes_scikit_learns_checks(estimator, check):
    check(estimator)
