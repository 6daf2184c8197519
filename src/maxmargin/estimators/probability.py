"""Probabilities from decision values: a calibrated sigmoid, and coupling of several classes.

The sigmoid has one slope for each side of the boundary and passes through 1/2 at it, so that the
likelier class is always the predicted one. Weights of the classes move the boundary to where the
classes are equally likely once each is counted by its weight. There the probability is what that
says of the rows as they are: odds of 1/2 to 1/2, times the ratio of the weights.
"""

from dataclasses import dataclass

import numpy as np

N_FOLDS = 5
SMALLEST_SLOPE = 1e-6
LARGEST_LOGARITHM = 300.0  # of a slope
SMALLEST = 1e-7  # no pair of classes is more certain than that, as in LIBSVM


@dataclass(frozen=True)
class Population:
    """The rows of a machine as they are: how much each counts there, and what its slack costs."""

    weight: np.ndarray
    cost: np.ndarray

    def offset(self, signs):
        """The logarithm of the odds where the decision is zero, and both classes cost the same."""
        ratio, weight = self.cost / self.weight, self.share
        costs = [np.average(ratio[signs == s], weights=weight[signs == s]) for s in (-1, 1)]
        return float(np.log(costs[0]) - np.log(costs[1]))

    @property
    def share(self):
        """The weights, in units of their mean."""
        return self.weight / self.weight.mean()


def as_they_are(probabilities, class_weight):
    """Probabilities among the rows as they are, from those among rows that are counted by the
    weights of their classes."""
    counted = np.where(class_weight > 0, class_weight, 1.0)  # a class of none was not in the fit
    p = probabilities / (counted / counted.max())
    return p / p.sum(axis=1, keepdims=True)


def fold_of(signs, seed):
    """A fold for every point: each class dealt out evenly, in random order."""
    random = np.random.default_rng(seed)
    folds = np.empty(len(signs), dtype=np.int64)
    for sign in (1, -1):
        members = np.flatnonzero(signs == sign)
        folds[random.permutation(members)] = np.arange(len(members)) % N_FOLDS
    return folds


def fit_slopes(decisions, signs, weight, offset=0.0):
    """The slopes below and above zero that make the labels likeliest, with log-odds of `offset` at
    zero.

    The targets are a little inside 0 and 1 (Platt's smoothing), so that separable data do not ask
    for an infinite slope.
    """
    n_positive, n_negative = weight[signs > 0].sum(), weight[signs < 0].sum()
    target = np.where(signs > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    sides = (decisions < 0, decisions >= 0)
    return np.array([_slope(decisions[s], target[s], weight[s], offset) for s in sides])


def _slope(f, target, weight, offset=0.0):
    """Minimise sum weight (log(1 + exp(t)) - target t) of t = a f + offset, convex, over a > 0.

    The slope is sought by its logarithm: one far point says nothing about its size.
    """
    from scipy.optimize import brentq

    size = float(np.max(np.abs(f), initial=0.0))
    if size == 0.0:
        return 1.0
    f = f / size

    def derivative(logarithm):
        return weight @ ((_sigmoid(np.exp(logarithm) * f + offset) - target) * f)

    low = high = np.log(SMALLEST_SLOPE)
    while derivative(high) < 0 and high < LARGEST_LOGARITHM:
        low, high = high, high + 2.0
    if low < high < LARGEST_LOGARITHM:
        high = brentq(derivative, low, high, xtol=1e-12)
    return float(np.exp(high)) / size


def _sigmoid(t):
    return 0.5 * (1.0 + np.tanh(0.5 * t))


def positive_probability(decisions, slopes):
    """The probability of the class that a positive decision means, never quite 0 or 1."""
    p = _sigmoid(np.where(decisions < 0, slopes[0], slopes[1]) * decisions)
    return np.clip(p, SMALLEST, 1 - SMALLEST)


def couple(pairwise, pairs, n_classes):
    """Class probabilities from those of all pairs: minimise sum over pairs (r_ji p_i - r_ij p_j)^2.

    `pairwise[:, k]` is r_ij, the probability of i in the k-th of the `pairs` (i, j). The minimum
    over probabilities that sum to one solves a linear system per row.
    """
    n = len(pairwise)
    r = np.zeros((n, n_classes, n_classes))
    for column, (i, j) in enumerate(pairs):
        r[:, i, j] = pairwise[:, column]
        r[:, j, i] = 1 - r[:, i, j]
    system = np.zeros((n, n_classes + 1, n_classes + 1))
    system[:, :n_classes, :n_classes] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, n_classes, :n_classes] = system[:, :n_classes, n_classes] = 1.0
    right = np.zeros((n, n_classes + 1, 1))
    right[:, n_classes] = 1.0
    p = np.linalg.solve(system, right)[:, :n_classes, 0]
    p = np.maximum(p, SMALLEST**2)  # which rounding can leave at zero or below
    return p / p.sum(axis=1, keepdims=True)


def agree(probabilities, chosen):
    """Give the largest probability of each row to the class that was predicted.

    Votes and coupled probabilities can disagree where no class is clearly the likeliest; then the
    two classes change places.
    """
    rows = np.arange(len(probabilities))
    largest = probabilities.argmax(axis=1)
    swapped = probabilities.copy()
    swapped[rows, chosen] = probabilities[rows, largest]
    swapped[rows, largest] = probabilities[rows, chosen]
    swapped[rows, chosen] += 1e-12  # on a tie, too
    return swapped / swapped.sum(axis=1, keepdims=True)
