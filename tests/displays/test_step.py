"""StepDisplay shows a recorded step in the derivation's letters: box, line and parabola."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.contour import ContourSet
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, GradientDescentClassifier
from maxmargin.datasets import make_moons
from maxmargin.displays import StepDisplay

matplotlib.use("Agg")

X, y = make_moons(50)
WEIGHT = 1.0 + np.arange(50) % 3


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def traced(**options):
    return SVC(**{"C": 2.0, "gamma": 2.0, "solver": "smo_platt", "trace": True} | options)


@pytest.fixture(scope="module")
def model():
    return traced().fit(X, y)


def dual(alpha, signs, K):
    return alpha.sum() - 0.5 * (signs * alpha) @ K @ (signs * alpha)


def with_pair(alpha, pair, values):
    moved = alpha.copy()
    moved[pair] = values
    return moved


# What it keeps is the dual objective itself.


@pytest.mark.parametrize("step", [0, 1, 5, 20, -1])
def test_the_plane_and_the_parabola_are_the_dual_objective(model, step):
    display = StepDisplay.from_estimator(model, X, y, step=step, plot=False)
    alpha = np.abs(model.trace_.replay(0, display.step))
    K = rbf_kernel(X, gamma=2.0)
    assert display.objective == pytest.approx(dual(alpha, y, K), abs=1e-9)
    np.testing.assert_array_equal(display.before, alpha[display.pair])
    for values in [(0.3, 0.1), (-0.5, 2.0), display.after]:
        moved = dual(with_pair(alpha, display.pair, values), y, K)
        assert display.objective + display.gain_in_plane(*values) == pytest.approx(moved, abs=1e-9)
    for alpha_j in (display.L, display.H, display.after[1], display.unclipped):
        pair = display.alpha_i_at(alpha_j), alpha_j
        assert y[display.pair] @ pair == pytest.approx(y[display.pair] @ display.before)
        assert display.gain(alpha_j) == pytest.approx(display.gain_in_plane(*pair), abs=1e-9)


def test_the_step_ends_at_the_best_point_of_the_segment(model):
    for step in range(0, len(model.trace_), 10):
        display = StepDisplay.from_estimator(model, X, y, step=step, plot=False)
        best = display.gain(np.linspace(display.L, display.H, 1000)).max()
        assert display.gain(display.after[1]) >= best - 1e-12
        assert display.L <= display.after[1] <= display.H
        assert display.slope / display.eta == pytest.approx(display.unclipped - display.before[1])
        for end in (display.L, display.H):  # in the box, and on its edge
            corner = np.array([display.alpha_i_at(end), end])
            assert np.all((corner >= -1e-9) & (corner <= display.bounds + 1e-9))
            assert np.any(np.isclose(corner, 0) | np.isclose(corner, display.bounds))


def test_weights_are_factors_of_the_box():
    model = traced(class_weight={-1: 3.0, 1: 0.5}).fit(X, y, WEIGHT)
    for step in range(0, len(model.trace_), 7):
        display = StepDisplay.from_estimator(
            model, X, y, step=step, sample_weight=WEIGHT, plot=False
        )
        of_class = np.where(y[display.pair] > 0, 0.5, 3.0)
        np.testing.assert_allclose(display.bounds, 2.0 * of_class * WEIGHT[display.pair])
        assert np.all(display.after <= display.bounds)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("problem", [0, 1, 2])
def test_a_pair_of_one_problem_of_several_classes(multi_class, problem):
    rows, labels = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)[:60]
    rows, labels = rows[order], labels[order]
    model = traced(multi_class=multi_class).fit(rows, labels)
    display = StepDisplay.from_estimator(model, rows, labels, step=4, problem=problem, plot=False)
    K = rbf_kernel(rows[display.pair], gamma=2.0)
    assert display.eta == pytest.approx(K[0, 0] + K[1, 1] - 2 * K[0, 1])
    classes = [(0, 1), (0, 2), (1, 2)][problem] if multi_class == "ovo" else (problem,)
    positive = labels[display.pair] == classes[0]
    np.testing.assert_array_equal(display.signs, np.where(positive, 1.0, -1.0))


def test_a_matrix_and_a_pipeline_are_their_kernel():
    K = rbf_kernel(X, gamma=2.0)
    by_matrix = traced(kernel="precomputed").fit(K, y)
    display = StepDisplay.from_estimator(by_matrix, K, y, step=3, plot=False)
    np.testing.assert_allclose(np.abs(display.Q), K[np.ix_(display.pair, display.pair)])
    pipeline = make_pipeline(StandardScaler(), traced()).fit(X, y)
    display = StepDisplay.from_estimator(pipeline, X, y, step=3, plot=False)
    rows = pipeline[0].transform(X)[display.pair]
    np.testing.assert_allclose(np.abs(display.Q), rbf_kernel(rows, gamma=2.0))


# The picture.


def test_both_panels_mark_where_the_step_began_its_top_and_its_end(model):
    clipped = np.flatnonzero(model.trace_["unclipped"] != model.trace_["clipped"])[0]
    display = StepDisplay.from_estimator(model, X, y, step=int(clipped))
    box, parabola = display.axes_
    words = [text.get_text() for text in parabola.get_legend().get_texts()]
    assert words == ["inside the box", "before", "top of the parabola", "after, clipped to the box"]
    for ax, along in ((box, 1), (parabola, 0)):
        marked = {line.get_label(): line.get_data()[along][0] for line in ax.lines}
        assert marked["before"] == display.before[1]
        assert marked["after, clipped to the box"] == display.after[1]
        assert marked["top of the parabola"] == display.unclipped
    i, j = display.pair
    assert box.get_xlabel() == f"αi (row {i}, y = {y[i]:+d})"
    assert box.get_ylabel() == f"αj (row {j}, y = {y[j]:+d})"


# Refusals.


def test_the_box_has_its_own_shape_and_contours_have_lines(model):
    display = StepDisplay.from_estimator(model, X, y, step=5)
    box = display.axes_[0]
    assert box.get_aspect() == 1.0
    fills, lines = (drawn for drawn in box.collections if isinstance(drawn, ContourSet))
    assert fills.filled
    assert not lines.filled
    assert lines.get_linewidths()[0] > 0.5
    display.bounds = np.array([1.0, 1000.0])
    assert display.plot().axes_[0].get_aspect() == "auto", "weights make it too long to be shown so"


def test_a_step_that_was_not_made(model):
    n = len(model.trace_)
    message = rf"^StepDisplay: step must be between -{n} and {n - 1}, got {n}\.$"
    with pytest.raises(ValueError, match=message):
        StepDisplay.from_estimator(model, X, y, step=n)


@pytest.mark.parametrize(
    "source", [SVC(trace=True), GradientDescentClassifier(alpha=0.1, tol=1e-2)], ids=["fast", "gd"]
)
def test_a_trace_without_steps(source):
    message = r"^StepDisplay: the trace has no steps of problem 0\. Fit an SVC with trace=True"
    with pytest.raises(ValueError, match=message):
        StepDisplay.from_estimator(source.fit(X, y), X, y)


def test_other_rows_than_those_of_the_fit(model):
    with pytest.raises(ValueError, match=r"^StepDisplay: the trace is of 50 points and X has 30;"):
        StepDisplay.from_estimator(model, X[:30], y[:30])
