"""The patch of `python -m maxmargin script.py` in the processes that the script starts.

A forked child has it. Any other begins with an empty interpreter and hears from its parent how to
prepare itself (its path, its name, the script to import) before it imports anything of the script.
A line of ours is among that: to unpickle it is to patch.
"""

import multiprocessing
from contextlib import suppress
from functools import cache, wraps
from importlib import import_module

from maxmargin.patching import is_patched, patch_sklearn

SPAWNERS = ("multiprocessing.spawn", "joblib.externals.loky.backend.spawn", "loky.backend.spawn")


class Line:
    def __reduce__(self):
        return patch_with_children, ()


@cache
def patch_with_children():
    """Patch this process, its children and theirs."""
    patch_sklearn()
    if "forkserver" in multiprocessing.get_all_start_methods():
        # The server hears no such lines, so that it must not be the one who imports the script.
        multiprocessing.set_forkserver_preload([])
    for name in SPAWNERS:
        with suppress(ImportError):
            _add_line(import_module(name))


def _add_line(spawner):
    prepared = spawner.get_preparation_data

    @wraps(prepared)
    def with_line(*arguments, **options):
        line = {"maxmargin": Line()} if is_patched() else {}
        return {**prepared(*arguments, **options), **line}

    spawner.get_preparation_data = with_line
