"""What all models of the form f(x) = w.x + b share: their input and their decisions."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.estimators.multiclass import ABSENT
from maxmargin.estimators.validation import (
    check_result,
    check_size,
    check_unaltered,
    costs,
    validate_data,
)
from maxmargin.memory import in_blocks, rows_at_a_time


class Path(NamedTuple):
    """A model along its penalty: one row of `coefs` and one intercept per alpha.

    `dual_gaps` bounds how far each is from its optimum; zero where the solution is in closed form.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    dual_gaps: np.ndarray


class LinearModel(BaseEstimator):
    """Rows dense or sparse in, `coef_` and `intercept_` kept, one decision per row and output."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validated(self, X, y, **options):
        """X in float64, C-ordered or canonical CSR, and y; `options` are of `validate_data`."""
        if arrays.is_sparse(X):
            arrays.check_indices(X)
        options.setdefault("y_numeric", isinstance(self, RegressorMixin))
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", accept_sparse="csr", **options
        )
        check_size(self, X=X, **({"y": y} if isinstance(self, RegressorMixin) else {}))
        return (arrays.canonical_csr(X) if arrays.is_sparse(X) else X), y

    def _decisions(self, X):
        """w.x + b: one row per row of X, one column per output."""
        return self._answers(X, lambda decisions: decisions)

    def _answers(self, X, answer):
        """answer(decisions), a row for each of X, from a block of rows at a time."""
        X = self._validated_for_predict(X)
        n = X.shape[0]

        def of_block(rows):
            with np.errstate(over="ignore", invalid="ignore"):  # checked in the next line
                decisions = self._decisions_of(X if rows == slice(0, n) else X[rows])
            return answer(check_result(self, "the decisions", decisions))

        return in_blocks(of_block, n, self._rows_at_a_time())

    def _validated_for_predict(self, X, order=None):
        check_is_fitted(self)
        if arrays.is_sparse(X):
            arrays.check_indices(X)
        X = validate_data(self, X, dtype=np.float64, order=order, accept_sparse="csr", reset=False)
        self._check_unaltered()
        return X

    def _rows_at_a_time(self):
        return rows_at_a_time(2 * self._coef_rows().shape[0])

    def _coef_rows(self):
        return self.coef_ if arrays.is_sparse(self.coef_) else np.atleast_2d(self.coef_)

    def _decisions_of(self, X):
        decisions = np.asarray(arrays.dense(X @ self._coef_rows().T))
        decisions += self.intercept_
        return decisions

    def _check_unaltered(self):
        """`coef_` has a row per output, or is the only row; `intercept_` may be one for all."""
        is_row = np.ndim(self.coef_) == 1 and not arrays.is_sparse(self.coef_)
        n_outputs = np.shape(self.coef_)[0] if np.ndim(self.coef_) == 2 else 1
        if hasattr(self, "classes_"):
            n_outputs = self._n_outputs()
        check_unaltered(
            self,
            coef_=(n_outputs, self.n_features_in_)[is_row:],
            intercept_=(n_outputs,)[: np.ndim(self.intercept_)],
        )

    def _n_outputs(self):
        """The decisions that a classifier makes about each row."""
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _class_targets(self, y, weight, class_weight=None, one_loss=False):
        """Keep `classes_`; of each machine the targets, and the costs of the rows.

        With `one_loss` for all classes a row costs its weight times that of its class everywhere.
        """
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_.tolist()[0]!r}"
            )
        labels, factors = self._labels_and_factors(y, weight, class_weight)
        cost = costs(weight, factors[labels])
        if len(np.unique(labels[cost > 0])) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class."
            )
        targets, of_machines = self._one_vs_rest(labels, weight, factors)
        return targets, ([cost] * len(targets) if one_loss else of_machines)

    def _labels_and_factors(self, y, weight, class_weight):
        """Which of `classes_` each row is of, and the weight of each class."""
        labels = np.searchsorted(self.classes_, y)  # np.unique would sort all of y for them
        with np.errstate(divide="ignore"):  # the balance of a class without weight
            factors = compute_class_weight(
                class_weight, classes=self.classes_, y=y, sample_weight=weight
            )
        return labels, np.where(np.isinf(factors), 0.0, factors)

    def _one_vs_rest(self, labels, weight, factors):
        """+-1 for the second of two classes, or for each of more; and what the rows cost there.

        The weight of a class counts in its own machine, where the rest has weight one, as in
        LIBLINEAR. Two classes share a machine, in which both have theirs.
        """
        if len(self.classes_) == 2:
            return [np.where(labels == 1, 1.0, -1.0)], [costs(weight, factors[labels])]
        plain = costs(weight, 1.0)
        targets = [np.where(labels == k, 1.0, -1.0) for k in range(len(self.classes_))]
        return targets, [
            plain if factor == 1.0 else costs(weight, np.where(target > 0, factor, 1.0))
            for target, factor in zip(targets, factors, strict=True)
        ]

    def _silence_absent_classes(self, targets, costs):
        """A class whose rows all weigh nothing stays in `classes_` and is never predicted."""
        machines = enumerate(zip(targets, costs, strict=True))
        self._silence([k for k, (target, cost) in machines if not np.any(target[cost > 0] > 0)])

    def _silence(self, absent):
        """Machines that have seen only the rest, and would win where all others say no."""
        n_machines = self._coef_rows().shape[0]
        if n_machines > 1 and absent:
            self.intercept_ = np.broadcast_to(self.intercept_, n_machines).copy()
            self.coef_[absent], self.intercept_[absent] = 0.0, ABSENT

    def _class_decisions(self, X):
        """One per row for two classes, one per row and class for more."""
        return self._answers(X, lambda d: d[:, 0] if len(self.classes_) == 2 else d)

    def _predicted_classes(self, X):

        def labels(decisions):
            if len(self.classes_) == 2:
                return self.classes_[(decisions[:, 0] > 0).astype(np.intp)]
            return self.classes_[np.argmax(decisions, axis=1)]

        return self._answers(X, labels)


def rows_that_count(costs):
    """The rows that cost something in one of the machines at least."""
    return np.flatnonzero(np.any([cost > 0 for cost in costs], axis=0))
