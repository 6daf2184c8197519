"""TubeDisplay keeps the curve and its tube, and tells the points on its edge from those outside."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, KernelRidge, LinearSVR, NuSVR
from maxmargin.displays import TubeDisplay

matplotlib.use("Agg")

X = np.linspace(0.0, 6.0, 60)[:, None]
y = np.sin(X[:, 0]) + 0.2 * np.random.default_rng(0).standard_normal(60)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def model():
    return SVR(C=10.0, epsilon=0.2).fit(X, y)


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# The data.


def test_it_keeps_the_curve_the_points_and_their_slacks(model):
    display = TubeDisplay.from_estimator(model, X, y, grid_resolution=50, plot=False)
    assert display.xx.shape == display.response.shape == (50,)
    assert display.xx[0] < X.min() < X.max() < display.xx[-1]
    np.testing.assert_array_equal(display.response, model.predict(display.xx[:, None]))
    np.testing.assert_array_equal(display.predicted, model.predict(X))
    np.testing.assert_array_equal(
        display.slack, np.maximum(0.0, np.abs(y - model.predict(X)) - 0.2)
    )
    assert display.epsilon == 0.2


@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(60) % 3], ids=["plain", "weighted"])
@pytest.mark.parametrize("machine", [SVR(C=10.0, epsilon=0.2), NuSVR(C=10.0, nu=0.3)])
def test_outside_are_the_multipliers_at_their_bound_and_the_others_on_the_edge(machine, weight):
    machine.set_params(tol=1e-6).fit(X, y, weight)
    display = TubeDisplay.from_estimator(machine, X, y, plot=False)
    np.testing.assert_array_equal(np.flatnonzero(display.support), np.sort(machine.support_))
    bound = 10.0 * (np.ones(60) if weight is None else weight)
    at_bound = np.isclose(display.alpha, bound, rtol=1e-9)
    np.testing.assert_array_equal(display.outside, at_bound & display.support)
    assert 0 < display.outside.sum() < display.support.sum() < 60
    on_edge = display.support & ~display.outside
    misses = np.abs(y - display.predicted)
    np.testing.assert_allclose(misses[on_edge], display.epsilon, atol=1e-5)
    assert np.all(misses[~display.support] <= display.epsilon + 1e-5)


def test_the_tube_of_nu_is_that_of_an_svr_with_its_width():
    found = NuSVR(C=10.0, nu=0.3, tol=1e-8).fit(X, y)
    epsilon = TubeDisplay.from_estimator(found, X, y, plot=False).epsilon
    again = SVR(C=10.0, epsilon=epsilon, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(again.predict(X), found.predict(X), atol=1e-5)


def test_a_pipeline_and_a_data_frame_keep_units_and_names():
    frame, target = pd.DataFrame({"hours": X[:, 0]}), pd.Series(y, name="height")
    pipeline = make_pipeline(StandardScaler(), SVR(epsilon=0.2)).fit(frame, target)
    display = TubeDisplay.from_estimator(pipeline, frame, target)
    np.testing.assert_array_equal(display.X, X[:, 0])
    assert display.support.sum() == len(pipeline[-1].support_)
    assert display.ax_.get_xlabel() == "hours"
    assert display.ax_.get_ylabel() == "height"


def test_a_linear_machine_has_a_tube_without_support_vectors():
    display = TubeDisplay.from_estimator(LinearSVR(epsilon=0.3).fit(X, y), X, y)
    assert display.epsilon == 0.3
    assert not display.support.any()
    assert legend_of(display) == ["point", "f(x)", "tube, ε = 0.3", "slack ξ, to the tube"]


# The picture.


def test_the_tube_is_two_epsilon_high_and_slacks_end_on_its_edge(model):
    display = TubeDisplay.from_estimator(model, X, y)
    ways = display.ax_.collections[-1].get_segments()
    assert len(ways) == np.sum(display.slack > 0) > 0
    for (x, edge), (_, end) in ways:
        k = np.flatnonzero(X[:, 0] == x)[0]
        assert end == y[k]
        assert abs(edge - display.predicted[k]) == pytest.approx(0.2)
    assert legend_of(display) == [
        "point",
        "support vector, on the edge",
        "support vector, outside",
        "f(x)",
        "tube, ε = 0.2",
        "slack ξ, to the tube",
    ]


def test_a_tube_that_holds_all_has_no_slacks_and_no_support_vectors():
    display = TubeDisplay.from_estimator(SVR(epsilon=5.0).fit(X, y), X, y)
    assert not display.slack.any()
    assert legend_of(display) == ["point", "f(x)", "tube, ε = 5"]


# Refusals.


def test_one_feature_is_expected():
    rows = np.hstack([X, X])
    with pytest.raises(ValueError, match=r"^TubeDisplay: X must have 1 feature, got 2\.$"):
        TubeDisplay.from_estimator(SVR().fit(rows, y), rows, y)


@pytest.mark.parametrize("other", [KernelRidge(), SVC()], ids=lambda other: type(other).__name__)
def test_a_machine_without_a_tube(other):
    target = y if isinstance(other, KernelRidge) else y > 0
    message = r"^TubeDisplay: estimator must be a regression with a tube, as SVR, NuSVR or"
    with pytest.raises(TypeError, match=message):
        TubeDisplay.from_estimator(other.fit(X, target), X, target)


def test_the_width_of_nu_cannot_be_known_from_other_rows():
    found = NuSVR().fit(X, y)
    with pytest.raises(ValueError, match=r"give the rows that it was fitted on\.$"):
        TubeDisplay.from_estimator(found, X + 0.1, y)
