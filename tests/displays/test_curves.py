"""PathDisplay and BiasVarianceDisplay: models along a parameter."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.metrics import mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, Lasso, LinearSVC, Ridge
from maxmargin.datasets import make_moons
from maxmargin.displays import BiasVarianceDisplay, PathDisplay
from maxmargin.estimators import machines
from maxmargin.inspection import bias_variance_curve

matplotlib.use("Agg")

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4))
y = X @ [2.0, 0.0, -1.0, 0.1] + 0.5 * rng.normal(size=50)
ALPHAS = np.logspace(-2, 3, 12)
MOONS = make_moons(80)
TEST = make_moons(200, random_state=1)
PRICES = [0.01, 0.1, 1.0, 10.0, 100.0]


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# A path of weights.


def test_a_path_shows_its_weights():
    path = Ridge().path(X, y, ALPHAS)
    display = PathDisplay.from_path(path, feature_names=["a", "b", "c", "d"])
    np.testing.assert_array_equal(display.coefs, path.coefs)
    np.testing.assert_array_equal(display.values, ALPHAS)
    assert len(display.axes_) == 1
    assert display.axes_[0].get_xscale() == "log"
    assert legend_of(display.axes_[0]) == ["a", "b", "c", "d"]
    for k, line in enumerate(display.axes_[0].lines):
        np.testing.assert_array_equal(line.get_ydata(), path.coefs[:, k])


def test_weights_have_the_names_of_a_data_frame_if_they_can_be_known():
    frame = pd.DataFrame(X, columns=["age", "size", "price", "year"])
    path, errors_on = Lasso().path(frame, y, n_alphas=5), {"training": (frame, y)}
    named = PathDisplay.from_path(path, errors_on=errors_on)
    assert legend_of(named.axes_[0]) == list(frame.columns)
    given = PathDisplay.from_path(path, errors_on=errors_on, feature_names="abcd", plot=False)
    assert given.feature_names == ["a", "b", "c", "d"]
    assert PathDisplay.from_path(path, plot=False).feature_names is None


@pytest.mark.parametrize("rows", [X, sparse.csr_array(X), pd.DataFrame(X)])
def test_errors_along_a_path_are_those_of_the_models(rows):
    path = Ridge().path(X, y, ALPHAS)
    display = PathDisplay.from_path(path, errors_on={"training": (rows, y)}, plot=False)
    for alpha, error in zip(ALPHAS, display.errors["training"], strict=True):
        model = SklearnRidge(alpha=alpha).fit(X, y)
        assert error == pytest.approx(mean_squared_error(y, model.predict(X)))


def test_a_lasso_keeps_its_gaps():
    path = Lasso().path(X, y, n_alphas=10)
    display = PathDisplay.from_path(path, errors_on={"training": (X, y)})
    np.testing.assert_array_equal(display.dual_gaps, path.dual_gaps)
    assert len(display.axes_) == 2


def test_of_many_weights_the_largest_are_named():
    wide = rng.normal(size=(30, 20))
    path = Ridge().path(wide, wide @ np.arange(20.0), ALPHAS)
    display = PathDisplay.from_path(path)
    largest = np.sort(np.argsort(-np.abs(path.coefs).max(axis=0))[:8])
    assert legend_of(display.axes_[0]) == [f"w{k + 1}" for k in largest] + ["12 smaller ones"]
    assert len(display.axes_[0].lines) == 20


def test_a_penalty_of_zero_has_a_place():
    display = PathDisplay.from_path(Ridge().path(X, y, [0.0, 0.01, 1.0, 100.0]))
    assert display.axes_[0].get_xscale() == "symlog"


def test_several_targets_are_drawn_one_at_a_time():
    path = Ridge().path(X, np.column_stack([y, -y]), ALPHAS)
    with pytest.raises(ValueError, match=r"^PathDisplay: the path has 2 targets; draw one"):
        PathDisplay.from_path(path)
    one = path._replace(coefs=path.coefs[:, 1], intercepts=path.intercepts[:, 1])
    display = PathDisplay.from_path(one, errors_on={"all": (X, -y)}, plot=False)
    alone = PathDisplay.from_path(
        Ridge().path(X, -y, ALPHAS), errors_on={"all": (X, -y)}, plot=False
    )
    np.testing.assert_allclose(display.errors["all"], alone.errors["all"])


# Fits along a parameter.


def test_a_kernel_machine_along_c_has_the_errors_of_its_fits():
    display = PathDisplay.from_estimator(
        SVC(gamma=2.0), *MOONS, param_range=PRICES, errors_on={"test": TEST}
    )
    assert list(display.errors) == ["training", "test"]
    for k, C in enumerate(PRICES):
        model = SVC(gamma=2.0, C=C).fit(*MOONS)
        assert display.errors["training"][k] == pytest.approx(1 - model.score(*MOONS))
        assert display.errors["test"][k] == pytest.approx(1 - model.score(*TEST), abs=0.01)
        assert display.n_support[k] == pytest.approx(len(model.support_), abs=1)
    assert display.coefs is None
    assert [ax.get_ylabel() for ax in display.axes_] == ["share of mistakes", "support vectors"]


def test_the_estimator_is_left_as_it_was():
    estimator = SVC(gamma=2.0, C=3.0)
    before = repr(clone(estimator)), dict(vars(estimator))
    PathDisplay.from_estimator(estimator, *MOONS, param_range=PRICES, plot=False)
    assert (repr(estimator), vars(estimator)) == before


def test_later_fits_of_a_kernel_machine_begin_at_the_one_before(monkeypatch):
    starts = []
    original = machines.solve_and_prove

    def solve_and_prove(solve, solver, problem, budget, start, *rest, **known):
        starts.append(start)
        return original(solve, solver, problem, budget, start, *rest, **known)

    monkeypatch.setattr(machines, "solve_and_prove", solve_and_prove)
    PathDisplay.from_estimator(SVC(gamma=2.0), *MOONS, param_range=PRICES[:3], plot=False)
    assert starts[0] is None
    assert all(np.any(start.coef) for start in starts[1:])


def test_a_linear_machine_has_weights_too():
    display = PathDisplay.from_estimator(LinearSVC(), *MOONS, param_range=PRICES)
    assert display.coefs.shape == (5, 2)
    np.testing.assert_allclose(display.coefs[2], LinearSVC(C=1.0).fit(*MOONS).coef_[0])


def test_regression_is_judged_by_squares():
    display = PathDisplay.from_estimator(
        SVR(), X, y, param_name="epsilon", param_range=[0.0, 0.5, 1.0], plot=False
    )
    model = SVR(epsilon=1.0).fit(X, y)
    expected = mean_squared_error(y, model.predict(X))
    assert display.errors["training"][2] == pytest.approx(expected, rel=1e-2)
    assert display.error_name == "mean squared error"


def test_a_parameter_of_a_step_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), SVC())
    display = PathDisplay.from_estimator(
        pipeline, *MOONS, param_name="svc__gamma", param_range=[0.1, 1.0, 10.0]
    )
    assert display.axes_[-1].get_xlabel() == "svc__gamma"
    assert display.n_support.shape == (3,)


def test_a_parameter_of_words():
    display = PathDisplay.from_estimator(
        SVC(), *MOONS, param_name="kernel", param_range=["linear", "rbf"]
    )
    display.figure_.canvas.draw()
    assert [text.get_text() for text in display.axes_[-1].get_xticklabels()] == ["linear", "rbf"]


def test_the_least_error_is_marked_but_not_on_training_rows():
    display = PathDisplay.from_estimator(
        SVC(gamma=2.0), *MOONS, param_range=PRICES, errors_on={"test": TEST}
    )
    error = display.errors["test"]
    best = int(np.argmin(error))
    mark = display.axes_[0].lines[2]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (PRICES[best], error[best])
    assert legend_of(display.axes_[0]) == ["training", "test", f"least: {error[best]:.4g}"]


def test_a_range_without_values_is_refused():
    with pytest.raises(ValueError, match=r"^PathDisplay: param_range is empty\.$"):
        PathDisplay.from_estimator(SVC(), *MOONS, param_range=[])


# Bias and variance.


def sample(rng):
    rows = rng.uniform(-1, 1, size=(25, 1))
    return rows, rows[:, 0] + 0.3 * rng.standard_normal(25)


@pytest.fixture(scope="module")
def curve():
    return bias_variance_curve(
        Ridge(), sample, lambda X: X[:, 0], param_name="alpha", param_range=PRICES, n_draws=20
    )


def test_bias_and_variance_are_those_of_the_curve(curve):
    display = BiasVarianceDisplay.from_curve(curve, PRICES, param_name="alpha")
    for name in ("noise", "bias2", "variance", "error", "sum"):
        expected = [getattr(found, name) for found in curve]
        np.testing.assert_allclose(getattr(display, name), expected)
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in display.ax_.lines}
    np.testing.assert_array_equal(lines["variance"], display.variance)
    np.testing.assert_allclose(
        lines["their sum"], lines["noise"] + lines["bias²"] + lines["variance"]
    )
    np.testing.assert_array_equal(lines["measured error"], display.error)
    assert display.ax_.get_xlabel() == "alpha"
    assert display.ax_.get_xscale() == "log"


def test_a_complexity_of_words(curve):
    display = BiasVarianceDisplay.from_curve(curve[:2], ["small", "large"])
    display.figure_.canvas.draw()
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["small", "large"]


def test_errors_that_differ_by_orders_of_magnitude_are_on_a_logarithmic_scale(curve):
    explosive = bias_variance_curve(
        DummyRegressor(strategy="constant", constant=0.0), sample, lambda X: X[:, 0],
        param_name="constant", param_range=[0.0, 30.0], n_draws=3,
    )  # fmt: skip
    display = BiasVarianceDisplay.from_curve(explosive, [0.0, 30.0])
    assert display.ax_.get_yscale() == "log"
    assert BiasVarianceDisplay.from_curve(curve, PRICES).ax_.get_yscale() == "linear"


def test_a_value_for_every_model(curve):
    message = (
        r"^BiasVarianceDisplay: values must have one entry for each of the 5 models of the curve, "
        r"got 3\.$"
    )
    with pytest.raises(ValueError, match=message):
        BiasVarianceDisplay.from_curve(curve, PRICES[:3])
