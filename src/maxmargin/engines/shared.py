"""Kernel blocks that the machines of one fit share.

A pair of classes needs the kernel values within both of them, and every class is in a pair with
every other. So these blocks are made once, by whichever machine comes first, from the rows of the
class alone, so that it does not matter which one that is.
"""

import threading


class SharedBlocks:
    """Blocks by name; who asks while one is being made waits for it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._locks, self._blocks = {}, {}

    def block(self, name, make):
        with self._lock:
            own = self._locks.setdefault(name, threading.Lock())
        with own:
            if name not in self._blocks:
                self._blocks[name] = make()
        return self._blocks[name]


def bytes_within(parts):
    """What the blocks take for parts that machines name {name: slice of its rows}."""
    sizes = {name: rows.stop - rows.start for named in parts for name, rows in named.items()}
    return 4 * sum(size**2 for size in sizes.values())
