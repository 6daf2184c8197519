"""What every exported display promises: it keeps its data, and draws where it is told.

Exporting a display without a maker here fails the first test.
"""

import pickle
import sys
from dataclasses import fields

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.text import Text

from maxmargin import (
    SVC,
    SVR,
    GradientDescentClassifier,
    NuSVR,
    OneClassSVM,
    Ridge,
    displays,
)
from maxmargin.datasets import make_moons
from maxmargin.inspection import bias_variance_curve

matplotlib.use("Agg")

X, y = make_moons(60)
ALPHAS = np.logspace(-2, 3, 6)


def draw(rng):
    rows = rng.normal(size=(20, 2))
    return rows, rows[:, 0] + rng.normal(size=20)


def boundary(**options):
    return displays.BoundaryDisplay.from_estimator(
        SVC(gamma=1.0).fit(X, y), X, y, slack=True, **options
    )


def boundary_of_one_class(**options):
    model = OneClassSVM(nu=0.2, gamma=1.0).fit(X)
    return displays.BoundaryDisplay.from_estimator(model, X, **options)


def convergence(**options):
    model = SVC(solver="smo_platt", trace=True).fit(X, y)
    return displays.ConvergenceDisplay.from_estimator(model, **options)


def convergence_of_descent(**options):
    model = GradientDescentClassifier(tol=0.0, max_iter=20).fit(X, y)
    return displays.ConvergenceDisplay.from_trace(model.trace_, **options)


def gram(**options):
    return displays.GramDisplay.from_estimator(SVC(gamma=1.0).fit(X, y), X, y, **options)


def path(**options):
    found = Ridge().path(X, X[:, 0] - y, ALPHAS)
    return displays.PathDisplay.from_path(found, errors_on={"all": (X, X[:, 0] - y)}, **options)


def path_of_c(**options):
    return displays.PathDisplay.from_estimator(SVC(gamma=1.0), X, y, param_range=ALPHAS, **options)


def bias_variance(**options):
    curve = bias_variance_curve(
        Ridge(), draw, lambda X: X[:, 0], param_name="alpha", param_range=ALPHAS, n_draws=5
    )
    return displays.BiasVarianceDisplay.from_curve(curve, ALPHAS, param_name="alpha", **options)


def step(**options):
    model = SVC(solver="smo_platt", trace=True).fit(X, y)
    return displays.StepDisplay.from_estimator(model, X, y, step=7, **options)


def tube(**options):
    model = SVR(epsilon=0.3).fit(X[:, :1], X[:, 1])
    return displays.TubeDisplay.from_estimator(model, X[:, :1], X[:, 1], **options)


def tube_of_given_share(**options):
    model = NuSVR(nu=0.3).fit(X[:, :1], X[:, 1])
    return displays.TubeDisplay.from_estimator(model, X[:, :1], X[:, 1], **options)


MAKERS = [
    boundary,
    boundary_of_one_class,
    convergence,
    convergence_of_descent,
    gram,
    path,
    path_of_c,
    bias_variance,
    step,
    tube,
    tube_of_given_share,
]
every_display = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def axes_of(display):
    return list(np.ravel(display.axes_)) if hasattr(display, "axes_") else [display.ax_]


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


def test_every_exported_display_is_made_here():
    exported = {name for name in displays.__all__ if name.endswith("Display")}
    assert exported == {type(make(plot=False)).__name__ for make in MAKERS}


@every_display
def test_without_plot_it_keeps_data_only(make):
    display = make(plot=False)
    assert pyplot.get_fignums() == []
    assert not hasattr(display, "figure_")
    assert {field.name for field in fields(display)} == set(vars(display))


@every_display
def test_it_draws_the_same_picture_from_its_data_alone(make):
    display = make(plot=False)
    again = pickle.loads(pickle.dumps(display))
    assert display.plot() is display
    np.testing.assert_array_equal(pixels(display.figure_), pixels(again.plot().figure_))


@every_display
def test_it_makes_one_figure_of_its_own(make):
    display = make()
    assert pyplot.get_fignums() == [display.figure_.number]
    assert all(ax.has_data() for ax in axes_of(display))


@every_display
def test_it_draws_into_one_given_subplot(make):
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(16, 5))
    place = right.get_position()
    display = make(ax=right)
    assert display.figure_ is figure
    assert pyplot.get_fignums() == [figure.number]
    assert not left.has_data()
    for ax in axes_of(display):
        corners = ax.get_position().corners()
        assert np.all((corners >= place.min - 1e-9) & (corners <= place.max + 1e-9))


@every_display
def test_it_draws_on_as_many_axes_as_it_has_panels(make):
    n_panels = len(axes_of(make()))
    figure, axes = pyplot.subplots(1, n_panels, squeeze=False)
    display = make(ax=axes[0] if n_panels > 1 else axes[0, 0])
    assert axes_of(display) == list(axes[0])
    assert display.figure_ is figure


@every_display
def test_other_numbers_of_axes_are_refused(make):
    axes = pyplot.subplots(1, 5)[1]
    message = r"Display: ax must be one subplot, which is divided, or \d axes; got 5 axes\.$"
    with pytest.raises(ValueError, match=message):
        make(ax=axes)


@every_display
def test_it_leaves_the_settings_and_the_random_state_alone(make):
    settings, state = dict(matplotlib.rcParams), np.random.get_state()[1].copy()  # noqa: NPY002
    make()
    assert dict(matplotlib.rcParams) == settings
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@every_display
def test_no_word_is_cut_off_at_eight_by_five_inches(make):
    figure = make().figure_
    figure.set_size_inches(8, 5)
    figure.canvas.draw()
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text() and text.axes is not None:
            box = text.get_window_extent()
            inside = box.x0 > -2 and box.y0 > -2 and box.x1 < 802 and box.y1 < 502
            beyond_its_axis = _is_clipped_tick(text)
            assert inside or beyond_its_axis, text


def _is_clipped_tick(text):
    """Ticks outside the limits exist, but are not drawn."""
    labels = [*text.axes.get_xticklabels("both"), *text.axes.get_yticklabels("both")]
    return text in labels


@every_display
def test_lines_have_axes_with_names(make):
    for ax in axes_of(make()):
        assert ax.get_ylabel()
    assert ax.get_xlabel()


@every_display
def test_without_matplotlib_the_data_are_there_and_the_error_says_what_to_do(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = make(plot=False)
    message = (
        rf"^{type(display).__name__}: drawing needs matplotlib; pip install 'maxmargin\[plot\]'\.$"
    )
    with pytest.raises(ImportError, match=message):
        display.plot()
