"""A figure that can be stepped without a server: the page and its replies, in one file."""

import json
import zlib
from base64 import b64encode
from pathlib import Path

import numpy as np

from maxmargin.play import STATIC
from maxmargin.play.fitting import REGRESSORS, fitted
from maxmargin.play.limits import spec_of
from maxmargin.play.links import asked_by, link_of
from maxmargin.play.session import reply_to
from maxmargin.play.wire import packed

ASPECT = 4 / 3  # The plane has this ratio of width to height.
AROUND = 0.14  # This share of the points' extent is left free on each side.
CELLS, CELLS_OF_CURVE = 64, 128
MOST_STEPS_TOLD = 100  # The conditions are recorded for about this many steps at most.
WITHOUT_LIBRARY = ("compare",)  # A recorded file cannot run other solvers.
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{css}</style>
</head>
<body class="mm-body">
<div id="maxmargin-play"></div>
<script type="application/json" id="maxmargin-recorded">{recorded}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def record(
    path, link=None, *, data=None, model=None, solver="smo_steps", step=-1, view="plane", hide=""
):
    """Write the page with recorded replies to an HTML file, which needs no server.

    Parameters
    ----------
    path : str or path
    link : str, optional
        A link of the page, which says all that follows.
    data : dict, optional
        A data set of the page: {"name": "moons", "n": 40, "noise": 0.15, "seed": 0}.
    model : dict, optional
        The machine, with the page's names and limits: {"name": "svc", "C": 1.0, "kernel": "rbf"}.
    solver : str, default="smo_steps"
    step : int, default=-1
        The step that is shown first; -1 is the end.
    view : str, default="plane"
        The screen that is shown beside the plane.
    hide : str, default=""
        Names of screens that are not shown, with commas between them.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import play
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "figure.html")
    ...     play.record(path, data={"name": "moons", "n": 12}, step=1)
    ...     os.path.getsize(path) > 100_000
    True
    """
    asked = {"data": data or {}, "model": model or {}, "solver": solver}
    shown = {"step": step, "view": view, "hide": hide}
    if link is not None:
        asked, shown = asked_by(link)
    spec = spec_of(asked)
    grid = grid_around(fitted(spec))
    shown["hide"] = ",".join(filter(None, (shown.get("hide"), *WITHOUT_LIBRARY)))
    content = {"link": link_of(spec, **shown), "grid": grid, "replies": replies_to(asked, grid)}
    texts = [(STATIC / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")]
    page = PAGE.format(
        title="maxmargin play", css=texts[0], script=_in_script(texts[1]),
        recorded=_in_script(json.dumps(content)),
    )  # fmt: skip
    Path(path).write_text(page, encoding="utf-8")


def replies_to(asked, grid):
    """The replies to all that the page will ask about a fit that cannot be changed."""
    rows = list(range(len(fitted(spec_of(asked)).points.X)))
    requests = {
        "fit": {"ask": "fit", **asked, "grid": grid},
        "columns": {"ask": "columns", **asked, "grid": grid, "rows": rows},
        "matrix": {"ask": "matrix", **asked},
    }
    found = {name: reply_to(request) for name, request in requests.items()}
    n_steps = len(found["fit"].arrays.get("step_i", ()))
    for step in range(0, n_steps + 1, -(-(n_steps + 1) // MOST_STEPS_TOLD)):
        if found["fit"].header["has_steps"]:
            found[f"at {step}"] = reply_to({"ask": "at", **asked, "step": step})
    return {name: _squeezed(packed(reply)) for name, reply in found.items()}


def grid_around(found):
    """The cells of the plane around the points, in the shape that the page has."""
    X = found.points.X
    low, high = X.min(axis=0), X.max(axis=0)
    around = AROUND * np.where(high > low, high - low, 1.0)
    low, high = low - around, high + around
    if found.name in REGRESSORS:
        return _grid(low, high, CELLS_OF_CURVE, 1)
    width = max(high[0] - low[0], (high[1] - low[1]) * ASPECT)
    half, middle = np.array([width, width / ASPECT]) / 2, (low + high) / 2
    return _grid(middle - half, middle + half, CELLS, round(CELLS / ASPECT))


def _grid(low, high, nx, ny):
    view = [float(end) for end in (low[0], high[0], low[1], high[1])]
    return {"view": view, "nx": nx, "ny": ny}


def _squeezed(data):
    return b64encode(zlib.compress(data, 9)).decode()


def _in_script(text):
    """The text, which must not end the script that it stands in."""
    return text.replace("</", "<\\/")
