"""What the fitted attributes of every kind of estimator are: a table per kind.

The same check runs before a model is written and after it is read, so that no file is written that
cannot be read again.
"""

from collections.abc import Callable
from typing import NamedTuple

from maxmargin.estimators import gradient_descent, kernel_ridge, lasso, linear, perceptron
from maxmargin.estimators.base import SingleSVM
from maxmargin.estimators.feature_maps import FeatureMap, KernelMap
from maxmargin.estimators.kernel_approximation import Nystroem, RandomFourierFeatures
from maxmargin.estimators.linear_base import LinearModel
from maxmargin.estimators.linear_svm import LinearSVM
from maxmargin.estimators.parameters import (
    LINEAR_CONSTRAINTS,
    SVM_CONSTRAINTS,
    Constraint,
    is_whole,
)
from maxmargin.estimators.svc import ClassificationSVM
from maxmargin.files import rules
from maxmargin.files.fields import (
    Sizes,
    array_of,
    certificate,
    count,
    counts,
    either,
    flag,
    flags,
    floats,
    iterates,
    kernel,
    labels,
    length,
    list_of,
    names,
    nothing,
    number,
    one_word,
    shape,
    short,
    trace,
)

# A question mark is for what a model may lack.

FEATURES = {
    "n_features_in_": length("features"),
    "feature_names_in_?": names("features"),
}
SVM = {
    **FEATURES,
    "kernel_": kernel,
    "shape_fit_": shape("training rows", "features"),
    "support_": counts("support vectors"),
    "support_vectors_": either(
        floats("support vectors", "features", sparse=True), floats(0, "columns")
    ),
    "dual_coef_": floats("functions", "support vectors", sparse=True),
    "intercept_": floats("machines"),
    "class_weight_?": floats("weights"),
    "converged_": flag,
    "fit_status_": count,
    "certificate_?": certificate,
}
SINGLE_SVM = {**SVM, "n_support_": counts(1), "n_iter_": count}
CLASSIFICATION_SVM = {
    "classes_": labels,
    **SVM,
    "n_support_": counts("classes"),
    "n_iter_": counts("machines"),
    "norms_?": floats("machines"),
    "_trained?": flags("machines"),
    "_slopes?": floats("machines", 2),
    "_calibrated?": flag,
    "roles_?": array_of(("U13",), "an array of roles", "training rows"),
}
LINEAR = {
    **FEATURES,
    "classes_?": labels,
    "coef_": either(floats("features"), floats("outputs", "features", sparse=True)),
    "intercept_": either(number, floats(), floats(1), floats("outputs")),
    "n_iter_?": either(count, list_of(count)),
    "converged_?": flag,
    "certificate_?": certificate,
}
LEAST_SQUARES = {
    **LINEAR,
    "rank_?": either(nothing, count),
    "singular_?": either(nothing, floats("singular values")),
    "certificate_?": either(nothing, certificate),  # next to no alpha leaves no dual problem
    "n_iter_?": either(nothing, counts("targets")),
    "solver_?": one_word("primal", "dual", "svd", "lsmr", "nonnegative"),
}
LASSO = {**LINEAR, "dual_gap_": either(number, floats("outputs"))}
GRADIENT_DESCENT = {**LINEAR, "t_": count, "_iterates": iterates, "trace_": trace}
PERCEPTRON = {
    **FEATURES,
    "classes_": labels,
    "converged_": flag,
    "coef_?": floats("outputs", "features"),
    "intercept_": floats("outputs"),
    "kernel_": either(nothing, kernel),
    "mistakes_": either(counts("training rows"), counts("outputs", "training rows")),
    "support_?": counts("support vectors"),
    "support_vectors_?": floats("support vectors", "features", sparse=True),
    "dual_coef_?": floats("outputs", "support vectors"),
    "n_updates_": count,
    "n_passes_": count,
    "mistakes_left_": count,
}
KERNEL_RIDGE = {
    **FEATURES,
    "kernel_": kernel,
    "dual_coef_": either(floats("training rows"), floats("training rows", "targets")),
    "X_fit_": either(floats("training rows", "features", sparse=True), floats("training rows", 0)),
    "n_iter_": count,
}
MAP = {**FEATURES, "_n_features_out": length("features out")}
KERNEL_MAP = {**MAP, "kernel_": kernel}
FOURIER = {
    **MAP,
    "kernel_": kernel,
    "gamma_": number,
    "frequencies_": floats("frequencies", "features"),
    "offsets_": floats("frequencies"),
}
NYSTROEM = {
    **MAP,
    "kernel_": kernel,
    "components_": either(
        floats("features out", "features", sparse=True), floats("features out", 0)
    ),
    "component_indices_": counts("features out"),
    "normalization_": floats("features out", "features out"),
    "rank_": count,
}


class Schema(NamedTuple):
    """The fields of a kind of estimator, the rules beyond them, and what its parameters may be."""

    fields: dict
    rule: Callable
    constraints: dict | None = None  # None: the class has `_constraints`


# Of several base classes the first in the class's own order decides.
SCHEMAS = {
    ClassificationSVM: Schema(CLASSIFICATION_SVM, rules.classification_svm, SVM_CONSTRAINTS),
    SingleSVM: Schema(SINGLE_SVM, rules.single_svm, SVM_CONSTRAINTS),
    LinearSVM: Schema(LINEAR, rules.linear_model, LINEAR_CONSTRAINTS),
    linear.SquaredLossModel: Schema(LEAST_SQUARES, rules.linear_model, linear.CONSTRAINTS),
    lasso.Lasso: Schema(LASSO, rules.linear_model, lasso.CONSTRAINTS),
    gradient_descent.GradientDescentModel: Schema(GRADIENT_DESCENT, rules.gradient_descent),
    perceptron.Perceptron: Schema(PERCEPTRON, rules.perceptron, perceptron.PERCEPTRON_CONSTRAINTS),
    LinearModel: Schema(LINEAR, rules.linear_model, {}),
    kernel_ridge.KernelRidge: Schema(KERNEL_RIDGE, rules.kernel_ridge, kernel_ridge.CONSTRAINTS),
    KernelMap: Schema(KERNEL_MAP, rules.kernel_map),
    RandomFourierFeatures: Schema(FOURIER, rules.fourier_features),
    Nystroem: Schema(NYSTROEM, rules.nystroem),
    FeatureMap: Schema(MAP, rules.feature_map),
}
SEED = Constraint(
    "None or a whole number of at least 0", lambda v: v is None or (is_whole(v) and v >= 0)
)


def schema_of(cls):
    """The schema of a class, or None when the format does not know its kind."""
    return next((SCHEMAS[base] for base in cls.__mro__ if base in SCHEMAS), None)


def known_attributes(cls):
    return {name.rstrip("?") for name in schema_of(cls).fields}


def check_model(model):
    """Raise ValueError unless the parameters and attributes make a model that can predict."""
    schema = schema_of(type(model))
    constraints = schema.constraints
    if constraints is None:
        constraints = model._constraints
    for name, constraint in {"random_state": SEED, **constraints}.items():
        value = getattr(model, name, None)
        if hasattr(model, name) and not constraint.holds(value):
            raise ValueError(f"{name} must be {constraint.wanted}, not {short(value)}.")
    rules.check_kernel_is_of_parameters(model)
    sizes = Sizes()
    for marked, check in schema.fields.items():
        name = marked.rstrip("?")
        if name in vars(model):
            check(name, vars(model)[name], sizes)
        elif name == marked:
            raise ValueError(f"{name} is missing.")
    schema.rule(model)
