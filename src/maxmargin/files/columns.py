"""The columns of a ColumnTransformer: a name, a step and the positions of its columns for each.

A file lists every column by its position, also those that no step takes, so that it cannot claim
more columns than it lists.
"""

from itertools import chain

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

WORDS = ("passthrough", "drop")
REMAINDER = "remainder"  # scikit-learn's name for the columns that have no step.


def is_word(step):
    return isinstance(step, str) and step in WORDS


def triples_of(model):
    """(name, fitted step or word, positions) of all columns of a fitted ColumnTransformer."""
    names = getattr(model, "feature_names_in_", np.empty(0)).tolist()
    triples = []
    for (name, step, columns), given in zip(model.transformers_, _given(model), strict=True):
        places = _positions(columns, names, model.n_features_in_)
        triples.append((name, given if is_word(given) else step, places))
    return triples


def _given(model):
    """Each step as it was before the fit, which replaces words by functions."""
    n_more = len(model.transformers_) - len(model.transformers)
    return [step for _, step, _ in model.transformers] + [model.remainder] * n_more


def _positions(columns, names, n_columns):
    """Positions from names, numbers, a slice or a mask."""
    if np.isscalar(columns):
        raise ValueError(f"the columns {columns!r} must be a list, also where it is only one.")
    if isinstance(columns, slice):
        return np.arange(n_columns)[columns]
    columns = [names.index(one) if isinstance(one, str) else one for one in columns]
    return np.arange(n_columns)[np.asarray(columns, dtype=None if columns else np.int64)]


def parts_of(steps):
    """The steps; a ColumnTransformer is followed by the steps of its columns."""
    for name, step in steps:
        yield name, step
        if type(step) is ColumnTransformer and hasattr(step, "transformers_"):
            inner = [(name, one) for name, one, _ in triples_of(step) if not is_word(one)]
            yield from chain.from_iterable(map(_steps_within, inner))


def _steps_within(part):
    name, step = part
    if type(step) is not Pipeline:
        return [part]
    return [(f"{name}: {inner}", one) for inner, one in step.steps if not is_word(one)]
