"""LIBSVM's names, and its layout of one-vs-one machines against the one used here.

LIBSVM decides sum_i coef_i k(x_i, x) - rho, positive for the first label of a pair; labels stand in
any order, and the support vectors of a label together. Here labels are sorted, the bias is -rho,
and with two classes positive speaks for the second. `reordered` leads from one order of classes to
another, and that is all the difference there is.
"""

from itertools import combinations

import numpy as np

SVM_TYPES = {
    "c_svc": "SVC",
    "nu_svc": "NuSVC",
    "one_class": "OneClassSVM",
    "epsilon_svr": "SVR",
    "nu_svr": "NuSVR",
}
KERNEL_TYPES = {
    "linear": "linear",
    "polynomial": "poly",
    "rbf": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}
SHAPES = {"poly": ("degree", "gamma", "coef0"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
LARGEST_LABEL = 2**31  # LIBSVM counts and labels in 32 bits


def opponent_row(own, other):
    """Where the coefficients of a class against another stand: its opponents in order."""
    return other - 1 if own < other else other


def groups_of(counts):
    ends = np.cumsum(counts)
    return [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]


def reordered(coef, intercepts, counts, order):
    """One-vs-one machines with their classes in another order, and the rows in theirs.

    `coef` has a row per opponent and a column per support vector, grouped by class; a decision is
    positive for the first class of its pair. Class k of the result is class order[k] of the input.
    """
    groups, pairs = groups_of(counts), list(combinations(range(len(counts)), 2))
    rows = np.concatenate([np.arange(len(coef[0]))[groups[k]] for k in order])
    new_groups = groups_of([counts[k] for k in order])
    new_coef, new_intercepts = np.zeros_like(coef), np.empty(len(pairs))
    for machine, (i, j) in enumerate(pairs):
        a, b = order[i], order[j]
        sign = 1.0 if a < b else -1.0  # the pair is turned round
        new_intercepts[machine] = sign * intercepts[pairs.index((min(a, b), max(a, b)))]
        for own, other, old, old_other in ((i, j, a, b), (j, i, b, a)):
            values = coef[opponent_row(old, old_other), groups[old]]
            new_coef[opponent_row(own, other), new_groups[own]] = sign * values
    return new_coef, new_intercepts, rows
