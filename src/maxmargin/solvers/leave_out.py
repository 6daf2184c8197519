"""The solution of a problem without some of its points, beginning from the solution with them.

Cross-validation solves almost the same problem again and again. The points left out keep their rows
with an empty box, so the gradient that the solver carries along holds their decision values at the
end. To begin, only the kernel rows of the coefficients that change are needed.
"""

import numpy as np

from maxmargin.errors import KernelError
from maxmargin.solvers.base import Solution

ROUGH_TOL = 1e-2  # Decision values to two digits are all that a calibration can use.


def leave_out(solver, problem, budget, solution):
    """Solve `problem`, in which the boxes of the points left out are empty.

    `solution` solves the problem with those points.
    """
    rough = solver.with_tol(max(solver.tol, ROUGH_TOL))
    coef = problem.nearest_feasible(solution.coef)
    f = _expansion_at(coef, problem, solution) if rough.takes_expansion(problem) else None
    return rough.solve(problem, budget.in_silence(), Solution.at(coef, f))


def _expansion_at(coef, problem, solution):
    """Kc, from that of the solution; None beyond the range of float32, where a solver makes it."""
    changed = np.flatnonzero(coef != solution.coef)
    steps = (solution.coef - coef)[changed]
    try:
        return problem.matrix.subtract(solution.expansion, changed, steps, np.float32)
    except KernelError:
        return None
