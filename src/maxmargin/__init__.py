"""maxmargin: support vector machines, exact, fast, and with a proof of optimality on every fit.

The names below are loaded when they are first used, so that `import maxmargin` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxmargin import (
        datasets,
        displays,
        errors,
        experiments,
        files,
        inspection,
        kernels,
        losses,
        penalties,
        play,
        problems,
        solvers,
    )
    from maxmargin.compiling import compile
    from maxmargin.estimators.exchange import from_sklearn, to_sklearn
    from maxmargin.estimators.feature_maps import CircleMap, KernelMap, PolynomialMap, XNORMap
    from maxmargin.estimators.gradient_descent import (
        GradientDescentClassifier,
        GradientDescentRegressor,
    )
    from maxmargin.estimators.kernel_approximation import Nystroem, RandomFourierFeatures
    from maxmargin.estimators.kernel_ridge import KernelRidge
    from maxmargin.estimators.lasso import Lasso
    from maxmargin.estimators.linear import LinearRegression, Ridge
    from maxmargin.estimators.linear_svm import LinearSVC, LinearSVR, l1_min_c
    from maxmargin.estimators.one_class import OneClassSVM
    from maxmargin.estimators.perceptron import Perceptron
    from maxmargin.estimators.svc import SVC, NuSVC
    from maxmargin.estimators.svr import SVR, NuSVR
    from maxmargin.files import load, save
    from maxmargin.kernels import mercer
    from maxmargin.patching import patch_sklearn, unpatch_sklearn

__version__ = "0.1.0.dev0"

__all__ = [
    "SVC",
    "SVR",
    "CircleMap",
    "GradientDescentClassifier",
    "GradientDescentRegressor",
    "KernelMap",
    "KernelRidge",
    "Lasso",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "Perceptron",
    "PolynomialMap",
    "RandomFourierFeatures",
    "Ridge",
    "XNORMap",
    "__version__",
    "compile",
    "datasets",
    "displays",
    "errors",
    "experiments",
    "files",
    "from_sklearn",
    "inspection",
    "kernels",
    "l1_min_c",
    "load",
    "losses",
    "mercer",
    "patch_sklearn",
    "penalties",
    "play",
    "problems",
    "save",
    "solvers",
    "to_sklearn",
    "unpatch_sklearn",
]

_CONTENTS = {
    "compiling": ("compile",),
    "estimators.exchange": ("from_sklearn", "to_sklearn"),
    "estimators.feature_maps": ("CircleMap", "KernelMap", "PolynomialMap", "XNORMap"),
    "estimators.gradient_descent": ("GradientDescentClassifier", "GradientDescentRegressor"),
    "estimators.kernel_approximation": ("Nystroem", "RandomFourierFeatures"),
    "estimators.kernel_ridge": ("KernelRidge",),
    "estimators.lasso": ("Lasso",),
    "estimators.linear": ("LinearRegression", "Ridge"),
    "estimators.linear_svm": ("LinearSVC", "LinearSVR", "l1_min_c"),
    "estimators.one_class": ("OneClassSVM",),
    "estimators.perceptron": ("Perceptron",),
    "estimators.svc": ("SVC", "NuSVC"),
    "estimators.svr": ("SVR", "NuSVR"),
    "files": ("load", "save"),
    "kernels": ("mercer",),
    "patching": ("patch_sklearn", "unpatch_sklearn"),
}
_HOMES = {name: module for module, names in _CONTENTS.items() for name in names}


def __getattr__(name):
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    elif name in __all__:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
