"""The trace: what a solver did, step by step, as tables.

`steps` has a row per pair that a teaching solver moved, with every quantity of the derivation.
`rounds` has a row per pass of a teaching solver or per slice of the fast one. `refused` has a row
per pair that was looked at and left alone. All stop growing at a limit. Invariant: replaying a
complete trace gives the solver's coefficients bit for bit.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from maxmargin.problems.certificate import primal_objective

LIMIT = 100_000  # A table keeps this many rows at most; a row of `steps` takes 129 bytes.

# Why a solver chose a pair, in the words of a caption after "because".
REASONS = {
    "most_gain": "a full step with this partner gains most of all",
    "most_violating": "these two violate optimality most",
    "largest_difference": "i violates its condition, and j inside the box differs most in E",
    "inside": "i violates its condition, and j is the next one inside the box that lets it move",
    "anywhere": "i violates its condition, and j is the next point of all that lets it move",
    "random_partner": "i violates its condition, and j was drawn at random",
    "random_pair": "both were drawn at random",
    "sweep": "i is the reference of this sweep, and j is next in order",
}
# Why a solver left a pair alone after it had looked at it.
REFUSALS = {
    "no_room": "the segment has no length, L = H",
    "no_curvature": "the two points are equal in feature space, eta = 0",
    "no_gain": "the pair stands at the best point of its segment already",
}
REASON_CODES = {name: code for code, name in enumerate(REASONS)}
REFUSAL_CODES = {name: code for code, name in enumerate(REFUSALS)}

STEP = np.dtype(
    [
        ("problem", np.int32),
        ("i", np.int32),
        ("j", np.int32),
        *((name, np.float64) for name in (
            "error_i", "error_j", "eta", "L", "H", "unclipped", "clipped", "alpha_i", "b",
            "spread", "objective", "gap", "violation", "seconds",
        )),
        ("reason", np.int8),
        ("refused", np.int32),
    ]
)  # fmt: skip

REFUSED = np.dtype(
    [("problem", np.int32), ("step", np.int32), ("i", np.int32), ("j", np.int32), ("why", np.int8)]
)

ROUND = np.dtype(
    [
        ("problem", np.int32),
        ("round", np.int32),
        ("n_iter", np.int64),
        ("n_support", np.int32),
        *((name, np.float64) for name in (
            "b", "objective", "gap", "violation", "accuracy", "loss", "movement", "seconds",
        )),
    ]
)  # fmt: skip


class Start(NamedTuple):
    """Where a problem began: its variables, the signs that turn them into multipliers, the largest
    value of each multiplier, b and the spread."""

    coef: np.ndarray
    signs: np.ndarray
    box: np.ndarray
    b: float
    spread: float


class Trace:
    """The history of a fit, as a table.

    `trace["objective"]`, `len(trace)`, `np.asarray(trace)` and `trace.to_frame()` speak of the
    finest table there is: pairs for the teaching solvers, slices of work for the fast one.

    Attributes
    ----------
    steps : structured array
        Per pair: the pair (i, j), the errors E_i and E_j before the step, the curvature eta, the
        ends L and H of the segment, alpha_j before and after clipping, alpha_i after the step, the
        bias b, the dual objective, the duality gap, the largest violation, the seconds, why the
        pair was chosen (a position in `REASONS`; `reasons` has the words), and how many pairs were
        refused since the step before. `spread` is half of what lies between the biases of two
        groups: the margin rho of a nu classifier, minus the half-width of the tube of a nu-SVR.
    refused : structured array
        Per pair that was looked at and left alone: the pair, the row of `steps` that came next, and
        why (a position in `REFUSALS`).
    rounds : structured array
        Per pass or slice: pairs moved so far, support vectors, b, objective, gap, violation,
        training accuracy, mean loss, how far the multipliers and b moved, and the seconds.
    complete : bool
        Whether everything is in it: nothing came after the limit, and Ctrl-C cut no step in half.
    """

    def __init__(self, limit=LIMIT):
        self.limit = limit
        self.complete = True
        self._began = perf_counter()
        self._steps, self._rounds = _Table(STEP, limit), _Table(ROUND, limit)
        self._refused, self._n_refused = _Table(REFUSED, limit), 0
        self._starts, self._moves = {}, []
        self._problem, self._last, self._round = 0, None, 0

    @property
    def steps(self):
        return self._steps.rows

    @property
    def rounds(self):
        return self._rounds.rows

    @property
    def refused(self):
        return self._refused.rows

    @property
    def reasons(self):
        """Why each pair of `steps` was chosen, in words."""
        return np.array(list(REASONS.values()))[self.steps["reason"]]

    @property
    def finest(self):
        return self.steps if len(self.steps) else self.rounds

    def __len__(self):
        return len(self.finest)

    def __getitem__(self, key):
        return self.finest[key]

    def __array__(self, dtype=None, copy=None):
        return np.array(self.finest, dtype=dtype)

    @property
    def dtype(self):
        return self.finest.dtype

    def __repr__(self):
        kind = "steps" if len(self.steps) else "rounds"
        is_cut = len(self) >= self.limit
        lack = f", cut at {self.limit}" if is_cut else ", a step is missing"
        end = "" if self.complete else lack
        return f"<Trace of {len(self)} {kind}{end}: {', '.join(self.dtype.names)}>"

    def to_frame(self, table="finest"):
        """The table as a pandas data frame; `table` is "finest", "steps" or "rounds"."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError(
                "Trace.to_frame: a data frame needs pandas; pip install pandas. Without it, "
                "np.asarray(trace) is the same table."
            ) from error
        rows = getattr(self, table)
        frame = DataFrame(rows)
        return frame.assign(reason=self.reasons) if rows.dtype == STEP else frame

    # Recording, by solvers.

    def begin(self, problem, coef, signs=1.0, box=np.inf, b=0.0, spread=0.0):
        """Begin a problem at `coef`, or go on with it. A variable times its sign in `signs` is a
        multiplier, which is no larger than its `box`."""
        if problem not in self._starts:
            signs, box = (np.broadcast_to(values, coef.shape) for values in (signs, box))
            self._starts[problem] = Start(coef.copy(), signs, box, b, spread)
            self._problem, self._last, self._round = problem, (coef.copy(), 0.0), 0

    def step(self, reason, **figures):
        more = {"reason": REASON_CODES[reason], "refused": self._n_refused}
        seconds = perf_counter() - self._began
        row = {"problem": self._problem, "seconds": seconds, **figures, **more}
        self.complete = self._steps.append(row) and self.complete
        self._n_refused = 0

    def refuse(self, i, j, why):
        """Record a pair that was left alone; beyond the limit it is only counted."""
        row = {"problem": self._problem, "step": len(self.steps), "i": i, "j": j}
        self._refused.append({**row, "why": REFUSAL_CODES[why]})
        self._n_refused += 1

    def round(self, problem, coef, expansion, bias, n_iter, violation, keep_moves=True):
        """Record the end of a pass or slice; `keep_moves` if its single steps are not recorded."""
        last_coef, last_bias = self._last
        moved = np.flatnonzero(coef != last_coef)
        row = {
            "problem": self._problem,
            "round": self._round,
            "n_iter": n_iter,
            "violation": violation,
            "movement": np.abs(coef - last_coef).sum() + abs(bias[0] - last_bias),
            "seconds": perf_counter() - self._began,
            **_figures(problem, coef, expansion, bias),
        }
        kept = self._rounds.append(row)
        self.complete = kept and self.complete
        if keep_moves and kept:
            self._moves.append((self._problem, moved, coef[moved]))
        self._last, self._round = (coef.copy(), float(bias[0])), self._round + 1

    def ends_at(self, coef):
        """Whether the last round of the problem ended at `coef`."""
        return np.array_equal(self._last[0], coef)

    def check_end(self, coef):
        """Note that a step is missing if the recorded ones do not lead to `coef`."""
        self.complete = self.complete and np.array_equal(self.replay(self._problem), coef)

    # Replaying.

    def start(self, problem=0):
        """Where a problem began."""
        return self._starts[problem]

    def replay(self, problem=0, n_rows=None):
        """The signed coefficients after the first `n_rows` rows of a problem (default: all)."""
        coef, signs = self._starts[problem].coef.copy(), self._starts[problem].signs
        own = self.steps[self.steps["problem"] == problem]
        made = own[:n_rows]
        variables = np.column_stack([made["i"], made["j"]]).ravel()
        multipliers = np.column_stack([made["alpha_i"], made["clipped"]]).ravel()
        coef[variables] = signs[variables] * multipliers  # the last value of a variable counts
        if not len(own):
            moves = [move for move in self._moves if move[0] == problem]
            for _, variables, values in moves[:n_rows]:
                coef[variables] = values
        return coef


class _Table:
    """A structured array that grows by doubling, up to a limit."""

    def __init__(self, dtype, limit):
        self._array = np.empty(min(64, limit), dtype=dtype)
        self._limit = limit
        self._n = 0

    @property
    def rows(self):
        return self._array[: self._n]

    def append(self, row):
        """Append a row; return False when the table is full."""
        if self._n >= self._limit:
            return False
        if self._n == len(self._array):
            larger = np.empty(min(2 * self._n, self._limit), dtype=self._array.dtype)
            larger[: self._n] = self._array
            self._array = larger
        self._array[self._n] = tuple(row[name] for name in self._array.dtype.names)
        self._n += 1
        return True


def _figures(problem, coef, expansion, bias):
    """What a round reports about its point, from Kc as the solver knows it."""
    residual = problem.linear - expansion - bias[problem.groups]
    objective = problem.objective(coef, expansion)
    primal = primal_objective(problem, coef, bias, expansion)
    prices = np.maximum(problem.upper, -problem.lower)
    is_classifier = not np.any(problem.epsilon) and np.all(np.abs(problem.linear) == 1.0)
    slack = primal - 0.5 * float(coef @ expansion) - float(bias @ problem.totals)
    finite = bool(np.all(np.isfinite(prices)))
    return {
        "b": float(bias.mean()),
        "objective": objective,
        "gap": primal - objective,
        "accuracy": float(np.mean(problem.linear * residual < 1.0)) if is_classifier else np.nan,
        "loss": slack / float(prices.sum()) if finite else np.nan,
        "n_support": int(np.count_nonzero(coef)),
    }
