"""Model files: every estimator of the library, alone or at the end of a Pipeline, saved and loaded
without pickle.

A loaded model predicts bit for bit what the saved one did. The content of a file is checked as if
an enemy had written it.
"""

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import maxmargin
from maxmargin.files import archive
from maxmargin.files.access import MAX_MODEL_BYTES, reasons_named, replacing
from maxmargin.files.advice import steps_of
from maxmargin.files.decoding import Decoder
from maxmargin.files.encoding import Encoder
from maxmargin.files.estimators_as_json import (
    check_can_be_held,
    estimator_from_json,
    estimator_to_json,
    model_named,
)

FORMAT = "maxmargin model"
# A file names the first version that has all it uses. Version 2 added bytes, text of any length and
# more fields of certificates; 3 added estimators within a Pipeline; 4 added the columns of a table:
# imputers, encoders, ColumnTransformer, and which column was the target; 5 added the roles of a
# regression's rows.
VERSION = 5
KEYS = {"format", "format_version", "library_version", "class", "parameters", "attributes"}


def save(model, path):
    """Write a fitted model to a file that `load` reads back, to predict the same bit for bit.

    The file is a zip of `.npy` arrays and one JSON text, with a checksum for each array. It appears
    under its name only when it is complete: a save that fails leaves the old file as it was.

    Parameters
    ----------
    model : estimator of maxmargin, or Pipeline that ends in one
        It must be fitted, and its kernel must not hold a function (`Custom`, `Conformal` or a
        callable). The other steps of a Pipeline may be StandardScaler, MinMaxScaler, MaxAbsScaler,
        SimpleImputer, OneHotEncoder and ColumnTransformer of scikit-learn and the transformers of
        maxmargin; the columns of a ColumnTransformer may go through a Pipeline of their own.
    path : str or path

    Notes
    -----
    A file leaves out what it cannot hold and only a next fit would use: `callbacks` and a random
    generator as `random_state` become None, and the `trace_` of a kernel machine is dropped. So are
    `memory`, `verbose` and `transform_input` of a Pipeline. The steps of a loaded Pipeline pass
    plain arrays to each other, so that only the first of them has names of features. A loaded
    ColumnTransformer knows its columns by position, and those of a data frame by name as before.

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
        check_can_be_held(model)
        encoder = Encoder()
        described = estimator_to_json(encoder, model)
        head = {
            "format": FORMAT,
            "format_version": encoder.version,
            "library_version": maxmargin.__version__,
        }
        archive.write(file, {**head, **described}, encoder.arrays)


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
    model : the estimator or Pipeline, fitted

    Raises
    ------
    FileError
        `path: reason`, when the file is not a model file, is damaged, contradicts itself, or was
        written by a newer version.
    """
    document, arrays = archive.read(path, max_bytes)
    with reasons_named(path):
        _check_document(document)
        decoder = Decoder(arrays)
        model = estimator_from_json(decoder, document, model_named)
        decoder.check_all_used()
    _hand_on_plain_arrays(model)
    return model


def _hand_on_plain_arrays(model):
    """Let the steps pass arrays without names, whatever the configuration says."""
    first, *others = [step for _, step in steps_of(model)]
    for step in (first, *others)[:-1]:
        step.set_output(transform="default")
    for step in others:
        vars(step).pop("feature_names_in_", None)
    for step in filter(lambda one: isinstance(one, ColumnTransformer), (first, *others)):
        for _, part, _ in step.transformers:
            if isinstance(part, Pipeline):
                _hand_on_plain_arrays(part)


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
