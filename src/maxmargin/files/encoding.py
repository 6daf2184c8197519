"""Python values as JSON and named arrays; `decoding` is the inverse.

What JSON has (None, True, numbers, text, lists) stands for itself. Anything else is an object with
one key, its tag. The list of tags is closed, and no tag names code.
"""

import numbers
from dataclasses import fields

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from maxmargin import solvers
from maxmargin.files.estimators_as_json import estimator_to_json, step_named
from maxmargin.files.kernels_as_json import kernel_to_json
from maxmargin.files.learned import LEARNED
from maxmargin.files.texts import text_type
from maxmargin.kernels import Kernel
from maxmargin.problems.certificate import NAMES, Certificate
from maxmargin.solvers.base import Solver

ADDED_COLUMNS = ("rounding", "mercer", "largest_gap")  # Files of format 1 do not hold these.
SOLVERS = {solvers._CLASSES[name]: name for name in solvers.NAMES}
LARGEST_WHOLE = 2**63  # Not every reader of JSON can read a larger number exactly.
STRINGS = {str: "texts", bytes: "bytes"}


class Encoder:
    """Collects the arrays of the values it encodes, and the first format that has all it uses."""

    def __init__(self):
        self.arrays, self.version = {}, 1

    def encode(self, name, value):
        """The JSON of a value; its arrays are kept under `name`."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, numbers.Integral) and abs(int(value)) < LARGEST_WHOLE:
            return int(value)
        if isinstance(value, float):
            return value if np.isfinite(value) else {"float": str(value)}
        if isinstance(value, (list, tuple)):
            return self._sequence(name, value)
        for kind, encode in ENCODERS.items():
            if isinstance(value, kind):
                return encode(self, name, value)
        if step_named(type(value).__name__) is type(value):
            return self._estimator(name, value)
        raise ValueError(f"{name} is {value!r}, and a file cannot hold a {type(value).__name__}.")

    def _sequence(self, name, value):
        if value and type(value[0]).__name__ == "Iterate":  # its module loads compiled loops
            return self._iterates(name, value)
        if isinstance(value, list) and value and all(isinstance(one, np.ndarray) for one in value):
            return self._parts(name, value)
        encoded = [self.encode(f"{name}.{k}", one) for k, one in enumerate(value)]
        return encoded if isinstance(value, list) else {"tuple": encoded}

    def _parts(self, name, arrays):
        """Several arrays as one, and where each ends, because a member for every column of a wide
        table would be too many."""
        whole = self.encode(name, np.concatenate([np.ravel(one) for one in arrays]))
        ends = np.cumsum([one.size for one in arrays], dtype=np.int64)
        return self._of_format(4, {"parts": [whole, self._keep(f"{name}.parts", ends)]})

    def _keep(self, name, array):
        self.arrays[name] = array
        return name

    def needs_format(self, version):
        self.version = max(version, self.version)

    def _of_format(self, version, encoded):
        self.needs_format(version)
        return encoded

    def _array(self, name, array):
        if array.dtype.kind == "S":
            return self._of_format(2, {"array": self._keep(name, array)})
        if array.dtype.kind != "O":
            return {"array": self._keep(name, array)}
        kinds = set(map(type, array.flat)) or {str}
        if array.ndim != 1 or len(kinds) != 1 or not kinds <= STRINGS.keys():
            raise ValueError(f"{name} holds objects that are not text, and a file cannot.")
        return self._strings(name, array, kinds.pop())

    def _strings(self, name, array, kind):
        """Text in an array of fixed width if that is not wasteful, else as strings in a row."""
        if kind is str and (text := _fixed_width(array)) is not None:
            return {"objects": self._keep(name, text)}
        content = [one.encode("utf-8", "surrogatepass") if kind is str else one for one in array]
        self._keep(f"{name}.content", np.frombuffer(b"".join(content), dtype=np.uint8))
        self._keep(f"{name}.ends", np.cumsum([len(one) for one in content], dtype=np.int64))
        return self._of_format(2, {STRINGS[kind]: name})

    def _sparse(self, name, matrix):
        tag = "csr_matrix" if isinstance(matrix, sparse.spmatrix) else "csr_array"
        if matrix.format != "csr":
            raise ValueError(f"{name} is a sparse matrix in {matrix.format} form, not in CSR.")
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        for part in ("data", "indices", "indptr"):
            self._keep(f"{name}.{part}", getattr(matrix, part))
        return {tag: [name, list(matrix.shape)]}

    def _map(self, name, value):
        if not all(isinstance(key, (str, numbers.Real)) for key in value):
            raise ValueError(f"{name} has a key that is neither text nor a number.")
        pairs = [[self.encode(name, key), self.encode(name, one)] for key, one in value.items()]
        return {"map": pairs}

    def _solver(self, name, solver):
        options = {field.name: getattr(solver, field.name) for field in fields(solver)}
        if SOLVERS.get(type(solver).__name__) is None:
            raise ValueError(f"{name} is {solver!r}, a class that the format does not know.")
        return {"solver": [type(solver).__name__, self._map(name, options)]}

    def _certificate(self, name, proof):
        rows = [[getattr(one, column) for column in NAMES]
                for one in (proof, *proof.parts)]  # fmt: skip
        numbers = [[np.nan if value is None else value for value in row] for row in rows]
        table = self._keep(name, np.array(numbers, dtype=np.float64))
        return self._of_format(2, {"certificate": table})

    def _estimator(self, name, estimator):
        self.needs_format(4 if type(estimator) in LEARNED else 3)
        return {"estimator": estimator_to_json(self, estimator, f"{name}.")}

    def _pipeline(self, name, pipeline):
        """The steps that some columns of a table go through."""
        return self._of_format(4, {"pipeline": self._sequence(name, pipeline.steps)})

    def _iterates(self, name, iterates):
        """Where gradient descent stands, with all problems side by side."""
        self._keep(f"{name}.w", np.array([one.w for one in iterates]))
        self._keep(f"{name}.mean", np.array([one.mean for one in iterates]))
        counts = [[one.t, one.n_epochs] for one in iterates]
        self._keep(f"{name}.counts", np.array(counts, dtype=np.int64))
        return {"iterates": name}


def _fixed_width(array):
    """Text as NumPy's type, or None where that would be wasteful or lose a zero at the end."""
    lengths = [len(one) for one in array]
    if text_type(len(array), max(lengths, default=0), sum(lengths)) is object:
        return None
    text = array.astype(str)
    return text if np.array_equal(text.astype(object), array) else None


ENCODERS = {
    np.ndarray: Encoder._array,
    sparse.spmatrix: Encoder._sparse,
    sparse.sparray: Encoder._sparse,
    dict: Encoder._map,
    Kernel: lambda encoder, name, kernel: {"kernel": kernel_to_json(kernel)},
    Solver: Encoder._solver,
    Certificate: Encoder._certificate,
    Pipeline: Encoder._pipeline,
}
