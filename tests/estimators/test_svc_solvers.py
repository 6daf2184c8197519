"""SVC with the teaching solvers: names, objects, limits, refusals, and the trace."""

import pickle
import signal
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from maxmargin import SVC, SVR, NuSVC, OneClassSVM, solvers
from maxmargin.errors import ConvergenceWarning
from maxmargin.problems.trace import ROUND, STEP
from maxmargin.solvers.smo_random_pair import DEFAULT_C

# Whose dual problem is another one than the textbook's.
MACHINES = [SVC(C=np.inf, gamma=5.0), NuSVC(nu=0.3), SVR(), OneClassSVM()]


@pytest.mark.parametrize("name", solvers.TEACHING)
def test_same_model_as_the_fast_solver(name, binary):
    X, y = binary
    fast = SVC(gamma=0.5).fit(X, y)
    model = SVC(gamma=0.5, solver=name).fit(X, y)
    assert model.certificate_.optimal
    assert model.certificate_.dual_objective == pytest.approx(
        fast.certificate_.dual_objective, rel=1e-4
    )
    np.testing.assert_allclose(model.decision_function(X), fast.decision_function(X), atol=5e-3)


@pytest.mark.parametrize("name", solvers.TEACHING)
def test_several_classes_weights_and_warm_start(name):
    X, y = load_iris(return_X_y=True)
    weight = np.arange(len(y)) % 3  # zeros among them
    fast = SVC().fit(X, y, weight)
    model = SVC(solver=name, warm_start=True).fit(X, y, weight)
    np.testing.assert_allclose(model.decision_function(X), fast.decision_function(X), atol=5e-3)
    assert model.fit(X, y, weight).n_iter_.sum() <= 6  # what was found already


def test_a_solver_object_carries_its_options(binary):
    X, y = binary
    first = SVC(gamma=0.5, solver=solvers.SMOPairs(order=1)).fit(X, y)
    second = SVC(gamma=0.5, solver=solvers.SMOPairs()).fit(X, y)
    assert first.n_iter_[0] > second.n_iter_[0]
    assert clone(first).solver == solvers.SMOPairs(order=1)
    assert first.solver.tol == solvers.SMOPairs().tol  # fit writes to no parameter


def test_random_state_is_the_seed(binary):
    X, y = binary
    steps = {
        seed: SVC(gamma=0.5, solver="smo_simplified", random_state=seed).fit(X, y).n_iter_[0]
        for seed in (None, 0, 1, np.random.RandomState(5))
    }
    assert steps[None] == steps[0] != steps[1]
    again = SVC(gamma=0.5, solver="smo_simplified", random_state=1).fit(X, y)
    assert again.n_iter_[0] == steps[1]


def test_unknown_solver_is_refused_by_name(binary):
    with pytest.raises(ValueError, match=r"SVC: solver must be one of 'smo', .*got 'smmo'"):
        SVC(solver="smmo").fit(*binary)


@pytest.mark.parametrize("name", solvers.TEACHING)
@pytest.mark.parametrize("svm", MACHINES, ids=str)
def test_other_machines_are_refused(name, svm, binary):
    with pytest.raises(ValueError, match=f"solver='{name}' solves the soft margin only"):
        clone(svm).set_params(solver=name).fit(*binary)


def test_too_large_for_the_whole_matrix(binary):
    with pytest.raises(ValueError, match="'smo_platt' keeps the whole kernel matrix: 150 points"):
        SVC(solver="smo_platt", cache_size=0.1).fit(*binary)


def test_limits_keep_the_model_and_warn(binary):
    X, y = binary
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        model = SVC(gamma=0.5, C=100.0, solver="smo_platt", max_iter=5).fit(X, y)
    assert model.n_iter_[0] == 5
    with pytest.warns(ConvergenceWarning, match="max_rounds"):
        SVC(gamma=0.5, C=DEFAULT_C, solver=solvers.SMORandomPair(max_rounds=2)).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="a callback"):
        SVC(solver="coordinate_ascent", C=1e6, callbacks=[lambda progress: True]).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        SVC(solver="smo_simplified", C=1e9, max_time=0.2).fit(X, y)


@pytest.mark.usefixtures("untraced")
def test_ctrl_c_keeps_the_model():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 5)), rng.integers(0, 2, 300)
    model = SVC(solver="smo_simplified", C=1e9)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert not model.converged_
    assert abs(model.dual_coef_.sum()) <= 1e-9 * np.abs(model.dual_coef_).sum()
    assert model.predict(X).shape == (300,)


# The trace.


def test_there_is_no_trace_unless_asked_for(binary):
    model = SVC(trace=True).fit(*binary)
    assert len(model.trace_) > 0
    assert not hasattr(model.set_params(trace=False).fit(*binary), "trace_")


@pytest.mark.parametrize("name", solvers.NAMES)
def test_trace_is_a_table_that_replays_the_model(name, binary):
    model = SVC(gamma=0.5, solver=name, trace=True).fit(*binary)
    trace = model.trace_
    coef = trace.replay()
    np.testing.assert_array_equal(coef[model.support_], model.dual_coef_[0])
    assert np.count_nonzero(coef) == len(model.support_)
    assert trace.dtype == (ROUND if name == "smo" else STEP)
    assert np.asarray(trace).dtype.names == trace.dtype.names
    assert trace["objective"][-1] == pytest.approx(model.certificate_.dual_objective, rel=1e-9)
    frame = trace.to_frame()
    assert list(frame.columns) == list(trace.dtype.names)
    assert len(frame) == len(trace)
    assert "Trace of" in repr(trace)
    again = pickle.loads(pickle.dumps(model)).trace_
    np.testing.assert_array_equal(again.replay(), coef)


def test_trace_of_the_block_path_replays(binary, path):
    X, y = binary
    model = SVC(gamma=0.5, trace=True).fit(X, y)
    np.testing.assert_array_equal(model.trace_.replay()[model.support_], model.dual_coef_[0])


def test_trace_of_several_classes_has_a_problem_column():
    X, y = load_iris(return_X_y=True)
    trace = SVC(solver="smo_pairs", trace=True).fit(X, y).trace_
    assert set(trace["problem"]) == {0, 1, 2}
    assert [len(trace.replay(problem)) for problem in range(3)] == [100, 100, 100]


def test_trace_stops_at_its_limit_and_says_so(binary):
    model = SVC(gamma=0.5, solver="smo_pairs", trace=10).fit(*binary)
    assert len(model.trace_) == 10
    assert not model.trace_.complete
    assert "cut at 10" in repr(model.trace_)
    whole = SVC(gamma=0.5, solver="smo_pairs", trace=True).fit(*binary).trace_
    np.testing.assert_array_equal(model.trace_.replay(), whole.replay(n_rows=10))


def test_random_pairs_record_accuracy_loss_and_movement(binary):
    X, y = binary
    model = SVC(gamma=0.5, solver="smo_random_pair", trace=True).fit(X, y)
    rounds = model.trace_.rounds
    assert rounds["accuracy"][-1] == pytest.approx(model.score(X, y), abs=0.01)
    signs = np.where(y == 1, 1.0, -1.0)
    hinge = np.maximum(0, 1 - signs * model.decision_function(X)).mean()
    assert rounds["loss"][-1] == pytest.approx(hinge, abs=1e-3)
    assert rounds["movement"][-1] <= 1e-6 < rounds["movement"][0]
    assert rounds["movement"][0] == pytest.approx(_first_movement(model.trace_, len(y)))


def _first_movement(trace, n):
    """From the steps of the first round, one of n / 2 disjoint pairs."""
    first = trace.steps[: trace.rounds["n_iter"][0]]
    assert len(set(first["i"]) | set(first["j"])) == 2 * len(first) <= n
    return (first["alpha_i"] + first["clipped"]).sum() + abs(first["b"][-1])


@pytest.mark.parametrize(
    "svm", [SVC(C=np.inf, gamma=5.0), NuSVC(nu=0.3), SVR(), OneClassSVM()], ids=str
)
def test_every_kernel_machine_can_be_traced(svm, binary):
    model = clone(svm).set_params(trace=True).fit(*binary)
    assert len(model.trace_) > 0
    assert model.trace_.replay().shape[0] in (150, 300)
