"""Some variables of a problem with their kernel matrix: what block SMO works on at a time."""

import numpy as np

from maxmargin.compiled import smo as compiled
from maxmargin.errors import OVERFLOW, KernelError

ROUNDING = 0.5 * float(np.finfo(np.float64).eps)  # of a gradient, which is in float64
QUIET = np.errstate(over="ignore", invalid="ignore")  # the engine says what overflowed


class Block:
    """Some variables with their kernel matrix; the members of a group lie side by side."""

    def __init__(self, problem, state, matrix, order):
        self.K = K = matrix.block(problem.row_of(order))
        self.order = order
        self.size = len(order)
        self.diagonal = np.ascontiguousarray(np.diagonal(K))
        self.coef, self.gradient = state.coef[order], state.gradient[order]
        self.up, self.low = state.up[order], state.low[order]
        self.lower, self.upper = problem.lower[order], problem.upper[order]
        self.epsilon = problem.epsilon[order]
        self.groups = problem.groups[order]
        self.starts = np.searchsorted(self.groups, np.arange(problem.n_groups + 1))
        self.largest = self._largest_entry(problem.kernel)
        self.smallest_bend = max(4 * float(np.finfo(K.dtype).eps) * self.largest, 1e-280)
        self.exact = False
        self.n_steps, self.strides = 0, True  # since the last stride, and whether to try another

    def _largest_entry(self, kernel):
        """The largest |K_ij|, which without Mercer's condition may stand anywhere."""
        if kernel.positive_semidefinite:
            return float(np.max(np.abs(self.diagonal), initial=0.0))
        return float(max(np.max(self.K, initial=0.0), -np.min(self.K, initial=0.0)))

    def run(self, stop, max_steps):
        """One compiled call: the steps taken, the violation left and the objective gained."""
        outcome = compiled.solve_block(
            self.K, self.diagonal, self.gradient, self.coef, self.lower, self.upper, self.epsilon,
            self.up, self.low, self.starts, float(stop), int(max_steps),
            self.smallest_bend, max(self.largest, self.smallest_bend),
        )  # fmt: skip
        self.exact = self.exact and outcome[0] == 0
        self.n_steps += outcome[0]
        return outcome

    def set_coef(self, coef):
        self.coef[:] = coef
        compiled.fill_offsets(self.coef, self.lower, self.upper, self.epsilon, self.up, self.low)

    def rounding(self):
        """The error of a difference of two gradients: that of the entries of K adds up like a
        random walk, and what they add up to is rounded itself, in every step."""
        sum_of_errors = walk(np.sqrt(np.abs(self.diagonal.astype(np.float64))), self.coef)
        return ROUNDING * max(sum_of_errors, 4.0 * float(np.max(np.abs(self.gradient))))

    def objective(self, problem):
        """The dual objective, for a block that is the whole problem."""
        linear = problem.linear[self.order]
        value = self.coef @ linear - self.epsilon @ np.abs(self.coef)
        return float(value - 0.5 * self.coef @ (linear - self.gradient))

    def refresh(self, problem):
        """Compute the gradient anew, for a block that is the whole problem; the violation."""
        compiled.balance(self.coef, self.lower, self.upper, self.groups, problem.totals)
        self.gradient[:] = problem.linear[self.order] - self.expansion()
        self.exact = self.K.dtype == np.float64
        return self.run(0.0, 0)[1]

    def expansion(self):
        """Kc, for a block that is the whole problem, in the precision of its matrix."""
        if self.K.dtype == np.float64:
            return self.K @ self.coef
        size = max(float(np.max(np.abs(self.coef))), 1e-300)  # c itself may be beyond float32
        with np.errstate(over="ignore", invalid="ignore"):
            expansion = self.K @ (self.coef / size).astype(np.float32)
        if not np.all(np.isfinite(expansion)):
            raise KernelError(OVERFLOW.format("a sum of kernel values"))
        return size * expansion.astype(np.float64)


@QUIET
def walk(sizes, coef):
    """What random errors of the entries of K add up to in Kc: |K_ij| is at most size_i size_j."""
    return float(np.max(sizes) * np.linalg.norm(sizes * coef))
