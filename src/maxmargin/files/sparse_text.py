"""Lines of `number number ... index:value index:value ...`, as in svmlight data and LIBSVM's
support vectors.

Each line is first matched against one pattern, without backtracking, whose end is the column of the
first mistake. Only then are its numbers read, all lines of a block at once.
"""

import re
from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.errors import FileError

NUMBER = rb"[-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+"
PAIRS = rb"(?:[ \t]++\d++:" + NUMBER + rb")*+[ \t]*+"
# A larger index counts as a mistake, because so wide a table would fill the memory.
LARGEST_INDEX = 2**24
TAKES_NO = {b"nan": "NaN", b"inf": "infinity", b"\x00": "a NUL byte (is it UTF-16?)"}


class SparseRows(NamedTuple):
    """The numbers before the pairs, a row per line, and the pairs as CSR arrays."""

    leading: np.ndarray
    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    def matrix(self, first_index, n_features):
        """The CSR matrix of the pairs, whose indices count from `first_index`."""
        parts = (self.values, self.indices - np.int32(first_index), self.indptr)
        return sparse.csr_matrix(parts, shape=(len(self.leading), n_features))


class SparseReader:
    """Takes numbered lines in blocks and gives all their rows at the end."""

    def __init__(self, path, n_leading):
        more = rb"(?:[ \t]++" + NUMBER + rb"(?!:)){%d}" % (n_leading - 1)
        self.path, self.n_leading = path, n_leading
        self.pattern = re.compile(rb"[ \t]*+" + NUMBER + more + PAIRS)
        self.blocks = []

    def add(self, lines, positions):
        """Read lines (without their ends); `positions` are their numbers in the file."""
        for line, position in zip(lines, positions, strict=True):
            match = self.pattern.match(line)
            if match is None or match.end() != len(line):
                self._refuse(line, position, 0 if match is None else match.end())
        n_pairs = np.array([line.count(b":") for line in lines], dtype=np.intp)
        numbers = np.fromstring(b" ".join(lines).replace(b":", b" "), sep=" ")
        ends = np.cumsum(self.n_leading + 2 * n_pairs)
        is_leading = np.zeros(len(numbers), dtype=bool)
        starts = ends - self.n_leading - 2 * n_pairs
        is_leading[(starts[:, None] + np.arange(self.n_leading)).ravel()] = True
        pairs = numbers[~is_leading].reshape(-1, 2)
        indptr = np.concatenate([[0], np.cumsum(n_pairs)])
        leading = numbers[is_leading].reshape(len(lines), self.n_leading)
        self._check(lines, positions, leading, pairs, indptr)
        indices, values = pairs[:, 0].astype(np.int32), pairs[:, 1].copy()
        self.blocks.append(SparseRows(leading, values, indices, indptr))

    def rows(self):
        """All rows read so far."""
        if not self.blocks:
            return SparseRows(
                np.empty((0, self.n_leading)), np.empty(0), np.empty(0, np.int32), np.zeros(1, int)
            )
        leading, values, indices, indptrs = zip(*self.blocks, strict=True)
        lengths = np.concatenate([np.diff(indptr) for indptr in indptrs])
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        parts = (np.concatenate(part) for part in (leading, values, indices))
        return SparseRows(*parts, indptr)

    def _check(self, lines, positions, leading, pairs, indptr):
        """Refuse numbers that are not finite, and indices that do not rise or are too large."""
        rows = np.repeat(np.arange(len(lines)), np.diff(indptr))
        falls = np.zeros(len(pairs), dtype=bool)
        falls[1:] = (pairs[1:, 0] <= pairs[:-1, 0]) & (rows[1:] == rows[:-1])
        faults = {
            "the value is too large for a number": ~np.isfinite(pairs[:, 1]),
            f"the index is above {LARGEST_INDEX}": pairs[:, 0] > LARGEST_INDEX,
            "the index is not above the one before it": falls,
        }
        for reason, is_bad in faults.items():
            for k in np.flatnonzero(is_bad)[:1]:
                row = rows[k]
                colons = [m.start() for m in re.finditer(b":", lines[row])]
                before = lines[row][: colons[k - indptr[row]]]
                column = max(before.rfind(b" "), before.rfind(b"\t")) + 2
                raise fault(self.path, positions[row], column, reason)
        for row in np.flatnonzero(~np.all(np.isfinite(leading), axis=1))[:1]:
            raise fault(self.path, positions[row], 1, "a number at the start is too large")

    def _refuse(self, line, position, end):
        """Raise an error that says what stands where the pattern ends."""
        rest = line[end:].lstrip(b" \t")
        column = len(line) - len(rest) + 1
        word = re.split(rb"[ \t]", rest, maxsplit=1)[0]
        for bad, name in TAKES_NO.items():
            if bad in word[:100].lower():
                raise fault(self.path, position, column, f"{name} is not allowed")
        wanted = "index:value" if end else "a number"
        shown = word[:40].decode("utf-8", "backslashreplace")
        raise fault(self.path, position, column, f"expected {wanted}, got {shown!r}")


def whole_if_possible(values):
    """The values, as integers if all are whole, so that labels are 1 and -1, not 1.0 and -1.0."""
    is_whole = np.all(values == np.floor(values)) and np.all(np.abs(values) < 2**53)
    return values.astype(np.int64) if is_whole else values


def fault(path, line, column, reason):
    return FileError(f"{path}:{line}:{column}: {reason}.")
