"""One step of SMO: the box of its two multipliers, the line they may move on, and the parabola.

Invariant: everything drawn is kept as an attribute, and follows from the recorded step. The
objective of the parabola at the end of the step is the one that the trace has there.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin import arrays
from maxmargin.displays.drawing import INK, PALE, colour_of, legend_beside, panels_for, tidy, tint
from maxmargin.displays.models import (
    binary_problem,
    check_rows_of,
    is_one_vs_rest,
    kernel_of,
    rows_at_last_step,
    steps_of,
    trace_of,
)
from maxmargin.estimators.pipelines import last_step

AROUND = 0.25  # This share of the box is shown on every side of it.
FARTHEST = 1.0  # A top that lies further outside than this many boxes is not shown.
GRID = 80  # The plane of the two multipliers has this many grid points along each side.
LEVELS = 12  # The objective has this many contours.
LONGEST = 4.0  # A box that is longer than this, because of weights, is not drawn to scale.


@dataclass(kw_only=True, eq=False, repr=False)
class StepDisplay:
    """One recorded step of a teaching solver, in the letters of the derivation.

    On the left is the plane of alpha_i and alpha_j with their box, the dual objective as contours,
    and the line on which y_i alpha_i + y_j alpha_j is constant. On the right is the objective along
    that line, a parabola in alpha_j: the step begins at the old alpha_j and would go to its top,
    and L and H are the ends of the box.

    Parameters
    ----------
    pair : array of int of shape (2,)
        The rows i and j of X.
    signs, bounds : arrays of shape (2,)
        The y and C of the two.
    before, after : arrays of shape (2,)
        Their multipliers before and after the step.
    unclipped : float
        The top of the parabola, as a value of alpha_j.
    L, H : float
        The ends of the segment of alpha_j inside the box.
    gradient : array of shape (2,)
        The slope of the dual objective along each multiplier, before the step.
    Q : array of shape (2, 2)
        The y_i y_j K_ij of the two.
    eta : float
        The curvature along the line, K_ii + K_jj - 2 K_ij.
    objective : float
        The dual objective before the step.
    step, n_steps : int
        Which step it is, from 0, and of how many.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and Figure
        They belong to the last `plot`.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.datasets import make_moons
    >>> from maxmargin.displays import StepDisplay
    >>> X, y = make_moons(60)
    >>> model = SVC(solver="smo_platt", trace=True).fit(X, y)
    >>> display = StepDisplay.from_estimator(model, X, y, step=3, plot=False)
    >>> bool(display.L <= display.after[1] <= display.H)
    True
    >>> gained = display.gain(display.after[1])
    >>> bool(abs(display.objective + gained - model.trace_["objective"][3]) < 1e-12)
    True
    """

    pair: np.ndarray
    signs: np.ndarray
    bounds: np.ndarray
    before: np.ndarray
    after: np.ndarray
    unclipped: float
    L: float
    H: float
    gradient: np.ndarray
    Q: np.ndarray
    eta: float
    objective: float
    step: int
    n_steps: int

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, step=0, problem=0, sample_weight=None, ax=None, plot=True
    ):
        """Draw one step of the `trace_` of a fitted classifier.

        Parameters
        ----------
        estimator : SVC fitted with trace=True and a teaching solver, or Pipeline that ends in one
        X, y
            The data that the model was fitted on, every row with a positive weight.
        step : int, default=0
            Which step of the problem, from 0; negative numbers count from the end.
        problem : int, default=0
            Which of the binary problems of a classifier with several classes.
        sample_weight : array of shape (n,), optional
            The weights of the fit, if it had any, which are factors of C.
        ax : matplotlib Axes or two of them, optional
            One subplot, which is divided, or one per panel; a new figure if not given.
        plot : bool, default=True
            False keeps the data without drawing, and without matplotlib.
        """
        check_is_fitted(estimator)
        owner, model, trace = cls.__name__, last_step(estimator), trace_of(estimator, cls.__name__)
        steps = steps_of(trace, problem, owner)
        if not -len(steps) <= step < len(steps):
            raise ValueError(
                f"{owner}: step must be between {-len(steps)} and {len(steps) - 1}, got {step!r}."
            )
        step, y = range(len(steps))[step], column_or_1d(y)
        check_consistent_length(X, y)
        rows, is_positive, _ = binary_problem(model.classes_, y, problem, is_one_vs_rest(model))
        check_rows_of(trace, problem, rows, owner)
        made = steps[step]
        variables = np.array([made["i"], made["j"]])
        pair, signs = rows[variables], np.where(is_positive[variables], 1.0, -1.0)
        K = _kernel_values(estimator, X, pair)
        display = cls(
            pair=pair,
            signs=signs,
            bounds=_bounds(model, y, pair, sample_weight),
            before=np.abs(trace.replay(problem, step)[variables]),
            after=np.array([made["alpha_i"], made["clipped"]]),
            unclipped=float(made["unclipped"]),
            L=float(made["L"]),
            H=float(made["H"]),
            gradient=signs * _pull(steps, step),
            Q=np.outer(signs, signs) * K,
            eta=float(made["eta"]),
            objective=float(made["objective"]),
            step=step,
            n_steps=len(steps),
        )
        display.objective -= float(display.gain(display.after[1]))
        return display.plot(ax=ax) if plot else display

    @property
    def slope(self):
        """The slope of the dual objective along the line, by alpha_j: y_j (E_i - E_j)."""
        return float(self.gradient[1] - self.signs[0] * self.signs[1] * self.gradient[0])

    def gain(self, alpha_j):
        """What the objective gains when alpha_j moves there along the line."""
        moved = alpha_j - self.before[1]
        return moved * (self.slope - 0.5 * self.eta * moved)

    def alpha_i_at(self, alpha_j):
        """The alpha_i at this alpha_j on the line."""
        return self.before[0] + self.signs[0] * self.signs[1] * (self.before[1] - alpha_j)

    def gain_in_plane(self, alpha_i, alpha_j):
        """What the objective would gain anywhere in the plane of the two multipliers."""
        u, v = alpha_i - self.before[0], alpha_j - self.before[1]
        (q_ii, q_ij), (_, q_jj) = self.Q
        curvature = q_ii * u**2 + 2.0 * q_ij * u * v + q_jj * v**2
        return self.gradient[0] * u + self.gradient[1] * v - 0.5 * curvature

    def plot(self, ax=None):
        """Draw on the given axes, or on a new figure."""
        axes = panels_for(ax, (1, 2), "StepDisplay", (9.6, 4.2))
        _draw_box(axes[0], self)
        _draw_parabola(axes[1], self)
        axes[0].set_title(f"step {self.step + 1} of {self.n_steps}: the box", fontsize="medium")
        axes[1].set_title(f"along the line, η = {self.eta:.3g}", fontsize="medium")
        legend_beside(axes[1])
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


# Computing.


def _kernel_values(estimator, X, pair):
    """The kernel matrix of the two points."""
    kernel = kernel_of(last_step(estimator))
    rows = arrays.take(rows_at_last_step(estimator, X), pair)
    return arrays.dense(rows)[:, pair] if kernel.takes == "gram" else kernel(rows)


def _bounds(model, y, pair, sample_weight):
    """The C of the two points, times the weights of their classes and their own."""
    of_class = model.class_weight_[np.searchsorted(model.classes_, y[pair])]
    weight = 1.0 if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[pair]
    return model.C * of_class * weight


def _pull(steps, step):
    """b - E of the two points before the step; times y it is the slope along each multiplier."""
    b = steps["b"][step - 1] if step else 0.0
    return b - np.array([steps["error_i"][step], steps["error_j"][step]])


def _ends(display):
    """The range in which each multiplier is shown: its box and some more, with the top if near."""
    C = display.bounds
    top = np.array([display.alpha_i_at(display.unclipped), display.unclipped])
    low, high = -AROUND * C, (1 + AROUND) * C
    if np.all((top >= -FARTHEST * C) & (top <= (1 + FARTHEST) * C)):
        around = 0.5 * AROUND * C
        low, high = np.minimum(low, top - around), np.maximum(high, top + around)
    return low, high


# Drawing.


def _marked(display):
    """The three places of a step: values of alpha_j, how they look, and their names."""
    return (
        (display.before[1], {"marker": "o", "markersize": 9, "markerfacecolor": "white"}, "before"),
        (
            display.unclipped,
            {"marker": "X", "markersize": 10, "markerfacecolor": colour_of(3)},
            "top of the parabola",
        ),
        (
            display.after[1],
            {"marker": "*", "markersize": 16, "markerfacecolor": colour_of(4)},
            "after, clipped to the box",
        ),
    )


def _draw_places(ax, display, place_of):
    for value, look, words in _marked(display):
        style = {"linestyle": "none", "markeredgecolor": INK, "zorder": 5, "label": words}
        ax.plot(*place_of(value), **style, **look)


def _draw_box(ax, display):
    from matplotlib.colors import LinearSegmentedColormap

    (low_i, low_j), (high_i, high_j) = _ends(display)
    u, v = np.meshgrid(np.linspace(low_i, high_i, GRID), np.linspace(low_j, high_j, GRID))
    colours = LinearSegmentedColormap.from_list("height", ["white", tint(colour_of(5), 0.8)])
    heights = u, v, display.gain_in_plane(u, v), LEVELS
    ax.contourf(*heights, cmap=colours, zorder=0)
    ax.contour(*heights, colors=colour_of(0), linewidths=0.7, linestyles="-", zorder=0)
    C_i, C_j = display.bounds
    if max(C_i, C_j) <= LONGEST * min(C_i, C_j):
        ax.set_aspect("equal")
    ax.plot([0, C_i, C_i, 0, 0], [0, 0, C_j, C_j, 0], color=INK, linewidth=2.0, zorder=2)
    line = np.linspace(low_j, high_j, 2)
    ax.plot(display.alpha_i_at(line), line, color=INK, linestyle=":", linewidth=1.2, zorder=2)
    inside = np.array([display.L, display.H])
    ax.plot(display.alpha_i_at(inside), inside, color=colour_of(0), linewidth=3.0, zorder=3)
    _draw_places(ax, display, lambda value: (display.alpha_i_at(value), value))
    ax.set(xlim=(low_i, high_i), ylim=(low_j, high_j))
    names = [f"α{letter} (row {row}, y = {sign:+.0f})" for letter, row, sign in _named(display)]
    ax.set(xlabel=names[0], ylabel=names[1])


def _named(display):
    return zip("ij", display.pair, display.signs, strict=True)


def _draw_parabola(ax, display):
    low, high = (ends[1] for ends in _ends(display))

    def height(value):
        return display.objective + display.gain(value)

    everywhere, inside = np.linspace(low, high, 200), np.linspace(display.L, display.H, 100)
    ax.axvspan(display.L, display.H, color=tint(colour_of(0), 0.12), zorder=0)
    ax.plot(everywhere, height(everywhere), color=PALE, linewidth=1.5, zorder=1)
    ax.plot(
        inside, height(inside), color=colour_of(0), linewidth=3.0, zorder=2, label="inside the box"
    )
    _draw_places(ax, display, lambda value: (value, height(value)))
    for end, name in ((display.L, "L"), (display.H, "H")):
        ax.axvline(end, color=colour_of(0), linewidth=1.0, linestyle="--", zorder=1)
        ax.annotate(
            name, (end, 0.0), xycoords=("data", "axes fraction"), xytext=(3, 5),
            textcoords="offset points", color=colour_of(0),
        )  # fmt: skip
    ax.set(xlim=(low, high), xlabel="αj", ylabel="dual objective")
    tidy(ax)
