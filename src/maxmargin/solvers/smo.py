"""Block SMO, the fast solver behind every SVM.

SMO (Platt 1998) moves two variables at a time, which is cheap, but needs a row of the kernel matrix
for each, which is not. So the working set of this solver is a block of a thousand variables or more
(Joachims 1998):

    choose    the most violating variables, beside the free ones of the last block
    solve     the problem restricted to them, by SMO on their small kernel matrix, where each step
              takes the pair that gains most (Fan, Chen and Lin 2005)
    subtract  the rows of those that moved from the gradient of all n variables

until no pair violates the optimality conditions by more than tol. Rows are computed in float32 and
the gradient is kept in float64. A proof then finds the rounding errors that this leaves
(`solvers/proved.py`), and the solver goes on from there with rows in float64 if it must.
A problem of few points is one block and never leaves `solve`; the smallest are solved in float64
from the start, and far beyond tol.

Every call into compiled code returns within about a tenth of a second, so that Ctrl-C, time limits
and reports of progress work.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np

from maxmargin.compiled import smo as compiled
from maxmargin.engines.base import BLOCK_SHARE
from maxmargin.engines.free_points import FREE
from maxmargin.errors import KernelError
from maxmargin.problems.certificate import primal_objective
from maxmargin.problems.dual import walk
from maxmargin.solvers.base import Solution, Solver
from maxmargin.solvers.starts import beginning, start_with_twins
from maxmargin.solvers.stopping import NO_GAIN, Crawl, Idle

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
LIMITS = ("max_iter", "max_time", "callback")
CUT_SHORT = (*LIMITS, "interrupted")

# Sizes, measured on problems of 500 to 100,000 points (benchmarks/NOTES.md).
TIGHT = 512  # Up to this many points, the problem is one block in float64.
WHOLE = 2048  # Up to this many points, the problem is one block in float32.
SMALLEST_BLOCK, LARGEST_BLOCK = 1024, 4096
# This part of a block stays for the next; the smaller part when the free points do not fit.
KEPT, KEPT_OF_MANY = 0.5, 0.25

# Tolerances.
INNER_TOL = 0.1  # A block is solved to this share of the violation it began with.
SAFETY = 0.9  # The goal is a little below tol, because float32 rows leave an error.
REFRESHES = 4  # How often a block computes its gradient anew before the solver settles for less.
TIGHT_TOL = 1e-10  # Small problems are solved to this after they have reached tol.
# That may take this many steps times squared variables, or as many steps as tol took.
TIGHT_WORK = 100_000_000
TIGHT_STEPS = 200_000  # It takes no more steps than these.

# The best model is kept for a fit that is cut short. It is looked for in each of the first rounds,
# which are short, and then in every fourth, because a primal objective takes a pass over all rows.
FIRST_ROUNDS, LATER_ROUNDS = 8, 4

# Work and time.
FEWEST_IN_TIME = 32  # When there is no time for a block of this many variables, the time is over.
SLICE = 40_000_000  # One compiled call makes this many steps times variables: about 0.1 s.
HARD = 10  # After this many steps per variable of a block, its free points are solved for together.
FEWEST_STEPS = 2000  # Before this many steps, a stride would cost more than the steps do.
WORK_OF_STEP = 8  # A step makes this many multiplications per variable of a block.
TRACED_STEPS = 100  # One compiled call makes this many steps when a trace is asked for.
SECONDS_PER_ENTRY = 1e-8  # An entry of K is taken to cost this until that is measured.
SOON = 0.2  # Ctrl-C may wait this many seconds for a block to be kept.


@dataclass(frozen=True)
class _State:
    """Where the solver stands. It is replaced as a whole, so that Ctrl-C never finds half a step.

    `coef` is feasible, `gradient` is g = p - Kc, and `up` and `low` are `DualProblem.offsets`.
    """

    coef: np.ndarray
    gradient: np.ndarray
    up: np.ndarray
    low: np.ndarray

    def is_free(self):
        return (self.up > -FREE) & (self.low < FREE)

    def after(self, block, gradient=None):
        """The state after the steps in a block; a block of all variables brings the gradient."""
        coef, up, low = self.coef.copy(), self.up.copy(), self.low.copy()
        coef[block.order], up[block.order], low[block.order] = block.coef, block.up, block.low
        if gradient is None:
            gradient = np.empty(len(coef))
            gradient[block.order] = block.gradient
        return _State(coef, gradient, up, low)


class _Model(NamedTuple):
    """A model on the way, and its primal objective."""

    coef: np.ndarray | None
    bias: np.ndarray | None
    expansion: np.ndarray | None
    primal: float


NO_MODEL = _Model(None, None, None, np.inf)


@dataclass
class SMO(Solver):
    """Block sequential minimal optimisation.

    Parameters
    ----------
    tight : bool
        Whether small problems are solved far beyond tol.
    dtype : dtype
        The precision of kernel rows, where there are too many points for one block in float64.
    """

    tight: bool = True
    dtype: np.dtype = FLOAT32

    def __post_init__(self):
        self.dtype = np.dtype(self.dtype)
        if self.dtype not in (FLOAT32, FLOAT64):
            raise ValueError(f"SMO: dtype must be float32 or float64, got {self.dtype}.")

    def precise_for(self, problem):
        return self if self.is_tight_for(problem) else replace(self, dtype=FLOAT64)

    def is_tight_for(self, problem):
        """Whether a problem is solved as one block of float64."""
        return problem.n <= TIGHT and FLOAT64.itemsize * problem.n**2 <= problem.matrix.room

    def takes_expansion(self, problem):
        return not self.is_tight_for(problem)  # one block in float64 computes Kc from its matrix

    def solve(self, problem, budget, start=None):
        first = start
        if start is None and problem.n > WHOLE:  # one block holds all twins and needs no help
            first = start_with_twins(problem)
        solution = self._solve_from(first, problem, budget)
        if solution.stopped == "stalled" and first is None:  # large rows may have cancelled
            solution = self._solve_with_twins(solution, problem, budget)
        budget.note_end(problem, solution)
        return solution

    def _solve_with_twins(self, solution, problem, budget):
        """Solve again from where twins end, if there are any; return the better solution."""
        start = start_with_twins(problem)
        if start is None:
            return solution
        again = self._solve_from(start, problem, budget.after(solution.n_iter))
        best = again if again.violation < solution.violation else solution
        stopped = "interrupted" if again.stopped == "interrupted" else best.stopped
        return replace(best, n_iter=solution.n_iter + again.n_iter, stopped=stopped)

    def _solve_from(self, start, problem, budget):
        run = _Run(self, problem, budget, start)
        try:
            stopped = run.as_one_block() if self.is_tight_for(problem) else run.by_blocks()
            if stopped == "converged":
                run.report(run.violation, np.count_nonzero(run.state.coef))
        except KeyboardInterrupt:
            stopped = "interrupted"
        run.strides = None  # breaks the cycle that would keep the block in memory
        return run.solution(stopped)


class _Run:
    """One run of the solver on one problem."""

    def __init__(self, solver, problem, budget, start):
        self.solver, self.problem, self.budget = solver, problem, budget
        self.matrix, self.tol = problem.matrix, solver.tol
        self.n_iter, self.violation, self.n_rounds, self.best = 0, np.inf, 0, NO_MODEL
        if start is not None and start.reached is not None:
            self.best = self.model_of(start.coef, start.expansion)
        self.seconds_per_entry, self.has_strides, self.strides = 0.0, True, None
        coef, expansion = beginning(problem, start)
        if expansion is None:
            coef = coef.copy()
            compiled.balance(coef, problem.lower, problem.upper, problem.groups, problem.totals)
        # Where one block holds all points, the gradient will come from its matrix.
        self.is_known = expansion is not None or not self.fits_one_block(FLOAT32)
        if not self.is_known:
            expansion = np.zeros(problem.n)
        self.set_state(coef, expansion)
        if budget.trace is not None:
            budget.trace.begin(budget.problem, self.state.coef)

    def set_state(self, coef, expansion=None):
        """Set the state to `coef`; an unknown Kc is computed in float64 from the data."""
        problem = self.problem
        if expansion is None:
            with self.budget.clock("start"):
                expansion = problem.expansion(coef)
        self.state = _State(coef, problem.linear - expansion, *problem.offsets(coef))
        self.objective = problem.objective(coef, expansion)

    def solution(self, stopped):
        """Where the solver stands, or the best model it has seen if it was cut short."""
        if not self.is_known:  # it was interrupted before it knew the gradient
            self.set_state(self.state.coef)
        last = self.model()
        solution = self.solution_of(last, stopped)
        if stopped in CUT_SHORT and self.best.primal < last.primal:
            return replace(self.solution_of(self.best, stopped), reached=solution)
        return solution

    def solution_of(self, model, stopped):
        return Solution(
            coef=model.coef,
            bias=model.bias,
            expansion=model.expansion,
            n_iter=self.n_iter,
            violation=float(self.violation),
            stopped=stopped,
        )

    def model(self):
        """The model where the solver stands."""
        return self.model_of(self.state.coef, self.problem.linear - self.state.gradient)

    def model_of(self, coef, expansion):
        """The model of coefficients; one without support vectors is worse than any other."""
        bias, primal = self.problem.biases(coef, expansion), np.inf
        if np.any(coef):
            primal = primal_objective(self.problem, coef, bias, expansion)
        return _Model(coef, bias, expansion, primal)

    # The whole problem as one block in float64.

    def as_one_block(self):
        self.is_known = self.is_known and not np.any(self.state.coef)  # only Kc = 0 is exact
        with self.budget.clock("block"):
            block = self.matrix.block(self.problem, self.state, self.everything, FLOAT64)
        self.learn_gradient(block)
        try:
            stopped = self.refine(block, self.tol, self.budget.max_iter)
            if stopped == "converged" and self.solver.tight:
                self.tighten(block)
        finally:
            self.state = self.state.after(block)
            self.record(self.state)
        return stopped

    @cached_property
    def everything(self):
        return np.argsort(self.problem.groups, kind="stable")

    def tighten(self, block):
        """Go on far below tol, because steps on a small matrix cost next to nothing. The answer is
        then the same, to many digits, for every way of writing down the same problem."""
        extra = min(TIGHT_WORK // self.problem.n**2, TIGHT_STEPS)
        limit = min(self.n_iter + max(self.n_iter, extra), self.budget.max_iter)
        self.has_strides = False  # equal points keep the multipliers that SMO gave them
        optimal = block.coef.copy()
        self.refine(block, min(self.tol, TIGHT_TOL), limit)
        if self.violation > self.tol:  # the violation does not fall with every step
            self.go_back_to(optimal, block)

    def go_back_to(self, coef, block):
        block.set_coef(coef)
        self.violation = self.refreshed(block)

    def learn_gradient(self, block):
        """Take the gradient from a block that holds all points, if it is not known yet."""
        if not self.is_known:
            self.refreshed(block)
            self.state, self.is_known = self.state.after(block), True

    def refreshed(self, block):
        """Compute the gradient and the objective anew; return the violation."""
        violation = block.refresh()
        self.objective = block.objective()
        return violation

    def refine(self, block, stop, max_iter):
        """Solve the block; then compute its gradient anew, and go on if that shows a violation.

        Each of a million steps leaves a rounding error in the gradient, so that only a new gradient
        tells whether the tolerance has been reached, or can be. Where it cannot, the best point
        that was seen is kept.
        """
        least, best = np.inf, None
        for _ in range(REFRESHES):
            stopped = self.solve_block(block, stop, max_iter)
            self.violation = block.refresh()
            if self.violation <= stop:
                return "converged"
            if self.violation < least:
                least, best = self.violation, block.coef.copy()
            if stopped not in ("converged", "stalled"):
                break
        if self.violation > least:
            self.go_back_to(best, block)
        return stopped if stopped in LIMITS else "stalled"

    # The inner solver.

    def solve_block(self, block, stop, max_iter):
        """Run the inner solver in slices until `stop` or a limit is reached, or nothing moves."""
        idle, crawl = Idle(FLOAT64), Crawl(block.size, self.n_iter)
        is_whole = block.size == self.problem.n
        if self.strides is None or self.strides.block is not block:
            self.strides = _Strides(self, block)
        while True:
            at_once = max(1, int(block.speed * SLICE) // block.size)
            room = min(max_iter - self.n_iter, at_once)
            floor, before = block.rounding(), self.objective
            violation = self.strides.run(max(stop, floor), room)
            if violation <= stop:
                return "converged"
            if is_whole and block.is_precise:
                violation = self.refreshed(block)
            if self.n_iter >= max_iter:
                return "max_iter"
            if idle.too_long(before, self.objective) or not violation > floor:
                return "stalled"
            in_vain = floor > stop or (is_whole and stop > self.tol)
            if crawl.too_long(self.n_iter, violation, self.objective, in_vain):
                return "crawling"
            inside = np.count_nonzero(self.state.coef[block.order])
            outside = np.count_nonzero(self.state.coef) - inside
            if self.report(violation, outside + np.count_nonzero(block.coef)):
                return "callback"
            if self.budget.out_of_time(self.seconds_to_prove() + self.seconds_to_subtract(block)):
                return "max_time"

    def run_steps(self, block, stop, max_steps):
        """Make steps of SMO, in several calls if a trace of the whole problem is asked for."""
        traced = self.budget.trace is not None and block.size == self.problem.n
        at_once, goal = TRACED_STEPS if traced else max_steps, self.n_iter + max_steps
        while True:
            steps, violation, gain = block.run(stop, min(at_once, goal - self.n_iter))
            self.n_iter += steps
            self.objective += gain
            if traced:
                self.record(self.state.after(block), violation)
            if not violation > stop or self.n_iter >= goal:
                return violation

    # Trace and callbacks.

    def record(self, state, violation=None):
        """Write where the solver stands into the trace, if there is one."""
        if self.budget.trace is None:
            return
        problem = self.problem
        expansion = problem.linear - state.gradient
        self.budget.trace.round(
            problem, state.coef, expansion, problem.biases(state.coef, expansion),
            self.budget.n_done + self.n_iter, self.violation if violation is None else violation,
        )  # fmt: skip

    def report(self, violation, n_support):
        if not self.budget.callbacks:
            return False
        return self.budget.report(
            n_iter=self.n_iter,
            violation=float(violation),
            tol=self.tol,
            objective=float(self.objective),
            n_support=int(n_support),
            proof_seconds=self.problem.seconds_to_expand(self.state.coef),
        )

    # Many blocks.

    def by_blocks(self):
        try:
            stopped = self.rounds(self.solver.dtype)
        except KernelError:
            if self.solver.dtype == FLOAT64:
                raise
            stopped = self.rounds(FLOAT64)  # kernel values are beyond the range of float32
        if stopped == "converged" and self.violation > self.tol:
            return "stalled"  # rounding of its rows does not allow more
        return "stalled" if stopped == "crawling" else stopped

    def rounds(self, dtype):
        """Rounds of choose, solve, subtract until the violation is safely below tol."""
        self.learn_start(dtype)
        idle, chosen, block = Idle(dtype), np.empty(0, dtype=np.int64), None
        while True:
            goal = max(SAFETY * self.tol, self.rounding(dtype))
            tops, bottoms = self.measure()
            if stopped := self.stopped_at(goal):
                return stopped
            before = self.objective
            chosen = self.choose(chosen, tops, bottoms, self.block_size(dtype))
            block = self.strides = None  # two blocks would not fit into the memory of one
            with self.budget.clock("block"):
                block = self.matrix.block(self.problem, self.state, chosen, dtype)
            stopped = self.solve(block, goal, dtype)
            self.subtract(block, dtype)
            if stopped in LIMITS or (stopped == "crawling" and block.size == self.problem.n):
                return stopped
            if idle.too_long(before, self.objective):
                return "stalled"

    def learn_start(self, dtype):
        """Compute the gradient at the start, where it is not known yet."""
        if self.is_known:
            return
        if self.fits_one_block(dtype):
            with self.budget.clock("block"):
                block = self.matrix.block(self.problem, self.state, self.everything, dtype)
            self.learn_gradient(block)
        else:
            self.set_state(self.state.coef)
            self.is_known = True

    def stopped_at(self, goal):
        """Why the rounds end here, or None."""
        self.record(self.state)
        if self.violation <= goal:
            return "converged"
        self.n_rounds += 1
        if self.n_rounds <= FIRST_ROUNDS or self.n_rounds % LATER_ROUNDS == 0:
            self.best = min(self.best, self.model(), key=lambda model: model.primal)
        if self.report(self.violation, np.count_nonzero(self.state.coef)):
            return "callback"
        return "max_time" if self.is_out_of_time() else None

    def measure(self):
        """Find the violation; return the best rise and the cheapest fall of each group."""
        state, problem = self.state, self.problem
        with self.budget.clock("selection"):
            rise, fall = state.gradient + state.up, state.gradient + state.low
            if problem.n_groups == 1:
                tops, bottoms = np.array([rise.max()]), np.array([fall.min()])
            else:
                members = [problem.groups == group for group in range(problem.n_groups)]
                tops = np.array([rise[member].max(initial=-FREE) for member in members])
                bottoms = np.array([fall[member].min(initial=FREE) for member in members])
            self.violation = float(np.max(tops - bottoms))
        return tops, bottoms

    def choose(self, last, tops, bottoms, size):
        """The next block: free points of the last one first, then those that violate most.

        The most violating pair is always among them, which convergence needs.
        """
        if size == self.problem.n:
            return self.everything
        state, groups = self.state, self.problem.groups
        with self.budget.clock("selection"):
            rise = state.gradient + state.up - bottoms[groups]
            fall = tops[groups] - state.gradient - state.low
            free = state.is_free()
            share = KEPT if np.count_nonzero(free) <= size else KEPT_OF_MANY
            last_free = free[last]
            kept = np.concatenate([last[last_free], last[~last_free]])[: int(share * size)]
            rise[kept] = fall[kept] = 0.0
            risers = _largest(rise, (size - len(kept) + 1) // 2)
            fall[risers] = 0.0
            fallers = _largest(fall, size - len(kept) - len(risers))
            chosen = np.concatenate([risers, fallers, kept])
        if self.problem.n_groups > 1:
            chosen = chosen[np.argsort(groups[chosen], kind="stable")]
        return chosen

    def solve(self, block, goal, dtype):
        """Solve the problem restricted to a block, to a share of the violation outside it."""
        is_whole = block.size == self.problem.n
        stop = 0.5 * goal if is_whole else max(0.5 * goal, INNER_TOL * self.violation)
        try:
            return self.solve_block(block, stop, self.budget.max_iter)
        except KeyboardInterrupt:
            if self.is_soon_subtracted(block):
                self.subtract(block, dtype)
            raise

    def subtract(self, block, dtype):
        """Subtract the rows of the variables that moved from the gradient."""
        if block.size == self.problem.n:
            self.state = self.state.after(block)
            return
        with self.budget.clock("rows and update"):
            steps = block.coef - self.state.coef[block.order]
            moved = np.flatnonzero(steps)
            began = perf_counter()
            rows, steps = self.problem.per_row(block.order[moved], steps[moved])
            change = self.matrix.subtract(np.zeros(self.matrix.n), rows, steps, dtype)
            gradient = self.state.gradient + self.problem.per_variable(change)
            self.learn_speed(len(rows), perf_counter() - began)
            self.state = state = self.state.after(block, gradient)
            self.objective = self.problem.objective(state.coef, self.problem.linear - gradient)

    def learn_speed(self, n_rows, seconds):
        """Remember what an entry of K costs; in a few rows the calls around them dominate."""
        if n_rows >= FEWEST_IN_TIME or not self.seconds_per_entry:
            self.seconds_per_entry = seconds / max(1, n_rows * self.matrix.n)

    def is_soon_subtracted(self, block):
        """Whether the steps in a block can be kept after Ctrl-C, which must not wait for long."""
        return self.seconds_to_subtract(block) < SOON

    def seconds_to_subtract(self, block):
        """About how long it will take to keep the steps in a block."""
        if block.size == self.problem.n:
            return 0.0
        moved = np.count_nonzero(block.coef != self.state.coef[block.order])
        return (self.seconds_per_entry or SECONDS_PER_ENTRY) * moved * self.problem.n

    def seconds_to_prove(self):
        """The seconds kept for the proof: what it takes, or none if that is too much for a fit
        that is cut short."""
        if not np.isfinite(self.budget.deadline):
            return 0.0
        seconds = self.problem.seconds_to_expand(self.state.coef)
        return seconds if self.budget.has_time_to_prove(seconds) else 0.0

    # Sizes.

    def rounding(self, dtype):
        """The error that rows in this precision leave in the gradient.

        The errors of the single entries are independent, so they add up like a random walk.
        """
        return 0.5 * float(np.finfo(dtype).eps) * walk(self.sizes, self.state.coef)

    @cached_property
    def sizes(self):
        """The square roots of the diagonal of K."""
        return np.sqrt(np.abs(self.problem.diagonal()))

    def affordable(self, dtype):
        """How many variables a block may have."""
        return int(np.sqrt(BLOCK_SHARE * self.matrix.room / dtype.itemsize))

    def fits_one_block(self, dtype):
        return self.problem.n <= min(WHOLE, self.affordable(dtype))

    def block_size(self, dtype):
        """The size of a block. It holds all free points and more; else progress is very slow."""
        if self.fits_one_block(dtype):
            return self.problem.n
        wanted = 1.25 * np.count_nonzero(self.state.is_free())
        size = 2 ** int(np.ceil(np.log2(max(wanted, SMALLEST_BLOCK))))
        size = min(size, LARGEST_BLOCK, max(self.affordable(dtype), 2), self.problem.n)
        return int(max(2, min(size, self.most_in_time())))

    def is_out_of_time(self):
        return self.budget.ended.is_set() or self.most_in_time() < FEWEST_IN_TIME

    def most_in_time(self):
        """The largest block whose rows can be subtracted in half of the time that is left."""
        if self.budget.deadline == np.inf:
            return np.inf
        left = self.budget.deadline - perf_counter() - self.seconds_to_prove()
        seconds = (self.seconds_per_entry or SECONDS_PER_ENTRY) * self.problem.n
        return 0.5 * left / seconds


class _Strides:
    """Steps of SMO in a block and, where many do not suffice, strides: joint steps of all free
    points."""

    def __init__(self, run, block):
        self.solver, self.block = run, block
        self.many = max(HARD * block.size, FEWEST_STEPS)
        # Steps since the last stride; it is negative until they have been as much work as that.
        self.n_steps = 0
        self.help = True

    def run(self, stop, max_steps):
        """Make up to `max_steps` steps; return the violation left."""
        solver, goal = self.solver, self.solver.n_iter + max_steps
        while True:
            before = solver.n_iter
            with solver.budget.clock("steps"):
                room = min(self.many - self.n_steps, goal - before)
                violation = solver.run_steps(self.block, stop, room)
            self.n_steps += solver.n_iter - before
            if violation > stop and self.n_steps >= self.many:
                self.stride()
            if not violation > stop or solver.n_iter >= goal:  # NaN ends it, too
                return violation

    def stride(self):
        """Move all free points together, unless that gained nothing the last time in this block."""
        self.n_steps, solver = 0, self.solver
        if not (solver.has_strides and self.help):
            return
        with solver.budget.clock("strides"):
            gain, work = self.block.stride(NO_GAIN[FLOAT64] * abs(solver.objective))
        solver.objective += gain
        self.n_steps = -work // (WORK_OF_STEP * self.block.size)
        self.help = gain > 0


def _largest(values, count):
    """Positions of the `count` largest positive values, the largest ones first."""
    candidates = np.flatnonzero(values > 0)
    if len(candidates) > count:
        candidates = candidates[np.argpartition(-values[candidates], count - 1)[:count]]
    return candidates[np.argsort(-values[candidates], kind="stable")]
