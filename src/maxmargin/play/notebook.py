"""The page in a notebook: a widget that asks its Python kernel over a channel of its own."""

import numpy as np

from maxmargin.errors import class_of
from maxmargin.play import STATIC
from maxmargin.play.fitting import CLASSES, REGRESSORS
from maxmargin.play.limits import ANY_MACHINE, SOLVERS, RequestError, spec_of
from maxmargin.play.links import link_of
from maxmargin.play.points import quantised
from maxmargin.play.session import reply_to
from maxmargin.play.wire import packed
from maxmargin.solvers.base import Solver

WITHOUT_ANYWIDGET = "play.widget: it needs anywidget; pip install 'maxmargin[widget]'."
PARAMETERS = ("C", "nu", "epsilon", "kernel", "gamma", "degree", "coef0", "tol")


def widget(model=None, X=None, y=None, sample_weight=None):
    """The page as a widget of Jupyter or marimo, with the parameters of a model.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM, optional
        It need not be fitted. Its parameters are shown, and it is not changed.
    X : array of shape (n, 2), or (n, 1) for a regression, optional
        The points; two moons by default. They are put on a grid of 16 bits.
    y : array of shape (n,), optional
        Labels of up to six classes, or the targets of a regression.
    sample_weight : array of shape (n,), optional
    """
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError as error:
        raise ImportError(WITHOUT_ANYWIDGET) from error

    class PlayWidget(anywidget.AnyWidget):
        _esm = (STATIC / "page.js").read_text(encoding="utf-8")
        _css = (STATIC / "page.css").read_text(encoding="utf-8")
        link = traitlets.Unicode("").tag(sync=True)

    shown = PlayWidget(link=link_of(spec_of(request_of(model, X, y, sample_weight))))
    shown.on_msg(lambda asked, content, buffers: asked.send(*answer_to(content)))
    return shown


def answer_to(content):
    """The message and buffers that answer a message with a number and a request."""
    number = content.get("number")
    try:
        return {"number": number}, [packed(reply_to(content.get("request")))]
    except RequestError as error:
        return {"number": number, "error": str(error)}, []


def request_of(model, X, y, sample_weight):
    """The page's data, model and solver for a model and its points."""
    asked = {} if model is None else {"model": _parameters(model), "solver": _solver(model)}
    if X is not None:
        asked["data"] = {"name": "points", **_points(asked, X, y, sample_weight)}
    return asked


def _parameters(model):
    name = next((name for name, cls in CLASSES.items() if isinstance(model, cls)), None)
    if name is None:
        known = ", ".join(cls.__name__ for cls in CLASSES.values())
        raise TypeError(f"play.widget: model must be one of {known}, got {class_of(model)}.")
    given = model.get_params(deep=False)
    chosen = {key: given[key] for key in PARAMETERS if key in given}
    if chosen.get("gamma") == "auto":
        chosen["gamma"] = 1.0 if name in REGRESSORS else 0.5  # for one feature, or for two
    return {"name": name, **chosen}


def _solver(model):
    """The page's name of a solver; one that it does not know becomes "smo_steps"."""
    if isinstance(model.solver, Solver):
        is_first_order = getattr(model.solver, "order", 2) == 1
        return "first_order" if is_first_order else ANY_MACHINE[1]
    return model.solver if model.solver in SOLVERS[1:] else ANY_MACHINE[1]


def _points(asked, X, y, sample_weight):
    X = np.asarray(X, dtype=np.float64)
    is_regression = asked.get("model", {}).get("name") in REGRESSORS
    width = 1 if is_regression else 2
    if X.ndim != 2 or X.shape[1] != width or not np.all(np.isfinite(X)):
        raise ValueError(
            f"play.widget: X must have {width} column{'s'[: width - 1]} of finite numbers, got the "
            f"shape {X.shape}."
        )
    n = len(X)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if is_regression:
        places, labels = np.column_stack([X[:, 0], np.asarray(y, dtype=float)]), np.zeros(n, int)
    else:
        y = np.zeros(n) if y is None else np.asarray(y)
        places, labels = X, np.unique(y, return_inverse=True)[1]
    return quantised(places, labels, weight)
