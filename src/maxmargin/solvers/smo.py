"""Block SMO, the fast solver behind every SVM.

SMO moves two variables at a time, which is cheap, but needs a row of the kernel matrix for each,
which is not. So it works on a block of a thousand variables or more at once:

    choose    the most violating variables, beside the free ones of the last block
    solve     the problem restricted to them, by SMO on their small kernel matrix
    subtract  the rows of those that moved from the gradient of all n variables

until no pair violates the optimality conditions by more than tol. Rows are computed in float32
and the gradient is kept in float64. At the end the gradient is computed anew from the data, in
float64; if the violation then exceeds tol the work goes on from there with rows in float64.
A problem of few points is one block and never leaves `solve`; the smallest are solved in float64
from the start, and far beyond tol.

Every call into compiled code returns within about a tenth of a second, which is what makes Ctrl-C,
time limits and progress possible.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter

import numpy as np

from maxmargin.compiled import smo as compiled
from maxmargin.engines.threads import single_threaded_blas
from maxmargin.errors import KernelError
from maxmargin.solvers.base import (
    BLOCK_SHARE,
    Solution,
    Solver,
    biases,
    expansion_of,
    row_bytes,
)
from maxmargin.solvers.free_points import FREE, stride
from maxmargin.solvers.smo_block import QUIET, Block, walk
from maxmargin.solvers.twins import start_with_twins

TIGHT = 512  # up to this many points, the problem is one block in float64
WHOLE = 2048  # and up to this many one block in float32
SMALLEST_BLOCK, LARGEST_BLOCK = 1024, 4096
INNER_TOL = 0.1  # solve a block to this share of the violation it began with
KEPT, KEPT_OF_MANY = 0.5, 0.25  # of a block, from the last one; less when the free ones do not fit
SAFETY = 0.9  # aim a little below tol: float32 rows leave an error that the final check sees
SLICE = 40_000_000  # steps times variables in one compiled call: about 0.1 s
HARD = 10  # steps per variable of a block, after which the free points are solved for together,
FEWEST_STEPS = 2000  # or this many, where steps cost less than that
WORK_OF_STEP = 8  # multiplications per variable of a block
TRACED_STEPS = 100  # in one compiled call when a trace is asked for
NO_GAIN = {np.float32: 1e-10, np.float64: 1e-15}  # relative: below it a gain may be rounding
CRAWL = 400_000_000  # steps times variables without a notable gain or fall of the violation
NOTABLE_GAIN, NOTABLE_FALL = 1e-4, 0.9
IN_VAIN = 3  # times as many, whatever they bring, where the tolerance is below rounding
REFRESHES = 4  # how often the gradient is computed anew before the solver settles for less
LIMITS = ("max_iter", "max_time", "callback")
SLOW, SOON = 1e-8, 0.2  # seconds for an entry of K, until that is known, and after Ctrl-C
PATIENCE = 3  # rounds without gain before the solver gives up
TIGHT_TOL = 1e-10  # where small problems go on to after tol,
TIGHT_WORK = 100_000_000  # for as many steps times squared variables, or the steps tol took,
TIGHT_STEPS = 200_000  # but no more than these


@dataclass(frozen=True)
class _State:
    """Where the solver stands. Replaced as a whole, so that Ctrl-C never finds half a step."""

    coef: np.ndarray  # feasible
    gradient: np.ndarray  # g = p - Kc
    up: np.ndarray  # what is added to g for a rise, and whether there can be one
    low: np.ndarray
    exact: bool  # whether g has just been computed from the data, in float64

    def is_free(self):
        return (self.up > -FREE) & (self.low < FREE)

    def after(self, block, gradient, exact):
        coef, up, low = self.coef.copy(), self.up.copy(), self.low.copy()
        coef[block.order], up[block.order], low[block.order] = block.coef, block.up, block.low
        return _State(coef, gradient, up, low, exact)

    def after_whole(self, block):
        """After a block that is the whole problem, and so knows the whole gradient."""
        gradient = np.empty(len(self.gradient))
        gradient[block.order] = block.gradient
        return self.after(block, gradient, exact=block.exact)


@dataclass
class SMO(Solver):
    """Block sequential minimal optimisation.

    Parameters
    ----------
    verify : bool
        Whether to compute the gradient anew in float64 at the end.
    tight : bool
        Whether small problems are solved far beyond tol.
    """

    verify: bool = True
    tight: bool = True

    @property
    def largest_whole(self):
        """How many points a problem may have to be solved as one block of float32."""
        return min(WHOLE, self.affordable(np.float32))

    def affordable(self, dtype):
        """How many points a block may have."""
        return int(np.sqrt(BLOCK_SHARE * self.cache_bytes / np.dtype(dtype).itemsize))

    def roughly(self, tol):
        return replace(self, tol=tol, verify=False)

    def is_tight_for(self, problem):
        """Whether a problem is solved as one block of float64."""
        return problem.n <= TIGHT and 8 * problem.n**2 <= self.cache_bytes

    def takes_expansion(self, problem):
        return not self.is_tight_for(problem)  # which computes it exactly, from its matrix

    def solve(self, problem, engine, budget, start=None, expansion=None):
        """Lower the problem from a feasible start until it is optimal within tol, or a limit.

        `expansion` is f = Kc at the start, where that is known.
        """
        if start is None and problem.n > WHOLE:  # a block that holds all twins needs no help
            start, expansion = self.begin_with_twins(problem)
        solution = self.solve_from(start, expansion, problem, engine, budget)
        if solution.stopped == "stalled" and start is None:  # such as by large rows that cancel
            solution = self.solve_again(solution, problem, engine, budget)
        budget.note_end(problem, solution)
        return solution

    def solve_again(self, solution, problem, engine, budget):
        """From where twins end, if there are any; the better of the two solutions."""
        start, expansion = self.begin_with_twins(problem)
        if start is None:
            return solution
        again = self.solve_from(start, expansion, problem, engine, budget.after(solution.n_iter))
        best = again if again.violation < solution.violation else solution
        stopped = "interrupted" if again.stopped == "interrupted" else best.stopped
        return replace(best, n_iter=solution.n_iter + again.n_iter, stopped=stopped)

    def begin_with_twins(self, problem):
        """Where equal points that oppose each other end, and f = Kc there."""
        start = start_with_twins(problem)
        return start, None if start is None else np.zeros(problem.n)

    def solve_from(self, start, expansion, problem, engine, budget):
        tight = self.is_tight_for(problem)
        run = _Run(problem, engine, budget, self, start, None if tight else expansion)
        try:
            stopped = run.tightly() if tight else run.by_blocks()
            if stopped == "converged":
                run.report(run.violation, np.count_nonzero(run.state.coef))
        except KeyboardInterrupt:
            stopped = "interrupted"
        return run.solution(stopped)


class _Run:
    """One run of the solver on one problem."""

    def __init__(self, problem, engine, budget, solver, start, expansion):
        self.problem = problem
        self.engine = engine
        self.budget = budget
        self.solver = solver
        self.tol = solver.tol
        self.cache_bytes = solver.cache_bytes
        self.verify, self.tight = solver.verify, solver.tight
        self.n_iter = 0
        self.violation = np.inf
        self.seconds_per_entry = 0.0
        self.strides = True
        start = problem.start if start is None else start
        is_zero = not np.any(start)
        # Where one block holds all points, its matrix will tell the gradient.
        self.is_known = is_zero or expansion is not None or not self.fits_one_block()
        if is_zero or not self.is_known:
            expansion = np.zeros(problem.n)
        self.set_state(start, expansion)
        if budget.trace is not None:
            budget.trace.begin(budget.problem, self.state.coef)

    def set_state(self, coef, expansion=None):
        """The state at `coef`; its gradient, if not known, computed in float64 from the data."""
        problem = self.problem
        exact = expansion is None
        if exact:
            coef = coef.copy()
            compiled.balance(coef, problem.lower, problem.upper, problem.groups, problem.totals)
            expansion = expansion_of(problem, coef, self.engine)
        gradient = problem.linear - expansion
        up, low = np.empty(problem.n), np.empty(problem.n)
        compiled.fill_offsets(coef, problem.lower, problem.upper, problem.epsilon, up, low)
        self.state = _State(coef, gradient, up, low, exact)
        self.objective = problem.objective(coef, problem.linear - gradient)

    def solution(self, stopped):
        if not self.is_known:  # interrupted before its first look
            self.set_state(self.state.coef)
        problem, state = self.problem, self.state
        return Solution(
            coef=state.coef,
            bias=biases(problem, state.gradient, state.up, state.low),
            expansion=problem.linear - state.gradient,
            recomputed=state.exact,
            n_iter=self.n_iter,
            violation=float(self.violation),
            stopped=stopped,
        )

    # The whole problem as one block in float64.

    def tightly(self):
        problem = self.problem
        order = np.argsort(problem.groups, kind="stable")
        with self.budget.clock("block"):
            matrix = self.engine.kernel_matrix(
                problem.kernel, problem.X, np.float64, self.cache_bytes
            )
            block = Block(problem, self.state, matrix, order)
        self.look_at(block)
        try:
            stopped = self.refine(block, self.tol, self.budget.max_iter)
            if stopped == "converged" and self.tight:
                self.go_on(block)
        finally:
            self.state = self.state.after_whole(block)
            self.note(self.state)
        return stopped

    def go_on(self, block):
        """Steps on a small matrix cost next to nothing: spend some on an answer that is the same,
        to many digits, for every way of writing down the same problem."""
        extra = min(TIGHT_WORK // self.problem.n**2, TIGHT_STEPS)
        limit = min(self.n_iter + max(self.n_iter, extra), self.budget.max_iter)
        self.strides = False  # equal points share their multipliers as SMO left them
        optimal = block.coef.copy()
        self.refine(block, min(self.tol, TIGHT_TOL), limit)
        if self.violation > self.tol:  # it does not fall with every step
            self.go_back(block, optimal)

    def go_back(self, block, coef):
        block.set_coef(coef)
        self.violation = self.look_again(block)

    def look_at(self, block):
        """A block that holds all points tells the gradient at a start where it is not known."""
        if not self.is_known:
            self.look_again(block)
            self.state, self.is_known = self.state.after_whole(block), True

    def refine(self, block, stop, max_iter):
        """Solve the block; then compute its gradient anew, and go on if that shows a violation.

        Each of a million steps leaves a rounding error in the gradient, so that only a new one
        tells whether the tolerance has been reached, or can be. Where it cannot, the best point
        that was seen is kept.
        """
        least, best = np.inf, None
        for _ in range(REFRESHES):
            stopped = self.solve_block(block, stop, max_iter)
            self.violation = block.refresh(self.problem)
            if self.violation <= stop:
                return "converged"
            if self.violation < least:
                least, best = self.violation, block.coef.copy()
            if stopped not in ("converged", "stalled"):
                break
        if self.violation > least:
            self.go_back(block, best)
        return stopped if stopped in LIMITS else "stalled"

    def solve_block(self, block, stop, max_iter):
        """Run the inner solver slice by slice until `stop`, a limit, or nothing moves any more."""
        idle, crawl = 0, _Crawl(block, self.n_iter)
        while True:
            room = min(max_iter - self.n_iter, max(1, SLICE // block.size))
            floor, before = block.rounding(), self.objective
            violation = self.run_slice(block, max(stop, floor), room)
            if violation <= stop:
                return "converged"
            if block.size == self.problem.n and block.K.dtype == np.float64:
                violation = self.look_again(block)
            if self.n_iter >= max_iter:
                return "max_iter"
            gained = self.objective - before
            idle = idle + 1 if gained <= NO_GAIN[np.float64] * abs(self.objective) else 0
            if idle >= PATIENCE or not violation > floor:
                return "stalled"
            in_vain = floor > stop or (block.size == self.problem.n and stop > self.tol)
            if crawl.goes_on(self.n_iter, violation, self.objective, in_vain):
                return "crawling"
            inside = np.count_nonzero(self.state.coef[block.order])
            outside = np.count_nonzero(self.state.coef) - inside
            if self.report(violation, outside + np.count_nonzero(block.coef)):
                return "callback"
            if self.budget.out_of_time():
                return "max_time"

    def look_again(self, block):
        """Compute the gradient anew, and the objective; the violation."""
        violation = block.refresh(self.problem)
        self.objective = block.objective(self.problem)
        return violation

    def run_slice(self, block, stop, max_steps):
        """Take up to `max_steps` steps; the violation left.

        Where many do not suffice, a stride of all free points together follows.
        """
        goal = self.n_iter + max_steps
        while True:
            many = max(HARD * block.size, FEWEST_STEPS)
            room = min(many - block.n_steps, goal - self.n_iter)
            with self.budget.clock("steps"):
                violation = self.run_steps(block, stop, room)
            if violation > stop and block.n_steps >= many:
                self.stride(block)
            if not violation > stop or self.n_iter >= goal:  # nor if it is no number
                return violation

    def stride(self, block):
        """Of all free points together, unless the last one in this block gained nothing; the next
        one has to wait until steps have been as much work."""
        block.n_steps = 0
        if self.strides and block.strides:
            with self.budget.clock("strides"), single_threaded_blas():
                gain, work = stride(block, NO_GAIN[np.float64] * abs(self.objective))
            self.objective += gain
            block.n_steps = -work // (WORK_OF_STEP * block.size)
            block.strides = gain > 0

    def run_steps(self, block, stop, max_steps):
        """With a trace of a whole problem, in several calls."""
        traced = self.budget.trace is not None and block.size == self.problem.n
        at_once, goal = TRACED_STEPS if traced else max_steps, self.n_iter + max_steps
        while True:
            steps, violation, gain = block.run(stop, min(at_once, goal - self.n_iter))
            self.n_iter += steps
            self.objective += gain
            if traced:
                self.note(self.state.after_whole(block), violation)
            if not violation > stop or self.n_iter >= goal:
                return violation

    def note(self, state, violation=None):
        """Write where the solver stands into the trace, if there is one."""
        if self.budget.trace is None:
            return
        problem = self.problem
        bias = biases(problem, state.gradient, state.up, state.low)
        expansion = problem.linear - state.gradient
        self.budget.trace.round(
            problem, state.coef, expansion, bias, self.budget.n_done + self.n_iter,
            self.violation if violation is None else violation,
        )  # fmt: skip

    def report(self, violation, n_support):
        return self.budget.report(
            n_iter=self.n_iter,
            violation=float(violation),
            tol=self.tol,
            objective=float(self.objective),
            n_support=int(n_support),
        )

    # Many blocks.

    def by_blocks(self):
        least, best = np.inf, None
        for dtype in (np.float32,) + (np.float64,) * (REFRESHES - 1):
            try:
                stopped = self.rounds(dtype)
            except KernelError:
                if dtype is np.float64:
                    raise
                continue  # beyond the range of float32
            if stopped in LIMITS:
                break
            if not self.verify:
                return "converged" if stopped == "converged" else "stalled"
            if not self.state.exact:
                with self.budget.clock("proof"):
                    self.set_state(self.state.coef)
            self.violation = self.measure()[0]
            self.note(self.state)
            if self.violation <= self.tol:
                return "converged"
            if self.violation < least:
                least, best = self.violation, self.state
            if stopped == "crawling" and dtype is np.float64:
                break
        if self.violation > least:  # rounding may have led away from it
            self.violation, self.state = least, best
            self.note(self.state)
        return stopped if stopped in LIMITS else "stalled"

    def rounds(self, dtype):
        """Rounds of choose, solve, subtract until the violation is safely below tol."""
        room = row_bytes(self.cache_bytes)
        matrix = self.engine.kernel_matrix(self.problem.kernel, self.problem.X, dtype, room)
        chosen, block = np.empty(0, dtype=np.int64), None
        if not self.is_known and self.fits_one_block(dtype):
            with self.budget.clock("block"):
                everything = np.argsort(self.problem.groups, kind="stable")
                self.look_at(Block(self.problem, self.state, matrix, everything))
        elif not self.is_known:
            self.set_state(self.state.coef)
            self.is_known = True
        idle = 0
        while True:
            with self.budget.clock("selection"):
                self.violation, tops, bottoms = self.measure()
            self.note(self.state)
            goal = max(SAFETY * self.tol, self.rounding(dtype))
            if self.violation <= goal:
                return "converged"
            if self.report(self.violation, np.count_nonzero(self.state.coef)):
                return "callback"
            if self.budget.out_of_time(self.seconds_to_certify()):
                return "max_time"
            before = self.objective
            with self.budget.clock("selection"):
                chosen = self.choose(chosen, tops, bottoms, self.block_size(dtype))
            del block  # before the next one is made: two do not fit into its share
            with self.budget.clock("block"):
                block = Block(self.problem, self.state, matrix, chosen)
            is_whole = block.size == self.problem.n
            stop = 0.5 * goal if is_whole else max(0.5 * goal, INNER_TOL * self.violation)
            try:
                stopped = self.solve_block(block, stop, self.budget.max_iter)
            except KeyboardInterrupt:
                if self.is_soon_taken_in(block):
                    self.take_in(matrix, block)
                raise
            self.take_in(matrix, block)
            if stopped in LIMITS or (is_whole and stopped == "crawling"):
                return stopped
            gained = self.objective - before
            idle = idle + 1 if gained <= NO_GAIN[dtype] * abs(self.objective) else 0
            if idle >= PATIENCE:
                return "stalled"

    def take_in(self, matrix, block):
        if block.size == self.problem.n:
            self.state = self.state.after_whole(block)
        else:
            with self.budget.clock("rows and update"):
                self.subtract(matrix, block)

    def is_soon_taken_in(self, block):
        """Whether the steps in a block can be kept after Ctrl-C, which may not wait for long."""
        if block.size == self.problem.n:
            return True
        moved = np.count_nonzero(block.coef != self.state.coef[block.order])
        return (self.seconds_per_entry or SLOW) * moved * self.problem.n < SOON

    def rounding(self, dtype):
        """The error that rows in this precision leave in the gradient.

        The errors of the single entries are independent, so they add up like a random walk.
        """
        return 0.5 * float(np.finfo(dtype).eps) * walk(self.sizes, self.state.coef)

    @cached_property
    @QUIET
    def sizes(self):
        """The square roots of the diagonal of K."""
        problem = self.problem
        return np.sqrt(np.abs(problem.per_variable(problem.kernel.diagonal(problem.X))))

    def measure(self):
        """The violation, and per group the best rise and the cheapest fall."""
        state, problem = self.state, self.problem
        rise, fall = state.gradient + state.up, state.gradient + state.low
        if problem.n_groups == 1:
            tops, bottoms = np.array([rise.max()]), np.array([fall.min()])
        else:
            members = [problem.groups == group for group in range(problem.n_groups)]
            tops = np.array([rise[member].max(initial=-FREE) for member in members])
            bottoms = np.array([fall[member].min(initial=FREE) for member in members])
        return float(np.max(tops - bottoms)), tops, bottoms

    def fits_one_block(self, dtype=np.float32):
        return self.problem.n <= min(WHOLE, self.solver.affordable(dtype))

    def block_size(self, dtype):
        """Room for all free points and some more: when they do not fit, progress is very slow."""
        if self.fits_one_block(dtype):
            return self.problem.n
        wanted = 1.25 * np.count_nonzero(self.state.is_free())
        size = 2 ** int(np.ceil(np.log2(max(wanted, SMALLEST_BLOCK))))
        return int(min(size, LARGEST_BLOCK, max(self.solver.affordable(dtype), 2), self.problem.n))

    def choose(self, last, tops, bottoms, size):
        """The next block: free points of the last one first, then those that violate most.

        The pair that violates most of all is always among them, which is what convergence needs.
        """
        state, groups = self.state, self.problem.groups
        if size == self.problem.n:
            return np.argsort(groups, kind="stable")
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

    def subtract(self, matrix, block):
        """Take the rows of the variables that moved out of the gradient."""
        steps = block.coef - self.state.coef[block.order]
        moved = np.flatnonzero(steps)
        began = perf_counter()
        rows, steps = self.problem.per_row(block.order[moved], steps[moved])
        change = matrix.subtract(np.zeros(matrix.n), rows, steps)
        gradient = self.state.gradient + self.problem.per_variable(change)
        entries = max(1, len(rows) * matrix.n)
        self.seconds_per_entry = (perf_counter() - began) / entries
        self.state = state = self.state.after(block, gradient, exact=False)
        self.objective = self.problem.objective(state.coef, self.problem.linear - gradient)

    def seconds_to_certify(self):
        """How long the final pass over all support vectors will take; float64 costs about twice."""
        entries = np.count_nonzero(self.state.coef) * self.problem.n
        return 2.5 * self.seconds_per_entry * entries


class _Crawl:
    """Tells when many steps have brought next to nothing, or rounding leaves nothing to reach."""

    def __init__(self, block, n_iter):
        self.steps = CRAWL // block.size
        self.since, self.violation, self.objective = n_iter, np.inf, -np.inf

    def goes_on(self, n_iter, violation, objective, in_vain):
        gained = objective - self.objective > NOTABLE_GAIN * abs(objective)
        if not in_vain and (gained or violation < NOTABLE_FALL * self.violation):
            self.since, self.violation, self.objective = n_iter, violation, objective
        return n_iter - self.since >= self.steps * (IN_VAIN if in_vain else 1)


def _largest(values, count):
    """Positions of the `count` largest positive values, the largest ones first."""
    candidates = np.flatnonzero(values > 0)
    if len(candidates) > count:
        candidates = candidates[np.argpartition(-values[candidates], count - 1)[:count]]
    return candidates[np.argsort(-values[candidates], kind="stable")]
