"""scikit-learn's callbacks at our fits."""

import runpy
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR
from maxmargin.errors import ConvergenceWarning
from maxmargin.estimators import callbacks
from maxmargin.solvers import smo

HAS_CALLBACKS = find_spec("sklearn.callback") is not None
supported = pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has callbacks from 1.9 on")


class Recorder:
    """A callback that notes every hook."""

    def __init__(self, stop=False):
        self.events, self.fitted, self.given, self.stop = [], None, None, stop

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(("end", context.task_name, context.task_id))
        if fitted_estimator is not None:
            self.fitted, self.given = fitted_estimator, X
        return self.stop and context.task_name == "slice"

    def teardown(self, estimator, context):
        self.events.append("teardown")


@supported
def test_every_task_that_begins_ends_inside_the_one_above():
    X, y = load_iris(return_X_y=True)
    recorder = Recorder()
    model = SVC().set_callbacks(recorder).fit(X, y)
    assert (recorder.events[0], recorder.events[-1]) == ("setup", "teardown")
    open_tasks = []
    for event, name, number in recorder.events[1:-1]:
        if event == "begin":
            open_tasks.append((name, number))
        else:
            assert open_tasks.pop() == (name, number)
    assert not open_tasks
    problems = [e for e in recorder.events if e[:2] == ("begin", "problem")]
    assert len(problems) == 3
    assert model.certificate_.optimal


@supported
def test_the_end_of_the_fit_hands_over_a_model_that_predicts(binary):
    X, y = binary
    recorder = Recorder()
    model = SVC().set_callbacks(recorder).fit(X, y)
    np.testing.assert_array_equal(recorder.fitted.predict(X), model.predict(X))
    np.testing.assert_array_equal(recorder.given, X)


@supported
def test_callbacks_change_no_result(binary):
    X, y = binary
    told, untold = SVR().set_callbacks(Recorder()).fit(X, y), SVR().fit(X, y)
    np.testing.assert_array_equal(told.dual_coef_, untold.dual_coef_)


@supported
def test_a_callback_can_stop_the_fit(path, monkeypatch):
    monkeypatch.setattr(smo, "SLICE", 1000)  # so that there are several
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 5)), rng.integers(0, 2, 400)
    model = SVC(C=1e4, tol=1e-6).set_callbacks(Recorder(stop=True))
    with pytest.warns(ConvergenceWarning, match="a callback asked"):
        model.fit(X, y)
    assert not model.converged_


@supported
def test_callbacks_are_torn_down_after_an_error(binary):
    X, y = binary

    def fails(progress):
        raise RuntimeError("from within")

    recorder = Recorder()
    model = SVC(callbacks=[fails]).set_callbacks(recorder)
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="from within"):
        model.fit(X, y)
    assert recorder.events[-1] == "teardown"
    assert vars(model) == before


@supported
def test_clones_keep_callbacks_and_an_empty_call_removes_them(binary):
    recorder = Recorder()
    clone(SVC().set_callbacks(recorder)).fit(*binary)
    assert recorder.events
    recorder.events.clear()
    SVC().set_callbacks(recorder).set_callbacks().fit(*binary)
    assert not recorder.events


@supported
def test_scikit_learns_own_callbacks_work(binary, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar, ScoringMonitor

    X, y = binary
    monitor = ScoringMonitor(scoring="accuracy")
    model = SVC().set_callbacks(ProgressBar(), monitor).fit(X, y)
    assert "SVC - fit" in capsys.readouterr().out
    assert monitor.get_logs().data[0]["accuracy"] == pytest.approx(model.score(X, y))


@supported
def test_a_pipeline_hands_its_progress_bar_down(binary, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    make_pipeline(StandardScaler(), SVC()).set_callbacks(ProgressBar()).fit(*binary)
    assert "SVC - fit" in capsys.readouterr().out


@supported
def test_a_model_with_callbacks_can_be_saved(binary, tmp_path):
    from maxmargin.files import load, save

    X, y = binary
    model = SVC().set_callbacks(Recorder()).fit(X, y)
    save(model, tmp_path / "model.mm")
    np.testing.assert_array_equal(load(tmp_path / "model.mm").predict(X), model.predict(X))


def test_an_older_scikit_learn_has_nothing_to_tell(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)  # as before 1.9
    older = runpy.run_path(callbacks.__file__)
    assert not hasattr(older["CallbackSupport"], "set_callbacks")
    assert older["fit_told"](SVC(), None, 1, lambda: "done", None, None, None) == "done"
