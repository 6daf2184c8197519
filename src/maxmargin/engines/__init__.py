"""Where arrays live and who does the heavy steps. The name of an engine is the name of its file."""

from importlib import import_module

_CLASSES = {"cpu": "CPUEngine"}
NAMES = tuple(_CLASSES)


def engine_named(name, **options):
    """A new engine; loads what it needs, which `import maxmargin` does not."""
    return getattr(import_module(f"{__name__}.{name}"), _CLASSES[name])(**options)
