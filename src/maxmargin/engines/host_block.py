"""A block on the host: some variables of a problem, their kernel matrix, and an inner solver."""

import numpy as np

from maxmargin.arrays import EPSILON
from maxmargin.compiled import smo as compiled
from maxmargin.engines.free_points import stride
from maxmargin.engines.threads import single_threaded_blas
from maxmargin.kernels.pairs import finite
from maxmargin.problems.dual import walk

ROUNDING = 0.5 * EPSILON  # The gradient is in float64.
SMALLEST_ETA = 1e-280  # Dividing by a smaller eta would overflow.


class HostBlock:
    """Some variables with their kernel matrix K; the members of a group lie side by side.

    `solve` is the inner solver: `compiled.smo.solve_block`, or another with the same arguments,
    whose relative speed is `speed`.
    """

    def __init__(self, K, solve, speed, problem, state, order):
        self.K, self._solve, self.speed = K, solve, speed
        self.order, self.size = order, len(order)
        self.diagonal = np.ascontiguousarray(np.diagonal(K))
        self.coef, self.gradient = state.coef[order], state.gradient[order]
        self.up, self.low = state.up[order], state.low[order]
        self.lower, self.upper = problem.lower[order], problem.upper[order]
        self.epsilon, self.linear = problem.epsilon[order], problem.linear[order]
        self.groups, self.totals = problem.groups[order], problem.totals
        self.starts = np.searchsorted(self.groups, np.arange(problem.n_groups + 1))
        largest = self._largest_entry(problem.kernel)
        self.smallest_eta = max(4 * float(np.finfo(K.dtype).eps) * largest, SMALLEST_ETA)
        self.largest_eta = max(largest, self.smallest_eta)

    @property
    def is_precise(self):
        return self.K.dtype == np.float64

    def _largest_entry(self, kernel):
        """The largest |K_ij|, which without Mercer's condition may stand anywhere."""
        if kernel.positive_semidefinite:
            return float(np.max(np.abs(self.diagonal), initial=0.0))
        return float(max(np.max(self.K, initial=0.0), -np.min(self.K, initial=0.0)))

    def run(self, stop, max_steps):
        return self._solve(
            self.K, self.diagonal, self.gradient, self.coef, self.lower, self.upper, self.epsilon,
            self.up, self.low, self.starts, float(stop), int(max_steps), self.smallest_eta,
            self.largest_eta,
        )  # fmt: skip

    def stride(self, rounding):
        with single_threaded_blas():
            return stride(self, rounding)

    def set_coef(self, coef):
        self.coef[:] = coef
        compiled.fill_offsets(self.coef, self.lower, self.upper, self.epsilon, self.up, self.low)

    def rounding(self):
        """The error of a difference of two gradients: the errors of the entries of K add up like a
        random walk, and the sum itself is rounded in every step."""
        sum_of_errors = walk(np.sqrt(np.abs(self.diagonal.astype(np.float64))), self.coef)
        return ROUNDING * max(sum_of_errors, 4.0 * float(np.max(np.abs(self.gradient))))

    def objective(self):
        """The dual objective, for a block that is the whole problem."""
        value = self.coef @ self.linear - self.epsilon @ np.abs(self.coef)
        return float(value - 0.5 * self.coef @ (self.linear - self.gradient))

    def refresh(self):
        compiled.balance(self.coef, self.lower, self.upper, self.groups, self.totals)
        self.gradient[:] = self.linear - self._expansion()
        return self.run(0.0, 0)[1]

    def _expansion(self):
        """Kc, in the precision of K."""
        if self.is_precise:
            return self.K @ self.coef
        size = max(float(np.max(np.abs(self.coef))), SMALLEST_ETA)  # c may be beyond float32
        with np.errstate(over="ignore", invalid="ignore"):
            expansion = self.K @ (self.coef / size).astype(np.float32)
        return size * finite(expansion, "a sum of kernel values").astype(np.float64)
