"""How much memory an answer may take: blocks of rows.

Invariant: rows are answered in blocks that end where the tiles of an engine end, so that an answer
does not depend on them.
"""

import numpy as np

from maxmargin import arrays

TILE_ROWS = 512  # rows that an engine answers at a time
BLOCK_BYTES = 64 * 2**20  # for what an answer is made of


def rows_at_a_time(n_numbers):
    """How many rows fit a block that holds so many numbers for each: whole tiles, or a half, a
    quarter ... of one."""
    rows = max(1, BLOCK_BYTES // (8 * n_numbers))
    unit = min(TILE_ROWS, 1 << (rows.bit_length() - 1))
    return rows // unit * unit


def in_blocks(function, n, size):
    """function(rows) for at most `size` of n rows at a time, put together."""
    if n <= size:
        return function(slice(0, n))
    result = None
    for rows in arrays.blocks(n, size):
        part = function(rows)
        if result is None:
            result = np.empty((n, *part.shape[1:]), dtype=part.dtype)
        result[rows] = part
    return result
