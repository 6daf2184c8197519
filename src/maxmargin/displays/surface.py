"""Decision values over the plane of two features: the grid, and where a value is taken.

Nothing here draws. Invariant: the grid reaches around all points, even if they share a coordinate.
"""

import numpy as np
from scipy.spatial import KDTree
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from maxmargin import arrays

SURROUNDINGS = 0.08  # of the range of a feature, shown on either side of the points


def checked_points(X, owner):
    """The points as an array of two columns."""
    points = arrays.dense(check_array(X, accept_sparse="csr", dtype=np.float64))
    if points.shape[1] != 2:
        raise ValueError(f"{owner}: X must have 2 features, got {points.shape[1]}.")
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
    low, high = points.min(axis=0), points.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    beyond = SURROUNDINGS * spread if eps is None else np.full(2, float(eps))
    sides = np.linspace(low - beyond, high + beyond, resolution)
    return np.meshgrid(sides[:, 0], sides[:, 1])


def grid_rows(xx0, xx1, X):
    """The points of the grid as rows, in a data frame if X is one: a fit remembers its names."""
    columns = xx0.ravel(), xx1.ravel()
    if hasattr(X, "columns"):
        return type(X)(dict(zip(X.columns, columns, strict=True)))
    return np.column_stack(columns)


def nearest_on_level(points, xx0, xx1, values, level):
    """For every point the nearest place in the grid where the value is `level`; NaN if nowhere.

    Places are where an edge of the grid crosses the level, so they are off by half a cell at most.
    """
    grid, above = np.stack([xx0, xx1], axis=-1), values - level
    places = np.concatenate([_crossings(grid, above), _crossings(grid.swapaxes(0, 1), above.T)])
    if not len(places):
        return np.full(points.shape, np.nan)
    return places[KDTree(places).query(points)[1]]


def _crossings(grid, above):
    """Where `above` changes its sign between neighbours of the first axis."""
    start, end = above[:-1], above[1:]
    changes = (start > 0) != (end > 0)
    share = (start[changes] / (start - end)[changes])[:, None]
    return (1 - share) * grid[:-1][changes] + share * grid[1:][changes]
