"""What the fitted attributes of every kind of estimator are: a table per kind.

The same check runs before a model is written and after it is read, so that no file is written that
cannot be read again.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

from maxmargin.estimators import gradient_descent, kernel_ridge, lasso, linear, perceptron
from maxmargin.estimators.base import SingleSVM
from maxmargin.estimators.feature_maps import FeatureMap, KernelMap
from maxmargin.estimators.kernel_approximation import Nystroem, RandomFourierFeatures
from maxmargin.estimators.linear_base import LinearModel
from maxmargin.estimators.linear_svm import LinearSVM
from maxmargin.estimators.margins import ROLES, TUBE_ROLES
from maxmargin.estimators.parameters import (
    FLAG,
    LINEAR_CONSTRAINTS,
    SVM_CONSTRAINTS,
    Constraint,
    is_real,
    is_whole,
)
from maxmargin.estimators.svc import ClassificationSVM
from maxmargin.estimators.svr import RegressionSVM
from maxmargin.files import rules
from maxmargin.files.fields import (
    Sizes,
    array_of,
    categories,
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
    text,
    trace,
)

# A question mark stands after an attribute that a model may lack.

FEATURES = {"n_features_in_": length("features"), "feature_names_in_?": names("features")}
# A model may know which column of a table it learned to predict, and where that column stood.
TARGET = {"target_name_?": text, "target_position_?": count}
SVM = {
    **FEATURES,
    **TARGET,
    "kernel_": kernel,
    "shape_fit_": shape("training rows", "features"),
    "support_": counts("support vectors"),
    "support_vectors_": either(
        floats("support vectors", "features", sparse=True), floats(0, "columns")
    ),
    "dual_coef_": floats("functions", "support vectors", sparse=True),
    "intercept_": floats("machines"),
    "converged_": flag,
    "fit_status_": count,
    "certificate_?": certificate,
}
SINGLE_SVM = {
    **SVM,
    "class_weight_?": floats("weights"),  # scikit-learn's machines have it, too
    "n_support_": counts(1),
    "n_iter_": count,
}
REGRESSION_SVM = {
    **SINGLE_SVM,
    "roles_?": array_of((TUBE_ROLES.dtype.str[1:],), "an array of roles", "training rows"),
}
CLASSIFICATION_SVM = {
    "classes_": labels,
    **SVM,
    "class_weight_": floats("classes"),
    "n_support_": counts("classes"),
    "n_iter_": counts("machines"),
    "norms_?": floats("machines"),
    "_trained?": flags("machines"),
    "_slopes?": floats("machines", 2),
    "_calibrated?": flag,
    "roles_?": array_of((ROLES.dtype.str[1:],), "an array of roles", "training rows"),
}
LINEAR = {
    **FEATURES,
    **TARGET,
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
    "certificate_?": either(nothing, certificate),  # None for an alpha of next to zero
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
# Scalers keep their numbers in the precision of the rows they were fitted on.
EACH = array_of(("f2", "f4", "f8"), "an array of floating-point numbers", "features")
STANDARD_SCALER = {
    **FEATURES,
    **dict.fromkeys(("mean_", "var_", "scale_"), either(nothing, EACH)),
    "n_samples_seen_?": either(count, number, counts("features"), EACH),
}
MAX_ABS_SCALER = {**FEATURES, "n_samples_seen_?": count, "scale_": EACH, "max_abs_": EACH}
MIN_MAX_SCALER = {
    **FEATURES,
    "n_samples_seen_?": count,
    **dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), EACH),
}
SIMPLE_IMPUTER = {**FEATURES, "statistics_": either(EACH, names("features"))}
ONE_HOT_ENCODER = {**FEATURES, "categories_": categories("features")}
COLUMN_TRANSFORMER = {**FEATURES, "sparse_output_": flag}


def one_of(*options):
    """A parameter that must be one of these words, None or False."""
    wanted = " or ".join(map(repr, options))
    return Constraint(wanted, lambda v: isinstance(v, (str, bool, type(None))) and v in options)


# These are the parameters of all scalers; a class has some of them.
SCALER_CONSTRAINTS = {
    **dict.fromkeys(("copy", "clip", "with_mean", "with_std"), FLAG),
    "feature_range": Constraint(
        "a pair of numbers, the smaller one first",
        lambda v: (
            isinstance(v, tuple)
            and [*map(is_real, v)] == [True] * 2
            and -np.inf < v[0] < v[1] < np.inf
        ),
    ),
}
IMPUTER_CONSTRAINTS = {
    "missing_values": Constraint("NaN", lambda v: isinstance(v, float) and np.isnan(v)),
    "strategy": one_of("mean", "median", "most_frequent"),
    "fill_value": one_of(None),
    "add_indicator": one_of(False),
    **dict.fromkeys(("copy", "keep_empty_features"), FLAG),
}
ENCODER_CONSTRAINTS = {
    "categories": one_of("auto"),
    "drop": one_of(None, "first", "if_binary"),
    "dtype": Constraint("float64", lambda v: v is np.float64),
    "handle_unknown": one_of("error", "ignore", "infrequent_if_exist", "warn"),
    "min_frequency": one_of(None),
    "max_categories": one_of(None),
    "feature_name_combiner": one_of("concat"),
    "sparse_output": FLAG,
}
COLUMN_CONSTRAINTS = {
    "remainder": one_of("drop", "passthrough"),
    "transformer_weights": one_of(None),
    "sparse_threshold": Constraint("a number from 0 to 1", lambda v: is_real(v) and 0 <= v <= 1),
    "verbose_feature_names_out": FLAG,
}


class Schema(NamedTuple):
    """The fields of a kind of estimator, the rules beyond them, and what its parameters may be."""

    fields: dict
    rule: Callable
    constraints: dict | None = None  # None means that the class has `_constraints`


# If a class has several of these bases, the first in its method resolution order decides.
SCHEMAS = {
    ClassificationSVM: Schema(CLASSIFICATION_SVM, rules.classification_svm, SVM_CONSTRAINTS),
    RegressionSVM: Schema(REGRESSION_SVM, rules.single_svm, SVM_CONSTRAINTS),
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
    Pipeline: Schema({}, rules.pipeline, {}),
    StandardScaler: Schema(STANDARD_SCALER, rules.standard_scaler, SCALER_CONSTRAINTS),
    MinMaxScaler: Schema(MIN_MAX_SCALER, rules.scaler, SCALER_CONSTRAINTS),
    MaxAbsScaler: Schema(MAX_ABS_SCALER, rules.scaler, SCALER_CONSTRAINTS),
    SimpleImputer: Schema(SIMPLE_IMPUTER, rules.imputer, IMPUTER_CONSTRAINTS),
    OneHotEncoder: Schema(ONE_HOT_ENCODER, rules.nothing_more, ENCODER_CONSTRAINTS),
    ColumnTransformer: Schema(COLUMN_TRANSFORMER, rules.column_transformer, COLUMN_CONSTRAINTS),
}
SEED = Constraint(
    "None or a whole number of at least 0", lambda v: v is None or (is_whole(v) and v >= 0)
)


def schema_of(cls):
    """The schema of a class, or None when the format does not know its kind."""
    return next((SCHEMAS[base] for base in cls.__mro__ if base in SCHEMAS), None)


def known_attributes(cls):
    return {name.rstrip("?") for name in schema_of(cls).fields}


def check_parameters(model):
    """Raise ValueError unless a file can hold the parameters."""
    constraints = schema_of(type(model)).constraints
    if constraints is None:
        constraints = model._constraints
    for name, constraint in {"random_state": SEED, **constraints}.items():
        value = getattr(model, name, None)
        if hasattr(model, name) and not constraint.holds(value):
            raise ValueError(f"{name} must be {constraint.wanted}, not {short(value)}.")


def check_model(model):
    """Raise ValueError unless the parameters and attributes make a model that can predict."""
    check_parameters(model)
    schema = schema_of(type(model))
    rules.check_kernel_is_of_parameters(model)
    sizes = Sizes()
    for marked, check in schema.fields.items():
        name = marked.rstrip("?")
        if name in vars(model):
            check(name, vars(model)[name], sizes)
        elif name == marked:
            raise ValueError(f"{name} is missing.")
    schema.rule(model)
