"""Algorithms that lower a problem. The name of a solver is the name of its file."""

from importlib import import_module

_CLASSES = {
    "smo": "SMO",
    "dual_descent": "DualDescent",
    "newton": "Newton",
    "l1_newton": "L1Newton",
    "crammer_singer": "CrammerSinger",
}
NAMES = ("smo",)  # of kernel machines


def solver_named(name):
    """The class of a solver; loads its compiled loops, which `import maxmargin` does not."""
    return getattr(import_module(f"{__name__}.{name}"), _CLASSES[name])
