"""What must hold between the attributes of a fitted model, beyond their kinds and shapes.

There is one function per kind of estimator, which raises ValueError with the reason.
"""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from maxmargin import arrays
from maxmargin.estimators.feature_maps import CircleMap, PolynomialMap, XNORMap
from maxmargin.files.columns import REMAINDER, is_word
from maxmargin.files.fields import short
from maxmargin.kernels import Kernel, Linear, Normalised, Polynomial, Power, Product, Scaled, Sum
from maxmargin.kernels.named import PAIRWISE_NAMES, kernel_named

# The kernel that each name makes, whose class and parameters the fitted one must have.
NAMED = {name: kernel_named(name) for name in PAIRWISE_NAMES}
COUNTLESS = 2**40  # No map can have more features than these.


def require(holds, reason):
    if not holds:
        raise ValueError(reason)


def check_kernel_is_of_parameters(model):
    """`kernel_` must be the parameter `kernel`, with numbers in place of its words."""
    if not hasattr(model, "kernel_"):
        return
    asked = getattr(model, "kernel", Polynomial() if isinstance(model, PolynomialMap) else None)
    fits = model.kernel_ is None if asked is None else _is_form_of(asked, model.kernel_)
    require(fits, f"kernel_ is a {type(model.kernel_).__name__}, not what kernel asks for.")


def _is_form_of(asked, fitted):
    if isinstance(asked, str):
        asked = NAMED.get(asked)
    if not isinstance(asked, Kernel) or type(asked) is not type(fitted):
        return False
    return all(map(_is_form_of, asked.parts(), fitted.parts()))


def classification_svm(model):
    how = model._decomposition(len(model.classes_))  # a loaded model will have this one
    require(
        len(model.intercept_) == len(how.tasks),
        f"intercept_ has {len(model.intercept_)} entries, but {how.n_classes} classes make "
        f"{len(how.tasks)} machines.",
    )
    there = [hasattr(model, name) for name in ("norms_", "_trained", "_slopes", "_calibrated")]
    require(all(there) or not any(there), "norms_, _trained, _slopes or _calibrated is missing.")
    has_sigmoids = all(there) or model.probability is not True
    require(has_sigmoids, "probability is True, but _slopes is missing.")
    _svm(model, how.n_coef_rows)


def single_svm(model):
    require(len(model.intercept_) == 1, f"intercept_ has {len(model.intercept_)} entries, not one.")
    _svm(model, 1)


def _svm(model, n_functions):
    rows = model.dual_coef_.shape[0]
    require(rows == n_functions, f"dual_coef_ has {rows} rows instead of {n_functions}.")
    total, found = int(np.sum(model.n_support_, dtype=np.int64)), len(model.support_)
    require(total == found, f"n_support_ sums to {total}, but support_ has {found} entries.")
    _check_rows(model.support_, model.shape_fit_[0], "support_")
    is_gram = model.kernel_.takes == "gram"
    n, d = model.shape_fit_
    require(not is_gram or n == d, f"shape_fit_ is {(n, d)}, but a Gram matrix is square.")
    n_vectors = arrays.n_rows(model.support_vectors_)
    require(
        n_vectors == (0 if is_gram else total),
        f"support_vectors_ has {n_vectors} rows, but there are {total} support vectors.",
    )
    require(
        is_gram or model.support_vectors_.shape[1] == d, "support_vectors_ has too few columns."
    )
    same = arrays.is_sparse(model.dual_coef_) == arrays.is_sparse(model.support_vectors_)
    require(same, "dual_coef_ and support_vectors_ must both be sparse, or neither.")
    model._check_unaltered()


def _check_rows(rows, n, name):
    """They must be different row numbers of n training rows."""
    require(not len(rows) or rows.max() < n, f"{name} names a row beyond the {n} training rows.")
    require(len(np.unique(rows)) == len(rows), f"{name} names a row twice.")


def linear_model(model):
    """A model must have as many outputs as the classes need, and one bias for each."""
    classes = getattr(model, "classes_", None)
    coef_shape = model.coef_.shape
    if classes is not None:
        n_outputs = 1 if len(classes) == 2 else len(classes)
        require(
            len(coef_shape) == 2 and coef_shape[0] == n_outputs,
            f"coef_ has shape {coef_shape}, but {len(classes)} classes need {n_outputs} rows.",
        )
    n_outputs = coef_shape[0] if len(coef_shape) == 2 else 1
    n_biases = np.size(model.intercept_)
    is_shared = isinstance(model.intercept_, float)
    require(
        is_shared or n_biases == n_outputs,
        f"intercept_ has {n_biases} entries, but coef_ has {n_outputs} rows.",
    )


def gradient_descent(model):
    linear_model(model)
    n_outputs, d = model.coef_.reshape(-1, model.n_features_in_).shape
    fits = len(model._iterates) == n_outputs and len(model._iterates[0].w) == d + 1
    require(fits, "_iterates and coef_ are of different sizes.")


def perceptron(model):
    n_outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
    require(len(model.intercept_) == n_outputs, "intercept_ has not an entry for each machine.")
    rows = np.atleast_2d(model.mistakes_).shape[0]
    require(rows == n_outputs, "mistakes_ has not a row for each machine.")
    if model.kernel_ is None:
        require(hasattr(model, "coef_"), "coef_ is missing.")
        return
    for name in ("support_", "support_vectors_", "dual_coef_"):
        require(hasattr(model, name), f"{name} is missing.")
    require(len(model.support_) > 0, "support_ is empty.")
    _check_rows(model.support_, model.mistakes_.shape[-1], "support_")


def kernel_ridge(model):
    is_gram = model.kernel_.takes == "gram"
    width = 0 if is_gram else model.n_features_in_
    require(model.X_fit_.shape[1] == width, f"X_fit_ must have {width} columns.")
    n = len(model.dual_coef_)
    require(not is_gram or n == model.n_features_in_, "a Gram matrix must be square.")


def feature_map(model):
    expected = {XNORMap: 1, CircleMap: model.n_features_in_ + 1}.get(type(model))
    require(expected in (None, model._n_features_out), "_n_features_out is not what it must be.")


def kernel_map(model):
    expected = n_map_features(model.kernel_, model.n_features_in_)
    require(model._n_features_out == expected, f"_n_features_out must be {expected}.")


def n_map_features(kernel, d):
    """How long the feature vectors of a kernel are, without making one."""
    if isinstance(kernel, Polynomial):
        require(kernel.coef0 >= 0, "a Polynomial with coef0 below 0 has no finite feature map.")
        return _n_monomials(d + (kernel.coef0 > 0), kernel.degree)
    if isinstance(kernel, Linear):
        return d
    if not isinstance(kernel, (Sum, Product, Scaled, Power, Normalised)):
        raise ValueError(f"{type(kernel).__name__} has no finite feature map.")
    parts = [n_map_features(part, d) for part in kernel.parts()]
    if isinstance(kernel, Sum):
        return sum(parts)
    if isinstance(kernel, Product):
        return parts[0] * parts[1]
    if isinstance(kernel, Power):
        fits = parts[0] < 2 or kernel.degree < 40
        return parts[0] ** kernel.degree if fits else COUNTLESS
    return parts[0]


def _n_monomials(n_factors, degree):
    """The number of ways to choose `degree` of the factors, with repetition, in any order."""
    total, fewest = n_factors + degree - 1, min(degree, n_factors - 1)
    ways = 1
    for k in range(max(0, fewest)):
        ways = ways * (total - k) // (k + 1)
        if ways > COUNTLESS:
            return COUNTLESS
    return ways if n_factors or not degree else 0


def fourier_features(model):
    in_pairs = model.form == "sincos"
    expected = len(model.offsets_) * (2 if in_pairs else 1)
    require(model._n_features_out == expected, f"_n_features_out must be {expected}.")
    require(model.n_components == expected, f"n_components must be {expected}.")


def nystroem(model):
    require(model.rank_ <= model._n_features_out, "rank_ is larger than the number of landmarks.")
    is_gram = model.kernel_.takes == "gram"
    width = 0 if is_gram else model.n_features_in_
    require(model.components_.shape[1] == width, f"components_ must have {width} columns.")
    if is_gram:
        _check_rows(model.component_indices_, model.n_features_in_, "component_indices_")


def scaler(model):
    require(np.all(model.scale_ > 0), "scale_ holds numbers that are not positive.")


def standard_scaler(model):
    require(not model.with_mean or model.mean_ is not None, "with_mean is True, but mean_ is None.")
    require(not model.with_std or model.scale_ is not None, "with_std is True, but scale_ is None.")
    if model.scale_ is not None:
        scaler(model)


def nothing_more(model):
    """There are no rules beyond the fields."""


def imputer(model):
    is_text = model.statistics_.dtype == object
    require(not is_text or model.strategy == "most_frequent", "statistics_ must be numbers.")


def column_transformer(model):
    """Its steps must have known columns, and every column must be listed."""
    triples, d = model.transformers, model.n_features_in_
    are_triples = isinstance(triples, list) and all(isinstance(one, tuple) for one in triples)
    fits = are_triples and {*map(len, triples)} == {3}
    require(fits, "transformers must be triples of a name, a step and its columns.")
    *names, last = [name for name, _, _ in triples]
    names += [last] * (last != REMAINDER)
    check_names(names, ColumnTransformer._get_param_names())
    is_rest = last != REMAINDER or triples[-1][1] == model.remainder
    require(is_rest, f"the {REMAINDER} is not what the parameter says.")
    mentioned = np.zeros(0, dtype=np.int64)
    for name, step, places in triples:
        is_row = isinstance(places, np.ndarray) and places.dtype == np.int64 and places.ndim == 1
        require(is_row, f"the columns of {name!r} must be an array of positions.")
        require(is_word(step) or len(places) > 0, f"{name!r} has no columns.")
        mentioned = np.union1d(mentioned, places)
        if not is_word(step):
            inner = [one for _, one in step.steps] if isinstance(step, Pipeline) else [step]
            is_flat = not any(isinstance(one, ColumnTransformer) for one in inner)
            require(is_flat, f"the step {name!r} has columns of columns.")
            check_takes(name, step, len(places))
    whole = len(mentioned) == d > 0 and mentioned[0] == 0 and mentioned[-1] == d - 1
    require(whole, f"transformers must mention each of the {d} columns, and no others.")


def check_names(names, reserved):
    for name in names:
        fits = isinstance(name, str) and "__" not in name and name not in reserved
        require(fits, f"a step cannot be called {short(name)}.")
    require(len(set(names)) == len(names), "two steps have the same name.")


def check_takes(name, step, width):
    """A step must be a transformer that takes `width` features, if that is known."""
    is_transformer = hasattr(step, "n_features_in_") and hasattr(step, "transform")
    require(is_transformer, f"the step {name!r} is no transformer.")
    d = step.n_features_in_
    require(width in (None, d), f"the step {name!r} takes {d} features, but gets {width}.")


def n_features_out(step):
    """How many features a fitted transformer gives."""
    if isinstance(step, Pipeline):
        return width_after(step.steps)
    if isinstance(step, ColumnTransformer):
        return max(part.stop for part in step.output_indices_.values())
    if isinstance(step, OneHotEncoder):
        return len(step.get_feature_names_out())
    return getattr(step, "_n_features_out", step.n_features_in_)


def is_idle(step):
    return step is None or (isinstance(step, str) and step == "passthrough")


def pipeline(model):
    """It must have transformers before an estimator of ours."""
    check_pairs(model.steps)
    name, last = model.steps[-1]
    is_ours = type(last).__module__.startswith("maxmargin.") and hasattr(last, "n_features_in_")
    require(is_ours, "the last step must be an estimator of maxmargin.")
    width, d = width_after(model.steps[:-1]), last.n_features_in_
    require(width in (None, d), f"the step {name!r} takes {d} features, but gets {width}.")


def column_pipeline(model):
    """It must have transformers only, for some columns of a table."""
    check_pairs(model.steps)
    require(width_after(model.steps) is not None, "no step does anything.")


def check_pairs(steps):
    are_pairs = isinstance(steps, list) and all(isinstance(one, tuple) for one in steps)
    require(are_pairs and {*map(len, steps)} == {2}, "steps must be pairs of a name and a step.")
    check_names([name for name, _ in steps], Pipeline._get_param_names())


def width_after(steps):
    """How many features transformers give, each of which must take as many as the one before gives;
    None if no step does anything."""
    width = None
    for name, step in steps:
        if not is_idle(step):
            require(not isinstance(step, Pipeline), f"the step {name!r} is a Pipeline within one.")
            check_takes(name, step, width)
            width = n_features_out(step)
    return width
