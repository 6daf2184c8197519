"""How each SVM fills in the one dual problem (`problems/dual.py`), side by side."""

import numpy as np

from maxmargin.problems.dual import DualProblem


def c_svc(kernel, X, y, C):
    """Soft margin classification: minimise 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)).

    With labels y_i = +-1 and c_i = y_i alpha_i the textbook dual, sum alpha - 1/2 alpha'Q alpha
    over 0 <= alpha <= C and y.alpha = 0, has p = y, a box on the label's side of zero, and one
    group that sums to zero. C_i = inf asks for the hard margin.
    """
    n = len(y)
    bound = y * C
    return DualProblem(
        kernel=kernel,
        X=X,
        linear=y.astype(np.float64),
        lower=np.minimum(bound, 0.0),
        upper=np.maximum(bound, 0.0),
        epsilon=np.zeros(n),
        groups=np.zeros(n, dtype=np.int64),
        totals=np.zeros(1),
        start=np.zeros(n),
    )


def nearest_hull_points(kernel, X, y):
    """The hard margin seen from the other side: the two nearest points of the classes' hulls.

    Each class is a group whose variables are the weights of a convex combination. The problem is
    always feasible and bounded, and the distance it finds is zero exactly when no separator exists.
    Scaled by 2 / distance^2, its solution is that of the hard margin.
    """
    n = len(y)
    negative = (y < 0).astype(np.int64)
    start = y / np.where(negative, negative.sum(), n - negative.sum())
    return DualProblem(
        kernel=kernel,
        X=X,
        linear=np.zeros(n),
        lower=np.where(negative, -1.0, 0.0),
        upper=np.where(negative, 0.0, 1.0),
        epsilon=np.zeros(n),
        groups=negative,
        totals=np.array([1.0, -1.0]),
        start=start,
    )
