"""What a file that is refused may take: a second and 64 MB."""

import re
import time
import tracemalloc

import pytest

from maxmargin.files import FileError

SECONDS, BYTES = 1.0, 64 * 2**20


def refused(read, path, reason, **options):
    """Reading raises `FileError: path: reason` (or path:line:column), soon and in little memory."""
    tracemalloc.start()
    began = time.perf_counter()
    try:
        with pytest.raises(FileError, match=reason) as caught:
            read(path, **options)
        seconds, peak = time.perf_counter() - began, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert re.match(rf"{re.escape(str(path))}:(\d+:\d+:)? ", str(caught.value))
    assert seconds < SECONDS
    assert peak < BYTES
