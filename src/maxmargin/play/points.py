"""The points of the page: data sets of a closed list, the user's own points, or a CSV text.

Each kind knows the lines of Python that make the same arrays, digit by digit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from maxmargin import datasets
from maxmargin.errors import FileError
from maxmargin.files import read_data
from maxmargin.play.limits import (
    LARGEST_WEIGHT,
    MOST_CLASSES,
    MOST_POINTS,
    MOST_TEXT,
    STEPS_OF_16_BITS,
    TENTHS,
    RequestError,
)

THREE = {0: [(-1.5, -1.0)], 1: [(1.5, -1.0)], 2: [(0.0, 1.5)]}
MAKERS: dict[str, Callable] = {
    "moons": datasets.make_moons,
    "circles": datasets.make_circles,
    "xnor": datasets.make_xnor,
    "mixture": datasets.make_gaussian_mixture,
}
WITHOUT_NOISE: dict[str, Callable] = {
    "separable": datasets.make_separable,
    "outlier": datasets.make_outlier,
}
MARGIN = 0.08  # The box around a CSV's points leaves this share of their width on each side.
NUMBERS_A_LINE = 12


@dataclass(frozen=True)
class PlanePoints:
    """Points of a plane, with a label and a weight each, and the code that makes them.

    The code defines `X` of two columns and, if there are labels, `y`; it defines `weight` if not
    all weights are one.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    code: str

    @property
    def is_weighted(self):
        return bool(np.any(self.weight != 1.0))


def points_of(data):
    """The points of the checked `data` of a request."""
    name = data["name"]
    if name == "points":
        return _own(data["box"], data["points"])
    if name == "wave":
        return _wave(data["n"], data["noise"], data["seed"])
    return _from_data_set(name, data["n"], data["noise"], data["seed"])


def _from_data_set(name, n, noise, seed):
    options, shown = {"random_state": seed}, f"random_state={seed}"
    if name not in WITHOUT_NOISE:
        options["noise"], shown = noise, f"noise={noise}, {shown}"
    if name == "three":
        make, before = datasets.make_gaussian_mixture, f"centres = {THREE}\n"
        options["centres"], shown = THREE, f"centres=centres, {shown}"
    else:
        make, before = {**MAKERS, **WITHOUT_NOISE}[name], ""
    X, y = make(n, **options)
    code = (
        f"from maxmargin.datasets import {make.__name__}\n\n"
        f"{before}X, y = {make.__name__}({n}, {shown})"
    )
    return PlanePoints(X, y, np.ones(n), code)


def _wave(n, noise, seed):
    """A curve with noise, for a regression; the label is the side of zero."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3.0, 3.0, n)
    height = np.sin(2.0 * x) + noise * rng.standard_normal(n)
    code = (
        f"rng = np.random.default_rng({seed})\n"
        f"x = rng.uniform(-3.0, 3.0, {n})\n"
        f"height = np.sin(2.0 * x) + {noise} * rng.standard_normal({n})\n"
        "X, y = np.column_stack([x, height]), (height > 0).astype(int)"
    )
    return PlanePoints(np.column_stack([x, height]), (height > 0).astype(int), np.ones(n), code)


def _own(box, points):
    table = np.array(points, dtype=np.int64).reshape(-1, 4)
    weight = table[:, 3] / TENTHS
    left, right, bottom, top = box
    code = (
        f"places = np.array({_listed(table[:, :2].tolist())})\n"
        f"corner, size = np.array([{left}, {bottom}]), np.array([{right - left}, {top - bottom}])\n"
        f"X = corner + places / {STEPS_OF_16_BITS} * size\n"
        f"y = np.array({_listed(table[:, 2].tolist())})"
    )
    if np.any(weight != 1.0):
        code += f"\nweight = np.array({_listed(table[:, 3].tolist())}) / {TENTHS}"
    return PlanePoints(placed(box, table[:, :2]), table[:, 2], weight, code)


def placed(box, places):
    """The coordinates in the box of points on the grid of 16 bits."""
    left, right, bottom, top = box
    corner, size = np.array([left, bottom]), np.array([right - left, top - bottom])
    return corner + places / STEPS_OF_16_BITS * size


def _listed(values):
    """A list of Python over several lines."""
    parts = [
        ", ".join(map(str, values[k : k + NUMBERS_A_LINE]))
        for k in range(0, len(values), NUMBERS_A_LINE)
    ]
    return "[" + ",\n    ".join(parts) + "]"


def from_csv(text):
    """The points of a CSV text: two columns and a label, or x and a target for a regression.

    The reader is the library's, and so are its error messages.
    """
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        raise RequestError(f"the text must have at most {MOST_TEXT} characters.")
    X, labels, names = _read(text)
    if len(X) > MOST_POINTS:
        raise RequestError(f"the table has {len(X)} rows, and the page takes {MOST_POINTS}.")
    own = quantised(X, labels, np.ones(len(X)))
    return {**own, "labels": names, "is_regression": not names}


def quantised(X, labels, weight):
    """Points of a plane as a link holds them: a box, and coordinates of 16 bits in it."""
    low, size = X.min(axis=0), np.ptp(X, axis=0)
    size = np.where(size > 0, size, 1.0)
    low, size = low - MARGIN * size, (1 + 2 * MARGIN) * size
    places = np.rint((X - low) / size * STEPS_OF_16_BITS).astype(int)
    tenths = np.clip(np.rint(weight * TENTHS).astype(int), 1, LARGEST_WEIGHT)
    box = [low[0], low[0] + size[0], low[1], low[1] + size[1]]
    table = np.column_stack([places, labels, tenths])
    return {"box": [float(end) for end in box], "points": table.tolist()}


def _read(text):
    """Two columns, the class of every row, and the names of the classes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "your.csv"
        path.write_text(text, encoding="utf-8")
        try:
            data = read_data(path, format="csv")
        except FileError as error:
            raise RequestError(str(error).replace(f"{folder}/", "")) from error
    n, width = data.X.shape
    if width == 1:
        if data.y.dtype.kind not in "if":
            raise RequestError("of two columns, the second must be a number: x and its target.")
        return np.column_stack([data.X[:, 0], data.y.astype(float)]), np.zeros(n, dtype=int), []
    if width != 2:
        raise RequestError(
            f"your.csv has {width} columns beside the label; the page takes two and a label, or "
            "one and a target."
        )
    names, labels = np.unique(data.y, return_inverse=True)
    if len(names) > MOST_CLASSES:
        raise RequestError(
            f"the last column has {len(names)} different labels; the page takes {MOST_CLASSES}."
        )
    return data.X, labels, [str(name) for name in names]
