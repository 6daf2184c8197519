"""Models and data as commands use them: formats of files, and rows as the model expects them."""

import os
import re

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

from maxmargin import arrays, files
from maxmargin.cli.messages import UsageError, say
from maxmargin.cli.names import FORMATS
from maxmargin.cli.scaling import Scaling
from maxmargin.errors import FileError
from maxmargin.estimators.pipelines import last_step
from maxmargin.files import archive
from maxmargin.files.access import reasons_named, replacing
from maxmargin.files.advice import steps_of
from maxmargin.files.columns import parts_of
from maxmargin.files.csv_columns import Known, listed
from maxmargin.files.onnx_columns import inputs_of
from maxmargin.files.tables import name_of, read_table

# What older versions wrote after the names of scaled features: which ranges stand beside the model.
IS_SCALED = re.compile(r"(.*) \(scaled ([0-9a-f]{16})\)", re.DOTALL)


def first_step(model):
    """The model itself, or the step of a pipeline that takes the rows."""
    return steps_of(model)[0][1]


def format_of(path):
    """The format of the suffix; None when there is none."""
    suffix = os.path.splitext(path)[1].lower()
    return next((name for name, suffixes in FORMATS.items() if suffix in suffixes), None)


def format_named(verb, path):
    """The format of a file's name; a name without one is refused."""
    found = format_of(path)
    if found is None:
        raise UsageError(
            f"{verb}: which format is {path}? A model's name ends in .mm, in .model or .libsvm "
            f"(LIBSVM's) or in .onnx{'; or say --to' * (verb == 'convert')}."
        )
    return found


def check_libsvm_can_hold(path, is_scaled=False, has_more=False):
    """Refuse steps before a machine, which LIBSVM's files cannot hold; and a name under which an
    unscaled model would be taken for one of an older version, scaled by the ranges beside it."""
    if has_more:
        reason = "LIBSVM's format cannot hold what fills or encodes columns"
        raise FileError(f"{path}: {reason}; write .mm or .onnx.")
    if is_scaled:
        what = "write .mm or .onnx, or scale the data with svm-scale first"
        raise FileError(f"{path}: LIBSVM's format cannot hold the scaling; {what}.")
    if os.path.exists(beside := _ranges_of(path)):  # the user may have written it
        what = "choose another name for the model or remove that file"
        raise FileError(f"{beside}: would scale the features of {path}, which are not; {what}.")


def save_model(model, path, format=None):
    """Write a model in the given format, or that of the suffix, or ours."""
    format = format or format_of(path) or "mm"
    if format == "mm":
        files.save(model, path)
    elif format == "onnx":
        with reasons_named(path), replacing(path) as file:
            file.write(files.to_onnx(model).SerializeToString())
        if len(inputs := graph_inputs(model)) > 1:
            listed = [f"{one} is {', '.join(map(str, columns))}" for one, columns in inputs.items()]
            say(f"{path}: takes numbers and words apart: {'; '.join(listed)}.")
    else:
        more = (SimpleImputer, OneHotEncoder)
        has_more = any(isinstance(one, more) for _, one in parts_of(steps_of(model)))
        check_libsvm_can_hold(path, isinstance(model, Pipeline), has_more)
        files.save_libsvm(model, path)
        if getattr(model, "_calibrated", False):
            say(f"{path}: LIBSVM's format cannot hold the probabilities, which are left out.")


def open_model(path):
    """A model of ours or LIBSVM's, recognised by the first bytes of the file."""
    with open(path, "rb") as file:
        start = file.read(8)
    if not start:
        raise FileError(f"{path}: is empty.")
    if start == b"svm_type":
        model = _open_libsvm(path)
    elif not start.startswith(archive.FIRST_BYTES):
        raise FileError(f"{path}: not a model file, ours or LIBSVM's; the model comes before data.")
    else:
        model = _open_ours(path)
    if not hasattr(model, "predict"):
        raise FileError(f"{path}: a {type(last_step(model)).__name__} does not predict.")
    return model


# Older versions scaled the features by a file of ranges beside the model, and marked their names.


def _ranges_of(path):
    return os.fspath(path) + ".range"


def _open_libsvm(path):
    model, beside = files.load_libsvm(path), _ranges_of(path)
    if not os.path.exists(beside):
        return model
    scaling = Scaling.load(beside, model.n_features_in_)
    n_features = len(scaling.smallest)
    if n_features > model.n_features_in_:  # the last may be zero in all support vectors
        model = files.load_libsvm(path, n_features=n_features)
    say(f"{path}: its features are scaled as {beside} says.")
    return scaling.before(model)


def _open_ours(path):
    model = files.load(path)
    marked = [IS_SCALED.fullmatch(name) for name in getattr(model, "feature_names_in_", [])]
    if isinstance(model, Pipeline) or not marked or not all(marked):
        return model
    beside, fingerprint = _ranges_of(path), marked[0][2]
    if not os.path.exists(beside):
        raise FileError(f"{path}: was fitted on scaled features, and {beside} is missing.")
    scaling = Scaling.load(beside, model.n_features_in_)
    if scaling.fingerprint != fingerprint:
        raise FileError(f"{beside}: the ranges are not those that {path} was fitted with.")
    del model.feature_names_in_
    return with_names(scaling.before(model), [found[1] for found in marked])


def with_names(model, names):
    """Keep the names of a table's columns, unless all are empty."""
    if names is not None and any(names):
        first_step(model).feature_names_in_ = np.array(names, dtype=object)
    return model


def with_columns(model, data):
    """Keep the columns of a table, so that they need not be named again."""
    last = last_step(model)
    if data.target_name is not None:
        last.target_name_ = data.target_name
    if data.target_position is not None:
        last.target_position_ = data.target_position
    return with_names(model, data.feature_names)


def target_of(text):
    """The option --target; the last column unless it is given."""
    return -1 if text is None else text


def known_columns(model, target=None, drop=()):
    """What a model knows about the columns of a table, and what a user says about them."""
    first, last = first_step(model), last_step(model)
    names = getattr(first, "feature_names_in_", None)
    return Known(
        n_features=first.n_features_in_,
        names=None if names is None else names.tolist(),
        categorical=tuple(inputs_of(first)[1].tolist()),
        keeps_missing=any(isinstance(one, SimpleImputer) for _, one in parts_of(steps_of(model))),
        target_name=getattr(last, "target_name_", None),
        target_position=getattr(last, "target_position_", -1),
        target=target,
        drop=tuple(drop),
    )


def graph_inputs(model):
    """The columns of each input that an ONNX graph of the model has, by name or position."""
    first = first_step(model)
    names = getattr(first, "feature_names_in_", np.arange(first.n_features_in_))
    inputs = dict(zip(("X", "words"), inputs_of(first), strict=True))
    return {name: names[places].tolist() for name, places in inputs.items() if len(places)}


def data_for(model, path, target=None, drop=()):
    """Rows for a model and their targets, which are None when the table has only features."""
    known = known_columns(model, target, drop)
    data = read_table(path, known, n_features=known.n_features)
    if known.categorical and sparse.issparse(data.X):
        raise FileError(f"{path}: is svmlight, and the model needs a table with words.")
    if data.ignored:
        say(f"{name_of(path)}: ignores what the model does not know: {listed(data.ignored)}")
    if data.y is None and data.target_position is not None:
        say(f"{name_of(path)}: the target is not known in all rows, so there is no score.")
    return as_fitted(model, data.X), data.y, data.feature_names


def as_fitted(model, X):
    """The rows, dense for a model that was fitted on dense rows or takes no others."""
    last = last_step(model)
    fitted_on = getattr(last, "support_vectors_", getattr(last, "X_fit_", None))
    is_dense = isinstance(fitted_on, np.ndarray) or not get_tags(model).input_tags.sparse
    return arrays.dense(X) if is_dense and sparse.issparse(X) else X
