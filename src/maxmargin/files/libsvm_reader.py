"""LIBSVM's model files, read as fitted kernel machines."""

import re
from array import array

import numpy as np
from scipy import sparse

from maxmargin.estimators.exchange import CLASSES
from maxmargin.files.access import MAX_MODEL_BYTES, reasons_named, text_of
from maxmargin.files.blocks import blocks
from maxmargin.files.libsvm_layout import KERNEL_TYPES, LARGEST_LABEL, SHAPES, SVM_TYPES, reordered
from maxmargin.files.schema import check_model
from maxmargin.files.sparse_text import NUMBER, SparseReader, fault
from maxmargin.kernels.named import kernel_named

WORDS = {float: re.compile(NUMBER.decode(), re.ASCII), int: re.compile(r"[-+]?+\d{1,10}", re.ASCII)}


def load_libsvm(path, *, n_features=None, max_bytes=MAX_MODEL_BYTES):
    """Read a model that LIBSVM's `svm-train` (or `save_libsvm`) wrote, ready to predict.

    Parameters
    ----------
    path : str or path
    n_features : int, optional
        The number of features of the training data (its rows, for a precomputed kernel). The file
        does not say; without it, the largest index in the support vectors decides.
    max_bytes : int, default=2 GiB

    Returns
    -------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Its support vectors are sparse, so that it predicts for dense and for sparse rows. What the
        file does not hold (C, nu, epsilon, the row numbers of the support vectors, a certificate)
        has its default or is missing. LIBSVM's probabilities are left out.

    Raises
    ------
    FileError
        `path:line:column: reason`

    Notes
    -----
    Classes are sorted here. Where several have equally many votes, the smallest label wins; LIBSVM
    takes the one that stands first in the file.
    """
    with reasons_named(path), text_of(path, max_bytes) as file:
        lines = _whole_lines(path, file)
        head = _read_head(path, lines)
        reader = SparseReader(path, n_leading=head["nr_class"] - 1)
        for block in blocks(lines, lambda line: len(line[1])):
            reader.add([line.rstrip(b" \t\r\n") for _, line in block], [n for n, _ in block])
        model = _model_of(head, reader.rows(), n_features)
        check_model(model)
        return model


def _whole_lines(path, file):
    """(number, line), each with its end, without which the last number could be cut off."""
    for number, line in enumerate(file, start=1):
        if not line.endswith(b"\n"):
            raise fault(path, number, len(line) + 1, "the file was cut off, this line has no end")
        yield number, line


# How many numbers a field holds (None is any), and of which kind.
FIELDS = {
    "degree": (1, int),
    "gamma": (1, float),
    "coef0": (1, float),
    "nr_class": (1, int),
    "total_sv": (1, int),
    "rho": (None, float),
    "label": (None, int),
    "probA": (None, float),
    "probB": (None, float),
    "prob_density_marks": (None, float),
    "nr_sv": (None, int),
}


def _read_head(path, lines):
    """The fields above the line "SV", each at most once."""
    head = {}
    for number, line in lines:
        key, *values = line.decode("ascii", "backslashreplace").split(maxsplit=1) or [""]
        if not key:
            raise fault(path, number, 1, "expected a field, got an empty line")
        if key == "SV":
            return _checked_head(head)
        if key in head:
            raise fault(path, number, 1, f"{key} is there twice")
        if key in ("svm_type", "kernel_type"):
            known = SVM_TYPES if key == "svm_type" else KERNEL_TYPES
            value = "".join(values).rstrip()
            if value not in known:
                reason = f"{key} must be one of {', '.join(known)}"
                raise fault(path, number, len(key) + 2, reason)
            head[key] = known[value]
        elif key in FIELDS:
            head[key] = _numbers(path, number, line, key, "".join(values))
        else:
            raise fault(path, number, 1, f"unknown field {key[:40]!r}")
    raise ValueError("not a LIBSVM model: it ends before the line SV.")


def _numbers(path, number, line, key, text):
    """The value of a field or the array of its values. Words are cut out one by one, because a list
    of them would take many times the memory of the file."""
    wanted, kind = FIELDS[key]
    values = array("d")
    for word in (found.group() for found in re.finditer(r"\S++", text)):
        fits = WORDS[kind].fullmatch(word) and np.isfinite(float(word))
        if not fits or (kind is int and abs(int(word)) >= LARGEST_LABEL):
            column = line.find(word.encode("ascii", "replace"), len(key)) + 1
            raise fault(path, number, column, f"{key} cannot be {word[:40]!r}")
        values.append(float(word))
    if not values or (wanted is not None and len(values) != wanted):
        raise fault(path, number, len(key) + 2, f"{key} has {len(values)} values")
    return kind(values[0]) if wanted == 1 else np.array(values, dtype=kind)


def _checked_head(head):
    """The fields, which must be all that the types need, with as many values as classes need."""
    for key in ("svm_type", "kernel_type", "nr_class", "total_sv", "rho"):
        _require(key in head, f"{key} is missing.")
    for key in SHAPES.get(head["kernel_type"], ()):
        _require(key in head, f"{key} is missing.")
    classifies, k = head["svm_type"] in ("SVC", "NuSVC"), head["nr_class"]
    _require(k >= 2 if classifies else k == 2, f"nr_class cannot be {k}.")
    has_labels = {"label", "nr_sv"} & head.keys()
    _require(len(has_labels) == 2 * classifies, "label or nr_sv is missing, or does not belong.")
    machines = k * (k - 1) // 2
    lengths = {"rho": machines, "probA": machines, "probB": machines, "label": k, "nr_sv": k}
    for key in lengths.keys() & head.keys():
        found = len(head[key])
        _require(found == lengths[key], f"{key} must have {lengths[key]} values, not {found}.")
    if classifies:
        _require(len(np.unique(head["label"])) == k, "a label is there twice.")
        _require(head["nr_sv"].min() >= 0, "nr_sv has a negative count.")
        _require(head["nr_sv"].sum() == head["total_sv"], "nr_sv does not sum to total_sv.")
    return head


def _require(holds, reason):
    if not holds:
        raise ValueError(reason)


def _model_of(head, rows, n_features):
    """The fitted estimator of a file's fields and support vectors."""
    n = len(rows.leading)
    _require(n == head["total_sv"], f"has {n} support vectors, but total_sv is {head['total_sv']}.")
    name = head["kernel_type"]
    shape = {key: head[key] for key in SHAPES.get(name, ())}
    model = CLASSES[head["svm_type"]](kernel=name, **shape)
    coef, intercepts = np.ascontiguousarray(rows.leading.T), -head["rho"]
    order = np.arange(n)
    if "label" in head:
        model.classes_, places = np.unique(head["label"], return_index=True)
        coef, intercepts, order = reordered(coef, intercepts, head["nr_sv"], places.tolist())
        if len(model.classes_) == 2:
            coef, intercepts = -coef, -intercepts
        model.n_support_ = head["nr_sv"].astype(np.int32)[places]
        model.n_iter_ = np.zeros(len(intercepts), dtype=np.int32)
        model.class_weight_ = np.ones(len(model.classes_))
        model._keep_decomposition()
    else:
        model.n_support_, model.n_iter_ = np.array([n], dtype=np.int32), 0
    model.intercept_ = intercepts
    _keep_vectors(model, rows, coef, order, n_features)
    model.kernel_ = kernel_named(name, model.gamma, model.degree, model.coef0)
    model.converged_, model.fit_status_ = True, 0
    return model


def _keep_vectors(model, rows, coef, order, n_features):
    """Keep support vectors in the new order; a precomputed kernel has only their row numbers."""
    n = len(rows.leading)
    if model.kernel == "precomputed":
        first_only = np.array_equal(np.diff(rows.indptr), np.ones(n)) and not np.any(rows.indices)
        _require(first_only, "a support vector of a precomputed kernel must be 0:number.")
        whole = np.all(rows.values == np.floor(rows.values)) and np.all(rows.values >= 1)
        _require(whole and np.all(rows.values < LARGEST_LABEL), "row numbers must be from 1 on.")
        support = rows.values[order].astype(np.int64) - 1
        found, vectors = int(support.max(initial=-1)) + 1, np.empty((0, 0))
    else:
        _require(not np.any(rows.indices == 0), "the index 0 is for precomputed kernels.")
        found, support = int(rows.indices.max(initial=0)), np.arange(n)
        vectors = rows.matrix(1, found if n_features is None else max(found, n_features))[order]
        coef = sparse.csr_matrix(coef)
    _require(n_features is None or found <= n_features, f"has index {found}, above n_features.")
    width = found if n_features is None else n_features
    n_rows = width if model.kernel == "precomputed" else n
    model.support_, model.dual_coef_ = support.astype(np.int32), coef
    model.support_vectors_, model.n_features_in_ = vectors, width
    model.shape_fit_ = (n_rows, width)
