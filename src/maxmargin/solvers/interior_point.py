"""Crammer and Singer's machine by an interior-point method: some twenty steps for any scaling.

With f_im = w_m.x_i the problem is to minimise 1/2 |W|^2 + sum_i C_i (t_i - f_iy) where every class
leaves room below the ceiling t_i of its point:

    room_im = t_i - f_im - [m is not y_i] >= 0.

The price of each room, price_im >= 0, is its multiplier. At the optimum

    sum_m price_im = C_i,    w_m = sum_i (C_i [m is y_i] - price_im) x_i,    price_im room_im = 0.

Newton's method solves these with price * room = mu in place of zero, and mu falls with every step
(Mehrotra's way: a step for mu = 0 tells how far it may fall, and what the product of both changes
will be). With d = price / room, the changes of the ceilings, the rooms and the prices follow from
the change V of W, whose equations are

    v_m + sum_i x_i d_im (v_m.x_i - mean_i) = the right side,

where mean_i is the mean of v_m.x_i over all classes, weighted by d_i.

Three things keep this accurate where columns are badly scaled, collinear or far from the origin or
C is large. The points are turned to their principal axes, which changes no length, so that
little cancels once the diagonal is scaled to one. The w_m sum to zero, as no loss depends on their
sum; so the matrix is that of all classes but the last, less the last. And in the class with the
least room, where d is without bounds, everything follows from the sum over all classes.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.engines.threads import workers
from maxmargin.problems.linear import SMALLEST
from maxmargin.solvers import cholesky
from maxmargin.solvers.interrupts import interruptible
from maxmargin.solvers.row_blocks import matrices_at_once, summed

LARGEST = 3000  # unknowns: the square of them is held, the cube is worked
MOST_WORK = 5e10  # products of two numbers in a step,
MOST_ENTRIES = 20_000_000  # and numbers in a turned copy of the points
BLOCK_WORK = 200_000_000  # products in a block of rows,
FEWEST_ROWS = 128  # unless that were so few that adding up costs more than multiplying
MOST_STEPS = 200
PATIENCE = 10  # steps without progress: rounding is what is left
PROGRESS = 0.9  # of the least gap, mu or error of W so far
BEYOND_TOL = 1e-5  # the gap to aim for, as a share of tol: three or four steps more
WELL_WITHIN = 0.01  # of tol: where a gap may be after prices are set to zero
NEARLY = 0.99  # of the way to the boundary
FADED = 1e-2  # of the curvature of 1/2 |W|^2: what points that are left out may add to it at most
REFINEMENTS = 2
RIDGES = (0.0, 1e-14, 1e-11, 1e-8)  # added to a diagonal of ones where rounding asks for it


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


class InteriorPoint:
    """Steps until the relative duality gap is far below `tol`, or rounding lets it fall no more."""

    def __init__(self, tol, max_iter):
        self.tol = tol
        self.max_iter = max_iter

    def solve(self, problem):
        """Returns W, the dual point and the steps made."""
        with workers() as pool, np.errstate(all="ignore"):
            points, axes = _turned(problem)
            path = _Path(problem, points, pool)
            while path.gap > BEYOND_TOL * self.tol and path.n_iter < min(self.max_iter, MOST_STEPS):
                if path.is_stuck() or not path.step():
                    break
            W = path.best_W @ axes
            alpha = problem.feasible(path.settled())
            if not problem.certify(W, alpha, WELL_WITHIN * self.tol).optimal:
                alpha = problem.feasible(path.best_price)
        return W, alpha, path.n_iter


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

    def __init__(self, problem, points, pool):
        self.problem, self.points, self.pool = problem, points, pool
        self.lengths = np.einsum("ij,ij->i", points, points)
        self.n_iter = self.last_progress = 0
        self.least = np.full(3, np.inf)
        self.begin()
        self.best_W, self.best_price, self.best_room = self.W, self.price, self.room
        self.look()

    def begin(self):
        """At a point that meets every equation, with about the same room for all: where W lags
        behind the prices, rooms would be used up before it has caught up."""
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
        self.gap = (primal - dual) / max(abs(primal), abs(dual), 1e-300)
        if self.gap < self.least[0]:
            self.best_W, self.best_price, self.best_room = self.W, self.price, self.room
        self.off_W = dual_W - self.W
        self.off_price = problem.C - self.price.sum(axis=1)
        self.off_room = self.ceiling[:, None] - ~problem.is_own - decisions - self.room
        figures = np.array([self.gap, np.mean(self.price * self.room), np.max(np.abs(self.off_W))])
        if np.any(figures < PROGRESS * self.least):
            self.last_progress = self.n_iter
        self.least = np.minimum(self.least, figures)

    def is_stuck(self):
        return self.n_iter - self.last_progress > PATIENCE

    def step(self):
        """Towards the optimum; False when rounding leaves no step."""
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

    def settled(self):
        """The best prices, of which those on their way to zero are zero: they are smaller than the
        room, which is measured in margins, and they in what a point is charged on average."""
        price, room, C = self.best_price, self.best_room, self.problem.C[:, None]
        charge = np.sum(price[~self.problem.is_own]) / self.problem.n
        price = np.where(price > np.minimum(C, charge) * room, price, 0.0)
        return price * (C / np.maximum(price.sum(axis=1, keepdims=True), SMALLEST))

    def longest(self, room, price):
        """How much of a change there is until the first room or price is used up."""
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
        # Summed, not subtracted: one class may have nearly all of the total.
        self.others = self.d @ (1.0 - np.eye(n_classes))
        matrix = self.matrix(n_classes)
        self.scale = 1.0 / np.sqrt(np.diagonal(matrix))
        matrix *= self.scale[:, None] * self.scale
        self.factor = _factor(matrix)

    def matrix(self, n_classes):
        """That of all classes but the last, less the last; only W's own part has all of them."""
        counts = self.rows_that_count()
        width = self.path.points.shape[1]
        size = (n_classes - 1) * width
        parts = arrays.blocks(len(counts), max(FEWEST_ROWS, BLOCK_WORK // size**2))
        matrix = np.eye(size)
        by_class, axis = matrix.reshape(2 * (n_classes - 1, width)), np.arange(width)
        by_class[:, axis, :, axis] -= 1.0 / n_classes
        at_once = matrices_at_once(size)
        matrix += summed(self.path.pool, lambda part: self.bend(counts[part]), parts, at_once)
        return matrix

    def rows_that_count(self):
        """The others bend the objective less than W does itself, all of them together."""
        bend = np.sum(self.d * self.others, axis=1) / self.total * self.path.lengths
        return np.flatnonzero(~(bend <= FADED / len(bend)))

    def bend(self, rows):
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
        """Of W, the ceilings, the rooms and the prices, so that price * room grows by `product`."""
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
        """Values that have these sums over all classes. In the class with the least room d blows up
        what rounding leaves of a difference, so there the value follows from the others."""
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
