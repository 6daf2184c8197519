"""Kernel machines written as LIBSVM's model files."""

import numpy as np

from maxmargin import arrays
from maxmargin.estimators.exchange import CLASSES, _kernel_parameters
from maxmargin.files.access import reasons_named, replacing
from maxmargin.files.advice import way_out
from maxmargin.files.libsvm_layout import KERNEL_TYPES, LARGEST_LABEL, SVM_TYPES, reordered
from maxmargin.files.schema import check_model


def save_libsvm(model, path):
    """Write a kernel machine as a LIBSVM model file.

    LIBSVM's own `svm-predict` then gives the same decision values. The second of two classes is
    listed first, so that the sign agrees, too.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        It must be fitted, with a linear, polynomial, RBF, sigmoid or precomputed kernel and, if it
        classifies, labels that are whole numbers.
    path : str or path

    Notes
    -----
    Probabilities are left out, because LIBSVM's sigmoid has another form than the one fitted here.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import SVC
    >>> from maxmargin.files import load_libsvm, save_libsvm
    >>> model = SVC(kernel="linear").fit([[0.0], [1.0]], [-1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model")
    ...     save_libsvm(model, path)
    ...     load_libsvm(path).predict([[0.9]])
    array([1])
    """
    with reasons_named(path), replacing(path) as file:
        write_libsvm(model, file)


def write_libsvm(model, file):
    """What `save_libsvm` writes, into a file that is open."""
    _check_class(model)
    check_model(model)
    head, coef, rows = _parts(model)
    for key, values in head.items():
        file.write(f"{key} {' '.join(map(_word, values))}\n".encode())
    file.write(b"SV\n")
    for row, column in zip(rows, coef.T, strict=True):
        words = [*map(_word, column), *_pairs(model, row)]
        file.write((" ".join(words) + " \n").encode())


def _check_class(model):
    if _is_ours(model):
        return
    name, advice = type(model).__name__, way_out(model, "save_libsvm", _is_ours)
    if name not in CLASSES:
        raise ValueError(f"LIBSVM has no {name}, only {', '.join(CLASSES)}{advice}.")
    raise ValueError(
        f"only models of maxmargin can be written, and this {name} is one of "
        f"{type(model).__module__.partition('.')[0]}{advice}."
    )


def _is_ours(model):
    return CLASSES.get(type(model).__name__) is type(model)


def _parts(model):
    """The lines of the head, the coefficients in LIBSVM's order, and the rows they belong to."""
    coef, intercepts = arrays.dense(model.dual_coef_), model.intercept_
    rows, labels = np.arange(coef.shape[1]), {}
    if hasattr(model, "classes_"):
        classes, counts = whole_labels(model.classes_), model.n_support_.tolist()
        if model._is_one_vs_rest():
            raise ValueError("LIBSVM has no multi_class='ovr', only a machine for every pair.")
        order = list(range(len(classes)))
        if len(classes) == 2:
            order = [1, 0]
            coef, intercepts, rows = reordered(-coef, -intercepts, counts, order)
        labels = {"label": [classes[k] for k in order], "nr_sv": [counts[k] for k in order]}
    kernel = _libsvm_kernel(model)
    head = {
        "svm_type": [_key_of(SVM_TYPES, type(model).__name__)],
        "kernel_type": [_key_of(KERNEL_TYPES, kernel.pop("kernel"))],
        **{key: [value] for key, value in kernel.items()},
        "nr_class": [len(getattr(model, "classes_", (0, 1)))],
        "total_sv": [len(rows)],
        "rho": -intercepts,
        **labels,
    }
    return head, coef, rows


def _key_of(table, value):
    return next(key for key, one in table.items() if one == value)


def _libsvm_kernel(model):
    try:
        return _kernel_parameters(model.kernel_)
    except TypeError:
        raise ValueError(f"LIBSVM has no kernel like {model.kernel_}.") from None


def whole_labels(classes):
    if classes.dtype.kind not in "biuf" or np.any(classes != np.floor(classes)):
        raise ValueError(f"LIBSVM's labels are whole numbers, not {classes.tolist()[0]!r}.")
    if np.any(np.abs(classes.astype(np.float64)) >= LARGEST_LABEL):
        raise ValueError("LIBSVM's labels have 32 bits.")
    return [int(label) for label in classes]


def _pairs(model, row):
    """index:value for the entries of a support vector that are not zero."""
    if model.kernel_.takes == "gram":
        return [f"0:{int(model.support_[row]) + 1}"]
    vectors = model.support_vectors_
    if arrays.is_sparse(vectors):
        part = slice(vectors.indptr[row], vectors.indptr[row + 1])
        indices, values = vectors.indices[part], vectors.data[part]
    else:
        indices = np.flatnonzero(vectors[row])
        values = vectors[row, indices]
    return [f"{i + 1}:{_word(value)}" for i, value in zip(indices, values, strict=True)]


def _word(value):
    """The number with 17 digits, which identify it exactly."""
    return f"{float(value):.17g}" if isinstance(value, (float, np.floating)) else str(value)
