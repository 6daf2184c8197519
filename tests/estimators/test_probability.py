"""Probabilities that agree with predict, sum to one, and come out the same every time."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import sklearn.svm
from scipy.optimize import minimize_scalar
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, log_loss

from maxmargin import SVC, NuSVC
from maxmargin.compiled.sigmoid import slope_of_side
from maxmargin.engines.cpu import CPUKernelMatrix
from maxmargin.estimators import svc
from maxmargin.estimators.probability import couple, fit_slopes, positive_probability
from maxmargin.solvers import smo

CASES = [(SVC, {}), (SVC, {"C": 100.0}), (NuSVC, {"nu": 0.2})]


def split(n_classes, seed=0):
    X, y = make_blobs(400, 4, centers=n_classes, cluster_std=5.0, random_state=seed)
    return X[:200], y[:200], X[200:], y[200:]


@pytest.mark.parametrize(("cls", "options"), CASES)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("break_ties", [False, True])
def test_rows_sum_to_one_and_the_likeliest_class_is_the_predicted_one(
    cls, options, n_classes, break_ties
):
    X, y, X_new, _ = split(n_classes)
    model = cls(probability=True, break_ties=break_ties, **options).fit(X, y)
    p = model.predict_proba(X_new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(p >= 0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_new))
    np.testing.assert_array_equal(np.log(p), model.predict_log_proba(X_new))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_as_good_as_libsvms_on_new_data(n_classes):
    X, y, X_new, y_new = split(n_classes)
    ours = SVC(probability=True).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated there from 1.9 on
        theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y)
    mine = log_loss(y_new, ours.predict_proba(X_new))
    assert mine <= 1.1 * log_loss(y_new, theirs.predict_proba(X_new))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_far_away_no_class_is_certain_and_none_is_nan(multi_class, n_classes):
    X, y, X_new, _ = split(n_classes)
    model = SVC(kernel="poly", degree=4, multi_class=multi_class, probability=True).fit(X, y)
    far = 1e3 * X_new
    p = model.predict_proba(far)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(np.isfinite(model.predict_log_proba(far)))
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(far))


def interrupted_fit(monkeypatch, model, fold, X, y):
    """Fit with Ctrl-C in one of the folds, counted over all machines; how many were solved."""
    solved = []

    def leave_out(*arguments):
        solved.append(original(*arguments))
        return replace(solved[-1], stopped="interrupted") if len(solved) == fold else solved[-1]

    original = svc.leave_out
    monkeypatch.setattr(svc, "leave_out", leave_out)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    return len(solved)


def test_ctrl_c_between_the_folds_keeps_the_model_without_probabilities(monkeypatch):
    X, y, X_new, _ = split(2)
    model = SVC(probability=True)
    assert interrupted_fit(monkeypatch, model, 2, X, y) == 2
    assert not model.converged_
    np.testing.assert_array_equal(model.predict(X_new), SVC().fit(X, y).predict(X_new))
    with pytest.raises(NotFittedError):
        model.predict_proba(X_new)


def test_ctrl_c_in_a_later_pair_leaves_no_probabilities_of_the_first_ones(monkeypatch):
    X, y, X_new, _ = split(3)
    model = SVC(probability=True, callbacks=[lambda progress: False])  # pair by pair
    interrupted_fit(monkeypatch, model, 13, X, y)
    with pytest.raises(NotFittedError, match="interrupted"):
        model.predict_proba(X_new)


def test_folds_of_a_small_fit_share_its_matrix(monkeypatch):
    """A block of float64 holds all points, and none in float32 is made beside it."""
    made = []

    def computed(matrix, rows, dtype):
        made.append((len(rows), dtype))
        return original(matrix, rows, dtype)

    original = CPUKernelMatrix._computed
    monkeypatch.setattr(CPUKernelMatrix, "_computed", computed)
    X, y, _, _ = split(2)
    SVC(probability=True).fit(X, y)
    assert {dtype for _, dtype in made} == {np.dtype(np.float64)}
    assert [size for size, _ in made].count(len(y)) == 1


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 2], [0, 0, 0, 1, 2, 2]])
def test_classes_of_few_rows_leave_folds_without_them(y):
    X = np.arange(2.0 * len(y)).reshape(-1, 2)
    for model in (SVC(kernel="linear"), NuSVC(kernel="linear", nu=0.5)):
        p = model.set_params(probability=True).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("far", [1.0, 1e3, 1e9])
def test_a_far_decision_says_nothing_about_the_slope(far):
    """Of a point of next to no weight; the optimum is SciPy's."""
    rng = np.random.default_rng(0)
    f = np.append(rng.random(50), far)
    target, weight = (
        np.append(rng.random(50) < 0.5 + 0.5 * f[:50], 1.0),
        np.append(np.ones(50), 1e-9),
    )

    def loss(slope):
        return weight @ (np.logaddexp(0.0, slope * f) - target * slope * f)

    best = minimize_scalar(loss, (0.1, 1.0), tol=1e-12).x
    assert slope_of_side(f, target, weight, 0.0, True) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("solver", ["smo", "smo_pairs"])
def test_folds_of_rows_beyond_single_precision(solver):
    X, y, _, _ = split(2)
    model = SVC(kernel="linear", solver=solver, probability=True, max_iter=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p = model.fit(1e20 * X, y).predict_proba(1e20 * X)
    assert np.all(np.isfinite(p))


def test_calibrated():
    X, y = make_classification(2000, 6, flip_y=0.3, random_state=0)
    model = SVC(probability=True).fit(X[:1000], y[:1000])
    p = model.predict_proba(X[1000:])[:, 1]
    assert brier_score_loss(y[1000:], p) < 0.2
    confident = p > 0.7
    assert abs(p[confident].mean() - y[1000:][confident].mean()) < 0.08


REWEIGHTED = [
    (SVC, {"class_weight": "balanced"}, 2),
    (SVC, {"class_weight": "balanced"}, 3),
    (SVC, {"class_weight": {0: 1.0, 1: 10.0, 2: 3.0}}, 3),
    (SVC, {"class_weight": "balanced", "multi_class": "ovr"}, 3),
    (NuSVC, {"class_weight": "balanced", "nu": 0.3}, 2),
]


def unequal(n_classes):
    shares = [0.04, 0.06][: n_classes - 1]
    X, y = make_classification(
        2000, 6, n_informative=4, n_classes=n_classes, weights=[1 - sum(shares), *shares],
        n_clusters_per_class=1, flip_y=0.02, random_state=0,
    )  # fmt: skip
    return X[:1000], y[:1000], X[1000:], y[1000:]


@pytest.mark.parametrize(("cls", "options", "n_classes"), REWEIGHTED)
def test_with_class_weight_the_probabilities_are_those_of_the_rows_as_they_are(
    cls, options, n_classes
):
    X, y, X_new, y_new = unequal(n_classes)
    model = cls(probability=True, **options).fit(X, y)
    p = model.predict_proba(X_new)
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(y_new) / len(y_new), atol=0.02)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    likeliest = np.argmax(p * model.class_weight_, axis=1)
    np.testing.assert_array_equal(model.classes_[likeliest], model.predict(X_new))
    if cls is SVC and "multi_class" not in options:
        theirs = sklearn.svm.SVC(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated there from 1.9 on
            theirs.set_params(probability=True, random_state=0).fit(X, y)
        assert log_loss(y_new, p) <= 1.1 * log_loss(y_new, theirs.predict_proba(X_new))


def test_equal_weights_of_all_classes_are_a_matter_of_the_price_alone():
    X, y, X_new, _ = split(3)
    plain = SVC(C=3.0, probability=True).fit(X, y)
    weighted = SVC(probability=True, class_weight=dict.fromkeys(range(3), 3.0)).fit(X, y)
    np.testing.assert_allclose(
        weighted.predict_proba(X_new), plain.predict_proba(X_new), atol=1e-12
    )


def test_weights_of_rows_are_a_population_and_weights_of_classes_are_not():
    X, y, X_new, y_new = unequal(2)
    of_rows = SVC(gamma=0.1, probability=True).fit(X, y, 1.0 + 9.0 * y)
    of_classes = SVC(gamma=0.1, probability=True, class_weight={1: 10.0}).fit(X, y)
    np.testing.assert_array_equal(
        of_rows.decision_function(X_new), of_classes.decision_function(X_new)
    )
    p = of_rows.predict_proba(X_new)[:, 1], of_classes.predict_proba(X_new)[:, 1]
    counts = 1.0 + 9.0 * y_new
    assert abs(np.average(p[0] - y_new, weights=counts)) < 0.05
    assert abs(np.mean(p[1] - y_new)) < 0.02
    assert np.mean(p[0] - y_new) > 0.05


def test_folds_by_blocks_are_those_of_the_whole(monkeypatch):
    X, y, X_new, _ = split(2)
    expected = SVC(probability=True).fit(X, y).predict_proba(X_new)
    monkeypatch.setattr(smo, "TIGHT", 0)
    monkeypatch.setattr(smo, "WHOLE", 0)
    monkeypatch.setattr(smo, "SMALLEST_BLOCK", 32)
    found = SVC(probability=True).fit(X, y).predict_proba(X_new)
    np.testing.assert_allclose(found, expected, atol=0.02)  # folds are solved to two digits


def test_the_same_in_every_thread():
    X, y, X_new, _ = split(3)

    def probabilities(_):
        return SVC(probability=True, random_state=1).fit(X, y).predict_proba(X_new)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(probabilities, range(8)))
    assert all(np.array_equal(result, results[0]) for result in results)


def test_the_model_itself_does_not_depend_on_it():
    X, y, X_new, _ = split(3)
    plain, with_probability = SVC().fit(X, y), SVC(probability=True).fit(X, y)
    np.testing.assert_array_equal(
        plain.decision_function(X_new), with_probability.decision_function(X_new)
    )


def test_absent_without_probability():
    X, y, *_ = split(2)
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(X)


def test_a_class_without_weight_is_next_to_impossible():
    X, y, X_new, _ = split(3)
    p = SVC(probability=True).fit(X, y, (y != 1).astype(float)).predict_proba(X_new)
    assert p[:, 1].max() < 1e-3


def test_slopes_are_the_likeliest_ones():
    rng = np.random.default_rng(0)
    f = rng.standard_normal(20_000)
    truth = positive_probability(f, [2.0, 0.5])
    signs = np.where(rng.random(20_000) < truth, 1.0, -1.0)
    np.testing.assert_allclose(fit_slopes(f, signs, np.ones(20_000)), [2.0, 0.5], rtol=0.1)


def test_coupling_recovers_probabilities_that_the_pairs_agree_on():
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    pairs = np.column_stack([p[:, i] / (p[:, i] + p[:, j]) for i, j in [(0, 1), (0, 2), (1, 2)]])
    np.testing.assert_allclose(couple(pairs, 3), p, atol=1e-9)


def test_hard_margin_and_any_scale_of_the_decisions():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    hard = SVC(kernel="linear", C=np.inf, probability=True).fit(X, y).predict_proba(X)
    assert np.all(np.isfinite(hard))
    f, signs = np.array([-2.0, -1.0, 0.5, 1.0, 3.0, -0.5]), np.array([-1, -1, 1, 1, 1, 1.0])
    expected = fit_slopes(f, signs, np.ones(6))
    for scale in (1e-12, 1e12):
        np.testing.assert_allclose(fit_slopes(f * scale, signs, np.ones(6)) * scale, expected)


@pytest.mark.parametrize("n", [100, 700])
def test_folds_of_kernel_values_beyond_float32(n):
    X, y = make_classification(n, 4, class_sep=0.5, random_state=0)
    plain = SVC(kernel="linear", probability=True).fit(X, y)
    large = SVC(kernel="linear", probability=True, C=1e-44).fit(1e22 * X, y)
    found, expected = large.predict_proba(1e22 * X), plain.predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=2e-3)
