"""Decisions and votes of all pairs of classes (i, j), i < j, in order, a row at a time."""

from maxmargin.compiled.numba_setup import compiled


@compiled
def pair_decisions(sums, intercept, decisions):
    """The decision of every pair. sums[row, k, :] are sums over the support vectors of class k,
    with its coefficients against each other class in turn."""
    n_classes = sums.shape[1]
    for row in range(len(sums)):
        pair = 0
        for i in range(n_classes - 1):
            for j in range(i + 1, n_classes):
                decisions[row, pair] = sums[row, i, j - 1] + sums[row, j, i] + intercept[pair]
                pair += 1


@compiled
def count_votes(first_wins, votes):
    """Add to votes[row, k] the number of pairs that class k wins."""
    n_classes = votes.shape[1]
    for row in range(len(votes)):
        pair = 0
        for i in range(n_classes - 1):
            won = 0
            for j in range(i + 1, n_classes):
                wins = int(first_wins[row, pair])
                won += wins
                votes[row, j] += 1 - wins
                pair += 1
            votes[row, i] += won
