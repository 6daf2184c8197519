"""Probabilities from decision values: a calibrated sigmoid, and coupling of several classes.

The sigmoid has one slope for each side of the boundary and passes through 1/2 at it, so that the
likelier class is always the predicted one. Weights of the classes move the boundary to where the
classes are equally likely once each is counted by its weight. There the probability is what that
says of the rows as they are: odds of 1/2 to 1/2, times the ratio of the weights.
"""

from dataclasses import dataclass

import numpy as np

N_FOLDS = 5
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
    zero (`compiled/sigmoid.py`)."""
    from maxmargin.compiled import sigmoid

    slopes = np.empty(2)
    sigmoid.fit_slopes(decisions, signs > 0, weight, offset, np.empty(len(signs)), slopes)
    return slopes


def _sigmoid(t):
    return 0.5 * (1.0 + np.tanh(0.5 * t))


def positive_probability(decisions, slopes):
    """The probability of the class that a positive decision means, never quite 0 or 1.

    With several machines, both have them side by side: a column of decisions, a row of slopes.
    """
    below, above = np.asarray(slopes).T
    p = _sigmoid(np.where(decisions < 0, below, above) * decisions)
    return np.clip(p, SMALLEST, 1 - SMALLEST)


def couple(pairwise, n_classes):
    """Class probabilities from those of all pairs: minimise sum over pairs (r_ji p_i - r_ij p_j)^2.

    `pairwise` has a column r_ij, the probability of i among the two, for every pair (i, j) in
    order.
    """
    from maxmargin.compiled import coupling

    p = np.empty((len(pairwise), n_classes))
    coupling.couple(np.clip(pairwise, SMALLEST, 1 - SMALLEST), p)
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
