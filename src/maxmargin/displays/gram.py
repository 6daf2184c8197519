"""The kernel matrix of some data, and its spectrum.

A kernel that suits its task shows as blocks, because points of a class resemble each other. The
eigenvalues tell how many directions of the feature space the data use, and whether the kernel is
positive semidefinite.
Invariant: the eigenvalues are those of the matrix that is shown.
"""

import re
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin import arrays
from maxmargin.displays.drawing import INK, PALE, colour_of, panels_for, tidy, tint
from maxmargin.displays.models import kernel_of, rows_at_last_step
from maxmargin.errors import OVERFLOW, KernelError, class_of
from maxmargin.estimators.pipelines import last_step
from maxmargin.estimators.validation import seed_of
from maxmargin.kernels import Custom, Kernel
from maxmargin.kernels.base import as_rows
from maxmargin.kernels.spectrum import ROUNDING, MercerReport

MAX_ROWS = 500  # More rows than these could not be told apart in the picture.
LONGEST = 40  # A formula in a title has this many letters at most.
DEEPEST = 1e-18  # The spectrum's panel ends at this share of the largest eigenvalue.


@dataclass(kw_only=True, eq=False, repr=False)
class GramDisplay:
    """The kernel matrix, sorted by class, and its eigenvalues.

    Parameters
    ----------
    K : array of shape (m, m)
        The values k(x_i, x_j), in the order of `rows`.
    rows : array of int of shape (m,)
        Which rows of X are shown, sorted by y: all, or a sample.
    y : array of shape (m,), optional
        Their classes or targets.
    eigenvalues : array of shape (m,)
        The eigenvalues of the symmetric part of K, the largest first.
    kernel : str
        The formula of the kernel with its parameters.
    n : int
        How many rows X has.

    Attributes
    ----------
    axes_, figure_ : array of 2 matplotlib Axes, and Figure
        They belong to the last `plot`.

    Examples
    --------
    >>> from maxmargin.datasets import make_circles
    >>> from maxmargin.displays import GramDisplay
    >>> from maxmargin.kernels import RBF
    >>> X, y = make_circles(80)
    >>> display = GramDisplay.from_kernel(RBF(gamma=2.0), X, y, plot=False)
    >>> display.K.shape, display.report.satisfied
    ((80, 80), True)
    """

    K: np.ndarray
    rows: np.ndarray
    eigenvalues: np.ndarray
    kernel: str
    n: int
    y: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, max_rows=MAX_ROWS, random_state=None, ax=None, plot=True
    ):
        """Draw the matrix of a fitted model's kernel.

        Parameters
        ----------
        estimator : fitted model with a `kernel_`, or Pipeline that ends in one
        X : array, sparse matrix or list of n rows; the matrix itself for a precomputed kernel
        y : array of shape (n,), optional
            Classes or targets, by which the rows are sorted.
        max_rows : int, default=500
            If X has more rows, a random sample of this size is shown, because a picture has no more
            pixels, and eigenvalues take cubic time. The eigenvalues are then those of the sample.
        random_state : int, Generator, RandomState or None, default=None
            The seed of the sample; None is the same every time.
        ax : matplotlib Axes or sequence of two, optional
            One subplot, which is divided, or two; a new figure if not given.
        plot : bool, default=True
            False keeps the data without drawing, and without matplotlib.
        """
        check_is_fitted(estimator)
        model = last_step(estimator)
        kernel = kernel_of(model)
        if kernel is None:
            raise TypeError(
                f"{cls.__name__}: {class_of(model)} has no kernel_; use "
                f"{cls.__name__}.from_kernel(Linear(), X, y) for the matrix of dot products."
            )
        return cls.from_kernel(
            kernel,
            rows_at_last_step(estimator, X),
            y,
            max_rows=max_rows,
            random_state=random_state,
            ax=ax,
            plot=plot,
        )

    @classmethod
    def from_kernel(
        cls, kernel, X, y=None, *, max_rows=MAX_ROWS, random_state=None, ax=None, plot=True
    ):
        """Draw the matrix of a kernel on the rows of X.

        Parameters
        ----------
        kernel : Kernel, or function of two sets of rows that returns their matrix
        X, y, max_rows, random_state, ax, plot
            As in `from_estimator`.
        """
        if not callable(kernel):
            raise TypeError(
                f"{cls.__name__}: kernel must be a Kernel, as RBF(gamma=1.0), or a function of two "
                f"sets of rows, got {kernel!r}."
            )
        X = as_rows(X)
        kernel = _resolved(kernel if isinstance(kernel, Kernel) else Custom(kernel), X)
        rows, y = _sorted_sample(X, y, max_rows, random_state)
        K = _matrix(kernel, X, rows)
        display = cls(
            K=K,
            rows=rows,
            eigenvalues=linalg.eigvalsh((K + K.T) / 2)[::-1],
            kernel=_formula(kernel),
            n=arrays.n_rows(X),
            y=y,
        )
        return display.plot(ax=ax) if plot else display

    @property
    def report(self):
        """The report on Mercer's condition for the rows shown."""
        return MercerReport(
            smallest_eigenvalue=float(self.eigenvalues[-1]),
            largest_eigenvalue=float(self.eigenvalues[0]),
            asymmetry=float(np.max(np.abs(self.K - self.K.T))),
        )

    def plot(self, ax=None):
        """Draw on the given axes, or on a new figure: the matrix, and its spectrum."""
        axes = panels_for(ax, (1, 2), "GramDisplay", (9.6, 4.2), width_ratios=(1.1, 1.0))
        _draw_matrix(axes[0], self)
        _draw_spectrum(axes[1], self)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


# Computing.


def _sorted_sample(X, y, max_rows, random_state):
    """At most `max_rows` rows, in the order of y, and their y."""
    n = arrays.n_rows(X)
    if y is not None:
        check_consistent_length(X, y)
        y = column_or_1d(y)
    rows = np.arange(n)
    if n > max_rows:
        rng = np.random.default_rng(seed_of(random_state))
        rows = np.sort(rng.choice(n, size=max_rows, replace=False))
    if y is None:
        return rows, None
    rows = rows[np.argsort(y[rows], kind="stable")]
    return rows, y[rows]


def _resolved(kernel, X):
    """The kernel with every parameter a number, from all rows as in a fit."""
    return kernel if kernel.takes == "gram" else kernel.resolve(X)


def _matrix(kernel, X, rows):
    chosen = arrays.take(X, rows)
    if kernel.takes == "gram":
        chosen = np.asarray(arrays.dense(chosen))[:, rows]
    K = kernel(chosen)
    if not np.all(np.isfinite(K)):
        raise KernelError(OVERFLOW.format(kernel))
    return K


def _formula(kernel):
    """The kernel on one line, with numbers to four digits, and not longer than a title may be."""
    words = re.sub(r"\d+\.\d{4,}(e[+-]?\d+)?", lambda m: f"{float(m[0]):.4g}", str(kernel))
    words = " ".join(words.split())
    return words if len(words) <= LONGEST else words[: LONGEST - 3] + "..."


def _blocks(y):
    """The (label, first row, end) of every class; empty for targets of a regression."""
    if y is None or type_of_target(y).startswith("continuous"):
        return []
    labels, firsts = np.unique(y, return_index=True)
    return list(zip(labels.tolist(), firsts, np.append(firsts[1:], len(y)), strict=True))


# Drawing.


def _colours(K):
    """The colour map, in which white is zero, and both sides have a colour if K has both signs."""
    from matplotlib.colors import LinearSegmentedColormap

    largest = max(float(np.abs(K).max()), np.finfo(float).tiny)
    deep = tuple(0.35 * part for part in tint(colour_of(0), 1.0))
    if K.min() >= 0:
        scale = LinearSegmentedColormap.from_list("similar", ["white", colour_of(0), deep])
        return {"cmap": scale, "vmin": 0.0, "vmax": largest}
    ends = [colour_of(1), "white", colour_of(0)]
    scale = LinearSegmentedColormap.from_list("opposite", ends)
    return {"cmap": scale, "vmin": -largest, "vmax": largest}


def _draw_matrix(ax, display):
    m = len(display.K)
    image = ax.imshow(display.K, interpolation="nearest", **_colours(display.K))
    ax.figure.colorbar(image, ax=ax, shrink=0.85)
    blocks = _blocks(display.y)
    for _, first, _ in blocks[1:]:
        ax.axhline(first - 0.5, color=INK, linewidth=1.0)
        ax.axvline(first - 0.5, color=INK, linewidth=1.0)
    if blocks:
        middles = [(first + end - 1) / 2 for _, first, end in blocks]
        labels = [str(label) for label, _, _ in blocks]
        ax.set_xticks(middles, labels)
        ax.set_yticks(middles, labels)
        ax.tick_params(length=0)
        ax.set(xlabel="class", ylabel="class")
    else:
        order = "row" if display.y is None else "row, by target"
        ax.set(xlabel=order, ylabel=order)
    shown = f"{m} rows" if m == display.n else f"{m} of {display.n} rows"
    ax.set_title(f"{display.kernel}\n{shown}", fontsize="medium")


def _draw_spectrum(ax, display):
    values = display.eigenvalues
    size = np.abs(values)
    rounding = size <= ROUNDING * size.max()
    rank = np.arange(1, len(values) + 1)
    for chosen, label, look in (
        (~rounding & (values > 0), "positive", {"color": colour_of(0), "marker": "o"}),
        (~rounding & (values < 0), "negative, its size", {"color": colour_of(1), "marker": "v"}),
        (rounding & (size > 0), "zero, up to rounding", {"color": PALE, "marker": "."}),
    ):
        if chosen.any():
            ax.plot(rank[chosen], size[chosen], linestyle="none", markersize=4, label=label, **look)
    if size.any():
        ax.set_yscale("log")
        ax.set_ylim(bottom=max(DEEPEST * size.max(), size[size > 0].min() / 3))
        ax.legend(frameon=False, loc="best")
    verdict = "positive semidefinite" if display.report.satisfied else "not positive semidefinite"
    ax.set_title(f"smallest eigenvalue {values[-1]:.2g}:\n{verdict}", fontsize="medium")
    ax.set(xlabel="rank", ylabel="eigenvalue")
    tidy(ax)
