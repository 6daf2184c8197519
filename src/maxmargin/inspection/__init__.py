"""Looking into fitted models: margins, optimality conditions, equivalences, bias and variance."""

from maxmargin.inspection.bias_variance import bias_variance, bias_variance_curve
from maxmargin.inspection.equivalence import hinge_equivalence
from maxmargin.inspection.kkt import kkt_report
from maxmargin.inspection.margins import margins
from maxmargin.kernels import mercer

__all__ = [
    "bias_variance",
    "bias_variance_curve",
    "hinge_equivalence",
    "kkt_report",
    "margins",
    "mercer",
]
