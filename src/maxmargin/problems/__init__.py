"""What is minimised: the dual problem, its reductions, and the certificate of a solution."""

from maxmargin.problems.certificate import Certificate, certify
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.reductions import c_svc, epsilon_svr, hard_margin, nu_svc, nu_svr, one_class

__all__ = [
    "Certificate",
    "DualProblem",
    "c_svc",
    "certify",
    "epsilon_svr",
    "hard_margin",
    "nu_svc",
    "nu_svr",
    "one_class",
]
