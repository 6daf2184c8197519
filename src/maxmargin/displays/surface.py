"""Decision values over the plane of two features: the grid, and where a value is taken.

Nothing here draws. Invariant: the grid reaches around all points, even if they share a coordinate.
"""

import numpy as np
from scipy.spatial import KDTree
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from maxmargin import arrays

SURROUNDINGS = 0.08  # This share of the range of a feature is shown on either side of the points.


def checked_points(X, owner, n_features=2):
    """The points as an array of `n_features` columns."""
    points = arrays.dense(check_array(X, accept_sparse="csr", dtype=np.float64))
    if points.shape[1] != n_features:
        wanted = "1 feature" if n_features == 1 else f"{n_features} features"
        raise ValueError(f"{owner}: X must have {wanted}, got {points.shape[1]}.")
    return points


def checked_plane(X, y, classes, owner):
    """The points as an array of two columns, and their labels."""
    points = checked_points(X, owner)
    if y is None:
        raise TypeError(f"{owner}: y is None, and the points of a classifier need their labels.")
    check_consistent_length(X, y)
    y = column_or_1d(y)
    unknown = y[~np.isin(y, classes)].tolist()
    if unknown:
        raise ValueError(f"{owner}: y holds the label {unknown[0]!r}, which was not in the fit.")
    return points, y


def grid_around(points, resolution, eps=None):
    """Two arrays of shape (resolution, resolution): the first feature and the second."""
    return np.meshgrid(*sides_around(points, resolution, eps).T)


def sides_around(points, resolution, eps=None):
    """A column of `resolution` numbers per feature, from below the points to above them."""
    low, high = points.min(axis=0), points.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    beyond = SURROUNDINGS * spread if eps is None else float(eps)
    return np.linspace(low - beyond, high + beyond, resolution)


def grid_rows(X, *features):
    """The points of a grid as rows, in a data frame if X is one, because a fit keeps its names."""
    columns = [feature.ravel() for feature in features]
    if hasattr(X, "columns"):
        return type(X)(dict(zip(X.columns, columns, strict=True)))
    return np.column_stack(columns)


def refined(xx0, xx1, labels, ask):
    """The grid with one more place between every two neighbours, and its labels: those of the
    neighbours where they agree, and elsewhere `ask` of the coordinates."""
    xx0, xx1 = (_between(xx, lambda one, other: (one + other) / 2) for xx in (xx0, xx1))
    labels, highest = _between(labels, np.minimum), _between(labels, np.maximum)
    differ = labels != highest
    if differ.any():
        labels[differ] = ask(xx0[differ], xx1[differ])
    return xx0, xx1, labels


def _between(values, combine):
    """The values of a grid, with `combine` of the values between every two neighbours."""
    n, m = values.shape
    finer = np.empty((2 * n - 1, 2 * m - 1), dtype=values.dtype)
    finer[::2, ::2] = values
    finer[1::2, ::2] = combine(values[:-1], values[1:])
    finer[:, 1::2] = combine(finer[:, :-2:2], finer[:, 2::2])
    return finer


def nearest_on_level(points, xx0, xx1, values, level):
    """The nearest place to every point where the value is `level` in the grid; NaN if nowhere.

    Edges of the grid cross the level at these places, which are off by half a cell at most.
    """
    grid, above = np.stack([xx0, xx1], axis=-1), values - level
    places = np.concatenate([_crossings(grid, above), _crossings(grid.swapaxes(0, 1), above.T)])
    if not len(places):
        return np.full(points.shape, np.nan)
    return places[KDTree(places).query(points)[1]]


def _crossings(grid, above):
    """The places where `above` changes its sign between neighbours of the first axis."""
    start, end = above[:-1], above[1:]
    changes = (start > 0) != (end > 0)
    share = (start[changes] / (start - end)[changes])[:, None]
    return (1 - share) * grid[:-1][changes] + share * grid[1:][changes]
