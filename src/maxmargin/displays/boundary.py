"""The boundary of a classifier or one-class SVM of two features, and the points that hold it.

Invariant: everything drawn is kept as an attribute, so that the picture can be drawn again, or
differently, without the estimator.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.base import is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from maxmargin.displays.drawing import (
    INK,
    LARGEST_VALUE,
    POINT_AREA,
    axes_for,
    colour_of,
    draw_levels,
    draw_support,
    fill_values,
    legend_beside,
    marker_of,
    tint,
)
from maxmargin.displays.models import multipliers_of
from maxmargin.displays.surface import (
    checked_plane,
    checked_points,
    grid_around,
    grid_rows,
    nearest_on_level,
    refined,
)
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.pipelines import last_step

BLUR = 1.5  # Lines between classes are smoothed over this many cells, or they would have stairs.
FAINT = 0.25  # The outside of a region has this share of the deepest tint.
HALVINGS = 2  # Where classes meet, the grid is four times as fine, which is about a pixel.
INSIDE, OUTSIDE = 1, -1  # These are the predictions of an outlier detector.


@dataclass(kw_only=True, eq=False, repr=False)
class BoundaryDisplay:
    """The decision surface of a classifier or one-class SVM over two features.

    For two classes it shows the boundary f = 0, the margins f = +-1 and the values of f in between;
    for more, the region of each class. Support vectors are ringed, larger for a larger alpha, and
    those at the bound alpha = C have a square instead of a circle. On request, a line leads from
    every point with slack xi = max(0, 1 - y f) > 0 to its margin.

    For a one-class SVM it shows the region f >= 0, the points in it and those outside. Free support
    vectors lie on its boundary; every point outside is a support vector, and has a square.

    Parameters
    ----------
    xx0, xx1 : arrays of shape (grid_resolution, grid_resolution)
        The grid: first and second feature.
    response : array of the same shape
        Decision values for two classes or one, positions in `classes` for more.
    X : array of shape (n, 2)
    y : array of shape (n,)
    classes : array of shape (n_classes,)
        The labels; for a one-class SVM 1, inside, and -1, outside.
    support, bounded : boolean arrays of shape (n,)
        Which points have alpha > 0, and which of them have the largest alpha allowed.
    alpha : array of shape (n,)
        |dual coefficient|; the largest over the pairs of classes if there are several.
    feature_names : pair of str
    margins : bool
        Whether f = +-1 are margins; the decision values of a perceptron have no scale.
    slack : array of shape (n,), optional
        xi of every point.
    feet : array of shape (n, 2), optional
        The nearest place on the margin of its class, NaN for a point without slack or when the
        grid does not reach that margin. For a linear machine it is xi / |w| away; for others it is
        nearest in the plane, not in feature space.
    one_class : bool
        Whether there is one region and its outside, and no classes.
    regions : array of shape (4 grid_resolution - 3, 4 grid_resolution - 3), optional
        For more than two classes, `response` on a finer grid, which was evaluated only where
        neighbours of the grid differ. If it is not given, `response` takes its place.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        They belong to the last `plot`.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import SVC
    >>> from maxmargin.displays import BoundaryDisplay
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = SVC(gamma=2.0).fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(model, X, y, plot=False)
    >>> display.response.shape
    (200, 200)
    >>> bool(display.support.sum() == model.n_support_.sum())
    True
    """

    xx0: np.ndarray
    xx1: np.ndarray
    response: np.ndarray
    X: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    support: np.ndarray
    bounded: np.ndarray
    alpha: np.ndarray
    feature_names: tuple[str, str] = ("x1", "x2")
    margins: bool = True
    slack: np.ndarray | None = None
    feet: np.ndarray | None = None
    one_class: bool = False
    regions: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        slack=False,
        grid_resolution=200,
        eps=None,
        ax=None,
        legend=True,
        plot=True,
    ):
        """Evaluate a fitted model on a grid around X, and draw it.

        Parameters
        ----------
        estimator : classifier, OneClassSVM, or Pipeline that ends in one
            It has a `decision_function`. Support vectors are marked if it keeps `roles_` (as
            `maxmargin.SVC` does) or is a `maxmargin.OneClassSVM`, and was fitted on X. Margins are
            drawn for machines that have one: those with multipliers (`dual_coef_`) or a hinge loss.
        X : array, sparse matrix or data frame of shape (n, 2)
        y : array of shape (n,)
            Ignored for a one-class SVM, whose points are named by the side they lie on.
        slack : bool, default=False
            Draw the slacks, which needs two classes and a machine with a margin.
        grid_resolution : int, default=200
            Grid points along each feature.
        eps : float, optional
            How far the grid reaches beyond the points, in the units of X; 8 % of the range of
            each feature if not given.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.
        legend : bool, default=True
            It stands beside the axes, which takes room from narrow ones; False leaves it out.
        plot : bool, default=True
            False keeps the data without drawing, and without matplotlib.
        """
        check_is_fitted(estimator)
        one_class = is_outlier_detector(estimator)
        points, labels, classes = _labelled(estimator, X, y, one_class)
        xx0, xx1 = grid_around(points, grid_resolution, eps)
        alpha = multipliers_of(estimator, X)
        has_margin = not one_class and len(classes) == 2 and _has_margin(last_step(estimator))
        response, regions = _response(estimator, X, classes, xx0, xx1)
        display = cls(
            xx0=xx0,
            xx1=xx1,
            response=response,
            regions=regions,
            X=points,
            y=labels,
            classes=classes,
            support=alpha > 0,
            bounded=_at_bound(estimator, alpha, labels, one_class),
            alpha=alpha,
            feature_names=_feature_names(X),
            margins=has_margin,
            one_class=one_class,
        )
        if slack:
            display._measure_slack(estimator, X)
        return display.plot(ax=ax, legend=legend) if plot else display

    def _measure_slack(self, estimator, X):
        if not self.margins:
            what = f"{len(self.classes)} classes" if len(self.classes) > 2 else "no margin"
            raise ValueError(
                "BoundaryDisplay: slack=True needs two classes and a machine with a margin; "
                f"{type(estimator).__name__} has {what}."
            )
        signs = np.where(self.y == self.classes[1], 1.0, -1.0)
        self.slack = np.maximum(0.0, 1.0 - signs * estimator.decision_function(X))
        self.feet = np.full(self.X.shape, np.nan)
        for sign in (-1.0, 1.0):
            own = (signs == sign) & (self.slack > 0)
            self.feet[own] = nearest_on_level(
                self.X[own], self.xx0, self.xx1, self.response, level=sign
            )

    def plot(self, ax=None, *, legend=True):
        """Draw on the given axes, or on a new figure."""
        ax = axes_for(ax, "BoundaryDisplay", figsize=(8.0, 4.8))
        lines = _draw_surface(ax, self) + _draw_slack(ax, self)
        handles = _draw_points(ax, self) + _draw_support(ax, self) + lines
        ax.set(
            xlim=(self.xx0.min(), self.xx0.max()),
            ylim=(self.xx1.min(), self.xx1.max()),
            xlabel=self.feature_names[0],
            ylabel=self.feature_names[1],
        )
        if legend:
            legend_beside(ax, handles)
        self.ax_, self.figure_ = ax, ax.figure
        return self


# Computing.


def _labelled(estimator, X, y, one_class):
    """The points, the label of each, and all labels in the order of their colours."""
    owner = BoundaryDisplay.__name__
    if one_class:
        points = checked_points(X, owner)
        return points, estimator.predict(X), np.array([INSIDE, OUTSIDE])
    if not hasattr(estimator, "classes_"):
        raise TypeError(
            f"{owner}: estimator must be a classifier or a OneClassSVM, got "
            f"{type(last_step(estimator)).__name__}, which has no boundary."
        )
    return *checked_plane(X, y, estimator.classes_, owner), estimator.classes_


def _response(estimator, X, classes, xx0, xx1):
    """The response on the grid and, for several classes, on one that is finer where they meet."""
    if len(classes) == 2:
        return estimator.decision_function(grid_rows(X, xx0, xx1)).reshape(xx0.shape), None

    def position(first, second):
        return np.searchsorted(classes, estimator.predict(grid_rows(X, first, second)))

    response = position(xx0, xx1).reshape(xx0.shape)
    regions = response.astype(np.int16)
    for _ in range(HALVINGS):
        xx0, xx1, regions = refined(xx0, xx1, regions, position)
    return response, regions


def _has_margin(machine):
    """Whether f = +-1 are margins of the machine."""
    loss = getattr(machine, "loss", None)
    if isinstance(loss, str):
        return "hinge" in loss
    return hasattr(machine, "dual_coef_") and not isinstance(machine, Perceptron)


def _at_bound(estimator, alpha, labels, one_class):
    """Which support vectors have the largest alpha allowed: those beyond margin or boundary."""
    if not np.any(alpha):
        return np.zeros(len(alpha), dtype=bool)
    if one_class:
        return (alpha > 0) & (labels == OUTSIDE)
    return np.isin(last_step(estimator).roles_, ("inside", "misclassified"))


def _feature_names(X):
    first, second = X.columns if hasattr(X, "columns") else ("x1", "x2")
    return str(first), str(second)


# Drawing. Each function returns the handles of the legend.


def _draw_surface(ax, display):
    if display.one_class:
        return _draw_inside(ax, display)
    return _draw_values(ax, display) if len(display.classes) == 2 else _draw_regions(ax, display)


def _draw_inside(ax, display):
    """Draw the region of one class, deeper in colour where f is larger, and its boundary."""
    values = display.response
    limit = values.max() if values.max() > 0 else max(np.abs(values).max(), np.finfo(float).tiny)
    # f falls further outside than it rises inside; a faint tint there lets outliers stand out.
    shown = np.maximum(values, -FAINT * limit)
    fill_values(ax, display.xx0, display.xx1, -shown, limit)
    return [_draw_level(ax, display, (0.0,), "-", 2.0, "boundary, f = 0")]


def _draw_values(ax, display):
    """Draw the values of f for two classes, the boundary and the margins."""
    values = display.response
    limit = LARGEST_VALUE if display.margins else max(np.abs(values).max(), np.finfo(float).tiny)
    fill_values(ax, display.xx0, display.xx1, values, limit)
    lines = [_draw_level(ax, display, (0.0,), "-", 2.0, "boundary, f = 0")]
    if display.margins:
        lines.append(_draw_level(ax, display, (-1.0, 1.0), "--", 1.3, "margins, f = ±1"))
    return lines


def _draw_level(ax, display, levels, style, width, label):
    from matplotlib.lines import Line2D

    draw_levels(ax, display.xx0, display.xx1, display.response, levels, style, width)
    return Line2D([], [], color=INK, linestyle=style, linewidth=width, label=label)


def _draw_slack(ax, display):
    """Draw a line from every point with slack to the nearest place on the margin of its class."""
    if display.feet is None:
        return []
    from matplotlib.collections import LineCollection

    reached = np.isfinite(display.feet[:, 0])
    ways = np.stack([display.X[reached], display.feet[reached]], axis=1)
    lines = LineCollection(
        ways, colors=INK, linewidths=0.9, alpha=0.7, zorder=2, label="slack ξ, to the margin"
    )
    ax.add_collection(lines)
    return [lines]


def _draw_regions(ax, display):
    """Draw the regions of several classes in their colours, and the lines between them."""
    from matplotlib.colors import ListedColormap

    n_classes = len(display.classes)
    regions = display.response if display.regions is None else display.regions
    sides = [
        np.linspace(xx.min(), xx.max(), n)
        for xx, n in zip((display.xx0, display.xx1), regions.shape[::-1], strict=True)
    ]
    ax.pcolormesh(
        *sides,
        regions,
        cmap=ListedColormap([tint(colour_of(k), 0.3) for k in range(n_classes)]),
        vmin=-0.5,
        vmax=n_classes - 0.5,
        shading="nearest",
        rasterized=True,
        zorder=0,
    )
    for k in range(n_classes):
        _outline(ax, sides, regions == k)
    return []


def _outline(ax, sides, region):
    inside = gaussian_filter(region.astype(np.float32), sigma=BLUR)
    if inside.min() < 0.5 < inside.max():
        ax.contour(*sides, inside, levels=[0.5], colors=INK, linewidths=1.5, zorder=1)


def _draw_points(ax, display):
    words = ("inside", "outside") if display.one_class else [f"class {k}" for k in display.classes]
    return [
        ax.scatter(
            *display.X[display.y == label].T,
            s=POINT_AREA,
            color=colour_of(k),
            marker=marker_of(k),
            edgecolor="white",
            linewidth=0.4,
            zorder=3,
            label=words[k],
        )
        for k, label in enumerate(display.classes)
    ]


def _draw_support(ax, display):
    free, bounded = ("on the boundary", "outside") if display.one_class else ("0 < α < C", "α = C")
    kinds = (display.support & ~display.bounded, free), (display.support & display.bounded, bounded)
    return draw_support(ax, display.X, display.alpha, kinds)
