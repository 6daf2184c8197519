"""The hard margin: the nearest points of two convex hulls, or the proof that the hulls meet."""

from dataclasses import replace

import numpy as np

from maxmargin.errors import NotSeparableError
from maxmargin.problems.reductions import nearest_hull_points

# The margin, relative to the size of the data in feature space, below which float64 cannot tell
# a separator from none.
NARROWEST = 1e-5


def solve_hard_margin(problem, solver, engine, budget):
    """Solve a C-SVC whose C is infinite, with any solver of dual problems.

    `problem.linear` holds the labels. The hulls' problem is solved ever more tightly until its
    tolerance, seen from the margin's scale, is `solver.tol`.
    """
    hulls = nearest_hull_points(problem.kernel, problem.X, problem.linear)
    size = max(float(np.max(problem.kernel.diagonal(problem.X), initial=0.0)), 1e-280)
    tol, start, n_iter = solver.tol * size, None, 0
    while True:
        within = replace(budget, max_iter=budget.max_iter - n_iter)
        solution = type(solver)(tol, solver.cache_bytes).solve(hulls, engine, within, start)
        n_iter += solution.n_iter
        squared_distance = float(solution.coef @ solution.expansion)
        wanted = 0.5 * solver.tol * squared_distance
        if solution.stopped not in ("converged", "stalled"):
            break
        if squared_distance <= NARROWEST**2 * size:
            raise NotSeparableError(
                "C=inf asks for a hard margin, but the classes cannot be separated: their convex "
                "hulls in feature space meet. Use a finite C, or another kernel."
            )
        if tol <= wanted or solution.stopped == "stalled":
            break
        tol, start = min(wanted, 0.1 * tol), solution.coef
    return _rescaled(solution, squared_distance, n_iter)


def _rescaled(solution, squared_distance, n_iter):
    """From the hulls' solution to the separator with margins of one on either side."""
    scale = 2.0 / max(squared_distance, 1e-280)
    return replace(
        solution,
        coef=scale * solution.coef,
        expansion=scale * solution.expansion,
        bias=scale * np.mean(solution.bias, keepdims=True),
        violation=scale * solution.violation,
        n_iter=n_iter,
    )
