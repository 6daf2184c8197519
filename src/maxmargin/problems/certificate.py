"""The certificate: a proof that a solution is optimal, made from the data alone.

Weak duality bounds the dual by the primal. For any coefficients c and any biases b_h,
with f_i = (Kc)_i + b_h(i),

    primal = 1/2 c'Kc + sum_h b_h totals[h]
             + sum_i max over v in [lower_i, upper_i] of (v (p_i - f_i) - epsilon_i |v|)

is at least the dual optimum (for C-SVC the last sum is the hinge loss times C, for regression the
epsilon-insensitive loss times C). So primal - dual bounds how far the solution is from the best
one, whatever produced it. Nothing is taken from the solver but its coefficients: Kc is computed in
float64 from the data, the biases follow from it, and units come from the problem.

The claim has three limits, and each is stated. Kc carries rounding errors, whose size is estimated
here: where they exceed tol, it cannot be known whether the conditions hold. The bound needs a
kernel that is positive semidefinite: where that is not known, the conditions prove a stationary
point and no more. And conditions that hold within tol leave a gap, which is compared with the
objective: where C is large, a small slack is dear, and the gap may be as large as the objective.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from math import isnan

import numpy as np

from maxmargin.arrays import EPSILON
from maxmargin.problems.dual import walk

# Solutions within 0.001 of every condition mostly have a relative gap below 0.1 %.
LARGEST_GAP = 0.01

# Coefficients may leave their box or their sum by this, relative to it, because of rounding.
FEASIBLE = 1e-9
SMALLEST_UNIT = 1e-280  # Targets or kernel values that are smaller count as zero.


@dataclass(frozen=True)
class Certificate:
    """How close to optimal a fitted SVM is.

    Attributes
    ----------
    primal_objective, dual_objective : float
        For C-SVC 1/2 |w|^2 + sum C_i xi_i, and sum alpha - 1/2 alpha'Q alpha.
    duality_gap : float
        primal - dual; the objective is at most this far from its optimum. For several classes the
        largest of one binary problem.
    relative_gap : float
        The gap divided by the larger of the two objectives' sizes; likewise.
    stationarity : float
        dL/db: the largest |sum of c over a group - its total|, relative to sum |c|. (dL/dw = 0
        holds by construction, because w is defined by the coefficients.)
    primal_feasibility : float
        For a hard margin, the largest shortfall of a margin. It is zero for a finite C, where the
        slack is the loss itself.
    dual_feasibility : float
        How far the coefficients leave their box, relative to the largest box.
    complementary_slackness : float
        How far at most a point with alpha > 0 lies beyond the margin (inside the tube).
    slack_complementarity : float
        The largest slack of a point with alpha < C, which ought to be zero. (These two, and
        `rounding`, are in the unit of the problem, which `slack_unit` finds.)
    kkt_violation : float
        The largest of the five. (A condition is NaN where it is not measured by itself, as in
        some linear machines: there the gap takes its place.)
    n_zero, n_free, n_bound : int
        Points with alpha = 0, 0 < alpha < C, alpha = C.
    tol : float
        The tolerance of `stationary`.
    rounding : float
        How far f, and so every condition, may be off, because numbers have 16 digits.
    mercer : bool or None
        Whether the kernel matrix is positive semidefinite, which is known by construction or
        because all of it was looked at; None where it is not known.
    largest_gap : float
        The largest relative gap of what is called optimal: 1 %, or tol if that is more. (It is
        infinite where the objective may be zero, so that the conditions alone decide.)
    stationary : bool
        Whether every condition holds within tol, and rounding is no more than that; for a linear
        machine (`by_gap`), whether the relative gap is at most tol.
    optimal : bool
        Whether it is stationary, the gap is no larger than `largest_gap`, and the kernel is known
        to be positive semidefinite, so that no solution is better by more than the gap.
    recomputed : bool
        False only for a fit that was interrupted, or cut short with no time for a proof, or asked
        for none (`certify`): then f is the solver's own, and proves nothing.
    parts : sequence of Certificate
        For several classes, one per binary problem. Objectives and numbers of points above are
        their sums, and all other numbers those of the worst.
    """

    primal_objective: float
    dual_objective: float
    stationarity: float
    primal_feasibility: float
    dual_feasibility: float
    complementary_slackness: float
    slack_complementarity: float
    n_zero: int
    n_free: int
    n_bound: int
    tol: float
    recomputed: bool = True
    by_gap: bool = False
    rounding: float = 0.0
    mercer: bool | None = True
    largest_gap: float = LARGEST_GAP
    parts: Sequence["Certificate"] = field(default=(), repr=False)

    @property
    def duality_gap(self):
        if self.parts:
            primal, dual = self._objectives_of_parts()
            return float(np.max(primal - dual))
        return self.primal_objective - self.dual_objective

    @property
    def relative_gap(self):
        if self.parts:
            return float(np.max(relative_difference(*self._objectives_of_parts())))
        return float(relative_difference(self.primal_objective, self.dual_objective))

    def _objectives_of_parts(self):
        table = table_of(self.parts)
        return [np.array(table.column(name)) for name in ("primal_objective", "dual_objective")]

    @property
    def conditions(self):
        """The five KKT conditions and the largest violation of each."""
        names = (
            "stationarity",
            "primal_feasibility",
            "dual_feasibility",
            "complementary_slackness",
            "slack_complementarity",
        )
        return {name: getattr(self, name) for name in names}

    @property
    def kkt_violation(self):
        if isnan(self.primal_objective) or isnan(self.dual_objective):
            return np.inf  # the coefficients are NaN
        return max((v for v in self.conditions.values() if not isnan(v)), default=0.0)

    @property
    def stationary(self):
        if self.by_gap:
            return bool(self.relative_gap <= self.tol)
        is_known = self.rounding <= self.tol  # NaN is not
        return bool(self.recomputed and is_known and self.kkt_violation <= self.tol)

    @property
    def has_small_gap(self):
        """Whether the gap is small. A gap below zero is as bad as one above, unless the point is
        feasible: then it must be rounding."""
        gap, most = self.relative_gap, max(self.largest_gap, self.tol)
        is_feasible = max(self.stationarity, self.dual_feasibility) <= FEASIBLE
        return bool(gap <= most and (gap >= -most or is_feasible))

    @property
    def optimal(self):
        return self.stationary and self.has_small_gap and self.mercer is True

    def _verdict(self):
        if self.optimal:
            return "optimal"
        if not self.recomputed and self.kkt_violation <= self.tol:
            return "not proved"
        if not self.stationary:
            return "NOT optimal"
        return "a stationary point" if self.has_small_gap else "not known to be optimal"

    def __repr__(self):
        source = "" if self.recomputed else ", not recomputed (interrupted, cut short or declined)"
        lines = [
            f"Certificate: {self._verdict()} within tol={self.tol:g}{source}",
            f"  primal objective  {self.primal_objective:.10g}",
            f"  dual objective    {self.dual_objective:.10g}",
            *self._gap_lines(),
            f"  KKT violation     {self.kkt_violation:.3g}",
        ]
        lines += [f"    {k.replace('_', ' '):<24}{v:.3g}" for k, v in self.conditions.items()]
        lines.append(
            f"  points            {self.n_zero} zero, {self.n_free} free, "
            f"{self.n_bound} at the bound"
        )
        if not self.by_gap:
            lines.append(f"  rounding of f     {self.rounding:.1g}")
        if self.mercer is not True:
            known = "not known to be" if self.mercer is None else "not"
            lines.append(
                f"  kernel            {known} positive semidefinite: the gap bounds nothing, "
                "another solution may be better"
            )
        if self.parts:
            lines.append(
                f"  binary problems   {len(self.parts)}; objectives, their gap and points are "
                "sums, violations the worst; see .parts"
            )
        return "\n".join(lines)

    def _gap_lines(self):
        """The gap of the objectives shown; of several problems also the largest of one of them."""
        worst, relative = f"{self.duality_gap:.3g}", f"{self.relative_gap:.3g}"
        if not self.parts:
            return [f"  duality gap       {worst}  (relative {relative})"]
        gap = self.primal_objective - self.dual_objective
        return [
            f"  duality gap       {gap:.3g}",
            f"  largest of one    {worst}  (relative at most {relative})",
        ]


@dataclass(frozen=True)
class Proof:
    """Kc from the data, the biases that fit it best, and the certificate of both."""

    expansion: np.ndarray
    bias: np.ndarray
    certificate: Certificate


def prove(problem, coef, tol, told=None, **known):
    """Examine coefficients, whatever produced them: the one place that forms Kc for a proof.

    It is None if `told`, which hears how far the work is, asks for its end.
    """
    expansion = problem.expansion(coef, told)
    if expansion is None:
        return None
    bias = problem.biases(coef, expansion)
    return Proof(expansion, bias, _certificate(problem, coef, bias, expansion, tol, **known))


def unproved(problem, coef, tol, expansion, **known):
    """What the solver's own Kc says about coefficients, without the data. It proves nothing."""
    bias = problem.biases(coef, expansion)
    proof = _certificate(problem, coef, bias, expansion, tol, **known)
    return Proof(expansion, bias, replace(proof, recomputed=False))


def certify(problem, coef, bias, tol, **known):
    """Certify coefficients and biases for a dual problem.

    Parameters
    ----------
    problem : DualProblem
    coef : array of shape (n,)
    bias : array of shape (number of groups,)
    tol : float
    ulps : float
        How many units in the last place a kernel value may be off (`engines/exactness.py`).
    mercer : bool, optional
        Whether the matrix is positive semidefinite, if its kernel does not say so.
    """
    return _certificate(problem, coef, bias, problem.expansion(coef), tol, **known)


def _certificate(problem, coef, bias, expansion, tol, ulps=1.0, mercer=None):
    found, unit = _Measured(problem, coef, bias, expansion), slack_unit(problem)
    known = problem.kernel.positive_semidefinite
    return Certificate(
        primal_objective=found.primal,
        dual_objective=problem.objective(coef, expansion),
        stationarity=_imbalance(problem, coef),
        primal_feasibility=found.growth if found.is_hard else 0.0,
        dual_feasibility=found.outside / _size_of_box(problem),
        complementary_slackness=found.shrinkage / unit,
        slack_complementarity=0.0 if found.is_hard else found.growth / unit,
        n_zero=found.n_zero,
        n_free=problem.n - found.n_zero - found.n_bound,
        n_bound=found.n_bound,
        tol=float(tol),
        rounding=_rounding(problem, coef, bias, expansion, ulps) / unit,
        mercer=True if known is True else mercer,
    )


def nothing_known(tol):
    """The certificate of a linear fit that was interrupted before its proof."""
    unknown = [np.nan] * 7  # the objectives and the conditions
    return Certificate(*unknown, 0, 0, 0, float(tol), recomputed=False, by_gap=True)


def slack_unit(problem):
    """The unit in which slacks are measured: the range of the targets, where that is below one.

    LIBSVM measures in units of one, in which targets that are all smaller than tol would be fitted
    by no model at all. A nu classifier and a one-class problem have no targets: there f has the
    scale of the weights and, where that is below one, of the kernel.
    """
    if problem.rows is None and np.any(problem.totals) and not np.any(problem.linear):
        largest = float(np.max(np.abs(problem.diagonal())))
        unit = float(np.max(problem.upper - problem.lower)) * min(1.0, largest)
    else:
        unit = min(1.0, float(np.ptp(problem.linear)))
    return unit if unit > SMALLEST_UNIT else 1.0


def combine(parts):
    """One certificate for several problems: sums of the objectives, the worst of the rest."""
    if len(parts) == 1:
        return parts[0]
    first, table = parts[0], table_of(parts)
    worst = {name: max(table.column(name)) for name in first.conditions}
    totals = ("primal_objective", "dual_objective", "n_zero", "n_free", "n_bound")
    sums = {name: sum(table.column(name)) for name in totals}
    return Certificate(
        **worst,
        **sums,
        tol=first.tol,
        recomputed=all(table.column("recomputed")),
        by_gap=first.by_gap,
        rounding=float(np.max(table.column("rounding"))),
        mercer=_of_all(table.column("mercer")),
        largest_gap=first.largest_gap,
        parts=parts if parts is table else tuple(parts),
    )


class CertificateTable(Sequence):
    """Certificates of many problems, each made when it is looked at.

    `columns` holds an array for each field that differs from its default.
    """

    def __init__(self, columns):
        self._columns = columns

    def __len__(self):
        return len(self._columns["tol"])

    def __getitem__(self, position):
        if isinstance(position, slice):
            return tuple(self[k] for k in range(len(self))[position])
        values = {name: column.item(position) for name, column in self._columns.items()}
        return Certificate(**values)

    def __eq__(self, other):
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self):
        return hash(tuple(self))

    def column(self, name):
        """A field of every certificate, by its name."""
        if name not in self._columns:
            return [Certificate.__dataclass_fields__[name].default] * len(self)
        return self._columns[name].tolist()

    def beside(self, others, places):
        """A table with other certificates as well, each at its place in `places`."""
        kept = np.setdiff1d(np.arange(len(self) + len(others)), places)
        merged, added = {}, table_of(others)
        for name in NAMES:
            column = np.array(self.column(name) + added.column(name))
            merged[name] = column[np.argsort(np.concatenate([kept, places]))]
        return CertificateTable(merged)


NAMES = tuple(one.name for one in fields(Certificate) if one.name != "parts")


@np.errstate(over="ignore", invalid="ignore")
def relative_difference(primal, dual):
    """The gap between two objectives as a share of the larger; inf where it is NaN."""
    size = np.maximum(np.abs(primal), np.abs(dual))
    relative = (primal - dual) / np.where(size > 0, size, 1.0)
    return np.where(np.isfinite(relative), relative, np.inf)[()]


def table_of(certificates):
    if isinstance(certificates, CertificateTable):
        return certificates
    return CertificateTable(
        {name: np.array([getattr(one, name) for one in certificates]) for name in NAMES}
    )


def _of_all(known):
    """Whether all hold: False where one is known not to, None where one is not known."""
    if False in known:
        return False
    return None if None in known else True


def primal_objective(problem, coef, bias, expansion):
    """The primal objective of the coefficients and biases, given Kc."""
    return _Measured(problem, coef, bias, expansion).primal


class _Measured:
    """The conditions at a point, and its primal objective."""

    def __init__(self, problem, coef, bias, expansion):
        from maxmargin.compiled.conditions import measure

        residual, losses = problem.linear - expansion - bias[problem.groups], np.empty(problem.n)
        self.growth, self.shrinkage, self.outside, self.n_zero, self.n_bound, self.is_hard = (
            measure(coef, residual, problem.lower, problem.upper, problem.epsilon, losses)
        )
        square = float(coef @ expansion)
        if self.is_hard:
            # Shrink the separator's margins to the smallest: that one satisfies every constraint.
            margin = np.min(problem.linear * (problem.linear - residual))  # p holds the labels
            self.primal = np.inf if margin <= 0 else 0.5 * square / margin**2
        else:
            self.primal = float(0.5 * square + bias @ problem.totals + losses.sum())


@np.errstate(over="ignore", invalid="ignore")  # infinity and NaN are not below tol
def _rounding(problem, coef, bias, expansion, ulps):
    """How far f may be off.

    The errors of the entries of K add up like a random walk. |K_ij| is at most size_i size_j, or,
    without Mercer's condition, is taken to be at most the largest K_ii. The sum is rounded again,
    and so is its difference from targets and bias.
    """
    sizes = np.sqrt(np.abs(problem.diagonal()))
    if problem.kernel.positive_semidefinite is not True:
        sizes = np.full(len(sizes), np.max(sizes, initial=0.0))
    largest = sum(
        float(np.max(np.abs(part), initial=0.0)) for part in (expansion, problem.linear, bias)
    )
    return EPSILON * (ulps * walk(sizes, coef) + largest)


def _imbalance(problem, coef):
    """How far the sums are off, relative to what is added up."""
    sums = np.bincount(problem.groups, weights=coef, minlength=problem.n_groups)
    size = max(float(np.abs(coef).sum()), float(np.abs(problem.totals).sum()))
    return float(np.max(np.abs(sums - problem.totals))) / (size if size > 0 else 1.0)


def _size_of_box(problem):
    """The size of the largest box, or 1 where a box is unbounded."""
    size = float(np.max(problem.upper - problem.lower, initial=0.0))
    return size if 0.0 < size < np.inf else 1.0
