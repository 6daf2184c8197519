"""Every estimator that takes max_time and callbacks keeps to them, and to Ctrl-C."""

import inspect
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier

import maxmargin
from maxmargin.engines.threads import thread_count
from maxmargin.errors import ConvergenceWarning
from maxmargin.kernels import RBF
from maxmargin.solvers import smo
from maxmargin.solvers.base import Budget, LinearSolution
from maxmargin.solvers.several import side_by_side

LIMITS = ("max_time", "callbacks", "verbose")
LIMITED = sorted(
    name
    for name, cls in ((name, getattr(maxmargin, name)) for name in maxmargin.__all__)
    if isinstance(cls, type)
    and issubclass(cls, BaseEstimator)
    and "max_time" in inspect.signature(cls).parameters
)
# Settings that take some iterations, for every way through another solver.
WAYS = {
    "GradientDescentClassifier": [{"loss": "logistic", "alpha": 0.1}, {"early_stopping": True}],
    "GradientDescentRegressor": [{"alpha": 0.1}],
    "KernelRidge": [{"solver": "cg", "kernel": "rbf", "alpha": 1e-3, "memory_limit": 1e-6}],
    "Lasso": [{"alpha": 0.01, "tol": 1e-10}],
    "LinearSVC": [
        {},
        {"penalty": "l1", "C": 10.0},
        {"loss": "hinge", "C": 10.0},
        {"multi_class": "crammer_singer"},
    ],
    "LinearSVR": [{"C": 10.0}],
    "NuSVC": [{"nu": 0.2}],
    "NuSVR": [{}],
    "OneClassSVM": [{"nu": 0.2}],
    "Perceptron": [{"max_updates": 500}, {"kernel": RBF(0.1)}],
    "Ridge": [{"solver": "lsmr"}, {"positive": True}],
    "SVC": [{}],
    "SVR": [{}],
}
CASES = {
    f"{name}({', '.join(f'{k}={v}' for k, v in way.items())})": getattr(maxmargin, name)(**way)
    for name, ways in WAYS.items()
    for way in ways
}
every_way = pytest.mark.parametrize("model", CASES.values(), ids=CASES)
# How each says that it was ended before its time: all of them warn.
warns = pytest.warns(ConvergenceWarning)


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    """So that kernel machines look at their limits on small data, too."""
    monkeypatch.setattr(smo, "SLICE", 1000)


def data_for(model):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 5)) * np.array([1.0, 3.0, 0.3, 1.0, 2.0])
    target = X @ np.array([1.0, -0.5, 2.0, 0.0, 0.5]) + rng.standard_normal(150)
    return X, (target > 0).astype(int) if is_classifier(model) else target


def fitted(model, **parameters):
    model = clone(model).set_params(**parameters)
    return model.fit(*data_for(model))


def answers(model):
    X, _ = data_for(model)
    return np.asarray(model.decision_function(X) if is_classifier(model) else model.predict(X))


def test_every_estimator_that_takes_a_limit_takes_all_of_them_and_is_here():
    for name in LIMITED:
        assert set(LIMITS) <= set(inspect.signature(getattr(maxmargin, name)).parameters)
    assert set(WAYS) == set(LIMITED)


@every_way
def test_time_that_is_over_ends_the_fit_which_keeps_the_model(model):
    with warns:
        ended = fitted(model, max_time=1e-9)
    assert np.all(np.isfinite(answers(ended)))
    assert not getattr(ended, "converged_", False)


@every_way
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_callbacks_are_told_and_change_nothing(model):
    seen = []
    told, untold = fitted(model, callbacks=[seen.append]), fitted(model)
    assert len(seen) > 1
    assert all(one.n_problems == 1 and one.problem == 0 for one in seen)
    np.testing.assert_array_equal(answers(told), answers(untold))


@every_way
def test_a_callback_that_says_so_ends_the_fit_which_keeps_the_model(model):
    seen = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        ended = fitted(model, callbacks=[lambda one: seen.append(one) or True])
    assert len(seen) == 1
    assert np.all(np.isfinite(answers(ended)))


@every_way
def test_ctrl_c_keeps_the_model_so_far_and_is_raised(model):
    model = clone(model).set_params(callbacks=[pressed_at(2)])
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data_for(model))
    assert np.all(np.isfinite(answers(model)))
    assert not getattr(model, "converged_", False)


@every_way
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_error_of_a_callback_changes_nothing(model):
    model = fitted(model)
    before = dict(vars(model.set_params(callbacks=[failing])))
    with pytest.raises(RuntimeError, match="from within"):
        model.fit(*data_for(model))
    assert vars(model) == before


@every_way
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_verbose_writes_lines_and_nothing_else_does(model, capsys):
    fitted(model)
    assert capsys.readouterr() == ("", "")
    fitted(model, verbose=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("maxmargin: ")
    assert " tol " in err


@every_way
@pytest.mark.skipif("sklearn.callback" not in sys.modules, reason="scikit-learn has none yet")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_callbacks_of_scikit_learn_are_told(model):
    told = []

    class Recorder:
        def setup(self, estimator, context):
            told.append("setup")

        def on_fit_task_begin(self, estimator, context, **given):
            told.append(context.task_name)

        def on_fit_task_end(self, estimator, context, **given):
            return False

        def teardown(self, estimator, context):
            told.append("teardown")

    model = clone(model).set_callbacks(Recorder())
    model.fit(*data_for(model))
    assert (told[0], told[-1]) == ("setup", "teardown")
    assert {"fit", "problem", "slice"} <= set(told)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_ctrl_c_before_every_machine_has_begun_keeps_nothing(n_classes):
    """Those that have not begun have nothing to say, and a model without them would be wrong."""
    model, rng = maxmargin.LinearSVC(loss="hinge", C=100.0), np.random.default_rng(0)
    before = dict(vars(model))
    model.callbacks = [pressed_at(1)]
    with pytest.raises(KeyboardInterrupt):
        model.fit(rng.standard_normal((100, 3)), rng.integers(0, n_classes, 100))
    assert {**vars(model), "callbacks": None} == before


def pressed_at(moment):
    told = []

    def press(progress):
        told.append(progress)
        if len(told) == moment:
            raise KeyboardInterrupt

    return press


def failing(progress):
    raise RuntimeError("from within")


@pytest.mark.usefixtures("untraced")
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.skipif(thread_count() == 1, reason="one core solves nothing side by side")
@pytest.mark.parametrize("n_iter", [0, 3])
def test_ctrl_c_reaches_every_machine_that_is_solved_side_by_side(n_iter):
    """The main thread sees it, and the others are told; without a step there is nothing to keep.

    A signal may come at any moment, also just before the main thread falls asleep.
    """

    def solve(k, share):
        if k == 0:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        while not share.out_of_time():
            time.sleep(0.001)
        return LinearSolution(np.zeros(1), n_iter=n_iter, stopped="interrupted")

    for _ in range(20):
        if n_iter == 0:
            with pytest.raises(KeyboardInterrupt):
                side_by_side(solve, 3, Budget(10))
        else:
            found = side_by_side(solve, 3, Budget(10))
            assert [one.stopped for one in found] == ["interrupted"] * 3
