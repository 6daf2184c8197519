"""The solution of a problem without some of its points, beginning from the solution with them.

Cross-validation solves almost the same problem again and again. The points left out keep their rows
with an empty box, so the gradient that the solver carries along holds their decision values at the
end. Of the kernel only the rows of the coefficients that change are needed to begin.
"""

import numpy as np

from maxmargin.errors import KernelError
from maxmargin.solvers.base import row_bytes

ROUGH_TOL = 1e-2  # decision values to two digits are all that a calibration can use


def leave_out(solver, problem, engine, budget, solution):
    """Solve `problem`, in which the boxes of the points left out are empty.

    `solution` is that of the same problem with those points.
    """
    rough, expansion = solver.roughly(max(solver.tol, ROUGH_TOL)), None
    start = problem.nearest_feasible(solution.coef)
    if rough.takes_expansion(problem):
        expansion = _expansion_at(start, rough, problem, engine, solution)
    return rough.solve(problem, engine, budget.in_silence(), start, expansion)


def _expansion_at(start, solver, problem, engine, solution):
    """f = Kc at the start, from that of the solution; None beyond the range of float32, where the
    solver computes it."""
    changed = np.flatnonzero(start != solution.coef)
    room = row_bytes(solver.cache_bytes)
    matrix = engine.kernel_matrix(problem.kernel, problem.X, np.float32, room)
    steps = (solution.coef - start)[changed]
    try:
        return matrix.subtract(solution.expansion, changed, steps)
    except KernelError:
        return None
