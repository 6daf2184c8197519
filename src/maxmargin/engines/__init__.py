"""Where arrays live and how the heavy steps are done. The name of an engine is that of its file."""

from importlib import import_module

_CLASSES = {"cpu": "CPUEngine", "plain": "PlainEngine"}
NAMES = tuple(_CLASSES)


def engine_of(given="auto", **options):
    """A new engine of that name, or the engine that is given.

    This loads what the engine needs, which `import maxmargin` does not.
    """
    if not isinstance(given, str):
        return given
    name = _automatic() if given == "auto" else given
    return getattr(import_module(f"{__name__}.{name}"), _CLASSES[name])(**options)


def name_of(engine):
    """The name by which `engine_of` makes an engine of this class; None if there is none."""
    names = (name for name, cls in _CLASSES.items() if type(engine).__name__ == cls)
    name = next(names, None)
    return name if type(engine).__module__ == f"{__name__}.{name}" else None


def _automatic():
    from maxmargin.compiled.numba_setup import HAS_COMPILER

    return "cpu" if HAS_COMPILER else "plain"
