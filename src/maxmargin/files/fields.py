"""What an attribute of a fitted model may hold.

A field is a function of an attribute's name, its value and the sizes known so far, which raises
ValueError with the reason. Shapes are written in words ("support vectors", "features"). A word
stands for one number throughout a model. The first attribute that uses it says which, and any other
that disagrees is refused.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.estimators.parameters import is_whole
from maxmargin.kernels import Kernel
from maxmargin.problems.certificate import Certificate


def short(value):
    """A few words for a value from a file, as the text of nested kernels could be endless."""
    is_plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value)[:100] if is_plain else f"a {type(value).__name__}"


class Sizes(dict):
    """The number each word stands for, and the attribute that said so."""

    def match(self, name, shape, words):
        if len(shape) != len(words):
            raise ValueError(f"{name} must have {len(words)} dimensions, not shape {shape}.")
        for length, word in zip(shape, words, strict=True):
            if isinstance(word, int):
                expected, source = word, f"there must be {word}"
            else:
                expected, by = self.setdefault(word, (length, name))
                source = f"by {by} there are {expected} {word}"
            if length != expected:
                raise ValueError(f"{name} has shape {shape}, but {source}.")


def array_of(kinds, described, *words, sparse=False, least=None):
    """An array of finite numbers, flags or text, with its shape in words."""

    def check(name, value, sizes):
        is_sparse = arrays.is_sparse(value)
        if not isinstance(value, np.ndarray) and not (sparse and is_sparse):
            raise ValueError(f"{name} must be {described}, not {type(value).__name__}.")
        if value.dtype.str[1:] not in kinds:
            raise ValueError(f"{name} must be {described}, not {value.dtype}.")
        sizes.match(name, value.shape, words)
        numbers = value.data if is_sparse else value
        if value.dtype.kind == "f" and not np.all(np.isfinite(numbers)):
            raise ValueError(f"{name} holds NaN or infinity.")
        if least is not None and numbers.size and numbers.min() < least:
            raise ValueError(f"{name} holds {numbers.min()}, less than {least}.")

    return check


def floats(*words, sparse=False):
    return array_of(("f8",), "an array of float64", *words, sparse=sparse)


def counts(*words):
    return array_of(("i4", "i8"), "an array of whole numbers", *words, least=0)


def flags(*words):
    return array_of(("b1",), "an array of flags", *words)


def scalar(wanted, holds):
    def check(name, value, sizes):
        if not holds(value):
            raise ValueError(f"{name} must be {wanted}, not {short(value)}.")

    return check


count = scalar("a whole number of at least 0", lambda v: is_whole(v) and v >= 0)
number = scalar("a number", lambda v: isinstance(v, float) and np.isfinite(v))
flag = scalar("True or False", lambda v: isinstance(v, bool))
nothing = scalar("None", lambda v: v is None)
text = scalar("text", lambda v: isinstance(v, str))
certificate = scalar("a certificate", lambda v: isinstance(v, Certificate))


def one_word(*words):
    wanted = "one of " + ", ".join(map(repr, words))
    return scalar(wanted, lambda v: isinstance(v, str) and v in words)


def either(*options):
    """The first of several kinds that fits; if none does, the error of the last one."""

    def check(name, value, sizes):
        for option in options[:-1]:
            try:
                return option(name, value, Sizes(sizes)) or option(name, value, sizes)
            except ValueError:
                continue
        return options[-1](name, value, sizes)

    return check


def length(word):
    """A whole number that says what a word stands for."""

    def check(name, value, sizes):
        count(name, value, sizes)
        sizes.match(name, (value,), (word,))

    return check


def shape(*words):
    def check(name, value, sizes):
        if not isinstance(value, tuple) or not all(is_whole(one) and one >= 0 for one in value):
            raise ValueError(f"{name} must be a shape, not {short(value)}.")
        sizes.match(name, value, words)

    return check


def list_of(option):
    def check(name, value, sizes):
        if not isinstance(value, list):
            raise ValueError(f"{name} must be a list, not {type(value).__name__}.")
        for one in value:
            option(name, one, sizes)

    return check


def names(word):
    """Texts as objects, as scikit-learn keeps the names of a data frame's columns."""

    def check(name, value, sizes):
        is_objects = isinstance(value, np.ndarray) and value.dtype == object
        if not is_objects or not all(isinstance(one, str) for one in value.flat):
            raise ValueError(f"{name} must be an array of names.")
        sizes.match(name, value.shape, (word,))

    return check


def labels(name, value, sizes):
    """Distinct labels in order: numbers, flags, text or bytes."""
    _check_kind(name, value, "biufUSO")
    sizes.match(name, value.shape, ("classes",))
    if len(value) < 2 or np.any(value[1:] <= value[:-1]):
        raise ValueError(f"{name} must be at least two labels, each greater than the last.")


def _check_kind(name, value, kinds):
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds:
        raise ValueError(f"{name} must be an array of labels.")
    if value.dtype.kind == "f" and not np.all(np.isfinite(value)):
        raise ValueError(f"{name} holds NaN or infinity.")


def categories(word):
    """A list with the distinct categories of each feature in order, as numbers or text."""

    def check(name, value, sizes):
        if not isinstance(value, list):
            raise ValueError(f"{name} must be a list, not {type(value).__name__}.")
        sizes.match(name, (len(value),), (word,))
        for one in value:
            _check_kind(name, one, "biufUO")
            is_text = one.dtype != object or all(isinstance(word, str) for word in one.flat)
            if not is_text or one.ndim != 1 or not len(one) or np.any(one[1:] <= one[:-1]):
                raise ValueError(f"{name} must be text or numbers, each greater than the last.")

    return check


def kernel(name, value, sizes):
    if not isinstance(value, Kernel):
        raise ValueError(f"{name} must be a kernel, not {type(value).__name__}.")
    value.check()


def iterates(name, value, sizes):
    """Where gradient descent stands, per problem; the bias is the last entry of w."""
    is_list = isinstance(value, list) and len(value) > 0
    if not is_list or any(type(one).__name__ != "Iterate" for one in value):  # its import is slow
        raise ValueError(f"{name} must be a list of iterates.")
    for one in value:
        for part in (one.w, one.mean):
            floats("features and bias")(name, part, sizes)


def trace(name, value, sizes):
    from maxmargin.solvers.gradient_descent import TRACE

    if not isinstance(value, np.ndarray) or value.dtype != TRACE or value.ndim != 1:
        raise ValueError(f"{name} must have a row per epoch.")
