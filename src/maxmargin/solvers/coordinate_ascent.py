"""Coordinate ascent: the idea behind SMO, and why SMO needs two coordinates.

To maximise a concave function, maximise it along one coordinate, then along the next, and go round
until nothing changes (`maximise_quadratic`). On the SVM's dual this gets nowhere: sum_i alpha_i y_i
= 0 fixes every multiplier once the others are given (`room_alone`).

The way out is to solve the constraint for one of them. With a reference point r,

    y_r alpha_r = - sum of y_i alpha_i over the others,

the other multipliers are coordinates of a function without that constraint, and a sweep of
coordinate ascent over them is well defined. The reference may run into its own box; the next sweep
then takes another one. Choosing the reference anew for every coordinate would be SMO.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.solvers.smo_pairs import argmax
from maxmargin.solvers.textbook import TextbookSolver


def maximise_quadratic(A, linear, start, max_sweeps=1000, tol=1e-10):
    """Maximise linear.x - 1/2 x'Ax, A positive definite, one coordinate after the other.

    It returns the path: a row for the start and for every single step, none of which goes down.

    Examples
    --------
    >>> from maxmargin.solvers.coordinate_ascent import maximise_quadratic
    >>> path = maximise_quadratic([[2.0, 1.0], [1.0, 2.0]], [3.0, 3.0], start=[0.0, 0.0])
    >>> path[:3]
    array([[0.  , 0.  ],
           [1.5 , 0.  ],
           [1.5 , 0.75]])
    >>> path[-1].round(6)
    array([1., 1.])
    """
    A, linear, x = (np.array(values, dtype=np.float64) for values in (A, linear, start))
    path = [x.copy()]
    for _ in range(max_sweeps):
        before = x.copy()
        for i in range(len(x)):
            x[i] += (linear[i] - A[i] @ x) / A[i, i]  # the derivative along i is zero there
            path.append(x.copy())
        if np.abs(x - before).max() <= tol:
            break
    return np.array(path)


def room_alone(problem, coef, i):
    """The interval in which c_i may lie while all other variables stay: a single number.

    Its group's sum is fixed, so c_i = total - (sum of the others), whatever the box allows.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.engines import engine_of
    >>> from maxmargin.kernels import Linear
    >>> from maxmargin.problems import c_svc
    >>> from maxmargin.solvers.coordinate_ascent import room_alone
    >>> matrix = engine_of("plain").matrix(Linear(), np.array([[0.0], [1.0]]))
    >>> problem = c_svc(matrix, np.array([-1.0, 1.0]), np.ones(2))
    >>> room_alone(problem, np.array([-0.5, 0.5]), 0)
    (-0.5, -0.5)
    """
    others = (problem.groups == problem.groups[i]) & (np.arange(problem.n) != i)
    only = float(problem.totals[problem.groups[i]] - coef[others].sum())
    return only, only


@dataclass
class CoordinateAscent(TextbookSolver):
    """Sweeps over all multipliers but one, which keeps the sum at zero."""

    def run(self, multipliers):
        while not multipliers.converged():
            reference = self.reference(multipliers)
            moved = sum(multipliers.step(reference, i, "sweep") for i in range(multipliers.n))
            multipliers.end_round()
            if not moved:
                return "stalled"  # only rounding is left
        return "converged"

    def reference(self, multipliers):
        """The point that can give most, so that some coordinate is sure to gain.

        The candidates are the two points of the most violating pair; the one with more room wins.
        """
        i = argmax(-multipliers.E, multipliers.can_rise())
        j = argmax(multipliers.E, multipliers.can_fall())
        room = np.minimum(multipliers.alpha, multipliers.C - multipliers.alpha)
        return i if room[i] >= room[j] else j
