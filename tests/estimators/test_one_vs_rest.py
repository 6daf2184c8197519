"""SVC(multi_class="ovr"): a machine per class against the rest."""

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.multiclass import OneVsRestClassifier

from maxmargin import SVC, to_sklearn


def data(n_classes=4):
    return make_blobs(160, 3, centers=n_classes, cluster_std=3.0, random_state=0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_decisions_are_those_of_one_machine_per_class(kernel, container):
    X, y = data()
    ours = SVC(kernel=kernel, gamma=0.1, multi_class="ovr", tol=1e-8).fit(container(X), y)
    single = sklearn.svm.SVC(kernel=kernel, gamma=0.1, tol=1e-8)
    theirs = OneVsRestClassifier(single).fit(X, y)
    expected = theirs.decision_function(X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(
        ours.decision_function(container(X)), expected, rtol=0, atol=1e-4 * scale
    )
    np.testing.assert_array_equal(ours.predict(container(X)), theirs.predict(X))
    assert ours.dual_coef_.shape == (4, len(ours.support_))
    assert ours.intercept_.shape == ours.n_iter_.shape == (4,)
    assert len(ours.certificate_.parts) == 4
    assert ours.certificate_.optimal
    if kernel == "linear":
        assert ours.coef_.shape == (4, 3)


def test_two_classes_are_the_same_either_way():
    X, y = data(2)
    np.testing.assert_array_equal(
        SVC(multi_class="ovr").fit(X, y).decision_function(X), SVC().fit(X, y).decision_function(X)
    )


def test_probabilities_margins_roles_and_warm_start():
    X, y = data()
    model = SVC(multi_class="ovr", probability=True, warm_start=True).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    functional = model.margins(X, y).functional
    assert np.all(model.predict(X)[functional > 0] == y[functional > 0])
    assert set(model.roles_) <= {"out", "margin", "inside", "misclassified"}
    steps = model.n_iter_.sum()
    assert model.fit(X, y).n_iter_.sum() < steps


def test_a_class_without_weight_is_never_predicted():
    X, y = data()
    model = SVC(multi_class="ovr").fit(X, y, (y != 2).astype(float))
    assert 2 not in model.predict(X)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])


def test_what_needs_pairs_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match="needs a machine per pair of classes"):
        SVC(multi_class="ovr", decision_function_shape="ovo").fit(X, y)
    with pytest.raises(TypeError, match="scikit-learn's SVC has no multi_class='ovr'"):
        to_sklearn(SVC(multi_class="ovr").fit(X, y))


def test_machines_share_the_kernel_matrix():
    X, y = data()
    calls = []

    def counted(left, right):
        calls.append(len(left) * len(right))
        return left @ right.T

    from maxmargin.kernels import Custom

    kernel = Custom(counted, positive_semidefinite=True)
    SVC(kernel=kernel, multi_class="ovr").fit(X, y)
    whole = sum(1 for size in calls if size == 160 * 160)
    assert whole == 1
