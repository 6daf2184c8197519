"""BoundaryDisplay keeps its data, marks the support vectors, and draws where it is told."""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.contour import ContourSet
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SVC,
    SVR,
    GradientDescentClassifier,
    LinearSVC,
    NuSVC,
    OneClassSVM,
    Perceptron,
)
from maxmargin.datasets import make_outlier
from maxmargin.displays import BoundaryDisplay
from maxmargin.displays.drawing import colour_of, marker_of

matplotlib.use("Agg")

X, y = make_moons(120, noise=0.25, random_state=0)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def model():
    return SVC(C=1.0, gamma=2.0).fit(X, y)


def iris():
    rows, labels = load_iris(return_X_y=True)
    return rows[:, :2], np.array(["setosa", "versicolor", "virginica"])[labels]


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# The data.


def test_it_keeps_the_decision_values_of_its_grid(model):
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=30, plot=False)
    assert display.xx0.shape == display.xx1.shape == display.response.shape == (30, 30)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.response.ravel(), model.decision_function(grid))
    np.testing.assert_array_equal(display.X, X)
    np.testing.assert_array_equal(display.y, y)
    np.testing.assert_array_equal(display.classes, model.classes_)


def test_it_keeps_the_multipliers_of_every_point(model):
    display = BoundaryDisplay.from_estimator(model, X, y, plot=False)
    np.testing.assert_array_equal(np.flatnonzero(display.support), np.sort(model.support_))
    np.testing.assert_array_equal(display.alpha[model.support_], np.abs(model.dual_coef_[0]))
    np.testing.assert_array_equal(display.bounded, display.alpha == model.C)
    assert display.bounded.sum() == model.certificate_.n_bound > 0


def test_eps_is_the_distance_beyond_the_points(model):
    display = BoundaryDisplay.from_estimator(model, X, y, eps=0.5, plot=False)
    np.testing.assert_allclose(display.xx0.min(), X[:, 0].min() - 0.5)
    np.testing.assert_allclose(display.xx1.max(), X[:, 1].max() + 0.5)


def test_points_it_was_not_fitted_on_are_no_support_vectors(model):
    display = BoundaryDisplay.from_estimator(model, X + 0.01, y)
    assert not display.support.any()
    assert not any("support" in text for text in legend_of(display))


def test_a_pipeline_shows_the_points_before_scaling():
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    display = BoundaryDisplay.from_estimator(pipeline, X, y)
    assert display.support.sum() == len(pipeline[-1].support_)
    np.testing.assert_array_equal(display.X, X)


def test_sparse_rows_give_the_same_picture(model):
    rows = sparse.csr_array(X)
    display = BoundaryDisplay.from_estimator(SVC(C=1.0, gamma=2.0).fit(rows, y), rows, y)
    dense = BoundaryDisplay.from_estimator(model, X, y, plot=False)
    np.testing.assert_allclose(display.response, dense.response, atol=1e-2)
    assert display.support.sum() > 0


def test_any_classifier_with_decision_values_has_a_boundary():
    display = BoundaryDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    assert not display.support.any()


# Margins and slacks.


@pytest.mark.parametrize(
    ("classifier", "has_margin"),
    [
        (SVC(), True),
        (NuSVC(nu=0.3), True),
        (LinearSVC(), True),
        (GradientDescentClassifier(loss="hinge", alpha=0.1, tol=1e-2), True),
        (make_pipeline(StandardScaler(), SVC()), True),
        (GradientDescentClassifier(loss="logistic", alpha=0.1), False),
        (LogisticRegression(), False),
        (Perceptron(), False),
        (Perceptron(kernel="rbf"), False),
    ],
    ids=lambda value: str(value).split("\n")[0],
)
def test_margins_are_drawn_for_machines_that_have_one(classifier, has_margin):
    rows, labels = make_outlier(40, depth=0.5)
    display = BoundaryDisplay.from_estimator(classifier.fit(rows, labels), rows, labels)
    assert display.margins is has_margin
    assert ("margins, f = ±1" in legend_of(display)) is has_margin
    assert "boundary, f = 0" in legend_of(display)


@pytest.mark.parametrize("machine", [SVC(kernel="linear", C=0.5), LinearSVC(loss="hinge")])
def test_the_way_to_the_margin_of_a_linear_machine_is_slack_over_the_length_of_w(machine):
    rows, labels = make_outlier(60, n_outliers=3, depth=1.4, random_state=1)
    machine.fit(rows, labels)
    display = BoundaryDisplay.from_estimator(machine, rows, labels, slack=True, plot=False)
    slack = np.maximum(0.0, 1.0 - labels * machine.decision_function(rows))
    np.testing.assert_allclose(display.slack, slack)
    ways = np.linalg.norm(display.feet - rows, axis=1)
    cell = max(np.ptp(display.xx0), np.ptp(display.xx1)) / 199
    np.testing.assert_allclose(
        ways[slack > 0], slack[slack > 0] / np.linalg.norm(machine.coef_), atol=cell
    )
    assert (slack > 0).sum() >= 3
    assert np.isnan(ways[slack == 0]).all()


def test_slacks_of_a_kernel_end_on_the_nearest_margin_of_their_class(model):
    display = BoundaryDisplay.from_estimator(model, X, y, slack=True)
    has_slack = display.slack > 0
    assert has_slack.any()
    signs = np.where(y == 1, 1.0, -1.0)
    at_feet = model.decision_function(display.feet[has_slack])
    np.testing.assert_allclose(at_feet, signs[has_slack], atol=0.02)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    for k in np.flatnonzero(has_slack):  # no point of the grid beyond the margin is nearer
        beyond = grid[signs[k] * display.response.ravel() >= 1]
        nearest = np.linalg.norm(beyond - X[k], axis=1).min()
        assert np.linalg.norm(display.feet[k] - X[k]) <= nearest + 1e-9
    assert "slack ξ, to the margin" in legend_of(display)


def test_a_margin_outside_the_picture_has_no_ways_to_it():
    display = BoundaryDisplay.from_estimator(SVC(C=1e-6).fit(X, y), X, y, slack=True)
    assert np.all(display.slack > 0)
    assert np.isnan(display.feet).all()


@pytest.mark.parametrize(
    ("classifier", "labels", "has"),
    [
        (SVC(), np.arange(120) % 3, "SVC has 3 classes"),
        (LogisticRegression(), y, "LogisticRegression has no margin"),
    ],
)
def test_slack_needs_two_classes_and_a_margin(classifier, labels, has):
    message = r"^BoundaryDisplay: slack=True needs two classes and a machine with a margin; " + has
    with pytest.raises(ValueError, match=message):
        BoundaryDisplay.from_estimator(classifier.fit(X, labels), X, labels, slack=True)


def test_linear_classifiers_of_several_classes_have_regions():
    rows, labels = iris()
    model = LinearSVC().fit(rows, labels)
    display = BoundaryDisplay.from_estimator(model, rows, labels)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.classes[display.response.ravel()], model.predict(grid))
    assert len(legend_of(display)) == 3


# One class.


def test_a_one_class_svm_has_a_region_with_its_support_vectors_on_the_boundary_or_outside():
    model = OneClassSVM(nu=0.1, gamma=2.0).fit(X)
    display = BoundaryDisplay.from_estimator(model, X)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.response.ravel(), model.decision_function(grid))
    np.testing.assert_array_equal(display.y, model.predict(X))
    np.testing.assert_array_equal(np.flatnonzero(display.support), np.sort(model.support_))
    np.testing.assert_array_equal(display.bounded, display.y == -1)
    assert 0 < display.bounded.sum() < display.support.sum()
    assert legend_of(display) == [
        "inside",
        "outside",
        "support vector, on the boundary",
        "support vector, outside",
        "boundary, f = 0",
    ]


def test_labels_beside_a_one_class_svm_are_ignored_as_in_its_fit():
    model = make_pipeline(StandardScaler(), OneClassSVM(nu=0.1)).fit(X)
    display = BoundaryDisplay.from_estimator(model, X, y, plot=False)
    np.testing.assert_array_equal(display.y, model.predict(X))
    assert display.support.sum() == len(model[-1].support_)


def test_other_outlier_detectors_have_a_region_without_support_vectors():
    model = IsolationForest(n_estimators=5, random_state=0).fit(X)
    display = BoundaryDisplay.from_estimator(model, X, grid_resolution=20)
    assert not display.support.any()
    assert legend_of(display) == ["inside", "outside", "boundary, f = 0"]


def test_a_picture_without_an_inside_is_drawn_without_a_warning():
    model = OneClassSVM(nu=0.1, gamma=2.0).fit(X)
    display = BoundaryDisplay.from_estimator(model, X + 100.0)
    assert np.all(display.response < 0)
    display.figure_.canvas.draw()


def test_slack_is_not_for_one_class():
    model = OneClassSVM(nu=0.1).fit(X)
    with pytest.raises(ValueError, match=r"; OneClassSVM has no margin\.$"):
        BoundaryDisplay.from_estimator(model, X, slack=True)


# The picture.


def test_many_classes_look_different():
    looks = [(colour_of(k), marker_of(k)) for k in range(55)]
    assert len({colour for colour, _ in looks[:11]}) == 11
    assert len(set(looks)) == 55


def test_the_legend_can_be_left_out(model):
    axes = pyplot.subplots(1, 2, layout="constrained")[1]
    display = BoundaryDisplay.from_estimator(model, X, y, ax=axes[0], legend=False)
    assert axes[0].get_legend() is None
    assert display.plot(ax=axes[1]).ax_.get_legend() is not None


def test_it_draws_on_the_given_axes(model):
    figure, axes = pyplot.subplots(1, 2)
    display = BoundaryDisplay.from_estimator(model, X, y, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert not axes[0].has_data()
    assert pyplot.get_fignums() == [figure.number]


def test_it_draws_again_from_its_data(model):
    display = BoundaryDisplay.from_estimator(model, X, y, plot=False)
    assert not hasattr(display, "ax_")
    assert display.plot() is display
    first = display.ax_
    assert display.plot().ax_ is not first


def test_two_classes_name_everything_drawn(model, tmp_path):
    display = BoundaryDisplay.from_estimator(model, X, y)
    assert legend_of(display) == [
        "class 0",
        "class 1",
        "support vector, 0 < α < C",
        "support vector, α = C",
        "boundary, f = 0",
        "margins, f = ±1",
    ]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x1", "x2")
    display.figure_.savefig(tmp_path / "boundary.png")
    assert (tmp_path / "boundary.png").stat().st_size > 0


def test_rings_grow_with_alpha(model):
    display = BoundaryDisplay.from_estimator(model, X, y)
    rings = {ring.get_label(): ring for ring in display.ax_.collections}
    free = display.support & ~display.bounded
    sizes = rings["support vector, 0 < α < C"].get_sizes()
    np.testing.assert_array_equal(np.argsort(sizes), np.argsort(display.alpha[free]))
    assert np.all(rings["support vector, α = C"].get_sizes() > sizes.max())


def test_several_classes_are_regions():
    rows, labels = iris()
    model = SVC().fit(rows, labels)
    display = BoundaryDisplay.from_estimator(model, rows, labels)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.classes[display.response.ravel()], model.predict(grid))
    np.testing.assert_array_equal(np.flatnonzero(display.support), np.sort(model.support_))
    assert legend_of(display)[:3] == ["class setosa", "class versicolor", "class virginica"]


def test_lines_between_several_classes_are_smooth():
    """They are where the two best classes tie, to a tenth of a pixel, and not on a staircase."""
    rows, labels = iris()
    model = LinearSVC().fit(rows, labels)
    display = BoundaryDisplay.from_estimator(model, rows, labels)
    display.figure_.draw_without_rendering()
    lines = [line for line in display.ax_.collections if isinstance(line, ContourSet)]
    drawn = np.concatenate([path.vertices for line in lines for path in line.get_paths()])
    places = display.ax_.transData.transform(drawn)
    values = np.sort(model.decision_function(drawn), axis=1)
    order = np.argsort(model.decision_function(drawn), axis=1)
    pixels = np.ptp(places, axis=0) / np.ptp(drawn, axis=0)
    slopes = np.linalg.norm(np.diff(model.coef_[order[:, 1:]] / pixels, axis=1)[:, 0], axis=1)
    off = (values[:, 2] - values[:, 1]) / slopes
    assert np.sqrt(np.mean(off**2)) < 0.1
    assert off.max() < 1.0


def test_regions_are_finer_than_the_grid_and_agree_with_it():
    rows, labels = iris()
    model = SVC(gamma=2.0).fit(rows, labels)
    display = BoundaryDisplay.from_estimator(model, rows, labels, grid_resolution=50, plot=False)
    assert display.regions.shape == (197, 197)
    np.testing.assert_array_equal(display.regions[::4, ::4], display.response)
    finer = BoundaryDisplay.from_estimator(model, rows, labels, grid_resolution=197, plot=False)
    np.testing.assert_array_equal(display.regions, finer.response)
    display.regions = None
    display.plot()  # as of data that were kept without


def test_the_axes_carry_the_names_of_a_data_frame():
    frame = pd.DataFrame(X, columns=["width", "height"])
    display = BoundaryDisplay.from_estimator(SVC().fit(frame, y), frame, y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")
    assert display.support.any()


def test_a_surface_that_reaches_no_margin_is_drawn_without_a_warning():
    model = SVC(C=1e-6).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y)
    assert np.ptp(display.response) < 1
    display.figure_.canvas.draw()


def test_one_place_has_a_grid_around_it():
    model = SVC(kernel="linear").fit([[0.0, 0.0], [0.0, 1.0]], [0, 1])
    display = BoundaryDisplay.from_estimator(model, [[0.0, 0.0], [0.0, 1.0]], [0, 1])
    assert np.ptp(display.xx0) > 0


# Refusals.


@pytest.mark.parametrize("n_features", [1, 3, 4])
def test_two_features_are_expected(n_features):
    rows = np.random.default_rng(0).normal(size=(20, n_features))
    labels = np.arange(20) % 2
    message = rf"^BoundaryDisplay: X must have 2 features, got {n_features}\.$"
    with pytest.raises(ValueError, match=message):
        BoundaryDisplay.from_estimator(SVC().fit(rows, labels), rows, labels)


def test_labels_are_those_of_the_fit(model):
    message = r"^BoundaryDisplay: y holds the label 2, which was not in the fit\.$"
    with pytest.raises(ValueError, match=message):
        BoundaryDisplay.from_estimator(model, X, y + 1)


def test_a_classifier_needs_labels(model):
    message = r"^BoundaryDisplay: y is None, and the points of a classifier need their labels\.$"
    with pytest.raises(TypeError, match=message):
        BoundaryDisplay.from_estimator(model, X)


def test_a_regressor_has_no_boundary():
    message = r"^BoundaryDisplay: estimator must be a classifier or a OneClassSVM, got SVR, which"
    for regressor in (SVR(), make_pipeline(StandardScaler(), SVR())):
        with pytest.raises(TypeError, match=message):
            BoundaryDisplay.from_estimator(regressor.fit(X, y), X, y)


def test_the_estimator_is_fitted():
    with pytest.raises(NotFittedError):
        BoundaryDisplay.from_estimator(SVC(), X, y)


def test_importing_displays_does_not_load_matplotlib():
    code = "import sys, maxmargin.displays; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
