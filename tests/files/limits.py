"""What a file that is refused may take: a second and 64 MB."""

import re
import time
import tracemalloc
from contextlib import contextmanager

import pytest

from maxmargin.files import FileError

SECONDS, BYTES = 1.0, 64 * 2**20


@contextmanager
def peak_below(n_bytes):
    """The block takes no more memory than that."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n_bytes


def refused(read, path, reason, **options):
    """Reading raises `FileError: path: reason` (or path:line:column), soon and in little memory."""
    began = time.perf_counter()
    with peak_below(BYTES), pytest.raises(FileError, match=reason) as caught:
        read(path, **options)
    assert time.perf_counter() - began < SECONDS
    assert re.match(rf"{re.escape(str(path))}:(\d+:\d+:)? ", str(caught.value))
