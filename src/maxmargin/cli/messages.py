"""What a command says: one line for every error and warning, JSON for machines."""

import json
import os
import sys
import warnings
from contextlib import contextmanager

INTERRUPTED = 130  # Shells report this code for a process that Ctrl-C has ended.

# The text of these is written for users; for anything else the name of the class is shown, too.
EXPECTED = (ValueError, OSError, TypeError, ImportError, MemoryError)


class UsageError(ValueError):
    """The command itself is wrong; the exit code is 2."""

    exit_code = 2


def say(text):
    """Write one line to standard error."""
    sys.stderr.write(f"maxmargin: {' '.join(str(text).split())}\n")


def is_watched():
    """Whether somebody may be looking at standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def exit_code_of(work):
    """Run `work` and turn what it raises into one line and an exit code."""
    try:
        code = work()
        sys.stdout.flush()
        return code or 0
    except KeyboardInterrupt:
        say("interrupted; no file is left half-written.")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        say(f"error: {_words(error)}")
        return getattr(error, "exit_code", 1)


def _words(error):
    if hasattr(error, "format_message"):  # typer's errors, whose class depends on its version
        return error.format_message()
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}."
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}"
    return str(error) if isinstance(error, EXPECTED) else f"{type(error).__name__}: {error}"


@contextmanager
def warnings_in_one_line():
    """Write warnings for users to standard error, without their place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest, **more: say(f"warning: {message}")
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        # A command compares the names itself, when it reads the data.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def write(text):
    """Write a result to standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(value):
    write(json_of(value))


def json_of(value):
    from maxmargin.files.access import plain

    return json.dumps(plain(value), allow_nan=False)
