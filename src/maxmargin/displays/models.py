"""What displays read off fitted models: the step that decides, its rows, trace and problems."""

from itertools import combinations

from sklearn.pipeline import Pipeline

from maxmargin.errors import class_of
from maxmargin.kernels import Custom, Kernel
from maxmargin.solvers import TEACHING


def last_step(estimator):
    """The model itself, or the one at the end of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def rows_at_last_step(estimator, X):
    """X as it reaches the model at the end of a pipeline."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return estimator[:-1].transform(X)
    return X


def trace_of(estimator, owner):
    model = last_step(estimator)
    if not hasattr(model, "trace_"):
        raise ValueError(
            f"{owner}: {class_of(model)} has no trace_. Fit an SVM with trace=True, and with "
            f"solver={TEACHING[2]!r} or another teaching solver to see every pair; or fit a "
            "gradient descent model."
        )
    return model.trace_


def kernel_of(model):
    """The kernel of a fitted model as an object, every parameter a number; None without one."""
    given = getattr(model, "kernel", None)
    if callable(given) and not isinstance(given, Kernel):
        return Custom(given)  # the model itself knows only the matrix that the function gave it
    return getattr(model, "kernel_", None)


def is_one_vs_rest(model):
    """Kernel machines know what they were fitted as; linear models have a problem per class."""
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
