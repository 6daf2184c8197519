"""What every solver takes and hands back: Solution, Progress, and the Budget it must respect."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

BLOCK_SHARE = 1 / 3  # of the cache's memory, at most, for the matrix of a block


@dataclass
class Solution:
    """A feasible point of a dual problem and how the solver came to it.

    Attributes
    ----------
    coef : array of shape (n,)
        The signed variables c.
    bias : array of shape (number of groups,)
    expansion : array of shape (n,)
        f = Kc as the solver knows it.
    n_iter : int
        Pairs of variables moved.
    violation : float
        How much the most violating pair could still gain per unit; converged when below tol.
    stopped : str
        "converged", "max_iter", "max_rounds", "max_time", "callback", "stalled", "no_margin",
        "coarse_tol" or "interrupted".
    recomputed : bool
        Whether the solver has computed f from the data, in float64, at the end. A search for the
        margin (`solvers/margin.py`) asks; the certificate does not.
    """

    coef: np.ndarray
    bias: np.ndarray
    expansion: np.ndarray
    n_iter: int
    violation: float
    stopped: str
    recomputed: bool

    @property
    def converged(self):
        return self.stopped == "converged"


@dataclass
class Solver:
    """What all solvers of the dual problem can be told; a subclass writes `solve`.

    Parameters
    ----------
    tol : float
        Stop when no pair of variables violates optimality by more.
    cache_bytes : int
        The memory for kernel values and for the points in working precision.
    """

    tol: float = 1e-3
    cache_bytes: int = 200 << 20

    def with_tol(self, tol):
        return replace(self, tol=tol)

    def roughly(self, tol):
        """For an answer that need not be verified."""
        return self.with_tol(tol)

    def takes_expansion(self, problem):
        """Whether `solve` gains from being told f = Kc at the start."""
        return False


class LinearSolver:
    """What solvers of linear machines share; `tol` is the relative duality gap to reach.

    A subclass writes `solve`.
    """

    def __init__(self, tol, max_iter, n_threads=None):
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def certify(self, problem, w, coef):
        return problem.certify(w, coef, self.tol)


@dataclass(frozen=True)
class Progress:
    """What a callback is told after every slice of work.

    Attributes
    ----------
    n_iter : int
        Pairs moved so far in this binary problem.
    violation, tol : float
        The solver stops when the violation falls below tol.
    objective : float
        The dual objective, which never falls.
    n_support : int
    seconds : float
        Since the fit began.
    problem, n_problems : int
        Which of the binary problems of a multi-class fit this is (from 0), and of how many.
    """

    n_iter: int
    violation: float
    tol: float
    objective: float
    n_support: int
    seconds: float
    problem: int = 0
    n_problems: int = 1


class Clock:
    """Adds up the seconds spent on each kind of work, in whichever thread."""

    def __init__(self):
        self.seconds = Counter()
        self.lock = threading.Lock()

    def __call__(self, work):
        return _Timed(self, work)


class _Timed:
    """A context whose seconds are added to a clock; small machines enter many."""

    __slots__ = ("began", "clock", "work")

    def __init__(self, clock, work):
        self.clock, self.work = clock, work

    def __enter__(self):
        self.began = perf_counter()

    def __exit__(self, *exception):
        with self.clock.lock:
            self.clock.seconds[self.work] += perf_counter() - self.began


@dataclass
class Budget:
    """The limits of a fit, and whom to tell about its progress.

    A callback that returns True ends the fit, which keeps the model so far. Into a `trace`
    (`solvers/trace.py`) the solver writes its steps.
    """

    max_iter: int
    max_time: float | None = None
    callbacks: Sequence[Callable] = ()
    problem: int = 0
    n_problems: int = 1
    trace: object = None
    clock: Clock = field(default_factory=Clock)
    began: float = field(default_factory=perf_counter)
    deadline: float = np.inf
    ended: threading.Event = field(default_factory=threading.Event)
    n_done: int = 0  # steps of solvers before this one, on the same problem

    def __post_init__(self):
        if self.max_time is not None:
            self.deadline = self.began + self.max_time

    def share(self, problem, n_problems):
        """The budget of one of several problems: an equal share of the time that is left."""
        now = perf_counter()
        left = self.deadline - now
        part = replace(self, max_time=None, problem=problem, n_problems=n_problems)
        part.deadline = now + left / (n_problems - problem)
        return part

    def end_now(self):
        """Every solver of this fit, also on a copy of this budget, stops at its next look."""
        self.ended.set()

    def after(self, n_iter):
        """What is left for the next solver of a problem on which so many steps have been made."""
        return (
            self
            if n_iter == 0
            else replace(self, max_iter=self.max_iter - n_iter, n_done=self.n_done + n_iter)
        )

    def limited(self, max_iter):
        """The same with no more steps than these."""
        return replace(self, max_iter=min(self.max_iter, max_iter))

    def in_silence(self):
        """The same limits for work of which nobody is told."""
        return replace(self, callbacks=(), trace=None)

    def note_end(self, problem, solution):
        """Let the trace, if there is one, end where the solver does, whatever has ended it."""
        if self.trace is not None and not self.trace.ends_at(solution.coef):
            self.trace.round(
                problem, solution.coef, solution.expansion, solution.bias,
                self.n_done + solution.n_iter, solution.violation,
            )  # fmt: skip

    def out_of_time(self, still_needed=0.0):
        return self.ended.is_set() or perf_counter() + still_needed >= self.deadline

    def report(self, n_iter, **figures):
        """Tell the callbacks; True when one of them asks to stop."""
        if not self.callbacks:
            return False
        progress = Progress(
            n_iter=self.n_done + n_iter,
            **figures,
            seconds=perf_counter() - self.began,
            problem=self.problem,
            n_problems=self.n_problems,
        )
        answers = [callback(progress) for callback in self.callbacks]  # all of them are told
        return any(bool(answer) for answer in answers)


def row_bytes(cache_bytes):
    """What is left of the cache's memory beside a block: for the points and the kernel rows."""
    return int((1 - BLOCK_SHARE) * cache_bytes)


def expansion_of(problem, coef, engine):
    """f = Kc from the data, in float64."""
    support = np.flatnonzero(coef)
    if not len(support):
        return np.zeros(problem.n)
    rows, coef = problem.per_row(support, coef[support])
    return problem.per_variable(engine.expansion(problem.kernel, problem.X, rows, coef))


def biases(problem, gradient, up, low):
    """The multiplier b_h of each group."""
    from maxmargin.compiled.smo import bias_of

    groups = range(problem.n_groups)
    return np.array([bias_of(gradient, up, low, problem.groups, group) for group in groups])
