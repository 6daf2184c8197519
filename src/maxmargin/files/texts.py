"""Arrays of text, one of which may be long.

NumPy's own arrays of text give every entry the room of the longest, so that one cell of 100,000
characters among 10,000 short ones would take four gigabytes. Such an array holds strings instead.
"""

SMALL = 2**24  # An array of texts may take this many bytes in any case.
GENEROUS = 16  # An array may take this many bytes for every byte of its texts.
BESIDE = 3  # Each text in a file comes with a digit, a comma and the end of the line.


def text_type(n_texts, longest, total):
    """The type of an array of `n_texts` texts, from the lengths of the longest and of all."""
    is_small = 4 * n_texts * longest <= max(SMALL, GENEROUS * (total + BESIDE * n_texts))
    return f"<U{max(1, longest)}" if is_small else object
