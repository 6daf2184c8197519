"""What each constructor parameter may be, as data; checked by `fit`, never by `__init__`."""

import numbers
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from maxmargin import engines, solvers
from maxmargin.kernels import Custom, Kernel
from maxmargin.kernels.named import PAIRWISE_NAMES, SVM_NAMES, kernel_named
from maxmargin.solvers.base import Solver


class Constraint(NamedTuple):
    wanted: str
    holds: Callable


def is_function(value):
    """Whether it is a function. A class can be called, too, but `kernel=RBF` lacks its brackets."""
    return callable(value) and not isinstance(value, type)


def is_real(value):
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        return not np.isnan(float(value))
    except OverflowError:  # the int is beyond the range of floats
        return False


def is_whole(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def is_flag(value):
    return isinstance(value, (bool, np.bool_))


def one_of(*options):
    wanted = ", ".join(repr(option) for option in options[:-1])
    wanted = f"{wanted} or {options[-1]!r}" if wanted else repr(options[0])
    return Constraint(wanted, lambda value: isinstance(value, str) and value in options)


def _are_weights(value):
    return isinstance(value, Mapping) and all(
        is_real(weight) and 0 <= weight < np.inf for weight in value.values()
    )


def _is_engine(value):
    """Whether it is an engine. A class looks like it, but `engine=CPUEngine` lacks its brackets."""
    needed = ("__enter__", "points", "matrix", "expand", "expand_roughly", "waves")
    has_all = all(hasattr(value, name) for name in needed)
    return has_all and not isinstance(value, type)


FLAG = Constraint("True or False", is_flag)
SEED = Constraint(
    "None, a whole number of at least 0, a RandomState or a Generator",
    lambda v: (
        v is None
        or isinstance(v, (np.random.RandomState, np.random.Generator))
        or (is_whole(v) and v >= 0)
    ),
)
LEVEL = Constraint("True, False or a level", lambda v: is_flag(v) or is_whole(v))
POSITIVE = Constraint("a positive number", lambda v: is_real(v) and v > 0)
FINITE_POSITIVE = Constraint(
    "a positive finite number", lambda v: is_real(v) and np.isfinite(v) and v > 0
)
AT_LEAST_ONE = Constraint("a whole number of at least 1", lambda v: is_whole(v) and v >= 1)
N_JOBS = Constraint("None or a whole number", lambda v: v is None or is_whole(v))
AT_LEAST_ZERO = Constraint(
    "a number of at least 0", lambda v: is_real(v) and np.isfinite(v) and v >= 0
)
PAIRWISE_SHAPES = {"gamma": "auto", "degree": 3, "coef0": 1}  # None stands for these.

SVM_CONSTRAINTS = {
    "C": POSITIVE,
    "nu": Constraint("a number in (0, 1]", lambda v: is_real(v) and 0 < v <= 1),
    "epsilon": AT_LEAST_ZERO,
    "kernel": Constraint(
        "one of " + ", ".join(map(repr, SVM_NAMES)) + ", a Kernel or a callable",
        lambda v: is_function(v) or (isinstance(v, str) and v in SVM_NAMES),
    ),
    "degree": Constraint("a whole number of at least 0", lambda v: is_whole(v) and v >= 0),
    "gamma": Constraint(
        "'scale', 'auto' or a number of at least 0",
        lambda v: (
            v in ("scale", "auto")
            if isinstance(v, str)
            else is_real(v) and np.isfinite(v) and v >= 0
        ),
    ),
    "coef0": Constraint("a number", lambda v: is_real(v) and np.isfinite(v)),
    "shrinking": FLAG,
    "tol": FINITE_POSITIVE,
    "cache_size": FINITE_POSITIVE,
    "class_weight": Constraint(
        "None, 'balanced' or a dict of finite class weights of at least 0",
        lambda v: v is None or (isinstance(v, str) and v == "balanced") or _are_weights(v),
    ),
    "probability": Constraint(
        "True or False",
        # This is scikit-learn's default, which a caller may pass on with all its parameters.
        lambda v: is_flag(v) or (isinstance(v, str) and v == "deprecated"),
    ),
    "random_state": SEED,
    "verbose": LEVEL,
    "max_iter": Constraint(
        "-1 (the default limit) or a whole number of at least 0", lambda v: is_whole(v) and v >= -1
    ),
    "decision_function_shape": one_of("ovo", "ovr"),
    "multi_class": one_of("ovo", "ovr"),
    "break_ties": FLAG,
    "solver": Constraint(
        "one of " + ", ".join(map(repr, solvers.NAMES)) + " or a solver object",
        lambda v: isinstance(v, Solver) or (isinstance(v, str) and v in solvers.NAMES),
    ),
    "trace": Constraint(
        "True, False or the most rows to keep", lambda v: is_flag(v) or (is_whole(v) and v >= 0)
    ),
    "engine": Constraint(
        "one of " + ", ".join(map(repr, ("auto", *engines.NAMES))) + " or an engine object",
        lambda v: v in ("auto", *engines.NAMES) if isinstance(v, str) else _is_engine(v),
    ),
    "max_time": Constraint(
        "None or a positive number of seconds", lambda v: v is None or (is_real(v) and v > 0)
    ),
    "warm_start": FLAG,
    "certify": Constraint("True, 'lazy' or False", lambda v: is_flag(v) or v == "lazy"),
    "callbacks": Constraint(
        "None or a list of callables",
        lambda v: v is None or (isinstance(v, Sequence) and all(callable(one) for one in v)),
    ),
}


def or_none(constraint):
    joint = "," if " or " in constraint.wanted else " or"
    wanted = f"None{joint} {constraint.wanted}"
    return Constraint(wanted, lambda v: v is None or constraint.holds(v))


PAIRWISE_CONSTRAINTS = {
    "kernel": Constraint(
        "one of " + ", ".join(map(repr, PAIRWISE_NAMES)) + ", a Kernel or a callable",
        lambda v: is_function(v) or (isinstance(v, str) and v in PAIRWISE_NAMES),
    ),
    **{name: or_none(SVM_CONSTRAINTS[name]) for name in PAIRWISE_SHAPES},
    "kernel_params": Constraint(
        "None or a dict of keyword arguments of a callable kernel",
        lambda v: v is None or (isinstance(v, Mapping) and all(isinstance(k, str) for k in v)),
    ),
}

LINEAR_CONSTRAINTS = {
    "C": FINITE_POSITIVE,
    "tol": FINITE_POSITIVE,
    "epsilon": SVM_CONSTRAINTS["epsilon"],
    "penalty": one_of("l1", "l2"),
    "loss": one_of("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"),
    "dual": Constraint(
        "True, False or 'auto'", lambda v: is_flag(v) or (isinstance(v, str) and v == "auto")
    ),
    "multi_class": one_of("ovr", "crammer_singer"),
    "fit_intercept": FLAG,
    "intercept_scaling": FINITE_POSITIVE,
    "class_weight": SVM_CONSTRAINTS["class_weight"],
    **{name: SVM_CONSTRAINTS[name] for name in ("max_time", "callbacks", "verbose", "warm_start")},
    "random_state": SEED,
    "max_iter": Constraint("a whole number of at least 0", lambda v: is_whole(v) and v >= 0),
}


def check_parameters(estimator, constraints):
    """Refuse the first parameter that does not fit, naming it, its value and its range."""
    name = type(estimator).__name__
    for parameter, value in vars(estimator).items():  # parameters are stored under their names
        constraint = constraints.get(parameter)
        if constraint is not None and not constraint.holds(value):
            raise ValueError(f"{name}: {parameter} must be {constraint.wanted}, got {value!r}.")


def rows_of(kernel):
    """What the rows of X hold under the parameter `kernel`: "features", rows of a "gram" matrix, or
    "anything"."""
    if isinstance(kernel, Kernel):
        return kernel.takes
    if callable(kernel):
        return "anything"
    return "gram" if kernel == "precomputed" else "features"


def kernel_of(estimator, gamma="scale", degree=3, coef0=0.0):
    """The Kernel that the parameters of an estimator describe, given their defaults.

    "scale" and "auto" are still words in it.
    """
    kernel = estimator.kernel
    if isinstance(kernel, str):
        shape = ("gamma", "degree", "coef0")
        return kernel_named(kernel, **{k: v for k, v in vars(estimator).items() if k in shape})
    if not isinstance(kernel, Kernel):
        return Custom(kernel, whole=True)
    for parameter, default in {"gamma": gamma, "degree": degree, "coef0": coef0}.items():
        value = getattr(estimator, parameter, default)
        if value is not None and value != default:
            raise ValueError(
                f"{type(estimator).__name__}: {parameter}={value!r} has no effect "
                f"beside the Kernel object {kernel}; set it on the kernel."
            )
    return kernel


def pairwise_kernel_of(estimator, **defaults):
    """The Kernel of an estimator that takes the names of sklearn.metrics.pairwise.

    A function becomes a kernel of rows of anything; `kernel_params` are keywords for it alone.
    """
    kernel, keywords = estimator.kernel, estimator.kernel_params
    if is_function(kernel) and not isinstance(kernel, Kernel):
        return Custom(partial(kernel, **keywords) if keywords else kernel)
    if keywords:
        raise ValueError(
            f"{type(estimator).__name__}: kernel_params are for a function, and have no effect "
            f"beside kernel={kernel!r}; set gamma, degree or coef0 themselves, or the kernel's own."
        )
    if isinstance(kernel, Kernel):
        return kernel_of(estimator, **defaults)
    given = {name: getattr(estimator, name) for name in PAIRWISE_SHAPES}
    shape = {name: PAIRWISE_SHAPES[name] if v is None else v for name, v in given.items()}
    return kernel_named(kernel, **shape)
