"""animate_trace writes a small GIF whose frames replay the trace."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from PIL import Image
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, GradientDescentClassifier
from maxmargin.datasets import make_moons
from maxmargin.displays import animate_trace, animation
from maxmargin.kernels import RBF

X, y = make_moons(40)
FEW = {"max_frames": 4, "grid_resolution": 20, "dpi": 40}


def traced(**options):
    return SVC(**{"gamma": 2.0, "solver": "smo_platt", "trace": True} | options)


@pytest.fixture(scope="module")
def model():
    return traced().fit(X, y)


def film_of(source, X=X, y=y, kernel=None, problem=0):
    return animation._Film.of(source, X, y, kernel, problem, 20)


def test_it_writes_frames_no_more_than_asked_for_and_touches_no_figure(model, tmp_path):
    before = pyplot.get_fignums()
    path = animate_trace(model, X, y, tmp_path / "smo.gif", **FEW)
    assert path == tmp_path / "smo.gif"
    with Image.open(path) as picture:
        assert picture.format == "GIF"
        assert 2 <= picture.n_frames <= 4
    assert pyplot.get_fignums() == before


def test_at_the_default_it_is_below_three_megabytes(model, tmp_path):
    path = animate_trace(model, X, y, str(tmp_path / "smo.gif"), max_frames=12)
    per_frame = path.stat().st_size / 12
    assert 60 * per_frame < 3_000_000


def test_frames_go_from_the_start_to_the_end():
    assert animation._frames(5, 60) == [0, 1, 2, 3, 4, 5]
    frames = animation._frames(10_000, 60)
    assert len(frames) <= 60
    assert frames[:4] == [0, 1, 2, 3]
    assert frames[-1] == 10_000
    assert np.all(np.diff(frames) > 0)


def test_the_last_frame_shows_the_solution(model):
    film = film_of(model)
    grid = np.column_stack([film.xx0.ravel(), film.xx1.ravel()])
    alpha, values = film.at(len(film.steps))
    np.testing.assert_array_equal(np.flatnonzero(alpha), np.sort(model.support_))
    np.testing.assert_allclose(values.ravel(), model.decision_function(grid), atol=0.01)
    alpha, values = film.at(0)
    assert not alpha.any()
    assert not values.any()


def test_every_frame_has_the_multipliers_of_the_replay(model):
    film = film_of(model)
    for n_steps in (1, 7, len(film.steps) // 2):
        np.testing.assert_array_equal(film.at(n_steps)[0], np.abs(model.trace_.replay(0, n_steps)))


def test_a_trace_alone_needs_the_kernel(model, tmp_path):
    alone, whole = film_of(model.trace_, kernel=RBF(gamma=2.0)), film_of(model)
    np.testing.assert_allclose(alone.at(9)[1], whole.at(9)[1])
    message = r"^animate_trace: kernel must be a Kernel of the two features, .* got None\.$"
    with pytest.raises(ValueError, match=message):
        animate_trace(model.trace_, X, y, tmp_path / "smo.gif")


def test_a_pipeline_and_a_data_frame_show_the_points_before_scaling():
    frame = pd.DataFrame(X, columns=["width", "height"])
    pipeline = make_pipeline(StandardScaler(), traced()).fit(frame, y)
    film = film_of(pipeline, frame)
    np.testing.assert_array_equal(film.points, X)
    grid = pd.DataFrame({"width": film.xx0.ravel(), "height": film.xx1.ravel()})
    _, values = film.at(len(film.steps))
    np.testing.assert_allclose(values.ravel(), pipeline.decision_function(grid), atol=0.01)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("problem", [0, 1, 2])
def test_one_problem_of_several_classes(multi_class, problem):
    rows, labels = load_iris(return_X_y=True)
    rows = rows[::3, 2:] + 0.01 * np.arange(50)[:, None] / 50
    labels = labels[::3]
    model = traced(multi_class=multi_class, decision_function_shape=multi_class).fit(rows, labels)
    film = film_of(model, rows, labels, problem=problem)
    grid = np.column_stack([film.xx0.ravel(), film.xx1.ravel()])
    _, values = film.at(len(film.steps))
    decision = model.decision_function(grid)[:, problem]
    np.testing.assert_allclose(values.ravel(), decision, atol=0.01)
    at_points = film.trace.replay(problem)
    assert np.all(at_points[film.is_positive] >= 0)
    assert np.all(at_points[~film.is_positive] <= 0)


# Refusals.


def test_two_features_are_expected(tmp_path):
    rows = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match=r"^animate_trace: X must have 2 features, got 3\.$"):
        animate_trace(traced().fit(rows, y), rows, y, tmp_path / "smo.gif")


@pytest.mark.parametrize(
    "source",
    [SVC(trace=True), GradientDescentClassifier(alpha=0.1, tol=1e-2)],
    ids=["fast", "descent"],
)
def test_a_trace_without_steps(source, tmp_path):
    message = r"^animate_trace: the trace has no steps of problem 0\. Fit an SVC with trace=True"
    with pytest.raises(ValueError, match=message):
        animate_trace(source.fit(X, y), X, y, tmp_path / "smo.gif")


def test_no_trace_at_all(tmp_path):
    with pytest.raises(ValueError, match=r"^animate_trace: SVC has no trace_\."):
        animate_trace(SVC().fit(X, y), X, y, tmp_path / "smo.gif")


def test_other_rows_than_those_of_the_fit(model, tmp_path):
    message = r"^animate_trace: the trace is of 40 points and X has 30; give the rows"
    with pytest.raises(ValueError, match=message):
        animate_trace(model, X[:30], y[:30], tmp_path / "smo.gif")


def test_a_trace_alone_is_of_two_classes(model, tmp_path):
    with pytest.raises(ValueError, match=r"a Trace by itself is of two classes, y has 3"):
        animate_trace(model.trace_, X, np.arange(40) % 3, tmp_path / "a.gif", kernel=RBF(gamma=2.0))


@pytest.mark.parametrize("name", ["smo.png", "smo"])
def test_another_kind_of_file(model, tmp_path, name):
    with pytest.raises(ValueError, match=r"^animate_trace: path must end in '\.gif', got"):
        animate_trace(model, X, y, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_too_few_frames(model, tmp_path):
    with pytest.raises(ValueError, match=r"^animate_trace: max_frames must be at least 2, got 1"):
        animate_trace(model, X, y, tmp_path / "smo.gif", max_frames=1)


def test_frames_need_time(model, tmp_path):
    with pytest.raises(ValueError, match=r"^animate_trace: fps must be a positive number, got 0"):
        animate_trace(model, X, y, tmp_path / "smo.gif", fps=0)


def test_without_matplotlib(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^animate_trace: drawing needs matplotlib; pip"):
        animate_trace(model, X, y, tmp_path / "smo.gif")
