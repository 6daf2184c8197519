"""Opening and replacing files: what reading and writing have in common whatever the format.

Invariant: a file that is being written appears under its name only when it is whole and on the
disk; whatever goes wrong before leaves the old file as it was.
"""

import bz2
import gzip
import io
import lzma
import os
import secrets
import shutil
import stat
import struct
import sys
import zipfile
import zlib
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass

import numpy as np

from maxmargin.errors import FileError

MAX_BYTES = 4 * 2**30  # A table may take this many bytes unless the caller allows more.
# A model may take this many bytes unless the caller allows more.
MAX_MODEL_BYTES = 2 * 2**30
COMPRESSIONS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}

# Readers raise these on damaged content; anything else would be a mistake of ours.
UNREADABLE = (
    ValueError,
    EOFError,
    NotImplementedError,  # zipfile raises it for a version it does not know
    RecursionError,
    struct.error,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
)


@contextmanager
def reasons_named(path):
    """Turn what a reader raises about its content into `FileError: path: reason`."""
    try:
        yield
    except FileError:
        raise
    except UNREADABLE as error:
        raise FileError(f"{path}: {error or 'ends too early'}") from error


@contextmanager
def opened(path, limit):
    """The file for reading and its length; one that is no plain file or too long is refused."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would wait for ever
        raise FileError(f"{path}: not a regular file.")
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        if length > limit:
            raise FileError(f"{path}: has {length} bytes, more than max_bytes={limit}.")
        yield file, length


@contextmanager
def text_of(path, limit):
    """A stream of at most `limit` bytes from a text file or standard input ("-"), plain or
    compressed."""
    with _stream_of(path, limit) as file:
        start = file.peek(6)
        for magic, unpacked in COMPRESSIONS.items():
            if start.startswith(magic):
                with unpacked(file) as content:
                    yield io.BufferedReader(Limited(content, limit), 1 << 18)
                return
        yield file


@contextmanager
def _stream_of(path, limit):
    if os.fspath(path) == "-":
        yield io.BufferedReader(Limited(sys.stdin.buffer, limit), 1 << 18)
    else:
        with opened(path, limit) as (file, _):
            yield file


class Limited(io.RawIOBase):
    """A stream of at most `limit` bytes, because a small file can unpack to any size."""

    def __init__(self, stream, limit):
        self.stream, self.limit, self.left = stream, limit, limit

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.stream.read(min(len(buffer), self.left + 1))
        if len(data) > self.left:
            raise ValueError(f"has or unpacks to more than max_bytes={self.limit}.")
        self.left -= len(data)
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def replacing(path):
    """A new file that takes the place of `path` when the block ends without an error."""
    target = os.path.realpath(path)  # a link stays a link
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileError(f"{path}: exists and is not a regular file.")
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        with _new(temporary, path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
    _keep_entry(folder)


def _new(temporary, path):
    """A new file, with the permissions of any; a reason against it names the one it is for."""
    try:
        return open(temporary, "xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _keep_entry(folder):
    """Write the new name to the disk, too, where folders can be synced. The file has its name in
    any case, so a failure does not matter."""
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def plain(value):
    """The value as JSON has it; a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if is_dataclass(value):
        return plain(asdict(value))
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, range)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
