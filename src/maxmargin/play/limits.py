"""What a request may ask for: closed lists, finite numbers, and sizes that take seconds to fit.

Anybody can write a link, so the limits of the page's own controls are checked here again.
Invariant: a request that leaves this file has been checked, key by key.
"""

from dataclasses import dataclass
from math import isfinite

from maxmargin.solvers import TEACHING

MOST_POINTS = 2000  # The fast solver fits this many in a moment.
MOST_TAUGHT = 400  # A solver in plain Python fits this many in a moment.
MOST_IN_MATRIX = 200  # A picture of a kernel matrix of more points shows nothing more.
MOST_STEPS = 20_000
MOST_CELLS = 128  # The grid of the plane has at most this many cells on each side.
MOST_CLASSES = 6
MOST_TEXT = 900_000  # A CSV text has at most this many characters; a request is a megabyte at most.
STEPS_OF_16_BITS = 65535
TENTHS = 10  # A weight is a whole number of tenths, so that a link holds it exactly.
LARGEST_WEIGHT = 1000

DATA_SETS = ("moons", "circles", "xnor", "mixture", "separable", "outlier", "three", "wave")
MODELS = ("svc", "nusvc", "svr", "nusvr", "one_class")
KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian")
ANY_MACHINE = ("smo", "smo_steps", "first_order")
SOLVERS = (*ANY_MACHINE, *TEACHING)


class RequestError(ValueError):
    """A request that asks for what the page does not offer."""


@dataclass(frozen=True)
class Spec:
    """The data, model and solver of a fit, all as plain numbers and names."""

    data: tuple
    model: tuple
    solver: str

    @property
    def of_data(self):
        return dict(self.data)

    @property
    def of_model(self):
        return dict(self.model)


@dataclass(frozen=True)
class Grid:
    """The cells of the plane in which decision values are computed."""

    view: tuple[float, float, float, float]
    nx: int
    ny: int


# One value.


def number(value, name, low, high):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (is_number and isfinite(value) and low <= value <= high):
        raise RequestError(f"{name} must be a number from {low:g} to {high:g}, got {shown(value)}.")
    return float(value)


def whole(value, name, low, high):
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        words = f"{name} must be a whole number from {low} to {high}, got {shown(value)}."
        raise RequestError(words)
    return value


def one_of(value, name, names):
    if not (isinstance(value, str) and value in names):
        raise RequestError(f"{name} must be one of {', '.join(names)}, got {shown(value)}.")
    return value


def items(value, name, most):
    if not isinstance(value, list) or len(value) > most:
        raise RequestError(f"{name} must be a list of at most {most} entries.")
    return value


def keys(value, name, known):
    """The mapping, which must have no other keys."""
    if not isinstance(value, dict):
        raise RequestError(f"{name} must be a mapping, got {shown(value)}.")
    others = sorted(set(map(str, value)) - set(known))
    if others:
        raise RequestError(f"{name} has the unknown key {shown(others[0])}.")
    return value


def shown(value):
    """An abridged value, for an error."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# A whole request.


def spec_of(request):
    """The data, model and solver of a request."""
    model = _model(request.get("model", {}))
    solver = one_of(request.get("solver", "smo_steps"), "solver", SOLVERS)
    if solver in TEACHING and dict(model)["name"] != "svc":
        raise RequestError(
            f"solver={solver!r} is the textbook's, for SVC only. Choose smo_steps, first_order or "
            "smo for the other machines."
        )
    return Spec(_data(request.get("data", {}), solver), model, solver)


def _data(value, solver):
    most = MOST_POINTS if solver == "smo" else MOST_TAUGHT
    name = value.get("name", "moons") if isinstance(value, dict) else None
    if name == "points":
        return _own_points(value, most)
    value = keys(value, "data", ("name", "n", "noise", "seed"))
    return (
        ("name", one_of(name, "data", DATA_SETS)),
        ("n", whole(value.get("n", 40), "the number of points", 4, most)),
        ("noise", number(value.get("noise", 0.15), "noise", 0.0, 2.0)),
        ("seed", whole(value.get("seed", 0), "seed", 0, 9999)),
    )


def _own_points(value, most):
    """Points on a grid of 16 bits in a box, so that a link holds them exactly."""
    value = keys(value, "data", ("name", "box", "points", "labels"))
    box = view_of(value.get("box"), "box")
    points = []
    for one in items(value.get("points"), "points", most):
        if len(items(one, "a point", 4)) != 4:
            raise RequestError("a point must be its two places, its class and its weight.")
        x, y, label, weight = one
        points.append(
            (
                whole(x, "a point's place", 0, STEPS_OF_16_BITS),
                whole(y, "a point's place", 0, STEPS_OF_16_BITS),
                whole(label, "a point's class", 0, MOST_CLASSES - 1),
                whole(weight, "a point's weight in tenths", 1, LARGEST_WEIGHT),
            )
        )
    return (("name", "points"), ("box", box), ("points", tuple(points)))


def view_of(value, name):
    """Two intervals, neither of which may be empty."""
    ends = [number(end, name, -1e9, 1e9) for end in items(value, name, 4)]
    is_box = len(ends) == 4 and ends[1] - ends[0] >= 1e-9 and ends[3] - ends[2] >= 1e-9
    if not is_box:
        raise RequestError(f"{name} must be left, right, bottom, top, and not empty.")
    return tuple(ends)


def _model(value):
    known = ("name", "C", "nu", "epsilon", "kernel", "gamma", "degree", "coef0", "tol")
    value = keys(value, "model", known)
    gamma = value.get("gamma", "scale")
    return (
        ("name", one_of(value.get("name", "svc"), "model", MODELS)),
        ("C", number(value.get("C", 1.0), "C", 1e-4, 1e6)),
        ("nu", number(value.get("nu", 0.3), "nu", 0.001, 1.0)),
        ("epsilon", number(value.get("epsilon", 0.2), "epsilon", 0.0, 100.0)),
        ("kernel", one_of(value.get("kernel", "rbf"), "kernel", KERNELS)),
        ("gamma", gamma if gamma == "scale" else number(gamma, "gamma", 1e-6, 1e4)),
        ("degree", whole(value.get("degree", 3), "degree", 1, 9)),
        ("coef0", number(value.get("coef0", 0.0), "coef0", -100.0, 100.0)),
        ("tol", number(value.get("tol", 1e-3), "tol", 1e-8, 0.5)),
    )


def grid_of(value):
    value = keys(value, "grid", ("view", "nx", "ny"))
    return Grid(
        view_of(value.get("view"), "view"),
        whole(value.get("nx"), "nx", 2, MOST_CELLS),
        whole(value.get("ny"), "ny", 1, MOST_CELLS),
    )
