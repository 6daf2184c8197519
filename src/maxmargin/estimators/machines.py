"""The machines of a fit, one dual problem each: how all of them are solved, and what they found."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from maxmargin.engines.base import Engine, Points
from maxmargin.estimators.decomposition import Decomposition
from maxmargin.estimators.margins import role_codes, tube_codes
from maxmargin.problems.certificate import Certificate, CertificateTable, certify
from maxmargin.problems.dual import DualProblem
from maxmargin.solvers.base import Budget, Solution, Solver
from maxmargin.solvers.proved import solve_and_prove, solve_in_unit

# Machines between these numbers of points are solved side by side.
SMALLEST_BESIDE, LARGEST_BESIDE = 256, 8192
PROOF = (
    "primal_objective", "dual_objective", "stationarity", "dual_feasibility",
    "complementary_slackness", "slack_complementarity", "n_zero", "n_free", "n_bound", "rounding",
)  # fmt: skip
COUNTS = ("n_zero", "n_free", "n_bound")
DEFAULT_MAX_ITER = 10_000_000  # LIBSVM's limit is this, or 100 per point if that is more.


@dataclass(frozen=True)
class Machine:
    """One dual problem of a fit.

    `rows` are the training rows it uses, in several arrays if they fall into classes. `build` makes
    the problem from a kernel matrix when its turn comes. `solve` solves it with a given solver, and
    `model` turns its solution into the model. `signs` are the labels of its rows, if it has any,
    and `extras` finds what else is wanted while the problem is in memory.
    """

    rows: tuple[np.ndarray, ...]
    build: Callable[..., DualProblem]
    solve: Callable[..., Solution] = field(default=solve_in_unit)
    model: Callable[[Solution], Solution] = field(default=lambda solution: solution)
    task: tuple[int, ...] = (0, 1)
    signs: np.ndarray | None = None
    extras: Callable[..., object] | None = None

    @property
    def all_rows(self):
        return self.rows[0] if len(self.rows) == 1 else np.concatenate(self.rows)

    def points_of(self, points):
        """The points of the fit that the machine uses."""
        own = [points.positions(rows) for rows in self.rows]
        return points[own[0]] if len(own) == 1 else points.join(*own)


@dataclass(frozen=True)
class Machines(Sequence):
    """The machines of a decomposition, or of some of its tasks, each made when it is asked for."""

    make: Callable[[tuple[int, ...]], Machine]
    how: Decomposition
    some_tasks: Sequence[tuple[int, ...]] | None = None

    @property
    def tasks(self):
        return self.how.tasks if self.some_tasks is None else self.some_tasks

    def __len__(self):
        return len(self.tasks)

    def __getitem__(self, position):
        return self.make(self.tasks[position])


@dataclass(frozen=True)
class Outcome:
    """A solved machine: its model, which rows are at a bound, and the proof.

    `found` is the solution of the dual problem itself, and `solution` is that of the model.
    """

    machine: Machine
    solution: Solution
    at_bound: np.ndarray
    certificate: Certificate
    extras: object
    found: Solution

    def roles(self):
        """The role of each row, as a position in `margins.ROLES` or, in a machine without labels,
        in `margins.TUBE_ROLES`."""
        if self.machine.signs is None:
            return tube_codes(self.solution.coef, self.at_bound)
        decision = self.solution.expansion + self.solution.bias[0]
        return role_codes(self.solution.coef, self.at_bound, self.machine.signs * decision)


@dataclass(frozen=True)
class Found:
    """What the machines of a fit have found; each has an entry or a row of each array.

    `coef` and `roles` have the layout of `dual_coef_`, with a column per training row.
    """

    coef: np.ndarray
    roles: np.ndarray
    bias: np.ndarray
    n_iter: np.ndarray
    norms: np.ndarray
    proofs: np.ndarray
    slopes: np.ndarray | None
    done: np.ndarray

    @classmethod
    def nothing(cls, how, labels, bias=None, slopes=None):
        """Arrays to be filled in, with bias and slopes for machines that have nothing to fit."""
        n, shape = len(how.tasks), (how.n_coef_rows, len(labels))
        return cls(
            np.zeros(shape), np.zeros(shape, dtype=np.int8), np.zeros(n) if bias is None else bias,
            np.zeros(n, dtype=np.int32), np.zeros(n), np.empty((n, len(PROOF))), slopes,
            np.zeros(n, dtype=bool),
        )  # fmt: skip

    def add(self, how, outcome, labels):
        """Add what a machine found by itself to what was found at once."""
        machine, solution = outcome.machine, outcome.solution
        rows, position = machine.all_rows, how.position(machine.task)
        roles = outcome.roles()
        for row, k in how.coef_rows(machine.task):
            own = labels[rows] == k
            self.coef[row, rows[own]] = solution.coef[own]
            self.roles[row, rows[own]] = roles[own]
        self.bias[position], self.n_iter[position] = solution.bias[0], solution.n_iter
        self.norms[position] = np.sqrt(max(0.0, solution.coef @ solution.expansion))
        self.done[position] = True
        if outcome.extras is not None:
            self.slopes[position] = outcome.extras

    def certificates(self, tol, mercer):
        """The certificates of the machines that are done, for a kernel with this `mercer`."""
        columns = dict(zip(PROOF, self.proofs[self.done].T.copy(), strict=True))
        columns |= {name: columns[name].astype(np.int64) for name in COUNTS}
        n = np.count_nonzero(self.done)
        columns |= {"primal_feasibility": np.zeros(n), "tol": np.full(n, float(tol))}
        columns["mercer"] = np.full(n, mercer, dtype=object)
        return CertificateTable(columns)


@dataclass(frozen=True)
class Workshop:
    """All that machines are solved with: the kernel and the points of the fit, an engine, a solver,
    the budget, and what is known about the kernel (`mercer` and `ulps`).

    `start(machine, problem)` says where a machine begins: a Solution, or None. `certify` says
    whether the solutions are proved.
    """

    kernel: object
    points: Points
    engine: Engine
    solver: Solver
    budget: Budget
    known: dict
    start: Callable[[Machine, DualProblem], Solution | None] = lambda machine, problem: None
    certify: bool = True

    def solve_all(self, machines: Sequence[Machine], may_be_beside=True):
        """The outcomes of all machines, which are solved one after the other or, where they are
        many and small, side by side."""
        outcomes, n = [None] * len(machines), len(machines)

        def solve(position):
            try:
                outcomes[position] = self.solve(machines[position], position, n, is_beside)
            except BaseException:
                self.budget.end_now()  # those beside it soon end, too
                raise
            if outcomes[position].solution.stopped == "interrupted" and None in outcomes:
                raise KeyboardInterrupt  # others have no solution, so there is no model to keep

        is_beside = may_be_beside and self._are_many_and_small(machines)
        if is_beside:
            self.engine.side_by_side(solve, range(n))
        else:
            for position in range(n):
                solve(position)
        return outcomes

    def _are_many_and_small(self, machines):
        """Whether threads do more for whole machines than for the tiles of one. With callbacks
        machines are solved in order."""
        if self.budget.callbacks or self.budget.trace is not None or len(machines) < 3:
            return False
        sizes = [sum(map(len, machine.rows)) for machine in machines]
        return min(sizes) >= SMALLEST_BESIDE and max(sizes) <= LARGEST_BESIDE

    def solve(self, machine, position, n, is_beside):
        problem = self._problem(machine)
        budget, solver = self._budget_of(problem, position, n), self._solver_of(is_beside)
        start = self.start(machine, problem)
        solution, proof = solve_and_prove(
            machine.solve, solver, problem, budget, start, self.certify, **self.known
        )
        at_bound = (solution.coef <= problem.lower) | (solution.coef >= problem.upper)
        extras = None
        if machine.extras is not None and solution.stopped != "interrupted":
            try:
                extras = machine.extras(machine, solver, problem, solution, budget)
            except KeyboardInterrupt:  # there is a solution, but no extras
                solution = replace(solution, stopped="interrupted")
        at_bound &= solution.coef != 0
        return Outcome(machine, machine.model(solution), at_bound, proof, extras, solution)

    def _problem(self, machine):
        return machine.build(self.engine.matrix(self.kernel, machine.points_of(self.points)))

    def proved(self, outcome):
        """The outcome with a certificate of its coefficients and biases, from the data."""
        found, problem = outcome.found, self._problem(outcome.machine)
        proof = certify(problem, found.coef, found.bias, self.solver.tol, **self.known)
        return replace(outcome, certificate=proof)

    def _budget_of(self, problem, position, n):
        share = self.budget.share(position, n)
        if share.max_iter != -1:
            return share
        return replace(share, max_iter=max(DEFAULT_MAX_ITER, 100 * problem.n))

    def _solver_of(self, is_beside):
        """A solver of its own for each machine, because a solver may have state. Machines beside
        each other are solved no further than to tol."""
        fewer = {"tight": False} if is_beside and hasattr(self.solver, "tight") else {}
        return replace(self.solver, **fewer)
