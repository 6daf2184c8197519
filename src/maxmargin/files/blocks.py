"""Items in blocks, which are large enough for NumPy to be fast and small enough for memory."""

BLOCK_ITEMS = 20_000  # A block has at most this many items.
BLOCK_LENGTH = 2**20  # A block has at most this many characters or bytes, unless one item has more.


def blocks(items, length_of):
    """Lists of items that are together about as long as a block; one may be longer by itself."""
    block, length = [], 0
    for item in items:
        block.append(item)
        length += length_of(item)
        if length >= BLOCK_LENGTH or len(block) == BLOCK_ITEMS:
            yield block
            block, length = [], 0
    if block:
        yield block
