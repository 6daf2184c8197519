"""Disagreements that are scikit-learn's: what it does, why that is wrong, and how to see it.

`KNOWN` is the list; the suite runs every reproduction, so that an entry goes when scikit-learn is
mended. The functions at the end say where the fuzzer does not ask scikit-learn because of it.
"""

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import sklearn.svm

from maxmargin.kernels import RBF


class Known(NamedTuple):
    """`still_there` is True as long as scikit-learn behaves like that."""

    what: str
    why: str
    still_there: Callable[[], bool]


def _not_finite(model, X, *y):
    """Whether a valid fit is refused because LIBSVM came out with something not finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, *y)
        except ValueError as error:
            return "not finite" in str(error)
    return False


def _writes_past_the_end():
    """In a process of its own, because it may end there: refusals for not being finite, an abort,
    or both. The rows and weights are ordinary."""
    program = (
        "import numpy as np, sklearn.svm\n"
        "rng = np.random.default_rng(0)\n"
        "for _ in range(400):\n"
        "    X = rng.standard_normal((int(rng.integers(2, 40)), 2))\n"
        "    weight = rng.uniform(0.1, 3, len(X))\n"
        "    sklearn.svm.OneClassSVM(nu=1.0, gamma=1.0).fit(X, sample_weight=weight)\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True)
    return done.returncode != 0


def _hangs():
    """In a process of its own, which is given three seconds from its first word on."""
    program = (
        "import sklearn.svm\n"
        "print('begun', flush=True)\n"
        "model = sklearn.svm.LinearSVC(dual=False, fit_intercept=False, max_iter=10)\n"
        "model.fit([[1e-310], [2e-310], [-1e-310], [3e-310]], [0, 1, 0, 1])\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    return False


def _forgets_a_class():
    """Of three classes the first has no weight; what is left is numbered from the first again."""
    X, y = np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2]
    model = sklearn.svm.SVC(gamma=1.0, C=100.0).fit(X, y, [0, 0, 1, 1, 1, 1])
    return bool(np.any(model.predict(X) == 0))


def _loses_count_of_rows():
    """The row of no weight comes first, so every number of a support vector is one too small."""
    X, y = np.arange(5.0)[:, None], [0, 0, 0, 1, 1]
    model = sklearn.svm.SVC(kernel="linear").fit(X, y, [0, 1, 1, 1, 1])
    return not np.array_equal(X[model.support_], model.support_vectors_)


def _ignores_class_weight():
    X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]], [0, 0, 1, 0, 1, 1]
    plain, leaning = (
        sklearn.svm.NuSVC(nu=0.3, gamma=1.0, class_weight=weight).fit(X, y)
        for weight in (None, {0: 2.0})
    )
    return np.array_equal(plain.dual_coef_, leaning.dual_coef_)


def _ignores_max_iter():
    X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 1, 2, 0, 1, 2]
    model = sklearn.svm.LinearSVC(multi_class="crammer_singer", C=100.0, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y).n_iter_ > 1


KNOWN = [
    Known(
        "LinearSVC of Crammer and Singer ignores max_iter",
        "the limit is not handed on to that solver, which makes up to 100,000 passes; the warning "
        "that the limit was reached comes all the same, also where it converged",
        _ignores_max_iter,
    ),
    Known(
        "OneClassSVM with nu=1 and sample weights writes past the end of an array",
        "it hands out nu sum w_i in portions of w_i until nothing is left, and what rounding "
        "leaves over goes to the row after the last",
        _writes_past_the_end,
    ),
    Known(
        "OneClassSVM refuses nu=1",
        "every multiplier is at its bound, which leaves rho an interval that is open on one side, "
        "and the midpoint of that is taken to be infinite",
        lambda: _not_finite(sklearn.svm.OneClassSVM(nu=1.0, gamma=1.0), [[1.0], [2.0], [4.0]]),
    ),
    Known(
        "NuSVR stopped by max_iter may be refused, instead of a warning and the model so far",
        "as above, where no multiplier happens to be free at that moment",
        lambda: _not_finite(
            sklearn.svm.NuSVR(kernel="linear", C=100.0, tol=1e-6, max_iter=10),
            [
                [0.1257302210933933],
                [-0.1321048632913019],
                [0.6404226504432821],
                [0.10490011715303971],
            ],
            [
                1.500082230375852e-05,
                -3.8242578737638305e-06,
                2.1526846890434995e-05,
                1.471416767372713e-05,
            ],
        ),
    ),
    Known(
        "NuSVC refuses data whose reduced hulls meet",
        "the solution is divided by a margin of zero",
        lambda: _not_finite(sklearn.svm.NuSVC(kernel="linear"), [[0.0], [0.0]], [0, 1]),
    ),
    Known(
        "NuSVC ignores class_weight",
        "LIBSVM multiplies C by it, and nu-SVC has no C",
        _ignores_class_weight,
    ),
    Known(
        "LinearSVC with dual=False never ends on subnormal features, whatever max_iter is",
        "the gradient underflows to a length of zero, and its trust region shrinks for ever",
        _hangs,
    ),
    Known(
        "kernel values above 3.4e38 are refused",
        "rows of the kernel matrix are float32",
        lambda: _not_finite(sklearn.svm.SVC(kernel="precomputed"), 1e40 * np.eye(2), [0, 1]),
    ),
    Known(
        "the RBF kernel of points far from the origin may be infinite",
        "|x|^2 + |z|^2 - 2 x.z is formed from the rows as they are; where rounding makes it "
        "negative, its exponential is beyond float32",
        lambda: _not_finite(
            sklearn.svm.OneClassSVM(gamma=1.0),
            1e12 + np.array([[6653.0], [14073.0], [-11162.0], [15395.0]]),
        ),
    ),
    Known(
        "support_ counts only the rows that have weight",
        "those of no weight are removed before LIBSVM numbers them; with a precomputed kernel the "
        "wrong columns are then used to predict",
        _loses_count_of_rows,
    ),
    Known(
        "SVC predicts a class whose rows all weigh nothing",
        "the rows are removed and the other classes numbered anew, but not their names",
        _forgets_a_class,
    ),
]

LARGEST_FLOAT32 = 3.4e38
CERTAIN = 1 - 1e-9  # a nu that rounding cannot tell from 1


def is_beyond_sklearn(case):
    """Whether scikit-learn crashes here, or solves another problem."""
    if case.family == "OneClassSVM" and case.weight is not None:
        return case.parameters["nu"] > CERTAIN
    if case.family == "NuSVC" and case.parameters["class_weight"] is not None:
        return True
    return bool(np.any(case.weights == 0))


def is_known_refusal(case, kernel, largest, error):
    """Refusals of valid cases, given the largest entry of the kernel matrix."""
    if "not finite" not in str(error):
        return False
    if isinstance(kernel, RBF) and kernel.rate * np.max(np.abs(case.plain)) ** 2 > 1e15:
        return True
    nothing_free = case.family == "OneClassSVM" and case.parameters["nu"] > CERTAIN
    nothing_free = nothing_free or case.family == "NuSVR"
    return case.family == "NuSVC" or nothing_free or largest > 1e-3 * LARGEST_FLOAT32
