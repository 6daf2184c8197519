"""The weights and errors of a model along one of its parameters.

Invariant: all models of a path see the same training rows; only the parameter differs.
"""

from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone, is_classifier

from maxmargin import arrays
from maxmargin.displays.drawing import (
    PALE,
    legend_beside,
    line_of,
    marker_of,
    panels_for,
    scale_along,
    spans_decades,
    tidy,
)
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.pipelines import last_step

MOST_NAMES = 8  # The legend names this many weights; the smaller ones are drawn pale.
# The least error on data of this name is not marked, because it marks no good model.
TRAINING = "training"


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay:
    """Weights, errors and support vectors along a parameter, a panel each where they are known.

    Parameters
    ----------
    param_name : str
    values : array of shape (m,)
        The values of the parameter.
    coefs : array of shape (m, d), optional
        The weights of a linear model at each value.
    errors : dict from str to array of shape (m,)
        The mean squared error on each set of data, or the share of mistakes of a classifier. The
        least one is marked, but not on the set named "training".
    n_support : array of int of shape (m,), optional
        The number of support vectors.
    dual_gaps : array of shape (m,), optional
        Bounds on how far each model is from its optimum, which are kept and not drawn.
    feature_names : list of str, optional
    error_name : str

    Attributes
    ----------
    axes_, figure_ : array of matplotlib Axes, and Figure
        They belong to the last `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Ridge
    >>> from maxmargin.displays import PathDisplay
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> y = X @ [1.0, 0.0, -2.0]
    >>> path = Ridge().path(X, y, [0.1, 1.0, 10.0, 100.0])
    >>> display = PathDisplay.from_path(path, errors_on={"training": (X, y)}, plot=False)
    >>> bool(np.all(np.diff(display.errors["training"]) > 0))
    True
    """

    param_name: str
    values: np.ndarray
    coefs: np.ndarray | None = None
    errors: dict[str, np.ndarray] = field(default_factory=dict)
    n_support: np.ndarray | None = None
    dual_gaps: np.ndarray | None = None
    feature_names: list[str] | None = None
    error_name: str = "mean squared error"

    @classmethod
    def from_path(cls, path, *, errors_on=None, feature_names=None, ax=None, plot=True):
        """Draw what `Ridge().path` or `Lasso().path` returned.

        Parameters
        ----------
        path : Path
            The alphas, coefs, intercepts and dual_gaps of one target.
        errors_on : dict from str to (X, y), optional
            Data on which the mean squared error is drawn as well, by the name of its line. Call the
            rows that the path was made from "training", and no least error is marked on them.
        feature_names : sequence of str, optional
            The names of the features. By default they are the columns of a data frame in
            `errors_on`, if there is one, and else w1, w2, ...
        ax : matplotlib Axes or sequence of them, optional
            One subplot, which is divided, or one per panel; a new figure if not given.
        plot : bool, default=True
            False keeps the data without drawing, and without matplotlib.
        """
        coefs = np.asarray(path.coefs)
        if coefs.ndim != 2:
            raise ValueError(
                f"{cls.__name__}: the path has {coefs.shape[1]} targets; draw one at a time: "
                "path._replace(coefs=path.coefs[:, 0], intercepts=path.intercepts[:, 0])."
            )
        errors = {}
        for name, (X, y) in (errors_on or {}).items():
            feature_names = _names(X) if feature_names is None else feature_names
            predicted = np.asarray(X @ coefs.T) + path.intercepts
            errors[name] = np.mean((np.asarray(y)[:, None] - predicted) ** 2, axis=0)
        display = cls(
            param_name="alpha",
            values=np.asarray(path.alphas),
            coefs=coefs,
            errors=errors,
            dual_gaps=np.asarray(path.dual_gaps),
            feature_names=None if feature_names is None else list(feature_names),
        )
        return display.plot(ax=ax) if plot else display

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        param_name="C",
        param_range,
        errors_on=None,
        ax=None,
        plot=True,
    ):
        """Fit an estimator at every value of a parameter, and draw its errors.

        Kernel machines begin every fit but the first at the solution before it (`warm_start`),
        which is quick when the values are in order. The estimator itself is not fitted.

        Parameters
        ----------
        estimator : classifier, regressor, or Pipeline
        X, y
            The training rows, whose error is drawn as "training".
        param_name : str, default="C"
            A parameter of the estimator, or of a step of a pipeline, as in "svc__C".
        param_range : sequence
            Its values.
        errors_on : dict from str to (X, y), optional
            More data on which the error is drawn, by the name of its line.
        ax, plot
            As in `from_path`.
        """
        values = list(param_range)
        if not values:
            raise ValueError(f"{cls.__name__}: param_range is empty.")
        sets = {TRAINING: (X, y)} | (errors_on or {})
        models = _fits(estimator, X, y, param_name, values)
        rows = [_figures(model, sets) for model in models]
        errors, coefs, counts = zip(*rows, strict=True)
        display = cls(
            param_name=param_name,
            values=np.asarray(values),
            coefs=_all_or_none(coefs),
            errors={name: np.array([error[name] for error in errors]) for name in sets},
            n_support=_all_or_none(counts),
            feature_names=_names(X),
            error_name="share of mistakes" if is_classifier(estimator) else "mean squared error",
        )
        return display.plot(ax=ax) if plot else display

    def plot(self, ax=None):
        """Draw on the given axes, or on a new figure."""
        known = {
            _draw_coefs: self.coefs is not None,
            _draw_errors: bool(self.errors),
            _draw_support: self.n_support is not None,
        }
        drawings = [draw for draw, is_known in known.items() if is_known]
        shape, size = (len(drawings), 1), (8.0, 1.0 + 2.0 * len(drawings))
        axes = panels_for(ax, shape, "PathDisplay", size, sharex=True)
        for panel, draw in zip(axes, drawings, strict=True):
            draw(panel, self)
            scale_along(panel, self.values)
            tidy(panel)
        axes[-1].set_xlabel(self.param_name)
        self.axes_, self.figure_ = axes, axes[0].figure
        self.figure_.align_ylabels(axes)
        return self


# Computing.


def _fits(estimator, X, y, param_name, values):
    """The fitted model at every value, one after the other."""
    model = clone(estimator)
    goes_on = isinstance(model, BaseSVM)
    if goes_on:
        model.set_params(warm_start=True)
    for value in values:
        model = model if goes_on else clone(estimator)
        yield model.set_params(**{param_name: value}).fit(X, y)


def _figures(model, sets):
    """The errors, weights and number of support vectors of a fitted model."""
    errors = {name: _error(model, X, y) for name, (X, y) in sets.items()}
    machine = last_step(model)
    coef = np.atleast_2d(arrays.dense(machine.coef_)) if hasattr(machine, "coef_") else None
    is_one = coef is not None and len(coef) == 1
    n_support = len(machine.support_) if hasattr(machine, "support_") else None
    return errors, coef[0].copy() if is_one else None, n_support


def _error(model, X, y):
    if is_classifier(model):
        return 1.0 - model.score(X, y)
    return np.mean((np.asarray(y) - model.predict(X)) ** 2)


def _all_or_none(values):
    """The values as an array, or None if some models have none."""
    return None if any(value is None for value in values) else np.array(values)


def _names(X):
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None


# Drawing.


def _draw_coefs(ax, display):
    coefs = display.coefs
    names = display.feature_names or [f"w{k + 1}" for k in range(coefs.shape[1])]
    largest = np.argsort(-np.abs(coefs).max(axis=0), kind="stable")
    named, others = np.sort(largest[:MOST_NAMES]), largest[MOST_NAMES:]
    for position, k in enumerate(named):
        ax.plot(display.values, coefs[:, k], label=names[k], linewidth=1.6, **line_of(position))
    if len(others):
        lines = ax.plot(display.values, coefs[:, others], color=PALE, linewidth=0.9, zorder=1)
        lines[0].set_label(f"{len(others)} smaller ones")
    ax.set_ylabel("weight")
    legend_beside(ax)


def _draw_errors(ax, display):
    for position, (name, error) in enumerate(display.errors.items()):
        line = ax.plot(display.values, error, label=name, linewidth=1.6, **line_of(position))[0]
        if name == TRAINING:
            continue
        best = int(np.argmin(error))
        ax.plot(
            display.values[best],
            error[best],
            marker=marker_of(position),
            color=line.get_color(),
            linestyle="none",
            label=f"least: {error[best]:.4g}",
        )
    everything = np.concatenate(list(display.errors.values()))
    if spans_decades(everything) and everything.min() > 0:
        ax.set_yscale("log")
    ax.set_ylabel(display.error_name)
    legend_beside(ax)


def _draw_support(ax, display):
    ax.plot(display.values, display.n_support, linewidth=1.6, **line_of(0))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("support vectors")
