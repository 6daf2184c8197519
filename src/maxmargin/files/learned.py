"""Transformers of scikit-learn, for which a file holds only what they have learned.

Their other attributes are private and differ from version to version. So a fit to one row makes
them again: from that row an imputer learns its own statistics, an encoder its own categories, and a
ColumnTransformer, whose steps are fitted already, its columns.
"""

import warnings

import numpy as np
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from maxmargin.files.advice import steps_of
from maxmargin.files.columns import REMAINDER, is_word

# The fit to one row makes these attributes again.
LEARNED = {
    SimpleImputer: {"indicator_", "_fit_dtype", "_fill_dtype"},
    OneHotEncoder: {
        "drop_idx_",
        "_infrequent_enabled",
        "_drop_idx_after_grouping",
        "_n_features_outs",
    },
    ColumnTransformer: {
        "transformers_",
        "output_indices_",
        "_columns",
        "_remainder",
        "_transformer_to_input_indices",
        "_transformers_feature_names_out",
        "_name_to_fitted_passthrough",
        "_n_features",
    },
}


def learn_again(part):
    """Make the other attributes of a part that has its parameters and what it learned."""
    names = vars(part).pop("feature_names_in_", None)  # the row has none
    with config_context(transform_output="default"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # steps of a ColumnTransformer may warn about names
        AGAIN[type(part)](part)
    if names is not None:
        part.feature_names_in_ = names


def _statistics(imputer):
    statistics = imputer.statistics_
    imputer.fit(row_for(imputer))
    imputer.statistics_ = statistics


def _categories(encoder):
    categories = encoder.categories_
    encoder.set_params(categories=categories).fit(row_for(encoder))
    encoder.set_params(categories="auto")
    encoder.categories_ = categories


def _columns(model):
    """Fit with frozen steps, which a fit does not change, and thaw them again."""
    is_sparse, row = model.sparse_output_, row_for(model)
    given = [one for one in model.transformers if one[0] != REMAINDER]
    model.transformers = [(name, _frozen(step), places) for name, step, places in given]
    model.fit(row)
    model.transformers_ = [(name, _thawed(step), at) for name, step, at in model.transformers_]
    model.transformers, model.sparse_output_ = given, is_sparse


AGAIN = {SimpleImputer: _statistics, OneHotEncoder: _categories, ColumnTransformer: _columns}


def row_for(part):
    """One row that a fitted part can take."""
    if isinstance(part, Pipeline):
        return row_for(steps_of(part)[0][1])
    if isinstance(part, SimpleImputer):
        return part.statistics_[None, :]
    row = np.zeros((1, part.n_features_in_), dtype=object)
    if isinstance(part, OneHotEncoder):
        row[0] = [one[0] for one in part.categories_]
    if isinstance(part, ColumnTransformer):
        for _, step, places in part.transformers:
            if not is_word(step):
                row[0, places] = row_for(step)[0]
    return row


def _frozen(step):
    return step if is_word(step) else FrozenEstimator(step)


def _thawed(step):
    return step.estimator if isinstance(step, FrozenEstimator) else step
