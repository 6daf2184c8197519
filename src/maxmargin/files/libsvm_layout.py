"""LIBSVM's names, and its layout of one-vs-one machines against the one used here.

LIBSVM decides sum_i coef_i k(x_i, x) - rho, positive for the first label of a pair; labels stand in
any order, and the support vectors of a label together. Here labels are sorted, the bias is -rho,
and with two classes positive speaks for the second. `reordered` leads from one order of classes to
another, and that is all the difference there is.
"""

import numpy as np

# In the order of the numbers that svm-train's -s and -t give them.
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
    return other - (own < other)


def groups_of(counts):
    ends = np.cumsum(counts)
    return [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]


def reordered(coef, intercepts, counts, order):
    """One-vs-one machines with their classes in another order, and the rows in theirs.

    `coef` has a row per opponent and a column per support vector, grouped by class; a decision is
    positive for the first class of its pair. Class k of the result is class order[k] of the input.
    """
    order, everyone = np.asarray(order), np.arange(len(counts))
    groups, new_groups = groups_of(counts), groups_of([counts[k] for k in order])
    rows = np.concatenate([np.arange(len(coef[0]))[groups[k]] for k in order])
    new_coef = np.zeros_like(coef)
    for own, old in enumerate(order):  # a class at a time: there are many pairs
        others = np.delete(everyone, own)
        sign = _turned(own, others, order)
        values = coef[opponent_row(old, order[others]), groups[old]]
        new_coef[opponent_row(own, others), new_groups[own]] = sign[:, None] * values
    i, j = np.triu_indices(len(order), 1)
    first, second = np.minimum(order[i], order[j]), np.maximum(order[i], order[j])
    machine = first * (2 * len(order) - first - 1) // 2 + second - first - 1
    return new_coef, _turned(i, j, order) * intercepts[machine], rows


def _turned(own, others, order):
    """-1 for the pairs whose two classes change places, else 1."""
    return np.where((own < others) == (order[own] < order[others]), 1.0, -1.0)
