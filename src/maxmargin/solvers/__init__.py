"""Algorithms that lower a problem. The name of a solver is the name of its file."""

from importlib import import_module

_CLASSES = {"smo": "SMO", "dual_descent": "DualDescent", "newton": "Newton"}
NAMES = ("smo",)  # of kernel machines


def solver_named(name):
    """The class of a solver; loads its compiled loops, which `import maxmargin` does not."""
    return getattr(import_module(f"{__name__}.{name}"), _CLASSES[name])
