"""Losses and penalties: values, slopes, and the inequalities that convexity promises."""

import math

import numpy as np
import pytest
from sklearn.metrics import hinge_loss, log_loss, mean_squared_error, zero_one_loss

from maxmargin.compiled import descent
from maxmargin.losses import LOSSES, loss_named
from maxmargin.penalties import PENALTIES, penalty_named

EPSILON = 0.3
CLASSIFICATION = ["hinge", "squared_hinge", "logistic"]
REGRESSION = ["squared", "epsilon_insensitive", "squared_epsilon_insensitive"]
CONVEX = CLASSIFICATION + REGRESSION
DECISIONS = np.linspace(-4.0, 4.0, 161)  # a step of 0.05: kinks at 1 and y +- 0.3 are hit exactly


def targets(name):
    return [-1.0, 1.0] if name in CLASSIFICATION else [-1.0, 0.0, 2.5]


def kinks(name, y):
    """Where the slope jumps or bends: finite differences say nothing there."""
    return [y] if name in CLASSIFICATION else [y - EPSILON, y + EPSILON]


FORMULAS = {
    "zero_one": lambda y, f: 1.0 if y * f <= 0 else 0.0,
    "hinge": lambda y, f: max(0.0, 1.0 - y * f),
    "squared_hinge": lambda y, f: max(0.0, 1.0 - y * f) ** 2,
    "logistic": lambda y, f: math.log(1.0 + math.exp(-y * f)),
    "squared": lambda y, f: (y - f) ** 2 / 2.0,
    "epsilon_insensitive": lambda y, f: max(0.0, abs(y - f) - EPSILON),
    "squared_epsilon_insensitive": lambda y, f: max(0.0, abs(y - f) - EPSILON) ** 2,
}


def test_the_table_is_complete():
    assert set(LOSSES) == {"zero_one", *CONVEX} == set(FORMULAS)
    assert set(descent.LOSSES) == set(CONVEX)
    assert all(loss_named(name).name == name for name in LOSSES)


@pytest.mark.parametrize("name", FORMULAS)
def test_values_are_the_formulas(name):
    for y in targets(name):
        expected = [FORMULAS[name](y, f) for f in DECISIONS]
        values = loss_named(name, EPSILON).value(y, DECISIONS)
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)
        assert np.ndim(loss_named(name, EPSILON).value(y, 0.7)) == 0


def test_means_are_scikit_learns():
    rng = np.random.default_rng(0)
    y, f = rng.choice([-1.0, 1.0], 50), rng.standard_normal(50)

    def mean(name):
        return loss_named(name).value(y, f).mean()

    assert mean("hinge") == pytest.approx(hinge_loss(y, f))
    assert mean("zero_one") == pytest.approx(zero_one_loss(y, np.sign(f)))
    assert mean("logistic") == pytest.approx(log_loss(y, 1 / (1 + np.exp(-f))))
    assert mean("squared") == pytest.approx(mean_squared_error(y, f) / 2)


@pytest.mark.parametrize("name", CONVEX)
def test_slopes_are_finite_differences_away_from_kinks(name):
    loss, step = loss_named(name, EPSILON), 1e-6
    for y in targets(name):
        f = DECISIONS[np.min([np.abs(DECISIONS - kink) for kink in kinks(name, y)], axis=0) > 0.01]
        rise = loss.value(y, f + step) - loss.value(y, f - step)
        np.testing.assert_allclose(loss.slope(y, f), rise / (2 * step), atol=1e-8)


@pytest.mark.parametrize("name", CONVEX)
def test_slopes_are_subgradients_everywhere_kinks_included(name):
    """value(g) >= value(f) + slope(f) (g - f) for all f and g: what a convex function promises."""
    loss = loss_named(name, EPSILON)
    for y in targets(name):
        f = np.concatenate([DECISIONS, kinks(name, y)])
        tangent = loss.value(y, f)[:, None] + loss.slope(y, f)[:, None] * (f - f[:, None])
        assert np.all(loss.value(y, f) >= tangent - 1e-12)


@pytest.mark.parametrize("name", CONVEX)
def test_curvature_bounds_the_change_of_the_slope(name):
    loss = loss_named(name, EPSILON)
    for y in targets(name):
        rise = np.abs(np.diff(loss.slope(y, DECISIONS)) / np.diff(DECISIONS))
        if np.isfinite(loss.curvature):
            assert 0.9 * loss.curvature < rise.max() <= loss.curvature * (1 + 1e-9)
        else:
            assert rise.max() > 10


def test_at_a_kink_the_slope_is_zero():
    assert loss_named("hinge").slope(1.0, 1.0) == 0
    tube = loss_named("epsilon_insensitive", 0.5)
    np.testing.assert_array_equal(tube.slope(1.0, [0.5, 1.5]), 0)
    assert loss_named("epsilon_insensitive", 0.0).slope(1.0, 1.0) == 0


def test_zero_one_lies_below_the_losses_that_stand_in_for_it():
    for y in (-1.0, 1.0):
        mistakes = loss_named("zero_one").value(y, DECISIONS)
        assert np.all(loss_named("hinge").value(y, DECISIONS) >= mistakes)
        assert np.all(loss_named("squared_hinge").value(y, DECISIONS) >= mistakes)
        assert np.all(loss_named("logistic").value(y, DECISIONS) >= math.log(2) * mistakes)
    with pytest.raises(TypeError, match="ZeroOne has no slope"):
        loss_named("zero_one").slope(1.0, 0.0)


@pytest.mark.parametrize("name", CONVEX)
def test_huge_decisions_neither_overflow_nor_warn(name):
    loss, f = loss_named(name, EPSILON), np.array([-1e300, -1e4, 1e4, 1e300])
    values, slopes = loss.value(1.0, f), loss.slope(1.0, f)
    assert not np.any(np.isnan(values))
    assert np.all(np.isfinite(slopes))
    if "squared" not in name:
        assert np.all(np.isfinite(values))
    if name == "logistic":
        np.testing.assert_array_equal(values, [1e300, 1e4, 0, 0])
        np.testing.assert_array_equal(slopes, [-1, -1, 0, 0])


@pytest.mark.parametrize("name", CONVEX)
def test_the_compiled_loop_has_the_same_slopes(name):
    code, f = descent.LOSSES.index(name), np.append(DECISIONS, [-1e300, 1e300])
    for y in targets(name):
        ours = [descent.slope(code, EPSILON, y, value) for value in f]
        expected = loss_named(name, EPSILON).slope(y, f)
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", PENALTIES)
def test_penalties_and_their_gradients(name):
    penalty, rng, step = penalty_named(name), np.random.default_rng(0), 1e-6
    w = rng.standard_normal(6)
    expected = {"none": 0.0, "l1": sum(map(abs, w)), "l2": sum(v * v for v in w) / 2}[name]
    assert penalty.value(w) == pytest.approx(expected)
    differences = [
        (penalty.value(w + step * e) - penalty.value(w - step * e)) / (2 * step) for e in np.eye(6)
    ]
    np.testing.assert_allclose(penalty.gradient(w), differences, atol=1e-8)
    w[:2] = 0.0  # the subgradient inequality, at kinks too
    for other in rng.standard_normal((50, 6)):
        bound = penalty.value(w) + penalty.gradient(w) @ (other - w)
        assert penalty.value(other) >= bound - 1e-12


def test_no_penalty_may_be_called_none():
    assert penalty_named(None).name == "none"


@pytest.mark.parametrize("name", CONVEX)
def test_the_conjugate_of_a_slope_is_where_its_line_lies_below_the_loss(name):
    """u f - value is largest where u is the slope; slopes that the loss has not are infinitely bad.

    Logistic slopes of zero and one are those of infinitely far decisions.
    """
    loss = loss_named(name, EPSILON)
    for y in targets(name):
        slopes = loss.slope(y, DECISIONS)
        largest = slopes * DECISIONS - loss.value(y, DECISIONS)
        np.testing.assert_allclose(loss.conjugate(y, slopes), largest, rtol=1e-9, atol=1e-12)
        assert loss.conjugate(y, 0.0) == 0.0
        if name in CLASSIFICATION:
            assert loss.conjugate(y, 0.01 * y) == np.inf
        if name in ("hinge", "logistic", "epsilon_insensitive"):
            assert loss.conjugate(y, -1.01 * (y or 1.0)) == np.inf


@pytest.mark.parametrize("name", [name for name in CONVEX if np.isfinite(LOSSES[name].curvature)])
def test_bends_are_finite_differences_of_the_slope(name):
    loss, step = loss_named(name, EPSILON), 1e-6
    for y in targets(name):
        f = DECISIONS[[min(abs(f - k) for k in kinks(name, y)) > 1e-3 for f in DECISIONS]]
        expected = (loss.slope(y, f + step) - loss.slope(y, f - step)) / (2 * step)
        np.testing.assert_allclose(loss.second_derivative(y, f), expected, atol=1e-6)
        assert np.max(loss.second_derivative(y, f)) <= loss.curvature + 1e-12
