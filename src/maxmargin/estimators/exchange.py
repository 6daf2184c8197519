"""Fitted models to and from scikit-learn's classes, without fitting again."""

import numpy as np
import sklearn.svm
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.estimators.one_class import OneClassSVM
from maxmargin.estimators.parameters import kernel_of
from maxmargin.estimators.svc import SVC, NuSVC
from maxmargin.estimators.svr import SVR, NuSVR
from maxmargin.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid

CLASSES = {cls.__name__: cls for cls in (SVC, NuSVC, SVR, NuSVR, OneClassSVM)}


def to_sklearn(model):
    """scikit-learn's estimator with the parameters and the solution of a fitted model of ours.

    That is an SVC, NuSVC, SVR, NuSVR or OneClassSVM with a kernel that scikit-learn has. Its
    probabilities are not carried over.

    Examples
    --------
    >>> from maxmargin import SVC, to_sklearn
    >>> theirs = to_sklearn(SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1]))
    >>> type(theirs).__module__, theirs.predict([[0.9]])
    ('sklearn.svm._classes', array([1]))
    """
    if CLASSES.get(type(model).__name__) is not type(model):
        raise TypeError(
            f"to_sklearn: expected a fitted {', '.join(CLASSES)} of ours, got {model!r}."
        )
    check_is_fitted(model)
    model._check_unaltered()
    if hasattr(model, "classes_") and model._is_one_vs_rest():
        raise TypeError("to_sklearn: scikit-learn's SVC has no multi_class='ovr'.")
    if model._is_of_function():
        raise TypeError("to_sklearn: a function as kernel needs the training rows, too.")
    name = type(model).__name__
    theirs = getattr(sklearn.svm, name)
    if theirs is type(model):
        raise TypeError("to_sklearn: sklearn.svm is patched; call unpatch_sklearn() first.")
    known = theirs().get_params()
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k in known}
    parameters.pop("probability", None)
    parameters.update(_kernel_parameters(model.kernel_))
    fitted = theirs(**parameters)
    for attribute in ("support_", "support_vectors_", "dual_coef_", "intercept_", "shape_fit_",
                      "fit_status_", "n_iter_", "classes_", "class_weight_", "n_features_in_",
                      "feature_names_in_", "offset_"):  # fmt: skip
        if hasattr(model, attribute):
            setattr(fitted, attribute, getattr(model, attribute))
    _fill_private_attributes(fitted, model)
    return fitted


def _fill_private_attributes(fitted, model):
    """Set what scikit-learn's predictions read, such as LIBSVM's signs and two counts."""
    binary = len(getattr(model, "classes_", ())) == 2
    sign = -1.0 if binary else 1.0
    fitted._dual_coef_ = sign * model.dual_coef_
    fitted._intercept_ = sign * model.intercept_
    fitted._sparse = arrays.is_sparse(model.support_vectors_)
    counts = model.n_support_
    fitted._n_support = counts if len(counts) > 1 else np.array([counts[0], 0], dtype=np.int32)
    fitted._num_iter = np.atleast_1d(model.n_iter_).astype(np.int32)
    fitted._probA = fitted._probB = np.empty(0)
    fitted._gamma = float(_kernel_parameters(model.kernel_).get("gamma", 0.0))
    fitted._effective_probability = False
    if fitted._sparse:
        _fill_sparse_pattern(fitted)


def _fill_sparse_pattern(fitted):
    """Store sparse coefficients with every place filled, as scikit-learn does."""
    dense = fitted._dual_coef_.toarray()
    rows, columns = dense.shape
    indices = np.tile(np.arange(columns), rows)
    indptr = columns * np.arange(rows + 1)
    fitted._dual_coef_ = sparse.csr_matrix((dense.ravel(), indices, indptr), (rows, columns))


def _kernel_parameters(kernel):
    if isinstance(kernel, RBF):
        return {"kernel": "rbf", "gamma": kernel.rate}
    if isinstance(kernel, Polynomial):
        shape = {"degree": kernel.degree, "coef0": kernel.coef0}
        return {"kernel": "poly", "gamma": kernel.gamma, **shape}
    if isinstance(kernel, Sigmoid):
        return {"kernel": "sigmoid", "gamma": kernel.gamma, "coef0": kernel.coef0}
    if isinstance(kernel, Linear):
        return {"kernel": "linear"}
    if isinstance(kernel, Precomputed):
        return {"kernel": "precomputed"}
    raise TypeError(f"to_sklearn: scikit-learn has no kernel like {kernel}.")


def from_sklearn(model):
    """Our estimator with the parameters and the solution of a fitted model of scikit-learn's.

    It predicts the same. There is no certificate, because the training data are not known, and
    probabilities are not carried over.

    Examples
    --------
    >>> import sklearn.svm
    >>> from maxmargin import from_sklearn
    >>> ours = from_sklearn(sklearn.svm.SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1]))
    >>> type(ours).__module__, ours.predict([[0.9]])
    ('maxmargin.estimators.svc', array([1]))
    """
    name = type(model).__name__
    if name not in CLASSES or not type(model).__module__.startswith("sklearn.svm"):
        raise TypeError(f"from_sklearn: expected a fitted SVM of scikit-learn, got {model!r}.")
    if callable(model.kernel):
        raise TypeError("from_sklearn: a model with a function as kernel keeps no training rows.")
    ours = CLASSES[name]()
    known = ours.get_params()
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k in known}
    parameters.pop("probability", None)
    ours.set_params(**parameters)
    for attribute in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_",
                      "shape_fit_", "fit_status_", "n_iter_", "classes_", "class_weight_",
                      "n_features_in_", "feature_names_in_"):  # fmt: skip
        if hasattr(model, attribute):
            setattr(ours, attribute, getattr(model, attribute))
    if hasattr(model, "classes_"):
        ours._keep_decomposition()
    else:  # a single machine counts all support vectors
        ours.n_support_ = np.array([len(ours.support_)], dtype=np.int32)
    kernel = kernel_of(ours)
    if "gamma" in kernel.get_params():
        kernel.set_params(gamma=model._gamma)
    ours.kernel_ = kernel
    ours.converged_ = model.fit_status_ == 0
    return ours
