"""The tube of a regression on one feature, and the points that hold it.

Invariant: everything drawn is kept as an attribute, so that the picture can be drawn again, or
differently, without the estimator.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin.displays.drawing import (
    INK,
    POINT_AREA,
    axes_for,
    colour_of,
    draw_support,
    legend_beside,
    marker_of,
    tidy,
    tint,
)
from maxmargin.displays.models import multipliers_of
from maxmargin.displays.surface import checked_points, grid_rows, sides_around
from maxmargin.estimators.pipelines import last_step
from maxmargin.estimators.svr import NuSVR

TUBE_TINT = 0.22  # The tube has this share of the curve's colour, so that points stand out on it.


@dataclass(kw_only=True, eq=False, repr=False)
class TubeDisplay:
    """The curve of a support vector regression on one feature, and its tube.

    Points inside the tube, |y - f(x)| < epsilon, cost nothing and leave no trace in the model. Free
    support vectors lie on its edge; those outside have slack, and a line leads from each to the
    edge that it misses, as long as its slack xi = |y - f(x)| - epsilon.

    Parameters
    ----------
    xx, response : arrays of shape (grid_resolution,)
        The feature, and the prediction f there.
    X, y : arrays of shape (n,)
        The points.
    predicted : array of shape (n,)
        The f of the points.
    epsilon : float
        The half-width of the tube. A `NuSVR` finds it: it is the smallest |y - f| of its support
        vectors.
    slack : array of shape (n,)
        The xi of every point, which is zero inside the tube.
    support, outside : boolean arrays of shape (n,)
        Which points have a multiplier, and which of them lie outside the tube by more than the
        tolerance of the fit, where it must be C.
    alpha : array of shape (n,)
        |dual coefficient|.
    names : pair of str
        The names of the feature and of the target.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        They belong to the last `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> from maxmargin.displays import TubeDisplay
    >>> X = np.linspace(0.0, 6.0, 50)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.2 * np.random.default_rng(0).standard_normal(50)
    >>> model = SVR(C=10.0, epsilon=0.2).fit(X, y)
    >>> display = TubeDisplay.from_estimator(model, X, y, plot=False)
    >>> bool(display.support.sum() == len(model.support_) < 50)
    True
    """

    xx: np.ndarray
    response: np.ndarray
    X: np.ndarray
    y: np.ndarray
    predicted: np.ndarray
    epsilon: float
    slack: np.ndarray
    support: np.ndarray
    outside: np.ndarray
    alpha: np.ndarray
    names: tuple[str, str] = ("x", "y")

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, grid_resolution=400, eps=None, ax=None, legend=True, plot=True
    ):
        """Evaluate a fitted regression along its feature, and draw it.

        Parameters
        ----------
        estimator : regressor with a tube, or Pipeline that ends in one
            `SVR`, `NuSVR`, `LinearSVR`, or another with an `epsilon`. Support vectors are marked
            for a `maxmargin.SVR` or `NuSVR`, if it was fitted on X.
        X : array, sparse matrix or data frame of shape (n, 1)
        y : array of shape (n,)
        grid_resolution : int, default=400
            Grid points along the feature.
        eps : float, optional
            How far the curve reaches beyond the points, in the units of X; 8 % of their range if
            not given.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.
        legend : bool, default=True
            It stands beside the axes, which takes room from narrow ones; False leaves it out.
        plot : bool, default=True
            False keeps the data without drawing, and without matplotlib.
        """
        check_is_fitted(estimator)
        owner, machine = cls.__name__, last_step(estimator)
        points = checked_points(X, owner, n_features=1)
        check_consistent_length(X, y)
        target = column_or_1d(y).astype(np.float64)
        xx, predicted = sides_around(points, grid_resolution, eps)[:, 0], estimator.predict(X)
        alpha, misses = multipliers_of(estimator, X), np.abs(target - predicted)
        epsilon = _half_width(machine, misses, alpha, owner)
        slack = np.maximum(0.0, misses - epsilon)
        display = cls(
            xx=xx,
            response=estimator.predict(grid_rows(X, xx)),
            X=points[:, 0],
            y=target,
            predicted=predicted,
            epsilon=epsilon,
            slack=slack,
            support=alpha > 0,
            outside=(alpha > 0) & (slack > _least_slack(machine, target)),
            alpha=alpha,
            names=_names(X, y),
        )
        return display.plot(ax=ax, legend=legend) if plot else display

    def plot(self, ax=None, *, legend=True):
        """Draw on the given axes, or on a new figure."""
        ax = axes_for(ax, "TubeDisplay", figsize=(8.0, 4.4))
        curves = _draw_tube(ax, self)
        handles = _draw_points(ax, self) + _draw_support(ax, self) + curves + _draw_slack(ax, self)
        ax.set(xlim=(self.xx[0], self.xx[-1]), xlabel=self.names[0], ylabel=self.names[1])
        tidy(ax)
        if legend:
            legend_beside(ax, handles)
        self.ax_, self.figure_ = ax, ax.figure
        return self


# Computing.


def _half_width(machine, misses, alpha, owner):
    """The epsilon of the machine, or the one that a nu-SVR found.

    No point without a multiplier lies outside the tube, and none with one lies inside, so the edge
    is the smallest residual of those with a multiplier.
    """
    if isinstance(machine, NuSVR):
        if not np.any(alpha > 0):
            raise ValueError(
                f"{owner}: the width of a NuSVR's tube is known from its support vectors; give the "
                "rows that it was fitted on."
            )
        return float(misses[alpha > 0].min())
    loss = getattr(machine, "loss", "epsilon_insensitive")
    if not hasattr(machine, "epsilon") or "epsilon_insensitive" not in str(loss):
        raise TypeError(
            f"{owner}: estimator must be a regression with a tube, as SVR, NuSVR or LinearSVR, "
            f"got {type(machine).__name__}."
        )
    return float(machine.epsilon)


def _least_slack(machine, target):
    """The least slack that the tolerance of a fit can tell from none."""
    return getattr(machine, "tol", 0.0) * min(1.0, float(np.ptp(target)))


def _names(X, y):
    feature = str(X.columns[0]) if hasattr(X, "columns") else "x"
    return feature, str(getattr(y, "name", None) or "y")


# Drawing. Each function returns the handles of the legend.


def _draw_tube(ax, display):
    f, epsilon, colour = display.response, display.epsilon, colour_of(0)
    words = f"tube, ε = {epsilon:.3g}"
    tube = ax.fill_between(
        display.xx, f - epsilon, f + epsilon, color=tint(colour, TUBE_TINT), zorder=0, label=words
    )
    for edge in (f - epsilon, f + epsilon):
        ax.plot(display.xx, edge, color=colour, linestyle="--", linewidth=1.0, zorder=1)
    curve = ax.plot(display.xx, f, color=colour, linewidth=2.0, zorder=2, label="f(x)")[0]
    return [curve, tube]


def _draw_points(ax, display):
    look = {"color": colour_of(1), "edgecolor": "white", "linewidth": 0.4, "zorder": 3}
    return [
        ax.scatter(display.X, display.y, s=POINT_AREA, marker=marker_of(0), label="point", **look)
    ]


def _draw_support(ax, display):
    points = np.column_stack([display.X, display.y])
    kinds = (
        (display.support & ~display.outside, "on the edge"),
        (display.support & display.outside, "outside"),
    )
    return draw_support(ax, points, display.alpha, kinds)


def _draw_slack(ax, display):
    """Draw a line from every point outside the tube to the nearer edge."""
    misses = display.slack > 0
    if not misses.any():
        return []
    x, y, slack = display.X[misses], display.y[misses], display.slack[misses]
    edge = y - np.sign(y - display.predicted[misses]) * slack
    return [ax.vlines(x, edge, y, color=INK, linewidth=0.9, zorder=2, label="slack ξ, to the tube")]
