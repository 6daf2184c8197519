"""Probabilities from decision values: a calibrated sigmoid, and coupling of several classes.

The sigmoid has one slope for each side of the boundary and passes through 1/2 at it, so that the
likelier class is always the predicted one. Weights of the classes move the boundary to where the
classes are equally likely if each row counts by the weight of its class. For the unweighted rows,
the odds there are the ratio of the weights.
"""

from dataclasses import dataclass

import numpy as np

N_FOLDS = 5  # As in LIBSVM, a sigmoid is fitted to the decisions of five folds.
SMALLEST = 1e-7  # As in LIBSVM, no probability of a pair of classes is smaller than this.


@dataclass(frozen=True)
class Population:
    """The rows of a machine: the weight of each, and what its slack costs."""

    weight: np.ndarray
    cost: np.ndarray

    def offset(self, signs):
        """The logarithm of the odds where the decision is zero, and both mistakes cost the same."""
        ratio, weight = self.cost / self.weight, self.share
        costs = [np.average(ratio[signs == s], weights=weight[signs == s]) for s in (-1, 1)]
        return float(np.log(costs[0]) - np.log(costs[1]))

    @property
    def share(self):
        """The weights, in units of their mean."""
        return self.weight / self.weight.mean()


def as_they_are(probabilities, class_weight):
    """Probabilities for the rows as they are, from those for rows that count by the weight of
    their class."""
    p = probabilities / counted_weights(class_weight)
    return p / p.sum(axis=1, keepdims=True)


def counted_weights(class_weight):
    """How much the rows of each class count, relative to the heaviest class."""
    counted = np.where(class_weight > 0, class_weight, 1.0)  # zero means it was not in the fit
    return counted / counted.max()


def fold_of(signs, seed):
    """The fold of every point; each class is dealt out evenly, in random order."""
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

    Each of several machines has a column of decisions and a row of slopes.
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
    p = np.maximum(p, SMALLEST**2)  # rounding can leave it at zero or below
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
    swapped[rows, chosen] += 1e-12  # the predicted class wins a tie, too
    return swapped / swapped.sum(axis=1, keepdims=True)
