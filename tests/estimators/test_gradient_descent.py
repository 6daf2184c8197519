"""Gradient descent against a plain NumPy version of itself, and against exact optima."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import sklearn.linear_model
from linear_oracle import least_objective
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import (
    load_svmlight_file,
    make_blobs,
    make_classification,
    make_regression,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVR, LinearSVC
from maxmargin.errors import ConvergenceWarning
from maxmargin.estimators.gradient_descent import (
    GradientDescentClassifier,
    GradientDescentRegressor,
)
from maxmargin.losses import loss_named
from maxmargin.penalties import penalty_named

CLASSIFIER_LOSSES = ["hinge", "squared_hinge", "logistic", "squared"]
REGRESSOR_LOSSES = ["squared", "epsilon_insensitive", "squared_epsilon_insensitive"]
LOSSES = [(GradientDescentClassifier, loss) for loss in CLASSIFIER_LOSSES] + [
    (GradientDescentRegressor, loss) for loss in REGRESSOR_LOSSES
]


def data(cls, n=60, d=4, seed=0):
    if cls is GradientDescentClassifier:
        X, y = make_classification(
            n, d, n_informative=3, n_redundant=0, flip_y=0.1, random_state=seed
        )
        return X, np.where(y == 1, 1.0, -1.0)
    X, y = make_regression(n, d, noise=5.0, random_state=seed)
    return X, y / 50


def plain_descent(X, y, weight, epochs, batch_size, loss, penalty, alpha, eta0, schedule, averages):
    """The module docstring of the solver in NumPy, every vector whole; rows in their order."""
    n, w, b, t = len(y), np.zeros(X.shape[1]), 0.0, 0
    cost = n * weight / weight.sum()
    means = []
    for _ in range(epochs):
        for start in range(0, n, batch_size):
            rows, t = slice(start, start + batch_size), t + 1
            eta = {"constant": eta0, "inverse": eta0 / t, "pegasos": 1 / (alpha * t)}[schedule]
            slopes = cost[rows] * loss.slope(y[rows], X[rows] @ w + b) / len(y[rows])
            w = w - eta * (slopes @ X[rows] + alpha * penalty.gradient(w))
            b = b - eta * slopes.sum()
            if schedule == "pegasos" and loss.name == "hinge":
                w = w * min(1.0, 1 / (np.sqrt(alpha) * np.linalg.norm(w)))
            means.append(np.append(w, b))
    if averages:  # mean_t = mean_(t-1) + 4 / (t + 3) (w_t - mean_(t-1))
        mean = np.zeros(len(w) + 1)
        for t, iterate in enumerate(means, start=1):
            mean += 4 / (t + 3) * (iterate - mean)
        return mean
    return means[-1]


@pytest.mark.parametrize(("cls", "name"), LOSSES)
@pytest.mark.parametrize("penalty", ["none", "l1", "l2"])
@pytest.mark.parametrize("batch_size", [1, 7, 60])
def test_every_step_is_that_of_the_plain_version_dense_and_sparse(cls, name, penalty, batch_size):
    X, y = data(cls)
    X[np.abs(X) < 0.4] = 0.0
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(y))
    for schedule in ("constant", "inverse", "pegasos"):
        if schedule == "pegasos" and penalty != "l2":
            continue
        for averages in (False, True):
            options = {"alpha": 0.3, "eta0": 0.05, "schedule": schedule}
            model = cls(
                name, penalty=penalty, batch_size=batch_size, average=averages, shuffle=False,
                max_iter=4, tol=0, **options,
            )  # fmt: skip
            expected = plain_descent(
                X, y, weight, 4, batch_size, loss_named(name), penalty_named(penalty),
                averages=averages, **options,
            )  # fmt: skip
            for container in (np.asarray, sparse.csr_array, sparse.csc_matrix):
                model.fit(container(X), y, weight)
                got = np.append(model.coef_, model.intercept_)
                np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


def test_thousands_of_shrinking_steps_keep_their_digits():
    """w = scale v and the mean beside it are settled often enough: eta alpha is large here."""
    X, y = data(GradientDescentClassifier, n=500)
    options = {"alpha": 2.0, "eta0": 0.1, "schedule": "constant"}
    model = GradientDescentClassifier(
        "logistic", batch_size=1, shuffle=False, average=True, tol=0, max_iter=8, **options
    ).fit(X, y)
    expected = plain_descent(
        X, y, np.ones(500), 8, 1, loss_named("logistic"), penalty_named("l2"), averages=True,
        **options,
    )  # fmt: skip
    got = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_logistic_regression_is_scikit_learns():
    X, y = data(GradientDescentClassifier, n=200)
    alpha = 0.05
    ours = GradientDescentClassifier("logistic", alpha=alpha, tol=1e-13, max_iter=20_000).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(C=1 / (200 * alpha), tol=1e-10).fit(X, y)
    assert ours.converged_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_regression_is_scikit_learns(fit_intercept):
    X, y = data(GradientDescentRegressor, n=200)
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 200)
    ours = GradientDescentRegressor(
        alpha=0.1, tol=1e-10, max_iter=20_000, fit_intercept=fit_intercept
    ).fit(X, y, weight)
    theirs = sklearn.linear_model.Ridge(0.1 * weight.sum(), fit_intercept=fit_intercept)
    theirs.fit(X, y, weight)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


def test_the_squared_hinge_without_offset_is_liblinears():
    X, y = data(GradientDescentClassifier, n=100)
    ours = GradientDescentClassifier(
        "squared_hinge", alpha=0.05, fit_intercept=False, tol=1e-10, max_iter=20_000
    ).fit(X, y)
    theirs = LinearSVC(C=1 / (100 * 0.05), fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_hinge_and_l2_are_the_soft_margin_svm():
    """lambda |w|^2 = alpha / 2 |w|^2 with alpha = 1 / (n C): the same w and b, to 1 %."""
    X, y = data(GradientDescentClassifier, n=40)
    C = 0.25
    alpha = 1 / (40 * C)
    machine = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    descent = GradientDescentClassifier(
        "hinge", alpha=alpha, schedule="inverse", eta0=1 / alpha, average=True, batch_size=1,
        max_iter=5000, tol=0,
    ).fit(X, y)  # fmt: skip
    size = np.linalg.norm(machine.coef_)
    assert np.linalg.norm(descent.coef_ - machine.coef_) < 0.01 * size
    assert abs(descent.intercept_ - machine.intercept_)[0] < 0.01 * size
    optimum = machine.certificate_.primal_objective / (40 * C)
    assert optimum * (1 - 1e-6) <= descent.trace_["objective"][-1] <= optimum * 1.0005


def test_the_lasso_by_subgradient_approaches_scikit_learns():
    X, y = make_regression(100, 10, n_informative=3, noise=2.0, random_state=0)
    y, alpha = y / 50, 0.1
    ours = GradientDescentRegressor(penalty="l1", alpha=alpha, eta0=0.002, max_iter=4000, tol=0)
    ours.fit(X, y)
    theirs = sklearn.linear_model.Lasso(alpha, tol=1e-10).fit(X, y)

    def objective(w, b):
        return np.sum((y - X @ w - b) ** 2) / 200 + alpha * np.abs(w).sum()

    optimum = objective(theirs.coef_, theirs.intercept_)
    value = objective(ours.coef_, ours.intercept_)
    assert value == pytest.approx(ours.trace_["objective"][-1], rel=1e-12)
    assert optimum <= value <= optimum * 1.001
    zeros = theirs.coef_ == 0
    assert zeros.any()
    assert np.all(np.abs(ours.coef_[zeros]) < 0.001)
    assert np.any(ours.coef_[zeros] != 0)  # as documented: near zero, not at it


def test_the_epsilon_insensitive_loss_approaches_the_svr():
    X, y = data(GradientDescentRegressor, n=50)
    C, epsilon = 1.0, 0.2
    machine = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-8).fit(X, y)
    optimum = machine.certificate_.primal_objective / (50 * C)
    descent = GradientDescentRegressor(
        "epsilon_insensitive", epsilon=epsilon, alpha=1 / (50 * C), schedule="inverse", eta0=2.0,
        batch_size=5, average=True, max_iter=3000, tol=0,
    ).fit(X, y)  # fmt: skip
    assert optimum * (1 - 1e-6) <= descent.trace_["objective"][-1] <= optimum * 1.002
    np.testing.assert_allclose(descent.coef_, machine.coef_[0], atol=0.02)


@pytest.mark.parametrize(("cls", "name"), LOSSES)
@pytest.mark.parametrize("penalty", [None, "l2"])
def test_full_batches_with_safe_steps_always_go_down(cls, name, penalty):
    X, y = data(cls)
    options = {"penalty": penalty, "max_iter": 60, "tol": 0}
    if name in ("hinge", "epsilon_insensitive"):
        options["eta0"] = 1e-3  # a kink needs small steps, and a start away from the optimum
    model = cls(name, alpha=0.01, **options).fit(X * [1, 10, 0.1, 3], y)
    assert np.all(np.diff(model.trace_["objective"]) < 0)


def test_badly_scaled_data_do_not_diverge_with_the_automatic_step():
    X, y = data(GradientDescentRegressor)
    for batch_size in (None, 1, 8):
        model = GradientDescentRegressor(batch_size=batch_size, max_iter=50, tol=0)
        model.fit(X * [1, 1e3, 1e6, 1e-3], y * 1e4)
        start = np.mean((y * 1e4) ** 2) / 2
        assert model.trace_["objective"][-1] < start


@pytest.mark.parametrize(("cls", "name"), LOSSES)
def test_a_batch_of_all_rows_is_the_full_batch(cls, name):
    X, y = data(cls)
    full = cls(name, max_iter=20, tol=0).fit(X, y)
    for batch_size in (60, 1000):
        same = cls(name, max_iter=20, tol=0, batch_size=batch_size, random_state=3).fit(X, y)
        np.testing.assert_array_equal(same.coef_, full.coef_)
        assert same.t_ == full.t_ == 20


@pytest.mark.parametrize(("cls", "name"), LOSSES)
def test_weights_are_repetition_for_full_batches(cls, name):
    X, y = data(cls)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = cls(name, max_iter=200, tol=0).fit(X, y, weight)
    repeated = cls(name, max_iter=200, tol=0).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        weighted.trace_["objective"], repeated.trace_["objective"], rtol=1e-10
    )


def test_class_weights_are_sample_weights():
    X, y = data(GradientDescentClassifier)
    by_class = GradientDescentClassifier("logistic", class_weight={-1: 1, 1: 3}).fit(X, y)
    by_row = GradientDescentClassifier("logistic").fit(X, y, np.where(y > 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-12)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_the_weight_of_one_of_several_classes_counts_in_its_own_machine(learn):
    X, y = make_blobs(90, 3, centers=3, cluster_std=3.0, random_state=0)
    model = GradientDescentClassifier("logistic", class_weight={0: 2.0, 1: 5.0}, max_iter=30, tol=0)
    classes = {"classes": [0, 1, 2]} if learn == "partial_fit" else {}
    getattr(model, learn)(X, y, **classes)
    for k, factor in enumerate([2.0, 5.0, 1.0]):
        alone = clone(model).set_params(class_weight=None)
        classes = {"classes": [False, True]} if learn == "partial_fit" else {}
        weight = np.where(y == k, factor, 1.0)
        getattr(alone, learn)(X, y == k, **classes, sample_weight=weight)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-12)
        np.testing.assert_allclose(model.intercept_[k], alone.intercept_[0], rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"early_stopping": True, "validation_fraction": 0.02}])
def test_a_class_of_weight_zero_is_never_predicted_but_is_part_of_the_rest(options):
    X, y = make_blobs(90, 3, centers=3, cluster_std=3.0, random_state=0)
    model = GradientDescentClassifier("logistic", max_iter=30, tol=0, **options)
    weighted, plain = clone(model).set_params(class_weight={1: 0}).fit(X, y), model.fit(X, y)
    np.testing.assert_array_equal(weighted.coef_[[0, 2]], plain.coef_[[0, 2]])
    assert 1 in plain.predict(X)
    assert 1 not in weighted.predict(X)


def test_a_batch_of_nothing_but_a_class_of_weight_zero_teaches_the_others():
    X, y = make_blobs(90, 3, centers=3, cluster_std=3.0, random_state=0)
    model = GradientDescentClassifier("logistic", class_weight={1: 0})
    for k in range(3):
        model.partial_fit(X[y == k], y[y == k], classes=[0, 1, 2])
        assert 1 not in model.predict(X)
    plain = GradientDescentClassifier("logistic")
    for k in range(3):
        plain.partial_fit(X[y == k], y[y == k], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.coef_[[0, 2]], plain.coef_[[0, 2]])


def test_the_order_is_that_of_the_seed():
    X, y = data(GradientDescentClassifier)

    def coef(**options):
        model = GradientDescentClassifier(batch_size=1, max_iter=3, tol=0, **options)
        return model.fit(X, y).coef_

    np.testing.assert_array_equal(coef(random_state=1), coef(random_state=1))
    np.testing.assert_array_equal(coef(), coef(random_state=None))
    assert not np.array_equal(coef(random_state=1), coef(random_state=2))
    assert not np.array_equal(coef(random_state=1), coef(shuffle=False))
    np.testing.assert_array_equal(
        coef(random_state=np.random.RandomState(5)), coef(random_state=np.random.RandomState(5))
    )


@pytest.mark.parametrize("cls", [GradientDescentClassifier, GradientDescentRegressor])
@pytest.mark.parametrize("batch_size", [1, 16, None])
@pytest.mark.parametrize(
    "options", [{}, {"schedule": "pegasos", "alpha": 0.1}, {"average": True, "schedule": "inverse"}]
)
def test_partial_fit_k_times_is_fit_with_k_epochs(cls, batch_size, options):
    X, y = data(cls)
    y = y if cls is GradientDescentRegressor else np.digitize(X[:, 0] + 0.1 * y, [-0.5, 0.5])
    classes = {"classes": [0, 1, 2]} if cls is GradientDescentClassifier else {}
    settings = {"batch_size": batch_size, "tol": 0, "random_state": 4, **options}
    whole = cls(max_iter=6, **settings).fit(X, y)
    parts, warm = cls(**settings), cls(max_iter=2, warm_start=True, **settings)
    for _ in range(6):
        parts.partial_fit(X, y, **classes)
    for _ in range(3):
        warm.fit(X, y)
    for other in (parts, warm):
        np.testing.assert_array_equal(other.coef_, whole.coef_)
        np.testing.assert_array_equal(other.intercept_, whole.intercept_)
        assert (other.t_, other.n_iter_) == (whole.t_, whole.n_iter_)
        columns = ["problem", "epoch", "objective", "movement", "eta"]
        ours, expected = (np.sort(model.trace_[columns]) for model in (other, whole))
        np.testing.assert_array_equal(ours, expected)


def test_partial_fit_learns_a_stream_and_knows_its_classes():
    X, y = data(GradientDescentClassifier, n=400, seed=1)
    names = np.where(y > 0, "yes", "no")
    model = GradientDescentClassifier("logistic", batch_size=1)
    with pytest.raises(ValueError, match="the first call of partial_fit needs classes"):
        model.partial_fit(X, names)
    with pytest.raises(ValueError, match=r"classes must name at least 2, got \['no'\]"):
        model.partial_fit(X, names, classes=["no"])
    in_turn = np.argsort(names, kind="stable")  # at first, batches hold one class only
    for order in [in_turn] + 4 * [np.arange(400)]:
        for rows in np.array_split(order, 8):
            model.partial_fit(sparse.csr_array(X[rows]), names[rows], classes=["yes", "no"])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.t_ == 5 * 400
    assert pickle.loads(pickle.dumps(model)).partial_fit(X, names).score(X, names) > 0.8
    with pytest.raises(ValueError, match=r"classes must be those of the first call, \['no', 'yes'"):
        model.partial_fit(X, names, classes=["no", "maybe"])
    with pytest.raises(ValueError, match=r"y holds \['perhaps'\], which classes does not"):
        model.partial_fit(X[:1], ["perhaps"])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, names, ["no", "yes"])
    with pytest.raises(ValueError, match="partial_fit makes one epoch and cannot stop early"):
        model.set_params(early_stopping=True).partial_fit(X, names)
    assert model.t_ == 5 * 400


def test_a_warm_start_wants_the_same_classes_and_features():
    X, y = data(GradientDescentClassifier)
    model = GradientDescentClassifier("logistic", warm_start=True).fit(X, y)
    before = model.coef_.copy()
    for bad in [(X[:, :2], y), (X, np.where(y > 0, "yes", "no"))]:
        with pytest.raises(ValueError, match="warm_start goes on with the 4 features"):
            model.fit(*bad)
        np.testing.assert_array_equal(model.coef_, before)
    assert model.fit(X, y).n_iter_ > 1


def test_early_stopping_stops_and_keeps_the_best():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 50))  # more features than rows to learn from: it will overfit
    y = X[:, :10].sum(axis=1) + rng.standard_normal(60)
    options = {"penalty": None, "max_iter": 500, "tol": 1e-4}
    model = GradientDescentRegressor(
        early_stopping=True, validation_fraction=0.3, **options
    ).fit(X, y)  # fmt: skip
    validation = model.trace_["validation"]
    best = int(np.argmin(validation)) + 1
    assert len(validation) < 500
    assert model.converged_
    assert model.n_iter_ == best
    assert 1 < best < len(validation)
    held_out = GradientDescentRegressor(**{**options, "max_iter": best, "tol": 0})
    held_out.set_params(early_stopping=True, validation_fraction=0.3, n_iter_no_change=best)
    np.testing.assert_array_equal(held_out.fit(X, y).coef_, model.coef_)
    plain = GradientDescentRegressor(**{**options, "tol": 0}).fit(X, y)
    assert np.all(np.isnan(plain.trace_["validation"]))
    with pytest.raises(ValueError, match=r"validation_fraction=0.9 of 4 rows leaves none"):
        GradientDescentRegressor(early_stopping=True, validation_fraction=0.9).fit(X[:4], y[:4])


@pytest.mark.parametrize("cls", [GradientDescentClassifier, GradientDescentRegressor])
@pytest.mark.parametrize("batch_size", [None, 1])
def test_divergence_says_what_to_do_and_leaves_no_trace(cls, batch_size):
    X, y = data(cls)
    model = cls("squared", batch_size=batch_size, eta0=10.0)
    message = (
        rf"{cls.__name__} diverged: the steps are too long for this data \(eta0=10.0, "
        r"schedule='constant'\). Use a smaller eta0, or eta0='auto', and scale the features"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]


def test_features_too_large_to_square_are_no_silent_zero():
    X, y = data(GradientDescentRegressor)
    with pytest.raises(ValueError, match="scale the features"):
        GradientDescentRegressor().fit(X * 1e200, y)


def test_worse_than_nothing_is_not_converged():
    """Steps that bounce for ever at a high objective end with a warning, not with success."""
    X, y = data(GradientDescentClassifier)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter=40: up to 1 of the objective"):
        model = GradientDescentClassifier(eta0=1e3, max_iter=40).fit(X, y)
    assert not model.converged_


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_standing_still_where_it_is_worse_than_nothing_is_not_converged(name):
    """Steps that were far too long at first and are far too short later leave w where it is."""
    X, y = data(GradientDescentClassifier)
    model = GradientDescentClassifier(name, eta0=1e3, max_iter=1, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    with pytest.warns(ConvergenceWarning):
        model.set_params(eta0=1e-9, max_iter=3).fit(X, y)
    last = model.trace_[-1]
    assert last["objective"] > 1.0
    assert last["movement"] <= 1e-4 * np.linalg.norm(model.coef_)
    assert not model.converged_


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("cls", "name"), [pair for pair in LOSSES if np.isfinite(loss_named(pair[1]).curvature)]
)
def test_steps_too_short_for_most_columns_are_not_converged(cls, name, container):
    X, y = data(cls)
    model = cls(name, alpha=0.0, max_iter=200)
    assert clone(model).fit(container(X), y).converged_
    with pytest.warns(ConvergenceWarning, match="of the objective may be left to gain"):
        model.fit(container(X * [1e4, 1, 1, 1]), y)
    assert not model.converged_


def test_the_trace_is_the_objective_recomputed():
    X, y = data(GradientDescentClassifier)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = GradientDescentClassifier(
        "squared_hinge", alpha=0.1, batch_size=4, schedule="inverse", max_iter=15, tol=0
    ).fit(X, y, weight)
    trace = model.trace_
    assert trace.dtype.names == (
        "problem", "epoch", "objective", "loss", "validation", "movement", "eta", "seconds",
    )  # fmt: skip
    assert trace["epoch"].tolist() == list(range(1, 16))
    slack = np.maximum(0, 1 - y * model.decision_function(X))
    loss = np.average(slack**2, weights=weight)
    assert trace["loss"][-1] == pytest.approx(loss, rel=1e-12)
    assert trace["objective"][-1] == pytest.approx(loss + 0.05 * np.sum(model.coef_**2), rel=1e-12)
    np.testing.assert_allclose(trace["eta"] * 15 * trace["epoch"], trace["eta"][0] * 15)
    shorter = clone(model).set_params(max_iter=14).fit(X, y, weight)
    moved = np.linalg.norm(model.coef_ - shorter.coef_) + abs(model.intercept_ - shorter.intercept_)
    assert trace["movement"][-1] == pytest.approx(moved[0])
    assert np.all(np.diff(trace["seconds"]) >= 0)


def test_both_criteria_end_a_fit():
    X, y = data(GradientDescentClassifier, n=200)
    still = GradientDescentClassifier(
        "logistic", alpha=0.1, tol=1e-3, n_iter_no_change=100
    ).fit(X, y)  # fmt: skip
    size = np.linalg.norm(still.coef_) + abs(still.intercept_[0])
    assert still.converged_
    assert still.trace_["movement"][-1] <= 1e-3 * size
    assert np.all(still.trace_["movement"][:-1] > 1e-3 * size * 0.9)
    level = GradientDescentClassifier("hinge", alpha=0.1, tol=1e-3).fit(X, y)  # it circles
    objective = level.trace_["objective"]
    assert level.converged_
    assert level.trace_["movement"][-1] > 1e-3 * np.linalg.norm(level.coef_)
    assert objective[-5:].min() >= (1 - 1e-3) * objective[:-5].min() * (1 - 1e-3) ** 5


# What `converged_` claims.

SCALES = np.array([1.0, 30.0, 1e3, 1e6])
NASTY = {
    "plain": lambda X, y: (X, y),
    "shifted by 100": lambda X, y: (X + 100, y),
    "shifted by 1e4": lambda X, y: (X + 1e4, y),
    "columns of 1 to 1e6": lambda X, y: (X * SCALES, y),
    "small columns": lambda X, y: (X / SCALES, y),
    "duplicate columns": lambda X, y: (np.hstack([X, X]), y),
    "duplicate rows": lambda X, y: (np.vstack([X, X[:20]]), np.append(y, -y[:20])),
    "constant columns": lambda X, y: (np.hstack([X, np.full((len(y), 2), 7.0)]), y),
    "tiny targets": lambda X, y: (X, y * 1e-8),
    "huge targets": lambda X, y: (X, y * 1e8),
    "targets far from zero": lambda X, y: (X, y + 1e4),
}
STEPS = [
    {},
    {"batch_size": 1},
    {"batch_size": 7, "average": True},
    {"schedule": "inverse", "eta0": 1.0, "average": True},
    {"eta0": 1e-7},
]


def diverges(model, X, y):
    """Fit the model; whether it said that its steps are too long."""
    try:
        model.fit(X, y)
    except ValueError as error:
        if "diverged" not in str(error):
            raise
        return True
    return False


@pytest.mark.filterwarnings("ignore:.*stopped .* of the objective may be left to gain")
@pytest.mark.parametrize(("cls", "name"), LOSSES)
@pytest.mark.parametrize("penalty", [None, "l1", "l2"])
def test_converged_means_within_tol_of_the_optimum(cls, name, penalty):
    if name == "logistic" and penalty == "l1":
        pytest.skip("no method for the exact optimum at hand")
    tol, alpha, n_converged = 1e-3, 0.1, 0
    is_regressor = cls is GradientDescentRegressor
    for nasty, change in NASTY.items():
        X, y = change(*data(cls, n=40))
        if not is_regressor and "targets" in nasty:
            continue
        epsilon = 0.1 * y.std()
        tube = {"epsilon": epsilon} if is_regressor else {}
        best = least_objective(name, epsilon, penalty, alpha, X, y)
        constant = loss_named(name, epsilon).value(y, y.mean()).mean()
        for steps in STEPS:
            model = cls(name, penalty=penalty, alpha=alpha, tol=tol, max_iter=100, **tube, **steps)
            if diverges(model, X, y):
                continue
            value = model.trace_["objective"][-1]
            assert value >= best * (1 - 1e-6) - 1e-9 * constant, (nasty, steps)
            if model.converged_:
                n_converged += 1
                assert value <= best / (1 - tol) * (1 + 1e-6) + tol * constant * (
                    value <= tol * constant
                ), (nasty, steps)
    has_kinks = not np.isfinite(loss_named(name).curvature)
    assert n_converged > 0 or (has_kinks and penalty != "l2")
    assert n_converged == 0 or not (has_kinks and penalty is None)  # of that no bound is known


def test_features_far_from_zero_are_no_false_end():
    """Steps as short as the shift wants them hardly move the model, which explains nothing yet."""
    X = np.random.default_rng(0).standard_normal((200, 3))
    model = GradientDescentRegressor()
    with pytest.warns(ConvergenceWarning, match="Scale the features"):
        model.fit(X + 100, X @ [1, 2, 3])
    assert model.score(X + 100, X @ [1, 2, 3]) < 0.5
    assert not model.converged_
    assert model.fit(X, X @ [1, 2, 3]).converged_
    assert model.score(X, X @ [1, 2, 3]) > 0.9999


def test_a_fit_without_a_proof_warns_and_says_what_to_do():
    X, y = data(GradientDescentRegressor)
    message = (
        r"GradientDescentRegressor stopped at max_iter=50: up to \S+ of the objective may be left "
        r"to gain \(tol 1e-04\)\. Scale the features \(StandardScaler\), raise max_iter"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        model = GradientDescentRegressor(max_iter=50).fit(X * SCALES, y)
    assert not model.converged_


def test_steps_that_go_to_and_fro_end_the_fit_with_advice():
    X, y = data(GradientDescentClassifier, n=200)
    model = GradientDescentClassifier("squared", batch_size=1)
    with pytest.warns(
        ConvergenceWarning, match="because the steps went to and fro: up to .* avera"
    ):
        model.fit(X, y)
    assert not model.converged_
    assert model.n_iter_ < 1000


def test_several_classes_are_one_against_the_rest():
    X, y = make_classification(150, 6, n_classes=3, n_informative=4, random_state=0)
    model = GradientDescentClassifier("logistic", alpha=0.01).fit(X, y)
    assert model.coef_.shape == (3, 6)
    assert model.decision_function(X).shape == (150, 3)
    assert sorted(set(model.trace_["problem"])) == [0, 1, 2]
    alone = GradientDescentClassifier("logistic", alpha=0.01).fit(X, y == 1)
    np.testing.assert_array_equal(alone.coef_[0], model.coef_[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha must be a number of at least 0, got -1"),
        ({"loss": "epsilon_insensitive"}, "loss must be 'hinge', 'squared_hinge', 'logistic'"),
        ({"penalty": "l3"}, "penalty must be None or one of 'none', 'l1', 'l2', got 'l3'"),
        ({"batch_size": 0}, "batch_size must be None .* or a whole number of at least 1, got 0"),
        ({"schedule": "fast"}, "schedule must be 'constant', 'inverse' or 'pegasos', got 'fast'"),
        ({"eta0": 0.0}, "eta0 must be 'auto' or a positive finite number, got 0.0"),
        ({"tol": 1.0}, r"tol must be a number in \[0, 1\), got 1.0"),
        ({"random_state": -1}, "random_state must be None, a whole number of at least 0"),
        (
            {"schedule": "pegasos", "penalty": "l1"},
            r"schedule='pegasos' steps by 1 / \(alpha t\), which needs penalty='l2' and alpha above"
            " 0, got penalty='l1' and alpha=0.0001",
        ),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=f"GradientDescentClassifier: {message}"):
        GradientDescentClassifier(**options).fit([[0.0], [1.0]], [0, 1])


@pytest.fixture(scope="module")
def a9a():
    folder = os.environ.get("MAXMARGIN_DATA")
    root = Path(folder) if folder else Path(__file__).parents[3] / "shared" / "data"
    path = root / "binary" / "a9a.gz"
    if not path.exists():
        pytest.skip("no data: set MAXMARGIN_DATA")
    X, y = load_svmlight_file(str(path))
    return sparse.hstack([X, np.ones((len(y), 1))], format="csr"), y


def test_pegasos_comes_within_a_percent_on_a9a(a9a):
    X, y = a9a
    n = len(y)

    def objective(model):
        w = model.coef_[0]
        return 0.5 * w @ w / n + np.maximum(0.0, 1.0 - y * (X @ w)).mean()

    exact = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-3).fit(X, y)
    pegasos = GradientDescentClassifier(
        alpha=1 / n, schedule="pegasos", batch_size=1, average=True, fit_intercept=False,
        max_iter=100, tol=0,
    ).fit(X, y)  # fmt: skip
    assert exact.certificate_.relative_gap < 1e-3
    assert objective(pegasos) < 1.01 * objective(exact)


@pytest.mark.filterwarnings("ignore:.*stopped .*:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([GradientDescentClassifier(), GradientDescentRegressor()])
def test_passes_scikit_learns_checks(estimator, check):
    check(estimator)
