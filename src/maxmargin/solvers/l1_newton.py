"""The l1 penalty: minimise |w|_1 + sum_i C_i max(0, 1 - y_i f(x_i))^2, with most weights zero.

This is proximal Newton on a working set of features. The loss is replaced by its quadratic model at
w. The model plus |w|_1 is minimised by coordinate descent over the features that are not zero or
ought not to be, and a line search makes the step safe.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.linear import l1_descend
from maxmargin.problems.certificate import relative_difference
from maxmargin.solvers.newton import Newton, line_search

SMALLEST_SET = 100  # A working set smaller than this would cost more rounds than it saves work.
ROW_BLOCK = 8192  # Products are formed for this many rows at a time, so that Ctrl-C is seen.
SWEEPS = 1000  # A quadratic model gets this many sweeps at most.
# The relative gap aimed for is no larger than this, because the steps at the end are cheap.
TIGHT = 1e-9


class L1Newton(Newton):
    """Proximal Newton steps until the duality gap is closed."""

    def measured(self, problem, w, decisions, coef, dual_w):
        primal = problem.primal(w)
        gap = relative_difference(primal, problem.dual(coef, dual_w))
        return primal, gap, gap <= min(self.tol, TIGHT)

    def step(self, problem, rows, w, decisions, coef, dual_w):
        gradient = -dual_w
        chosen = _working_set(w, gradient)
        gram = _chosen_gram(problem, coef, chosen)
        target = w[chosen].copy()
        l1_descend(gram, gradient[chosen] - gram @ target, target, SWEEPS, 1e-15)
        step = np.zeros(len(w))
        step[chosen] = target - w[chosen]
        slope = float(gradient @ step) + float(np.abs(w + step).sum() - np.abs(w).sum())
        length = line_search(lambda length: problem.primal(w + length * step), slope)
        if length is None:
            return None
        return w + length * step, problem.decisions(w + length * step)


def _working_set(w, gradient):
    """The features in use, and as many again of those whose slope exceeds the penalty most."""
    used = np.flatnonzero(w)
    excess = np.where(w == 0, np.abs(gradient) - 1.0, 0.0)
    violators = np.flatnonzero(excess > 0)
    most = max(SMALLEST_SET, len(used))
    if len(violators) > most:
        violators = violators[np.argsort(-excess[violators], kind="stable")[:most]]
    return np.sort(np.concatenate([used, violators]))


def _chosen_gram(problem, coef, columns):
    """X' diag(1 / damping of the points with a loss) X for some features; the bias is the last."""
    factor = np.where(coef != 0, np.sqrt(1.0 / problem.damping), 0.0)
    features = columns[columns < problem.X.shape[1]]
    gram = np.zeros((len(columns), len(columns)))
    for rows in arrays.blocks(problem.n, ROW_BLOCK):
        part = np.flatnonzero(factor[rows])
        block = problem.X[rows][part]
        block = block if len(features) == problem.X.shape[1] else block[:, features]
        scaled = arrays.dense(block) * factor[rows][part][:, None]
        if len(features) < len(columns):
            scaled = np.column_stack([scaled, problem.bias * factor[rows][part]])
        gram += scaled.T @ scaled
    return gram
