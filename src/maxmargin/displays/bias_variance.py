"""Noise, bias and variance over the complexity of a model.

Invariant: the sum that is drawn is the sum of the three parts that are drawn.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.displays.drawing import (
    COLOURS,
    DASHES,
    INK,
    axes_for,
    legend_beside,
    scale_along,
    spans_decades,
    tidy,
)


@dataclass(kw_only=True, eq=False, repr=False)
class BiasVarianceDisplay:
    """The parts of the squared error of a method along one of its parameters.

    The error is noise + bias^2 + variance. A richer model trades bias for variance, and their sum
    is least in between. The error measured on fresh data lies on the sum, up to chance.

    Parameters
    ----------
    values : array of shape (m,)
        The values of the parameter.
    noise, bias2, variance, error : arrays of shape (m,)
        The parts that `maxmargin.inspection.bias_variance_curve` found.
    param_name : str

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        They belong to the last `plot`.

    Examples
    --------
    >>> from maxmargin import Ridge
    >>> from maxmargin.displays import BiasVarianceDisplay
    >>> from maxmargin.inspection import bias_variance_curve
    >>> def draw(rng):
    ...     X = rng.normal(size=(20, 3))
    ...     return X, X[:, 0] + rng.normal(size=20)
    >>> alphas = [0.1, 10.0, 1000.0]
    >>> curve = bias_variance_curve(
    ...     Ridge(), draw, lambda X: X[:, 0], param_name="alpha", param_range=alphas, n_draws=20
    ... )
    >>> display = BiasVarianceDisplay.from_curve(curve, alphas, param_name="alpha", plot=False)
    >>> bool(display.bias2[2] > display.bias2[0]), bool(display.variance[2] < display.variance[0])
    (True, True)
    """

    values: np.ndarray
    noise: np.ndarray
    bias2: np.ndarray
    variance: np.ndarray
    error: np.ndarray
    param_name: str = "model complexity"

    @classmethod
    def from_curve(cls, curve, values, *, param_name="model complexity", ax=None, plot=True):
        """Draw what `bias_variance_curve` returned.

        Parameters
        ----------
        curve : list of BiasVariance
        values : sequence
            The `param_range` it was made for.
        param_name : str, default="model complexity"
            The label of the horizontal axis.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.
        plot : bool, default=True
            False keeps the data without drawing, and without matplotlib.
        """
        values = np.asarray(list(values))
        if len(values) != len(curve) or not len(curve):
            raise ValueError(
                f"{cls.__name__}: values must have one entry for each of the {len(curve)} models "
                f"of the curve, got {len(values)}."
            )
        parts = {
            name: np.array([getattr(found, name) for found in curve])
            for name in ("noise", "bias2", "variance", "error")
        }
        display = cls(values=values, param_name=param_name, **parts)
        return display.plot(ax=ax) if plot else display

    @property
    def sum(self):
        return self.noise + self.bias2 + self.variance

    def plot(self, ax=None):
        """Draw on the given axes, or on a new figure."""
        ax = axes_for(ax, "BiasVarianceDisplay", figsize=(8.0, 4.6))
        is_log = spans_decades(self.sum)
        for values, label, colour, dashes in (
            (self.noise, "noise", COLOURS[6], DASHES[1]),
            (self.bias2, "bias²", COLOURS[0], DASHES[2]),
            (self.variance, "variance", COLOURS[1], DASHES[3]),
            (self.sum, "their sum", INK, DASHES[0]),
        ):
            shown = np.where(values > 0, values, np.nan) if is_log else values
            ax.plot(self.values, shown, color=colour, linestyle=dashes, label=label, linewidth=1.8)
        look = {"marker": "o", "markersize": 6, "markerfacecolor": "none", "color": INK}
        ax.plot(self.values, self.error, linestyle="none", label="measured error", **look)
        ax.set(xlabel=self.param_name, ylabel="squared error")
        if is_log:
            ax.set_yscale("log")
        scale_along(ax, self.values)
        tidy(ax)
        legend_beside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
