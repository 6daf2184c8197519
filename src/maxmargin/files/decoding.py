"""Values back from JSON and named arrays: what `encoding` wrote, and nothing else.

Whatever the document holds, decoding gives plain values, arrays and objects from closed lists, or
raises ValueError. `schema` checks whether they make a model.
"""

from dataclasses import fields
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from maxmargin import solvers
from maxmargin.files import rules
from maxmargin.files.encoding import ADDED_COLUMNS, LARGEST_WHOLE, SOLVERS
from maxmargin.files.estimators_as_json import estimator_from_json, step_named
from maxmargin.files.kernels_as_json import kernel_from_json
from maxmargin.problems.certificate import NAMES, Certificate


class Decoder:
    """Decodes what an Encoder made; every array is used exactly once."""

    def __init__(self, arrays):
        self.arrays = dict(arrays)

    def decode(self, value):
        if isinstance(value, list):
            return [self.decode(one) for one in value]
        if isinstance(value, float) and not np.isfinite(value):
            raise ValueError("a number is too large.")
        if isinstance(value, int) and abs(value) >= LARGEST_WHOLE:
            raise ValueError("a whole number is too large.")
        if not isinstance(value, dict):
            return value
        if len(value) != 1 or next(iter(value)) not in DECODERS:
            raise ValueError(f"unknown kind of value {str(list(value))[:100]}.")
        tag, content = next(iter(value.items()))
        return DECODERS[tag](self, content)

    def check_all_used(self):
        if self.arrays:
            raise ValueError(f"unknown member {next(iter(self.arrays))}.npy.")

    def _take(self, name):
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(f"member {str(name)[:100]}.npy is missing or used twice.")
        return self.arrays.pop(name)

    def _float(self, word):
        if word not in ("inf", "-inf", "nan"):
            raise ValueError(f"unknown number {str(word)[:100]!r}.")
        return float(word)

    def _tuple(self, content):
        return tuple(self.decode(_list(content, None, "a tuple")))

    def _objects(self, name):
        text = self._take(name)
        if text.dtype.kind != "U":
            raise ValueError(f"{name} must be text.")
        return text.astype(object)

    def _texts(self, name):
        return self._strings(name, lambda one: one.decode("utf-8", "surrogatepass"))

    def _bytes(self, name):
        return self._strings(name, bytes)

    def _strings(self, name, string_of):
        """Objects that follow one another in the content, up to where each ends."""
        content, ends = (self._take(f"{name}.{part}") for part in ("content", "ends"))
        fits = (content.dtype, ends.dtype, content.ndim, ends.ndim) == (np.uint8, np.int64, 1, 1)
        if not fits or not _are_ends(ends, len(content)):
            raise ValueError(f"the parts of {name} do not fit each other.")
        content, strings = content.tobytes(), np.empty(len(ends), dtype=object)
        for k, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
            strings[k] = string_of(content[start:end])
        return strings

    def _parts(self, content):
        """Arrays that follow one another in one array, up to where each ends."""
        whole, name = _list(content, 2, "arrays in one")
        whole, ends = self.decode(whole), self._take(name)
        is_row = isinstance(whole, np.ndarray) and whole.ndim == 1 and ends.ndim == 1
        if not is_row or ends.dtype != np.int64 or not _are_ends(ends, len(whole)):
            raise ValueError(f"{name} does not say where arrays end.")
        return np.split(whole, ends[:-1])

    def _csr_matrix(self, content):
        return sparse.csr_matrix(self._csr_array(content))

    def _csr_array(self, content):
        name, shape = _list(content, 2, "a sparse matrix")
        shape = tuple(_list(shape, 2, "the shape of a sparse matrix"))
        if not all(_is_count(length) for length in shape):
            raise ValueError(f"{name} has the impossible shape {shape}.")
        data, indices, indptr = (
            self._take(f"{name}.{part}") for part in ("data", "indices", "indptr")
        )
        _check_parts(name, data, indices, indptr, shape)
        return sparse.csr_array((data, indices, indptr), shape=shape)

    def _map(self, content):
        pairs = [_list(pair, 2, "an entry of a map") for pair in _list(content, None, "a map")]
        keys = [self.decode(key) for key, _ in pairs]
        if not all(isinstance(key, (str, int, float)) for key in keys):
            raise ValueError("a key of a map must be text or a number.")
        return dict(zip(keys, (self.decode(one) for _, one in pairs), strict=True))

    def _solver(self, content):
        name, options = _list(content, 2, "a solver")
        options = self.decode(options)
        if not isinstance(name, str) or name not in SOLVERS or not isinstance(options, dict):
            raise ValueError(f"unknown solver {str(name)[:100]!r}.")
        solver = solvers.solver_named(SOLVERS[name])
        if set(options) != {field.name for field in fields(solver)}:
            raise ValueError(f"the options of {name} are not those it has.")
        return solver(**options)

    def _certificate(self, name):
        rows = self._take(name)
        is_table = rows.dtype == np.float64 and rows.ndim == 2 and len(rows) > 0
        n_columns = len(NAMES)
        if not is_table or rows.shape[1] not in (n_columns, n_columns - len(ADDED_COLUMNS)):
            raise ValueError(f"{name} must be a table of {n_columns} columns.")
        whole, *parts = (_certificate_of(row) for row in rows.tolist())
        return Certificate(**whole, parts=tuple(Certificate(**part) for part in parts))

    def _estimator(self, content):
        if not isinstance(content, dict) or set(content) != {"class", "parameters", "attributes"}:
            raise ValueError("a step must have a class, parameters and attributes.")
        return estimator_from_json(self, content, step_named)

    def _pipeline(self, content):
        model = Pipeline(self.decode(_list(content, None, "the steps of columns")))
        rules.column_pipeline(model)
        return model

    def _iterates(self, name):
        from maxmargin.solvers.gradient_descent import Iterate  # this loads compiled loops

        w, mean, counts = (self._take(f"{name}.{part}") for part in ("w", "mean", "counts"))
        fits = w.dtype == mean.dtype == np.float64 and counts.dtype == np.int64 and w.ndim == 2
        if not fits or w.shape != mean.shape or counts.shape != (len(w), 2) or np.any(counts < 0):
            raise ValueError(f"the parts of {name} do not fit each other.")
        return [
            Iterate(*one, int(t), int(n_epochs))
            for *one, (t, n_epochs) in zip(w, mean, counts, strict=True)
        ]


DECODERS = {
    "float": Decoder._float,
    "tuple": Decoder._tuple,
    "array": Decoder._take,
    "objects": Decoder._objects,
    "texts": Decoder._texts,
    "bytes": Decoder._bytes,
    "map": Decoder._map,
    "kernel": lambda decoder, content: kernel_from_json(content),
    "solver": Decoder._solver,
    "certificate": Decoder._certificate,
    "estimator": Decoder._estimator,
    "parts": Decoder._parts,
    "pipeline": Decoder._pipeline,
    "iterates": Decoder._iterates,
    "csr_matrix": Decoder._csr_matrix,
    "csr_array": Decoder._csr_array,
}


def _list(content, length, what):
    if not isinstance(content, list) or (length is not None and len(content) != length):
        raise ValueError(f"{what} must be a list of the right length.")
    return content


def _are_ends(ends, total):
    """Whether they rise from 0 or more to the total; there may be none if that is zero."""
    bounds = np.concatenate([[0], ends])
    return not np.any(bounds[1:] < bounds[:-1]) and bounds[-1] == total


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_WHOLE


def _check_parts(name, data, indices, indptr, shape):
    """Refuse CSR parts that SciPy, or code that trusts them, could read past their end."""
    whole = indices.dtype == indptr.dtype and indices.dtype in (np.int32, np.int64)
    if not whole or {data.ndim, indices.ndim, indptr.ndim} != {1} or len(data) != len(indices):
        raise ValueError(f"the parts of {name} do not fit each other.")
    rises = len(indptr) == shape[0] + 1 and indptr[0] == 0 and indptr[-1] == len(indices)
    if not rises or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"{name}.indptr must rise from 0 to the number of values.")
    if len(indices) and (indices.min() < 0 or indices.max() >= shape[1]):
        raise ValueError(f"{name}.indices must lie between 0 and {shape[1] - 1}.")
    steps = np.diff(indices)
    inner = np.ones(len(steps), dtype=bool)
    inner[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < len(indices))] - 1] = False
    if np.any(steps[inner] <= 0):
        raise ValueError(f"{name}.indices must rise within every row.")


def _certificate_of(row):
    """The fields of one certificate, with counts and flags as such."""
    values = dict(zip(NAMES, row, strict=False))
    for name in ("n_zero", "n_free", "n_bound"):
        if not (0 <= values[name] < 2**53 and values[name].is_integer()):
            raise ValueError(f"{name} of a certificate must be a count, not {values[name]}.")
        values[name] = int(values[name])
    for name in ("recomputed", "by_gap"):
        if values[name] not in (0.0, 1.0):
            raise ValueError(f"{name} of a certificate must be 0 or 1, not {values[name]}.")
        values[name] = bool(values[name])
    values["mercer"] = _known_of(values.get("mercer", 1.0 if values["by_gap"] else np.nan))
    return values


def _known_of(value):
    """True, False, or None where it is not known."""
    if not (np.isnan(value) or value in (0.0, 1.0)):
        raise ValueError(f"mercer of a certificate must be 0, 1 or NaN, not {value}.")
    return None if np.isnan(value) else bool(value)
