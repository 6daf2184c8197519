"""Margins: how far on the right side of the boundary a point or a whole set lies.

The functional margin y f(x) depends on the length of w. Divided by |w| it is the geometric margin,
the signed distance to the boundary. The margin of a set is the smallest of its points.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin import arrays
from maxmargin.errors import class_of


@dataclass(frozen=True, eq=False)
class MarginReport:
    """The result of `margins`.

    Attributes
    ----------
    functional, geometric : arrays of shape (n,)
        y f(x), and y f(x) / |w|, negative on the wrong side. With several classes, each is the
        smallest over the machines that decide about the point's own class.
    norm : float
        |w|, which for a kernel is sqrt(c'Kc); the largest of several machines.
    """

    functional: np.ndarray
    geometric: np.ndarray
    norm: float

    @property
    def functional_of_set(self):
        """The smallest functional margin."""
        return float(self.functional.min())

    @property
    def geometric_of_set(self):
        """The smallest geometric margin: the distance of the nearest point, if all are right."""
        return float(self.geometric.min())

    @property
    def width(self):
        """1 / |w|: the distance from the boundary f = 0 to the margin f = 1."""
        return 1.0 / self.norm if self.norm > 0 else np.inf

    def __repr__(self):
        wrong = int(np.sum(self.functional < 0))
        return (
            f"MarginReport of {len(self.functional)} points, {wrong} on the wrong side\n"
            f"  smallest functional margin  {self.functional_of_set:.4g}\n"
            f"  smallest geometric margin   {self.geometric_of_set:.4g}\n"
            f"  width 1/|w|                 {self.width:.4g}"
        )


def margins(model, X, y):
    """Functional and geometric margins of points with labels, under a fitted classifier.

    Parameters
    ----------
    model : SVC, NuSVC, or a linear classifier with `coef_` and `decision_function`
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import margins
    >>> X, y = [[0.0, 0.0], [2.0, 0.0], [5.0, 0.0]], [0, 1, 1]
    >>> report = margins(SVC(kernel="linear", C=float("inf")).fit(X, y), X, y)
    >>> report.geometric.round(6)
    array([1., 1., 4.])
    >>> round(report.width, 6)
    1.0
    """
    check_is_fitted(model)
    if hasattr(model, "margins"):  # a kernel machine has |w| in its feature space
        found = model.margins(X, y)
        return MarginReport(found.functional, found.geometric, float(np.max(model.norms_)))
    if not hasattr(model, "coef_") or not hasattr(model, "classes_"):
        raise TypeError(
            "margins: model must be an SVC or NuSVC of maxmargin, or a linear classifier with "
            f"coef_, got {class_of(model)}."
        )
    return _of_linear(model, X, column_or_1d(y))


def _of_linear(model, X, y):
    check_consistent_length(X, y)
    unknown = y[~np.isin(y, model.classes_)].tolist()
    if unknown:
        raise ValueError(f"margins: y holds the label {unknown[0]!r}, which was not in the fit.")
    decisions = model.decision_function(X)
    decisions = decisions.reshape(len(decisions), -1)
    positive = model.classes_[1:] if decisions.shape[1] == 1 else model.classes_
    functional = np.where(y[:, None] == positive, decisions, -decisions)
    norms = np.linalg.norm(np.atleast_2d(arrays.dense(model.coef_)), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        geometric = np.where(norms > 0, functional / norms, np.inf)
    return MarginReport(functional.min(axis=1), geometric.min(axis=1), float(norms.max()))
