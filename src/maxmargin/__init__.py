"""maxmargin: support vector machines, exact, fast, and with a proof of optimality on every fit.

The names below are loaded when they are first used, so that `import maxmargin` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxmargin import displays, errors, kernels, problems
    from maxmargin.estimators.exchange import from_sklearn, to_sklearn
    from maxmargin.estimators.linear_svm import LinearSVC, LinearSVR, l1_min_c
    from maxmargin.estimators.one_class import OneClassSVM
    from maxmargin.estimators.svc import SVC, NuSVC
    from maxmargin.estimators.svr import SVR, NuSVR
    from maxmargin.kernels import mercer
    from maxmargin.patching import patch_sklearn, unpatch_sklearn

__version__ = "0.1.0.dev0"

__all__ = [
    "SVC",
    "SVR",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "__version__",
    "displays",
    "errors",
    "from_sklearn",
    "kernels",
    "l1_min_c",
    "mercer",
    "patch_sklearn",
    "problems",
    "to_sklearn",
    "unpatch_sklearn",
]

_HOMES = {
    "SVC": "maxmargin.estimators.svc",
    "NuSVC": "maxmargin.estimators.svc",
    "LinearSVC": "maxmargin.estimators.linear_svm",
    "LinearSVR": "maxmargin.estimators.linear_svm",
    "SVR": "maxmargin.estimators.svr",
    "NuSVR": "maxmargin.estimators.svr",
    "OneClassSVM": "maxmargin.estimators.one_class",
    "from_sklearn": "maxmargin.estimators.exchange",
    "l1_min_c": "maxmargin.estimators.linear_svm",
    "mercer": "maxmargin.kernels",
    "patch_sklearn": "maxmargin.patching",
    "to_sklearn": "maxmargin.estimators.exchange",
    "unpatch_sklearn": "maxmargin.patching",
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
