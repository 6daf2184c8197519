"""Data from files: svmlight and CSV, told apart by name or content.

The text is checked before it becomes numbers, so that every error says `path:line:column: reason`.
"""

import os
import re
from typing import NamedTuple

import numpy as np

from maxmargin.errors import FileError
from maxmargin.files.access import MAX_BYTES, reasons_named, text_of
from maxmargin.files.archive import FIRST_BYTES
from maxmargin.files.blocks import blocks
from maxmargin.files.csv_columns import Wanted
from maxmargin.files.csv_table import read_csv
from maxmargin.files.sparse_text import NUMBER, PAIRS, SparseReader, whole_if_possible

SUFFIXES = {"svmlight": (".svm", ".libsvm", ".svmlight"), "csv": (".csv", ".tsv")}
COMPRESSED = re.compile(r"\.(gz|bz2|xz)$")
QUERY = re.compile(rb"[ \t]++qid:\d++(?![^ \t])")
SVMLIGHT_LINE = re.compile(NUMBER + rb"(?:" + QUERY.pattern + rb")?+" + PAIRS)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
STANDARD_INPUT = "standard input"  # Messages use this name.


class Data(NamedTuple):
    """A table: rows X, the target y, and the names of the columns if there are any.

    X is a CSR matrix from svmlight and a dense array from CSV, of numbers, or of objects if some
    columns are words. Without a target, y is None. `categorical` are the columns of X that are
    words, and `ignored` are columns that a model does not know. `target_position` is that of the
    target among the columns that are used.
    """

    X: object
    y: np.ndarray | None
    feature_names: list[str] | None
    target_name: str | None
    categorical: tuple[int, ...] = ()
    ignored: tuple[str, ...] = ()
    target_position: int | None = None


def read_data(
    path,
    *,
    format="auto",
    target=-1,
    drop=(),
    categorical=(),
    missing="refuse",
    header="auto",
    delimiter="auto",
    n_features=None,
    zero_based="auto",
    max_bytes=MAX_BYTES,
):
    """Read rows and targets from an svmlight or CSV file, plain or compressed (gzip, bzip2, xz).

    Parameters
    ----------
    path : str or path
        "-" is standard input.
    format : {"auto", "svmlight", "csv"}, default="auto"
        "auto" goes by the suffix (.svm, .libsvm, .svmlight; .csv, .tsv) and else by the first line.
    target : str, int or None, default=-1
        The column of a CSV file to predict, by name or position; the last one by default, and with
        None there is no such column. Whole numbers become integers. A target that is not all
        numbers stays text (strings as objects, if one is very long).
    drop : sequence of str or int
        The columns of a CSV file to leave out, whatever is in them.
    categorical : sequence of str or int
        The columns of words of a CSV file, for a OneHotEncoder. X is then an array of objects,
        floats and strings.
    missing : {"refuse", "keep"}, default="refuse"
        Whether a missing value among the features of a CSV file (an empty cell, NA, NaN, null,
        none, ? or a dash; among words none and the dash are words) is an error, or NaN for an
        imputer.
    header : {"auto", True, False}, default="auto"
        Whether the first line of a CSV file has names. "auto" means yes if no feature there is a
        number, and if it counts the columns above other rows: 0,1,2,..., as pandas names them. A
        warning says so where it may be data.
    delimiter : {"auto", ",", ";", tab}, default="auto"
    n_features : int, optional
        The number of columns of an svmlight file, such as that of the training data. Without it,
        the largest index decides.
    zero_based : {"auto", True, False}, default="auto"
        Whether the indices of an svmlight file count from 0. "auto" means yes if the index 0
        occurs; LIBSVM's own files count from 1.
    max_bytes : int, default=4 GiB
        Larger files, and files that unpack to more, are refused.

    Returns
    -------
    data : Data
        It has `X`, `y`, `feature_names` and `target_name`.

    Raises
    ------
    FileError
        `path:line:column: reason`; in CSV the column is counted in cells. Infinity, rows of unequal
        length, and missing values and words that were not asked for are refused.

    Notes
    -----
    In svmlight, comments (#), blank lines and `qid:` are skipped; several labels in a row are not
    supported, and indices must rise and stay below 2**24.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin.files import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "fruit.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("weight,price,kind\\n100,0.5,apple\\n120,0.4,pear\\n")
    ...     data = read_data(path)
    >>> data.y, data.feature_names
    (array(['apple', 'pear'], dtype='<U5'), ['weight', 'price'])
    """
    if missing not in ("refuse", "keep"):
        raise ValueError(f"read_data: missing must be 'refuse' or 'keep', got {missing!r}.")
    asked = Wanted(target, tuple(drop), tuple(categorical), missing == "keep")
    options = {"header": header, "delimiter": delimiter}
    return read_table(path, asked, format, n_features, zero_based, max_bytes, **options)


def read_table(
    path, asked, format="auto", n_features=None, zero_based="auto", max_bytes=MAX_BYTES,
    header="auto", delimiter="auto",
):  # fmt: skip
    """What `read_data` reads, with the columns that `asked` finds in a CSV table."""
    name = name_of(path)
    with reasons_named(name), text_of(path, max_bytes) as file:
        if file.peek(len(FIRST_BYTES)).startswith(FIRST_BYTES):
            raise ValueError("is a model file or another zip, and no table of rows.")
        if format == "auto":
            format = _format_of(path, file)
        lines = _numbered_lines(name, file)
        if format == "csv":
            X, y, columns = read_csv(name, lines, asked, header, delimiter)
            return _data_of(X, y, columns)
        if format != "svmlight":
            raise ValueError(f"format must be 'auto', 'svmlight' or 'csv', got {format!r}.")
        if asked.drop or (isinstance(asked, Wanted) and asked.categorical):
            raise ValueError("is svmlight, not CSV: it has no columns to drop or of words.")
        return _read_svmlight(name, lines, n_features, zero_based)


def name_of(path):
    """What a message calls a path."""
    return STANDARD_INPUT if os.fspath(path) == "-" else path


def _data_of(X, y, columns):
    words = [k for k, position in enumerate(columns.features) if position in columns.words]
    target = None if columns.target is None else columns.named([columns.target])
    return Data(
        X, y, columns.named(columns.features), target and target[0], tuple(words),
        tuple(columns.named(columns.ignored) or ()), columns.target_position,
    )  # fmt: skip


def _format_of(path, file):
    """The format by the suffix, or else by the first line with content."""
    name = COMPRESSED.sub("", str(path).lower())
    for format, suffixes in SUFFIXES.items():
        if name.endswith(suffixes):
            return format
    for line in file.peek(1 << 16)[: 1 << 16].removeprefix(BYTE_ORDER_MARK).splitlines():
        content = line.partition(b"#")[0].strip()
        if content:
            match = SVMLIGHT_LINE.match(content)
            return "svmlight" if match and b":" in content[: match.end()] else "csv"
    return "svmlight"


def _numbered_lines(path, file):
    """(number, line) without the line's end and without a byte order mark."""
    for number, line in enumerate(file, start=1):
        if number == 1:
            if line.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise FileError(f"{path}:1:1: the file is UTF-16; save it as UTF-8.")
            line = line.removeprefix(BYTE_ORDER_MARK)
        yield number, line.rstrip(b"\r\n")


def _read_svmlight(path, lines, n_features, zero_based):
    reader = SparseReader(path, n_leading=1)
    for block in blocks(lines, lambda line: len(line[1])):
        reader.add(*_content_of(block))
    rows = reader.rows()
    if not len(rows.leading):
        raise ValueError("has no rows.")
    if zero_based == "auto":
        zero_based = bool(np.any(rows.indices == 0))
    first = 0 if zero_based else 1
    smallest, largest = rows.indices.min(initial=first), rows.indices.max(initial=first - 1)
    if smallest < first:
        raise ValueError("has the index 0, but zero_based=False says that indices begin at 1.")
    width = int(largest) - first + 1
    if n_features is not None and width > n_features:
        raise ValueError(f"has the index {largest}, beyond n_features={n_features}.")
    X = rows.matrix(first, width if n_features is None else n_features)
    return Data(X, whole_if_possible(rows.leading[:, 0]), None, None)


def _content_of(lines):
    """The lines with content, without comments and query ids, and their numbers."""
    numbers, contents = [], []
    for number, line in lines:
        content = line.partition(b"#")[0]
        if b"qid" in content:
            content = QUERY.sub(lambda found: b" " * len(found.group()), content, count=1)
        if content.strip(b" \t"):
            numbers.append(number)
            contents.append(content)
    return contents, numbers
