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

import numpy as np

from maxmargin.solvers.walk import PairSolver, Walk

# Relative to C_i + C_j, a step may be off by this, and a smaller move counts as none.
ROUNDING = 1e-15


@dataclass
class TextbookSolver(PairSolver):
    """A solver to be read beside its derivation; a subclass writes `run`.

    It keeps the whole kernel matrix and solves the soft margin classifier.

    Parameters
    ----------
    seed : int
        The seed of its random choices.
    """

    seed: int = 0

    def begin(self, problem, budget, start):
        return Multipliers(problem, budget, self.tol, start)

    def check(self, problem):
        """Refuse what the textbook's derivation does not cover."""
        is_soft_margin = (
            problem.n_groups == 1
            and not np.any(problem.totals)
            and not np.any(problem.epsilon)
            and np.all(np.abs(problem.linear) == 1.0)
            and np.all(np.isfinite(problem.upper - problem.lower))
        )
        if not is_soft_margin:
            raise ValueError(
                f"solver={self.name!r} solves the soft margin only: SVC with a finite C. "
                "Use solver='smo_steps' to go step by step, or solver='smo'."
            )
        super().check(problem)


def gain_of(move, slope, eta):
    """The height of the parabola: what the objective gains when alpha_j moves by `move`."""
    return move * (slope - 0.5 * eta * move)


class Multipliers(Walk):
    """alpha, b and the errors E, and how a pair of multipliers is improved."""

    def __init__(self, problem, budget, tol, start=None):
        super().__init__(problem, budget, tol)
        self.y = problem.linear
        self.C = problem.upper - problem.lower
        self.K = problem.matrix.values(np.arange(self.n))
        self.alpha = self.y * (problem.start if start is None else start.coef)
        self.objective = problem.objective(self.coef, self.refresh())
        if self.trace is not None:
            self.trace.begin(budget.problem, self.coef, self.y, self.C)

    @property
    def coef(self):
        return self.y * self.alpha

    @property
    def expansion(self):
        return self.E - self.b + self.y

    @property
    def bias(self):
        return np.array([self.b])

    def refresh(self):
        expansion = self.K @ self.coef
        self.E, self.b = expansion - self.y, 0.0
        return expansion

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

    def step(self, i, j, reason, skip_flat=False):
        """Move alpha_i and alpha_j to the best point of their segment; return False if they stay.

        `reason` is why the solver chose the pair, a key of `problems/trace.py`'s `REASONS`.
        `skip_flat` leaves pairs with eta <= 0 alone instead of moving them to an end.
        """
        if i == j:
            return False
        L, H = self.segment(i, j)
        eta = self.curvature(i, j)
        if L >= H or (skip_flat and eta <= 0):
            return self.refuse(i, j, "no_room" if L >= H else "no_curvature")
        slope = self.y[j] * (self.E[i] - self.E[j])  # the objective's, along alpha_j
        if eta > 0:
            unclipped = self.alpha[j] + slope / eta
            clipped = min(max(unclipped, L), H)
        else:  # the parabola has no top, so the better of the two ends is best
            clipped = max(L, H, key=lambda end: gain_of(end - self.alpha[j], slope, eta))
            unclipped = clipped
        move = clipped - self.alpha[j]
        gain = gain_of(move, slope, eta)
        if gain <= 0 or abs(move) <= ROUNDING * (self.C[i] + self.C[j]):
            return self.refuse(i, j, "no_gain")
        self._move(
            i, j, clipped, gain, eta=eta, L=L, H=H, unclipped=unclipped, reason=reason
        )  # fmt: skip
        return True

    def _move(self, i, j, clipped, gain, **figures):
        y, alpha = self.y, self.alpha
        near = ROUNDING * (self.C[i] + self.C[j])
        alpha_j = self._snapped(j, clipped, near)
        alpha_i = self._snapped(i, alpha[i] + y[i] * y[j] * (alpha[j] - clipped), near)
        change_i, change_j = y[i] * (alpha_i - alpha[i]), y[j] * (alpha_j - alpha[j])
        errors = self.E[i], self.E[j]
        b = self.bias_after(i, j, alpha_i, alpha_j, change_i, change_j)
        alpha[[i, j]] = alpha_i, alpha_j  # both at once: an interrupt must not find half a step
        self.E += change_i * self.K[i] + change_j * self.K[j] + (b - self.b)
        self.b = b
        self.objective += gain
        self.n_iter += 1
        if self.trace is not None:
            self.trace.step(
                i=i, j=j, error_i=errors[0], error_j=errors[1], clipped=alpha_j, alpha_i=alpha_i,
                b=b, spread=0.0, objective=self.objective, gap=self.gap(),
                violation=self.violation(),
                **figures,
            )  # fmt: skip
        self.look_at_limits()

    def _snapped(self, i, value, near):
        """The multiplier, or its bound if that is a rounding error away, so that it is not free."""
        if value <= near:
            return 0.0
        return self.C[i] if value >= self.C[i] - near else value

    def bias_after(self, i, j, alpha_i, alpha_j, change_i, change_j):
        """The b at which a point strictly inside its box has a margin of exactly one.

        If neither is inside, every b between the two candidates fits, and their mean is taken.
        """
        K = self.K
        b_i = self.b - self.E[i] - change_i * K[i, i] - change_j * K[i, j]
        b_j = self.b - self.E[j] - change_i * K[i, j] - change_j * K[j, j]
        if 0 < alpha_i < self.C[i]:
            return b_i
        if 0 < alpha_j < self.C[j]:
            return b_j
        return (b_i + b_j) / 2

    def can_rise(self):
        """The points whose y_i alpha_i may grow."""
        return np.where(self.y > 0, self.alpha < self.C, self.alpha > 0)

    def can_fall(self):
        return np.where(self.y > 0, self.alpha > 0, self.alpha < self.C)

    def violation(self):
        """What the most violating pair gains per unit; the solution is optimal if not positive."""
        best_rise = np.max(-self.E, where=self.can_rise(), initial=-np.inf)
        cheapest_fall = np.min(-self.E, where=self.can_fall(), initial=np.inf)
        return float(best_rise - cheapest_fall)

    def gap(self):
        """Primal minus dual: |w|^2 + sum C max(0, 1 - y f) - sum alpha; 1 - y f is -y E."""
        total = self.alpha.sum()
        square = 2 * (total - self.objective)
        return float(square + self.C @ np.maximum(-self.y * self.E, 0.0) - total)
