"""How much memory an answer may take: blocks of rows, and what no machine can hold.

Invariant: rows are answered in blocks that end where the tiles of an engine end, so that an answer
does not depend on them.
"""

import os
from functools import lru_cache
from math import prod
from pathlib import Path

import numpy as np

from maxmargin import arrays

TILE_ROWS = 256  # An engine answers this many rows at a time.
BLOCK_BYTES = 64 * 2**20  # A block of an answer and its parts take this much memory at most.

# This stands for a memory that the system does not tell (Windows), which refuses arrays itself.
UNKNOWN = 2**40
# These files hold the limit of a container, in either version of Linux's control groups.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def rows_at_a_time(n_numbers):
    """How many rows fit a block that holds `n_numbers` for each: whole tiles, or a half, a
    quarter ... of one."""
    rows = max(1, BLOCK_BYTES // (8 * n_numbers))
    unit = min(TILE_ROWS, 1 << (rows.bit_length() - 1))
    return rows // unit * unit


def in_blocks(function, n, size):
    """The joined results of function(rows) for at most `size` of n rows at a time."""
    if n <= size:
        return function(slice(0, n))
    result = None
    for rows in arrays.blocks(n, size):
        part = function(rows)
        if result is None:
            result = np.empty((n, *part.shape[1:]), dtype=part.dtype)
        result[rows] = part
    return result


def check_room(what, shape, advice=""):
    """Refuse a matrix of float64 that this machine cannot hold, before any work goes into it."""
    needed, present = 8 * prod(map(int, shape)), machine_bytes()
    if needed > present:
        size = " x ".join(f"{length:,}" for length in shape)
        raise MemoryError(
            f"{what}: {size} numbers take {needed / 1e9:,.1f} GB, and this machine has "
            f"{present / 1e9:,.1f} GB. {advice}".rstrip()
        )


@lru_cache(maxsize=1)
def machine_bytes():
    """The memory of this machine, or the part of it that this process may use."""
    try:
        present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        present = UNKNOWN
    return min([present, *map(_limit_in, LIMITS)])


def _limit_in(file):
    try:
        return int(Path(file).read_text())
    except (OSError, ValueError):  # there is no such file, or it has the word "max"
        return UNKNOWN
