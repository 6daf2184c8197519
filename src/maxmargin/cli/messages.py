"""What a command says: one line for every error and warning, JSON for machines."""

import json
import os
import sys
import warnings
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass

import numpy as np

INTERRUPTED = 130  # as shells report a process that Ctrl-C has ended

# Whose text is written for users; of anything else the name of the class is shown too.
EXPECTED = (ValueError, OSError, TypeError, ImportError, MemoryError)


class UsageError(ValueError):
    """The command itself is wrong: exit code 2."""

    exit_code = 2


def say(text):
    """One line on standard error."""
    sys.stderr.write(f"maxmargin: {' '.join(str(text).split())}\n")


def exit_code_of(work):
    """Run `work` and turn what it raises into one line and an exit code."""
    try:
        code = work()
        sys.stdout.flush()
        return code or 0
    except KeyboardInterrupt:
        say("interrupted; no file is left half-written.")
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        say(f"error: {_words(error)}")
        return getattr(error, "exit_code", 1)


def _words(error):
    if hasattr(error, "format_message"):  # typer's, whose class depends on its version
        return error.format_message()
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}."
    if isinstance(error, MemoryError):
        return f"not enough memory. {error}"
    return str(error) if isinstance(error, EXPECTED) else f"{type(error).__name__}: {error}"


@contextmanager
def warnings_in_one_line():
    """Warnings for users on standard error, without their place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *rest, **more: say(f"warning: {message}")
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        yield


def write(text):
    """A result, on standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(value):
    write(json_of(value))


def json_of(value):
    return json.dumps(plain(value), allow_nan=False)


def plain(value):
    """The value in terms of JSON; a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if is_dataclass(value):
        return plain(asdict(value))
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
