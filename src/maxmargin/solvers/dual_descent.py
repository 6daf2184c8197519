"""Dual coordinate descent for linear machines: one c_i at a time, w kept up to date.

A step costs one row of X, twice: once for its decision value and once to move w. A pass visits the
points in a random order, drawn anew from the seed. Points that did not move for a while are visited
in every tenth pass only; before the end every point is looked at again.

Near the end descent is slow, because the free points pull at one another. There are seldom more of
them than features, so `polish` solves for all of them at once.
"""

import numpy as np
from scipy import linalg

from maxmargin import arrays
from maxmargin.compiled.linear import descend
from maxmargin.engines.free_points import box
from maxmargin.engines.interrupts import slices
from maxmargin.solvers.base import LinearSolution, LinearSolver

QUIET = 3  # A point that did not move in this many passes is left alone for a while.
EVERY = 10  # All points are looked at in every so many passes.
# `polish` factorises the matrix of all free points, which costs the cube of their number.
MOST_FREE = 1000
# At the optimum of a plain loss about as many points are free as there are features. This many are
# few in any case.
ALWAYS_FEW = 100
EXACT = 1e-11  # A relative gap of this leaves nothing to polish.
FAREWELL = 3  # Once tol is reached, this many rounds are spent on getting further.


class Passes:
    """Passes over the points in random order; `work` is the work of a pass over all of them."""

    def __init__(self, n, seed, work):
        self.n, self.work = n, work
        self.random = np.random.default_rng(seed)
        self.quiet = np.zeros(n, dtype=np.int64)
        self.made = 0

    def make(self, visit, coef):
        """Make a pass in which `visit` moves the `coef` of points; True if all had a turn."""
        everyone = self.made % EVERY == 0
        self.made += 1
        order = np.arange(self.n) if everyone else np.flatnonzero(self.quiet < QUIET)
        before = coef.copy()
        for part in slices(self.random.permutation(order), self.work * len(order) / self.n):
            visit(part)
        moved = np.any((coef != before).reshape(self.n, -1), axis=1)
        self.quiet = np.where(moved, 0, self.quiet + 1)
        return everyone


class DualDescent(LinearSolver):
    """Coordinate descent until the relative duality gap is below `tol`, and a little further.

    After `patience` passes it gives up as "stalled", for a caller that has another method.
    """

    def __init__(self, tol, seed=0, patience=np.inf):
        super().__init__(tol)
        self.seed, self.patience = seed, patience

    def approach(self, problem, budget, start):
        coef, w = problem.dual_start(start), np.zeros(problem.X.shape[1] + 1)
        data, lengths = arrays.storage(problem.X), problem.squared_lengths()
        passes = Passes(problem.n, self.seed, 2 * data[0].size)
        limit = min(budget.max_iter, self.patience)
        gap, reached, stopped = np.inf, 0, ""

        def visit(rows):
            descend(
                *data, problem.bias, problem.linear, problem.epsilon, problem.lower,
                problem.upper, problem.damping, lengths, rows, coef, w,
            )  # fmt: skip

        if start is not None:
            w = problem.weights_of(coef)
            gap = problem.relative_gap(w, coef, w)
            stopped = "converged" if gap <= self.tol else ""
        while True:
            yield LinearSolution(w, coef, passes.made, gap, problem.dual(coef, w), stopped)
            everyone = passes.make(visit, coef)
            if everyone or passes.made >= limit:
                coef = polish(problem, coef)
                w = problem.weights_of(coef)  # many additions leave rounding errors in w
                gap = problem.relative_gap(w, coef, w)
                reached += gap <= self.tol
                if gap <= EXACT or reached > FAREWELL:
                    stopped = "converged"
                elif limit <= passes.made < budget.max_iter:
                    stopped = "stalled"

    def finish(self, problem, found):
        if found.stopped in ("converged", "interrupted"):
            return found
        w = problem.weights_of(found.coef)
        return self.judged(found, problem.relative_gap(w, found.coef, w), weights=w)


def polish(problem, coef):
    """Maximise over the free points together, up to the first bound, and again without that one.

    Every step raises the dual objective, so nothing is lost where the optimum is not reached.
    """
    coef = coef.copy()
    most = min(MOST_FREE, max(ALWAYS_FEW, 2 * (problem.X.shape[1] + 1)))
    for _ in range(50):
        free = np.flatnonzero((coef != 0) & (coef > problem.lower) & (coef < problem.upper))
        if not 0 < len(free) <= most:
            break
        rows = arrays.dense(problem.X[free])
        rows = np.column_stack([rows, np.full(len(free), problem.bias)])
        residual = problem.linear[free] - rows @ problem.weights_of(coef)
        slope = residual - problem.damping[free] * coef[free]
        slope -= problem.epsilon[free] * np.sign(coef[free])
        step = _ascent(rows, problem.damping[free], slope)
        length, hit = _room(problem, free, coef[free], step)
        coef[free] += length * step
        if hit is None:
            break
        coef[free[hit[0]]] = hit[1]
    return coef


def _ascent(rows, damping, slope):
    """The maximiser of slope.s - 1/2 |rows's|^2 - 1/2 s'Ds, or a direction where there is none."""
    matrix = rows @ rows.T + np.diag(damping)
    values, vectors = linalg.eigh(matrix)
    along = vectors.T @ slope
    flat = values <= 1e-12 * max(values[-1], 1e-300)
    if np.linalg.norm(along[flat]) > 1e-9 * max(np.linalg.norm(slope), 1e-300):
        return vectors[:, flat] @ along[flat] * 1e12  # the first bound will stop it
    return vectors[:, ~flat] @ (along[~flat] / values[~flat])


def _room(problem, free, coef, step):
    """How much of the step fits (at most all of it), and which point then sits at which bound."""
    lower, upper = box(coef, problem.lower[free], problem.upper[free], problem.epsilon[free])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        room = np.where(step > 0, (upper - coef) / step, (lower - coef) / step)
    room = np.where(step == 0, np.inf, room)
    nearest = int(np.argmin(room))
    if room[nearest] >= 1.0:
        return 1.0, None
    bound = upper[nearest] if step[nearest] > 0 else lower[nearest]
    return float(room[nearest]), (nearest, float(bound))
