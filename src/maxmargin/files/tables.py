"""Data from files: svmlight and CSV, told apart by name or content.

The text is checked before it becomes numbers, so that every error says `path:line:column: reason`.
"""

import re
from typing import NamedTuple

import numpy as np

from maxmargin.errors import FileError
from maxmargin.files.access import MAX_BYTES, reasons_named, text_of
from maxmargin.files.blocks import blocks
from maxmargin.files.csv_table import read_csv
from maxmargin.files.sparse_text import NUMBER, PAIRS, SparseReader, whole_if_possible

SUFFIXES = {
    "svmlight": (".svm", ".libsvm", ".svmlight"),
    "csv": (".csv", ".tsv"),
}
COMPRESSED = re.compile(r"\.(gz|bz2|xz)$")
QUERY = re.compile(rb"[ \t]++qid:\d++(?![^ \t])")
SVMLIGHT_LINE = re.compile(NUMBER + rb"(?:" + QUERY.pattern + rb")?+" + PAIRS)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Data(NamedTuple):
    """A table: rows X, what is to be predicted, and the names of the columns where there are any.

    X is a dense array from CSV and a CSR matrix from svmlight.
    """

    X: object
    y: np.ndarray
    feature_names: list[str] | None
    target_name: str | None


def read_data(
    path,
    *,
    format="auto",
    target=-1,
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
    format : {"auto", "svmlight", "csv"}, default="auto"
        "auto" goes by the suffix (.svm, .libsvm, .svmlight; .csv, .tsv) and else by the first line.
    target : str or int, default=-1
        CSV: the column to predict, by name or position; the last one by default. Whole numbers
        become integers, and what is not all numbers stays text (strings as objects, where one is
        so long that an array with its room for each would not be reasonable).
    header : {"auto", True, False}, default="auto"
        CSV: whether the first line has names. "auto" says yes when no feature there is a number,
        and when it counts the columns above other rows: 0,1,2,..., as pandas names them. A warning
        says so where it may be data.
    delimiter : {"auto", ",", ";", tab}, default="auto"
    n_features : int, optional
        svmlight: the number of columns, such as that of the training data. Without it, as many as
        the largest index asks for.
    zero_based : {"auto", True, False}, default="auto"
        svmlight: whether indices count from 0. "auto" says yes when the index 0 occurs; LIBSVM's
        own files count from 1.
    max_bytes : int, default=4 GiB
        Larger files, and files that unpack to more, are refused.

    Returns
    -------
    data : Data
        With `X`, `y`, `feature_names` and `target_name`.

    Raises
    ------
    FileError
        `path:line:column: reason`; in CSV the column is counted in cells. Missing values, NaN,
        infinity, rows of unequal length and words among the features are refused.

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
    with reasons_named(path), text_of(path, max_bytes) as file:
        if format == "auto":
            format = _format_of(path, file)
        lines = _numbered_lines(path, file)
        if format == "csv":
            return Data(*read_csv(path, lines, target, header, delimiter))
        if format != "svmlight":
            raise ValueError(f"format must be 'auto', 'svmlight' or 'csv', got {format!r}.")
        return _read_svmlight(path, lines, n_features, zero_based)


def _format_of(path, file):
    """By the suffix, else by the first line that says something."""
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
    """The lines with content, comments and query ids blanked out, and their numbers."""
    numbers, contents = [], []
    for number, line in lines:
        content = line.partition(b"#")[0]
        if b"qid" in content:
            content = QUERY.sub(lambda found: b" " * len(found.group()), content, count=1)
        if content.strip(b" \t"):
            numbers.append(number)
            contents.append(content)
    return contents, numbers
