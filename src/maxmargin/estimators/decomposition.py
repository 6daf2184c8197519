"""The machines that an estimator is made of: which there are, and how they decide together.

`Single` is one machine. `OneVsOne` has a machine for every pair (i, j) with i < j, in lexicographic
order, whose decision is positive for i. With two classes there is one pair, whose sign scikit-learn
flips, so that it is positive for the second class. `OneVsRest` has a machine per class, positive
for that class. Each knows where the coefficients of a machine stand in `dual_coef_`, so nothing
else needs to know the layout.
"""

from itertools import accumulate, combinations, pairwise

import numpy as np
from scipy import sparse

from maxmargin.estimators.probability import couple

ABSENT = -1e100  # This is the decision for a class that no machine has seen.


def pairs_of(n_classes):
    return list(combinations(range(n_classes), 2))


class Decomposition:
    """What all decompositions share.

    Support vectors are grouped by class, and `parts` of a fitted model are the slices of each.
    A subclass has `n_classes`, `tasks` (a tuple of classes for each machine), `n_coef_rows` of
    `dual_coef_`, and `coef_rows(task)`: (row of dual_coef_, class whose coefficients stand there).
    """

    def position(self, task):
        """The position of a machine among all of them."""
        return task[0]

    def shapes(self, n_support):
        """The shapes of the fitted attributes that depend on the machines."""
        return {
            "dual_coef_": (self.n_coef_rows, n_support),
            "intercept_": (len(self.tasks),),
            "n_support_": (self.n_classes,),
        }

    def parts(self, n_support):
        """The slice of the support vectors of each class."""
        ends = np.cumsum(n_support).tolist()
        return [slice(end - int(count), end) for end, count in zip(ends, n_support, strict=True)]

    def last_coef(self, task, model, n):
        """The coefficients that a fitted model gives to the n training rows in one machine."""
        dual_coef, parts, coef = model._last_coef(), self.parts(model.n_support_), np.zeros(n)
        for row, k in self.coef_rows(task):
            coef[model.support_[parts[k]]] = dual_coef[row, parts[k]]
        return coef

    def weights(self, model):
        """The w of every machine of a model with a linear kernel."""
        parts, Z = self.parts(model.n_support_), model.support_vectors_
        rows = [
            sum(model.dual_coef_[[row], parts[k]] @ Z[parts[k]] for row, k in self.coef_rows(task))
            for task in self.tasks
        ]
        return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.vstack(rows)

    def decisions(self, expand, parts, intercept):
        """The decisions, one column per machine; `expand(parts)` sums over some support vectors."""
        return self.decisions_of(self.sums(expand, parts), intercept)

    def sums(self, expand, parts):
        """The sums that the machines need from `expand`."""
        return expand()

    def decisions_of(self, sums, intercept):
        return sums + intercept

    def errors_of(self, errors):
        """How far each decision can be off, from the errors of the sums."""
        return errors[:, None]


class Single(Decomposition):
    """One machine for all rows."""

    n_classes = n_coef_rows = 1
    tasks = ((0,),)

    def coef_rows(self, task):
        return [(0, 0)]


class OneVsOne(Decomposition):
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
        """Each class has a coefficient per opponent, and its opponents are the other classes in
        order."""
        i, j = task
        return [(j - 1, i), (i, j)]

    def position(self, task):
        i, j = task
        return i * (2 * self.n_classes - i - 1) // 2 + j - i - 1

    def intercepts_without_training(self, present):
        """Intercepts with which a class without weight loses every vote."""
        is_present = np.isin(np.arange(self.n_classes), list(present)).astype(float)
        first, second = self.pairs.T
        return is_present[first] - is_present[second]

    def sums(self, expand, parts):
        """The sums over each class, because a pair needs each class's coefficients against the
        other."""
        return expand() if self.n_classes == 2 else expand(parts)

    def errors_of(self, errors):
        if self.n_classes == 2:
            return super().errors_of(errors)
        first, second = self.pairs.T
        return errors[:, first] + errors[:, second]

    def decisions_of(self, sums, intercept):
        if self.n_classes == 2:
            return super().decisions_of(sums, intercept)
        from maxmargin.compiled.votes import pair_decisions

        sums = np.ascontiguousarray(sums)
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

        The sum is squeezed into (-1/3, 1/3), so that it never outweighs a vote. A decision of zero
        counts for i here and for j in `winners`; both conventions are scikit-learn's.
        """
        confidence = np.zeros((len(decisions), self.n_classes))
        for i, columns in self._pairs_by_first():
            confidence[:, i + 1 :] -= decisions[:, columns]
            # They are added one after the other, because any other order rounds differently.
            one_by_one = np.column_stack([confidence[:, i], decisions[:, columns]])
            confidence[:, i] = np.cumsum(one_by_one, axis=1)[:, -1]
        return self.votes(decisions >= 0) + confidence / (3 * (np.abs(confidence) + 1))

    def are_sure(self, decisions, errors):
        """For which rows no decision within its error changes a vote."""
        return np.all(np.abs(decisions) > errors, axis=1)

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


class OneVsRest(Decomposition):
    """Every class against all others; the largest decision wins."""

    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.tasks = [(k,) for k in range(n_classes)]
        self.n_coef_rows = n_classes

    def signs(self, labels, task):
        return np.where(labels == task[0], 1.0, -1.0)

    def coef_rows(self, task):
        return [(task[0], k) for k in range(self.n_classes)]

    def intercepts_without_training(self, present):
        return np.full(self.n_classes, ABSENT)

    def scores(self, decisions):
        return decisions

    def are_sure(self, decisions, errors):
        """For which rows the second largest decision is clearly below the largest."""
        best = np.partition(decisions, -2, axis=1)
        return best[:, -1] - best[:, -2] > 2 * np.max(errors, axis=1)

    def winners(self, decisions, break_ties):
        return np.argmax(decisions, axis=1)

    def probabilities(self, columns):
        return columns / columns.sum(axis=1, keepdims=True)
