"""The cache of kernel rows.

Memory that is touched for the first time costs more than computing most kernel values again, so a
row is stored only when it is used for the second time, unless it is costly (`at_once`); and a row
that is still in use is never thrown out for another, because the rows of the free points are asked
for in turn, over and over, and throwing out the oldest would lose each one just before its next
use.
"""

import numpy as np

NOT_STORED = -1
ROUNDS_UNUSED = 3  # a row not asked for in this many rounds may give up its place


class RowCache:
    """Which row sits in which slot, and when it was last asked for."""

    def __init__(self, n_rows, n_columns, dtype, n_bytes, at_once=False):
        self._at_once = at_once
        n_slots = int(min(n_rows, max(0, n_bytes) // (n_columns * np.dtype(dtype).itemsize)))
        self.store = np.empty((n_slots, n_columns), dtype=dtype)
        self._slot_of = np.full(n_rows, NOT_STORED)
        self._row_in = np.full(n_slots, NOT_STORED)
        self._last_round = np.full(n_rows, -1)
        self._round = 0
        self._n_filled = 0

    def ask(self, rows):
        """The slots of `rows` (NOT_STORED where there is none) and slots in which to store some.

        Returns two arrays as long as `rows`. Where the second is not NOT_STORED, the caller
        computes the row and writes it there.
        """
        self._round += 1
        stored = self._slot_of[rows]
        fill = np.full(len(rows), NOT_STORED)
        is_worth_it = self._at_once | (self._last_round[rows] >= 0)
        self._last_round[rows] = self._round
        wanted = np.flatnonzero((stored == NOT_STORED) & is_worth_it)
        if len(wanted):
            slots = self._free_slots(len(wanted))
            chosen = wanted[: len(slots)]
            fill[chosen] = slots
            self._slot_of[rows[chosen]] = slots
            self._row_in[slots] = rows[chosen]
        return stored, fill

    def _free_slots(self, count):
        n_new = min(count, len(self.store) - self._n_filled)
        slots = np.arange(self._n_filled, self._n_filled + n_new)
        self._n_filled += n_new
        if n_new == count:
            return slots
        occupied = self._row_in[: self._n_filled - n_new]
        stale = np.flatnonzero(self._last_round[occupied] < self._round - ROUNDS_UNUSED)
        stale = stale[: count - n_new]
        self._slot_of[occupied[stale]] = NOT_STORED
        return np.concatenate([slots, stale])
