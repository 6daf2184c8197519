"""Several classes from binary machines: which machines there are, and how they decide together.

`OneVsOne` has a machine for every pair (i, j) with i < j, in lexicographic order, whose positive
decision speaks for i; with two classes there is one pair, and scikit-learn turns its sign: positive
speaks for the second class. `OneVsRest` has a machine per class, positive for that class.
Both write coefficients into rows of `dual_coef_` and read them back, so nothing else needs to know
the layout.
"""

from itertools import accumulate, combinations, pairwise

import numpy as np

from maxmargin.estimators.probability import couple

ABSENT = -1e100  # the decision for a class that no machine has seen


def pairs_of(n_classes):
    return list(combinations(range(n_classes), 2))


class OneVsOne:
    """A vote among all pairs of classes."""

    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.tasks = pairs_of(n_classes)
        self.n_coef_rows = n_classes - 1

    @property
    def pairs(self):
        """The tasks as an array of two columns."""
        return np.array(self.tasks, dtype=np.int64).reshape(-1, 2)

    def signs(self, labels, task):
        """+1 and -1 for the rows of a machine, 0 for those it does not use."""
        i, j = task
        signs = (labels == i).astype(float) - (labels == j)
        return -signs if self.n_classes == 2 else signs

    def coef_rows(self, task):
        """(row of dual_coef_, class whose coefficients stand there) for a machine.

        Each class has a coefficient per opponent; its opponents are the other classes in order.
        """
        i, j = task
        return [(j - 1, i), (i, j)]

    def position(self, task):
        """Of a machine among all of them."""
        i, j = task
        return i * (2 * self.n_classes - i - 1) // 2 + j - i - 1

    def intercepts_without_training(self, present):
        """A class without weight loses every vote."""
        is_present = np.isin(np.arange(self.n_classes), list(present)).astype(float)
        first, second = self.pairs.T
        return is_present[first] - is_present[second]

    def decisions(self, expand, classes, intercept):
        """One column per machine; `expand(parts)` sums up over some of the support vectors.

        `classes` says which ones are those of each class. Of every class, a pair needs the row of
        coefficients for the other.
        """
        if self.n_classes == 2:
            return expand() + intercept
        from maxmargin.compiled.votes import pair_decisions

        sums = expand(classes)
        decisions = np.empty((len(sums), len(self.tasks)))
        pair_decisions(sums, np.asarray(intercept, dtype=np.float64), decisions)
        return decisions

    def _pairs_by_first(self):
        """Every class i but the last, and the columns of its pairs (i, i + 1), (i, i + 2), ..."""
        ends = accumulate(range(self.n_classes - 1, 0, -1), initial=0)
        return [(i, slice(*ends)) for i, ends in enumerate(pairwise(ends))]

    def votes(self, first_wins):
        """How many of its pairs each class wins."""
        from maxmargin.compiled.votes import count_votes

        votes = np.zeros((len(first_wins), self.n_classes))
        count_votes(first_wins, votes)
        return votes

    def scores(self, decisions):
        """One score per class: its votes, ties broken by the summed decision values.

        The sum is squeezed into (-1/3, 1/3), so that it never outweighs a vote. Here a decision of
        zero is for i, in `winners` for j: scikit-learn's two conventions, kept.
        """
        confidence = np.zeros((len(decisions), self.n_classes))
        for i, columns in self._pairs_by_first():
            confidence[:, i + 1 :] -= decisions[:, columns]
            # One after the other: any other order rounds otherwise.
            one_by_one = np.column_stack([confidence[:, i], decisions[:, columns]])
            confidence[:, i] = np.cumsum(one_by_one, axis=1)[:, -1]
        return self.votes(decisions >= 0) + confidence / (3 * (np.abs(confidence) + 1))

    def winners(self, decisions, break_ties):
        if self.n_classes == 2:
            return (decisions[:, 0] >= 0).astype(np.intp)
        if break_ties:
            return np.argmax(self.scores(decisions), axis=1)
        return np.argmax(self.votes(decisions > 0), axis=1)

    def probabilities(self, columns):
        """Class probabilities from those of a positive decision of each machine."""
        if self.n_classes == 2:
            return np.column_stack([1 - columns[:, 0], columns[:, 0]])
        return couple(columns, self.n_classes)


class OneVsRest:
    """Every class against all others; the largest decision wins."""

    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.tasks = [(k,) for k in range(n_classes)]
        self.n_coef_rows = n_classes

    def signs(self, labels, task):
        return np.where(labels == task[0], 1.0, -1.0)

    def coef_rows(self, task):
        return [(task[0], k) for k in range(self.n_classes)]

    def position(self, task):
        return task[0]

    def intercepts_without_training(self, present):
        return np.full(self.n_classes, ABSENT)

    def decisions(self, expand, classes, intercept):
        return expand() + intercept

    def scores(self, decisions):
        return decisions

    def winners(self, decisions, break_ties):
        return np.argmax(decisions, axis=1)

    def probabilities(self, columns):
        return columns / columns.sum(axis=1, keepdims=True)
