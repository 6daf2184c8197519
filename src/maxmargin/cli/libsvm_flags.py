"""LIBSVM's own command lines: options of one letter and a value, `-w-2 5`, and files at the end.

No library parses these, because -h is shrinking and not help, and a label follows -w.
"""

import os
import re

import numpy as np
from scipy import sparse

from maxmargin import files
from maxmargin.cli.messages import UsageError
from maxmargin.errors import FileError

CSV_NAME = re.compile(r"\.[ct]sv(\.(gz|bz2|xz))?$")


def parsed(tool, arguments, kinds, flags=(), counts=None, weights=None):
    """The options by letter and the files after them.

    `kinds` says what each option's value is, `flags` which have none, `counts` which have more
    than one, and `weights` is a dict to be filled from -wLABEL VALUE.
    """
    options, rest = {}, list(arguments)
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        word = rest.pop(0)
        letter = word[1:]
        if letter in flags:
            options[letter] = True
            continue
        n_values = (counts or {}).get(letter, 1)
        values, rest = rest[:n_values], rest[n_values:]
        if len(values) < n_values:
            raise UsageError(f"{tool}: {word} needs {n_values} value{'s' * (n_values > 1)}.")
        if weights is not None and letter[:1] == "w":
            label = _value(tool, word, letter[1:], int)
            weights[label] = _value(tool, word, values[0], float)
        elif letter in kinds:
            found = [_value(tool, word, value, kinds[letter]) for value in values]
            options[letter] = found[0] if n_values == 1 else tuple(found)
        else:
            raise UsageError(f"{tool}: unknown option {word}.")
    return options, rest


def _value(tool, word, text, kind):
    try:
        value = kind(text)
        if kind is float and not np.isfinite(value):
            raise ValueError
    except ValueError:
        what = {int: "a whole number", float: "a number"}[kind]
        raise UsageError(f"{tool}: {word} must be followed by {what}, got {text!r}.") from None
    return value


def files_of(tool, usage, rest, fewest, most):
    """The files of a command, if their number is right."""
    if not fewest <= len(rest) <= most:
        raise UsageError(f"{tool}: usage: {usage}")
    return rest


def read_rows(path):
    """Rows and targets of a file whose indices count from 1, as LIBSVM's do; or of a table with the
    name of a CSV file, so that its features can be scaled for LIBSVM, too."""
    if CSV_NAME.search(os.fspath(path).lower()):
        return _rows_of_csv(path)
    table, y, *_ = files.read_data(path, format="svmlight", zero_based=True)
    if np.any(table.indices == 0):
        raise FileError(f"{path}: has the index 0, and indices begin at 1 in LIBSVM's files.")
    shape = (len(y), max(0, table.shape[1] - 1))
    return sparse.csr_matrix((table.data, table.indices - 1, table.indptr), shape=shape), y


def _rows_of_csv(path):
    data = files.read_data(path, format="csv")
    if data.y.dtype.kind not in "if":
        raise FileError(f"{path}: LIBSVM's labels are numbers, not {str(data.y[0])!r}.")
    return sparse.csr_matrix(data.X), data.y


def evaluation(y, predicted, is_regression, prefix=""):
    """LIBSVM's lines about how good predictions are; cross validation has a `prefix`."""
    tail = "" if prefix else " (regression)"
    if not is_regression:
        hits, n = int(np.sum(predicted == y)), len(y)
        counts = "" if prefix else f" ({hits}/{n}) (classification)"
        return f"{prefix}Accuracy = {100 * hits / n:g}%{counts}\n"
    a, b = predicted - np.mean(predicted), y - np.mean(y)
    with np.errstate(divide="ignore", invalid="ignore"):  # constants give NaN, as in LIBSVM
        squared = np.square(a @ b) / ((a @ a) * (b @ b))
    error = np.mean((predicted - y) ** 2)
    return (
        f"{prefix}Mean squared error = {error:g}{tail}\n"
        f"{prefix}Squared correlation coefficient = {squared:g}{tail}\n"
    )
