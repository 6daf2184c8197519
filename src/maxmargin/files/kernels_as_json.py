"""Kernels as JSON: a name from a closed list, and its parameters, which may be kernels again.

A kernel that holds a function (Custom, Conformal) is refused, as a file would have to name code.
"""

import numbers

from maxmargin import kernels
from maxmargin.kernels import Conformal, Custom, Kernel
from maxmargin.kernels.scale import NAMED_GAMMAS

HOLD_FUNCTIONS = (Kernel, Custom, Conformal)
CLASSES = {
    name: value
    for name, value in vars(kernels).items()
    if isinstance(value, type) and issubclass(value, Kernel) and value not in HOLD_FUNCTIONS
}
DEEPEST = 50  # Kernels may be nested this deep.
LARGEST_WHOLE = 2**31  # No kernel has a larger whole number as its parameter.


def kernel_to_json(kernel, depth=0):
    """{"name": ..., "parameters": {...}} for a kernel of the closed list."""
    name = type(kernel).__name__
    if CLASSES.get(name) is not type(kernel):
        raise ValueError(
            f"the kernel {name} holds a function or is a class of your own, and a file cannot "
            "hold code. Use a kernel of maxmargin.kernels without functions, or pickle the model."
        )
    if depth > DEEPEST:
        raise ValueError(f"the kernel {name} is made of kernels more than {DEEPEST} deep.")
    parameters = kernel.get_params(deep=False)
    encoded = {
        key: kernel_to_json(value, depth + 1) if isinstance(value, Kernel) else _plain(value)
        for key, value in parameters.items()
    }
    return {"name": name, "parameters": encoded}


def kernel_from_json(description, depth=0):
    """The kernel of a description, whose parameters must be known and of the right kind."""
    if not isinstance(description, dict) or set(description) != {"name", "parameters"}:
        raise ValueError("a kernel must have a name and parameters.")
    name, parameters = description["name"], description["parameters"]
    if not isinstance(name, str) or name not in CLASSES or depth > DEEPEST:
        raise ValueError(f"unknown kernel {str(name)[:100]!r}.")
    known = set(CLASSES[name]._get_param_names())
    if not isinstance(parameters, dict) or set(parameters) != known:
        raise ValueError(f"the parameters of {name} must be {sorted(known)}.")
    decoded = {
        key: kernel_from_json(value, depth + 1) if isinstance(value, dict) else _plain(value)
        for key, value in parameters.items()
    }
    kernel = CLASSES[name](**decoded)
    _check_parts(kernel, decoded)
    return kernel


def _check_parts(kernel, parameters):
    """Refuse a kernel where a number belongs, or a number where a kernel belongs."""
    holders = {"left", "right", "kernel"}
    for key, value in parameters.items():
        if isinstance(value, Kernel) != (key in holders):
            raise ValueError(f"{type(kernel).__name__}: {key} cannot be a {type(value).__name__}.")


def _plain(value):
    """The value, which must be None, a word for gamma, or a number, as a number of Python's."""
    if value is None or (isinstance(value, str) and value in NAMED_GAMMAS):
        return value
    if isinstance(value, numbers.Integral) and abs(int(value)) <= LARGEST_WHOLE:
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return float(value)
    raise ValueError(f"a parameter of a kernel cannot be {str(value)[:100]!r}.")
