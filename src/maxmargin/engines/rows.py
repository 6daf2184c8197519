"""What the cpu engine keeps: rows of the kernel matrix, and blocks that several machines need.

Memory that is touched for the first time costs more than computing most kernel values again, so a
row is stored only when it is used for the second time, unless it is costly (`at_once`). A row that
is still in use is never evicted for another: the rows of the free points are asked for in turn,
over and over, and evicting the oldest would lose each one just before its next use.

A pair of classes needs the kernel values within both of them, and every class is in a pair with
every other. A block is known by the value of its kernel and by the rows it belongs to, so that it
does not matter which machine asks first, or in which thread. It lives as long as its rows do.
"""

import threading
from weakref import WeakKeyDictionary

import numpy as np

NOT_STORED = -1
ROUNDS_UNUSED = 3  # A row that is not asked for in this many rounds may be evicted.
SHARED = 0.25  # Shared blocks take at most this part of the memory, and the machines take the rest.


class RowCache:
    """A table of which row sits in which slot, and when it was last asked for."""

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

        Both arrays are as long as `rows`. Where the second is not NOT_STORED, the caller computes
        the row and writes it there.
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


class _Place:
    """Where a block is, or will be."""

    def __init__(self, n_bytes):
        self.n_bytes, self.lock, self.block = n_bytes, threading.Lock(), None


class BlockStore:
    """Blocks by key, as many as fit; a thread that asks while one is being made waits for it."""

    def __init__(self, n_bytes):
        self._room = int(SHARED * n_bytes)
        self._lock = threading.Lock()
        self._places = WeakKeyDictionary()

    def block(self, source, key, n_bytes, make):
        """The block of a key among the rows of a source; if it does not fit, it is made anew."""
        with self._lock:
            known = self._places.setdefault(source, {})
            if key not in known and n_bytes <= self._room - self._taken():
                known[key] = _Place(n_bytes)
            place = known.get(key)
        if place is None:
            return make()
        with place.lock:
            if place.block is None:
                place.block = make()
        return place.block

    def _taken(self):
        return sum(place.n_bytes for known in self._places.values() for place in known.values())

    def __len__(self):
        return sum(len(known) for known in self._places.values())
