"""Several classes from binary machines: the pairs, their votes, and who owns which coefficient.

The pairs (i, j) with i < j are taken in lexicographic order, and a positive decision value of a
pair speaks for i. With two classes there is one pair and scikit-learn turns its sign: positive
speaks for the second class.
"""

from itertools import combinations

import numpy as np


def pairs_of(n_classes):
    return list(combinations(range(n_classes), 2))


def pair_decisions(expansions, intercept, n_classes):
    """Decision values of all pairs.

    `expansions[i]` holds, in column r, the part of the support vectors of class i in the machine
    against its r-th opponent (the classes other than i, in order): row r of `dual_coef_`.
    """
    columns = [expansions[i][:, j - 1] + expansions[j][:, i] for i, j in pairs_of(n_classes)]
    return np.column_stack(columns) + intercept


def votes_of(first_wins, n_classes):
    """How many of its pairs each class wins."""
    votes = np.zeros((len(first_wins), n_classes))
    for column, (i, j) in enumerate(pairs_of(n_classes)):
        votes[:, i] += first_wins[:, column]
        votes[:, j] += ~first_wins[:, column]
    return votes


def winners(decisions, n_classes):
    """The class with most votes, the first of them on a tie; a decision of zero is for j."""
    return np.argmax(votes_of(decisions > 0, n_classes), axis=1)


def one_vs_rest_shape(decisions, n_classes):
    """One score per class: its votes, ties broken by the summed decision values.

    The sum is squeezed into (-1/3, 1/3), so that it never outweighs a vote. Here a decision of zero
    is for i: scikit-learn's two conventions, kept.
    """
    confidence = np.zeros((len(decisions), n_classes))
    for column, (i, j) in enumerate(pairs_of(n_classes)):
        confidence[:, i] += decisions[:, column]
        confidence[:, j] -= decisions[:, column]
    squeezed = confidence / (3 * (np.abs(confidence) + 1))
    return votes_of(decisions >= 0, n_classes) + squeezed
