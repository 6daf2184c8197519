"""animate_trace writes a small file, or a player for a notebook, whose frames replay the trace."""

import re
import sys
from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.animation import FFMpegWriter
from PIL import Image
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, GradientDescentClassifier
from maxmargin.datasets import make_moons
from maxmargin.displays import BoundaryDisplay, animate_trace, animation
from maxmargin.displays.drawing import REST, colour_of
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
    order = np.random.default_rng(0).permutation(50)  # of a pair, one class comes before the other
    rows = (rows[::3, 2:] + 0.01 * np.arange(50)[:, None] / 50)[order]
    labels = labels[::3][order]
    model = traced(multi_class=multi_class, decision_function_shape=multi_class).fit(rows, labels)
    film = film_of(model, rows, labels, problem=problem)
    grid = np.column_stack([film.xx0.ravel(), film.xx1.ravel()])
    _, values = film.at(len(film.steps))
    decision = model.decision_function(grid)[:, problem]
    np.testing.assert_allclose(values.ravel(), decision, atol=0.01)
    at_points = film.trace.replay(problem)
    assert np.all(at_points[film.is_positive] >= 0)
    assert np.all(at_points[~film.is_positive] <= 0)


def looks_in(ax):
    """Colour and shape of the points of each class, by its name in the legend."""
    groups = {group.get_label(): group for group in ax.collections}
    classes = {name: group for name, group in groups.items() if name.startswith("class")}
    return {
        name: (group.get_facecolor()[0].tolist(), len(group.get_paths()[0].vertices))
        for name, group in classes.items()
    }


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_class_looks_as_it_does_in_a_boundary_display(multi_class):
    rows, labels = load_iris(return_X_y=True)
    rows, labels = rows[::3, 2:], labels[::3]
    model = traced(multi_class=multi_class).fit(rows, labels)
    known = looks_in(BoundaryDisplay.from_estimator(model, rows, labels).ax_)
    pyplot.close()
    assert len(known) == 3
    seen = set()
    for problem in range(3):
        film = film_of(model, rows, labels, problem=problem)
        shown = looks_in(animation._Scene(film, dpi=40).plane)
        assert all(known[name] == look for name, look in shown.items())
        seen |= set(shown)
        assert {side.colour for side in film.sides} <= {REST, *map(colour_of, range(3))}
    assert seen == set(known)


# A notebook and a film.


class Tags(HTMLParser):
    """What a page is made of: its tags, and the attributes of each."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def test_without_a_path_a_notebook_shows_a_player_of_all_frames(model):
    before = pyplot.get_fignums()
    animation = animate_trace(model, X, y, **FEW)
    page = animation._repr_html_()
    assert pyplot.get_fignums() == before
    assert repr(animation) == f"<TraceAnimation of {len(animation.frames)} frames, 6 a second>"
    pictures = re.findall(r'data:image/png;base64,([^"]+)"', page.split("<script>")[1])
    assert len(animation.frames) == len(pictures)
    sizes = {Image.open(BytesIO(b64decode(picture))).size for picture in pictures}
    assert sizes == {(288, 160)}


def test_the_player_needs_nothing_from_elsewhere_and_has_a_name_of_its_own(model):
    animation = animate_trace(model, X, y, **FEW)
    first, second = animation.to_html(), animation.to_html()
    assert "://" not in first
    tags = Tags(first).tags
    names = [name for name, _ in tags]
    assert names.count("button") == 3
    assert names.count("img") == names.count("input") == 1
    assert all("aria-label" in kept for name, kept in tags if name in ("button", "input"))
    assert not {"link", "iframe"} & set(names)
    assert all("src" not in kept for name, kept in tags if name == "script")
    assert Tags(first).tags[0][1]["id"] != Tags(second).tags[0][1]["id"]


def test_what_a_notebook_shows_can_be_saved(model, tmp_path):
    path = animate_trace(model, X, y, **FEW).save(tmp_path / "smo.gif")
    again = animate_trace(model, X, y, tmp_path / "again.gif", **FEW)
    assert path.read_bytes() == again.read_bytes()


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="ffmpeg is not installed")
def test_an_mp4_is_a_film(model, tmp_path):
    path = animate_trace(model, X, y, tmp_path / "smo.mp4", **FEW)
    assert path.read_bytes()[4:8] == b"ftyp"


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
    message = r"^animate_trace: path must end in '\.gif' or '\.mp4', got"
    with pytest.raises(ValueError, match=message):
        animate_trace(model, X, y, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_an_mp4_without_ffmpeg(model, tmp_path, monkeypatch):
    monkeypatch.setitem(pyplot.rcParams, "animation.ffmpeg_path", str(tmp_path / "nothing"))
    message = r"^animate_trace: an mp4 is written by ffmpeg, which was not found\. Install it, "
    with pytest.raises(ValueError, match=message):
        animate_trace(model, X, y, tmp_path / "smo.mp4")
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
