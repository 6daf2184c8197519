"""What displays read from fitted models: the last step, its rows, trace and problems."""

from itertools import combinations

import numpy as np
from sklearn.pipeline import Pipeline

from maxmargin import arrays
from maxmargin.errors import class_of
from maxmargin.estimators.base import SingleSVM
from maxmargin.estimators.pipelines import last_step
from maxmargin.kernels import Custom, Kernel
from maxmargin.problems.trace import Trace
from maxmargin.solvers import TEACHING


def rows_at_last_step(estimator, X):
    """X as it reaches the model at the end of a pipeline."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return estimator[:-1].transform(X)
    return X


def multipliers_of(estimator, X):
    """|alpha| of every row of X, the largest over the machines; zeros if the fit was not on X."""
    machine, X = last_step(estimator), rows_at_last_step(estimator, X)
    alpha = np.zeros(arrays.n_rows(X))
    if _was_fitted_on(machine, X):
        alpha[machine.support_] = np.abs(arrays.dense(machine.dual_coef_)).max(axis=0)
    return alpha


def _was_fitted_on(machine, X):
    is_ours = hasattr(machine, "roles_") or isinstance(machine, SingleSVM)
    if not is_ours or machine.shape_fit_[0] != arrays.n_rows(X):
        return False
    machine._check_unaltered()
    rows = np.asarray(arrays.dense(X), dtype=np.float64)[machine.support_]
    return np.array_equal(rows, arrays.dense(machine.support_vectors_))


def trace_of(estimator, owner):
    model = last_step(estimator)
    if not hasattr(model, "trace_"):
        raise ValueError(
            f"{owner}: {class_of(model)} has no trace_. Fit an SVM with trace=True, and with "
            f"solver={TEACHING[2]!r} or another teaching solver to see every pair; or fit a "
            "gradient descent model."
        )
    return model.trace_


def steps_of(trace, problem, owner):
    """The steps that a teaching solver made in one binary problem."""
    steps = trace.steps[trace.steps["problem"] == problem] if isinstance(trace, Trace) else ()
    if not len(steps):
        raise ValueError(
            f"{owner}: the trace has no steps of problem {problem}. Fit an SVC with trace=True "
            f"and one of the solvers {', '.join(map(repr, TEACHING))}."
        )
    return steps


def check_rows_of(trace, problem, rows, owner):
    """Refuse rows that cannot be those of the trace."""
    n_points = len(trace.replay(problem, 0))
    if n_points != len(rows):
        raise ValueError(
            f"{owner}: the trace is of {n_points} points and X has {len(rows)}; give the rows "
            "that the model was fitted on."
        )


def kernel_of(model):
    """The kernel of a fitted model as an object, every parameter a number; None without one."""
    given = getattr(model, "kernel", None)
    if callable(given) and not isinstance(given, Kernel):
        return Custom(given)  # the model itself knows only the matrix of the function
    return getattr(model, "kernel_", None)


def is_one_vs_rest(model):
    """Whether each class has a problem against the rest, as in every linear model."""
    if hasattr(model, "_is_one_vs_rest"):
        return model._is_one_vs_rest()
    return len(model.classes_) > 2


def problem_names(model):
    """The binary problems of a classifier in the order of its trace; none for a regressor."""
    if not hasattr(model, "classes_"):
        return []
    classes = model.classes_.tolist()
    if is_one_vs_rest(model):
        return [f"{label} or rest" for label in classes]
    return [f"{first} or {second}" for first, second in combinations(classes, 2)]


def binary_problem(classes, y, problem, one_vs_rest):
    """The rows of a binary problem, which of them are its +1, and the positions of the classes of
    its -1 and its +1, where None stands for the rest.

    The rows are in the order of the machine's variables: those of a pair, one class after the
    other.
    """
    everyone = np.arange(len(y))
    if len(classes) == 2:
        return everyone, y == classes[1], (0, 1)
    if one_vs_rest:
        return everyone, y == classes[problem], (None, problem)
    first, second = list(combinations(range(len(classes)), 2))[problem]
    rows = np.concatenate([np.flatnonzero(y == classes[k]) for k in (first, second)])
    return rows, y[rows] == classes[first], (second, first)
