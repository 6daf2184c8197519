"""Crammer and Singer's machine by an interior-point method: some twenty steps for any scaling.

With f_im = w_m.x_i the problem is to minimise 1/2 |W|^2 + sum_i C_i (t_i - f_iy) where every class
leaves room below the ceiling t_i of its point:

    room_im = t_i - f_im - [m is not y_i] >= 0.

The multiplier of each room is its price, price_im >= 0. At the optimum

    sum_m price_im = C_i,    w_m = sum_i (C_i [m is y_i] - price_im) x_i,    price_im room_im = 0.

Newton's method solves these with price * room = mu in place of zero, and mu falls with every step.
This is Mehrotra's predictor-corrector method: a step for mu = 0 tells how far mu may fall, and what
the product of both changes will be. With d = price / room, the changes of the ceilings, the rooms
and the prices follow from the change V of W, whose equations are

    v_m + sum_i x_i d_im (v_m.x_i - mean_i) = the right side,

where mean_i is the mean of v_m.x_i over all classes, weighted by d_i.

Three things keep this accurate where columns are badly scaled, collinear or far from the origin, or
where C is large. The points are rotated to their principal axes, which changes no length, so that
little cancels once the diagonal is scaled to one. The w_m sum to zero, as no loss depends on their
sum; so the last class is eliminated from the matrix. And in the class with the least room, where d
is unbounded, everything follows from the sum over all classes.
"""

from dataclasses import replace

import numpy as np

from maxmargin import arrays
from maxmargin.engines import cholesky
from maxmargin.engines.interrupts import interruptible
from maxmargin.engines.row_blocks import matrices_at_once, summed
from maxmargin.engines.threads import workers
from maxmargin.problems.certificate import relative_difference
from maxmargin.problems.linear import SMALLEST
from maxmargin.solvers.base import LinearSolution, LinearSolver

# The square of this many unknowns is held, and their cube is the work of a step.
LARGEST = 3000
MOST_WORK = 5e10  # A step takes this many products of two numbers at most, which is some seconds.
# A rotated copy of the points may hold this many numbers, which take 160 MB.
MOST_ENTRIES = 20_000_000
BLOCK_WORK = 200_000_000  # A block of rows takes this many products, so that Ctrl-C is seen.
FEWEST_ROWS = 128  # In a block of fewer rows, adding up costs more than multiplying.
MOST_STEPS = 200
PATIENCE = 10  # After this many steps without progress, only rounding is left.
# Progress is a fall of the gap, of mu or of the error of W to this share of the least so far.
PROGRESS = 0.9
BEYOND_TOL = 1e-5  # The aim is a gap of this share of tol, which costs three or four steps more.
WELL_WITHIN = 0.01  # After prices are set to zero, the gap may be this share of tol.
NEARLY = 0.99  # A step goes this share of the way to the boundary.
FADED = 1e-2  # The points left out have at most this share of the curvature of 1/2 |W|^2.
REFINEMENTS = 2  # This many corrections bring a solution of the system to all its digits.
# These are added to a diagonal of ones where rounding asks for it.
RIDGES = (0.0, 1e-14, 1e-11, 1e-8)


def fits(problem):
    """Whether the system of a step can be held, and factorised in seconds."""
    n, width = problem.X.shape[0], problem.X.shape[1] + 1
    is_light = step_work(problem) <= MOST_WORK and n * width <= MOST_ENTRIES
    return 0 < _unknowns(problem) <= LARGEST and is_light


def step_work(problem):
    """The products of two numbers in a step."""
    size = _unknowns(problem)
    return 0.5 * problem.n * size**2 + size**3 / 3


def _unknowns(problem):
    return (problem.n_classes - 1) * min(problem.X.shape[0], problem.X.shape[1] + 1)


class InteriorPoint(LinearSolver):
    """Steps until the relative duality gap is far below `tol`, or rounding lets it fall no more.

    They begin at equal prices, whatever another solver has found.
    """

    def approach(self, problem, budget, start):
        with workers() as pool:
            points, axes = _turned(problem)
            path = _Path(problem, points, pool)
            if self.is_end(problem, start):
                yield replace(start, n_iter=0, stopped="converged")
            while path.gap > BEYOND_TOL * self.tol and path.n_iter < MOST_STEPS:
                yield path.solution(axes)
                if path.is_stuck() or not path.step():
                    break
            found = path.settled_solution(axes, WELL_WITHIN * self.tol)
            yield replace(found, stopped="converged" if found.violation <= self.tol else "stalled")

    def finish(self, problem, found):
        if found.stopped == "interrupted":
            return found
        return replace(found, violation=problem.relative_gap(found.weights, found.coef))


def _turned(problem):
    """The points in the coordinates of their principal axes, and the axes, a row for each."""
    bias = np.full(problem.n, problem.bias)
    points = np.column_stack([arrays.dense(problem.X), bias]).astype(np.float64, copy=False)
    work = 4 * points.size * min(points.shape)
    corner = interruptible(work, np.linalg.qr, points, mode="r")
    axes = interruptible(work, np.linalg.svd, corner, full_matrices=False)[2]
    return interruptible(work, np.matmul, points, axes.T), axes


class _Path:
    """Where the method stands, and the best point that it has seen."""

    @np.errstate(all="ignore")
    def __init__(self, problem, points, pool):
        self.problem, self.points, self.pool = problem, points, pool
        self.lengths = np.einsum("ij,ij->i", points, points)
        self.n_iter = self.last_progress = 0
        self.least = np.full(3, np.inf)
        self.begin()
        self.keep_best(-np.inf)
        self.look()

    def begin(self):
        """Begin at a point that meets every equation, with about the same room for all.

        If W lagged behind the prices, rooms would be used up before it had caught up.
        """
        problem = self.problem
        self.price = np.repeat(problem.C[:, None] / problem.n_classes, problem.n_classes, axis=1)
        self.W = problem.feasible(self.price).T @ self.points
        level = self.points @ self.W.T + ~problem.is_own
        self.ceiling = level.max(axis=1) + max(1.0, float(np.max(np.ptp(level, axis=1))))
        self.room = self.ceiling[:, None] - level

    def look(self):
        """The relative gap, and by how much W, the ceilings and the rooms are off."""
        problem, decisions = self.problem, self.points @ self.W.T
        alpha = problem.feasible(self.price)
        dual_W = alpha.T @ self.points
        primal, dual = problem.primal(self.W, decisions), problem.dual(alpha, dual_W)
        self.gap = relative_difference(primal, dual)
        if self.gap < self.least[0]:
            self.keep_best(dual)
        self.off_W = dual_W - self.W
        self.off_price = problem.C - self.price.sum(axis=1)
        self.off_room = self.ceiling[:, None] - ~problem.is_own - decisions - self.room
        figures = np.array([self.gap, np.mean(self.price * self.room), np.max(np.abs(self.off_W))])
        if np.any(figures < PROGRESS * self.least):
            self.last_progress = self.n_iter
        self.least = np.minimum(self.least, figures)

    def keep_best(self, dual):
        self.best_W, self.best_price, self.best_room = self.W, self.price, self.room
        self.best_dual = dual

    def is_stuck(self):
        return self.n_iter - self.last_progress > PATIENCE

    @np.errstate(all="ignore")
    def step(self):
        """Make a step towards the optimum; return False when rounding leaves none."""
        system = _System(self)
        if system.factor is None:
            return False
        product = self.price * self.room
        _, _, room, price = system.change(-product)
        length = min(1.0, self.longest(room, price))
        left = np.sum((self.price + length * price) * (self.room + length * room))
        mu = (left / product.sum()) ** 3 * product.mean()
        change = system.change(mu - product - room * price)
        length = min(1.0, NEARLY * self.longest(*change[2:]))
        before = self.W, self.ceiling, self.room, self.price
        after = [value + length * by for value, by in zip(before, change, strict=True)]
        self.W, self.ceiling, self.room, self.price = after
        self.n_iter += 1
        self.look()
        return bool(np.isfinite(self.gap))

    @np.errstate(all="ignore")
    def solution(self, axes):
        """The best point so far, in the coordinates of the data."""
        W, alpha = self.best_W @ axes, self.problem.feasible(self.best_price)
        return LinearSolution(W, alpha, self.n_iter, float(self.least[0]), self.best_dual)

    @np.errstate(all="ignore")
    def settled_solution(self, axes, well_within):
        """The best point with settled prices, if they leave next to no gap."""
        found = self.solution(axes)
        alpha = self.problem.feasible(self.settled())
        gap = self.problem.relative_gap(found.weights, alpha)
        if gap <= well_within:
            return replace(found, coef=alpha, violation=gap)
        gap = self.problem.relative_gap(found.weights, found.coef)
        return replace(found, violation=gap)

    def settled(self):
        """The best prices, with zero for those on their way to it: these are smaller than the room,
        if prices are measured in the mean charge of a point and rooms in margins."""
        price, room, C = self.best_price, self.best_room, self.problem.C[:, None]
        charge = np.sum(price[~self.problem.is_own]) / self.problem.n
        price = np.where(price > np.minimum(C, charge) * room, price, 0.0)
        return price * (C / np.maximum(price.sum(axis=1, keepdims=True), SMALLEST))

    def longest(self, room, price):
        """How much of a change can be made until the first room or price is used up."""
        fall = max(np.max(-room / self.room), np.max(-price / self.price))
        return 1.0 / max(fall, 1e-300)


class _System:
    """The equations of one step, factorised; the factor is None where that fails."""

    def __init__(self, path):
        self.path = path
        self.d = path.price / path.room
        self.total = self.d.sum(axis=1)
        self.tightest = np.arange(len(self.d)), np.argmax(self.d, axis=1)
        n_classes = self.d.shape[1]
        # The others are summed and not subtracted, because one class may have nearly all.
        self.others = self.d @ (1.0 - np.eye(n_classes))
        matrix = self.matrix(n_classes)
        self.scale = 1.0 / np.sqrt(np.diagonal(matrix))
        matrix *= self.scale[:, None] * self.scale
        self.factor = _factor(matrix)

    def matrix(self, n_classes):
        """The matrix without the last class, whose w is minus the sum of the others."""
        counts = self.rows_that_count()
        width = self.path.points.shape[1]
        size = (n_classes - 1) * width
        parts = arrays.blocks(len(counts), max(FEWEST_ROWS, BLOCK_WORK // size**2))
        matrix = np.eye(size)
        by_class, axis = matrix.reshape(2 * (n_classes - 1, width)), np.arange(width)
        by_class[:, axis, :, axis] -= 1.0 / n_classes
        at_once = matrices_at_once(size)
        matrix += summed(self.path.pool, lambda part: self.hessian(counts[part]), parts, at_once)
        return matrix

    def rows_that_count(self):
        """All rows but those that together have much less curvature than 1/2 |W|^2."""
        curvature = np.sum(self.d * self.others, axis=1) / self.total * self.path.lengths
        return np.flatnonzero(~(curvature <= FADED / len(curvature)))

    def hessian(self, rows):
        """The matrix that some points add."""
        points, d, total = self.path.points[rows], self.d[rows, :-1], self.total[rows]
        width = points.shape[1]
        spread = (d / np.sqrt(total)[:, None])[:, :, None] * points[:, None, :]
        spread = spread.reshape(len(rows), -1)
        matrix = -(spread.T @ spread)
        weight = d * self.others[rows, :-1] / total[:, None]
        for m in range(d.shape[1]):
            own = slice(m * width, (m + 1) * width)
            weighted = points * np.sqrt(weight[:, m])[:, None]
            matrix[own, own] = weighted.T @ weighted
        return matrix

    def change(self, product):
        """The change of W, ceilings, rooms and prices that makes price * room grow by `product`."""
        path, d, points = self.path, self.d, self.path.points
        rise = product / path.room - d * path.off_room
        lift = (rise.sum(axis=1) - path.off_price) / self.total
        right = path.off_W - self.balanced(rise - d * lift[:, None], path.off_price).T @ points
        W = self.solve(right)
        for _ in range(REFINEMENTS):
            W = W + self.solve(right - self.times(W))
        decisions = points @ W.T
        ceiling = lift + self.mean(decisions)
        room = ceiling[:, None] - decisions + path.off_room
        price = self.balanced(product / path.room - d * room, path.off_price)
        at = self.tightest
        room[at] = (product[at] - path.room[at] * price[at]) / path.price[at]
        return W, ceiling, room, price

    def balanced(self, values, sums):
        """Values that have these sums over all classes. In the class with the least room, d
        amplifies rounding errors, so there the value follows from the others."""
        values[self.tightest] = 0.0
        values[self.tightest] = sums - values.sum(axis=1)
        return values

    def mean(self, decisions):
        return np.sum(self.d * decisions, axis=1) / self.total

    def times(self, W):
        """The whole system times W, from the points."""
        decisions = self.path.points @ W.T
        pull = self.d * (decisions - self.mean(decisions)[:, None])
        return W + self.balanced(pull, 0.0).T @ self.path.points

    def solve(self, right):
        found = self.scale * cholesky.solve(self.factor, self.scale * right[:-1].ravel())
        W = np.vstack([found.reshape(len(right) - 1, -1), np.zeros(right.shape[1])])
        return W - W.mean(axis=0)


def _factor(matrix):
    for ridge in RIDGES:
        factor = matrix + ridge * np.eye(len(matrix))
        if np.all(np.isfinite(np.diagonal(factor))) and cholesky.is_factorised(factor):
            return factor
    return None
