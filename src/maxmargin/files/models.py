"""Model files: every estimator of the library, saved and loaded without pickle.

A loaded model predicts bit for bit what the saved one did. What a file holds is checked as strictly
as if an enemy had written it.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

import maxmargin
from maxmargin.errors import class_of
from maxmargin.files import archive
from maxmargin.files.access import MAX_MODEL_BYTES, reasons_named, replacing
from maxmargin.files.advice import way_out
from maxmargin.files.decoding import Decoder
from maxmargin.files.encoding import Encoder
from maxmargin.files.schema import check_model, known_attributes, schema_of

FORMAT = "maxmargin model"
VERSION = 2  # a file says the first that has all it uses: 2 is bytes, and text of any length
KEYS = {"format", "format_version", "library_version", "class", "parameters", "attributes"}

# Not the model: how scikit-learn hands it data and wraps its output, and the record of a fit.
# `_how` is what the parameters of the file say, or it is refused; `load` sets it.
LEFT_OUT = {"_sklearn_output_config", "_metadata_request", "_skl_callbacks", "_how", "trace_"}


def save(model, path):
    """Write a fitted model to a file that `load` reads back, to predict the same bit for bit.

    The file is a zip of `.npy` arrays and one JSON text, with a checksum for each array. It appears
    under its name only when it is complete: a save that fails leaves the old file as it was.

    Parameters
    ----------
    model : estimator of maxmargin
        Fitted. Its kernel must not hold a function (`Custom`, `Conformal` or a callable).
    path : str or path

    Notes
    -----
    Left out is what only a next fit would use and a file cannot hold: `callbacks` and a random
    generator as `random_state` become None, and the `trace_` of a kernel machine is dropped.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import SVC
    >>> from maxmargin.files import load, save
    >>> model = SVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.mm")
    ...     save(model, path)
    ...     load(path).predict([[0.9]])
    array(['yes'], dtype='<U3')
    """
    check_is_fitted(model)
    with reasons_named(path), replacing(path) as file:
        write_model(model, file)


def write_model(model, file):
    """What `save` writes, into a file that is open."""
    if not _is_ours(model):
        raise ValueError(
            f"a model file cannot hold this {class_of(model)}, only estimators of "
            f"maxmargin{way_out(model, 'save', _is_ours)}."
        )
    encoder, parameters = Encoder(), _parameters(model)
    encoded = _encoded(encoder, parameters)  # first, as its complaints say most
    attributes = _attributes(model)
    encoded_attributes = _encoded(encoder, attributes)
    document = {
        "format": FORMAT,
        "format_version": encoder.version,
        "library_version": maxmargin.__version__,
        "class": type(model).__name__,
        "parameters": encoded,
        "attributes": encoded_attributes,
    }
    _assembled(type(model), parameters, attributes)
    archive.write(file, document, encoder.arrays)


def load(path, *, max_bytes=MAX_MODEL_BYTES):
    """Read a model that `save` wrote.

    Nothing in the file is executed, and no more memory is used than the file is long.

    Parameters
    ----------
    path : str or path
    max_bytes : int, default=2 GiB
        Larger files are refused.

    Returns
    -------
    model : the estimator, fitted

    Raises
    ------
    FileError
        `path: reason`, when the file is not a model file, is damaged, contradicts itself, or was
        written by a newer version.
    """
    document, arrays = archive.read(path, max_bytes)
    with reasons_named(path):
        _check_document(document)
        cls = estimator_named(document["class"])
        if cls is None:
            raise ValueError(f"unknown class {str(document['class'])[:100]!r}.")
        decoder = Decoder(arrays)
        parameters = _decoded(decoder, document["parameters"], set(cls._get_param_names()))
        attributes = _decoded(decoder, document["attributes"], known_attributes(cls))
        decoder.check_all_used()
        return _assembled(cls, parameters, attributes)


def _assembled(cls, parameters, attributes):
    """The fitted model of parameters and attributes, if they make one."""
    model = cls(**parameters)
    vars(model).update(attributes)
    check_model(model)
    if isinstance(model, (maxmargin.SVC, maxmargin.NuSVC)):
        model._keep_decomposition()
    return model


def estimator_named(name):
    """The exported estimator of that name if the format knows its kind, or None."""
    if not isinstance(name, str) or name not in maxmargin.__all__ or not name[:1].isupper():
        return None
    cls = getattr(maxmargin, name)
    return cls if isinstance(cls, type) and schema_of(cls) is not None else None


def _is_ours(model):
    return estimator_named(type(model).__name__) is type(model)


def _parameters(model):
    """The parameters, without those that only serve a next fit and hold code or state."""
    parameters = model.get_params(deep=False)
    if parameters.get("callbacks"):
        parameters["callbacks"] = None
    if isinstance(parameters.get("random_state"), (np.random.RandomState, np.random.Generator)):
        parameters["random_state"] = None
    return parameters


def _attributes(model):
    known = known_attributes(type(model))
    attributes = {
        name: value
        for name, value in vars(model).items()
        if name not in model._get_param_names() and (name not in LEFT_OUT or name in known)
    }
    unknown = sorted(set(attributes) - known)
    if unknown:
        raise ValueError(f"a model file cannot hold the attribute {unknown[0]}.")
    return attributes


def _encoded(encoder, values):
    return {name: encoder.encode(name, value) for name, value in values.items()}


def _decoded(decoder, values, known):
    if not isinstance(values, dict):
        raise ValueError("parameters and attributes must be named.")
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(f"unknown name {unknown[0][:100]!r}.")
    return {name: decoder.decode(value) for name, value in values.items()}


def _check_document(document):
    if document.get("format") != FORMAT:
        raise ValueError("not a model file of maxmargin.")
    version = document.get("format_version")
    if type(version) is not int or version < 1:
        raise ValueError(f"impossible format version {str(version)[:100]!r}.")
    if version > VERSION:
        raise ValueError(
            f"written by a newer version of maxmargin ({str(document.get('library_version'))[:40]},"
            f" format {version}); this is {maxmargin.__version__}, which reads up to {VERSION}."
        )
    if set(document) != {*KEYS, "members"}:
        raise ValueError(f"its description must have exactly {sorted(KEYS)}.")
