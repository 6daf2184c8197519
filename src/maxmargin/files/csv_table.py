"""CSV: a header or none, quoted cells, one target column, numbers everywhere else."""

import re
from itertools import chain, count, islice
from operator import eq

import numpy as np

from maxmargin.errors import FileError, warn
from maxmargin.files.blocks import blocks
from maxmargin.files.csv_rows import BETWEEN, joined, rows_of
from maxmargin.files.sparse_text import NUMBER, fault, whole_if_possible
from maxmargin.files.texts import text_type

FEW_CELLS = 10  # data that count up to there by chance are seen now and then
CELL = re.compile(NUMBER.decode(), re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
PADDED = rf"[ \t]*+{CELL.pattern}[ \t]*+"
CELLS = re.compile(f"{PADDED}(?:{BETWEEN}{PADDED})*+", re.ASCII)
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
INDEX_HINT = " (written with pandas' index? index=False leaves it out)"
TARGET_HINT = "; the target is the last column unless --target (target=) names another"


def read_csv(path, lines, target, header, delimiter):
    """X, y, the feature names and the target name."""
    rows = rows_of(path, lines, delimiter)
    first = next(rows, None)
    if first is None:
        raise ValueError("has no rows.")
    n_columns = first.n_cells
    if n_columns < 2:
        reason = "expected at least a feature and a target, got one column"
        raise fault(path, first.number, 1, reason)
    below = list(islice(rows, 1))
    names, rows = None, chain(below, rows)
    if _is_header(path, first, below, target, header):
        names = _checked_names(path, first)
    else:
        rows = chain([first], rows)
    position = _position_of(path, target, names, n_columns)
    X, y = _table(path, rows, n_columns, position, names)
    if names is None:
        return X, y, None, None
    return X, y, names[:position] + names[position + 1 :], names[position]


def _is_header(path, first, below, target, header):
    """A header has no number among the features, as data without any could not be read either; or
    it counts the columns, as pandas does where they have no names."""
    if header != "auto":
        return bool(header)
    if isinstance(target, str):
        return True
    position = _position_of(path, target, None, first.n_cells)
    _, features = first.parted(position)
    if not any(CELL.fullmatch(cell) for cell in features.cells()):
        return True
    if not below or not _counts_columns(first, below[0], position):
        return False
    _say_if_doubtful(path, first, below[0])
    return True


def _counts_columns(first, below, position):
    """Whether a line is 0,1,2,...; only the target may have a name, if that cannot be a class."""
    if below.n_cells != first.n_cells:
        return False  # refused in any case
    if list(islice(first.cells(), 2)) == ["", "0"]:
        return True  # after an index, which a header cannot have: the complaint must be about that
    if _are(first, count()):
        return True
    name, features = first.parted(position)
    is_name = _kind(name) == "word"
    is_no_class = features.n_cells > 2 or _kind(below.parted(position)[0]) != "word"
    renamed, put_between = (k for k in count() if k != position), count()
    return is_name and is_no_class and (_are(features, renamed) or _are(features, put_between))


def _are(row, numbers):
    return all(map(eq, row.cells(), map(str, numbers)))


def _say_if_doubtful(path, first, below):
    """A short line that counts may well be data, and so may a longer one above whole numbers."""
    is_refused = next(first.cells()) == ""  # for its index, and with words of its own
    is_short = first.n_cells < FEW_CELLS
    if not is_refused and (is_short or "real" not in map(_kind, below.cells())):
        warn(
            f"{path}: the first line, {_abridged(first)}, is taken for names of columns; if it is "
            "data, read it with header=False (in Python) or write a line of names above it."
        )


def _abridged(row):
    if row.n_cells <= FEW_CELLS:
        return ",".join(row.cells())
    last, _ = row.parted(row.n_cells - 1)
    return ",".join([*islice(row.cells(), 3), "...", last])


def _kind(cell):
    if not CELL.fullmatch(cell):
        return "word"
    return "whole" if WHOLE.fullmatch(cell) else "real"


def _checked_names(path, row):
    columns = {}
    for column, name in enumerate(row.cells(), start=1):
        if not name:
            hint = INDEX_HINT * (column == 1)
            raise fault(path, row.number, column, "a column has no name" + hint)
        if columns.setdefault(name, column) != column:
            raise fault(path, row.number, column, f"the column name {name!r} is there twice")
    return list(columns)


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
    numbers, targets = [], []
    for block in blocks(rows, lambda row: len(row.text)):
        parted = [_parted(path, row, n_columns, position) for row in block]
        targets.append(joined(0, [target for target, _ in parted]))
        features = [row for _, row in parted]
        numbers.append(_numbers(path, features, n_columns - 1, position, names))
    if not numbers:
        raise ValueError("has a header but no rows.")
    return np.concatenate(numbers), _as_target(targets)


def _parted(path, row, n_columns, position):
    """The target of a row, and the row of its features."""
    found = row.n_cells
    if found != n_columns:
        reason = f"expected {n_columns} cells, got {found}"
        raise fault(path, row.number, min(found, n_columns) + 1, reason)
    target, features = row.parted(position)
    if target.lower() in MISSING:
        raise fault(path, row.number, position + 1, "the target is missing")
    return target, features


def _numbers(path, block, n_cells, position, names):
    """A row of numbers per row of the block; one pattern over all cells first."""
    values = _parsed(block)
    if values is not None and values.size == len(block) * n_cells and np.all(np.isfinite(values)):
        return values.reshape(len(block), n_cells)
    values = np.empty((len(block), n_cells))
    for row, places in zip(block, values, strict=True):
        for place, cell in enumerate(row.cells()):
            places[place] = _number(path, row.number, cell, place, position, names, n_cells)
    return values


def _parsed(rows):
    """The numbers of all cells, or None if there is anything else."""
    text = BETWEEN.join(row.between(BETWEEN) for row in rows)
    return np.fromstring(text.replace(BETWEEN, " "), sep=" ") if CELLS.fullmatch(text) else None


def _number(path, line, cell, place, position, names, n_cells):
    """The number in the cell, which is a feature, or what is wrong with it."""
    if CELL.fullmatch(cell) and np.isfinite(float(cell)):
        return float(cell)
    column = place + 1 + (place >= position)
    named = "" if names is None else f" in {names[column - 1]!r}"
    is_target_last = position == n_cells  # which is how it is unless one says more
    hint = TARGET_HINT if column == 1 and is_target_last and _is_word(cell) else ""
    raise fault(path, line, column, _complaint(cell) + named + hint)


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


def _as_target(blocks):
    """Numbers where all are, whole ones as integers; text otherwise."""
    parsed = []
    for block in blocks:
        parsed.append(_parsed([block]))
        if parsed[-1] is None or len(parsed[-1]) != block.n_cells:
            return _as_text(blocks)
    values = np.concatenate(parsed)
    if not np.all(np.isfinite(values)):
        raise ValueError("has a target that is too large for a number.")
    return whole_if_possible(values)


def _as_text(blocks):
    """Text as an array; equal ones of a block are one string."""
    n_texts = sum(block.n_cells for block in blocks)
    longest = max(max(map(len, block.cells())) for block in blocks)
    total = sum(len(block.text) for block in blocks)
    texts, end = np.empty(n_texts, dtype=text_type(n_texts, longest, total)), 0
    for block in blocks:
        start, end, known = end, end + block.n_cells, {}
        texts[start:end] = [known.setdefault(text, text) for text in block.cells()]
    return texts
