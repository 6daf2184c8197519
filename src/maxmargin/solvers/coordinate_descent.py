"""The lasso: coordinate descent from afar, the exact solution for given signs nearby.

Few features are in use at the optimum. Coordinate descent over those that seem to be comes close to
it in a few sweeps, unless features are strongly correlated or more numerous than the points.

The optimum is the solution of a linear system as soon as the signs of w are known. Near an optimum
(the next step of a path) few of them change, and they are found by trial: a solution with a wrong
sign loses that feature, one with a correlation above the penalty gains that feature. Where too many
change at once the penalty is lowered in smaller strides, for w is continuous and piecewise linear
in it. All this needs only the Gram matrix of a working set of features; one pass over the data then
gives the duality gap, and the features that the set still lacks.

Invariant: the gap that ends the search is always computed from the data themselves.
"""

import numpy as np
from scipy.linalg import lapack

from maxmargin.compiled.lasso import block_of, subtract_rows, sweep
from maxmargin.solvers import cholesky
from maxmargin.solvers.interrupts import SLICE, interruptible, slices

FAR = 0.5  # of the strongest pull: a penalty below it is better reached by coordinate descent
NEAR = 0.8  # how far the penalty may fall below the strongest pull in one stage
BAND = 0.9  # of the penalty: features that pull more strongly are looked at,
FEWEST = 100  # at most this many at a time, and as many as are in use
LARGEST = 6000  # working set; its Gram matrix is dense
CLOSER = 1e-3  # part of a gap that coordinate descent may leave on its features
SWEEPS = 100  # of coordinate descent, after which it is not the right way
FEW, FEW_SHARE = 10, 0.1  # signs that may be wrong: so many, and that part of the support
SHORTEST = 1e-4  # stride, below which features can only be exchanged one by one
SLACK = 1e-13  # relative, by which a pull may exceed the penalty within the working set
AT_REST = 1e-9  # relative to the penalty: a slope of those in use that is none
TINY = 1e-14  # relative to |y|^2: a gap that is only rounding
IN_ONE_CALL = 1000  # rows of a matrix that LAPACK factorises soon enough for Ctrl-C
RIDGE = 1e-13  # relative, so that features that depend on each other have a factor too


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
        self.gram = np.empty((0, 0))  # larger than needed, so that it can grow
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
        """G^-1 right for some members; those that come again are not factorised again."""
        if not np.array_equal(self._support, support):
            self._support, self._factor = support, self._factorised(support)
        return lapack.dpotrs(self._factor, right)[0]

    def _factorised(self, support):
        # Of columns that hardly differ from their means, rounding may leave less than nothing.
        ridge = max(RIDGE * float(np.max(np.abs(self.gram.diagonal()[support]))), 1e-290)
        while True:
            # The transpose of a lower triangle by rows is what LAPACK calls an upper triangle.
            block = block_of(self.gram, support, ridge).T
            if len(support) <= IN_ONE_CALL:
                block, failed = lapack.dpotrf(block, clean=False, overwrite_a=True)
            else:
                failed = not cholesky.is_factorised(block.T)
            if not failed:
                return block
            ridge *= 100


class CoordinateDescent:
    """Coordinate descent and working sets until the duality gap is at most tol |y|^2.

    One solver serves all targets and penalties on the same features, and remembers their Gram
    matrix from one to the next.
    """

    def __init__(self, features, tol, max_iter):
        self.tol = tol
        self.max_iter = max_iter
        self.working_set = WorkingSet(features)

    def solve(self, problem, penalty, start):
        """From any point to the optimum: returns it, its gap, and the iterations made.

        An iteration is a sweep of coordinate descent or the solution of one linear system.
        """
        goal = self.tol * problem.scale
        point, n_iter, arrived = start, 0, False
        sweeps = penalty < FAR * np.max(problem.pull(start.correlations))
        while True:
            gap = problem.gap(point, penalty)
            left = self.max_iter - n_iter
            # On the way, and at the start, a w that is just good enough is made exact all the same.
            if gap <= (goal if arrived else min(goal, TINY * problem.scale)) or left <= 0:
                return point, gap, n_iter
            too_many = FEWEST + 2 * np.count_nonzero(point.w) > LARGEST
            if sweeps or too_many:
                arrived = True
                accuracy = max(goal, CLOSER * gap)
                point, made = swept(problem, penalty, point, accuracy, min(SWEEPS, left))
                if n_iter + made >= SWEEPS and not too_many:
                    sweeps, made = False, made + 1
                    point = self._settled(problem, penalty, point) or start
            else:
                stage = max(penalty, NEAR * float(np.max(problem.pull(point.correlations))))
                arrived = stage == penalty
                point, made = self._followed(problem, stage, point, left)
            n_iter += made

    def _settled(self, problem, penalty, point):
        """The optimum on the working set, if coordinate descent has come near enough."""
        restricted = self._restricted(problem, penalty, point)
        found = restricted.settle(np.full(len(restricted.w), penalty))
        return problem.at(restricted.all_weights()) if found else None

    def _followed(self, problem, penalty, point, max_iter):
        """The optimum on the working set, from one for a penalty that is not much larger."""
        restricted = self._restricted(problem, penalty, point)
        restricted.follow(penalty, max_iter)
        return problem.at(restricted.all_weights()), restricted.n_iter

    def _restricted(self, problem, penalty, point):
        """The problem on the working set, which may grow for it."""
        chosen = candidates(problem, penalty, point)
        new = chosen[~self.working_set.is_member[chosen]]
        if len(self.working_set.members) + len(new) > LARGEST:
            self.working_set.clear()
            new = chosen
        self.working_set.extend(new)
        return Restricted(problem, point, self.working_set)


def candidates(problem, penalty, point):
    """The features in use, and of the others those that pull most strongly.

    One that pulls a little less than the penalty may pull more when the others have moved. It is a
    guess: the gap is the judge.
    """
    in_use = np.flatnonzero(point.w)
    pull = problem.pull(point.correlations).copy()
    pull[in_use] = 0.0
    others = np.flatnonzero(pull > BAND * penalty)
    most = FEWEST + len(in_use)
    if len(others) > most:
        others = others[np.argpartition(-pull[others], most)[:most]]
    return np.concatenate([in_use, others])


def swept(problem, penalty, point, accuracy, max_sweeps):
    """Coordinate descent on the data; returns the point and the sweeps made.

    As many sweeps at once as fit into a slice, or a part of one sweep.
    """
    features = problem.features
    chosen = np.sort(candidates(problem, penalty, point))
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
                features.squared_lengths, penalty, problem.positive, w, residual, enough, asked,
            )  # fmt: skip
            residual += (features.mean[part] @ (w[part] - before)) * features.root
        made += count
        changes = features.squared_lengths[chosen] * (w[chosen] - start) ** 2
        if count < asked or np.max(changes) <= enough:
            break
    return problem.at(w), made


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

    def follow(self, penalty, max_iter):
        """Lower the penalty to its value, in strides that `settle` can take.

        The penalties at which w is optimal now are the features' own pull where they are in use,
        and the strongest pull of all where they are not.
        """
        pull = self.problem.pull(self.correlations)
        start = np.where(self.w == 0, max(penalty, float(np.max(pull))), pull)
        done, stride = 0.0, 1.0
        while done < 1.0 and self.n_iter < max_iter:
            reached = min(1.0, done + stride)
            penalties = start + reached * (penalty - start)
            if self.settle(penalties):
                done, stride = reached, 2 * stride
            elif stride > SHORTEST:
                stride /= 4
            else:
                self.pivot(penalties)

    def settle(self, penalties):
        """The optimum for these penalties, if its signs are close to those of w; else False."""
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
        """The one step that is always possible: up to where the first feature loses its sign.

        When those in use are at their optimum, the one that pulls most strongly joins them.
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

        None when these are many: then the signs are no good.
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
            except np.linalg.LinAlgError:  # features that are the same
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
