"""ConvergenceDisplay shows the columns of a trace, problem by problem."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, GradientDescentClassifier, GradientDescentRegressor
from maxmargin.datasets import make_moons
from maxmargin.displays import ConvergenceDisplay
from maxmargin.solvers import SMORandomPair

matplotlib.use("Agg")

X, y = make_moons(80)
NAME = "-1 or 1"


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def traced(solver, **options):
    return SVC(gamma=2.0, solver=solver, trace=True, **options).fit(X, y)


def test_a_teaching_solver_has_a_step_per_pair():
    model = traced("smo_pairs")
    display = ConvergenceDisplay.from_estimator(model, plot=False)
    assert display.quantities == ("objective", "gap", "violation")
    assert display.step_name == "pairs moved"
    assert display.tol == model.tol
    curve = display.curves[NAME]
    np.testing.assert_array_equal(curve["steps"], np.arange(1, len(model.trace_.steps) + 1))
    for quantity in ("seconds", *display.quantities):
        np.testing.assert_array_equal(curve[quantity], model.trace_.steps[quantity])
    assert curve["objective"][-1] == pytest.approx(model.certificate_.dual_objective)


def test_the_fast_solver_has_a_step_per_slice_at_the_pairs_moved():
    model = traced("smo")
    display = ConvergenceDisplay.from_estimator(model)
    curve = display.curves[NAME]
    np.testing.assert_array_equal(curve["steps"], model.trace_.rounds["n_iter"])
    np.testing.assert_array_equal(curve["gap"], model.trace_.rounds["gap"])
    assert display.axes_[-1].get_xlabel() == "pairs moved"


@pytest.mark.parametrize("solver", ["smo_random_pair", SMORandomPair(max_rounds=50)])
def test_random_pairs_show_what_was_learned_per_round(solver):
    model = traced(solver, tol=0.1)
    display = ConvergenceDisplay.from_estimator(model)
    assert display.quantities == ("accuracy", "loss", "movement")
    assert display.step_name == "round"
    rounds = model.trace_.rounds
    np.testing.assert_array_equal(display.curves[NAME]["steps"], np.arange(1, len(rounds) + 1))
    np.testing.assert_array_equal(display.curves[NAME]["movement"], rounds["movement"])
    assert [ax.get_yscale() for ax in display.axes_] == ["linear", "linear", "log"]


def test_quantities_can_be_chosen_from_either_table():
    model = traced("smo_platt")
    steps = ConvergenceDisplay.from_estimator(model, quantities="gap", plot=False)
    assert len(steps.curves[NAME]["gap"]) == len(model.trace_.steps)
    rounds = ConvergenceDisplay.from_estimator(model, quantities=("gap", "n_support"))
    np.testing.assert_array_equal(
        rounds.curves[NAME]["n_support"], model.trace_.rounds["n_support"]
    )
    assert len(rounds.axes_) == 2


@pytest.mark.parametrize(
    ("multi_class", "names"),
    [
        ("ovo", ["setosa or versicolor", "setosa or virginica", "versicolor or virginica"]),
        ("ovr", ["setosa or rest", "versicolor or rest", "virginica or rest"]),
    ],
)
def test_every_problem_has_a_line(multi_class, names):
    rows, labels = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[labels]
    model = SVC(solver="smo_pairs", multi_class=multi_class, trace=True).fit(rows, labels)
    model.set_params(multi_class="ovo")  # says nothing of the fit that was
    display = ConvergenceDisplay.from_estimator(model)
    assert list(display.curves) == names
    legend = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert legend == names
    one = ConvergenceDisplay.from_estimator(model, problem=1)
    assert list(one.curves) == [names[1]]
    np.testing.assert_array_equal(one.curves[names[1]]["gap"], display.curves[names[1]]["gap"])
    assert one.axes_[0].get_legend() is None


def test_gradient_descent_is_shown_per_epoch():
    model = GradientDescentClassifier(loss="logistic", alpha=0.01).fit(X, y)
    display = ConvergenceDisplay.from_estimator(model)
    assert display.quantities == ("objective", "loss", "movement")  # nothing was set aside
    assert display.axes_[-1].get_xlabel() == "epoch"
    assert display.axes_[0].get_ylabel() == "objective"
    np.testing.assert_array_equal(display.curves[NAME]["steps"], model.trace_["epoch"])
    np.testing.assert_array_equal(display.curves[NAME]["loss"], model.trace_["loss"])


def test_rows_set_aside_have_a_panel():
    model = GradientDescentRegressor(early_stopping=True).fit(X, X[:, 0])
    display = ConvergenceDisplay.from_estimator(model)
    assert display.quantities == ("objective", "loss", "validation", "movement")
    assert list(display.curves) == ["problem 0"]


def test_a_regression_by_the_fast_solver():
    model = SVR(trace=True).fit(X, X[:, 0])
    assert ConvergenceDisplay.from_estimator(model).quantities == ("objective", "gap", "violation")


def test_a_pipeline_is_known_by_its_last_step():
    pipeline = make_pipeline(StandardScaler(), SVC(trace=True)).fit(X, y)
    assert list(ConvergenceDisplay.from_estimator(pipeline, plot=False).curves) == [NAME]


def test_the_violation_has_a_line_at_tol():
    model = traced("smo_pairs", tol=1e-2)
    violation = ConvergenceDisplay.from_estimator(model).axes_[2]
    levels = [line.get_ydata() for line in violation.lines]
    assert any(np.all(np.asarray(level) == 1e-2) for level in levels)
    assert [text.get_text() for text in violation.texts] == ["tol 0.01"]


@pytest.mark.parametrize("tol", [1e-14, 1e-3, 1e3])
def test_tol_is_in_the_picture_however_far_the_fit_is_from_it(tol):
    trace = traced("smo_pairs").trace_
    violation = ConvergenceDisplay.from_trace(trace, quantities="violation", tol=tol).axes_[0]
    low, high = violation.get_ylim()
    assert low < tol < high


@pytest.mark.parametrize(("tol", "floor"), [(1e-12, 7.7e-13 / 2), (1e-13, 1e-13)])
def test_only_what_is_zero_or_less_is_lifted_and_not_above_tol(tol, floor):
    recorded = np.array([2.7, 7.7e-13, 0.0, -1e-17])
    curve = {"steps": np.arange(4), "seconds": np.arange(4.0), "violation": recorded}
    display = ConvergenceDisplay(
        curves={"a": curve}, quantities=("violation",), step_name="round", tol=tol
    ).plot()
    drawn = display.axes_[0].lines[0].get_ydata()
    assert drawn.tolist() == [2.7, 7.7e-13, floor, floor]
    assert display.axes_[0].get_ylim()[0] < floor


def test_of_many_problems_only_the_number_is_told():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(50, 2)), np.arange(50) % 6
    display = ConvergenceDisplay.from_estimator(SVC(trace=True).fit(rows, labels))
    assert len(display.curves) == 15
    assert display.axes_[0].get_legend() is None
    assert display.axes_[0].get_title() == "15 problems"


def test_a_class_without_weight_leaves_no_wrong_names():
    rows, labels = load_iris(return_X_y=True)
    model = SVC(trace=True).fit(rows, labels, sample_weight=(labels > 0).astype(float))
    display = ConvergenceDisplay.from_estimator(model, plot=False)
    assert list(display.curves) == ["problem 0"]


def test_seconds_can_take_the_place_of_steps():
    display = ConvergenceDisplay.from_estimator(traced("smo_pairs"), against="seconds")
    assert display.axes_[-1].get_xlabel() == "seconds"
    drawn = display.axes_[0].lines[0].get_xdata()
    np.testing.assert_array_equal(drawn, display.curves[NAME]["seconds"])


def test_what_is_not_positive_is_left_out_of_a_logarithmic_panel():
    model = traced("smo_random_pair")
    display = ConvergenceDisplay.from_estimator(model, quantities="movement")
    drawn = np.asarray(display.axes_[0].lines[0].get_ydata())
    movement = model.trace_.rounds["movement"]
    np.testing.assert_array_equal(np.isnan(drawn), movement <= 0)


@pytest.mark.parametrize("solver", ["smo", "smo_platt"])
def test_a_problem_solved_exactly_has_its_line_too(solver):
    model = SVC(solver=solver, trace=True).fit(*load_iris(return_X_y=True))
    model.trace_.finest["gap"][-1] = 0.0  # as rounding may leave it, or below zero
    display = ConvergenceDisplay.from_estimator(model)
    assert min(curve["gap"].min() for curve in display.curves.values()) <= 0
    for ax in display.axes_:
        low = ax.get_ylim()[0]
        for line in ax.lines:
            assert np.all((np.asarray(line.get_ydata()) > low) & np.isfinite(line.get_ydata()))


def test_the_display_keeps_a_copy():
    model = traced("smo_pairs")
    display = ConvergenceDisplay.from_estimator(model, plot=False)
    model.trace_.steps["gap"][:] = 0.0
    assert display.curves[NAME]["gap"].max() > 0


# Refusals.


def test_a_model_without_a_trace_is_told_how_to_get_one():
    message = r"^ConvergenceDisplay: SVC has no trace_\. Fit an SVM with trace=True"
    with pytest.raises(ValueError, match=message):
        ConvergenceDisplay.from_estimator(SVC().fit(X, y))


def test_an_unknown_problem():
    message = r"^ConvergenceDisplay: problem must be one of 0, got 3\.$"
    with pytest.raises(ValueError, match=message):
        ConvergenceDisplay.from_estimator(traced("smo"), problem=3)


def test_an_unknown_quantity():
    message = r"^ConvergenceDisplay: 'speed' was not recorded; choose from n_support, b, objective"
    with pytest.raises(ValueError, match=message):
        ConvergenceDisplay.from_estimator(traced("smo"), quantities=("gap", "speed"))


def test_a_quantity_that_the_model_does_not_have():
    model = SVR(trace=True).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="'accuracy' was not recorded"):
        ConvergenceDisplay.from_estimator(model, quantities="accuracy")


def test_against_something_else():
    message = r"^ConvergenceDisplay: against must be 'steps' or 'seconds', got 'rounds'\.$"
    with pytest.raises(ValueError, match=message):
        ConvergenceDisplay.from_estimator(traced("smo"), against="rounds")


def test_a_model_is_no_trace():
    message = r"^ConvergenceDisplay: trace must be the trace_ .* got SVC; for a model there is from"
    with pytest.raises(TypeError, match=message):
        ConvergenceDisplay.from_trace(SVC())


def test_an_empty_trace():
    model = SVC(solver="smo_pairs", trace=True).fit(X, y)
    with pytest.raises(ValueError, match=r"^ConvergenceDisplay: the trace is empty"):
        ConvergenceDisplay.from_trace(type(model.trace_)(limit=0))
