"""SMO one pair at a time, on any dual problem: it shows what the fast solver does in its loop.

The textbook derives the step for the soft margin. Every other machine is the same problem with
other bounds, a price epsilon of |c| and other groups (`problems/reductions.py`), so the same step
works in signed variables. With the gradient g = p - Kc, raising c_i gains g_i - epsilon_i per unit
where c_i >= 0 and g_i + epsilon_i where c_i < 0; lowering c_j costs likewise. The pair is

    i = argmax of what a rise gains,  in the group with the largest violation,
    j = argmin of what a fall costs (order 1), or the partner that gains most with i (order 2),

and both move by the same length, so that the sum of their group stays. The length is that of the
top of a parabola, unless a bound or the kink of |c| at zero comes before it.

Invariants: the variables are feasible after every step, the objective never falls, and the pairs
are those of `compiled/smo.py`, which chooses by the same rule.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.compiled.smo import bias_of, low_offset, room_above, room_below, snapped, up_offset
from maxmargin.engines.host_block import SMALLEST_ETA
from maxmargin.problems.certificate import primal_objective
from maxmargin.solvers.smo_pairs import CHOICES, ROUND_STEPS
from maxmargin.solvers.walk import PairSolver, Walk

REFRESHES = 4  # The gradient is computed anew this often before what is left counts as rounding.


@dataclass
class SMOSteps(PairSolver):
    """Solves every kernel machine pair by pair, with every step in the trace.

    Parameters
    ----------
    order : {2, 1}
        The partner is the one with the largest gain (2), or the most violating one (1).
    """

    order: int = 2

    def begin(self, problem, budget, start):
        return Variables(problem, budget, self.tol, start)

    def run(self, variables):
        for _ in range(REFRESHES):
            moves = self.descend(variables)
            variables.refresh()
            if variables.converged():
                variables.end_round()
                return "converged"
            if not moves:
                break
        return "stalled"  # only rounding is left

    def descend(self, variables):
        """Make steps until the carried gradient shows no violation; return whether any was made."""
        began = variables.n_iter
        while not variables.converged():
            if not variables.step(*variables.pair(self.order), CHOICES[self.order]):
                break
            if variables.n_iter % ROUND_STEPS == 0:
                variables.end_round()
        return variables.n_iter > began


class Variables(Walk):
    """The signed variables c, their gradient, and how a pair of them is improved."""

    def __init__(self, problem, budget, tol, start=None):
        super().__init__(problem, budget, tol)
        rows = problem.row_of(np.arange(problem.n))
        self.K = problem.matrix.values(rows)
        self.diagonal = np.diagonal(self.K)
        largest = float(np.max(np.abs(self.K), initial=0.0))
        self.smallest_eta = max(4 * np.finfo(float).eps * largest, SMALLEST_ETA)
        self.coef = np.array(problem.start if start is None else start.coef, dtype=np.float64)
        self.signs = np.where(problem.upper <= 0, -1.0, 1.0)
        self.members = [np.flatnonzero(problem.groups == h) for h in range(problem.n_groups)]
        self.objective = problem.objective(self.coef, self.refresh())
        if self.trace is not None:
            box = np.maximum(problem.upper, -problem.lower)
            self.trace.begin(budget.problem, self.coef, self.signs, box, *self.bias_and_spread())

    @property
    def expansion(self):
        return self.problem.linear - self.gradient

    @property
    def bias(self):
        known = self.gradient, self.up, self.low, self.problem.groups
        return np.array([bias_of(*known, group) for group in range(self.problem.n_groups)])

    def bias_and_spread(self):
        bias = self.bias
        return float(bias.mean()), 0.5 * float(bias[-1] - bias[0])

    def refresh(self):
        expansion = self.K @ self.coef
        self.gradient = self.problem.linear - expansion
        self.up, self.low = self.problem.offsets(self.coef)
        return expansion

    # The choice of the pair.

    def violations(self):
        """What the best rise of each group gains beyond the cost of its cheapest fall."""
        rise, fall = self.gradient + self.up, self.gradient + self.low
        return [rise[own].max() - fall[own].min() for own in self.members if len(own)]

    def violation(self):
        return float(max(self.violations()))

    def pair(self, order):
        """The variable that rises, and the one that falls."""
        own = [own for own in self.members if len(own)][int(np.argmax(self.violations()))]
        rise, fall = self.gradient[own] + self.up[own], self.gradient[own] + self.low[own]
        i = own[np.argmax(rise)]
        if order == 1:
            return int(i), int(own[np.argmin(fall)])
        difference = np.maximum(rise.max() - fall, 0.0)
        return int(i), int(own[np.argmax(difference * (difference / self.curvature(i, own)))])

    def curvature(self, i, j):
        """eta = K_ii + K_jj - 2 K_ij, or a small number where that is not positive."""
        eta = self.diagonal[i] + self.diagonal[j] - 2.0 * self.K[i, j]
        return np.maximum(eta, self.smallest_eta)

    # The step.

    def step(self, i, j, reason):
        """Raise c_i and lower c_j to the best point of their segment; return False if they stay."""
        forth, back = self.room(i, j)
        eta = float(self.curvature(i, j))
        difference = self.gradient[i] + self.up[i] - self.gradient[j] - self.low[j]
        top = difference / eta
        length = min(top, forth)
        moved = self._moved(i, length), self._moved(j, -length)
        if moved == (self.coef[i], self.coef[j]):
            return self.refuse(i, j, "no_gain")
        self._move(
            i, j, moved, length * (difference - 0.5 * length * eta), eta=eta, reason=reason,
            ends=(self.coef[j] - forth, self.coef[j] + back), unclipped=self.coef[j] - top,
        )  # fmt: skip
        return True

    def room(self, i, j):
        """How far the pair may go, forth and back, on the piece where the gain is one parabola."""
        c, lower, upper = self.coef, self.problem.lower, self.problem.upper
        price = self.problem.epsilon
        forth = min(room_above(c[i], upper[i], price[i]), room_below(c[j], lower[j], price[j]))
        back_i = c[i] if price[i] > 0 and c[i] >= 0 else c[i] - lower[i]
        back_j = -c[j] if price[j] > 0 and c[j] <= 0 else upper[j] - c[j]
        return forth, min(back_i, back_j)

    def _moved(self, k, length):
        problem, c = self.problem, self.coef[k]
        return snapped(c + length, c, problem.lower[k], problem.upper[k], problem.epsilon[k])

    def _move(self, i, j, moved, gain, eta, ends, unclipped, reason):
        change_i, change_j = moved[0] - self.coef[i], moved[1] - self.coef[j]
        bias = self.bias[self.problem.groups[i]]
        errors = bias - self.gradient[i], bias - self.gradient[j]
        self.coef[[i, j]] = moved  # both at once, because an interrupt must not find half a step
        self.gradient -= change_i * self.K[i] + change_j * self.K[j]
        for k in (i, j):
            self._offset(k)
        self.objective += gain
        self.n_iter += 1
        if self.trace is not None:
            L, H = sorted(self.signs[j] * np.array(ends))
            b, spread = self.bias_and_spread()
            self.trace.step(
                i=i, j=j, error_i=errors[0], error_j=errors[1], eta=eta, L=L, H=H,
                unclipped=self.signs[j] * unclipped, clipped=self.signs[j] * moved[1],
                alpha_i=self.signs[i] * moved[0], b=b, spread=spread, objective=self.objective,
                gap=self.gap(), violation=self.violation(), reason=reason,
            )  # fmt: skip
        self.look_at_limits()

    def _offset(self, k):
        problem = self.problem
        self.up[k] = up_offset(self.coef[k], problem.upper[k], problem.epsilon[k])
        self.low[k] = low_offset(self.coef[k], problem.lower[k], problem.epsilon[k])

    def gap(self):
        """Primal minus dual, at the biases that fit best."""
        primal = primal_objective(self.problem, self.coef, self.bias, self.expansion)
        return primal - self.objective
