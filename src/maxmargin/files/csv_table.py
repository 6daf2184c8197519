"""CSV tables with or without a header: quoted cells, one target column, columns of words where they
are asked for, and numbers everywhere else."""

import re
from itertools import chain, count, islice
from operator import eq

import numpy as np

from maxmargin.errors import warn
from maxmargin.files.blocks import blocks
from maxmargin.files.csv_columns import TARGET_HINT, checked_names
from maxmargin.files.csv_rows import BETWEEN, Row, joined, rows_of
from maxmargin.files.sparse_text import NUMBER, fault, whole_if_possible
from maxmargin.files.texts import text_type

FEW_CELLS = 10  # Data of up to this many cells may count 0, 1, 2, ... by chance.
CELL = re.compile(NUMBER.decode(), re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
PADDED = rf"[ \t]*+{CELL.pattern}[ \t]*+"
CELLS = re.compile(f"{PADDED}(?:{BETWEEN}{PADDED})*+", re.ASCII)
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
MISSING_WORDS = MISSING - {"none", "-"}  # These two may well be categories.
HOLE = re.compile(
    rf"(?<![^{BETWEEN}])[ \t]*+(?:{'|'.join(map(re.escape, sorted(MISSING - {''})))})?[ \t]*+"
    rf"(?![^{BETWEEN}])",
    re.ASCII | re.IGNORECASE,
)
NAN = "nan"  # NumPy reads this word as a hole.
CELLS_OR_HOLES = re.compile(f"(?:{NAN}|{PADDED})(?:{BETWEEN}(?:{NAN}|{PADDED}))*+", re.ASCII)


def read_csv(path, lines, asked, header, delimiter):
    """X, y and the `Columns` of a table; `asked` says which columns these are."""
    rows = rows_of(path, lines, delimiter)
    first = next(rows, None)
    if first is None:
        raise ValueError("has no rows.")
    n_columns = first.n_cells
    if n_columns < 2 and getattr(asked, "target", None) is not None:
        reason = "expected at least a feature and a target, got one column"
        raise fault(path, first.number, 1, reason)
    below = list(islice(rows, 1))
    names, rows = None, chain(below, rows)
    if _is_header(path, first, below, asked, header):
        names = checked_names(path, first)
    else:
        rows = chain([first], rows)
    columns = asked.of(path, names, n_columns)
    X, y = Table(path, columns, n_columns, asked).read(rows)
    return X, y, columns


def _is_header(path, first, below, asked, header):
    """Whether the first line is a header: it has no number in the columns of numbers, so that it
    could not be data; or it counts the columns, as pandas does where they have no names; or it has
    the names that a model knows."""
    if header != "auto":
        return bool(header)
    told = asked.is_header(first)
    if told is not None:
        if told and below and asked.may_be_data and all(map(CELL.fullmatch, first.cells())):
            _say_if_doubtful(path, first, below[0])
        return told
    columns = asked.guess(path, first.n_cells)
    others = {columns.target, *columns.words, *columns.ignored}
    if not any(CELL.fullmatch(cell) for k, cell in enumerate(first.cells()) if k not in others):
        return True
    if not below or not _counts_columns(first, below[0], columns.target):
        return False
    _say_if_doubtful(path, first, below[0])
    return True


def _counts_columns(first, below, position):
    """Whether a line is 0,1,2,...; only the target may have a name, if that cannot be a class."""
    if below.n_cells != first.n_cells:
        return False  # such a table is refused in any case
    if list(islice(first.cells(), 2)) == ["", "0"]:
        return True  # it follows an index, which the error must be about
    if _are(first, count()):
        return True
    if position is None:
        return False
    name, features = first.parted(position)
    is_name = _kind(name) == "word"
    is_no_class = features.n_cells > 2 or _kind(below.parted(position)[0]) != "word"
    renamed, put_between = (k for k in count() if k != position), count()
    return is_name and is_no_class and (_are(features, renamed) or _are(features, put_between))


def _are(row, numbers):
    return all(map(eq, row.cells(), map(str, numbers)))


def _say_if_doubtful(path, first, below):
    """Warn where a line that counts may be data: if it is short, or stands above whole numbers."""
    is_refused = next(first.cells()) == ""  # an index has an error of its own
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


class Table:
    """The rows of a CSV file, read block by block into columns that are known."""

    def __init__(self, path, columns, n_columns, asked):
        self.path, self.columns, self.n_columns, self.asked = path, columns, n_columns, asked
        is_word = np.isin(columns.features, list(columns.words))
        self.numbers, self.words = columns.features[~is_word], columns.features[is_word]
        others = np.arange(n_columns)
        others = others if columns.target is None else np.delete(others, columns.target)
        self.has_target = True  # a row without one changes this
        self.is_plain = np.array_equal(self.numbers, others)  # numbers are all but the target

    def read(self, rows):
        numbers, words, targets = [], [], []
        for block in blocks(rows, lambda row: len(row.text)):
            parted = [self._parted(row) for row in block]
            if self.columns.target is not None:
                targets.append(joined(0, [target for target, _, _ in parted]))
            numbers.append(self._numbers([row for _, row, _ in parted]))
            words.append(self._words([(row.number, words) for _, row, words in parted]))
        if not numbers:
            raise ValueError("has a header but no rows.")
        y = _as_target(targets) if targets and self.has_target else None
        return self._joined(np.concatenate(numbers), words), y

    def _joined(self, numbers, words):
        """The array of all columns: of numbers alone, or of objects if there are words."""
        if not len(self.words):
            return numbers
        X = np.empty((len(numbers), len(self.columns.features)), dtype=object)
        is_word = np.isin(self.columns.features, self.words)
        X[:, ~is_word], X[:, is_word] = numbers, np.concatenate(words)
        return X

    def _parted(self, row):
        """The target of a row, the row of its numbers, and its words. Mostly the numbers are all
        but the target, and then no string is made for every cell."""
        found, position = row.n_cells, self.columns.target
        if found != self.n_columns:
            reason = f"expected {self.n_columns} cells, got {found}"
            raise fault(self.path, row.number, min(found, self.n_columns) + 1, reason)
        words = ()
        if not self.is_plain:
            cells = row.text.split(row.mark)
            target = None if position is None else cells[position].strip()
            words = [cells[k].strip() for k in self.words.tolist()]
            chosen = row.mark.join([cells[k] for k in self.numbers.tolist()])
            row = Row(row.number, chosen, row.mark)
        else:
            target, row = (None, row) if position is None else row.parted(position)
        if target is not None and target.lower() in MISSING:
            self.has_target = False
            if self.asked.needs_target:
                raise self._fault(row.number, position, "missing target", "")
        return target, row, words

    def _words(self, rows):
        """A row of words per row; equal words of a block are one string."""
        words, known = np.empty((len(rows), len(self.words)), dtype=object), {}
        for places, (line, cells) in zip(words, rows, strict=True):
            for k, cell in enumerate(cells):
                is_missing = cell.lower() in MISSING_WORDS
                places[k] = self._hole(line, self.words[k]) if is_missing else cell
                places[k] = known.setdefault(places[k], places[k])
        return words

    def _hole(self, line, position):
        if self.asked.keeps_missing:
            return np.nan
        raise self._fault(line, position, "missing value", self.asked.missing_hint)

    def _numbers(self, block):
        """A row of numbers per row of the block, if one pattern matches all cells first."""
        shape = (len(block), len(self.numbers))
        values = _parsed(block, self.asked.keeps_missing) if len(self.numbers) else np.empty(0)
        if values is not None and values.size == shape[0] * shape[1]:
            are_fine = np.isfinite(values) | (self.asked.keeps_missing & np.isnan(values))
            if np.all(are_fine):
                return values.reshape(shape)
        values = np.empty(shape)
        for row, places in zip(block, values, strict=True):
            for place, cell in enumerate(row.cells()):
                places[place] = self._number(row.number, cell, self.numbers[place])
        return values

    def _number(self, line, cell, position):
        """The number in the cell of a feature, or an error that says what is wrong with it."""
        if CELL.fullmatch(cell) and np.isfinite(float(cell)):
            return float(cell)
        if cell.lower() in MISSING:
            return self._hole(line, position)
        is_target_last = self.columns.target == self.n_columns - 1  # this is the default
        hint = self.asked.word_hint if _is_word(cell) else ""
        if hint and position == 0 and is_target_last and cell[:1].isalpha():
            hint = TARGET_HINT
        raise self._fault(line, position, _complaint(cell), hint)

    def _fault(self, line, position, complaint, hint):
        names = self.columns.names
        named = "" if names is None else f" in {names[position]!r}"
        return fault(self.path, line, position + 1, complaint + named + hint)


def _parsed(rows, keeps_missing=False):
    """The numbers of all cells, or None if there is anything else; holes are NaN where they are
    allowed."""
    text = BETWEEN.join(row.between(BETWEEN) for row in rows)
    pattern = CELLS
    if keeps_missing:
        text, pattern = HOLE.sub(NAN, text), CELLS_OR_HOLES
    return np.fromstring(text.replace(BETWEEN, " "), sep=" ") if pattern.fullmatch(text) else None


def _is_word(cell):
    """Whether a cell may be meant as a word, such as a name or a date, and not as a number."""
    return not CELL.fullmatch(cell) and not CELL.fullmatch(cell.replace(",", "."))


def _complaint(cell):
    if CELL.fullmatch(cell):
        return f"the number {cell[:40]!r} is too large"
    if CELL.fullmatch(cell.replace(",", ".")):
        return f"not a number: {cell[:40]!r}; write a point, not a comma, before decimals"
    return f"not a number: {cell[:40]!r}"


def _as_target(blocks):
    """Numbers if all are numbers, as integers if all are whole; else text."""
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
    """Text as an array; equal texts of a block are one string."""
    n_texts = sum(block.n_cells for block in blocks)
    longest = max(max(map(len, block.cells())) for block in blocks)
    total = sum(len(block.text) for block in blocks)
    texts, end = np.empty(n_texts, dtype=text_type(n_texts, longest, total)), 0
    for block in blocks:
        start, end, known = end, end + block.n_cells, {}
        texts[start:end] = [known.setdefault(text, text) for text in block.cells()]
    return texts
