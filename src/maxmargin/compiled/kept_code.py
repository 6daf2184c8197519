"""Machine code on disk, for the next process to find; whatever the disk does, a fit goes on.

Numba's own cache lets errors through: a disk without room, a file that was cut off. Here they cost
the time to compile again and a warning.
"""

import hashlib
import logging
from contextlib import suppress

from numba.core.caching import CompileResultCacheImpl, FunctionCache

logger = logging.getLogger("maxmargin")

NO_FOLDER = (
    "maxmargin finds no folder to keep compiled code in, so every process compiles it again. "
    "Set NUMBA_CACHE_DIR to one that can be written to."
)
NOT_KEPT = (
    "maxmargin cannot keep compiled code in %s (%s: %s), so every process compiles it again. "
    "Make room there, or set NUMBA_CACHE_DIR to a folder that can be written to."
)
UNREADABLE = "maxmargin cannot read the compiled code in %s (%s: %s) and compiles it again."


def keep_on_disk(dispatcher):
    """Have a compiled function look for its machine code on disk, and leave it there."""
    try:
        dispatcher._cache = KeptCode(dispatcher.py_func)
    except (RuntimeError, OSError):  # no folder that Numba knows of can be written to
        say_once(NO_FOLDER)


class SealedCode(CompileResultCacheImpl):
    """What one file holds: machine code and its checksum, as a wrong byte in it can do anything."""

    def reduce(self, code):
        content = super().reduce(code)
        return checksum(content), content

    def rebuild(self, target_context, kept):
        seal, content = kept
        if seal != checksum(content):
            raise ValueError("wrong checksum")
        return super().rebuild(target_context, content)


def checksum(content):
    library = content[0]  # the machine code itself; the rest are names and types
    return hashlib.sha256(repr(library).encode()).hexdigest()


class KeptCode(FunctionCache):
    """The files of one function; those that cannot be read are written anew."""

    _impl_class = SealedCode

    def load_overload(self, signature, target_context):
        try:
            return super().load_overload(signature, target_context)
        except OSError:
            return None  # if it lasts, there will be more to say when the code is to be kept
        except Exception as error:  # unpickling what is damaged may raise anything
            say_once(UNREADABLE, self.cache_path, type(error).__name__, error)
            with suppress(OSError):
                self.flush()  # the list of files, as it may be what is damaged
            return None

    def save_overload(self, signature, code):
        try:
            super().save_overload(signature, code)
        except Exception as error:  # of the disk, or of a list of files that stays damaged
            say_once(NOT_KEPT, self.cache_path, type(error).__name__, error)


_said: set[str] = set()


def say_once(message, *details):
    """A function has many files, and the library many functions."""
    if message not in _said:
        _said.add(message)
        logger.warning(message, *details)
