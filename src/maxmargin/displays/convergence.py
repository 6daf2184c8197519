"""How a fit went: its objective, its gap and its violation, step by step.

Invariant: every curve is a column of the trace as it was recorded; nothing is smoothed. Only a gap
or violation of zero, or less by rounding, is lifted to the floor of its panel, so that the end of a
fit can be seen.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.displays.drawing import INK, legend_beside, line_of, panels_for, spans_decades, tidy
from maxmargin.displays.models import problem_names, trace_of
from maxmargin.estimators.pipelines import last_step
from maxmargin.problems.trace import Trace

OPTIMALITY = ("objective", "gap", "violation")
LEARNING = ("accuracy", "loss", "movement")
DESCENT = ("objective", "loss", "validation", "movement")

WORDS = {
    "gap": "duality gap",
    "violation": "KKT violation",
    "accuracy": "training\naccuracy",
    "loss": "mean loss",
    "validation": "loss on rows\nset aside",
    "n_support": "support\nvectors",
    "eta": "step size",
    "b": "bias b",
}
COUNTERS = {"problem", "i", "j", "round", "n_iter", "epoch", "seconds"}
FEW_STEPS = 60  # If there are no more steps than these, each is marked by a point.
MOST_NAMES = 10  # A legend names this many lines.
LIFTED = {"gap", "violation"}  # Zero is the end of a fit for these, and is left out for others.
DECAYING = {"gap", "violation", "movement", "eta"}  # These fall to zero by orders of magnitude.


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay:
    """The objective, the duality gap and the violation of a fit while it went on.

    The dual objective rises, the gap to the primal objective closes, and the fit ends when the
    largest violation of the optimality conditions is below tol. With several classes every binary
    problem has a line of its own. A value of zero or less lies on the floor of its panel.

    Parameters
    ----------
    curves : dict from str to dict from str to array
        For every problem, by its name, the columns "steps", "seconds" and each quantity.
    quantities : tuple of str
        The quantities that are drawn, a panel each.
    step_name : str
        The name of a step: "pairs moved", "round" or "epoch".
    tol : float, optional
        The violation that ends the fit.

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and Figure
        They belong to the last `plot`.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.datasets import make_moons
    >>> from maxmargin.displays import ConvergenceDisplay
    >>> X, y = make_moons(60)
    >>> model = SVC(solver="smo_platt", trace=True).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model, plot=False)
    >>> display.quantities
    ('objective', 'gap', 'violation')
    >>> bool(display.curves["-1 or 1"]["violation"][-1] <= display.tol)
    True
    """

    curves: dict[str, dict[str, np.ndarray]]
    quantities: tuple[str, ...]
    step_name: str
    tol: float | None = None

    @classmethod
    def from_estimator(
        cls, estimator, *, quantities=None, problem=None, against="steps", ax=None, plot=True
    ):
        """Draw the `trace_` of a fitted model.

        Parameters
        ----------
        estimator : fitted model with a `trace_`, or Pipeline that ends in one
            An SVM fitted with `trace=True`, or a gradient descent model.
        quantities : sequence of str, optional
            Columns of the trace, a panel each. The default is objective, gap and violation; for
            `solver="smo_random_pair"` accuracy, loss and movement per round; for gradient descent
            objective, loss and movement, and the loss on rows set aside if there are any.
        problem : int, optional
            The one binary problem to draw; all of them by default.
        against : {"steps", "seconds"}, default="steps"
        ax : matplotlib Axes or sequence of them, optional
            One subplot, which is divided, or one per quantity; a new figure if not given.
        plot : bool, default=True
            False keeps the data without drawing, and without matplotlib.
        """
        trace, model = trace_of(estimator, cls.__name__), last_step(estimator)
        if quantities is None and _pairs_at_random(model):
            quantities = LEARNING
        return cls.from_trace(
            trace,
            quantities=quantities,
            problem=problem,
            names=problem_names(model),
            tol=model.tol if isinstance(trace, Trace) else None,
            against=against,
            ax=ax,
            plot=plot,
        )

    @classmethod
    def from_trace(
        cls,
        trace,
        *,
        quantities=None,
        problem=None,
        names=(),
        tol=None,
        against="steps",
        ax=None,
        plot=True,
    ):
        """Draw a trace by itself.

        Parameters
        ----------
        trace : Trace of an SVM, or structured array of a gradient descent model
        quantities, problem, against, ax, plot
            As in `from_estimator`.
        names : sequence of str, optional
            The names of the problems.
        tol : float, optional
            The violation that ends the fit, drawn as a line.
        """
        quantities = (quantities,) if isinstance(quantities, str) else quantities
        table, step_name = _table(trace, quantities)
        quantities = _checked_quantities(table, quantities)
        recorded = np.unique(table["problem"]).tolist()
        if problem is not None and problem not in recorded:
            raise ValueError(
                f"{cls.__name__}: problem must be one of {', '.join(map(str, recorded))}, "
                f"got {problem!r}."
            )
        # A class without weight has no problems, so that names may not fit; then there are none.
        names = names if len(names) == len(recorded) else [f"problem {k}" for k in recorded]
        curves = {}
        for chosen in recorded if problem is None else [problem]:
            name = names[recorded.index(chosen)]
            curves[name] = _curve(table[table["problem"] == chosen], quantities, step_name)
        display = cls(curves=curves, quantities=quantities, step_name=step_name, tol=tol)
        return display.plot(ax=ax, against=against) if plot else display

    def plot(self, ax=None, *, against="steps"):
        """Draw on the given axes, or on a new figure, against steps or seconds."""
        if against not in ("steps", "seconds"):
            raise ValueError(
                f"ConvergenceDisplay: against must be 'steps' or 'seconds', got {against!r}."
            )
        shape = (len(self.quantities), 1)
        height = 1.0 + 1.4 * len(self.quantities)
        axes = panels_for(ax, shape, "ConvergenceDisplay", (8.0, height), sharex=True)
        for panel, quantity in zip(axes, self.quantities, strict=True):
            self._draw(panel, quantity, against)
        axes[-1].set_xlabel(self.step_name if against == "steps" else "seconds")
        if 1 < len(self.curves) <= MOST_NAMES:
            legend_beside(axes[0])
        elif len(self.curves) > 1:
            axes[0].set_title(f"{len(self.curves)} problems", fontsize="medium")
        self.axes_, self.figure_ = axes, axes[0].figure
        self.figure_.align_ylabels(axes)
        return self

    def _draw(self, ax, quantity, against):
        values = np.concatenate([curve[quantity] for curve in self.curves.values()])
        is_log = spans_decades(values) or bool(quantity in DECAYING and np.any(values > 0))
        floor = self._floor(quantity, values) if is_log else -np.inf
        self._draw_lines(ax, quantity, against, floor)
        if is_log:
            ax.set_yscale("log")
            ax.set_ylim(bottom=floor / 2)
        else:
            ax.ticklabel_format(axis="y", useOffset=False)
        if quantity == "violation" and self.tol is not None:
            self._draw_tol(ax)
        ax.set_ylabel(self._words(quantity))
        tidy(ax)

    def _draw_lines(self, ax, quantity, against, floor):
        longest = max(len(curve["steps"]) for curve in self.curves.values())
        for position, (name, curve) in enumerate(self.curves.items()):
            y = curve[quantity]
            if floor > 0:  # a logarithmic scale has no zero
                y = np.where(y <= 0, floor if quantity in LIFTED else np.nan, y)
            # A point between two gaps would be no line, and few steps are worth a dot each.
            dotted = longest <= FEW_STEPS or np.isnan(y[:-1]).any()
            look = {"linewidth": 1.4, "marker": "." if dotted else None, "markersize": 4}
            ax.plot(curve[against], y, label=name, **look, **line_of(position))

    def _floor(self, quantity, values):
        """The floor of a logarithmic panel: below all positive values, and not above tol."""
        floor = np.min(values[values > 0]) / 2
        has_end = quantity == "violation" and self.tol is not None and self.tol > 0
        return min(floor, self.tol) if has_end else floor

    def _draw_tol(self, ax):
        ax.axhline(self.tol, color=INK, linestyle=":", linewidth=1.2)
        where = {"xycoords": ("axes fraction", "data"), "va": "center", "color": INK}
        ax.annotate(f"tol {self.tol:g}", (1.01, self.tol), **where)
        low, high = ax.get_ylim()  # tol may be far away, as in a fit that was cut short
        ax.set_ylim(min(low, self.tol / 2), max(high, self.tol * 2))

    def _words(self, quantity):
        if quantity == "objective" and self.step_name != "epoch":
            return "dual objective"
        return WORDS.get(quantity, quantity)


def _pairs_at_random(model):
    solver = getattr(model, "solver", None)
    return solver == "smo_random_pair" or type(solver).__name__ == "SMORandomPair"


def _table(trace, quantities):
    """The finest table of a trace that has the quantities, and the name of its rows."""
    if not isinstance(trace, Trace):
        if "epoch" not in (getattr(getattr(trace, "dtype", None), "names", None) or ()):
            raise TypeError(
                "ConvergenceDisplay: trace must be the trace_ of an SVM or of a gradient descent "
                f"model, got {type(trace).__name__}; for a model there is from_estimator."
            )
        return trace, "epoch"
    if not len(trace.steps):  # the fast solver records slices of work, and counts pairs
        return trace.rounds, "pairs moved"
    if set(quantities or ()) <= set(trace.steps.dtype.names):
        return trace.steps, "pairs moved"
    return trace.rounds, "round"


def _checked_quantities(table, quantities):
    """The quantities, which must be columns with numbers; defaults without any are dropped."""
    if not len(table):
        raise ValueError("ConvergenceDisplay: the trace is empty; was its limit 0?")
    columns = [name for name in table.dtype.names if name not in COUNTERS]
    recorded = [name for name in columns if np.any(np.isfinite(table[name]))]
    if quantities is None:
        usual = DESCENT if "epoch" in table.dtype.names else OPTIMALITY
        return tuple(name for name in usual if name in recorded)
    for name in quantities:
        if name not in recorded:
            raise ValueError(
                f"ConvergenceDisplay: {name!r} was not recorded; choose from {', '.join(recorded)}."
            )
    return tuple(quantities)


def _curve(rows, quantities, step_name):
    """A copy of the columns of one problem, because a trace may still grow."""
    columns = {name: rows[name].astype(np.float64) for name in ("seconds", *quantities)}
    counts = {"epoch": "epoch", "pairs moved": "n_iter"}.get(step_name)
    if counts in rows.dtype.names:
        steps = rows[counts].astype(np.int64)
    else:
        steps = np.arange(1, len(rows) + 1)
    return {"steps": steps} | columns
