"""Small simulated data sets, each with a lesson.

Every `make_...` draws points X, float64 of shape (n_samples, 2) unless it says otherwise, and
labels y of -1 and +1, as in the derivations. They are in random order, half of each (one more of +1
when n_samples is odd). Invariant: the same arguments give the same data, also when `random_state`
is None; another `random_state` gives a fresh draw from the same distribution.
"""

from collections.abc import Mapping

import numpy as np

from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    FINITE_POSITIVE,
    FLAG,
    Constraint,
    is_real,
    is_whole,
)
from maxmargin.estimators.validation import seed_of

# Neighbours belong to different classes, and no straight line comes near to separating them.
CENTRES = {-1: [(-2.0, 0.5), (1.0, -0.5)], 1: [(-0.5, -0.5), (2.5, 0.5)]}

CONSTRAINTS = {
    "n_samples": Constraint("a whole number of at least 2", lambda v: is_whole(v) and v >= 2),
    "n_features": AT_LEAST_ONE,
    "n_outliers": AT_LEAST_ONE,
    "noise": AT_LEAST_ZERO,
    "factor": Constraint("a number in (0, 1)", lambda v: is_real(v) and 0 < v < 1),
    "margin": FINITE_POSITIVE,
    "depth": Constraint("a number", lambda v: is_real(v) and np.isfinite(v)),
    "return_separator": FLAG,
    "centres": Constraint(
        "a dict from each label to its centres, all with the same number of coordinates",
        lambda v: isinstance(v, Mapping) and _are_centres(v),
    ),
}


def make_gaussian_mixture(n_samples=200, *, centres=None, noise=0.5, random_state=None):
    """Classes that are mixtures of round Gaussian clouds.

    Parameters
    ----------
    n_samples : int, default=200
    centres : dict, optional
        The centres of the clouds of each label, {label: array of shape (k, d)}; there may be more
        than two labels. By default -1 and +1 have two clouds each, which no line separates.
    noise : float, default=0.5
        The standard deviation of the clouds in every direction.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    X : array of shape (n_samples, d)
    y : array of shape (n_samples,)

    Examples
    --------
    >>> from maxmargin.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(6, centres={-1: [(0, 0)], 1: [(5, 5), (9, 9)]}, noise=0)
    >>> X[y == -1]
    array([[0., 0.],
           [0., 0.],
           [0., 0.]])
    """
    centres = CENTRES if centres is None else centres
    _check("make_gaussian_mixture", n_samples=n_samples, centres=centres, noise=noise)
    rng = _generator(random_state)
    classes = rng.permutation(np.arange(1, n_samples + 1) % len(centres))
    clouds = [np.asarray(cloud, dtype=np.float64) for cloud in centres.values()]
    X = np.empty((n_samples, clouds[0].shape[1]))
    for k, cloud in enumerate(clouds):
        X[classes == k] = rng.choice(cloud, size=np.sum(classes == k))
    return _noisy(X, noise, rng), np.array(list(centres))[classes]


def make_moons(n_samples=200, *, noise=0.2, random_state=None):
    """Two interleaving half circles, of which -1 opens downwards and +1 upwards.

    Parameters
    ----------
    n_samples : int, default=200
    noise : float, default=0.2
        The standard deviation of what is added to every coordinate.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)

    Examples
    --------
    >>> from maxmargin.datasets import make_moons
    >>> X, y = make_moons(100, noise=0.0)
    >>> bool((X[y == -1, 1] >= 0).all()), bool((X[y == 1, 1] <= 0.5).all())
    (True, True)
    """
    _check("make_moons", n_samples=n_samples, noise=noise)
    rng = _generator(random_state)
    y, angle = _labels(n_samples, rng), rng.uniform(0, np.pi, n_samples)
    middle = np.array([0.5, 0.25])  # half a turn about it takes the upper moon to the lower one
    X = middle + y[:, None] * (middle - _on_circle(angle))
    return _noisy(X, noise, rng), y


def make_circles(n_samples=200, *, noise=0.1, factor=0.5, random_state=None):
    """Two circles about the origin: +1 has radius `factor`, and -1, outside, has radius 1.

    Parameters
    ----------
    n_samples : int, default=200
    noise : float, default=0.1
        The standard deviation of what is added to every coordinate.
    factor : float in (0, 1), default=0.5
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.datasets import make_circles
    >>> X, y = make_circles(4, noise=0.0)
    >>> np.linalg.norm(X, axis=1)[np.argsort(y)].round(3)
    array([1. , 1. , 0.5, 0.5])
    """
    _check("make_circles", n_samples=n_samples, noise=noise, factor=factor)
    rng = _generator(random_state)
    y, angle = _labels(n_samples, rng), rng.uniform(0, 2 * np.pi, n_samples)
    X = np.where(y > 0, factor, 1.0)[:, None] * _on_circle(angle)
    return _noisy(X, noise, rng), y


def make_xnor(n_samples=200, *, noise=0.2, random_state=None):
    """Four clouds at (+-1, +-1): +1 where the signs agree, -1 where they differ.

    Parameters
    ----------
    n_samples : int, default=200
    noise : float, default=0.2
        The standard deviation of the clouds in every direction.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)

    Examples
    --------
    >>> from maxmargin.datasets import make_xnor
    >>> X, y = make_xnor(noise=0.0)
    >>> bool((X[:, 0] * X[:, 1] == y).all())
    True
    """
    _check("make_xnor", n_samples=n_samples, noise=noise)
    rng = _generator(random_state)
    y, first = _labels(n_samples, rng), _labels(n_samples, rng)
    return _noisy(np.column_stack([first, first * y]), noise, rng), y


def make_separable(
    n_samples=100, n_features=2, *, margin=0.5, random_state=None, return_separator=False
):
    """Two classes on the two sides of a hyperplane, with no point nearer to it than `margin`.

    Parameters
    ----------
    n_samples : int, default=100
    n_features : int, default=2
    margin : float above 0, default=0.5
        y (w.x + b) is at least this, up to rounding, with |w| = 1.
    random_state : int, Generator, RandomState or None, default=None
    return_separator : bool, default=False
        Whether to return w and b as well.

    Returns
    -------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    w, b : array of shape (n_features,) and float, if asked for

    Examples
    --------
    >>> from maxmargin.datasets import make_separable
    >>> X, y, w, b = make_separable(margin=1.0, return_separator=True)
    >>> bool((y * (X @ w + b)).min() > 0.999)
    True
    """
    _check(
        "make_separable", n_samples=n_samples, n_features=n_features, margin=margin,
        return_separator=return_separator,
    )  # fmt: skip
    rng = _generator(random_state)
    y = _labels(n_samples, rng)
    w, b = rng.standard_normal(n_features), float(rng.standard_normal())
    w /= np.linalg.norm(w)
    distances = margin + np.abs(rng.standard_normal(n_samples))
    X = _at(y * distances, rng.standard_normal((n_samples, n_features)), w, b)
    return (X, y, w, b) if return_separator else (X, y)


def make_outlier(n_samples=100, n_outliers=1, *, margin=1.0, depth=0.9, random_state=None):
    """Separable data in which an outlier moves the hard-margin separator.

    The last `n_outliers` rows are the outliers, of label -1 and in front of the middle of the other
    class; the rows before them are separable with `margin`. A hard margin obeys the outliers; a
    soft one gives them up, which is what slack is for.

    Parameters
    ----------
    n_samples : int, default=100
        The number of rows, outliers included.
    n_outliers : int, default=1
    margin : float above 0, default=1.0
        The margin of the other points.
    depth : float, default=0.9
        How far across the gap the outliers are: 0 is the margin of their own class and 1 that of
        the other. Below 1 a hard margin exists; well above 1 it does not.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.datasets import make_outlier
    >>> X, y = make_outlier()
    >>> hard, soft = (SVC(kernel="linear", C=C).fit(X, y) for C in (float("inf"), 0.1))
    >>> int((hard.predict(X) != y).sum()), (soft.predict(X) != y).nonzero()[0]
    (0, array([99]))
    """
    _check("make_outlier", n_samples=n_samples, n_outliers=n_outliers, margin=margin, depth=depth)
    if n_samples < n_outliers + 2:
        raise ValueError(
            f"make_outlier: n_samples must be at least n_outliers + 2 = {n_outliers + 2}, "
            f"got {n_samples}."
        )
    rng = _generator(random_state)
    X, y, w, b = make_separable(
        n_samples - n_outliers, margin=margin, random_state=rng, return_separator=True
    )
    middle = X[y > 0].mean(axis=0)
    scatter = 0.1 * rng.standard_normal((n_outliers, 2))
    outliers = _at(np.full(n_outliers, margin * (2 * depth - 1)), middle + scatter, w, b)
    return np.vstack([X, outliers]), np.append(y, np.full(n_outliers, -1))


def _check(maker, **arguments):
    for name, value in arguments.items():
        constraint = CONSTRAINTS[name]
        if not constraint.holds(value):
            raise ValueError(f"{maker}: {name} must be {constraint.wanted}, got {value!r}.")


def _are_centres(centres):
    try:
        clouds = [np.asarray(cloud, dtype=np.float64) for cloud in centres.values()]
    except (TypeError, ValueError):
        return False
    shaped = all(cloud.ndim == 2 and cloud.size and np.isfinite(cloud).all() for cloud in clouds)
    return shaped and len({cloud.shape[1] for cloud in clouds}) == 1


def _generator(random_state):
    return np.random.default_rng(seed_of(random_state))


def _labels(n, rng):
    return rng.permutation(np.where(np.arange(n) % 2 == 0, 1, -1))


def _on_circle(angle):
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _noisy(X, noise, rng):
    return X + noise * rng.standard_normal(X.shape)


def _at(decisions, points, w, b):
    """The points, moved along the unit vector w until w.x + b equals `decisions`."""
    return points + np.outer(decisions - b - points @ w, w)
