"""What all displays share: colours that colour-blind readers can tell apart, lines, and the axes.

Invariant: nothing here loads matplotlib before a picture is asked for.
"""

import numpy as np

# This is Okabe and Ito's palette, without the yellow that is hard to see on white, and then darker
# colours. There are eleven, so that neither markers nor dashes repeat when colours do.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999",
    "#332288", "#882255", "#999933", "#222222",
)  # fmt: skip
# Classes differ in shape as well, for print without colour and for more classes than colours.
MARKERS = ("o", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", (0, (1, 1.2)))
INK = "#1a1a1a"
PALE = "#c8c8c8"
REST = "#767676"  # All classes but one share this grey, which no class has.
DECADES = 50.0  # Numbers that differ by this factor are easier to read on a logarithmic scale.
POINT_AREA = 20.0
# These are the areas of a support vector with alpha near 0, and with the largest alpha.
RING_AREAS = (36.0, 84.0)
RINGS = ("o", "s")  # Support vectors have a circle if they are free, and a square at their bound.
LARGEST_VALUE = 2.0  # Decision values beyond +-2 share the deepest tint.


def colour_of(position):
    return COLOURS[position % len(COLOURS)]


def marker_of(position):
    return MARKERS[position % len(MARKERS)]


def line_of(position):
    """Colour and dashes of a line; together they tell 44 lines apart, the dashes alone four."""
    return {"color": colour_of(position), "linestyle": DASHES[position % len(DASHES)]}


def tint(colour, strength):
    """The colour mixed with white; strength 1 is the colour itself."""
    from matplotlib.colors import to_rgb

    return tuple(1 - strength * (1 - part) for part in to_rgb(colour))


# Axes.


def matplotlib_for(display):
    """Matplotlib, or an error that says what is missing."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            f"{display}: drawing needs matplotlib; pip install 'maxmargin[plot]'."
        ) from error
    return matplotlib


def axes_for(ax, display, figsize):
    """The given axes, or those of a new figure."""
    return panels_for(ax, (1, 1), display, figsize)[0]


def panels_for(ax, shape, display, figsize, **options):
    """Axes for a picture of several panels, in reading order.

    They are those given, the parts of the one given, or those of a new figure. `options` are
    arguments of `matplotlib.pyplot.subplots`, such as `sharex`.
    """
    matplotlib_for(display)
    n_panels = shape[0] * shape[1]
    if ax is None:
        from matplotlib import pyplot

        figure = {"figsize": figsize, "layout": "constrained", "squeeze": False}
        return pyplot.subplots(*shape, **figure, **options)[1].ravel()
    given = np.ravel(np.asarray(ax, dtype=object))
    if len(given) == n_panels:
        return given
    whole = given[0].get_subplotspec() if len(given) == 1 else None
    if whole is None:
        raise ValueError(
            f"{display}: ax must be one subplot, which is divided, or {n_panels} axes; "
            f"got {len(given)} axes."
        )
    given[0].set_axis_off()
    ratios = {name: options.pop(name) for name in ("width_ratios",) if name in options}
    return whole.subgridspec(*shape, **ratios).subplots(squeeze=False, **options).ravel()


def tidy(ax):
    """Remove the frame on top and right, and draw a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=PALE, linewidth=0.6, alpha=0.6)
    ax.set_axisbelow(True)


def legend_beside(ax, handles=None):
    """Put the legend beside the axes, because inside it would hide what is drawn."""
    handles = ax.get_legend_handles_labels()[0] if handles is None else handles
    where = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
    ax.legend(handles=handles, frameon=False, **where)


# Points.


def draw_support(ax, points, alpha, kinds):
    """Draw a ring around every support vector, larger for a larger alpha; return legend handles.

    `kinds` has a mask and a name for the free ones, and then for those at their bound.
    """
    smallest, largest = RING_AREAS
    share = alpha / max(alpha.max(initial=0.0), np.finfo(float).tiny)
    look = {"facecolor": "none", "edgecolor": INK, "linewidth": 0.9, "zorder": 4}
    return [
        ax.scatter(
            *points[chosen].T,
            s=smallest + (largest - smallest) * share[chosen],
            marker=marker,
            label=f"support vector, {words}",
            **look,
        )
        for (chosen, words), marker in zip(kinds, RINGS, strict=True)
        if chosen.any()
    ]


# Scales.


def spans_decades(values):
    """Whether numbers of at least zero differ by more than a linear scale can show."""
    values = np.asarray(values)
    if values.dtype.kind not in "iuf":
        return False
    values = values[np.isfinite(values)]
    positive = values[values > 0]
    none_negative = values.size > 0 and values.min() >= 0 and positive.size > 0
    return bool(none_negative and positive.max() / positive.min() >= DECADES)


def scale_along(ax, values):
    """Set a logarithmic scale where the values of a parameter need it; it can show zero."""
    if not spans_decades(values):
        return
    values = np.asarray(values)
    if values.min() > 0:
        ax.set_xscale("log")
    else:
        ax.set_xscale("symlog", linthresh=values[values > 0].min())


# Decision values over a plane.


def fill_values(ax, xx0, xx1, values, limit=LARGEST_VALUE, n_tints=32, colours=COLOURS[:2]):
    """Fill the plane with one colour where values are negative, another where they are positive,
    and white where they are zero."""
    from matplotlib.colors import LinearSegmentedColormap

    ends = tint(colours[0], 0.55), "white", tint(colours[1], 0.55)
    return ax.contourf(
        xx0,
        xx1,
        np.clip(values, -limit, limit),
        levels=np.linspace(-limit, limit, n_tints + 1),
        cmap=LinearSegmentedColormap.from_list("classes", ends),
        zorder=0,
    )


def draw_levels(ax, xx0, xx1, values, levels, style, width):
    """Draw lines of equal value. A level that occurs nowhere is left out, as matplotlib warns."""
    present = [level for level in levels if values.min() < level < values.max()]
    if not present:
        return None
    look = {"linestyles": style, "linewidths": width, "colors": INK, "zorder": 1}
    return ax.contour(xx0, xx1, values, levels=present, **look)
