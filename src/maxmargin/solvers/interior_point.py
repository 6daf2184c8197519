"""An interior-point method for linear machines with many more points than features.

In variables a, one for each side of a point on which its loss can grow, the dual is

    minimise  1/2 |X'c|^2 - q.a   over   0 <= a <= B,   c = the signed sum of a at each point.

Its optimality conditions, with multipliers s for a >= 0 and t for a <= B, are

    g = s - t,   a s = 0,   (B - a) t = 0,      g the gradient.

The method keeps all of these positive, replaces both zeros by a number mu, and lets mu shrink by
Newton steps (Mehrotra's: one step to see how far mu may shrink, one to take it). A step solves

    (XX' + diag(theta)) da = r,    theta = s / a + t / (B - a),

which looks like n equations and is, by the identity of Woodbury, d of them: X' diag(1 / theta) X is
all that is needed. Some twenty steps end at a gap near rounding, whatever C and the features are.
"""

from dataclasses import replace

import numpy as np
from scipy import linalg

from maxmargin import arrays
from maxmargin.engines.threads import workers
from maxmargin.solvers.row_blocks import RowBlocks

LARGEST = 500  # features: the products cost their square
FEWEST_POINTS, PER_FEATURE = 2000, 4  # below, coordinate descent is as fast
SMALLEST_SHARE = 0.4  # of the box, at which to begin
TO_THE_WALL = 0.995  # of the way to the nearest bound
TIGHT = 1e-7  # the relative gap to aim for: a few steps beyond tol
MOST_STEPS = 100


def is_tall(problem):
    """Whether there are few features and many more points."""
    n, d = problem.X.shape
    return d <= LARGEST and n >= max(FEWEST_POINTS, PER_FEATURE * d)


class InteriorPoint:
    """Newton steps through the interior of the box until the relative duality gap is closed."""

    def __init__(self, tol, max_iter, n_threads=None):
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def solve(self, problem, budget):
        """Returns w, the dual point, the steps made and why it stopped."""
        if arrays.is_sparse(problem.X):  # it is narrow, and products with rows at hand are faster
            problem = replace(problem, X=arrays.dense(problem.X))
        with workers(self.n_threads) as pool:
            run = _Run(problem, pool)
            stopped = "max_iter"
            limit = min(self.max_iter, MOST_STEPS)
            while run.n_iter < limit:
                if run.relative_gap() <= min(self.tol, TIGHT) or not run.step():
                    stopped = "converged"
                    break
                if budget.out_of_time():
                    stopped = "max_time"
                    break
        coef = run.signed()
        w = problem.weights_of(coef)
        if stopped != "max_time" and self.certify(problem, w, coef).optimal:
            stopped = "converged"
        elif stopped == "converged":
            stopped = "stalled"
        return w, coef, run.n_iter, stopped

    def certify(self, problem, w, coef):
        return problem.certify(w, coef, self.tol)


class _Run:
    """Where the method stands: a, its multipliers and the gradient."""

    def __init__(self, problem, pool):
        self.rows = RowBlocks(problem, pool)
        rising, falling = problem.upper > 0, problem.lower < 0
        self.point = np.concatenate([np.flatnonzero(rising), np.flatnonzero(falling)])
        self.sign = np.repeat([1.0, -1.0], [rising.sum(), falling.sum()])
        self.bound = np.concatenate([problem.upper[rising], -problem.lower[falling]])
        self.n = problem.n
        self.linear = self.sign * problem.linear[self.point] - problem.epsilon[self.point]
        self.n_iter = 0
        self.a = self.bound
        w = self.rows.transposed(self.signed())
        # Along the diagonal of the box the objective is a parabola: begin near its lowest point.
        share = float(self.linear @ self.bound) / max(float(w @ w), 1e-300)
        share = min(max(share, SMALLEST_SHARE), 0.5)
        self.a = share * self.bound
        self.gradient = share * self.spread(self.rows.times(w)) - self.linear
        margin = max(float(np.mean(np.abs(self.gradient))), 1e-8)
        size = np.hypot(self.gradient, 2.0 * margin)
        self.s, self.t = 0.5 * (size + self.gradient), 0.5 * (size - self.gradient)

    def signed(self):
        """c: what the two sides of each point sum up to."""
        return self.gather(self.sign * self.a)

    def gather(self, values):
        return np.bincount(self.point, weights=values, minlength=self.n)

    def spread(self, values):
        return self.sign * values[self.point]

    def gap(self):
        """Primal minus dual: what the products a s and (B - a) t sum up to."""
        return float(self.a @ self.s + (self.bound - self.a) @ self.t)

    def relative_gap(self):
        dual = 0.5 * float(self.linear @ self.a - self.a @ self.gradient)
        return self.gap() / max(abs(dual + self.gap()), 1e-300)

    def step(self):
        """One predictor-corrector step; False when rounding leaves none."""
        a, b, s, t = self.a, self.bound - self.a, self.s, self.t
        inverse = 1.0 / (s / a + t / b)
        factor = self.factorised(inverse)
        if factor is None:
            return False
        da, _, (ds, dt) = self.direction(factor, inverse, 0.0, 0.0, 0.0)
        length, dual = room((a, da), (b, -da)), room((s, ds), (t, dt))
        mu = self.gap() / (2 * len(a))
        ahead = (a + length * da) @ (s + dual * ds) + (b - length * da) @ (t + dual * dt)
        goal = mu * (float(ahead) / self.gap()) ** 3
        da, dg, (ds, dt) = self.direction(factor, inverse, goal, da * ds, -da * dt)
        length = min(1.0, TO_THE_WALL * room((a, da), (b, -da)))
        length_dual = min(1.0, TO_THE_WALL * room((s, ds), (t, dt)))
        self.a, self.gradient = a + length * da, self.gradient + length * dg
        self.s, self.t = s + length_dual * ds, t + length_dual * dt
        self.n_iter += 1
        return length > 1e-8 and bool(np.all(np.isfinite(self.a)))

    def direction(self, factor, inverse, goal, curved_s, curved_t):
        """The Newton step for a given mu: the changes of a, of the gradient, and of s and t."""
        a, b = self.a, self.bound - self.a
        toward_s, toward_t = (goal - curved_s) / a, (goal - curved_t) / b
        right = toward_s - toward_t - self.gradient
        along = self.rows.transposed(self.gather(self.sign * inverse * right))
        pulled = self.spread(self.rows.times(linalg.cho_solve(factor, along)))
        da = inverse * (right - pulled)
        dg = pulled  # XX' da, because (XX' + theta) da = right and theta da = right - pulled
        ds = toward_s - self.s - self.s / a * da
        dt = toward_t - self.t + self.t / b * da
        return da, dg, (ds, dt)

    def factorised(self, inverse):
        """The Cholesky factor of I + X' diag(1 / theta) X."""
        matrix = self.rows.gram(self.gather(inverse))
        matrix[np.diag_indices(len(matrix))] += 1.0
        try:
            return linalg.cho_factor(matrix, check_finite=False)
        except linalg.LinAlgError:
            return None


def room(*changes):
    """How much of a step, at most all of it, keeps every value positive."""
    shares = [1.0]
    for value, change in changes:
        falls = change < 0
        if np.any(falls):
            shares.append(float(np.min(-value[falls] / change[falls])))
    return min(shares)
