"""The steps from a table to a machine: they fill holes, encode words and scale features.

These steps stand before the machine in a Pipeline, so that one file holds all of them and new rows
go through the same steps.
"""

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from maxmargin import memory
from maxmargin.cli.messages import UsageError
from maxmargin.errors import FileError
from maxmargin.files.tables import name_of


def check_steps(scale, max_abs, impute):
    if scale and max_abs:
        raise UsageError("fit: --scale and --max-abs exclude each other; choose one.")


def prepared(model, data, scale, max_abs, impute):
    """The model behind the steps that the columns of the data need."""
    numbers = [SimpleImputer(strategy=impute)] if impute else []
    numbers += [StandardScaler()] if scale else []
    numbers += [MaxAbsScaler()] if max_abs else []
    if not data.categorical:
        return make_pipeline(*numbers, model) if numbers else model
    words = [SimpleImputer(strategy="most_frequent")] if impute else []
    words += [OneHotEncoder(handle_unknown="ignore")]
    width = data.X.shape[1]
    others = [k for k in range(width) if k not in set(data.categorical)]
    steps = [("numbers", _chained(numbers), others)] if others else []
    steps += [("words", _chained(words), list(data.categorical))]
    return make_pipeline(ColumnTransformer(steps), model)


def _chained(steps):
    if not steps:
        return "passthrough"
    return steps[0] if len(steps) == 1 else make_pipeline(*steps)


def rows_to_fit(path, data, scale, impute):
    """X as the steps take it, dense if features are centred; a column of holes is refused."""
    if impute:
        _check_columns_have_values(path, data)
    if not scale or not issparse(data.X):
        return data.X
    advice = "--max-abs keeps zeros as they are."
    memory.check_room("fit: --scale makes the rows dense", data.X.shape, advice)
    return data.X.toarray()


def _check_columns_have_values(path, data):
    if issparse(data.X):
        return
    for k in np.flatnonzero(np.all(data.X != data.X, axis=0)):  # NaN differs from itself
        name = k if data.feature_names is None else data.feature_names[k]
        raise FileError(f"{name_of(path)}: the column {name!r} has no values at all; --drop it.")
