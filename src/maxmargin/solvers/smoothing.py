"""Newton's method for plain losses whose kink is smoothed, over a width that shrinks.

A plain loss is B max(0, u), where u is how far a point is on the wrong side of its margin, or of an
edge of the tube. It has a kink and no curvature, which Newton's method needs. Smoothed over a width
h it has curvature everywhere. With r = sqrt(u^2 + 4 h^2),

    loss  B/2 (u + r),        slope  a = B/2 (1 + u / r),        curvature  2 B h^2 / r^3.

The slopes lie inside the box 0 < a < B, so they are a point of the dual. The smoothed minimum is
off by some h^2, so h is halved after each Newton step of about full length, and after one that had
little to gain. Steps can have full length because the curvature fades with the distance from the
kink and does not end.

Where there are very many points, a part of them finds the smoothed minimum as well as all of them,
as long as the width is more than what the choice of the part changes in a decision. So the path
begins on a part.

A step dw also says what the slopes will be: a + curvature du. As long as none leaves the box these
give X'c = w + dw exactly; clipped to the box they are the dual point that certifies the step.
"""

from dataclasses import replace

import numpy as np

from maxmargin.engines.row_blocks import RowBlocks
from maxmargin.engines.threads import workers
from maxmargin.solvers.base import LinearSolution, LinearSolver
from maxmargin.solvers.newton import solve_positive

# With more features than these, the Hessian, which costs their square, takes too long.
LARGEST = 500
FEWEST_POINTS, PER_FEATURE = 2000, 4  # With fewer points, coordinate descent is as fast.
SHRINK = 0.5  # The width is multiplied by this after a step that went well.
# A width that leaves no more than this share of the gap to gain has done its work.
NEGLIGIBLE = 0.02
LOST = 0.05  # When no more of a step than this can be taken, the width was too small.
GENTLEST = 0.95  # A width that was too small slows the shrinking down to this at most.
SURE = 3  # This many steps in a row that went well make the shrinking faster again.
FLAT = 0.1  # A step ends where no more of the slope at its beginning is left than this.
MOST_LENGTHS = 20  # This many lengths of a step are tried at most.
WELL_WITHIN = 0.1  # The path stops at this share of tol.
FADED = 1e-5  # Rows with less than this share of the largest curvature are left out.
ENOUGH = 10  # Rows are left out only if more than this many for each feature remain.
SETTLED = 50.0  # A point this many widths away is not near a kink.
MOST_STEPS = 500
# A path that is given a w begins at this share of the first width, and widens if need be.
RESUMED = 1e-3
PART = 8  # A path begins on a part of the points, one of this many.
LARGE = 200  # A part has at least this many points for each feature, or none is used.
MOST_ON_PART = 30  # No more than this many steps on a part are of use.
BLUR = 2.0  # The decisions of a part's minimum may be off by this many widths.
ROUNDING = 1e-14  # A width below this share of the first width counts as zero.
NARROWEST = 1e-80  # The cube of the last width would underflow with a narrower first width.
DEAREST = 1e100  # Prices are scaled up for too narrow a width, but no row may cost more than this.


def is_tall(problem):
    """Whether there are few features and many more points."""
    n, d = problem.X.shape
    return d <= LARGEST and n >= max(FEWEST_POINTS, PER_FEATURE * d)


class Smoothing(LinearSolver):
    """Newton steps on smoothed losses until the relative gap of the plain loss is closed."""

    def __init__(self, tol, n_threads=None):
        super().__init__(tol)
        self.n_threads = n_threads

    def approach(self, problem, budget, start):
        if self.is_end(problem, start):
            yield replace(start, n_iter=0, stopped="converged")
        scale = _scale_of(problem)
        problem = problem if scale == 1.0 else problem.scaled(scale)
        with workers(self.n_threads) as pool:
            path = _begun(problem, pool, budget, start, scale)
            yield path.solution(scale)
            while not (stopped := self.end(path)):
                yield path.solution(scale)
            yield path.solution(scale, stopped)

    def end(self, path):
        """Make one step more; return why it was the last, or an empty text."""
        is_over = path.width < NARROWEST or path.n_iter == MOST_STEPS or not path.step()
        path.n_iter = max(path.n_iter, 1)
        if path.width == 0.0:  # w = 0 loses nothing
            return "converged"
        if not is_over and path.is_within(WELL_WITHIN * self.tol):
            path.settle(WELL_WITHIN * self.tol)
            return "converged"
        if is_over and path.problem.relative_gap(path.w, path.coef) <= self.tol:
            return "converged"
        return "stalled" if is_over else ""

    def finish(self, problem, found):
        if found.stopped == "interrupted":
            return found
        return replace(found, violation=problem.relative_gap(found.weights, found.coef))


def _begun(problem, pool, budget, start, scale):
    """The path, begun on a part of the points if there are very many."""
    path, size = _Path(problem, pool), problem.n // PART
    if start is not None:
        path.move_to(scale * start.weights, RESUMED * path.first_width)
        return path
    is_small = size < LARGE * len(path.w) or path.width < NARROWEST
    if is_small or budget.max_iter < MOST_STEPS:  # steps on a part would not be counted
        return path
    rows = np.sort(np.random.default_rng(0).choice(problem.n, size, replace=False))
    on_part = _Path(problem.part(rows), pool)
    blur = BLUR * np.sqrt(len(path.w) / size)
    if on_part.first_width < 0.5 * path.first_width:
        return path  # the loss is mostly outside of the part
    while on_part.width > blur * on_part.first_width and on_part.n_iter < MOST_ON_PART:
        if budget.out_of_time() or not on_part.step():
            return path
    path.move_to(on_part.w, on_part.width)
    return path


def _mean_loss_of_zero(problem):
    """The mean loss of w = 0 in the units of the decisions: 1 for the hinge."""
    bound = np.maximum(problem.upper, -problem.lower)
    return problem.loss_of(np.zeros(problem.n)) / float(bound.sum())


def _scale_of(problem):
    """The factor for tiny targets; it is a power of two, so that nothing is rounded."""
    width = _mean_loss_of_zero(problem)
    if width == 0.0 or width >= NARROWEST:
        return 1.0
    dearest = float(np.max(np.maximum(problem.upper, -problem.lower)))
    return float(2.0 ** np.floor(np.log2(min(1.0 / width, max(1.0, DEAREST / dearest)))))


class _Path:
    """Where the method stands: w, its decisions, the width, and the dual point that goes with w."""

    def __init__(self, problem, pool):
        self.problem, self.pool = problem, pool
        self.rows = RowBlocks(problem, pool)
        self.w, self.decisions = np.zeros(problem.X.shape[1] + 1), np.zeros(problem.n)
        self.coef = np.zeros(problem.n)
        self.first_width = _mean_loss_of_zero(problem)
        self.width = self.first_width
        self.slopes, self.curvature = np.empty(problem.n), np.empty(problem.n)
        self.plain_from = np.inf
        self.primal = self.gap = np.inf
        self.shrink, self.n_sure = SHRINK, 0
        self.best = np.inf, self.w, self.coef
        self.n_iter = 0

    def move_to(self, w, width):
        self.w, self.decisions, self.width = w, self.rows.times(w), width
        self.best = np.inf, w, self.coef

    def solution(self, scale, stopped=""):
        """Where the path stands if that is the end; else the best point so far, because the plain
        objective may rise while the smoothed one falls."""
        primal, w, coef = self.best
        if stopped == "converged":
            primal, w, coef = self.primal, self.w, self.coef
        gap = self.gap / max(abs(self.primal), 1e-300) if np.isfinite(self.gap) else np.inf
        if scale != 1.0:
            w, coef = w / scale, coef / scale
        return LinearSolution(w, coef, self.n_iter, gap, primal, stopped)

    def smooth(self, decisions):
        """Compute slopes and curvature of the smoothed losses; return the plain loss."""
        from maxmargin.compiled.linear import smoothed_losses

        p, losses = self.problem, np.empty(len(self.rows.parts))

        def work(k):
            part = self.rows.parts[k]
            losses[k] = smoothed_losses(
                decisions[part], p.linear[part], p.epsilon[part], p.lower[part], p.upper[part],
                self.width, self.plain_from, self.slopes[part], self.curvature[part],
            )  # fmt: skip

        self.pool.map(work, range(len(self.rows.parts)))
        return float(losses.sum())

    def direction(self):
        """The Newton step, the change of the decisions and the slope along it; sets c as well."""
        self.primal = float(0.5 * self.w @ self.w) + self.smooth(self.decisions)
        faded = self.curvature < FADED * self.curvature.max()
        if self.problem.n - np.count_nonzero(faded) > ENOUGH * len(self.w):
            self.curvature[faded] = 0.0
        gradient = self.w - self.rows.transposed(self.slopes)
        hessian = self.rows.gram(self.curvature)
        hessian[np.diag_indices(len(gradient))] += 1.0
        step = -solve_positive(hessian, gradient)
        change = self.rows.times(step)
        self.coef = np.clip(
            self.slopes - self.curvature * change, self.problem.lower, self.problem.upper
        )
        return step, change, float(gradient @ step)

    def step(self):
        """Make one Newton step; return False when there is no width left to shrink."""
        step, change, slope = self.direction()

        def slope_at(length):
            self.try_out(length, step, change)
            return float(self.tried[0] @ step - self.slopes @ change)

        is_flat = -slope <= ROUNDING * abs(self.primal)
        length = 0.0 if is_flat else _lowest(slope_at, slope)
        if is_flat:
            self.try_out(0.0, step, change)
        self.accept()
        self.n_iter += 1
        if length < LOST and not is_flat:
            self.width = min(self.width / self.shrink, self.first_width)
            self.shrink, self.n_sure = min(self.shrink**0.5, GENTLEST), 0
        elif length > 0.5 or -slope <= NEGLIGIBLE * self.gap or is_flat:
            self.width *= self.shrink
            self.n_sure += 1
            if self.n_sure >= SURE:
                self.shrink, self.n_sure = max(self.shrink**2, SHRINK), 0
        return self.width > ROUNDING * self.first_width

    def try_out(self, length, step, change):
        w, decisions = self.w + length * step, self.decisions + length * change
        self.tried = w, decisions, float(0.5 * w @ w) + self.smooth(decisions)

    def accept(self):
        """Accept what was tried last. The gap uses w in place of X'c, which saves computing it."""
        self.w, self.decisions, self.primal = self.tried
        if self.primal < self.best[0]:
            self.best = self.primal, self.w, self.coef
        self.gap = self.primal - self.problem.dual(self.coef, self.w)

    def settle(self, tol):
        """Make one more step with plain slopes far from the kink, so that points there are exactly
        at a bound; take it back if the gap does not stay within tol."""
        before = self.w, self.decisions, self.coef
        self.plain_from = SETTLED * self.width
        step, change, _ = self.direction()
        self.try_out(1.0, step, change)
        self.accept()
        if not self.is_within(tol):
            self.w, self.decisions, self.coef = before

    def is_within(self, tol):
        """Whether the relative gap is within tol; X'c is computed only if w in its place passes."""
        small = tol * max(abs(self.primal), 1e-300)
        if self.gap > small:
            return False
        return self.primal - self.problem.dual(self.coef, self.rows.transposed(self.coef)) <= small


def _lowest(slope_at, slope):
    """How much of a step to take, at most all of it: to where the slope along it is nearly zero.

    Along a line the slope of a convex function rises; computing it costs little beside the step.
    """
    low, high = (0.0, slope), (1.0, slope_at(1.0))
    if high[1] <= 0:
        return 1.0
    length, found = high
    for _ in range(MOST_LENGTHS):
        if abs(found) <= FLAT * abs(slope):
            break
        share = low[1] / (low[1] - high[1])  # where the line through both is zero
        share = min(max(share, 0.1), 0.9) if np.isfinite(share) else 0.1
        length = low[0] + share * (high[0] - low[0])
        found = slope_at(length)
        if found <= 0:
            low = length, found
        else:  # NaN is too far as well
            high = length, found
    return length
