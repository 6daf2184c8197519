"""Machine code on disk for the next process; whatever the disk does, a fit goes on.

Numba's own cache raises an error if the disk is full or a file was cut off. Here that costs a
warning and the time to compile again.
"""

import hashlib
import logging
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

logger = logging.getLogger("maxmargin")

NO_FOLDER = (
    "maxmargin finds no folder to keep compiled code in, so every process compiles it again. "
    "Set NUMBA_CACHE_DIR to one that can be written to."
)
NOT_KEPT = (
    "maxmargin cannot keep compiled code in %s (%s: %s), so every process compiles it again. "
    "Make room there, or set NUMBA_CACHE_DIR to a folder that can be written to."
)
NOTE = "compiling"  # An empty file of this name says by its age when a compilation began.
# Processes that start within this many seconds of each other are taken for those of one search.
NOTE_LASTS = 600.0
UNREADABLE = "maxmargin cannot read the compiled code in %s (%s: %s) and compiles it again."


def keep_on_disk(dispatcher):
    """Have a compiled function look for its machine code on disk, and leave it there."""
    try:
        dispatcher._cache = KeptCode(dispatcher.py_func)
    except (RuntimeError, OSError):  # none of Numba's folders can be written to
        say_once(NO_FOLDER)


class SealedCode(CompileResultCacheImpl):
    """The content of one file: machine code and its checksum, as a wrong byte can do anything."""

    def reduce(self, code):
        content = super().reduce(code)
        return checksum(content), content

    def rebuild(self, target_context, kept):
        seal, content = kept
        if seal != checksum(content):
            raise ValueError("wrong checksum")
        return super().rebuild(target_context, content)


def checksum(content):
    library = content[0]  # this is the machine code; the rest are names and types
    return hashlib.sha256(repr(library).encode()).hexdigest()


@cache
def source_digest():
    """A digest of all source that compiled code is made of."""
    folder = Path(__file__).parent
    sources = [*sorted(folder.glob("*.py")), folder.parent / "arrays.py"]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


class KeptCode(FunctionCache):
    """The files of one function; those that cannot be read are written anew.

    Numba takes them for old when the file of the function has changed. But the code of a function
    holds that of others, which stand in other files.
    """

    _impl_class = SealedCode

    def __init__(self, function):
        super().__init__(function)
        base = self._impl.filename_base
        self._cache_file = IndexDataCacheFile(self._cache_path, base, source_digest())

    def load_overload(self, signature, target_context):
        try:
            return super().load_overload(signature, target_context)
        except OSError:
            return None  # saving the code will warn if the disk stays unreadable
        except Exception as error:  # unpickling a damaged file may raise anything
            say_once(UNREADABLE, self.cache_path, type(error).__name__, error)
            with suppress(OSError):
                self.flush()  # the list of files may be what is damaged
            return None

    def save_overload(self, signature, code):
        try:
            super().save_overload(signature, code)
        except Exception as error:  # the disk fails, or the list of files stays damaged
            say_once(NOT_KEPT, self.cache_path, type(error).__name__, error)


def is_known_to_compile(folder):
    """Whether another process with the same folder has lately noted that it compiles; if not, note
    that this one does."""
    note = Path(folder) / NOTE
    with suppress(OSError):
        if time.time() - note.stat().st_mtime > NOTE_LASTS:
            note.unlink()
    try:
        note.touch(exist_ok=False)
    except FileExistsError:
        return True
    except OSError:  # the disk may be read-only
        return False
    return False


_said: set[str] = set()


def say_once(message, *details):
    """Warn once, because a function has many files, and the library many functions."""
    if message not in _said:
        _said.add(message)
        logger.warning(message, *details)
