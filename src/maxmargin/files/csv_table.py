"""CSV: a header or none, quoted cells, one target column, numbers everywhere else."""

import csv
import re
from itertools import chain, islice

import numpy as np

from maxmargin.errors import FileError
from maxmargin.files.sparse_text import NUMBER, fault, whole_if_possible

DELIMITERS = ("\t", ";", ",")
BLOCK_ROWS = 10_000
CELL = re.compile(NUMBER.decode(), re.ASCII)
BETWEEN = "\x1f"  # a separator that does not occur in data
CELLS = re.compile(f"{CELL.pattern}(?:{BETWEEN}{CELL.pattern})*+", re.ASCII)
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}


def read_csv(path, lines, target, header, delimiter):
    """X, y, the feature names and the target name."""
    rows = _rows(path, lines, delimiter)
    first = next(rows, None)
    if first is None:
        raise ValueError("has no rows.")
    number, cells = first
    if len(cells) < 2:
        raise fault(path, number, 1, "expected at least a feature and a target, got one column")
    names = None
    if _is_header(cells, target, header):
        names = _checked_names(path, number, cells)
    else:
        rows = chain([first], rows)
    position = _position_of(path, target, names, len(cells))
    X, y = _table(path, rows, len(cells), position, names)
    if names is None:
        return X, y, None, None
    return X, y, names[:position] + names[position + 1 :], names[position]


def _rows(path, lines, delimiter):
    """(line number, cells without blanks around them) of every row that is not empty."""
    text = _decoded(path, lines)
    start = list(islice(text, 5))
    if delimiter == "auto":
        delimiter = _sniffed([line for _, line in start])
    elif delimiter not in DELIMITERS:
        raise ValueError(f"delimiter must be 'auto' or one of {DELIMITERS}, got {delimiter!r}.")
    reader = csv.reader(
        (line + "\n" for _, line in chain(start, text)), delimiter=delimiter, strict=True
    )
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise fault(path, reader.line_num, 1, str(error)) from error
        if any(cell.strip() for cell in cells):
            yield reader.line_num, [cell.strip() for cell in cells]


def _decoded(path, lines):
    for number, line in lines:
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise fault(path, number, error.start + 1, "not UTF-8 text") from error


def _sniffed(lines):
    """The first delimiter that cuts all of the first lines into equally many cells, or the one
    that cuts most."""
    lines = [line for line in lines if line.strip()]
    counts = {mark: [line.count(mark) for line in lines] for mark in DELIMITERS}
    for mark, found in counts.items():
        if found and found[0] > 0 and len(set(found)) == 1:
            return mark
    return max(DELIMITERS, key=lambda mark: sum(counts[mark]))


def _is_header(cells, target, header):
    """A header has no number among the features; data without any could not be read either."""
    if header != "auto":
        return bool(header)
    if isinstance(target, str):
        return True
    features = list(cells)
    if -len(cells) <= target < len(cells):
        features.pop(target)
    return not any(CELL.fullmatch(cell) for cell in features)


def _checked_names(path, number, cells):
    for column, name in enumerate(cells, start=1):
        if not name:
            raise fault(path, number, column, "a column has no name")
        if name in cells[: column - 1]:
            raise fault(path, number, column, f"the column name {name!r} is there twice")
    return cells


def _position_of(path, target, names, n_columns):
    if isinstance(target, str):
        if names is None or target not in names:
            raise FileError(f"{path}: has no column named {target!r}.")
        return names.index(target)
    if not -n_columns <= target < n_columns:
        raise FileError(f"{path}: has {n_columns} columns, and target={target} is none of them.")
    return target % n_columns


def _table(path, rows, n_columns, position, names):
    """Features as numbers, block by block, and the target."""
    blocks, targets = [], []
    while block := list(islice(rows, BLOCK_ROWS)):
        for number, cells in block:
            if len(cells) != n_columns:
                reason = f"expected {n_columns} cells, got {len(cells)}"
                raise fault(path, number, min(len(cells), n_columns) + 1, reason)
            target = cells.pop(position)
            if target.lower() in MISSING:
                raise fault(path, number, position + 1, "the target is missing")
            targets.append(target)
        blocks.append(_numbers(path, block, n_columns - 1, position, names))
    if not blocks:
        raise ValueError("has a header but no rows.")
    return np.concatenate(blocks), _as_target(targets)


def _numbers(path, block, n_cells, position, names):
    """A row of numbers per row of the block; one pattern over all cells first."""
    text = BETWEEN.join(BETWEEN.join(cells) for _, cells in block)
    if CELLS.fullmatch(text):
        values = np.fromstring(text.replace(BETWEEN, " "), sep=" ")
        if values.size == len(block) * n_cells and np.all(np.isfinite(values)):
            return values.reshape(len(block), n_cells)
    for number, cells in block:
        for place, cell in enumerate(cells):
            if not CELL.fullmatch(cell) or not np.isfinite(float(cell)):
                column = place + 1 + (place >= position)
                named = "" if names is None else f" in {names[column - 1]!r}"
                raise fault(path, number, column, _complaint(cell) + named)
    raise ValueError("has a cell that cannot be read.")


def _complaint(cell):
    if cell.lower() in MISSING:
        return "missing value"
    if CELL.fullmatch(cell):
        return f"the number {cell[:40]!r} is too large"
    if CELL.fullmatch(cell.replace(",", ".")):
        return f"not a number: {cell[:40]!r}; write a point, not a comma, before decimals"
    return f"not a number: {cell[:40]!r}"


def _as_target(cells):
    """Numbers where all are, whole ones as integers; text otherwise."""
    if all(CELL.fullmatch(cell) for cell in cells):
        values = np.array(cells, dtype=np.float64)
        if not np.all(np.isfinite(values)):
            raise ValueError("has a target that is too large for a number.")
        return whole_if_possible(values)
    return np.array(cells)
