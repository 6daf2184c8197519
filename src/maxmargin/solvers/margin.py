"""Problems whose scale is part of the answer: the nu classifiers and the hard margin.

Their solution is divided by the margin rho that it finds, so a tolerance means little before rho is
known. They are solved with any solver, then more tightly if need be, until the violation is tol in
units of rho.
"""

from dataclasses import replace

import numpy as np

from maxmargin.errors import NotSeparableError
from maxmargin.problems.reductions import hard_margin, margin_of, model_of_hulls

# The margin, relative to the size of the data in feature space, below which float64 cannot tell
# a separator from none.
NARROWEST = 1e-5
NU_ROUNDS = 3  # where nu is so small that the reduced hulls meet, rho is noise: do not chase it


def solve_nu(solver, problem, engine, budget, start=None):
    """Solve a nu-SVC to LIBSVM's tolerance, and to tol in units of the margin if that is less."""
    # LIBSVM's alpha is at most one; here it is at most the bound of the reduced hulls.
    unit = float(np.max(problem.upper - problem.lower))
    return _solve_to_margin(solver, problem, engine, budget, start, solver.tol * unit, NU_ROUNDS)


def solve_hard_margin(solver, problem, engine, budget, start=None):
    """Solve a C-SVC whose C is infinite; `problem.linear` holds the labels."""
    hulls = hard_margin(problem.kernel, problem.X, problem.linear)
    size = _size(problem)
    solution = _solve_to_margin(solver, hulls, engine, budget, None, solver.tol * size, np.inf)
    if solution.scale == 1.0 and solution.stopped in ("converged", "stalled"):
        raise NotSeparableError(
            "C=inf asks for a hard margin, but the classes cannot be separated: their convex "
            "hulls in feature space meet. Use a finite C, or another kernel."
        )
    return replace(model_of_hulls(solution), scale=1.0)


def _solve_to_margin(solver, problem, engine, budget, start, tol, rounds):
    """Find the nearest points of two (reduced) hulls, and scale them to margins of one.

    Without any margin, because the hulls meet, the solution stays as it is.
    """
    smallest = 0.5 * NARROWEST**2 * _size(problem)
    n_iter = 0
    while True:
        within = replace(budget, max_iter=budget.max_iter - n_iter)
        solution = type(solver)(tol, solver.cache_bytes).solve(problem, engine, within, start)
        n_iter += solution.n_iter
        rounds -= 1
        rho = margin_of(solution)
        done = rho <= smallest or tol <= solver.tol * rho or rounds <= 0
        if done or solution.stopped != "converged":
            scale = 1.0 / rho if rho > smallest else 1.0
            return _scaled(replace(solution, n_iter=n_iter), scale)
        tol, start = 0.1 * tol, solution.coef


def _scaled(solution, scale):
    return replace(
        solution,
        coef=scale * solution.coef,
        bias=scale * solution.bias,
        expansion=scale * solution.expansion,
        violation=scale * solution.violation,
        scale=scale,
    )


def _size(problem):
    return max(float(np.max(problem.kernel.diagonal(problem.X), initial=0.0)), 1e-280)
