"""The rows of a CSV file, each as one text.

A string for every cell would take thirty times the memory of the file, so cells are cut out one by
one where they are needed.
"""

import csv
from itertools import chain, count, islice
from typing import NamedTuple

from maxmargin.files.sparse_text import fault

DELIMITERS = ("\t", ";", ",")
BETWEEN = "\x1f"  # This separator hardly ever occurs in data.
# A row with quotes may have this many cells, all of which are cut out at once.
MOST_QUOTED_CELLS = 2**20


class Row(NamedTuple):
    """Cells with a mark between them that occurs in none of them; `number` is its last line's."""

    number: int
    text: str
    mark: str

    @property
    def n_cells(self):
        return self.text.count(self.mark) + 1

    def cells(self):
        """The cells, one after the other, without blanks around them."""
        end = -1
        while end < len(self.text):
            start = end + 1
            end = self._end(start)
            yield self.text[start:end].strip()

    def parted(self, position):
        """The cell at a position, and the row without it."""
        start = self._start(position)
        end = self._end(start)
        if position == 0:
            others = self.text[end + 1 :]
        else:
            others = self.text[: start - 1] + self.text[end:]
        return self.text[start:end].strip(), Row(self.number, others, self.mark)

    def between(self, mark):
        """The text with another mark."""
        return self.text.replace(self.mark, mark)

    def _end(self, start):
        """The end of the cell that begins at `start`."""
        end = self.text.find(self.mark, start)
        return len(self.text) if end < 0 else end

    def _start(self, position):
        """The start of a cell, found from the nearer end."""
        n_after = self.n_cells - 1 - position
        if position <= n_after:
            start = 0
            for _ in range(position):
                start = self.text.index(self.mark, start) + 1
            return start
        end = len(self.text)
        for _ in range(n_after + 1):
            end = self.text.rindex(self.mark, 0, end)
        return end + 1


def joined(number, cells):
    """The row of these cells, which may hold any character."""
    used = "".join(cells)
    mark = next(one for one in map(chr, count(ord(BETWEEN))) if one not in used)
    return Row(number, mark.join(cells), mark)


def rows_of(path, lines, delimiter):
    """Every row that is not empty."""
    lines = _decoded(path, lines)
    if delimiter == "auto":
        start = list(islice(lines, 5))
        lines, delimiter = chain(start, lines), _sniffed([line for _, line in start])
    elif delimiter not in DELIMITERS:
        raise ValueError(f"delimiter must be 'auto' or one of {DELIMITERS}, got {delimiter!r}.")
    for number, line in lines:
        if '"' in line or "\r" in line:
            row = _quoted(path, number, line, lines, delimiter)
        else:
            row = Row(number, line, delimiter)
        if row.between("").strip():
            yield row


def _decoded(path, lines):
    for number, line in lines:
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise fault(path, number, error.start + 1, "not UTF-8 text") from error


def _sniffed(lines):
    """The first delimiter that cuts all of the first lines into equally many cells, or the one that
    makes most cells."""
    lines = [line for line in lines if line.strip()]
    counts = {mark: [line.count(mark) for line in lines] for mark in DELIMITERS}
    for mark, found in counts.items():
        if found and found[0] > 0 and len(set(found)) == 1:
            return mark
    return max(DELIMITERS, key=lambda mark: sum(counts[mark]))


def _quoted(path, number, line, lines, delimiter):
    """The row that begins with a line; a quoted cell may go on over the next ones."""
    rest = _not_too_many(path, chain([(number, line)], lines), delimiter)
    reader = csv.reader(rest, delimiter=delimiter, strict=True)
    try:
        cells = next(reader)
    except csv.Error as error:
        raise fault(path, number + reader.line_num - 1, 1, str(error)) from error
    return joined(number + reader.line_num - 1, cells)


def _not_too_many(path, lines, delimiter):
    """The lines of one row for Python's reader, which makes a string of every cell."""
    n_cells = 1
    for number, line in lines:
        n_cells += line.count(delimiter)
        if n_cells > MOST_QUOTED_CELLS:
            reason = f"more than {MOST_QUOTED_CELLS} cells in a row with quotes; leave them out"
            raise fault(path, number, 1, reason)
        yield line + "\n"
