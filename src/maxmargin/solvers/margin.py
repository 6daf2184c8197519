"""Problems whose scale is part of the answer: the nu classifiers and the hard margin.

Their solution is divided by the margin rho that it finds, so a tolerance means little before rho is
known. They are solved with any solver, then more tightly if need be, until the violation is tol in
units of rho.
"""

from dataclasses import replace

import numpy as np

from maxmargin.errors import NotSeparableError
from maxmargin.kernels.pairs import Pairs, Points
from maxmargin.problems.reductions import hard_margin, margin_of, model_of_hulls, rescaled

# The margin, relative to the size of the data in feature space, below which float64 cannot tell
# a separator from none.
NARROWEST = 1e-6
NU_LEAST = 0.01  # of a nu-SVC's tolerance; where the reduced hulls meet rho is noise: stop there,
SMALL = 512  # unless there are no more points than these
DOUBTFUL = 10  # times the violation that is left: a smaller rho has not one digit,
LEAST_IN_DOUBT = 1e-3  # of a tolerance: what is then tried, where there are more than few points
AT_ONCE = 0.01  # of a tolerance, to the next: before the end, rho is larger than it will be


def solve_nu(solver, problem, engine, budget, start=None):
    """Solve a nu-SVC to LIBSVM's tolerance, and to tol in units of the margin if that is less.

    The problem is in LIBSVM's units, in which alpha is at most the weight of its row. It is solved
    as that of the nearest points of two hulls, whose weights sum to one.
    """
    total, heaviest = float(problem.totals[0]), float(np.max(problem.upper - problem.lower))
    hulls, size = problem.scaled(1.0 / total), _size(problem)
    start = None if start is None else start / total
    tol = solver.tol * heaviest / total * min(1.0, size)  # rho is at most the size of the data
    least = NU_LEAST * tol
    if problem.n <= SMALL:
        least = min(least, _narrowest(size))
    solution = _solve_to_margin(solver, hulls, engine, budget, start, tol, size, least)
    if solution.stopped in ("converged", "stalled") and is_doubtful(margin_of(solution), solution):
        solution = replace(solution, stopped="no_margin")  # the reduced hulls meet: rho is noise
    return _of_problem(problem, hulls, rescaled(solution, total), solution.coef)


def _of_problem(problem, hulls, solution, coef):
    """What is at a bound of the hulls is at the problem's own, to the last digit."""
    at_lower, at_upper = coef <= hulls.lower, coef >= hulls.upper
    moved = np.where(at_lower, problem.lower, np.where(at_upper, problem.upper, solution.coef))
    return replace(solution, coef=np.clip(moved, problem.lower, problem.upper))


def solve_hard_margin(solver, problem, engine, budget, start=None):
    """Solve a C-SVC whose C is infinite; `problem.linear` holds the labels.

    It begins from nothing: coefficients of a separator are no weights of hulls.
    """
    hulls = hard_margin(problem.kernel, problem.X, problem.linear)
    size = _size(problem)
    tol = solver.tol * size
    solution = _solve_to_margin(solver, hulls, engine, budget, None, tol, size, 0.0)
    finished = solution.stopped in ("converged", "stalled")
    if finished and margin_of(solution) <= _narrowest(size):
        raise NotSeparableError(
            "C=inf asks for a hard margin, but the classes cannot be separated: as far as tol can "
            "tell, their convex hulls in feature space meet. Use a finite C, or another kernel."
        )
    return model_of_hulls(solution)  # a solution of the C-SVC itself


def _solve_to_margin(solver, problem, engine, budget, start, tol, size, least):
    """Find the nearest points of two (reduced) hulls to tol in units of their margin.

    No tolerance is below `least`. Only what is found in the end need be verified.
    """
    n_iter, verified, expansion = 0, False, None
    clearest = max(least, _narrowest(size) if problem.n <= SMALL else LEAST_IN_DOUBT * tol)
    while True:
        within = budget.after(n_iter)
        fitting = solver.with_tol(tol) if verified else solver.roughly(tol)
        solution = fitting.solve(problem, engine, within, start, expansion)
        n_iter += solution.n_iter
        rho, start, expansion = margin_of(solution), solution.coef, solution.expansion
        if solution.stopped == "stalled" and not (verified or solution.recomputed):
            verified = True  # with float64, where float32 found no step that helps
        elif solution.stopped != "converged":
            return replace(solution, n_iter=n_iter)
        elif is_doubtful(rho, solution) and tol > clearest:
            tol = max(AT_ONCE * tol, clearest)
        elif rho > _narrowest(size) and tol > solver.tol * rho and tol > least:
            tol = max(0.9 * solver.tol * rho, AT_ONCE * tol, least)
        elif verified or solution.recomputed:
            return replace(solution, n_iter=n_iter)
        else:
            verified = True


def is_doubtful(rho, solution):
    """Whether rho may as well be zero, or be below it, as far as the violation tells."""
    return abs(rho) <= DOUBTFUL * solution.violation


def _narrowest(size):
    return 0.5 * NARROWEST**2 * size


@np.errstate(over="ignore", invalid="ignore")  # the solver says what overflowed
def _size(problem):
    """The largest squared distance in feature space from the first point."""
    kernel, points = problem.kernel, Points(problem.X)
    to_first = kernel.formula(Pairs(points, points[:1]))[:, 0]
    own = kernel.diagonal_formula(points)
    return max(float(np.max(own + own[0] - 2 * to_first, initial=0.0)), 1e-280)
