"""Arrays of text, when one of them may be long.

NumPy's own arrays of text give every entry the room of the longest, so that one cell of 100,000
characters among 10,000 short ones would take four gigabytes. Such an array holds strings instead.
"""

SMALL = 2**24  # bytes that an array may take in any case,
GENEROUS = 16  # and how many for every byte of its texts
BESIDE = 3  # bytes that come with a text in a file: a digit, a comma and the end of the line


def text_type(n_texts, longest, total):
    """The type of an array for so many texts, the longest and all together of these lengths."""
    is_small = 4 * n_texts * longest <= max(SMALL, GENEROUS * (total + BESIDE * n_texts))
    return f"<U{max(1, longest)}" if is_small else object
