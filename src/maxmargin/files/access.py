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
import zipfile
import zlib
from contextlib import contextmanager, suppress

from maxmargin.errors import FileError

MAX_BYTES = 4 * 2**30  # of a table, unless the caller allows more,
MAX_MODEL_BYTES = 2 * 2**30  # and of a model
COMPRESSIONS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}

# What readers raise on content that makes no sense; anything else would be a mistake of ours.
UNREADABLE = (
    ValueError,
    EOFError,
    NotImplementedError,  # zipfile, of a version it does not know
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
    """The file for reading and its length, refused when it is no plain file or above the limit."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would wait for ever
        raise FileError(f"{path}: not a regular file.")
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        if length > limit:
            raise FileError(f"{path}: has {length} bytes, more than max_bytes={limit}.")
        yield file, length


@contextmanager
def text_of(path, limit):
    """The bytes of a text file, plain or compressed, of which at most `limit` can be read."""
    with opened(path, limit) as (file, _):
        start = file.read(6)
        file.seek(0)
        for magic, unpacked in COMPRESSIONS.items():
            if start.startswith(magic):
                with unpacked(file) as content:
                    yield io.BufferedReader(Limited(content, limit), 1 << 18)
                return
        yield file


class Limited(io.RawIOBase):
    """A stream of at most `limit` bytes: a small file can unpack to any size."""

    def __init__(self, stream, limit):
        self.stream, self.limit, self.left = stream, limit, limit

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.stream.read(min(len(buffer), self.left + 1))
        if len(data) > self.left:
            raise ValueError(f"unpacks to more than max_bytes={self.limit}.")
        self.left -= len(data)
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def replacing(path):
    """A new file that takes the place of `path` when the block ends without an error."""
    target = os.path.realpath(path)  # a link stays a link
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileError(f"{path}: exists and is not a regular file.")
    temporary = _temporary_beside(target)
    try:
        with open(temporary, "xb") as file:  # with the permissions of any new file
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
    _keep_entry(os.path.dirname(target))


@contextmanager
def restoring(path):
    """Whatever the block does to a small file, an error leaves it as it was, or none there."""
    target = os.path.realpath(path)
    was_there, copy, is_copied = os.path.exists(target), _temporary_beside(target), False
    try:
        if os.path.isfile(target):
            shutil.copy2(target, copy)
            is_copied = True
        yield
    except BaseException:
        if is_copied:
            os.replace(copy, target)
        elif not was_there and os.path.exists(target):
            os.remove(target)
        raise
    finally:
        if os.path.exists(copy):
            os.remove(copy)


def _temporary_beside(target):
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")


def _keep_entry(folder):
    """Have the new name on the disk too, where folders can be opened and kept like that; the file
    has its name in any case, so that this is no reason to fail."""
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
