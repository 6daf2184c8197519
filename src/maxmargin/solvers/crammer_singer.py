"""Crammer and Singer's machine for several classes: one loss for all of them.

Minimise 1/2 sum_m |w_m|^2 + sum_i C_i max(0, max over m != y_i of 1 - (w_y - w_m).x_i). Its dual
has one variable per point and class; descent takes one point at a time and solves for all its
classes at once, which a sort does exactly.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.linear import descend_classes
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.linear import SMALLEST
from maxmargin.solvers.dual_descent import Passes

TIGHT = 1e-10
FAREWELL = 20  # looks at the gap after tol is reached
LEAST_BEND = 1e-30  # curvature times C: what a slope of 1 does not notice


class CrammerSinger:
    """Dual descent over points until the relative duality gap is below `tol`."""

    def __init__(self, tol, max_iter, seed):
        self.tol = tol
        self.max_iter = max_iter
        self.seed = seed

    def solve(self, X, bias, labels, n_classes, C, squared_lengths):
        """Returns W (a row per class, the bias last), the passes, the proof and why it ended."""
        alpha = np.zeros((len(labels), n_classes))
        W = np.zeros((n_classes, X.shape[1] + 1))
        data, curvature = arrays.storage(X), _curvature(squared_lengths, C)

        def visit(rows):
            descend_classes(*data, bias, labels, C, curvature, rows, alpha, W)

        passes = Passes(len(labels), self.seed, 2 * data[0].size * n_classes)
        reached, stopped = 0, "max_iter"
        proof = _certify(X, bias, labels, C, alpha, self.tol)
        while passes.made < self.max_iter and stopped == "max_iter":
            everyone = passes.make(visit, alpha)
            if everyone or passes.made == self.max_iter:
                proof = _certify(X, bias, labels, C, alpha, self.tol)
                reached += proof.optimal
                if proof.relative_gap <= TIGHT or reached > FAREWELL:
                    stopped = "converged"
        if proof.optimal:
            stopped = "converged"
        return _weights(X, bias, alpha), passes.made, proof, stopped


def _curvature(squared_lengths, C):
    """Of each point's problem: its squared length. Without bias that of a point at the origin is
    zero, as its loss does not depend on w; a curvature too small to matter stands for it."""
    return np.maximum(squared_lengths, LEAST_BEND / np.maximum(C, SMALLEST))


def _weights(X, bias, alpha):
    return np.column_stack([np.asarray(X.T @ alpha).T, bias * alpha.sum(axis=0)])


def _certify(X, bias, labels, C, alpha, tol):
    W = _weights(X, bias, alpha)
    decisions = np.asarray(X @ W[:, :-1].T) + bias * W[:, -1]
    rows = np.arange(len(labels))
    rival = decisions + 1.0
    rival[rows, labels] -= 1.0
    slack = rival.max(axis=1) - decisions[rows, labels]
    square = float(np.sum(W**2))
    wrong = float(alpha.sum() - alpha[rows, labels].sum())
    own = alpha[rows, labels]
    return Certificate(
        primal_objective=0.5 * square + float(C @ slack),
        dual_objective=-0.5 * square - wrong,
        stationarity=float(np.max(np.abs(alpha.sum(axis=1)), initial=0.0)),
        primal_feasibility=0.0,
        dual_feasibility=float(max(np.max(own - C, initial=0.0), 0.0)),
        complementary_slackness=np.nan,
        slack_complementarity=np.nan,
        n_zero=int(np.sum(own == 0)),
        n_free=int(np.sum((own > 0) & (own < C))),
        n_bound=int(np.sum(own >= C)),
        tol=float(tol),
        by_gap=True,
    )
