"""LIBSVM's names, and its layout of one-vs-one machines against the one used here.

LIBSVM's decision is sum_i coef_i k(x_i, x) - rho, positive for the first label of a pair. Its
labels are in any order, and the support vectors of a label stand together. Here labels are sorted,
the bias is -rho, and with two classes a positive decision is for the second. `reordered` turns one
order of classes into another, which is all the difference.
"""

import numpy as np

# Both tables are in the order of the numbers of svm-train's -s and -t.
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
LARGEST_LABEL = 2**31  # LIBSVM's counts and labels have 32 bits.


def opponent_row(own, other):
    """The row of a class's coefficients against another class; opponents are in order."""
    return other - (own < other)


def groups_of(counts):
    ends = np.cumsum(counts)
    return [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]


def reordered(coef, intercepts, counts, order):
    """One-vs-one machines with their classes in another order, and the order of their rows.

    `coef` has a row per opponent and a column per support vector, grouped by class; a decision is
    positive for the first class of its pair. Class k of the result is class order[k] of the input.
    """
    order, everyone = np.asarray(order), np.arange(len(counts))
    groups, new_groups = groups_of(counts), groups_of([counts[k] for k in order])
    rows = np.concatenate([np.arange(len(coef[0]))[groups[k]] for k in order])
    new_coef = np.zeros_like(coef)
    for own, old in enumerate(order):  # a class at a time, because there are many pairs
        others = np.delete(everyone, own)
        sign = _turned(own, others, order)
        values = coef[opponent_row(old, order[others]), groups[old]]
        new_coef[opponent_row(own, others), new_groups[own]] = sign[:, None] * values
    i, j = np.triu_indices(len(order), 1)
    first, second = np.minimum(order[i], order[j]), np.maximum(order[i], order[j])
    machine = first * (2 * len(order) - first - 1) // 2 + second - first - 1
    return new_coef, _turned(i, j, order) * intercepts[machine], rows


def _turned(own, others, order):
    """The sign of each pair: -1 if its two classes change places, else 1."""
    return np.where((own < others) == (order[own] < order[others]), 1.0, -1.0)
