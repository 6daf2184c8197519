"""What every solver takes and hands back: Solution, Progress, and the Budget it must respect."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

SHORT_PROOF = 0.5  # A fit that a callback has stopped may take this many seconds for its proof.
PROOF_SHARE = 0.25  # A fit that is cut short keeps at most this part of its time for its proof.
LATE = 0.08  # A proof that is under way may exceed the time by this part, and ends with its tile.
TELL_EVERY = 0.1  # Seconds between two reports of how far a proof is.


class BaseSolution:
    """How a solver came to its end; a subclass says to which point.

    Attributes
    ----------
    n_iter : int
        The steps made: pairs of variables moved, passes over the data, or systems solved.
    violation : float
        What the solver's stopping rule measures: it has converged when this is at most tol.
    stopped : str
        "converged", "max_iter", "max_rounds", "max_time", "callback", "stalled", "no_margin",
        "coarse_tol" or "interrupted".
    """

    n_iter: int
    violation: float
    stopped: str

    @property
    def converged(self):
        return self.stopped == "converged"


@dataclass
class Solution(BaseSolution):
    """A feasible point of a dual problem and how the solver came to it.

    Attributes
    ----------
    coef : array of shape (n,)
        The signed variables c.
    bias : array of shape (number of groups,)
    expansion : array of shape (n,)
        Kc as the solver knows it.
    reached : Solution, optional
        Where a solver stood when it was cut short, if it returns a better model from earlier on.
        A later fit goes on from `reached`.
    """

    coef: np.ndarray
    bias: np.ndarray
    expansion: np.ndarray
    n_iter: int
    violation: float
    stopped: str
    reached: "Solution | None" = None

    @classmethod
    def at(cls, coef, expansion=None):
        """A point to start from."""
        return cls(coef, np.empty(0), expansion, 0, np.inf, "not begun")


@dataclass
class LinearSolution(BaseSolution):
    """A point of a linear machine, and how the solver came to it.

    Attributes
    ----------
    weights : array
        w, whose last entry belongs to the constant feature where there is one. Where several
        machines are solved as one problem, each has a row.
    coef : array or None
        The dual variables, where the problem has any.
    objective : float
        The value that the solver lowers, or raises if it works on the dual problem.
    """

    weights: np.ndarray
    coef: np.ndarray | None = None
    n_iter: int = 0
    violation: float = np.inf
    objective: float = np.nan
    stopped: str = ""  # empty as long as the solver is under way


@dataclass
class Solver:
    """What all solvers of the dual problem share; a subclass writes `solve`.

    Parameters
    ----------
    tol : float
        Stop when no pair of variables violates optimality by more.
    """

    tol: float = 1e-3

    def with_tol(self, tol):
        return replace(self, tol=tol)

    def precise_for(self, problem):
        """A solver like this one with kernel values in float64; itself if it uses no others."""
        return self

    def takes_expansion(self, problem):
        """Whether `solve` is faster if its start has Kc."""
        return False

    def solve(self, problem, budget, start=None):
        """Lower the problem until it is optimal within tol, or a limit is reached.

        `start` is a Solution to go on from, whose expansion may be None if it is not known.
        """
        raise NotImplementedError


class LinearSolver:
    """What solvers of linear machines share: this class keeps the limits of a fit for all of them.

    A subclass writes `approach`, which yields LinearSolutions on the way to the optimum, the first
    one where it begins; the last one says in `stopped` why it is the last. A yielded solution may
    change in place, as long as `finish` can make a solution of it at any moment.
    """

    counted = "support vectors"  # a progress line counts these

    def __init__(self, tol):
        self.tol = tol

    def solve(self, problem, budget, start=None):
        """The LinearSolution where the solver's own rule, a limit of the budget or Ctrl-C ends it.

        `start` is a LinearSolution to begin at; it may hold the weights only.
        """
        found, stopped = None, ""
        try:
            with closing(self.approach(problem, budget, start)) as solutions:
                while not stopped:
                    found = next(solutions)
                    stopped = self._reason_to_end(found, budget)
        except KeyboardInterrupt:
            if found is None:
                raise
            stopped = "interrupted"
        return self.finish(problem, replace(found, stopped=stopped))

    def _reason_to_end(self, found, budget):
        wants_end = False
        if budget.callbacks and (found.n_iter > 0 or found.stopped):
            wants_end = budget.report(
                found.n_iter,
                violation=found.violation,
                tol=self.tol,
                objective=found.objective,
                n_support=self.n_counted(found),
                counted=self.counted,
            )
        if found.stopped:
            return found.stopped
        if wants_end:
            return "callback"
        if budget.out_of_time():
            return "interrupted" if budget.ended.is_set() else "max_time"
        return "max_iter" if found.n_iter >= budget.max_iter else ""

    def n_counted(self, found):
        """How many weights or points are not zero; a point with several variables counts once."""
        values = found.weights if found.coef is None else found.coef
        return int(np.count_nonzero(values if values.ndim == 1 else values.any(axis=1)))

    def is_end(self, problem, start):
        """Whether the dual variables of a start prove that it is optimal."""
        has_proof = start is not None and start.coef is not None
        return has_proof and problem.relative_gap(start.weights, start.coef) <= self.tol

    def finish(self, problem, found):
        """The solution where the search has ended, for whatever reason.

        After Ctrl-C there is no time for a pass over the data.
        """
        return found

    def judged(self, found, violation, **more):
        """The solution with its violation from the data; at the optimum it has converged, even if
        a limit was met there."""
        is_done = violation <= self.tol and found.stopped != "interrupted"
        stopped = "converged" if is_done else found.stopped
        return replace(found, violation=violation, stopped=stopped, **more)


@dataclass(frozen=True)
class Progress:
    """What a callback is told after every slice of work.

    Attributes
    ----------
    n_iter : int
        Steps made so far in this problem: pairs of variables moved, or passes over the data.
    violation, tol : float
        The solver stops when the violation falls below tol.
    objective : float
        The dual objective, which never falls; for a linear machine, what its solver works on.
    n_support : int
        How many support vectors there are, or, as `counted` says, weights that are not zero.
    seconds : float
        The seconds since the fit began.
    proof : float or None
        The share of the proof that is done; None while the problem is being solved.
    proof_seconds : float
        About how many seconds the proof will take, as far as that is known.
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
    counted: str = "support vectors"
    proof: float | None = None
    proof_seconds: float = 0.0


class Clock:
    """A clock that adds up the seconds spent on each kind of work, over all threads."""

    def __init__(self):
        self.seconds = Counter()
        self.lock = threading.Lock()

    def __call__(self, work):
        return _Timed(self, work)


class _Timed:
    """A context whose seconds are added to a clock. It is light, as small machines enter many."""

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
    """The limits of a fit, and the callbacks that hear about its progress.

    A callback that returns True ends the fit, which keeps the model so far. The solver writes its
    steps into `trace`, if there is one (`problems/trace.py`).
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
    since: float = field(default_factory=perf_counter)  # when this problem's turn came
    ended: threading.Event = field(default_factory=threading.Event)
    n_done: int = 0  # steps of solvers before this one, on the same problem

    def __post_init__(self):
        if self.max_time is not None:
            self.deadline = self.began + self.max_time

    def share(self, problem, n_problems):
        """The budget of one of several problems: an equal share of the time that is left."""
        now = perf_counter()
        left = self.deadline - now
        part = replace(self, max_time=None, problem=problem, n_problems=n_problems, since=now)
        part.deadline = now + left / (n_problems - problem)
        return part

    def end_now(self):
        """Make every solver of this fit, also on a copy of this budget, stop when it next looks."""
        self.ended.set()

    def after(self, n_iter):
        """The budget of the next solver on the same problem, after `n_iter` steps."""
        return (
            self
            if n_iter == 0
            else replace(self, max_iter=self.max_iter - n_iter, n_done=self.n_done + n_iter)
        )

    def limited(self, max_iter):
        """The budget with no more than `max_iter` steps."""
        return replace(self, max_iter=min(self.max_iter, max_iter))

    def in_silence(self):
        """The same limits without callbacks and trace."""
        return replace(self, callbacks=(), trace=None)

    def note_end(self, problem, solution):
        """Let the trace, if there is one, end where the solver has ended."""
        if self.trace is not None and not self.trace.ends_at(solution.coef):
            self.trace.round(
                problem, solution.coef, solution.expansion, solution.bias,
                self.n_done + solution.n_iter, solution.violation,
            )  # fmt: skip

    def has_time_to_prove(self, seconds):
        """Whether a proof of so many seconds is a small part of a fit that is cut short. Where a
        callback stopped a fit without a time limit, a short proof is always made."""
        if self.deadline == np.inf:
            return seconds <= max(SHORT_PROOF, PROOF_SHARE * (perf_counter() - self.since))
        return seconds <= PROOF_SHARE * (self.deadline - self.since)

    def may_still_prove(self):
        """Whether a proof may go on, which is allowed a little more time than all else."""
        return perf_counter() < self.deadline + LATE * (self.deadline - self.since)

    def out_of_time(self, still_needed=0.0):
        return self.ended.is_set() or perf_counter() + still_needed >= self.deadline

    def report(self, n_iter, **figures):
        """Tell the callbacks; return True when one of them asks to stop."""
        if not self.callbacks:
            return False
        progress = Progress(
            n_iter=self.n_done + n_iter,
            **figures,
            seconds=perf_counter() - self.began,
            problem=self.problem,
            n_problems=self.n_problems,
        )
        answers = [callback(progress) for callback in self.callbacks]  # any() would skip some
        return any(bool(answer) for answer in answers)

    def teller(self, **figures):
        """A function that takes the share of a proof that is done, and returns True when its time
        is over or a callback asks to stop."""
        last = perf_counter()

        def tell(share):
            nonlocal last
            if perf_counter() - last < TELL_EVERY:
                return False
            last = perf_counter()
            return self.report(**figures, proof=share) or not self.may_still_prove()

        return tell
