"""The certificate: a proof that a solution is optimal, made from the data alone.

Weak duality bounds the dual by the primal. For any coefficients c with f = Kc and any biases b_h,

    primal = 1/2 c'Kc + sum_h b_h totals[h]
             + sum_i max over v in [lower_i, upper_i] of ( v (p_i - f_i - b_h(i)) - epsilon_i |v| )

is at least the dual optimum (for C-SVC the last sum is the hinge loss times C, for regression the
epsilon-insensitive loss times C). So primal - dual bounds how far the solution is from the best
one, whoever produced it. f is recomputed here in float64; nothing is taken from the solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from math import isnan

import numpy as np

from maxmargin import arrays
from maxmargin.kernels.pairs import Pairs, Points

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Certificate:
    """How close to optimal a fitted SVM is.

    Attributes
    ----------
    primal_objective, dual_objective : float
        For C-SVC 1/2 |w|^2 + sum C_i xi_i, and sum alpha - 1/2 alpha'Q alpha.
    duality_gap : float
        primal - dual; the objective is at most this far from its optimum.
    relative_gap : float
        The gap divided by the larger of the two objectives' sizes.
    stationarity : float
        dL/db: the largest |sum of c over a group - its total|, relative to sum |c| where that is
        above one. (dL/dw = 0 holds by construction, because w is defined by the coefficients.)
    primal_feasibility : float
        How far the slacks are from allowing the margins found (zero for finite C, where the slack
        is the loss itself; for a hard margin the largest shortfall of a margin).
    dual_feasibility : float
        How far the coefficients leave their box.
    complementary_slackness : float
        Over points with alpha > 0: how far beyond the margin (inside the tube) one lies.
    slack_complementarity : float
        Over points with alpha < C: the largest slack, which ought to be zero. (Of a one-class SVM
        these two are in units of the largest k(x, x), where that is below one.)
    kkt_violation : float
        The largest of the five. (NaN stands for a condition that is not measured by itself, as in
        some linear machines: there the gap speaks for it.)
    n_zero, n_free, n_bound : int
        Points with alpha = 0, 0 < alpha < C, alpha = C.
    tol : float
        What `optimal` compares with.
    optimal : bool
        Every condition holds within tol; for a linear machine (`by_gap`), the relative gap does.
    recomputed : bool
        False only for a fit that was interrupted: then f is the solver's own.
    parts : sequence of Certificate
        For several classes, one per binary problem; the numbers above report the worst.
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
    parts: Sequence["Certificate"] = field(default=(), repr=False)

    @property
    def duality_gap(self):
        if self.parts:
            return float(np.max([part.duality_gap for part in self.parts]))
        return self.primal_objective - self.dual_objective

    @property
    def relative_gap(self):
        if self.parts:
            return max(part.relative_gap for part in self.parts)
        size = max(abs(self.primal_objective), abs(self.dual_objective))
        if not np.isfinite(size + self.duality_gap):
            return np.inf
        return self.duality_gap / size if size > 0 else 0.0

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
            return np.inf  # of coefficients that are no numbers
        return max((v for v in self.conditions.values() if not isnan(v)), default=0.0)

    @property
    def optimal(self):
        measure = self.relative_gap if self.by_gap else self.kkt_violation
        return bool(measure <= self.tol)

    def __repr__(self):
        verdict = "optimal" if self.optimal else "NOT optimal"
        source = "" if self.recomputed else ", not recomputed (interrupted)"
        lines = [
            f"Certificate: {verdict} within tol={self.tol:g}{source}",
            f"  primal objective  {self.primal_objective:.10g}",
            f"  dual objective    {self.dual_objective:.10g}",
            f"  duality gap       {self.duality_gap:.3g}  (relative {self.relative_gap:.3g})",
            f"  KKT violation     {self.kkt_violation:.3g}",
        ]
        lines += [f"    {k.replace('_', ' '):<24}{v:.3g}" for k, v in self.conditions.items()]
        lines.append(
            f"  points            {self.n_zero} zero, {self.n_free} free, "
            f"{self.n_bound} at the bound"
        )
        if self.parts:
            lines.append(
                f"  binary problems   {len(self.parts)}; objectives and points are sums, "
                "gap and violations the worst"
            )
        return "\n".join(lines)


def certify(problem, coef, bias, tol, expansion=None, recomputed=True, unit=1.0):
    """Certify coefficients and biases for a dual problem.

    Parameters
    ----------
    problem : DualProblem
    coef : array of shape (n,)
    bias : array of shape (number of groups,)
    tol : float
    expansion : array of shape (n,), optional
        f = Kc in float64, when an engine has computed it from the data. Computed here otherwise.
    unit : float
        In which slacks are measured.
    """
    if expansion is None:
        expansion = _expansion(problem, coef)
    found = _Measured(problem, coef, bias, expansion)
    return Certificate(
        primal_objective=found.primal,
        dual_objective=problem.objective(coef, expansion),
        stationarity=_imbalance(problem, coef),
        primal_feasibility=found.growth if found.is_hard else 0.0,
        dual_feasibility=found.outside,
        complementary_slackness=found.shrinkage / unit,
        slack_complementarity=0.0 if found.is_hard else found.growth / unit,
        n_zero=found.n_zero,
        n_free=problem.n - found.n_zero - found.n_bound,
        n_bound=found.n_bound,
        tol=float(tol),
        recomputed=recomputed,
    )


def combine(parts):
    """One certificate for several problems: sums of the objectives, the worst of the rest."""
    if len(parts) == 1:
        return parts[0]
    first, table = parts[0], parts if isinstance(parts, CertificateTable) else table_of(parts)
    worst = {name: max(table.column(name)) for name in first.conditions}
    totals = ("primal_objective", "dual_objective", "n_zero", "n_free", "n_bound")
    sums = {name: sum(table.column(name)) for name in totals}
    return Certificate(
        **worst,
        **sums,
        tol=first.tol,
        recomputed=all(table.column("recomputed")),
        by_gap=first.by_gap,
        parts=parts if parts is table else tuple(parts),
    )


class CertificateTable(Sequence):
    """Certificates of many problems, each made when it is looked at.

    `columns` holds an array for each field of theirs that is not as it is by default.
    """

    def __init__(self, columns):
        self._columns = columns

    def __len__(self):
        return len(self._columns["tol"])

    def __getitem__(self, position):
        if isinstance(position, slice):
            return tuple(self[k] for k in range(len(self))[position])
        values = {name: column[position].item() for name, column in self._columns.items()}
        return Certificate(**values)

    def __eq__(self, other):
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self):
        return hash(tuple(self))

    def column(self, name):
        """That field of every certificate."""
        if name not in self._columns:
            return [Certificate.__dataclass_fields__[name].default] * len(self)
        return self._columns[name].tolist()

    def beside(self, others, places):
        """The same with other certificates, of which each takes the place that is given."""
        kept = np.setdiff1d(np.arange(len(self) + len(others)), places)
        merged, added = {}, table_of(others)
        for name in NAMES:
            column = np.array(self.column(name) + added.column(name))
            merged[name] = column[np.argsort(np.concatenate([kept, places]))]
        return CertificateTable(merged)


NAMES = tuple(one.name for one in fields(Certificate) if one.name != "parts")


def table_of(certificates):
    return CertificateTable(
        {name: np.array([getattr(one, name) for one in certificates]) for name in NAMES}
    )


def primal_objective(problem, coef, bias, expansion):
    """The primal objective of the coefficients and biases, given f = Kc."""
    return _Measured(problem, coef, bias, expansion).primal


class _Measured:
    """The conditions at a point, and its primal objective."""

    def __init__(self, problem, coef, bias, expansion):
        from maxmargin.compiled.conditions import measure

        residual, losses = problem.linear - expansion - bias[problem.groups], np.empty(problem.n)
        self.growth, self.shrinkage, self.outside, self.n_zero, self.n_bound, self.is_hard = (
            measure(coef, residual, problem.lower, problem.upper, problem.epsilon, losses)
        )
        if _is_drowned(problem, expansion):
            self.growth = self.shrinkage = np.inf
        square = float(coef @ expansion)
        if self.is_hard:
            # Shrink the separator's margins to the smallest: that one satisfies every constraint.
            margin = np.min(np.where(problem.upper > 0, 1.0, -1.0) * (problem.linear - residual))
            self.primal = np.inf if margin <= 0 else 0.5 * square / margin**2
        else:
            self.primal = float(0.5 * square + bias @ problem.totals + losses.sum())


def _is_drowned(problem, expansion):
    """Whether an ulp of f is as large as the targets: then p - f is f whatever they are, and says
    nothing of any condition."""
    largest = float(np.max(np.abs(problem.linear), initial=0.0))
    return 0.0 < largest <= EPSILON * float(np.max(np.abs(expansion), initial=0.0))


def _imbalance(problem, coef):
    sums = np.bincount(problem.groups, weights=coef, minlength=problem.n_groups)
    return float(np.max(np.abs(sums - problem.totals))) / max(1.0, float(np.abs(coef).sum()))


def _expansion(problem, coef):
    points = Points(problem.X)
    support = np.flatnonzero(coef)
    rows, coef = problem.per_row(support, coef[support])
    expansion = np.empty(len(points))
    for part in arrays.blocks(len(points), max(1, 4_000_000 // max(1, len(rows)))):
        expansion[part] = problem.kernel.formula(Pairs(points[part], points[rows])) @ coef
    return problem.per_variable(expansion)
