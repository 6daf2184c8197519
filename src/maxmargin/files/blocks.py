"""What is read in parts: enough at a time for NumPy, little enough for memory."""

BLOCK_ITEMS = 20_000
BLOCK_LENGTH = 2**20  # of characters or bytes


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
