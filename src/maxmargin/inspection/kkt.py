"""The five optimality conditions of a fitted SVM, one by one, in words and numbers.

Karush, Kuhn and Tucker: a point is optimal exactly when the Lagrangian is stationary there, the
primal and the dual constraints hold, and a multiplier is positive only where its constraint is
tight. The numbers are those of the certificate, which is computed from the data.
"""

from dataclasses import dataclass
from math import isnan
from typing import NamedTuple

from sklearn.utils.validation import check_is_fitted

from maxmargin.errors import class_of
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.linear_base import LinearModel
from maxmargin.estimators.pipelines import last_step

# The conditions of each kind of machine, in the order of the certificate.
CLASSIFIER = (
    "w = sum alpha_i y_i phi(x_i), by construction, and sum alpha_i y_i = 0",
    "y_i f(x_i) >= 1 - xi_i and xi_i >= 0",
    "0 <= alpha_i <= C_i",
    "alpha_i > 0 only where y_i f(x_i) <= 1",
    "alpha_i < C_i only where xi_i = 0, that is y_i f(x_i) >= 1",
)
NU_CLASSIFIER = (
    "w = sum alpha_i y_i phi(x_i), by construction, and each class has its share of sum alpha",
    "y_i f(x_i) >= rho - xi_i and xi_i >= 0",
    "0 <= alpha_i <= weight_i",
    "alpha_i > 0 only where y_i f(x_i) <= rho",
    "alpha_i < weight_i only where xi_i = 0, that is y_i f(x_i) >= rho",
)
REGRESSOR = (
    "w = sum (alpha_i - alpha*_i) phi(x_i), by construction, and sum (alpha_i - alpha*_i) = 0",
    "|y_i - f(x_i)| <= epsilon + xi_i and xi_i >= 0",
    "0 <= alpha_i, alpha*_i <= C_i",
    "a multiplier is positive only where |y_i - f(x_i)| >= epsilon, on its side",
    "a multiplier is below C_i only where xi_i = 0, that is |y_i - f(x_i)| <= epsilon",
)
ONE_CLASS = (
    "w = sum alpha_i phi(x_i), by construction, and sum alpha_i = nu n",
    "w.phi(x_i) >= rho - xi_i and xi_i >= 0",
    "0 <= alpha_i <= weight_i",
    "alpha_i > 0 only where w.phi(x_i) <= rho",
    "alpha_i < weight_i only where xi_i = 0, that is w.phi(x_i) >= rho",
)
LINEAR_CLASSIFIER = ("w = sum alpha_i y_i x_i, the bias being one more weight", *CLASSIFIER[1:])
SQUARED_CLASSIFIER = (
    LINEAR_CLASSIFIER[0],
    "y_i f(x_i) >= 1 - xi_i",
    "0 <= alpha_i",
    "alpha_i > 0 only where alpha_i <= 2 C_i xi_i",
    "alpha_i >= 2 C_i xi_i everywhere",
)
SPARSE_CLASSIFIER = (
    "with c_i = y_i alpha_i, |x^j.c| <= 1 for every feature j, and = sign(w_j) where w_j is not 0",
    *SQUARED_CLASSIFIER[1:],
)
ALL_CLASSES = (
    "w_m = sum alpha_im x_i, and the alphas of a point sum to zero over the classes",
    "(w_y - w_m).x_i >= 1 - xi_i for every other class m",
    "alpha_im <= 0 for the other classes, alpha_iy <= C_i for its own",
    "alpha_im < 0 only for the classes that come nearest",
    "alpha_iy < C_i only where xi_i = 0",
)
LINEAR_REGRESSOR = (
    "w = sum (alpha_i - alpha*_i) x_i, the bias being one more weight",
    *REGRESSOR[1:],
)
SQUARED_REGRESSOR = (
    LINEAR_REGRESSOR[0],
    "|y_i - f(x_i)| <= epsilon + xi_i",
    "0 <= alpha_i, alpha*_i",
    "a multiplier is positive only where it is at most 2 C_i xi_i, on its side",
    "the multipliers are at least 2 C_i xi_i everywhere",
)
KERNEL_MACHINES = {
    "SVC": CLASSIFIER,
    "NuSVC": NU_CLASSIFIER,
    "SVR": REGRESSOR,
    "NuSVR": REGRESSOR,
    "OneClassSVM": ONE_CLASS,
}


class Condition(NamedTuple):
    """One condition: its name, its words, its largest violation, and whether it holds.

    A violation of NaN is not measured by itself; the duality gap takes its place.
    """

    name: str
    words: str
    violation: float
    holds: bool


@dataclass(frozen=True)
class KKTReport:
    """The result of `kkt_report`, to be printed.

    Attributes
    ----------
    conditions : tuple of Condition
    primal_objective, dual_objective, duality_gap, tol : float
        With several binary problems, the objectives are sums, and the gap is the largest of all.
    by_gap : bool
        Whether tol bounds the relative gap, as for linear machines, and not the violations.
    parts : tuple of KKTReport
        One report per binary problem, if there are several.
    """

    machine: str
    conditions: tuple[Condition, ...]
    primal_objective: float
    dual_objective: float
    duality_gap: float
    tol: float
    by_gap: bool
    parts: tuple["KKTReport", ...] = ()

    @property
    def holds(self):
        """Whether all five conditions hold within tol."""
        return all(condition.holds for condition in self.conditions)

    def __getitem__(self, name):
        return next(condition for condition in self.conditions if condition.name == name)

    def __repr__(self):
        measure = "relative duality gap" if self.by_gap else "violation"
        lines = [f"KKT conditions of {self.machine}, {measure} within tol={self.tol:g}"]
        for condition in self.conditions:
            verdict = "holds" if condition.holds else "FAILS"
            name = condition.name.replace("_", " ")
            off = "" if isnan(condition.violation) else f"  off by {condition.violation:.2g}"
            lines.append(f"  {verdict}  {name:<24}{off}".rstrip())
            lines.append(f"         {condition.words}")
        gap = self.primal_objective - self.dual_objective
        lines.append(
            f"  primal {self.primal_objective:.8g} - dual {self.dual_objective:.8g} = gap {gap:.3g}"
        )
        if self.parts:
            lines[-1] += f", summed over {len(self.parts)} binary problems"
            lines.append(
                f"  the largest gap of one of them is {self.duality_gap:.3g}, and each condition "
                "is that of the worst; see .parts"
            )
        return "\n".join(lines)


def kkt_report(model):
    """Report each optimality condition of any fitted SVM of this library.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC or LinearSVR
        A fitted model, or a fitted Pipeline that ends in one.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import kkt_report
    >>> report = kkt_report(SVC(kernel="linear").fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]))
    >>> report.holds
    True
    >>> report["dual_feasibility"].words
    '0 <= alpha_i <= C_i'
    """
    check_is_fitted(model)
    model = last_step(model)
    words = _words_for(model) if isinstance(model, (BaseSVM, LinearModel)) else None
    if words is None:
        raise TypeError(f"kkt_report: model must be an SVM of maxmargin, got {class_of(model)}.")
    name, certificate = type(model).__name__, getattr(model, "certificate_", None)
    if certificate is None:
        raise ValueError(
            f"kkt_report: this {name} has no certificate: it was fitted elsewhere (from_sklearn, "
            "load_libsvm), and its training data are not known; fit it here."
        )
    return _report(name, words, certificate)


def _words_for(model):
    kinds = {kind.__name__ for kind in type(model).__mro__}
    squared = getattr(model, "loss", "").startswith("squared")
    if "LinearSVC" in kinds:
        if model.multi_class == "crammer_singer":
            return ALL_CLASSES
        if model.penalty == "l1":
            return SPARSE_CLASSIFIER
        return SQUARED_CLASSIFIER if squared else LINEAR_CLASSIFIER
    if "LinearSVR" in kinds:
        return SQUARED_REGRESSOR if squared else LINEAR_REGRESSOR
    return next((words for kind, words in KERNEL_MACHINES.items() if kind in kinds), None)


def _report(machine, words, certificate):
    conditions = []
    for (name, violation), sentence in zip(certificate.conditions.items(), words, strict=True):
        holds = certificate.optimal if certificate.by_gap else violation <= certificate.tol
        conditions.append(Condition(name, sentence, violation, holds))
    return KKTReport(
        machine,
        tuple(conditions),
        certificate.primal_objective,
        certificate.dual_objective,
        certificate.duality_gap,
        certificate.tol,
        certificate.by_gap,
        tuple(_report(machine, words, part) for part in certificate.parts),
    )
