"""Problems whose scale is part of the answer: the nu classifiers and the hard margin.

Their solution is divided by the margin rho that it finds, so a tolerance means little before rho is
known. They are solved with any solver, and again with a smaller tolerance if need be, until the
violation is tol in units of rho.
"""

from dataclasses import replace

import numpy as np

from maxmargin.errors import NotSeparableError
from maxmargin.problems.reductions import hard_margin, margin_of, model_of_hulls, rescaled

# Below this margin, relative to the size of the data in feature space, float64 cannot tell whether
# there is a separator.
NARROWEST = 1e-6
SMALLEST_SIZE = 1e-280  # Points that are nearer than this are equal.
# Where the reduced hulls of a nu-SVC meet, rho is noise, and no smaller share of its tolerance is
# tried.
NU_LEAST = 0.01
SMALL = 512  # With no more points than these, even the last digits are worth their steps.
DOUBTFUL = 10  # A rho of less than this many times the violation that is left has not one digit.
# For a doubtful rho this share of a tolerance is the least that is tried with more points.
LEAST_IN_DOUBT = 1e-3
# A tolerance is no less than this share of the last one, because rho is still falling.
AT_ONCE = 0.01


def solve_nu(solver, problem, budget, start=None):
    """Solve a nu-SVC to LIBSVM's tolerance, and to tol in units of the margin if that is less.

    The problem is in LIBSVM's units, in which alpha is at most the weight of its row. It is solved
    as the search for the nearest points of two hulls, whose weights sum to one.
    """
    total, heaviest = float(problem.totals[0]), float(np.max(problem.upper - problem.lower))
    hulls, size = problem.scaled(1.0 / total), _size(problem)
    start = None if start is None else rescaled(start, 1.0 / total)
    tol = solver.tol * heaviest / total * min(1.0, size)  # rho is at most the size of the data
    least = NU_LEAST * tol
    if problem.n <= SMALL:
        least = min(least, _narrowest(size))
    solution = _solve_to_margin(solver, hulls, budget, start, tol, size, least)
    if solution.stopped in ("converged", "stalled") and is_doubtful(margin_of(solution), solution):
        solution = _from_data(hulls, solution)
        if is_doubtful(margin_of(solution), solution):
            solution = replace(solution, stopped="no_margin")  # the hulls meet: rho is noise
    return _of_problem(problem, hulls, rescaled(solution, total), solution.coef)


def _of_problem(problem, hulls, solution, coef):
    """The solution of the problem; what is at a bound of the hulls is exactly at its own bound."""
    at_lower, at_upper = coef <= hulls.lower, coef >= hulls.upper
    moved = np.where(at_lower, problem.lower, np.where(at_upper, problem.upper, solution.coef))
    return replace(solution, coef=np.clip(moved, problem.lower, problem.upper))


def solve_hard_margin(solver, problem, budget, start=None):
    """Solve a C-SVC whose C is infinite; `problem.linear` holds the labels.

    It does not use `start`, because coefficients of a separator are no weights of hulls.
    """
    hulls = hard_margin(problem.matrix, problem.linear)
    size = _size(problem)
    tol = solver.tol * size
    solution = _solve_to_margin(solver, hulls, budget, None, tol, size, 0.0)
    finished = solution.stopped in ("converged", "stalled")
    if finished and margin_of(solution) <= _narrowest(size):
        raise NotSeparableError(
            "C=inf asks for a hard margin, but the classes cannot be separated: as far as tol can "
            "tell, their convex hulls in feature space meet. Use a finite C, or another kernel."
        )
    return model_of_hulls(solution)


def _solve_to_margin(solver, problem, budget, start, tol, size, least):
    """Find the nearest points of two (reduced) hulls to tol in units of their margin.

    No tolerance is below `least`.
    """
    n_iter, goal = 0, solver.tol
    clearest = max(least, _narrowest(size) if problem.n <= SMALL else LEAST_IN_DOUBT * tol)
    while True:
        found = solver.with_tol(tol).solve(problem, budget.after(n_iter), start)
        n_iter, start, rho = n_iter + found.n_iter, found, margin_of(found)
        is_stalled, in_doubt = found.stopped == "stalled", is_doubtful(rho, found)
        precise = solver.precise_for(problem)
        if solver != precise and (is_stalled or (in_doubt and tol <= clearest)):
            solver, start = precise, _from_data(problem, found)
        elif not found.converged:
            return replace(found, n_iter=n_iter)
        elif in_doubt and tol > clearest:
            tol = max(AT_ONCE * tol, clearest)
        elif rho > _narrowest(size) and tol > goal * rho and tol > least:
            tol = max(0.9 * goal * rho, AT_ONCE * tol, least)
        else:
            return replace(found, n_iter=n_iter)


def _from_data(problem, solution):
    """The solution with Kc and the biases computed anew, where rounding may have misled it."""
    f = problem.expansion(solution.coef)
    return replace(solution, expansion=f, bias=problem.biases(solution.coef, f))


def is_doubtful(rho, solution):
    """Whether the violation is so large that rho may as well be zero or negative."""
    return abs(rho) <= DOUBTFUL * solution.violation


def _narrowest(size):
    return 0.5 * NARROWEST**2 * size


@np.errstate(over="ignore", invalid="ignore")  # the solver says what overflowed
def _size(problem):
    """The largest squared distance in feature space from the first point."""
    own = problem.matrix.diagonal()
    to_first = problem.matrix.expansion(np.zeros(1, dtype=np.int64), np.ones(1))
    return max(float(np.max(own + own[0] - 2 * to_first, initial=0.0)), SMALLEST_SIZE)
