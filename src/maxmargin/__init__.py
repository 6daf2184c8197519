"""maxmargin: support vector machines, exact, fast, and with a proof of optimality on every fit.

The names below are loaded when they are first used, so that `import maxmargin` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxmargin import displays, errors, kernels, problems
    from maxmargin.estimators.one_class import OneClassSVM
    from maxmargin.estimators.svc import SVC, NuSVC
    from maxmargin.estimators.svr import SVR, NuSVR
    from maxmargin.kernels import mercer

__version__ = "0.1.0.dev0"

__all__ = [
    "SVC",
    "SVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "__version__",
    "displays",
    "errors",
    "kernels",
    "mercer",
    "problems",
]

_HOMES = {
    "SVC": "maxmargin.estimators.svc",
    "NuSVC": "maxmargin.estimators.svc",
    "SVR": "maxmargin.estimators.svr",
    "NuSVR": "maxmargin.estimators.svr",
    "OneClassSVM": "maxmargin.estimators.one_class",
    "mercer": "maxmargin.kernels",
}


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
