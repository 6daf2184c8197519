"""SMO at work: the pair it moves, the multipliers as they grow, the boundary as it turns.

Invariant: every frame is a replay of the trace, so the last one of a complete trace shows the
solution that the solver found.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maxmargin import arrays
from maxmargin.displays.drawing import (
    INK,
    PALE,
    REST,
    colour_of,
    draw_levels,
    fill_values,
    marker_of,
    matplotlib_for,
    tidy,
)
from maxmargin.displays.models import (
    binary_problem,
    check_rows_of,
    is_one_vs_rest,
    kernel_of,
    rows_at_last_step,
    steps_of,
    trace_of,
)
from maxmargin.displays.player import player_of
from maxmargin.displays.surface import checked_plane, grid_around, grid_rows
from maxmargin.estimators.pipelines import last_step
from maxmargin.kernels import Kernel
from maxmargin.problems.trace import Trace

OWNER = "animate_trace"
AREAS = (14.0, 110.0)  # These are the areas of a point with alpha = 0, and with the largest alpha.
SECONDS_AT_END = 2.0
FIGURE_SIZE = (7.2, 4.0)
COLOURS_KEPT = 128  # This many colours show all tints, and keep the file small.


def animate_trace(
    source,
    X,
    y,
    path=None,
    *,
    kernel=None,
    problem=0,
    max_frames=60,
    fps=6,
    grid_resolution=80,
    dpi=90,
):
    """Animate a teaching solver at work on points of two features: in a file, or in a notebook.

    Each frame shows the pair that was moved last, the multipliers as the size of the points, the
    boundary and the margins they make, and how the dual and the primal objective meet.

    Parameters
    ----------
    source : SVC fitted with trace=True and a teaching solver, a Pipeline that ends in one, or Trace
    X : array, sparse matrix or data frame of shape (n, 2)
    y : array of shape (n,)
        The data that the model was fitted on, every row with a positive weight.
    path : str or Path, optional
        The file to write. It ends in ".gif", or in ".mp4", which ffmpeg writes, and which takes
        less than half of the room.
    kernel : Kernel, optional
        The kernel with every parameter a number; a Trace needs it, as it has the multipliers only.
    problem : int, default=0
        Which of the binary problems of a classifier with several classes.
    max_frames : int, default=60
        The most steps that are shown: all of the first ones, then fewer and fewer, because that is
        how SMO slows down. A GIF has about 20 kB per frame.
    fps : float, default=6
        Frames per second.
    grid_resolution : int, default=80
        Grid points along each feature.
    dpi : int, default=90
        Pixels per inch; the picture is 7.2 inches wide.

    Returns
    -------
    Path or TraceAnimation
        The path of the file. Without one, an object that a notebook shows as a player, with
        buttons to step forwards and back, and whose `save(path)` writes a file.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.datasets import make_moons
    >>> from maxmargin.displays import animate_trace
    >>> X, y = make_moons(20)
    >>> model = SVC(solver="smo_platt", trace=True).fit(X, y)
    >>> animation = animate_trace(model, X, y, max_frames=3)
    >>> animation.frames[0], animation.frames[-1] == len(model.trace_)
    (0, True)
    """
    if path is not None:
        path = _checked_path(path)
    if max_frames < 2:
        raise ValueError(f"{OWNER}: max_frames must be at least 2, got {max_frames!r}.")
    if not fps > 0:
        raise ValueError(f"{OWNER}: fps must be a positive number, got {fps!r}.")
    matplotlib_for(OWNER)
    film = _Film.of(source, X, y, kernel, problem, grid_resolution)
    animation = TraceAnimation(film, _frames(len(film.steps), max_frames), fps, dpi)
    return animation if path is None else animation.save(path)


class TraceAnimation:
    """An animation that a notebook shows as a player, and that can be saved.

    Attributes
    ----------
    frames : list of int
        The number of pairs moved at each frame.
    """

    def __init__(self, film, frames, fps, dpi):
        self.frames = frames
        self._film, self._fps, self._dpi = film, fps, dpi

    def __repr__(self):
        return f"<TraceAnimation of {len(self.frames)} frames, {self._fps:g} a second>"

    def _repr_html_(self):
        return self.to_html()

    def to_html(self):
        """A player in HTML with buttons to step, which holds all frames."""
        words = f"SMO at work, {self.frames[-1]} pairs moved at the end"
        return player_of(self._pictures(), self._fps, words)

    def save(self, path):
        """Write the animation to a file that ends in ".gif" or ".mp4"; return the path."""
        path = _checked_path(path)
        WRITERS[path.suffix.lower()](self, path)
        return path

    def _pictures(self):
        scene = _Scene(self._film, self._dpi)
        return _few_colours(map(scene.picture, self.frames))

    def _save_gif(self, path):
        first, *others = self._pictures()
        shown = [1000 / self._fps] * len(others) + [1000 * SECONDS_AT_END]
        first.save(path, format="GIF", save_all=True, append_images=others, duration=shown, loop=0)

    def _save_mp4(self, path):
        from matplotlib.animation import FFMpegWriter

        scene, writer = _Scene(self._film, self._dpi), FFMpegWriter(fps=self._fps)
        at_end = self.frames[-1:] * round(SECONDS_AT_END * self._fps)
        with writer.saving(scene.figure, path, self._dpi):
            for n_steps in self.frames + at_end:
                scene.show(n_steps)
                writer.grab_frame()


# How each kind of file is written.
WRITERS = {".gif": TraceAnimation._save_gif, ".mp4": TraceAnimation._save_mp4}


def _checked_path(path):
    """The path, if it names a kind of file that can be written here."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in WRITERS:
        raise ValueError(f"{OWNER}: path must end in '.gif' or '.mp4', got {str(path)!r}.")
    if kind == ".mp4" and not _has_ffmpeg():
        raise ValueError(
            f"{OWNER}: an mp4 is written by ffmpeg, which was not found. Install it, tell "
            "matplotlib where it is by rcParams['animation.ffmpeg_path'], or let path end in "
            "'.gif'."
        )
    return path


def _has_ffmpeg():
    matplotlib_for(OWNER)
    from matplotlib.animation import FFMpegWriter

    return FFMpegWriter.isAvailable()


def _frames(n_steps, max_frames):
    """The numbers of steps after which a frame is drawn, from none to all."""
    if n_steps < max_frames:
        return list(range(n_steps + 1))
    # They are spaced ever wider; where rounding makes two equal there are fewer.
    spaced = np.geomspace(1, n_steps, max_frames - 1).round().astype(int)
    return [0, *np.unique(spaced).tolist()]


def _few_colours(pictures):
    """The pictures in few colours, as a GIF has at most 256; all share those of the last frame."""
    pictures = list(pictures)
    palette = pictures[-1].quantize(COLOURS_KEPT)
    return [picture.quantize(palette=palette, dither=0) for picture in pictures]


# The data of the film.


@dataclass(frozen=True, eq=False)
class _Film:
    """The points of one binary problem, its steps, and f at every step."""

    points: np.ndarray
    is_positive: np.ndarray
    sides: tuple["_Side", "_Side"]  # the negative and the positive side
    trace: Trace
    problem: int
    xx0: np.ndarray
    xx1: np.ndarray
    K: np.ndarray  # the kernel between the grid and the points

    @classmethod
    def of(cls, source, X, y, kernel, problem, grid_resolution):
        trace = source if isinstance(source, Trace) else trace_of(source, OWNER)
        steps_of(trace, problem, OWNER)
        model = None if source is trace else last_step(source)
        classes = np.unique(y) if model is None else model.classes_
        points, y = checked_plane(X, y, classes, OWNER)
        rows, is_positive, positions = _task(model, classes, y, problem)
        check_rows_of(trace, problem, rows, OWNER)
        xx0, xx1 = grid_around(points, grid_resolution)
        sides = tuple(_Side.of(classes, position) for position in positions)
        places = grid_rows(X, xx0, xx1), arrays.take(X, rows)
        kernel = _checked_kernel(kernel if model is None else kernel_of(model))
        K = kernel(*(rows_at_last_step(source, place) for place in places))
        return cls(points[rows], is_positive, sides, trace, problem, xx0, xx1, K)

    @property
    def steps(self):
        return steps_of(self.trace, self.problem, OWNER)

    def at(self, n_steps):
        """The multipliers after `n_steps` steps, and f on the grid."""
        coef = self.trace.replay(self.problem, n_steps)
        b = self.steps["b"][n_steps - 1] if n_steps else 0.0
        return np.abs(coef), (self.K @ coef + b).reshape(self.xx0.shape)


@dataclass(frozen=True)
class _Side:
    """A side of a binary problem: its name, and its look, which a class has in every picture."""

    name: str
    colour: str
    marker: str

    @classmethod
    def of(cls, classes, position):
        if position is None:
            return cls("the rest", REST, "s")
        return cls(f"class {classes[position]}", colour_of(position), marker_of(position))


def _task(model, classes, y, problem):
    """The rows of a binary problem, which of them are its +1, and which class is on which side."""
    if model is None and len(classes) > 2:
        raise ValueError(
            f"{OWNER}: a Trace by itself is of two classes, y has {len(classes)}; give the model."
        )
    return binary_problem(classes, y, problem, model is not None and is_one_vs_rest(model))


def _checked_kernel(kernel):
    if not isinstance(kernel, Kernel) or kernel.takes == "gram":
        raise ValueError(
            f"{OWNER}: kernel must be a Kernel of the two features, as RBF(gamma=1.0), "
            f"got {kernel!r}."
        )
    return kernel


# Drawing.


class _Scene:
    """The plane with its points and, beside it, the objectives; `picture` draws both at a step."""

    def __init__(self, film, dpi):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure  # pyplot would keep the figure

        self.film = film
        self.largest = max(film.steps["clipped"].max(), film.steps["alpha_i"].max())
        self.figure = figure = Figure(figsize=FIGURE_SIZE, dpi=dpi, layout="constrained")
        self.canvas = FigureCanvasAgg(figure)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.7, 1.0), height_ratios=(1.5, 1.0))
        self.plane = figure.add_subplot(grid[:, 0])
        self.objectives = figure.add_subplot(grid[0, 1])
        self._set_up_plane()
        self._set_up_objectives()
        self._draw_legend(figure.add_subplot(grid[1, 1]))
        self.show(0)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # else the panels would move with their labels

    def picture(self, n_steps):
        """The picture after `n_steps` steps."""
        from PIL import Image

        self.show(n_steps)
        self.canvas.draw()
        return Image.fromarray(np.asarray(self.canvas.buffer_rgba())[..., :3].copy())

    def _set_up_plane(self):
        self.plane.set(xticks=[], yticks=[])
        self.surface, self.groups = [], []
        film = self.film
        for side, own in zip(film.sides, (~film.is_positive, film.is_positive), strict=True):
            look = {"color": side.colour, "marker": side.marker, "label": side.name}
            look |= {"edgecolor": "white", "linewidth": 0.5, "zorder": 3}
            self.groups.append((self.plane.scatter(*film.points[own].T, **look), own))
        ring = {"marker": "o", "markersize": 13, "markerfacecolor": "none", "markeredgewidth": 1.8}
        self.pair = self.plane.plot([], [], color=INK, zorder=4, label="pair moved", **ring)[0]

    def _set_up_objectives(self):
        ax, steps = self.objectives, self.film.steps
        dual, primal = steps["objective"], steps["objective"] + steps["gap"]
        self.curves = []
        # These lines have no colours, because colours stand for classes.
        looks = {"color": REST, "linewidth": 1.2}, {"color": INK, "linewidth": 2.2}
        names = "primal objective", "dual objective"
        for values, name, look in zip((primal, dual), names, looks, strict=True):
            ax.plot(np.arange(1, len(steps) + 1), values, color=PALE, linewidth=1.0)
            self.curves.append((ax.plot([], [], label=name, **look)[0], values))
        # A primal objective far above its end is cut off, to show where the two meet.
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

    def show(self, n_steps):
        """Draw everything as it is after `n_steps` steps."""
        film = self.film
        alpha, values = film.at(n_steps)
        self._draw_surface(values)
        smallest, largest = AREAS
        for points, own in self.groups:
            points.set_sizes(smallest + (largest - smallest) * alpha[own] / self.largest)
        last = film.steps[:n_steps][-1:]  # empty before the first step
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
            # There are half as many tints as in a still, because flat areas compress.
            fill_values(*place, n_tints=16, colours=[side.colour for side in self.film.sides]),
            draw_levels(*place, (0.0,), "-", 2.0),
            draw_levels(*place, (-1.0, 1.0), "--", 1.2),
        ]
        self.surface = [lines for lines in self.surface if lines is not None]
