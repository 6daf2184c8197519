"""The C-SVCs of all small pairs of classes in one compiled pass.

Hundreds of classes are tens of thousands of pairs of a few rows each. Setting up such a problem
costs far more than solving it, so they are solved together: the kernel matrix of all their rows is
made once, and a compiled loop goes from pair to pair (`compiled/pairs.py`). What that loop does not
finish is left to the solver it stands in for, `solvers/smo.py`.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin import arrays
from maxmargin.compiled import pairs as compiled
from maxmargin.compiled.numba_setup import HAS_COMPILER
from maxmargin.engines.base import BLOCK_SHARE
from maxmargin.engines.threads import workers
from maxmargin.problems.certificate import LARGEST_GAP
from maxmargin.solvers import smo
from maxmargin.solvers.leave_out import ROUGH_TOL

LARGEST = 255  # For pairs of more points than these, setting up the problem hardly counts.
# Up to this sum of squared sizes, one thread solves all pairs sooner than it wakes another.
ALONE = 100_000
AT_A_TIME = 256  # A thread takes this many pairs at a time.
# One call makes this many steps times variables, which take 0.1 s or less.
SLICE = 20_000_000 if HAS_COMPILER else 40_000


@dataclass(frozen=True)
class Classes:
    """The rows of every class that count, and what slack costs each row of X."""

    matrix: object
    members: list
    price: np.ndarray
    weight: np.ndarray
    class_weight: np.ndarray

    @property
    def sizes(self):
        return np.array([len(rows) for rows in self.members])

    def compiled_form(self, place):
        sizes, rows = self.sizes, np.concatenate(self.members)
        counted = np.where(self.class_weight > 0, self.class_weight, 1.0)
        return compiled.Classes(
            place, np.concatenate([[0], np.cumsum(sizes)]), rows.astype(np.int64),
            self.price[rows], self.weight[rows], np.log(counted),
        )  # fmt: skip


def stands_in_for(solver):
    """Whether the pass solves small problems as this solver would."""
    return type(solver) is smo.SMO and solver.tight


def solve_small_pairs(classes, pairs, solver, budget, ulps, folds, found):
    """Solve the pairs of classes that are small, and write what is found to its place in `found`.

    A kernel value may be off by `ulps` units in the last place. `folds(n, m)` says in which fold
    each of n rows and each of m others is; it is None if probabilities are not asked for.
    """
    sizes = classes.sizes
    points = sizes[pairs].sum(axis=1)
    room = int(np.sqrt(BLOCK_SHARE * classes.matrix.room / 8))
    is_small = (points <= min(LARGEST, smo.TIGHT, room)) & np.all(sizes[pairs] > 0, axis=1)
    small, folds = np.flatnonzero(is_small), _folds(folds, sizes[pairs])
    for own in _tiles(sizes, pairs, small, room):
        if budget.out_of_time():
            return
        tile = _Tile(classes, pairs, own, solver, budget, ulps, folds, found)
        if points[own] @ points[own] <= ALONE:
            tile.solve(slice(None))
        else:
            _shared_by_threads(tile, len(own), budget)


def _shared_by_threads(tile, n_pairs, budget):
    try:
        with workers() as pool:
            pool.map(tile.solve, arrays.blocks(n_pairs, AT_A_TIME))
    except BaseException:
        budget.end_now()  # no thread goes on for long
        raise


def _tiles(sizes, pairs, small, room):
    """The small pairs, grouped by the matrix that they need: that of all their rows, if there is
    room for it, or that of the rows of two groups of classes."""
    taken = np.zeros(len(sizes), dtype=np.int64)
    concerned = np.unique(pairs[small])
    taken[concerned] = sizes[concerned]
    if taken.sum() <= room:
        return [small] if len(small) else []
    group = (np.cumsum(taken) - taken) // max(1, room // 2 - LARGEST)
    key = group[pairs[small]] @ [group[-1] + 1, 1]
    order = np.argsort(key, kind="stable")
    return np.split(small[order], np.flatnonzero(np.diff(key[order])) + 1)


class _Tile:
    """Pairs whose kernel matrix is held at one time, by their positions among all pairs."""

    def __init__(self, classes, pairs, own, solver, budget, ulps, folds, found):
        self.own, self.pairs, self.budget = own, pairs, budget
        self.found = compiled.Found(*(getattr(found, name) for name in compiled.Found._fields))
        concerned, sizes = np.unique(pairs[own]), classes.sizes
        place = np.zeros(len(sizes), dtype=np.int64)
        place[concerned] = np.cumsum(sizes[concerned]) - sizes[concerned]
        self.classes = classes.compiled_form(place)
        self.is_mercer = bool(classes.matrix.kernel.positive_semidefinite)
        self.limits = _limits(solver, budget, ulps)
        self.folds = folds
        rows = np.concatenate([classes.members[k] for k in concerned])
        with budget.clock("block"):
            self.K = classes.matrix.values(classes.matrix.points.positions(rows))

    def solve(self, part):
        """Solve some of the pairs in time, in slices between which Ctrl-C is seen."""
        own, reached = self.own[part], 0
        while reached < len(own) and not self.budget.out_of_time():
            reached = compiled.solve_pairs(
                self.K, self.classes, self.pairs, own, self.is_mercer, self.limits,
                max(self.limits.tol, ROUGH_TOL), *self.folds, self.found, reached, SLICE,
            )  # fmt: skip


def _limits(solver, budget, ulps):
    return compiled.Limits(
        float(solver.tol), smo.TIGHT_TOL, smo.FEWEST_STEPS, smo.HARD, smo.TIGHT_WORK,
        smo.TIGHT_STEPS, int(budget.max_iter), smo.REFRESHES, float(ulps), LARGEST_GAP,
    )  # fmt: skip


def _folds(folds, sizes):
    """The folds of every pair in one array, which pairs of the same sizes share, and where each
    begins."""
    if folds is None:
        return None, np.zeros(len(sizes), dtype=np.int64)  # None spares compiling what folds need
    kinds, kind = np.unique(sizes, axis=0, return_inverse=True)
    ends = np.cumsum(kinds.sum(axis=1))
    return (
        np.concatenate([folds(*map(int, pair)) for pair in kinds]),
        (ends - kinds.sum(axis=1))[kind.ravel()],
    )
