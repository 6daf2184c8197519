"""SMO at work: the pair it moves, the multipliers as they grow, the boundary as it turns.

Invariant: every frame is a replay of the trace, so the last one of a complete trace shows the
solution that the solver found.
"""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from maxmargin import arrays
from maxmargin.displays.drawing import (
    INK,
    PALE,
    colour_of,
    draw_levels,
    fill_values,
    marker_of,
    matplotlib_for,
    tidy,
)
from maxmargin.displays.models import (
    is_one_vs_rest,
    kernel_of,
    last_step,
    rows_at_last_step,
    trace_of,
)
from maxmargin.displays.surface import checked_plane, grid_around, grid_rows
from maxmargin.kernels import Kernel
from maxmargin.solvers import TEACHING
from maxmargin.solvers.trace import Trace

OWNER = "animate_trace"
AREAS = (14.0, 110.0)  # of a point with alpha = 0, and with the largest alpha
SECONDS_AT_END = 2.0
FIGURE_SIZE = (7.2, 4.0)
COLOURS_KEPT = 128


def animate_trace(
    source,
    X,
    y,
    path,
    *,
    kernel=None,
    problem=0,
    max_frames=60,
    fps=6,
    grid_resolution=80,
    dpi=90,
):
    """Write an animated GIF of a teaching solver at work on points of two features.

    Each frame shows the pair that was moved last, the multipliers as the size of the points, the
    boundary and the margins they make, and how the dual and the primal objective meet.

    Parameters
    ----------
    source : SVC fitted with trace=True and a teaching solver, a Pipeline that ends in one, or Trace
    X : array, sparse matrix or data frame of shape (n, 2)
    y : array of shape (n,)
        What the model was fitted on, every row with a positive weight.
    path : str or Path
        The file to write; it ends in ".gif".
    kernel : Kernel, optional
        With every parameter a number; needed beside a Trace, which knows the multipliers only.
    problem : int, default=0
        Which of the binary problems of a classifier with several classes.
    max_frames : int, default=60
        Of more steps only so many are shown: all of the first ones, then fewer and fewer, because
        that is how SMO slows down. The file has about 20 kB per frame.
    fps : float, default=6
        Frames per second.
    grid_resolution : int, default=80
        Grid points along each feature.
    dpi : int, default=90
        Pixels per inch; the picture is 7.2 inches wide.

    Returns
    -------
    Path
        Of the file.
    """
    matplotlib_for(OWNER)
    path = Path(path)
    if path.suffix.lower() != ".gif":
        raise ValueError(f"{OWNER}: path must end in '.gif', got {str(path)!r}.")
    if max_frames < 2:
        raise ValueError(f"{OWNER}: max_frames must be at least 2, got {max_frames!r}.")
    if not fps > 0:
        raise ValueError(f"{OWNER}: fps must be a positive number, got {fps!r}.")
    film = _Film.of(source, X, y, kernel, problem, grid_resolution)
    scene = _Scene(film, dpi)
    images = _few_colours(map(scene.picture, _frames(len(film.steps), max_frames)))
    shown = [1000 / fps] * (len(images) - 1) + [1000 * SECONDS_AT_END]
    images[0].save(
        path, format="GIF", save_all=True, append_images=images[1:], duration=shown, loop=0
    )
    return path


def _frames(n_steps, max_frames):
    """Numbers of steps after which a frame is drawn, from none to all."""
    if n_steps < max_frames:
        return list(range(n_steps + 1))
    # Spaced ever wider; where rounding makes two equal there are fewer.
    spaced = np.geomspace(1, n_steps, max_frames - 1).round().astype(int)
    return [0, *np.unique(spaced).tolist()]


def _few_colours(pictures):
    """A GIF has 256 colours at most; all frames share those of the last, where everything is."""
    pictures = list(pictures)
    palette = pictures[-1].quantize(COLOURS_KEPT)
    return [picture.quantize(palette=palette, dither=0) for picture in pictures]


# What is to be seen.


@dataclass(frozen=True, eq=False)
class _Film:
    """The points of one binary problem, its steps, and f at every step."""

    points: np.ndarray
    is_positive: np.ndarray
    names: tuple[str, str]
    trace: Trace
    problem: int
    xx0: np.ndarray
    xx1: np.ndarray
    K: np.ndarray  # of the grid's points with the points

    @classmethod
    def of(cls, source, X, y, kernel, problem, grid_resolution):
        trace = source if isinstance(source, Trace) else trace_of(source, OWNER)
        if not isinstance(trace, Trace) or not np.any(trace.steps["problem"] == problem):
            raise ValueError(
                f"{OWNER}: the trace has no steps of problem {problem}. Fit an SVC with trace=True "
                f"and one of the solvers {', '.join(map(repr, TEACHING))}."
            )
        model = None if source is trace else last_step(source)
        classes = np.unique(y) if model is None else model.classes_
        points, y = checked_plane(X, y, classes, OWNER)
        rows, is_positive, names = _task(model, classes, y, problem)
        n_points = len(trace.replay(problem, 0))
        if n_points != len(rows):
            raise ValueError(
                f"{OWNER}: the trace is of {n_points} points and X has {len(rows)}; give the rows "
                "that the model was fitted on."
            )
        xx0, xx1 = grid_around(points, grid_resolution)
        sides = grid_rows(xx0, xx1, X), arrays.take(X, rows)
        kernel = _checked_kernel(kernel if model is None else kernel_of(model))
        K = kernel(*(rows_at_last_step(source, side) for side in sides))
        return cls(points[rows], is_positive, names, trace, problem, xx0, xx1, K)

    @property
    def steps(self):
        return self.trace.steps[self.trace.steps["problem"] == self.problem]

    def at(self, n_steps):
        """The multipliers after so many steps, and f on the grid."""
        coef = self.trace.replay(self.problem, n_steps)
        b = self.steps["b"][n_steps - 1] if n_steps else 0.0
        return np.abs(coef), (self.K @ coef + b).reshape(self.xx0.shape)


def _task(model, classes, y, problem):
    """The rows of a binary problem, which of them are its +1, and the names of both sides."""
    everyone = np.arange(len(y))
    if len(classes) == 2:
        return everyone, y == classes[1], (f"class {classes[0]}", f"class {classes[1]}")
    if model is None:
        raise ValueError(
            f"{OWNER}: a Trace by itself is of two classes, y has {len(classes)}; give the model."
        )
    if is_one_vs_rest(model):
        return everyone, y == classes[problem], ("the rest", f"class {classes[problem]}")
    first, second = list(combinations(classes, 2))[problem]
    rows = np.flatnonzero((y == first) | (y == second))
    return rows, y[rows] == first, (f"class {second}", f"class {first}")


def _checked_kernel(kernel):
    if not isinstance(kernel, Kernel) or kernel.takes == "gram":
        raise ValueError(
            f"{OWNER}: kernel must be a Kernel of the two features, as RBF(gamma=1.0), "
            f"got {kernel!r}."
        )
    return kernel


# How it is drawn.


class _Scene:
    """The plane with its points, beside it the objectives; `picture` draws both as of one step."""

    def __init__(self, film, dpi):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure  # not of pyplot: nobody else sees this figure

        self.film = film
        self.largest = max(film.steps["clipped"].max(), film.steps["alpha_i"].max())
        figure = Figure(figsize=FIGURE_SIZE, dpi=dpi, layout="constrained")
        self.canvas = FigureCanvasAgg(figure)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.7, 1.0), height_ratios=(1.5, 1.0))
        self.plane = figure.add_subplot(grid[:, 0])
        self.objectives = figure.add_subplot(grid[0, 1])
        self._set_up_plane()
        self._set_up_objectives()
        self._draw_legend(figure.add_subplot(grid[1, 1]))
        self._show(0)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # or the panels would tremble with their labels

    def picture(self, n_steps):
        """The picture after so many steps."""
        from PIL import Image

        self._show(n_steps)
        self.canvas.draw()
        return Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3].copy())

    def _set_up_plane(self):
        self.plane.set(xticks=[], yticks=[])
        self.surface, self.groups = [], []
        for position, own in enumerate((~self.film.is_positive, self.film.is_positive)):
            look = {"color": colour_of(position), "marker": marker_of(position)}
            look |= {"edgecolor": "white", "linewidth": 0.5, "zorder": 3}
            points = self.plane.scatter(
                *self.film.points[own].T, label=self.film.names[position], **look
            )
            self.groups.append((points, own))
        ring = {"marker": "o", "markersize": 13, "markerfacecolor": "none", "markeredgewidth": 1.8}
        self.pair = self.plane.plot([], [], color=INK, zorder=4, label="pair moved", **ring)[0]

    def _set_up_objectives(self):
        ax, steps = self.objectives, self.film.steps
        dual, primal = steps["objective"], steps["objective"] + steps["gap"]
        self.curves = []
        for values, name, k in ((primal, "primal objective", 3), (dual, "dual objective", 2)):
            ax.plot(np.arange(1, len(steps) + 1), values, color=PALE, linewidth=1.0)
            line = ax.plot([], [], linewidth=1.8, label=name, color=colour_of(k))[0]
            self.curves.append((line, values))
        # A primal objective far above its end is left outside: where they meet is of interest.
        ax.set_ylim(min(0.0, dual.min()), 1.1 * min(primal.max(), 3.0 * abs(dual[-1])))
        ax.set_xlim(1, max(2, len(steps)))
        ax.set_xscale("log")
        ax.set_xlabel("pairs moved")
        ax.set_title("dual 0", fontsize="medium")
        tidy(ax)

    def _draw_legend(self, ax):
        handles = [points for points, _ in self.groups] + [self.pair]
        handles += [line for line, _ in self.curves]
        ax.set_axis_off()
        title = "larger points have a larger α"
        ax.legend(handles=handles, loc="center", frameon=False, title=title)

    def _show(self, n_steps):
        film = self.film
        alpha, values = film.at(n_steps)
        self._draw_surface(values)
        smallest, largest = AREAS
        for points, own in self.groups:
            points.set_sizes(smallest + (largest - smallest) * alpha[own] / self.largest)
        last = film.steps[:n_steps][-1:]  # none before the first
        self.pair.set_data(*film.points[[*last["i"], *last["j"]]].T)
        for line, column in self.curves:
            line.set_data(np.arange(1, n_steps + 1), column[:n_steps])
        self.plane.set_title(f"after {n_steps} of {len(film.steps)} pairs")
        for objective, gap in zip(last["objective"], last["gap"], strict=True):
            self.objectives.set_title(f"dual {objective:.4g}, gap {gap:.3g}", fontsize="medium")

    def _draw_surface(self, values):
        for lines in self.surface:
            lines.remove()
        place = self.plane, self.film.xx0, self.film.xx1, values
        self.surface = [
            fill_values(*place, n_tints=16),  # half as many as in a still: flat areas compress
            draw_levels(*place, (0.0,), "-", 2.0),
            draw_levels(*place, (-1.0, 1.0), "--", 1.2),
        ]
        self.surface = [lines for lines in self.surface if lines is not None]
