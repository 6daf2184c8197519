"""What must hold between the attributes of a fitted model, beyond their kinds and shapes.

One function per kind of estimator; each raises ValueError with the reason.
"""

import numpy as np

from maxmargin import arrays
from maxmargin.estimators.feature_maps import CircleMap, PolynomialMap, XNORMap
from maxmargin.estimators.parameters import PAIRWISE_KERNELS
from maxmargin.estimators.svc import SVC
from maxmargin.kernels import Kernel, Linear, Normalised, Polynomial, Power, Product, Scaled, Sum

# What each name makes; an SVC has every parameter that a kernel may take from its estimator.
NAMED = {name: kernel_for(SVC()) for name, kernel_for in PAIRWISE_KERNELS.items()}
COUNTLESS = 2**40  # more features than any map can have


def require(holds, reason):
    if not holds:
        raise ValueError(reason)


def check_kernel_is_of_parameters(model):
    """`kernel_` is the parameter `kernel` with its words made numbers, and nothing else."""
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
    how = model._decomposition(len(model.classes_))  # as the file will say
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
    """Different row numbers of n training rows."""
    require(not len(rows) or rows.max() < n, f"{name} names a row beyond the {n} training rows.")
    require(len(np.unique(rows)) == len(rows), f"{name} names a row twice.")


def linear_model(model):
    """As many outputs as the classes need; one bias for each."""
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
    """The ways to choose `degree` of the factors, in any order and again and again."""
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
