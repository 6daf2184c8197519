"""The lasso: coordinate descent from afar, the exact solution for given signs nearby.

Few features are in use at the optimum. Coordinate descent over those that seem to be in use comes
close to it in a few sweeps, unless features are strongly correlated or outnumber the points.

The optimum is the solution of a linear system as soon as the signs of w are known. Near an optimum
(the next step of a path) few of them change, and they are found by trial: a feature whose sign
comes out wrong leaves, and a feature whose correlation is above the penalty joins. Where too many
change at once, the penalty is lowered in smaller steps, for w is continuous and piecewise linear in
it. All this needs only the Gram matrix of a working set of features; one pass over the data then
gives the duality gap, and the features that the working set still lacks.

Invariant: the gap that ends the search is always computed from the data themselves.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from maxmargin.compiled.lasso import block_of, subtract_rows, sweep
from maxmargin.engines import cholesky
from maxmargin.engines.interrupts import SLICE, interruptible, slices
from maxmargin.problems.lasso import Point
from maxmargin.solvers.base import LinearSolution, LinearSolver

# A penalty below this share of the strongest pull is better reached by coordinate descent.
FAR = 0.5
NEAR = 0.8  # In one stage the penalty may fall to this share of the strongest pull.
BAND = 0.9  # Features that pull more strongly than this share of the penalty are looked at.
FEWEST = 100  # This many features may be added at a time, or as many as are in use.
LARGEST = 6000  # The working set may be so large, because its Gram matrix is dense.
CLOSER = 1e-3  # Coordinate descent may leave this part of a gap on its features.
SWEEPS = 100  # After this many sweeps, coordinate descent gives way to linear systems.
FEW, FEW_SHARE = 10, 0.1  # This many signs may be wrong, or this part of the support.
SHORTEST = 1e-4  # After a step shorter than this, features can only be exchanged one by one.
SLACK = 1e-13  # Within the working set, a pull may exceed the penalty by this, relative to it.
# A slope of the features in use that is below this, relative to the penalty, counts as zero.
AT_REST = 1e-9
TINY = 1e-14  # A gap below this, relative to |y|^2, is only rounding.
IN_ONE_CALL = 1000  # A matrix of this many rows is factorised by LAPACK soon enough for Ctrl-C.
# This share of the largest entry is added to the diagonal of the Gram matrix, so that it has a
# Cholesky factor although features depend on each other.
RIDGE = 1e-13


class WorkingSet:
    """The features that have mattered so far, and their Gram matrix.

    It knows neither y nor the penalty: the targets of a fit and all steps of a path share it.
    """

    def __init__(self, features):
        self.features = features
        self.clear()

    def clear(self):
        self.members = np.empty(0, dtype=np.intp)
        self.is_member = np.zeros(self.features.n_features, dtype=bool)
        self.gram = np.empty((0, 0))  # it grows beyond what is needed, to be extended in place
        self._support, self._factor = np.empty(0, dtype=np.intp), None

    def extend(self, new):
        """Compute the new rows and columns of the Gram matrix, and only them."""
        if not len(new):
            return
        old, size = len(self.members), len(self.members) + len(new)
        self.members = np.concatenate([self.members, new])
        self.is_member[new] = True
        if size > len(self.gram):
            room = min(size + size // 2, max(size, LARGEST))
            grown = np.empty((room, room))
            grown[:old, :old] = self.gram[:old, :old]
            self.gram = grown
        work = self.features.mean_stored * len(new) * size
        self.gram[old:size, :size] = interruptible(work, self.features.gram, new, self.members)
        self.gram[:old, old:size] = self.gram[old:size, :old].T

    def solve(self, support, right):
        """Solve G x = right for some members; the factor for the same members is used again."""
        if not np.array_equal(self._support, support):
            self._support, self._factor = support, self._factorised(support)
        return lapack.dpotrs(self._factor, right)[0]

    def _factorised(self, support):
        # Rounding may make the squared length of an all but constant column negative.
        ridge = max(RIDGE * float(np.max(np.abs(self.gram.diagonal()[support]))), 1e-290)
        while True:
            # The transpose of a lower triangle stored by rows is LAPACK's upper triangle.
            block = block_of(self.gram, support, ridge).T
            if len(support) <= IN_ONE_CALL:
                block, failed = lapack.dpotrf(block, clean=False, overwrite_a=True)
            else:
                failed = not cholesky.is_factorised(block.T)
            if not failed:
                return block
            ridge *= 100


@dataclass
class LassoSolution(LinearSolution):
    """A w, with its residual and correlations where these have been computed."""

    point: Point | None = None


class CoordinateDescent(LinearSolver):
    """Coordinate descent and working sets until the duality gap is at most tol |y|^2.

    One solver serves all targets and penalties on the same features, and remembers their Gram
    matrix from one to the next. An iteration is a sweep of coordinate descent or the solution of
    one linear system.
    """

    counted = "weights"
    working_set = None

    def approach(self, problem, budget, start):
        point, n_iter, arrived = _beginning(problem, start), 0, False
        goal, begun = self.tol * problem.scale, point
        sweeps = problem.penalty < FAR * np.max(problem.pull(point.correlations))
        while True:
            gap = problem.gap(point)
            # Before the final penalty is reached, a w that is just good enough is made exact.
            is_done = gap <= (goal if arrived else min(goal, TINY * problem.scale))
            yield self.solution(problem, point, gap, n_iter, "converged" if is_done else "")
            left = budget.max_iter - n_iter
            too_many = FEWEST + 2 * np.count_nonzero(point.w) > LARGEST
            if sweeps or too_many:
                arrived, made = True, 0
                accuracy = max(goal, CLOSER * gap)
                for w, value, made in swept(problem, point, accuracy, min(SWEEPS, left)):
                    yield LassoSolution(w, None, n_iter + made, relative(problem, gap), value)
                point = problem.at(w)
                if n_iter + made >= SWEEPS and not too_many:
                    sweeps, made = False, made + 1
                    point = self._settled(problem, point) or begun
            else:
                stage = max(problem.penalty, NEAR * float(np.max(problem.pull(point.correlations))))
                arrived = stage == problem.penalty
                point, made = self._followed(replace(problem, penalty=stage), point, left, budget)
            n_iter += made

    def solution(self, problem, point, gap, n_iter, stopped):
        value = problem.objective(point)
        return LassoSolution(point.w, None, n_iter, relative(problem, gap), value, stopped, point)

    def finish(self, problem, found):
        point = found.point or problem.at(found.weights)
        return self.judged(found, relative(problem, problem.gap(point)), point=point)

    def _settled(self, problem, point):
        """The optimum on the working set, if coordinate descent has come near enough."""
        restricted = self._restricted(problem, point)
        found = restricted.settle(np.full(len(restricted.w), problem.penalty))
        return problem.at(restricted.all_weights()) if found else None

    def _followed(self, problem, point, max_iter, budget):
        """The optimum on the working set, from one for a penalty that is not much larger."""
        restricted = self._restricted(problem, point)
        restricted.follow(problem.penalty, max_iter, budget)
        return problem.at(restricted.all_weights()), restricted.n_iter

    def _restricted(self, problem, point):
        """The problem on the working set, which may grow for it."""
        if self.working_set is None or self.working_set.features is not problem.features:
            self.working_set = WorkingSet(problem.features)
        chosen = candidates(problem, point)
        new = chosen[~self.working_set.is_member[chosen]]
        if len(self.working_set.members) + len(new) > LARGEST:
            self.working_set.clear()
            new = chosen
        self.working_set.extend(new)
        return Restricted(problem, point, self.working_set)


def _beginning(problem, start):
    """Zero, or the point of another solution."""
    if start is None:
        return problem.start()
    return getattr(start, "point", None) or problem.start(start.weights)


def relative(problem, gap):
    """The gap in the unit of tol."""
    return gap / problem.scale if problem.scale > 0 else gap


def candidates(problem, point):
    """The features in use, and of the others those that pull most strongly.

    A feature that pulls a little less than the penalty may pull more when the others have moved.
    The choice is a guess, which the gap judges.
    """
    in_use = np.flatnonzero(point.w)
    pull = problem.pull(point.correlations).copy()
    pull[in_use] = 0.0
    others = np.flatnonzero(pull > BAND * problem.penalty)
    most = FEWEST + len(in_use)
    if len(others) > most:
        others = others[np.argpartition(-pull[others], most)[:most]]
    return np.concatenate([in_use, others])


def swept(problem, point, accuracy, max_sweeps):
    """Coordinate descent on the data: yields w, its objective and the sweeps made after each slice.

    A slice is as many sweeps as fit into it, or a single one in parts.
    """
    features = problem.features
    chosen = np.sort(candidates(problem, point))
    enough = 0.1 * accuracy / len(chosen)
    work = 2 * features.mean_stored * len(chosen)
    at_once, parts = max(1, int(SLICE / max(work, 1))), slices(chosen, work)
    w, residual, made = point.w.copy(), point.residual.copy(), 0
    while made < max_sweeps:
        asked, start = min(at_once, max_sweeps - made), w[chosen]
        for part in parts:
            before = w[part]
            count = sweep(
                *features.columns(), features.mean, problem.total_weight, part,
                features.squared_lengths, problem.penalty, problem.positive, w, residual, enough,
                asked,
            )  # fmt: skip
            residual += (features.mean[part] @ (w[part] - before)) * features.root
        made += count
        yield w.copy(), problem.objective(Point(w, residual, None)), made
        changes = features.squared_lengths[chosen] * (w[chosen] - start) ** 2
        if count < asked or np.max(changes) <= enough:
            break


class Restricted:
    """The problem on a working set: w and its correlations there, and the ways to move them."""

    def __init__(self, problem, point, working_set):
        self.problem = problem
        self.point = point
        self.working_set = working_set
        self.w = point.w[working_set.members]
        self.correlations = point.correlations[working_set.members]
        self.n_iter = 0

    def all_weights(self):
        w = self.point.w.copy()
        w[self.working_set.members] = self.w
        return w

    def follow(self, penalty, max_iter, budget):
        """Lower the penalty to its value, in steps that `settle` can take.

        The penalties at which w is optimal now are the features' own pull where they are in use,
        and the strongest pull of all where they are not.
        """
        pull = self.problem.pull(self.correlations)
        start = np.where(self.w == 0, max(penalty, float(np.max(pull))), pull)
        done, step = 0.0, 1.0
        while done < 1.0 and self.n_iter < max_iter and not budget.out_of_time():
            reached = min(1.0, done + step)
            penalties = start + reached * (penalty - start)
            if self.settle(penalties):
                done, step = reached, 2 * step
            elif step > SHORTEST:
                step /= 4
            else:
                self.pivot(penalties)

    def settle(self, penalties):
        """Move to the optimum for these penalties if its signs are close to those of w; else return
        False."""
        w, correlations, signs = self.w, self.correlations, np.sign(self.w)
        fewest = len(w) + 1
        while True:
            self.n_iter += 1
            target = self.optimum_for(signs, w, correlations - penalties * signs)
            if target is None:
                return False
            correlations = correlations.copy()
            subtract_rows(self.working_set.gram, target - w, correlations)
            w = target
            wanting = (w == 0) & (self.problem.pull(correlations) > penalties * (1 + SLACK))
            n_wanting = np.count_nonzero(wanting)
            if n_wanting == 0:
                self.w, self.correlations = w, correlations
                return True
            if n_wanting >= fewest:
                return False
            fewest = n_wanting
            signs = np.where(wanting, np.sign(correlations), np.sign(w))

    def pivot(self, penalties):
        """Make the one step that is always possible: up to where the first feature loses its sign.

        When the features in use are at their optimum, the one that pulls most strongly joins them.
        """
        self.n_iter += 1
        signs = np.sign(self.w)
        slope = (self.correlations - penalties * signs) * (signs != 0)
        if np.max(np.abs(slope)) <= AT_REST * np.max(penalties):
            excess = np.where(signs == 0, self.problem.pull(self.correlations) - penalties, -np.inf)
            newcomer = np.argmax(excess)
            if excess[newcomer] > 0:
                signs[newcomer] = np.sign(self.correlations[newcomer])
                slope[newcomer] = (
                    self.correlations[newcomer] - penalties[newcomer] * signs[newcomer]
                )
        support = np.flatnonzero(signs)
        step = np.zeros_like(self.w)
        step[support] = self.working_set.solve(support, slope[support])
        turning = np.flatnonzero(self.w * step < 0)
        lengths = -self.w[turning] / step[turning]
        length = min(1.0, np.min(lengths, initial=1.0))
        target = self.w + length * step
        target[turning[lengths <= length]] = 0.0
        subtract_rows(self.working_set.gram, target - self.w, self.correlations)
        self.w = target

    def optimum_for(self, signs, w, slope):
        """The optimum for given signs, without the features whose sign it would not keep.

        It is None when these are many, because the signs are then a bad guess.
        """
        target = np.zeros_like(w)
        support = np.flatnonzero(signs)
        if not len(support):
            return target
        signs = signs[support]
        ideal = w[support] + self.working_set.solve(support, slope[support])
        kept, lost = ideal, np.zeros(len(support), dtype=bool)
        while np.any(kept * signs < 0):
            lost |= kept * signs < 0
            if np.count_nonzero(lost) > FEW + FEW_SHARE * len(support):
                return None
            try:
                kept = self.held_at_zero(np.flatnonzero(lost), support, ideal)
            except np.linalg.LinAlgError:  # some features are equal
                return None
        target[support] = kept
        return target

    def held_at_zero(self, lost, support, ideal):
        """The optimum without some features, from the one with them and its factor.

        A force on each of the lost ones moves them to zero, and the others along with them.
        """
        forces = np.zeros((len(support), len(lost)))
        forces[lost, np.arange(len(lost))] = 1.0
        response = self.working_set.solve(support, forces)
        kept = ideal - response @ np.linalg.solve(response[lost], ideal[lost])
        kept[lost] = 0.0
        return kept
