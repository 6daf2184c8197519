"""What all displays share: colours that colour-blind readers can tell apart, and the axes.

Invariant: nothing here loads matplotlib before a picture is asked for.
"""

# Okabe and Ito's palette, without the yellow that is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
# Classes differ in shape as well, for print without colour and for more classes than colours.
MARKERS = ("o", "^", "D", "v", "P")
INK = "#1a1a1a"


def colour_of(position):
    return COLOURS[position % len(COLOURS)]


def marker_of(position):
    return MARKERS[position % len(MARKERS)]


def tint(colour, strength):
    """The colour mixed with white; strength 1 is the colour itself."""
    from matplotlib.colors import to_rgb

    return tuple(1 - strength * (1 - part) for part in to_rgb(colour))


def axes_for(ax, display, figsize):
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            f"{display}: drawing needs matplotlib; pip install 'maxmargin[plot]'."
        ) from error
    return pyplot.subplots(figsize=figsize, layout="constrained")[1]
