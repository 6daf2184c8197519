"""Gradient descent, full batch, in mini-batches or one point at a time, on loss + penalty.

    F(w, b) = sum_i s_i loss(y_i, w.x_i + b) / sum_i s_i + alpha penalty(w)

A step follows the gradient of the loss over the rows B it looks at, each row counted by its cost
c_i = n s_i / sum s, whose mean is one:

    w <- w - eta_t (sum_B c_i slope_i x_i / |B| + alpha gradient of the penalty)
    b <- b - eta_t  sum_B c_i slope_i / |B|.

With B all rows this is the gradient itself; with fewer it is right on average. The step size is
eta0 ("constant"), eta0 / t ("inverse") or 1 / (alpha t) ("pegasos"; Shalev-Shwartz and others,
2007), t counting the steps. For the hinge loss duality says that |w|^2 <= 1 / alpha at the optimum,
and Pegasos steps back into that ball.

With `averages`, the model is the mean of the iterates, in which iterate t counts about as t^3: the
early ones, far from the optimum, are soon forgotten, and the noise of the late ones cancels.

The loop over the rows is in `compiled/descent.py`; here are the epochs, the trace, and the end.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from maxmargin import arrays
from maxmargin.compiled import descent
from maxmargin.engines.interrupts import slices
from maxmargin.solvers.base import LinearSolution, LinearSolver
from maxmargin.solvers.descent_proof import LowerBound

TRACE = np.dtype(
    [
        ("problem", np.int64),
        ("epoch", np.int64),
        ("objective", np.float64),
        ("loss", np.float64),
        ("validation", np.float64),
        ("movement", np.float64),
        ("eta", np.float64),
        ("seconds", np.float64),
    ]
)
POWER_STEPS = 50  # The power method makes this many steps at most.
# The power method ends when the eigenvalue rises by no more than this share of itself.
POWER_TOL = 1e-3
# A fit whose proof has come no closer for this share of the epochs may be given up.
IN_VAIN = 0.5


@dataclass(frozen=True)
class Objective:
    """F on one set of rows; `share` are the weights of the rows, which sum to one."""

    X: object
    y: np.ndarray
    share: np.ndarray
    loss: object
    penalty: object
    alpha: float
    validation: "Objective | None" = None  # F on the rows that are set aside

    @property
    def n(self):
        return len(self.y)

    @property
    def curvature_of_penalty(self):
        return float(self.alpha) if self.penalty.name == "l2" else 0.0

    @property
    def is_smooth(self):
        return bool(np.isfinite(self.loss.curvature)) and self.penalty.name != "l1"

    def decisions(self, w):
        """The decisions about all rows; the last entry of w is b."""
        return self.X @ w[:-1] + w[-1]

    def mean_loss(self, decisions):
        return float(self.share @ self.loss.value(self.y, decisions))

    def price(self, w):
        """The penalty of w times alpha; b is not penalised."""
        return self.alpha * self.penalty.value(w[:-1])


@dataclass(frozen=True)
class Iterate:
    """Where descent stands: w (b is its last entry), the mean of all w, and steps and epochs."""

    w: np.ndarray
    mean: np.ndarray
    t: int = 0
    n_epochs: int = 0

    @classmethod
    def zero(cls, n_features):
        return cls(np.zeros(n_features + 1), np.zeros(n_features + 1))


@dataclass
class DescentSolution(LinearSolution):
    """Where an epoch has ended; `trace` has a row of dtype TRACE for each epoch so far."""

    iterate: Iterate | None = None
    trace: object = ()


@dataclass
class Patience:
    """Tells whether a figure has stopped falling: by no share `tol` in any of the last epochs."""

    tol: float
    epochs: int
    best: float = np.inf
    waited: int = 0

    def is_exhausted(self, figure):
        self.waited = 0 if figure < (1.0 - self.tol) * self.best else self.waited + 1
        self.best = min(self.best, figure)
        return self.waited >= self.epochs


@dataclass
class ByProof:
    """Ends a fit when it looks optimal, and is proved to be.

    It looks optimal when an epoch moves w and b by at most a share `tol` of their length, or when
    for some epochs the objective has not fallen by such a share. That alone means nothing, because
    short steps look the same. The proof is that no w and b lower the objective by a share `tol`.

    A fit that oscillates, as constant steps may, is given up when for half of all epochs the proof
    has come no closer although the objective rose. One that falls, however slowly, goes on.
    """

    bound: LowerBound
    tol: float
    falls: Patience
    nears: Patience
    may_give_up: bool
    value: float = np.inf
    lowest: float = np.inf
    has_risen: bool = False

    def ends(self, iterate, w, figures, decisions, slopes):
        """Why this epoch was the last one, or an empty text."""
        if self.tol == 0:
            return ""
        self.bound.follow(slopes)
        before, self.value, movement = self.value, figures[0], figures[3]
        self.lowest = min(self.lowest, self.value)
        self.has_risen = self.value > before or (self.has_risen and self.nears.waited > 0)
        is_level = self.falls.is_exhausted(self.value)
        if not is_level and movement > self.tol * _length(w):
            return ""
        self.bound.rise(w, decisions)
        goes_to_and_fro = self._goes_to_and_fro()
        if self.bound.proves(self.value, self.tol):
            return "converged"
        return "stalled" if goes_to_and_fro else ""

    def _goes_to_and_fro(self):
        waits = self.nears.is_exhausted(self.lowest - self.bound.value)
        in_vain = waits and self.has_risen and self.nears.waited >= IN_VAIN * self.bound.n_epochs
        # A w that is worse than zero may be on its way to infinity.
        return in_vain and self.may_give_up and self.value <= self.bound.at_zero

    def chosen(self, iterate):
        return iterate

    @property
    def to_gain(self):
        """The share by which the objective may still fall."""
        return (self.value - self.bound.value) / self.value if self.value > 0 else 0.0


@dataclass
class ByValidation:
    """Ends a fit when the loss on the rows set aside falls no more; it chooses the best iterate."""

    patience: Patience
    best: Iterate | None = None
    to_gain: float = np.nan

    def ends(self, iterate, w, figures, decisions, slopes):
        held_out = figures[2]
        is_over = self.patience.is_exhausted(held_out)
        self.best = iterate if held_out <= self.patience.best else self.best
        return "converged" if is_over else ""

    def chosen(self, iterate):
        return self.best


@dataclass(frozen=True)
class GradientDescent(LinearSolver):
    """The method and its settings; `batch_size` None means all rows, `eta0` "auto" a safe step.

    An iteration is an epoch. The violation is the share by which the objective may still fall.
    """

    schedule: str = "constant"
    eta0: float | str = "auto"
    batch_size: int | None = None
    tol: float = 1e-4
    n_iter_no_change: int = 5
    fit_intercept: bool = True
    averages: bool = False
    shuffle: bool = True
    seed: int = 0

    counted = "weights"

    def approach(self, problem, budget, start):
        """Descend until `ByProof` or, with rows that are set aside, `ByValidation` ends it."""
        began, trace = perf_counter(), []
        iterate = Iterate.zero(problem.X.shape[1]) if start is None else start.iterate
        yield DescentSolution(self.model(iterate), iterate=iterate)
        epoch, end = self._compiled_epoch(problem), self._end(problem)
        while True:
            before = self.model(iterate)
            iterate, eta, slopes = epoch(iterate)
            w = self.model(iterate)
            figures, decisions = self._figures(problem, w, before)
            trace.append((0, iterate.n_epochs, *figures, eta, perf_counter() - began))
            stopped = end.ends(iterate, w, figures, decisions, slopes)
            chosen = end.chosen(iterate)
            yield DescentSolution(
                self.model(chosen), None, len(trace), end.to_gain, figures[0], stopped, chosen,
                trace,
            )  # fmt: skip

    def finish(self, problem, found):
        return replace(found, trace=np.array(list(found.trace), dtype=TRACE))

    def _end(self, problem):
        falls, nears = (Patience(self.tol, self.n_iter_no_change) for _ in range(2))
        if problem.validation is not None:
            return ByValidation(falls)
        bound = LowerBound(problem, self.fit_intercept)
        return ByProof(bound, self.tol, falls, nears, may_give_up=self.schedule == "constant")

    def model(self, iterate):
        return iterate.mean if self.averages else iterate.w

    def _figures(self, objective, w, before):
        """The objective, its loss, the validation loss and the movement; and the decisions."""
        with np.errstate(over="ignore", invalid="ignore"):
            decisions = objective.decisions(w)
            loss = objective.mean_loss(decisions)
            value = loss + objective.price(w)
            movement = _length(w - before)
            held_out = np.nan
            if objective.validation is not None:
                held_out = objective.validation.mean_loss(objective.validation.decisions(w))
        if not np.isfinite(value + movement):
            raise FloatingPointError("gradient descent left the range of numbers")
        return (value, loss, held_out, movement), decisions

    def _compiled_epoch(self, objective):
        """The function that makes one epoch: it takes an iterate and returns the next, its last
        step, and the slope of every row when it was looked at."""
        n, cost = objective.n, objective.n * objective.share
        batch_size = n if self.batch_size is None else min(self.batch_size, n)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = arrays.squared_norms(objective.X)
            lengths_of_steps = self._steps(objective, lengths, batch_size)
        data = (*arrays.storage(objective.X), objective.y, cost, lengths)
        settings = {
            "batch_size": batch_size,
            "loss": descent.LOSSES.index(objective.loss.name),
            "epsilon": float(getattr(objective.loss, "epsilon", 0.0)),
            "l1": float(objective.alpha) if objective.penalty.name == "l1" else 0.0,
            "l2": objective.curvature_of_penalty,
            "fit_intercept": self.fit_intercept,
            "averages": self.averages,
            **lengths_of_steps,
        }

        work = 2 * data[0].size

        def epoch(iterate):
            order = np.arange(n)
            if self.shuffle and batch_size < n:
                order = np.random.default_rng([self.seed, iterate.n_epochs]).permutation(n)
            w, mean, t = iterate.w.copy(), iterate.mean.copy(), iterate.t
            followed = np.zeros(n)
            for steps in slices(range(0, n, batch_size), work):
                rows = order[steps.start : steps.stop]
                t, eta = descent.epoch(
                    *data, rows, t=t, w=w, mean=mean, followed=followed, **settings
                )
            mean = mean if self.averages else w.copy()
            return Iterate(w, mean, t, iterate.n_epochs + 1), eta, followed

        return epoch

    def _steps(self, objective, squared_lengths, batch_size):
        """How long the steps are, and the radius of the ball that w stays in."""
        if self.schedule == "pegasos":
            in_ball = objective.loss.name == "hinge"
            radius = float(1.0 / np.sqrt(objective.alpha)) if in_ball else np.inf
            return {"eta0": 1.0 / float(objective.alpha), "decays": True, "radius": radius}
        eta0 = self.eta0
        if eta0 == "auto":
            eta0 = safe_step(objective, squared_lengths, batch_size, self.fit_intercept)
        return {"eta0": float(eta0), "decays": self.schedule == "inverse", "radius": np.inf}


def _length(w):
    """|w| + |b|."""
    return float(np.linalg.norm(w[:-1])) + abs(float(w[-1]))


def safe_step(objective, squared_lengths, batch_size, fit_intercept):
    """1 / L, where L bounds the curvature of what one step looks at: descent cannot diverge.

    The curvature of all rows is that of the loss times the largest eigenvalue of their weighted
    X'X; for fewer rows it is at most that of the loss times the longest row. A loss with a kink has
    no bound; with a curvature of 1, a step changes the decisions by about 1 at most.
    """
    of_loss = objective.loss.curvature if np.isfinite(objective.loss.curvature) else 1.0
    if batch_size == objective.n:
        size = largest_eigenvalue(objective.X, objective.share, fit_intercept)
    else:
        cost = objective.n * objective.share
        size = float(np.max(cost * (squared_lengths + float(fit_intercept))))
    curvature = of_loss * size + objective.curvature_of_penalty
    if not np.isfinite(curvature):
        raise FloatingPointError("the squares of the features leave the range of numbers")
    return 1.0 / curvature if curvature > 0 else 1.0


def largest_eigenvalue(X, share, fit_intercept):
    """The largest eigenvalue of X' diag(share) X with a constant column, by the power method.

    The estimate is too low, and a step of 1 / L is safe as long as it is above half the value.
    """
    constant = float(fit_intercept)
    vector = np.random.default_rng(0).standard_normal(X.shape[1] + 1)
    value = 0.0
    for _ in range(POWER_STEPS):
        vector /= max(float(np.linalg.norm(vector)), np.finfo(float).tiny)
        products = share * (X @ vector[:-1] + constant * vector[-1])
        vector = np.append(X.T @ products, constant * products.sum())
        before, value = value, float(np.linalg.norm(vector))
        if value <= (1.0 + POWER_TOL) * before:
            break
    return value
