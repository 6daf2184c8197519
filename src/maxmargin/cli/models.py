"""Models and data as commands use them: which file is what, and rows as the model expects them."""

import os
import re
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxmargin import arrays, files
from maxmargin.cli.messages import say
from maxmargin.cli.names import FORMATS
from maxmargin.cli.scaling import Scaling
from maxmargin.errors import FileError
from maxmargin.files.access import reasons_named, replacing, restoring
from maxmargin.files.libsvm_writer import write_libsvm
from maxmargin.files.models import write_model

# After the names of scaled features: such a model needs its ranges, and no others.
SCALED = " (scaled {})"
IS_SCALED = re.compile(r"(.*) \(scaled ([0-9a-f]{16})\)", re.DOTALL)


@dataclass(frozen=True)
class Opened:
    """A model from a file, the scaling of its features, and their names where it has any."""

    model: object
    scaling: Scaling | None
    names: list[str] | None


def ranges_of(path):
    """The file of ranges that stands beside a model of scaled features."""
    return os.fspath(path) + ".range"


def format_of(path):
    """By the suffix; None when that says nothing."""
    suffix = os.path.splitext(path)[1].lower()
    return next((name for name, suffixes in FORMATS.items() if suffix in suffixes), None)


def check_no_ranges_beside(path, format=None):
    """A LIBSVM file of unscaled features would be taken to be scaled by ranges beside it; these
    are not removed, as they may be the user's own, from svm-scale."""
    beside = ranges_of(path)
    if (format or format_of(path)) == "libsvm" and os.path.exists(beside):
        what = "choose another name for the model or remove that file"
        raise FileError(f"{beside}: would scale the features of {path}, which are not; {what}.")


def save_model(opened, path, format=None):
    """Write a model in the format asked for, or that of the suffix, or ours; with its ranges.

    Either both files are new or both as they were.
    """
    format, beside = format or format_of(path) or "mm", ranges_of(path)
    if opened.scaling is None:
        check_no_ranges_beside(path, format)
    keeping = nullcontext() if opened.scaling is None else restoring(beside)
    with reasons_named(path), keeping, replacing(path) as file:
        _write(opened, format, file)
        if opened.scaling is not None:
            opened.scaling.save(beside)  # before the model has its name: it is never without them
    if opened.scaling is not None and format != "mm":
        ours = " (predict, inspect and plot do so)" if format == "libsvm" else ""
        say(f"{path} takes scaled features: `maxmargin svm-scale -r {beside} DATA`{ours}.")


def _write(opened, format, file):
    if format == "libsvm":
        write_libsvm(opened.model, file)
    elif format == "onnx":
        file.write(files.to_onnx(opened.model).SerializeToString())
    else:
        _name_features(opened)
        write_model(opened.model, file)


def _name_features(opened):
    """Keep the names of the columns in the model, marked if they were scaled."""
    model, names = opened.model, opened.names
    if opened.scaling is not None:
        names = names or _no_names(model.n_features_in_)
        names = [name + SCALED.format(opened.scaling.fingerprint) for name in names]
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)


def _no_names(n_features):
    """Marks need names: empty ones, which a table cannot have in its header."""
    return [""] * n_features


def open_model(path):
    """A model of ours or LIBSVM's, told apart by how the file begins."""
    with open(path, "rb") as file:
        is_libsvm = file.read(8) == b"svm_type"
    return _open_libsvm(path) if is_libsvm else _open_ours(path)


def _open_libsvm(path):
    """LIBSVM's text cannot say that features were scaled; a file of ranges beside it does."""
    model, beside = files.load_libsvm(path), ranges_of(path)
    if not os.path.exists(beside):
        return Opened(model, None, None)
    scaling = Scaling.load(beside, model.n_features_in_)
    n_features = len(scaling.smallest)
    if n_features > model.n_features_in_:  # the last may be zero in all support vectors
        model = files.load_libsvm(path, n_features=n_features)
    say(f"{path}: its features are scaled as {beside} says.")
    return Opened(model, scaling, None)


def _open_ours(path):
    model = files.load(path)
    if not hasattr(model, "predict"):
        raise FileError(f"{path}: a {type(model).__name__} does not predict.")
    names, scaling = vars(model).pop("feature_names_in_", None), None
    if names is not None:
        names = [str(name) for name in names]
        marked = [IS_SCALED.fullmatch(name) for name in names]
        if all(marked):
            names = [found[1] for found in marked]
            names = None if names == _no_names(len(names)) else names
            scaling = _ranges_beside(path, model.n_features_in_, marked[0][2])
    return Opened(model, scaling, names)


def _ranges_beside(path, n_features, fingerprint):
    beside = ranges_of(path)
    if not os.path.exists(beside):
        raise FileError(f"{path}: was fitted on scaled features, and {beside} is missing.")
    scaling = Scaling.load(beside, n_features)
    if scaling.fingerprint != fingerprint:
        raise FileError(f"{beside}: the ranges are not those that {path} was fitted with.")
    return scaling


def target_of(text):
    """The option --target: a position if it is a whole number (0 is the first), else a name."""
    if text is None:
        return -1
    try:
        return int(text)
    except ValueError:
        return text


def data_for(opened, path, target=None):
    """Rows for a model and their targets; None for these when the table has only features."""
    width = opened.model.n_features_in_
    data = files.read_data(path, target=target_of(target), n_features=width)
    if target is None and not sparse.issparse(data.X) and data.X.shape[1] == width - 1:
        data = _without_target(path, header="auto" if data.feature_names is None else True)
    if data.X.shape[1] != width:
        raise FileError(f"{path}: has {data.X.shape[1]} features, and the model {width}.")
    if None not in (opened.names, data.feature_names) and opened.names != data.feature_names:
        other = next(a for a, b in zip(data.feature_names, opened.names, strict=True) if a != b)
        raise FileError(f"{path}: the model has other columns, or in another order: not {other!r}.")
    X = data.X if opened.scaling is None else opened.scaling.transform(data.X)
    return as_fitted(opened.model, X), data.y, data.feature_names


def _without_target(path, header):
    """All columns as features: the first is read as the target and put back."""
    data = files.read_data(path, target=0, header=header)
    if data.y.dtype.kind not in "if":
        raise FileError(f"{path}: the first column must be numbers.")
    X = np.column_stack([data.y.astype(np.float64), data.X])
    names = None if data.feature_names is None else [data.target_name, *data.feature_names]
    return data._replace(X=X, y=None, feature_names=names, target_name=None)


def as_fitted(model, X):
    """Dense rows for a machine that was fitted on dense rows."""
    fitted_on = getattr(model, "support_vectors_", getattr(model, "X_fit_", None))
    is_dense = isinstance(fitted_on, np.ndarray)
    return arrays.dense(X) if is_dense and sparse.issparse(X) else X
