"""What all models of the form f(x) = w.x + b share: their input and their decisions."""

from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from maxmargin import arrays
from maxmargin.estimators.answers import Answering
from maxmargin.estimators.decomposition import ABSENT
from maxmargin.estimators.validation import (
    check_result,
    check_size,
    check_unaltered,
    costs,
    validate_data,
)
from maxmargin.memory import rows_at_a_time


class Path(NamedTuple):
    """A model for many penalties: one row of `coefs` and one intercept per alpha.

    `dual_gaps` bounds how far each is from its optimum; it is zero for a solution in closed form.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    dual_gaps: np.ndarray


class Machine(NamedTuple):
    """What one function of a linear model is to fit, and how much each row counts there."""

    target: np.ndarray
    cost: np.ndarray

    def of(self, rows):
        return Machine(self.target[rows], self.cost[rows])


class LinearModel(Answering, BaseEstimator):
    """Takes dense or sparse rows, keeps `coef_` and `intercept_`, and makes one decision per row
    and output."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validated(self, X, y, **options):
        """X in float64, C-ordered or canonical CSR, and y; `validate_data` takes `options`."""
        options.setdefault("y_numeric", isinstance(self, RegressorMixin))
        X, y = validate_data(self, X, y, **options)
        check_size(self, X=X, **({"y": y} if isinstance(self, RegressorMixin) else {}))
        return arrays.canonical(X), y

    def _decisions(self, X):
        """w.x + b, with one row per row of X and one column per output."""
        return self._answers(X, lambda decisions, rows: decisions)

    def _rows_for_predict(self, X):
        return validate_data(self, X, order=None, reset=False)

    def _deciding(self, X):
        return nullcontext(partial(self._decisions_of, X))

    def _decisions_of(self, X, rows):
        with np.errstate(over="ignore", invalid="ignore"):  # checked in the last line
            some = X if rows == slice(0, X.shape[0]) else X[rows]
            decisions = np.asarray(arrays.dense(some @ self._coef_rows().T))
            decisions += self.intercept_
        return check_result(self, "the decisions", decisions)

    def _rows_at_a_time(self):
        return rows_at_a_time(2 * self._coef_rows().shape[0])

    def _coef_rows(self):
        return self.coef_ if arrays.is_sparse(self.coef_) else np.atleast_2d(self.coef_)

    def _check_unaltered(self):
        """Make sure that `coef_` has a row per output, or is the only row, and that `intercept_`
        fits it, or is one for all."""
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
        """How many decisions a classifier makes about each row."""
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _class_targets(self, y, weight, class_weight=None, one_loss=False):
        """Keep `classes_`, and return the machines that tell them apart.

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
        machines = self._one_vs_rest(labels, weight, factors)
        return [Machine(one.target, cost) for one in machines] if one_loss else machines

    def _labels_and_factors(self, y, weight, class_weight):
        """The class of each row, as a position in `classes_`, and the weight of each class."""
        labels = np.searchsorted(self.classes_, y)  # np.unique would sort all of y for them
        with np.errstate(divide="ignore"):  # a class may have no weight
            factors = compute_class_weight(
                class_weight, classes=self.classes_, y=y, sample_weight=weight
            )
        return labels, np.where(np.isinf(factors), 0.0, factors)

    def _one_vs_rest(self, labels, weight, factors):
        """The machines: +-1 for the second of two classes, or for each of more.

        The weight of a class counts in its own machine, where the rest has weight one, as in
        LIBLINEAR. Two classes share a machine, in which both have their weights.
        """
        if len(self.classes_) == 2:
            return [Machine(np.where(labels == 1, 1.0, -1.0), costs(weight, factors[labels]))]
        plain = costs(weight, 1.0)
        targets = [np.where(labels == k, 1.0, -1.0) for k in range(len(self.classes_))]
        return [
            Machine(y, plain if one == 1.0 else costs(weight, np.where(y > 0, one, 1.0)))
            for y, one in zip(targets, factors, strict=True)
        ]

    def _silence_absent_classes(self, machines):
        """Never predict a class whose rows all have weight zero, although it is in `classes_`."""
        has_rows = [np.any(one.target[one.cost > 0] > 0) for one in machines]
        self._silence(np.flatnonzero(np.logical_not(has_rows)).tolist())

    def _silence(self, absent):
        """Let machines that have seen only the rest never win, even where all are negative."""
        n_machines = self._coef_rows().shape[0]
        if n_machines > 1 and absent:
            self.intercept_ = np.broadcast_to(self.intercept_, n_machines).copy()
            self.coef_[absent], self.intercept_[absent] = 0.0, ABSENT


class LinearClassifier(ClassifierMixin):
    """How classifiers of the form f(x) = w.x + b answer; it stands before `LinearModel`."""

    def decision_function(self, X):
        """Signed values: one per row for two classes, one per row and class for more."""
        return self._answers(X, lambda d, rows: d[:, 0] if len(self.classes_) == 2 else d)

    def predict(self, X):
        """The label of every row of X."""

        def labels(decisions, rows):
            if len(self.classes_) == 2:
                return self.classes_[(decisions[:, 0] > 0).astype(np.intp)]
            return self.classes_[np.argmax(decisions, axis=1)]

        return self._answers(X, labels)


class LinearRegressor(RegressorMixin):
    """How regressors of one or several targets answer; it stands before `LinearModel`."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X):
        """The predicted target of every row of X; a column per row of `coef_` where it has rows."""
        decisions = self._decisions(X)
        return decisions[:, 0] if self.coef_.ndim == 1 else decisions


def rows_that_count(machines):
    """The rows that cost something in at least one of the machines."""
    return np.flatnonzero(np.any([machine.cost > 0 for machine in machines], axis=0))
