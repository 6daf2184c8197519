"""maxmargin: support vector machines, exact, fast, and with a proof of optimality on every fit.

The names below are loaded when they are first used, so that `import maxmargin` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxmargin import displays, errors, kernels, problems
    from maxmargin.estimators.svc import SVC
    from maxmargin.kernels import mercer

__version__ = "0.1.0.dev0"

__all__ = ["SVC", "__version__", "displays", "errors", "kernels", "mercer", "problems"]

_HOMES = {"SVC": "maxmargin.estimators.svc", "mercer": "maxmargin.kernels"}


def __getattr__(name):
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in __all__:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
