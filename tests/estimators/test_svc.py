"""What SVC promises to someone who comes from scikit-learn, and what it adds."""

import os
import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier

from maxmargin import SVC, NuSVC
from maxmargin.errors import ConvergenceWarning, MercerWarning, NotSeparableError
from maxmargin.estimators.machines import Workshop
from maxmargin.kernels import RBF, Custom, Linear, Polynomial, Precomputed
from maxmargin.solvers import smo

IRIS = load_iris(return_X_y=True)
TIGHT = {"tol": 1e-8}


def blobs(n_classes, seed=0, n=120):
    return make_blobs(n, 3, centers=n_classes, cluster_std=3.0, random_state=seed)


# The drop-in.


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_decisions_and_labels_are_scikit_learns(n_classes, kernel, shape):
    X, y = blobs(n_classes)
    options = {"kernel": kernel, "decision_function_shape": shape, "coef0": 1.0, **TIGHT}
    ours, theirs = SVC(**options).fit(X, y), sklearn.svm.SVC(**options).fit(X, y)
    expected = theirs.decision_function(X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(ours.decision_function(X), expected, rtol=0, atol=1e-4 * scale)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fitted_attributes_look_like_scikit_learns(n_classes, container):
    X, y = blobs(n_classes)
    X = container(X)
    ours = SVC(kernel="linear", **TIGHT).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", **TIGHT).fit(X, y)
    for name in (
        "support_", "support_vectors_", "n_support_", "dual_coef_", "coef_", "intercept_",
        "n_iter_", "class_weight_", "classes_",
    ):  # fmt: skip
        mine, reference = getattr(ours, name), getattr(theirs, name)
        assert type(mine) is type(reference), name
        assert mine.dtype == reference.dtype, name
        assert mine.shape[:1] == reference.shape[:1] or "support" in name, name
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    difference = abs(ours.coef_ - theirs.coef_.copy()).max()
    assert difference < 1e-4 * abs(theirs.coef_.copy()).max()
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_support_vectors_are_grouped_by_class():
    X, y = blobs(4)
    order = np.random.default_rng(0).permutation(len(y))
    model = SVC().fit(X[order], y[order])
    labels = y[order][model.support_]
    assert np.all(np.diff(labels) >= 0)
    np.testing.assert_array_equal(np.bincount(labels), model.n_support_)
    np.testing.assert_array_equal(model.support_vectors_, X[order][model.support_])


def test_two_points_have_the_textbook_solution():
    model = SVC(kernel="linear").fit([[-1, -1], [1, 1]], [0, 1])
    np.testing.assert_array_equal(model.dual_coef_, [[-0.25, 0.25]])
    assert model.intercept_ == [0.0]


def test_coef_is_read_only_and_absent_for_other_kernels():
    X, y = blobs(2)
    coef = SVC(kernel="linear").fit(X, y).coef_
    with pytest.raises(ValueError, match="read-only"):
        coef[0, 0] = 1.0
    assert not hasattr(SVC(kernel="rbf").fit(X, y), "coef_")
    assert SVC(kernel=Linear()).fit(X, y).coef_.shape == (1, 3)


def test_break_ties_follows_the_decision_function():
    X, y = blobs(5, n=300)
    model = SVC(break_ties=True, gamma=0.01).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(X)


@pytest.mark.parametrize("labels", [["b", "a"], [True, False], [2**62, -5], [0.0, 1.0]])
def test_labels_come_back_exactly(labels):
    X, y = blobs(2)
    y = np.asarray(labels)[y]
    model = SVC().fit(X, y)
    assert model.predict(X).dtype == y.dtype
    assert model.score(X, y) > 0.5
    assert set(model.predict(X)) <= set(y)


def test_works_in_grid_search_and_one_vs_rest():
    X, y = IRIS
    search = GridSearchCV(SVC(kernel=RBF()), {"kernel__gamma": [0.01, 0.1], "C": [1, 10]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.9
    assert OneVsRestClassifier(SVC()).fit(X, y).score(X, y) > 0.9


def test_class_weight_multiplies_C():
    X, y = blobs(3)
    weighted = SVC(class_weight={0: 5.0, 2: 0.5}, **TIGHT).fit(X, y)
    same = SVC(**TIGHT).fit(X, y, sample_weight=np.array([5.0, 1.0, 0.5])[y])
    # gamma="scale" uses sample weights, and no class weights, as in scikit-learn
    same_gamma = SVC(gamma=weighted.kernel_.gamma, **TIGHT).fit(X, y, np.array([5.0, 1.0, 0.5])[y])
    np.testing.assert_allclose(weighted.decision_function(X), same_gamma.decision_function(X))
    assert same.kernel_.gamma != weighted.kernel_.gamma
    np.testing.assert_array_equal(weighted.class_weight_, [5.0, 1.0, 0.5])


# Input in every form.


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "laplacian"])
@pytest.mark.parametrize("container", ["csr", "csc", "coo", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.filterwarnings("ignore::maxmargin.errors.MercerWarning")
def test_sparse_is_dense(kernel, container, kind):
    X, y = make_classification(150, 20, random_state=0)
    X[np.abs(X) < 0.8] = 0
    options = {"kernel": kernel, "gamma": 0.1, **TIGHT}
    dense = SVC(**options).fit(X, y)
    stored = getattr(sparse, f"{container}_{kind}")(X)
    other = SVC(**options).fit(stored, y)
    expected = dense.decision_function(X)
    np.testing.assert_allclose(other.decision_function(stored), expected, atol=1e-9)
    np.testing.assert_allclose(other.decision_function(X), expected, atol=1e-9)


def test_sparse_input_with_long_indices_or_duplicates_is_accepted_and_left_alone():
    X, y = make_classification(60, 10, random_state=0)
    X[np.abs(X) < 0.8] = 0
    plain = sparse.csr_array(X)
    long = plain.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    doubled = sparse.csr_array(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), 2 * plain.indptr), plain.shape
    )
    before = doubled.data.copy(), doubled.indices.copy()
    expected = SVC().fit(plain, y).decision_function(plain)
    for X_other in (long, doubled):
        model = SVC().fit(X_other, y)
        np.testing.assert_allclose(model.decision_function(X_other), expected, atol=1e-9)
    np.testing.assert_array_equal(doubled.data, before[0])
    np.testing.assert_array_equal(doubled.indices, before[1])


def test_float32_is_float64():
    X, y = make_classification(200, 10, random_state=0)
    single = X.astype(np.float32)
    a, b = SVC().fit(single, y), SVC().fit(single.astype(np.float64), y)
    np.testing.assert_array_equal(a.decision_function(single), b.decision_function(single))


def test_precomputed_and_callable_equal_the_kernel():
    X, y = blobs(3)
    kernel = RBF(gamma=0.1)
    expected = SVC(kernel=kernel, **TIGHT).fit(X, y).decision_function(X)
    for other in (kernel.__call__, Custom(kernel.__call__, positive_semidefinite=True)):
        model = SVC(kernel=other, **TIGHT).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-7)
    for other in ("precomputed", Precomputed(), 1.0 * Precomputed()):
        model = SVC(kernel=other, **TIGHT).fit(kernel(X), y)
        np.testing.assert_allclose(model.decision_function(kernel(X)), expected, atol=1e-7)
        assert model.__sklearn_tags__().input_tags.pairwise


def test_callable_on_strings():
    def shared_letters(left, right):
        return np.array([[len(set(a) & set(b)) for b in right] for a in left])

    words, y = ["abc", "abd", "acd", "xyz", "xyw", "zyw"], [0, 0, 0, 1, 1, 1]
    model = SVC(kernel=shared_letters).fit(words, y)
    np.testing.assert_array_equal(model.predict(["ab", "xy"]), [0, 1])


@pytest.mark.parametrize("shift", [1e2, 1e5, 1e8])
def test_a_shift_of_all_points_changes_nothing(shift):
    X, y = make_classification(200, 10, random_state=0)
    X = X.round(4)
    base = SVC(gamma=0.1).fit(X, y).decision_function(X)
    shifted = (X + shift) - shift + shift  # what X + shift can hold
    moved = SVC(gamma=0.1).fit(shifted, y).decision_function(shifted)
    assert np.abs(moved - base).max() <= 100 * shift * np.finfo(float).eps * 10 + 1e-9


def test_read_only_and_strided_input_is_left_alone():
    X, y = make_classification(100, 10, random_state=0)
    expected = SVC().fit(X, y).decision_function(X)
    X.setflags(write=False)
    for other in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        before = other.copy()
        np.testing.assert_allclose(SVC().fit(other, y).decision_function(other), expected)
        np.testing.assert_array_equal(other, before)


# Weights.


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_a_weight_of_two_is_the_row_twice(kernel):
    X, y = blobs(3, n=60)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = SVC(kernel=kernel).fit(X, y, weight)
    repeated = SVC(kernel=kernel).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("absent", [0, 1, 2])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_class_without_weight_stays_and_is_never_predicted(absent, container):
    X, y = blobs(3)
    weight = (y != absent).astype(float)
    model = SVC().fit(container(X), y, weight)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert model.decision_function(container(X)).shape == (len(y), 3)
    assert absent not in model.predict(container(X))
    rest = SVC().fit(container(X[y != absent]), y[y != absent])
    np.testing.assert_array_equal(model.predict(container(X)), rest.predict(container(X)))


# What it adds.


def test_certificate_recomputes_objective_and_gap():
    X, y = blobs(2)
    model = SVC(C=2.0).fit(X, y)
    proof, c = model.certificate_, model.dual_coef_[0]
    K = model.kernel_(model.support_vectors_)
    slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(X))
    assert proof.dual_objective == pytest.approx(np.abs(c).sum() - 0.5 * c @ K @ c)
    assert proof.primal_objective == pytest.approx(0.5 * c @ K @ c + 2.0 * slack.sum())
    assert proof.duality_gap == proof.primal_objective - proof.dual_objective >= -1e-9
    assert proof.n_zero + proof.n_free + proof.n_bound == len(y)
    assert proof.optimal
    assert proof.recomputed
    assert "optimal within tol" in repr(proof)


def test_certificate_of_several_classes_reports_the_worst_part():
    X, y = blobs(4)
    proof = SVC().fit(X, y).certificate_
    assert len(proof.parts) == 6
    assert proof.kkt_violation == max(part.kkt_violation for part in proof.parts)
    assert proof.relative_gap == max(part.relative_gap for part in proof.parts)


def test_roles_follow_alpha_and_slack():
    X, y = blobs(2)
    model = SVC(C=1.0).fit(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    slack = 1 - np.where(y == 1, 1, -1) * model.decision_function(X)
    assert np.all((model.roles_ == "out") == (alpha == 0))
    assert np.all((model.roles_ == "margin") == ((alpha > 0) & (alpha < 1)))
    assert np.all((model.roles_ == "inside") == ((alpha == 1) & (slack <= 1)))
    assert np.all((model.roles_ == "misclassified") == ((alpha == 1) & (slack > 1)))
    assert set(model.roles_) == {"out", "margin", "inside", "misclassified"}


def test_margins_are_signed_distances():
    X, y = blobs(2)
    model = SVC(kernel="linear").fit(X, y)
    functional, geometric = model.margins(X, y)
    signs = np.where(y == 1, 1, -1)
    np.testing.assert_allclose(functional, signs * model.decision_function(X))
    np.testing.assert_allclose(geometric, functional / np.linalg.norm(model.coef_))
    with pytest.raises(ValueError, match="label 7"):
        model.margins(X[:1], [7])


def test_margins_of_several_classes_are_positive_where_all_votes_are_won():
    X, y = blobs(3)
    model = SVC(decision_function_shape="ovo").fit(X, y)
    functional, geometric = model.margins(X, y)
    assert functional.shape == geometric.shape == y.shape
    assert np.all(model.predict(X)[functional > 0] == y[functional > 0])


def test_hard_margin_is_the_limit_of_large_C():
    X, y = make_blobs(80, 2, centers=2, cluster_std=1.0, random_state=3)
    hard = SVC(kernel="linear", C=float("inf"), tol=1e-6).fit(X, y)
    soft = SVC(kernel="linear", C=1e8, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(hard.coef_, soft.coef_, rtol=1e-4)
    np.testing.assert_allclose(hard.intercept_, soft.intercept_, rtol=1e-4)
    assert hard.margins(X, y).functional.min() == pytest.approx(1.0, abs=1e-5)
    assert hard.certificate_.optimal
    assert hard.certificate_.relative_gap < 1e-4


@pytest.mark.parametrize("seed", [1003, 1018, 1065, 1093])
def test_a_narrow_gap_between_many_points_is_a_margin(seed):
    """At a loose tolerance the width of the gap is noise, and may look negative."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y == 1, 5e-3, -5e-3)
    for model in (SVC(kernel="linear", C=float("inf")), NuSVC(kernel="linear", nu=0.005)):
        assert model.fit(X, y).score(X, y) == 1.0
        assert model.converged_


@pytest.mark.parametrize("kernel", ["linear", Polynomial(2)])
def test_hard_margin_without_separator_says_so(kernel):
    X, y = blobs(2)
    with pytest.raises(NotSeparableError, match="cannot be separated"):
        SVC(kernel=kernel, C=float("inf")).fit(X, y)


def test_hard_margin_with_contradictory_points_says_so():
    with pytest.raises(NotSeparableError):
        SVC(C=float("inf")).fit([[0.0], [0.0], [1.0]], [0, 1, 1])


def test_a_matrix_in_single_precision_is_as_good_as_a_kernel():
    X, y = IRIS
    K = RBF(0.1)(X).astype(np.float32)
    assert SVC(kernel="precomputed").fit(K, y).converged_  # and no warning


def test_indefinite_kernel_warns_once_with_its_smallest_eigenvalue():
    X, y = make_classification(100, 10, random_state=0)
    with pytest.warns(MercerWarning, match="kernel not PSD") as caught:
        SVC(kernel="sigmoid", gamma=1.0).fit(X, y)
    assert len(caught) == 1


# Limits.


@pytest.mark.parametrize("max_iter", [0, 1, 2, 5])
def test_max_iter_is_obeyed_exactly_and_warns(max_iter):
    X, y = blobs(2)
    with pytest.warns(
        ConvergenceWarning, match=rf"Solver terminated early \(max_iter={max_iter}\)"
    ) as caught:
        model = SVC(max_iter=max_iter).fit(X, y)
    assert "KKT violation" in str(caught[0].message)
    assert "duality gap" in str(caught[0].message)
    assert model.n_iter_ == [max_iter]
    assert not model.converged_
    assert model.fit_status_ == 1
    assert model.predict(X).shape == y.shape


def test_a_callback_sees_progress_and_can_stop_the_fit():
    X, y = make_classification(4000, 10, flip_y=0.2, random_state=0)
    seen = []

    def stop_at_the_third(progress):
        seen.append(progress)
        return len(seen) == 3

    with pytest.warns(ConvergenceWarning, match="callback"):
        model = SVC(callbacks=[stop_at_the_third]).fit(X, y)
    assert len(seen) == 3
    assert seen[0].objective <= seen[1].objective <= seen[2].objective
    assert seen[2].n_iter > seen[0].n_iter
    assert seen[0].tol == model.tol
    assert not model.converged_
    assert model.certificate_.recomputed
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("model", [NuSVC(nu=0.3), SVC(C=float("inf"), kernel=RBF(5.0))], ids=repr)
def test_progress_of_a_problem_that_is_solved_more_than_once_never_falls(model):
    X, y = make_classification(800, 5, flip_y=0.1, random_state=0)
    steps = []
    model.set_params(callbacks=[lambda progress: steps.append(progress.n_iter)], tol=1e-6).fit(X, y)
    assert len(steps) > 1
    assert steps == sorted(steps)
    assert steps[-1] == np.max(model.n_iter_)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.usefixtures("untraced")
def test_ctrl_c_in_the_first_block_keeps_what_it_has_reached(monkeypatch):
    X, y = make_classification(4000, 10, flip_y=0.3, random_state=0)
    monkeypatch.setattr(smo, "SLICE", 10_000)
    seen = []

    def press_ctrl_c(progress):
        seen.append(progress)
        if progress.n_iter > 50:
            signal.raise_signal(signal.SIGINT)

    model = SVC(C=1e4, kernel="linear", callbacks=[press_ctrl_c])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(model.support_) > 0
    kept = model.certificate_.dual_objective
    assert kept >= seen[-1].objective * (1 - 1e-6) > 0


def test_warm_start_begins_where_the_last_fit_ended():
    X, y = blobs(3, n=300)
    model = SVC(warm_start=True).fit(X, y)
    first = model.n_iter_.sum()
    cold = model.decision_function(X)
    model.fit(X, y)
    assert model.n_iter_.sum() < first / 2
    np.testing.assert_allclose(model.decision_function(X), cold, atol=1e-6)
    warm = model.set_params(C=2.0, tol=1e-8).fit(X, y).decision_function(X)
    fresh = SVC(C=2.0, tol=1e-8).fit(X, y).decision_function(X)
    np.testing.assert_allclose(warm, fresh, atol=1e-6)
    fewer = model.fit(X[:150], y[:150])
    assert fewer.converged_


# State.


@pytest.mark.parametrize("first", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_warm_start_after_another_decomposition_begins_anew(first, n_classes):
    X, y = make_blobs(150, centers=n_classes, cluster_std=3.0, random_state=0)
    second = {"ovo": "ovr", "ovr": "ovo"}[first]
    model = SVC(multi_class=first, warm_start=True).fit(X, y)
    model.set_params(multi_class=second).fit(X, y)
    expected = SVC(multi_class=second).fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)


def test_ctrl_c_in_one_of_several_pairs_is_not_lost(monkeypatch):
    """Pairs are solved side by side, so that the last one may have been done before."""

    def solve(*arguments):
        outcomes = original(*arguments)
        interrupted = replace(outcomes[1].solution, stopped="interrupted")
        outcomes[1] = replace(outcomes[1], solution=interrupted)
        return outcomes

    original = Workshop.solve_all
    monkeypatch.setattr(Workshop, "solve_all", solve)
    X, y = make_blobs(60, centers=3, random_state=0)
    model = SVC(callbacks=[lambda progress: False])  # or small pairs are solved at once
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not model.converged_
    assert model.predict(X).shape == (60,)


def test_survives_pickle_and_clone_and_later_changes_of_X():
    X, y = blobs(2)
    X = X.copy()
    model = SVC(C=0.01).fit(X, y)  # nearly all points are support vectors
    expected = model.decision_function(X)
    original = X.copy()
    X[:] = 0
    np.testing.assert_array_equal(model.decision_function(original), expected)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(original), expected)
    assert again.certificate_ == model.certificate_
    assert clone(model).get_params() == model.get_params()


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = blobs(2)
    model = SVC().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((10, 7), np.nan), np.arange(10) % 2)
    with pytest.raises(ValueError, match="kernel overflow"):
        model.fit(np.full((10, 7), 1e200) * np.arange(10)[:, None], np.arange(10) % 2)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_altered_attributes_are_refused():
    X, y = blobs(2)
    for name, value in [
        ("dual_coef_", np.ones((1, 3))),
        ("support_vectors_", np.ones((2, 3))),
        ("n_support_", np.array([1, 1], dtype=np.int32)),
    ]:
        model = SVC().fit(X, y)
        setattr(model, name, value)
        with pytest.raises(ValueError, match="internal representation of SVC was altered"):
            model.predict(X)


def test_global_random_state_is_untouched():
    X, y = blobs(3)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    SVC().fit(X, y).predict(X)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


# Cases a hostile reader came up with.


@pytest.mark.parametrize("gap", [1.0, 1e-3])
def test_hard_margin_with_a_far_point_on_the_right_side(gap):
    model = SVC(kernel="linear", C=float("inf")).fit([[0.0], [gap], [1e2]], [0, 1, 1])
    np.testing.assert_allclose(model.coef_, [[2 / gap]], rtol=1e-3)
    assert model.certificate_.optimal


def test_hard_margin_far_from_the_origin():
    model = SVC(kernel="linear", C=float("inf")).fit([[1e6, 0], [1e6, 1]], [0, 1])
    np.testing.assert_allclose(model.coef_, [[0, 2]], atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_points_that_are_all_the_same(kernel):
    X, y = np.zeros((400, 3)), np.arange(400) // 200
    model = SVC(kernel=kernel).fit(X, y)
    assert np.all(np.isfinite(model.dual_coef_))
    assert model.certificate_.optimal
    assert model.certificate_.dual_feasibility == 0


@pytest.mark.parametrize("scale", [1e-16, 1e-9, 1e9, 1e16, 1e19])
def test_any_scale_of_a_linear_problem_is_the_same_problem(scale):
    X, y = make_blobs(300, 3, centers=2, random_state=1)
    expected = SVC(kernel="linear", C=1.0).fit(X, y)
    model = SVC(kernel="linear", C=1.0 / scale**2).fit(X * scale, y)
    np.testing.assert_allclose(
        model.decision_function(X * scale), expected.decision_function(X), rtol=1e-5, atol=1e-5
    )
    assert model.converged_


def test_callable_kernel_on_a_pandas_series_goes_by_position():
    import pandas as pd

    def shared_letters(left, right):
        return np.array([[len(set(a) & set(b)) for b in right] for a in left])

    words, y = ["abc", "abd", "acd", "xyz", "xyw", "zyw"], np.array([0, 0, 0, 1, 1, 1])
    series = pd.Series(words, index=[3, 1, 0, 5, 4, 2])
    for kernel in (shared_letters, Custom(shared_letters)):
        np.testing.assert_array_equal(SVC(kernel=kernel).fit(series, y).predict(series), y)


def test_sparse_points_far_from_the_origin():
    X, y = make_classification(200, 10, random_state=0)
    X = X.round(3) + 1e6
    dense = SVC(gamma=0.1).fit(X, y).decision_function(X)
    stored = sparse.csr_array(X)
    np.testing.assert_allclose(
        SVC(gamma=0.1).fit(stored, y).decision_function(stored), dense, atol=1e-6
    )


def test_long_indices_work_with_every_kernel():
    X, y = make_classification(60, 10, random_state=0)
    X[np.abs(X) < 0.8] = 0
    long = sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for kernel in ("linear", "poly", "rbf", "laplacian"):
        assert SVC(kernel=kernel).fit(long, y).predict(long).shape == (60,)


def test_warm_start_makes_no_new_support_vectors_out_of_rounding():
    X, y = make_classification(3000, 10, flip_y=0.1, random_state=0)
    cold = SVC().fit(X, y)
    warm = SVC(warm_start=True).fit(X, y).fit(X, y)
    assert len(warm.support_) <= 1.01 * len(cold.support_)
    assert np.abs(warm.dual_coef_).min() > 1e-12
    assert warm.certificate_.dual_objective == pytest.approx(cold.certificate_.dual_objective)


def test_the_order_of_the_rows_does_not_matter():
    X, y = make_classification(60, 3, n_redundant=0, weights=[0.8], flip_y=0.2, random_state=2)
    for C in (1e-4, 1e-2, 1.0):
        model = SVC(C=C, class_weight="balanced").fit(X, y)
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(y))
            other = SVC(C=C, class_weight="balanced").fit(X[order], y[order])
            np.testing.assert_allclose(other.intercept_, model.intercept_, atol=1e-6)


def test_margins_need_one_label_per_row():
    X, y = blobs(2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVC().fit(X, y).margins(X[:1], y)


def test_margins_ignore_a_class_without_weight():
    X, y = blobs(3)
    with_dead = SVC(gamma=0.1).fit(X, y, (y != 2).astype(float)).margins(X[y != 2], y[y != 2])
    without = SVC(gamma=0.1).fit(X[y != 2], y[y != 2]).margins(X[y != 2], y[y != 2])
    np.testing.assert_allclose(with_dead.functional, without.functional, atol=1e-6)


@pytest.mark.parametrize("weight", [{0: float("nan")}, {0: -1.0}, {0: float("inf")}])
def test_class_weights_that_mean_nothing_are_refused(weight):
    X, y = blobs(3)
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict"):
        SVC(class_weight=weight).fit(X, y)


def test_parameters_of_scikit_learns_own_class_are_accepted():
    X, y = blobs(2)
    assert SVC(**sklearn.svm.SVC().get_params()).fit(X, y).converged_
