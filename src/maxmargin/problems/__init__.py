"""What is minimised: the dual problem, its reductions, and the certificate of a solution."""

from maxmargin.problems.certificate import Certificate, certify
from maxmargin.problems.dual import DualProblem
from maxmargin.problems.reductions import c_svc, nearest_hull_points

__all__ = ["Certificate", "DualProblem", "c_svc", "certify", "nearest_hull_points"]
