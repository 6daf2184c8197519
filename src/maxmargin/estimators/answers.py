"""How an estimator checks rows of X, and how a fitted one answers about them.

Invariant: whatever is asked (decisions, labels, probabilities, margins), the rows are checked first
and the answer is made a block of rows at a time, so that it takes little memory besides itself.
"""

from contextlib import contextmanager
from functools import partial

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.engines import engine_of
from maxmargin.estimators.parameters import rows_of
from maxmargin.estimators.validation import check_dense_gram, check_gram, validate_data
from maxmargin.memory import in_blocks


class Answering:
    """What all estimators that decide about rows of X share.

    A subclass writes `_rows_for_predict`, which checks the rows; `_check_unaltered`, which makes
    sure that the model can be read; `_deciding`, a context with a function that makes the decisions
    about some of the rows; and `_rows_at_a_time`, which says how many rows a block may hold.
    """

    def _answers(self, X, answer, is_sure=None):
        """The rows of answer(decisions, rows) for all rows of X, made a block at a time.

        `decisions` has a column per machine, and `rows` says which rows of X they are. If there is
        an `is_sure(decisions, errors)`, it says for which rows the answer is the same for all
        decisions within the errors; then only the other rows are decided exactly.
        """
        X = self._validated_for_predict(X)
        with self._deciding(X) as decisions_of:

            def of_block(rows):
                rough = None if is_sure is None else decisions_of.roughly(rows)
                if rough is None:
                    return answer(decisions_of(rows), rows)
                answers = answer(rough[0], rows)
                unsure = np.flatnonzero(~is_sure(*rough))
                if len(unsure):
                    answers[unsure] = answer(decisions_of(rows.start + unsure), unsure)
                return answers

            return in_blocks(of_block, arrays.n_rows(X), self._rows_at_a_time())

    def _validated_for_predict(self, X):
        check_is_fitted(self)
        X = self._rows_for_predict(X)
        self._check_unaltered()
        return X


class KernelModel(Answering):
    """What all estimators that sum up a kernel over points share.

    A subclass writes `_centres`, which brings these points to an engine, and `_decisions_from`,
    which makes decisions from `expand(coef)`, the sums with these coefficients.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._rows() != "gram"
        tags.input_tags.pairwise = self._rows() == "gram"
        return tags

    def _rows(self):
        """What the rows of X hold in a fit."""
        return rows_of(self.kernel)

    def _new_engine(self):
        """An engine with the memory of `cache_size`, if there is such a parameter."""
        return engine_of(self.engine, cache_bytes=int(getattr(self, "cache_size", 0) * 2**20))

    def _validated_for_fit(self, X, y, **options):
        """X, as numbers unless the kernel takes anything, and y; scikit-learn takes `options`."""
        holds = self._rows()
        if holds == "gram":
            check_dense_gram(X)
        if holds == "anything":
            check_consistent_length(X, y)
            X, y = arrays.sound(X), self._targets_of_anything(y)
        else:
            X, y = validate_data(self, X, y, **options)
        if holds == "gram":
            check_gram(X)
        return arrays.canonical(X), y

    def _rows_for_predict(self, X):
        if self.kernel_.takes == "anything":  # `kernel` may have been changed since the fit
            return arrays.canonical(arrays.sound(X))
        return arrays.canonical(validate_data(self, X, reset=False))

    @contextmanager
    def _deciding(self, X):
        with self._new_engine() as engine:
            centres = self._centres(engine)
            points = engine.points(X, beside=centres)

            yield _Decisions(self, engine, points, centres)


class _Decisions:
    """The decisions of a model about rows of points, exactly or roughly."""

    def __init__(self, model, engine, points, centres):
        self.model, self.engine, self.points, self.centres = model, engine, points, centres

    def __call__(self, rows):
        return self.model._decisions_from(self._with(self.engine.expand, rows))

    def roughly(self, rows):
        """The decisions and how far they can be off, or None if there is no faster way."""
        return self.model._rough_decisions_from(self._with(self.engine.expand_roughly, rows))

    def _with(self, expand, rows):
        return partial(expand, self.model.kernel_, self.points[rows], self.centres)
