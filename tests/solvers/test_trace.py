"""Replaying a complete trace gives the coefficients bit for bit, whatever has ended the fit."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, solvers
from maxmargin.errors import ConvergenceWarning
from maxmargin.solvers import smo, textbook

MACHINES = [SVC(), SVR(), NuSVC(), NuSVR(), OneClassSVM()]


def rows(n, seed=0):
    """Labels that are noise in part, and a few points that stand there twice with both labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)
    X[: n // 10], y[: n // 10] = X[-(n // 10) :], -y[-(n // 10) :]
    return X, y


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return model.fit(X, y)
        except KeyboardInterrupt:
            return model  # which keeps what it has


def assert_replays(model, n):
    """The model of a nu classifier is the solution of its problem divided by the margin."""
    assert model.trace_.complete
    coef = model.trace_.replay()
    coef = coef[:n] + coef[n:] if isinstance(model, NuSVR) else coef
    dual_coef = model.dual_coef_[0]
    if isinstance(model, NuSVC):
        ratio = np.abs(dual_coef).max() / np.abs(coef).max()
        np.testing.assert_allclose(ratio * coef[model.support_], dual_coef, rtol=1e-12)
    else:
        np.testing.assert_array_equal(coef[model.support_], dual_coef)
    assert np.count_nonzero(coef) == len(model.support_)


class Answer:
    """A callback that stops the fit, or presses Ctrl-C, when it is told for the `at`-th time."""

    def __init__(self, at, error=None):
        self.left, self.error = at, error

    def __call__(self, progress):
        self.left -= 1
        if self.left == 0 and self.error is not None:
            raise self.error
        return self.left <= 0


@pytest.mark.parametrize("svm", MACHINES, ids=lambda svm: type(svm).__name__)
@pytest.mark.parametrize("n", [60, 600, 2500])
def test_a_complete_trace_replays_the_model_whatever_stops_the_fit(svm, n):
    X, y = rows(n)
    stops = [{"max_iter": limit} for limit in (0, 1, 7, 100, 1500)]
    stops += [{"max_time": 1e-9}, {"max_time": 0.02}]
    stops += [
        {"callbacks": [Answer(at, error)]} for at in (1, 2) for error in (None, KeyboardInterrupt)
    ]
    for stop in stops:
        model = clone(svm).set_params(trace=True)
        model.set_params(**stop)  # a copy of a callback would count for itself
        assert_replays(fitted(model, X, y), n)


@pytest.mark.parametrize("stop", [{"max_iter": 100}, {}], ids=str)
def test_a_warm_start_replays_from_where_it_began(stop):
    X, y = rows(2500)
    model = fitted(SVC(trace=True, warm_start=True, max_iter=300), X, y)
    assert_replays(fitted(model.set_params(**{"max_iter": -1, **stop}), X, y), 2500)


def test_a_fit_that_keeps_the_better_of_two_attempts_replays_that(monkeypatch):
    """A second attempt, from equal points that oppose each other, may end worse than the first."""
    X, y = rows(600)
    first = fitted(SVC(max_iter=50), X, y)
    solve_from = smo.SMO._solve_from

    def stalls_early(self, start, problem, budget):
        budget.max_iter = 50 if start is None else 0
        solution = solve_from(self, start, problem, budget)
        return smo.replace(solution, stopped="stalled", violation=float(start is not None))

    monkeypatch.setattr(smo.SMO, "_solve_from", stalls_early)
    model = fitted(SVC(trace=True), X, y)
    np.testing.assert_array_equal(model.dual_coef_, first.dual_coef_)
    assert_replays(model, 600)


@pytest.mark.parametrize("name", solvers.TEACHING)
def test_a_step_that_an_interrupt_kept_out_of_the_trace_makes_it_incomplete(name, monkeypatch):
    """Ctrl-C may come after the multipliers have moved and before that is written down."""
    X, y = rows(60)
    whole = SVC(solver=name, trace=True).fit(X, y)
    assert_replays(whole, 60)
    gap, calls = textbook.Multipliers.gap, []

    def interrupted(self):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return gap(self)

    monkeypatch.setattr(textbook.Multipliers, "gap", interrupted)
    model = fitted(SVC(solver=name, trace=True), X, y)
    assert len(model.trace_) == 2
    assert not model.trace_.complete
    assert "a step is missing" in repr(model.trace_)
