"""The trace: what a solver did, step by step, as tables.

`steps` has a row per pair that a teaching solver moved, with every quantity of the derivation;
`rounds` has a row per pass of a teaching solver or per slice of the fast one. Both stop growing at
a limit. Invariant: replaying a complete trace gives the solver's coefficients bit for bit.
"""

from time import perf_counter

import numpy as np

from maxmargin.problems.certificate import primal_objective

LIMIT = 100_000  # rows kept of either table; a row of `steps` takes 124 bytes

STEP = np.dtype(
    [
        ("problem", np.int32),
        ("i", np.int32),
        ("j", np.int32),
        *((name, np.float64) for name in (
            "error_i", "error_j", "eta", "L", "H", "unclipped", "clipped", "alpha_i", "b",
            "objective", "gap", "violation", "seconds",
        )),
    ]
)  # fmt: skip

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


class Trace:
    """The history of a fit, as a table.

    `trace["objective"]`, `len(trace)`, `np.asarray(trace)` and `trace.to_frame()` speak of the
    finest table there is: pairs for the teaching solvers, slices of work for the fast one.

    Attributes
    ----------
    steps : structured array
        Per pair: the pair (i, j), the errors E_i and E_j before the step, the curvature eta, the
        ends L and H of the segment, alpha_j before and after clipping, alpha_i after the step, the
        bias b, the dual objective, the duality gap, the largest violation, and the seconds.
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
        self._starts, self._signs, self._moves = {}, {}, []
        self._problem, self._last, self._round = 0, None, 0

    @property
    def steps(self):
        return self._steps.rows

    @property
    def rounds(self):
        return self._rounds.rows

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
        from pandas import DataFrame

        return DataFrame(getattr(self, table))

    # Recording, by solvers.

    def begin(self, problem, coef, signs=1.0):
        """A problem starts, or goes on, at `coef`; `signs` leads from variables to multipliers."""
        if problem not in self._starts:
            self._starts[problem] = coef.copy()
            self._signs[problem] = np.broadcast_to(signs, coef.shape)
            self._problem, self._last, self._round = problem, (coef.copy(), 0.0), 0

    def step(self, **figures):
        seconds = perf_counter() - self._began
        row = {"problem": self._problem, "seconds": seconds, **figures}
        self.complete = self._steps.append(row) and self.complete

    def round(self, problem, coef, expansion, bias, n_iter, violation, keep_moves=True):
        """A pass or a slice has ended; `keep_moves` where no single steps have been recorded."""
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
        """Whether the last round of the problem left it there."""
        return np.array_equal(self._last[0], coef)

    def check_end(self, coef):
        """The single steps of a problem have led to `coef`, or one of them was not recorded."""
        self.complete = self.complete and np.array_equal(self.replay(self._problem), coef)

    # Replaying.

    def replay(self, problem=0, n_rows=None):
        """The signed coefficients after the first `n_rows` rows of a problem (default: all)."""
        coef = self._starts[problem].copy()
        signs = self._signs[problem]
        own = self.steps[self.steps["problem"] == problem]
        made = own[:n_rows]
        variables = np.column_stack([made["i"], made["j"]]).ravel()
        multipliers = np.column_stack([made["alpha_i"], made["clipped"]]).ravel()
        coef[variables] = signs[variables] * multipliers  # of equal places the last one counts
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
        """False when the table is full."""
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
    """What a round reports of its point, from f = Kc as the solver knows it."""
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
