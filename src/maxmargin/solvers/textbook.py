"""Two multipliers at a time: the step that all teaching solvers share, as the textbook derives it.

The dual of the soft margin,

    maximise    sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i y_j K_ij
    subject to  0 <= alpha_i <= C_i,   sum_i alpha_i y_i = 0,

allows no single multiplier to move: the sum would change. Two can. Along the line on which the sum
stays zero the objective is a parabola, and its top is known in closed form. What tells the solvers
apart is only which pair they choose.

Invariants: the multipliers satisfy both constraints after every step, the objective never falls,
and E_i = f(x_i) - y_i holds for the current multipliers and b.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from maxmargin.errors import OVERFLOW, KernelError
from maxmargin.solvers.base import Solution, Solver, biases

ROUNDING = 1e-15  # relative to C_i + C_j: what a step may be off, and what counts as a move
REPORT_SECONDS = 0.05  # how often callbacks hear and the clock is looked at


class Stop(Exception):
    """Raised out of the loops of a solver when a limit has been reached."""


@dataclass
class TextbookSolver(Solver):
    """A solver that is read beside its derivation; a subclass writes `run`.

    It keeps the whole kernel matrix and solves the soft margin classifier.

    Parameters
    ----------
    seed : int
        Of its random choices.
    """

    seed: int = 0

    def solve(self, problem, engine, budget, start=None, expansion=None):
        """Raise the dual objective from a feasible start until it is optimal within tol."""
        self.check(problem)
        multipliers = Multipliers(problem, budget, self.tol, start)
        try:
            multipliers.look_at_limits()
            stopped = self.run(multipliers)
        except Stop as limit:
            stopped = str(limit)
        except KeyboardInterrupt:
            stopped = "interrupted"
        return multipliers.solution(stopped)

    def check(self, problem):
        """Refuse what the textbook's derivation does not cover."""
        name = type(self).__module__.rsplit(".", 1)[-1]
        is_soft_margin = (
            problem.n_groups == 1
            and not np.any(problem.totals)
            and not np.any(problem.epsilon)
            and np.all(np.abs(problem.linear) == 1.0)
            and np.all(np.isfinite(problem.upper - problem.lower))
        )
        if not is_soft_margin:
            raise ValueError(
                f"solver={name!r} solves the soft margin only: SVC with a finite C. "
                "Use solver='smo' here."
            )
        needed = 8 * problem.n**2
        if needed > self.cache_bytes:
            raise ValueError(
                f"solver={name!r} keeps the whole kernel matrix: {problem.n} points need "
                f"{needed / 2**20:.0f} MB. Use solver='smo', or raise cache_size."
            )


class Multipliers:
    """alpha, b and the errors E, and how a pair of multipliers is improved."""

    def __init__(self, problem, budget, tol, start=None):
        self.problem, self.budget, self.tol = problem, budget, tol
        self.y = problem.linear
        self.n = problem.n
        self.C = problem.upper - problem.lower
        self.K = problem.kernel(problem.X)
        if not np.all(np.isfinite(self.K)):
            raise KernelError(OVERFLOW.format(problem.kernel))
        self.alpha = self.y * (problem.start if start is None else start)
        self.b = 0.0
        self.E = self.K @ (self.y * self.alpha) + self.b - self.y
        self.objective = problem.objective(self.y * self.alpha, self.E - self.b + self.y)
        self.n_iter = 0
        self._heard = perf_counter()
        self.trace = budget.trace
        if self.trace is not None:
            self.trace.begin(budget.problem, self.y * self.alpha, self.y)

    def violates(self, i):
        """Whether point i breaks its KKT condition for the current b.

        alpha_i = 0 wants y_i f(x_i) >= 1, alpha_i = C wants <= 1, and in between it must be 1.
        With half of tol on either side of b, no pair of points is further apart than tol.
        """
        excess = self.y[i] * self.E[i]  # y f - 1
        too_small = excess < -self.tol / 2 and self.alpha[i] < self.C[i]
        too_large = excess > self.tol / 2 and self.alpha[i] > 0
        return too_small or too_large

    def segment(self, i, j):
        """The ends L <= alpha_j <= H of the line inside the box."""
        alpha, C = self.alpha, self.C
        if self.y[i] != self.y[j]:  # alpha_j - alpha_i stays
            difference = alpha[j] - alpha[i]
            return max(0.0, difference), min(C[j], C[i] + difference)
        total = alpha[j] + alpha[i]  # alpha_j + alpha_i stays
        return max(0.0, total - C[i]), min(C[j], total)

    def curvature(self, i, j):
        """eta = K_ii + K_jj - 2 K_ij = |phi(x_i) - phi(x_j)|^2, zero for equal points."""
        eta = self.K[i, i] + self.K[j, j] - 2.0 * self.K[i, j]
        flat = 4 * np.finfo(float).eps * (abs(self.K[i, i]) + abs(self.K[j, j]))
        return 0.0 if abs(eta) <= flat else eta

    def step(self, i, j, skip_flat=False):
        """Move alpha_i and alpha_j to the best point of their segment; False if they stay.

        `skip_flat` leaves pairs with eta <= 0 alone instead of moving them to an end.
        """
        if i == j:
            return False
        L, H = self.segment(i, j)
        eta = self.curvature(i, j)
        if L >= H or (skip_flat and eta <= 0):
            return False
        slope = self.y[j] * (self.E[i] - self.E[j])  # of the objective along alpha_j
        if eta > 0:
            unclipped = self.alpha[j] + slope / eta
            clipped = min(max(unclipped, L), H)
        else:  # no top inside: the better of the two ends

            def gain_at(end):
                move = end - self.alpha[j]
                return move * (slope - 0.5 * eta * move)

            unclipped = clipped = max(L, H, key=gain_at)
        move = clipped - self.alpha[j]
        gain = move * (slope - 0.5 * eta * move)
        if gain <= 0 or abs(move) <= ROUNDING * (self.C[i] + self.C[j]):
            return False
        self._move(i, j, clipped, gain, eta=eta, L=L, H=H, unclipped=unclipped)
        return True

    def _move(self, i, j, clipped, gain, **figures):
        y, alpha = self.y, self.alpha
        near = ROUNDING * (self.C[i] + self.C[j])
        alpha_j = self._snapped(j, clipped, near)
        alpha_i = self._snapped(i, alpha[i] + y[i] * y[j] * (alpha[j] - clipped), near)
        change_i, change_j = y[i] * (alpha_i - alpha[i]), y[j] * (alpha_j - alpha[j])
        errors = self.E[i], self.E[j]
        b = self._bias_after(i, j, alpha_i, alpha_j, change_i, change_j)
        alpha[[i, j]] = alpha_i, alpha_j  # at once: an interrupt must not find half a step
        self.E += change_i * self.K[i] + change_j * self.K[j] + (b - self.b)
        self.b = b
        self.objective += gain
        self.n_iter += 1
        if self.trace is not None:
            self.trace.step(
                i=i, j=j, error_i=errors[0], error_j=errors[1], clipped=alpha_j, alpha_i=alpha_i,
                b=b, objective=self.objective, gap=self.gap(), violation=self.violation(),
                **figures,
            )  # fmt: skip
        self.look_at_limits()

    def _snapped(self, i, value, near):
        """A multiplier a rounding error away from its bound would count as free for ever."""
        if value <= near:
            return 0.0
        return self.C[i] if value >= self.C[i] - near else value

    def _bias_after(self, i, j, alpha_i, alpha_j, change_i, change_j):
        """b from a multiplier strictly inside its box, whose margin is exactly one.

        With none inside, every b between the two candidates fits: their mean.
        """
        K = self.K
        b_i = self.b - self.E[i] - change_i * K[i, i] - change_j * K[i, j]
        b_j = self.b - self.E[j] - change_i * K[i, j] - change_j * K[j, j]
        if 0 < alpha_i < self.C[i]:
            return b_i
        return b_j if 0 < alpha_j < self.C[j] else (b_i + b_j) / 2

    def can_rise(self):
        """Where y_i alpha_i may grow."""
        return np.where(self.y > 0, self.alpha < self.C, self.alpha > 0)

    def can_fall(self):
        return np.where(self.y > 0, self.alpha > 0, self.alpha < self.C)

    def violation(self):
        """How much the most violating pair could still gain per unit: optimal when not positive."""
        best_rise = np.max(-self.E, where=self.can_rise(), initial=-np.inf)
        cheapest_fall = np.min(-self.E, where=self.can_fall(), initial=np.inf)
        return float(best_rise - cheapest_fall)

    def gap(self):
        """Primal minus dual: |w|^2 + sum C max(0, 1 - y f) - sum alpha; 1 - y f is -y E."""
        total = self.alpha.sum()
        square = 2 * (total - self.objective)
        return float(square + self.C @ np.maximum(-self.y * self.E, 0.0) - total)

    def converged(self):
        return self.violation() <= self.tol

    def end_round(self):
        """After every pass: the trace, and the limits even when nothing moved."""
        if self.trace is not None:
            self.trace.round(
                self.problem, self.y * self.alpha, self.E - self.b + self.y, np.array([self.b]),
                self.n_iter, self.violation(), keep_moves=False,
            )  # fmt: skip
        self.look_at_limits()

    def look_at_limits(self):
        if self.n_iter >= self.budget.max_iter:
            raise Stop("max_iter")
        if perf_counter() - self._heard < REPORT_SECONDS:
            return
        self._heard = perf_counter()
        if self.budget.out_of_time():
            raise Stop("max_time")
        if self.report():
            raise Stop("callback")

    def report(self):
        return self.budget.report(
            n_iter=self.n_iter,
            violation=self.violation(),
            tol=self.tol,
            objective=float(self.objective),
            n_support=int(np.count_nonzero(self.alpha)),
        )

    def solution(self, stopped):
        """The steps leave rounding errors in E: f is computed anew, and decides."""
        coef = self.y * self.alpha
        if self.trace is not None:
            self.trace.check_end(coef)
        expansion = self.K @ coef
        self.E = expansion - self.y
        violation = self.violation()
        up, low = np.where(self.can_rise(), 0.0, -1e200), np.where(self.can_fall(), 0.0, 1e200)
        if stopped == "converged":
            stopped = "converged" if violation <= self.tol else "stalled"
            self.report()
        return Solution(
            coef=coef,
            bias=biases(self.problem, self.y - expansion, up, low),
            expansion=expansion,
            recomputed=True,
            n_iter=self.n_iter,
            violation=violation,
            stopped=stopped,
        )
