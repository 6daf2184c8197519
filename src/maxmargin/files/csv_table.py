"""CSV: a header or none, quoted cells, one target column, numbers everywhere else."""

import csv
import re
from itertools import chain, islice

import numpy as np

from maxmargin.errors import FileError, warn
from maxmargin.files.sparse_text import NUMBER, fault, whole_if_possible

DELIMITERS = ("\t", ";", ",")
BLOCK_ROWS = 10_000
FEW_CELLS = 10  # data that count up to there by chance are seen now and then
CELL = re.compile(NUMBER.decode(), re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
BETWEEN = "\x1f"  # a separator that does not occur in data
CELLS = re.compile(f"{CELL.pattern}(?:{BETWEEN}{CELL.pattern})*+", re.ASCII)
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
INDEX_HINT = " (written with pandas' index? index=False leaves it out)"
TARGET_HINT = "; the target is the last column unless --target (target=) names another"


def read_csv(path, lines, target, header, delimiter):
    """X, y, the feature names and the target name."""
    rows = _rows(path, lines, delimiter)
    first = next(rows, None)
    if first is None:
        raise ValueError("has no rows.")
    number, cells = first
    if len(cells) < 2:
        raise fault(path, number, 1, "expected at least a feature and a target, got one column")
    below = list(islice(rows, 1))
    names, rows = None, chain(below, rows)
    if _is_header(path, cells, below, target, header):
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


def _is_header(path, cells, below, target, header):
    """A header has no number among the features, as data without any could not be read either; or
    it counts the columns, as pandas does where they have no names."""
    if header != "auto":
        return bool(header)
    if isinstance(target, str):
        return True
    position = _position_of(path, target, None, len(cells))
    features = cells[:position] + cells[position + 1 :]
    if not any(CELL.fullmatch(cell) for cell in features):
        return True
    if not below or not _counts_columns(cells, below[0][1], position):
        return False
    _say_if_doubtful(path, cells, below[0][1])
    return True


def _counts_columns(cells, below, position):
    """Whether a line is 0,1,2,...; only the target may have a name, if that cannot be a class."""
    if len(below) != len(cells):
        return False  # refused in any case
    if cells[:2] == ["", "0"]:
        return True  # after an index, which a header cannot have: the complaint must be about that
    counted = [str(k) for k in range(len(cells))]
    if cells == counted:
        return True
    features = cells[:position] + cells[position + 1 :]
    is_name = _kind(cells[position]) == "word"
    is_no_class = len(features) > 2 or _kind(below[position]) != "word"
    renamed, put_between = counted[:position] + counted[position + 1 :], counted[:-1]
    return is_name and is_no_class and features in (renamed, put_between)


def _say_if_doubtful(path, cells, below):
    """A short line that counts may well be data, and so may a longer one above whole numbers."""
    is_refused = cells[0] == ""  # for its index, and with words of its own
    if not is_refused and (len(cells) < FEW_CELLS or "real" not in map(_kind, below)):
        warn(
            f"{path}: the first line, {_abridged(cells)}, is taken for names of columns; if it is "
            "data, read it with header=False (in Python) or write a line of names above it."
        )


def _abridged(cells):
    return ",".join(cells if len(cells) <= FEW_CELLS else [*cells[:3], "...", cells[-1]])


def _kind(cell):
    if not CELL.fullmatch(cell):
        return "word"
    return "whole" if WHOLE.fullmatch(cell) else "real"


def _checked_names(path, number, cells):
    for column, name in enumerate(cells, start=1):
        if not name:
            raise fault(path, number, column, "a column has no name" + INDEX_HINT * (column == 1))
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
                is_target_last = position == n_cells  # which is how it is unless one says more
                hint = TARGET_HINT if column == 1 and is_target_last and _is_word(cell) else ""
                raise fault(path, number, column, _complaint(cell) + named + hint)
    raise ValueError("has a cell that cannot be read.")


def _is_word(cell):
    return cell[:1].isalpha() and cell.lower() not in MISSING


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
