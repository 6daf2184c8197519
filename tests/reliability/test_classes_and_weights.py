"""Classes that weigh nothing, weights that mean nothing, labels of any kind."""

import numpy as np
import pytest
import sklearn.svm
from every_estimator import EVERY, IGNORED, data_for
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.datasets import make_blobs
from sklearn.utils.validation import has_fit_parameter

from maxmargin import SVC, SVR, GradientDescentClassifier, LinearSVC, LinearSVR, NuSVC, NuSVR
from maxmargin.kernels import Custom

pytestmark = [pytest.mark.filterwarnings(rule) for rule in IGNORED]

CLASSIFIERS = [title for title, make in EVERY.items() if is_classifier(make())]
WEIGHTED = [title for title in CLASSIFIERS if has_fit_parameter(EVERY[title](), "sample_weight")]


def blobs(n_classes):
    return make_blobs(160, 2, centers=n_classes, cluster_std=3.0, random_state=0)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("n_classes", "absent"), [(3, 0), (3, 1), (3, 2), (4, 0), (4, 2), (4, 3)])
@pytest.mark.parametrize("title", WEIGHTED)
def test_a_class_without_weight_stays_and_is_never_predicted(title, n_classes, absent, container):
    X, y = blobs(n_classes)
    rows = container(np.random.default_rng(0).standard_normal((300, 2)) * 30)
    # With a smaller nu these clouds have no margin, and a nu machine says nothing.
    options = {"nu": 0.7} if "NuSVC" in title else {}
    model = EVERY[title]().set_params(**options)
    model.fit(container(X), y, (y != absent).astype(float))
    np.testing.assert_array_equal(model.classes_, np.arange(n_classes))
    assert model.decision_function(rows).shape == (300, n_classes)
    found = model.predict(rows)
    assert absent not in found
    rest = EVERY[title]().set_params(**options)
    rest.fit(container(X[y != absent]), y[y != absent])
    np.testing.assert_array_equal(model.predict(rows), rest.predict(rows))
    if hasattr(model, "predict_proba"):
        assert np.all(model.predict_proba(rows).argmax(axis=1) != absent)


def test_a_linear_machine_without_offset_has_no_absent_class_either():
    X, y = blobs(3)
    model = LinearSVC(fit_intercept=False).fit(X, y, (y != 1).astype(float))
    assert 1 not in model.predict(X)
    assert not LinearSVC(fit_intercept=False).fit(X, y).intercept_


@pytest.mark.parametrize("title", WEIGHTED)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda y: 0.0 * y, "Invalid input - all samples have zero or negative weights"),
        (lambda y: -1.0 - y, "Invalid input - all samples have zero or negative weights"),
        (lambda y: np.where(y == 1, -1.0, 1.0), "sample_weight must not be negative, got -1.0 at"),
        (
            lambda y: (y == 1) * 1.0,
            "Invalid input - all samples with positive weights belong to the same class",
        ),
        (lambda y: np.full(len(y), 1e200), "sample_weight must be at most 1e\\+100, got 1e\\+200"),
        (lambda y: np.ones(3), "sample_weight and X have incompatible shapes"),
    ],
    ids=["zero", "all negative", "negative", "one class", "huge", "too few"],
)
def test_weights_that_mean_nothing_are_refused(title, weight, message):
    X, y = data_for(EVERY[title]())
    with pytest.raises(ValueError, match=message):
        EVERY[title]().fit(X, y, weight(y))


@pytest.mark.parametrize("cls", [SVC, LinearSVC, LinearSVR], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(("C", "weight"), [(1e300, 1e100), (1e200, 1.0), (1e50, 1e51)])
def test_prices_that_overflow_are_refused_by_name(cls, C, weight):
    X, y = blobs(2)
    with pytest.raises(ValueError, match="C times the weight of a row must be at most 1e"):
        cls(C=C).fit(X, y, np.full(len(y), weight))


@pytest.mark.parametrize("cls", [SVR, NuSVR], ids=lambda cls: cls.__name__)
def test_prices_of_a_tube_that_overflow_are_too(cls):
    X, y = blobs(2)
    with pytest.raises(ValueError, match="C times the weight of a row must be at most 1e"):
        cls(C=1e300).fit(X, y, np.full(len(y), 1e95))


@pytest.mark.parametrize("cls", [SVC, NuSVC, LinearSVC], ids=lambda cls: cls.__name__)
def test_class_weights_that_overflow_are_refused_by_name(cls):
    X, y = blobs(2)
    with pytest.raises(ValueError, match="sample_weight times class_weight must be at most"):
        cls(class_weight={0: 1e300}).fit(X, y, np.full(len(y), 1e50))


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_class_weights_that_overflow_are_refused_by_name_also_batch_by_batch(learn):
    X, y = blobs(2)
    model = GradientDescentClassifier(class_weight={0: 1e300})
    classes = {"classes": [0, 1]} if learn == "partial_fit" else {}
    with pytest.raises(ValueError, match="sample_weight times class_weight must be at most"):
        getattr(model, learn)(X, y, **classes, sample_weight=np.full(len(y), 1e100))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_that_cost_next_to_nothing_do(loss):
    X, y = blobs(2)
    weight = np.where(np.arange(len(y)) % 3 == 0, 1e-310, 1.0)
    found = LinearSVC(loss=loss, tol=1e-6).fit(X, y, weight)
    without = LinearSVC(loss=loss, tol=1e-6).fit(X, y, np.round(weight))
    np.testing.assert_allclose(found.coef_, without.coef_, rtol=1e-4)


@pytest.mark.parametrize("title", CLASSIFIERS)
def test_one_class_or_numbers_that_are_no_labels_are_refused(title):
    X, y = data_for(EVERY[title]())
    with pytest.raises(ValueError, match="class"):
        EVERY[title]().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        EVERY[title]().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        EVERY[title]().fit(X, np.where(y == 0, np.nan, y))
    with pytest.raises((TypeError, ValueError)):
        EVERY[title]().fit(X, np.array(["a", 1, None] * 30, dtype=object))


@pytest.mark.parametrize(
    "labels",
    [
        [False, True],
        ["no", "yes"],
        [-5, 2**62],
        [0, 255],
        [1.0, 2.0],
    ],
    ids=str,
)
@pytest.mark.parametrize("title", CLASSIFIERS)
def test_labels_come_back_as_they_were(title, labels):
    X, y = data_for(EVERY[title]())
    y = np.array(labels)[(y > 0).astype(int)]
    model = EVERY[title]().fit(X, y)
    assert model.predict(X).dtype == model.classes_.dtype == y.dtype
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert set(model.predict(X).tolist()) <= set(labels)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_an_infeasible_nu_is_refused_before_a_kernel_value_is_computed(container, wrapped):
    calls = []

    def kernel(left, right):
        calls.append(left)
        return left @ right.T

    X, y = make_blobs(120, 2, centers=[[0, 0], [5, 5]], random_state=0)
    y[:50] = 1
    X = container(X)
    made = Custom(kernel) if wrapped else kernel
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC(nu=0.95, kernel=made).fit(X, y)
    assert not calls
    with pytest.raises(ValueError, match="specified nu is infeasible"):  # by weights alone
        NuSVC(nu=0.5, kernel=made).fit(X, y, np.where(y == 1, 1.0, 0.01))
    assert not calls


@pytest.mark.parametrize("cls", [SVC, NuSVC, LinearSVC])
def test_class_weights_of_absent_classes_are_as_scikit_learns(cls):
    X, y = blobs(3)
    options = {"nu": 0.2} if cls is NuSVC else {}
    ours = cls(class_weight={0: 2.0, 7: 5.0}, **options)
    theirs = getattr(sklearn.svm, cls.__name__)(class_weight={0: 2.0, 7: 5.0}, **options)
    outcomes = []
    for model in (ours, theirs):
        try:
            outcomes.append(model.fit(X, y).predict(X))
        except ValueError as error:
            outcomes.append(str(error))
    if isinstance(outcomes[1], str):
        assert outcomes[0] == outcomes[1]
    else:
        assert np.mean(outcomes[0] == outcomes[1]) > 0.97


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_class_weights_are_scikit_learns(weighted):
    X, y = blobs(3)
    keep = np.concatenate([np.flatnonzero(y == 0)[:10], np.flatnonzero(y != 0)])
    X, y = X[keep], y[keep]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    ours = SVC(class_weight="balanced", gamma=0.1, tol=1e-8).fit(X, y, weight)
    theirs = sklearn.svm.SVC(class_weight="balanced", gamma=0.1, tol=1e-8).fit(X, y, weight)
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0, atol=1e-3
    )
