"""The properties of a case, whoever is right: `check(case)` raises a Disagreement or returns.

Whatever is fitted must end in time, warn and refuse only in the documented ways, and give finite
numbers. What a family claims beyond that is checked in `kernel_checks` and `linear_checks`.
"""

import re
import signal
import threading
import warnings
from contextlib import contextmanager
from itertools import combinations
from typing import NamedTuple

import kernel_checks
import linear_checks
import numpy as np
from disagreement import require
from machines import class_costs
from plain import gram
from scipy import sparse
from strategies import CLASSIFIERS, KERNEL_MACHINES

from maxmargin.errors import ConvergenceWarning, MercerWarning, RankWarning
from maxmargin.kernels import RBF, Kernel, Laplacian, Linear, Normalised, Polynomial, Sigmoid

SECONDS = 30
OVERFLOW = "overflow|infinity"
MANY_CLASSES = "number of unique classes is greater than 50%"  # scikit-learn says so to everybody
DOCUMENTED_WARNINGS = (ConvergenceWarning, MercerWarning, RankWarning)


class Attempt(NamedTuple):
    model: object
    error: ValueError | None
    warnings: list


def check(case):
    """Raise a Disagreement unless everything that is promised of this case holds."""
    attempt = fitted(case, case.stored)
    refusal = expected_refusal(case)
    if attempt.error is not None:
        check_refusal(case, attempt.error, refusal)
        return
    require(refusal is None or refusal.optional, "accepts what it must refuse", refusal)
    check_warnings(case, attempt)
    check_finite(attempt.model)
    again = fitted(case, case.plain)
    require(again.error is None, "refuses the dense float64 version only", again.error)
    if refusal is not None and refusal.words.startswith(OVERFLOW):
        check_overflow(case, attempt.model)
        return
    if case.family in KERNEL_MACHINES:
        kernel_checks.check_machine(case, attempt.model, again.model)
    else:
        linear_checks.CHECKS[case.family](case, attempt.model, again.model)


def fitted(case, X):
    """Fit within the time limit; only a ValueError counts as a refusal."""
    model, error = case.estimator(), None
    with warnings.catch_warnings(record=True) as caught, time_limit(SECONDS):
        warnings.simplefilter("always")
        try:
            case.fit(model, X)
        except ValueError as refusal:
            error = refusal
    return Attempt(model, error, caught)


@contextmanager
def time_limit(seconds):
    """A Disagreement if the block takes longer, in seconds of the processor: a machine may be busy
    with something else. Solvers return to Python every 100 ms, which lets the signal through."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def too_long(*_):
        require(False, "does not end", f"still running after {seconds} s")

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# Refusals.


class Refusal(NamedTuple):
    """The words of an error that the case calls for; `optional` where floats cannot tell."""

    words: str
    optional: bool = False


def expected_refusal(case):
    if case.family == "GradientDescentRegressor":
        return Refusal("diverged|overflow", optional=True)  # its steps may be too long
    if not np.any(case.weights > 0):
        return Refusal("all samples have zero or negative weights")
    if case.family in CLASSIFIERS:
        classes, codes, cost = class_costs(case)
        if len(classes) < 2:
            return Refusal("number of classes has to be|at least 2 classes")
        if len(np.unique(codes[cost > 0])) < 2:
            return Refusal("all samples with positive weights belong to the same class")
        if case.family == "NuSVC" and (refusal := _infeasible_nu(case, codes, cost)):
            other = _kernel_refusal(case) if refusal.optional else None
            return Refusal(f"{refusal.words}|{other.words}", other.optional) if other else refusal
    refusal = _kernel_refusal(case) if "kernel" in case.parameters else None
    is_certain = refusal is not None and not refusal.optional
    if case.parameters.get("C") != np.inf or is_certain:
        return refusal
    # Of several pairs of classes, any may be the first to fail.
    words = "cannot be separated"
    return Refusal(f"{refusal.words}|{words}" if refusal else words, optional=True)


def _infeasible_nu(case, codes, cost):
    nu = case.parameters["nu"]
    for i, j in combinations(range(codes.max() + 1), 2):
        first, second = cost[codes == i].sum(), cost[codes == j].sum()
        if first == 0 or second == 0:
            continue
        largest = 2 * min(first, second) / (first + second)
        if nu > largest * (1 - 1e-9):
            return Refusal("nu is infeasible", optional=nu < largest * (1 + 1e-9))
    return None


def _kernel_refusal(case):
    kernel = kernel_of(case)
    parts = [kernel]
    for part in parts:
        parts += part.parts()
        if isinstance(part, Normalised):
            diagonal = np.diagonal(gram(part.kernel, case.plain).value)
            lowest, largest = float(np.min(diagonal)), float(np.max(np.abs(diagonal)))
            if np.any(diagonal < 0):  # a hair below zero may be rounding, of which ours has another
                is_hair = lowest > -max(1e-9 * largest, 1e-290)
                return Refusal("negative on the diagonal", optional=is_hair)
    if not gram(kernel, case.plain).is_finite:
        return Refusal(OVERFLOW, optional=True)
    return None


def kernel_of(case):
    """The kernel of the case with every parameter a number."""
    chosen = case.parameters
    kernel = chosen["kernel"]
    if not isinstance(kernel, Kernel):
        gamma, degree, coef0 = chosen["gamma"], chosen["degree"], chosen["coef0"]
        kernel = {
            "linear": Linear(),
            "poly": Polynomial(degree, gamma, coef0),
            "rbf": RBF(gamma),
            "sigmoid": Sigmoid(gamma, coef0),
            "laplacian": Laplacian(gamma),
        }[kernel]
    return kernel.resolve(case.plain, case.weights)


def check_refusal(case, error, refusal):
    require(refusal is not None, "refuses a valid case", repr(error))
    require(re.search(refusal.words, str(error)), "refuses in other words", repr(error))


def check_overflow(case, model):
    """The kernel overflows between some rows, but not in the fit: they may be of no weight. What is
    asked of them is a number or a refusal."""
    try:
        values = model.predict(case.stored)
    except ValueError as error:
        require(re.search(OVERFLOW, str(error)), "refuses in other words", repr(error))
        return
    if values.dtype.kind == "f":
        require(np.all(np.isfinite(values)), "predicts something not finite", values)


# Warnings and numbers.


def check_warnings(case, attempt):
    for caught in attempt.warnings:
        if MANY_CLASSES in str(caught.message):
            continue
        require(
            issubclass(caught.category, DOCUMENTED_WARNINGS),
            "warns of something else",
            f"{caught.category.__name__}: {caught.message}",
        )
    kinds = {caught.category for caught in attempt.warnings}
    require(len(kinds) == len(attempt.warnings), "warns twice", [str(w) for w in attempt.warnings])
    if hasattr(attempt.model, "converged_"):
        told = ConvergenceWarning in kinds
        require(told is not attempt.model.converged_, "is silent about convergence", kinds)
    if MercerWarning in kinds:
        known = kernel_of(case).positive_semidefinite is True
        require(not known, "doubts a kernel that is positive semidefinite", kinds)


def check_finite(model):
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_"):
            continue
        values = value.data if sparse.issparse(value) else value
        if isinstance(values, (float, np.ndarray)) and np.asarray(values).dtype.kind == "f":
            require(np.all(np.isfinite(values)), "is not finite", name)
