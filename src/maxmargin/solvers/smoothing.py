"""Newton's method for plain losses whose kink is rounded off, over a width that shrinks.

A plain loss is B max(0, u), where u is by how much a point is on the wrong side: of its margin, or
of an edge of the tube. It has a kink and no curvature, so Newton's method has nothing to go by.
Rounded off over a width h it has some everywhere:

    B/2 (u + r),    slope  a = B/2 (1 + u / r),    bend  2 B h^2 / r^3,      r = sqrt(u^2 + 4 h^2).

The slopes lie inside the box 0 < a < B: they are a point of the dual. The rounded minimum is off by
some h^2, so each Newton step of about full length is followed by halving h, and so is one that had
little to gain. What lets the steps have full length is that the bend fades with the distance from
the kink and does not end.

Where there are very many points, a part of them knows as well as all where the rounded minimum is,
as long as it is rounded over more than what the choice of the part makes of a decision. So the path
begins on a part.

A step dw also says what the slopes will be: a + bend du. As long as none leaves the box these give
X'c = w + dw exactly; cut to the box they are the dual point that certifies the step.
"""

import numpy as np

from maxmargin.engines.threads import workers
from maxmargin.solvers.base import LinearSolver
from maxmargin.solvers.newton import solve_positive
from maxmargin.solvers.row_blocks import RowBlocks

LARGEST = 500  # features: the products cost their square
FEWEST_POINTS, PER_FEATURE = 2000, 4  # below, coordinate descent is as fast
SHRINK = 0.5  # the width, after a step of more than half length,
NEGLIGIBLE = 0.02  # of the gap: or when no more than this is left to gain with it
LOST = 0.05  # of a step: when no more can be taken, the width was too small
GENTLEST = 0.95  # to which the shrinking goes when that has happened,
SURE = 3  # until so many steps in a row have gone well
FLAT = 0.1  # of the slope at the beginning of a step: what may be left at its end
MOST_LENGTHS = 20  # to try
WELL_WITHIN = 0.1  # of tol: where to stop
FADED = 1e-5  # of the largest bend: rows with less are spared
ENOUGH = 10  # rows for each feature, if they are
SETTLED = 50.0  # widths: the distance at which a point is not near a kink
MOST_STEPS = 500
PART = 8  # one of this many points is in the part on which the path begins,
LARGE = 200  # if it has this many points for each feature
MOST_ON_PART = 30  # steps
BLUR = 2.0  # widths: how much the decisions of a part's minimum may be off
ROUNDING = 1e-14  # of the first width: below, it is no width
NARROWEST = 1e-80  # first width of which the path's last one can still be cubed
DEAREST = 1e100  # price of a row that may be scaled up for it


def is_tall(problem):
    """Whether there are few features and many more points."""
    n, d = problem.X.shape
    return d <= LARGEST and n >= max(FEWEST_POINTS, PER_FEATURE * d)


class Smoothing(LinearSolver):
    """Newton steps on rounded losses until the relative duality gap of the plain one is closed."""

    def solve(self, problem):
        """Returns w, the dual point, the steps made and why it stopped."""
        scale = _scale_of(problem)
        if scale == 1.0:
            return self.solve_scaled(problem)
        w, coef, n_iter, stopped = self.solve_scaled(problem.scaled(scale))
        return w / scale, coef / scale, n_iter, stopped

    def solve_scaled(self, problem):
        """As `solve`, for targets that are not tiny."""
        with workers(self.n_threads) as pool:
            path = _begun(problem, pool, self.max_iter)
            stopped = self.follow(path)
        if stopped != "converged":
            if not self.certify(problem, path.w, path.coef).optimal:
                path.go_back_to_best()
            elif stopped == "stalled":
                stopped = "converged"
        return path.w, path.coef, max(path.n_iter, 1), stopped

    def follow(self, path):
        if path.width == 0.0:  # w = 0 loses nothing
            return "converged"
        if path.width < NARROWEST:  # or next to nothing
            return "stalled"
        while path.n_iter < min(self.max_iter, MOST_STEPS):
            if not path.step():
                return "stalled"
            if path.is_within(WELL_WITHIN * self.tol):
                path.settle(WELL_WITHIN * self.tol)
                return "converged"
        return "max_iter" if self.max_iter <= MOST_STEPS else "stalled"


def _begun(problem, pool, max_iter):
    """The path from where it has come to on a part of the points, if there are very many."""
    path, size = _Path(problem, pool), problem.n // PART
    is_small = size < LARGE * len(path.w) or path.width < NARROWEST
    if is_small or max_iter < MOST_STEPS:  # whoever counts steps counts all
        return path
    rows = np.sort(np.random.default_rng(0).choice(problem.n, size, replace=False))
    on_part = _Path(problem.part(rows), pool)
    blur = BLUR * np.sqrt(len(path.w) / size)
    if on_part.first_width < 0.5 * path.first_width:
        return path  # what is lost is lost outside of the part
    while on_part.width > blur * on_part.first_width and on_part.n_iter < MOST_ON_PART:
        if not on_part.step():
            return path
    path.move_to(on_part.w, on_part.width)
    return path


def _mean_loss_of_zero(problem):
    """In the units of the decisions: 1 for the hinge."""
    bound = np.maximum(problem.upper, -problem.lower)
    return problem.loss_of(np.zeros(problem.n)) / float(bound.sum())


def _scale_of(problem):
    """What to multiply tiny targets with; a power of two, so that nothing is rounded."""
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
        self.slopes, self.bend = np.empty(problem.n), np.empty(problem.n)
        self.plain_from = np.inf
        self.primal = self.gap = np.inf
        self.shrink, self.n_sure, self.best = SHRINK, 0, (np.inf,)
        self.n_iter = 0

    def move_to(self, w, width):
        self.w, self.decisions, self.width = w, self.rows.times(w), width

    def round_off(self, decisions):
        """Slopes and bends of the rounded losses; returns the plain loss."""
        from maxmargin.compiled.linear import rounded_losses

        p, losses = self.problem, np.empty(len(self.rows.parts))

        def work(k):
            part = self.rows.parts[k]
            losses[k] = rounded_losses(
                decisions[part], p.linear[part], p.epsilon[part], p.lower[part], p.upper[part],
                self.width, self.plain_from, self.slopes[part], self.bend[part],
            )  # fmt: skip

        self.pool.map(work, range(len(self.rows.parts)))
        return float(losses.sum())

    def direction(self):
        """The Newton step, the change of the decisions and the slope along it; c is kept."""
        self.primal = float(0.5 * self.w @ self.w) + self.round_off(self.decisions)
        faded = self.bend < FADED * self.bend.max()
        if self.problem.n - np.count_nonzero(faded) > ENOUGH * len(self.w):
            self.bend[faded] = 0.0
        gradient = self.w - self.rows.transposed(self.slopes)
        hessian = self.rows.gram(self.bend)
        hessian[np.diag_indices(len(gradient))] += 1.0
        step = -solve_positive(hessian, gradient)
        change = self.rows.times(step)
        self.coef = np.clip(
            self.slopes - self.bend * change, self.problem.lower, self.problem.upper
        )
        return step, change, float(gradient @ step)

    def step(self):
        """One Newton step; False when there is no width left to shrink."""
        step, change, slope = self.direction()

        def slope_at(length):
            self.try_out(length, step, change)
            return float(self.tried[0] @ step - self.slopes @ change)

        is_flat = -slope <= ROUNDING * abs(self.primal)  # to within rounding
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
        self.tried = w, decisions, float(0.5 * w @ w) + self.round_off(decisions)

    def accept(self):
        """What was tried last; the gap is taken as if X'c were w, which saves computing it."""
        self.w, self.decisions, self.primal = self.tried
        if self.primal < self.best[0]:
            self.best = self.primal, self.w, self.decisions, self.coef
        self.gap = self.primal - self.problem.dual(self.coef, self.w)

    def go_back_to_best(self):
        """The plain objective may rise while the rounded one falls."""
        if len(self.best) > 1:
            self.primal, self.w, self.decisions, self.coef = self.best

    def settle(self, tol):
        """One more step with plain slopes far from the kink, so that points there are exactly at a
        bound; taken back if the gap does not stay within tol."""
        before = self.w, self.decisions, self.coef
        self.plain_from = SETTLED * self.width
        step, change, _ = self.direction()
        self.try_out(1.0, step, change)
        self.accept()
        if not self.is_within(tol):
            self.w, self.decisions, self.coef = before

    def is_within(self, tol):
        """Whether the relative gap is; X'c is computed only when w in its place says so."""
        small = tol * max(abs(self.primal), 1e-300)
        if self.gap > small:
            return False
        return self.primal - self.problem.dual(self.coef, self.rows.transposed(self.coef)) <= small


def _lowest(slope_at, slope):
    """How much of a step to take, at most all of it: to where the slope along it is all but gone.

    Along a line the slope of a convex function rises; to ask for it costs little beside the step.
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
        else:  # or not a number: too far
            high = length, found
    return length
