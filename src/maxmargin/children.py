"""The patch of `python -m maxmargin script.py` in the processes that the script starts.

A forked child has it. Any other child begins with an empty interpreter, to which its parent sends
instructions (its path, its name, the script to import) before it imports anything of the script. We
add an object to these, whose unpickling patches.
"""

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
    with suppress(ImportError):  # a system that cannot start processes lacks the module
        _preload_nothing()
    for name in SPAWNERS:
        with suppress(ImportError):
            _add_line(import_module(name))


def _preload_nothing():
    """Keep the server that forks from importing the script, because it gets no such object."""
    import multiprocessing

    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.set_forkserver_preload([])


def _add_line(spawner):
    prepared = spawner.get_preparation_data

    @wraps(prepared)
    def with_line(*arguments, **options):
        line = {"maxmargin": Line()} if is_patched() else {}
        return {**prepared(*arguments, **options), **line}

    spawner.get_preparation_data = with_line
