"""Explicit feature maps as transformers: after them, a linear machine does a kernel's work.

Invariant: the dot product of two rows of `transform` is exactly the kernel; maps that only
approximate it are in `kernel_approximation`.
"""

from collections import Counter
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.errors import NoFeatureMapError
from maxmargin.estimators.limits import restored_on_error
from maxmargin.estimators.parameters import (
    AT_LEAST_ZERO,
    SVM_CONSTRAINTS,
    Constraint,
    check_parameters,
)
from maxmargin.estimators.validation import check_result, validate_data
from maxmargin.kernels import Kernel, Linear, Polynomial
from maxmargin.memory import check_room


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer that takes dense or sparse rows and returns features in float64.

    A subclass writes `_learn`, which keeps what the map needs and `_n_features_out`, and `_map`.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {}
    _precisions: ClassVar[list[type]] = [np.float64]  # rows in these are taken as they are

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y=None):
        """Learn the map from the rows of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        with restored_on_error(self):
            check_parameters(self, self._constraints)
            with np.errstate(over="ignore", invalid="ignore"):  # `transform` checks its features
                self._learn(self._rows_of(X, reset=True))
        return self

    def transform(self, X):
        """phi(x) for every row of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        features : array of shape (n, n_features_out), sparse where the map keeps rows sparse
        """
        check_is_fitted(self)
        X = self._rows_of(X, reset=False)
        self._check_unaltered()
        with np.errstate(over="ignore", invalid="ignore"):  # checked in the next line
            features = self._map(X)
        return self._finite(features)

    def _finite(self, features):
        return check_result(self, "the features", features)

    def _check_unaltered(self):
        """Refuse altered attributes, in a map that keeps more than a kernel."""

    def _rows_of(self, X, reset):
        """X in one of the map's precisions, C-ordered or canonical CSR."""
        return arrays.canonical(validate_data(self, X, reset=reset, dtype=self._precisions))

    def _input_names(self, input_features):
        """The names of the features that come in: as fitted, as given, or x0, x1, ..."""
        return OneToOneFeatureMixin.get_feature_names_out(self, input_features)


class KernelMap(FeatureMap):
    """The feature map of any kernel that has a finite one: phi(x).phi(z) = k(x, z).

    Parameters
    ----------
    kernel : "linear" or Kernel, default="linear"
        A linear or polynomial kernel, or what the algebra builds from them.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel of the fit, with every parameter a number.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import KernelMap
    >>> from maxmargin.kernels import Linear, Polynomial
    >>> phi = KernelMap(4 * Linear() + Polynomial(degree=2))
    >>> phi.fit_transform([[1.0, 0.0], [0.0, 3.0]])
    array([[2., 0., 1., 0., 0.],
           [0., 6., 0., 0., 9.]])
    """

    _constraints: ClassVar = {
        "kernel": Constraint(
            "'linear' or a Kernel",
            lambda v: isinstance(v, Kernel) or (isinstance(v, str) and v == "linear"),
        )
    }

    def __init__(self, kernel="linear"):
        self.kernel = kernel

    def _kernel(self):
        return Linear() if isinstance(self.kernel, str) else self.kernel

    def _learn(self, X):
        kernel = self._kernel().resolve(X)
        kernel.check()
        try:
            self._n_features_out = kernel.n_features_of_map(X.shape[1])
        except NoFeatureMapError as reason:
            raise NoFeatureMapError(
                f"{type(self).__name__}: {reason} RandomFourierFeatures or Nystroem give an "
                "approximate one."
            ) from None
        if not arrays.is_sparse(X) or isinstance(kernel, Polynomial):  # its features are dense
            check_room(
                f"{type(self).__name__}: the features of a single row", (1, self._n_features_out),
                "Use a smaller degree, or SVC with the kernel itself.",
            )  # fmt: skip
        self.kernel_ = kernel

    def _map(self, X):
        return self.kernel_.feature_map(X)


class PolynomialMap(KernelMap):
    """All monomials of the polynomial kernel: phi(x).phi(z) = (gamma x.z + coef0)**degree.

    Each monomial has the weight that makes this an equation, such as sqrt(2) for x0 x1 in the
    square; `get_feature_names_out` names the monomials without their weights.

    Parameters
    ----------
    degree : int of at least 0, default=2
    gamma : float of at least 0, "scale" or "auto", default=1.0
    coef0 : float of at least 0, default=1.0
        Zero leaves only the monomials of full degree.

    Attributes
    ----------
    kernel_ : Polynomial
        The kernel of the fit, with gamma a number.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import PolynomialMap
    >>> phi = PolynomialMap(degree=2, coef0=0.0).fit([[1.0, 2.0]])
    >>> phi.get_feature_names_out()
    array(['x0^2', 'x0 x1', 'x1^2'], dtype=object)
    >>> phi.transform([[1.0, 2.0]]).round(3)
    array([[1.   , 2.828, 4.   ]])
    """

    _constraints: ClassVar = {
        "degree": SVM_CONSTRAINTS["degree"],
        "gamma": SVM_CONSTRAINTS["gamma"],
        "coef0": AT_LEAST_ZERO,
    }

    def __init__(self, degree=2, gamma=1.0, coef0=1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _kernel(self):
        return Polynomial(self.degree, self.gamma, self.coef0)

    def get_feature_names_out(self, input_features=None):
        """The monomials, in the order of the features."""
        factors = list(self._input_names(input_features))
        if self.kernel_.coef0 > 0:
            factors.append(None)  # the constant takes part in products but has no name
        # This is the order of Polynomial.feature_map.
        monomials = combinations_with_replacement(range(len(factors)), self.kernel_.degree)
        names = [_monomial_name(factors[k] for k in monomial) for monomial in monomials]
        return np.array(names, dtype=object)


def _monomial_name(factors):
    """x0^2 x1 for the factors x0, x0, x1; 1 for none."""
    powers = Counter(name for name in factors if name is not None)
    return " ".join(name if p == 1 else f"{name}^{p}" for name, p in powers.items()) or "1"


class XNORMap(FeatureMap):
    """x -> x1 x2, which is positive where the signs agree, so that a threshold separates XNOR.

    In d dimensions it is the product of all features, whose sign is the parity of the number of
    negative ones; the textbook has two.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import XNORMap
    >>> XNORMap().fit_transform([[1, 1], [-1, -1], [-1, 1], [1, -1]]).ravel()
    array([ 1.,  1., -1., -1.])
    """

    def _learn(self, X):
        self._n_features_out = 1

    def _map(self, X):
        return np.prod(arrays.dense(X), axis=1, keepdims=True)

    def get_feature_names_out(self, input_features=None):
        """The one name, which joins the names of all features."""
        return np.array([" ".join(self._input_names(input_features))], dtype=object)


class CircleMap(FeatureMap):
    """x -> (x1, x2, x1^2 + x2^2), which lifts the plane onto a bowl, where planes cut out circles.

    In d dimensions |x|^2 is the last of d + 1 features. The kernel is x.z + |x|^2 |z|^2.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import CircleMap
    >>> CircleMap().fit_transform([[3.0, 4.0]])
    array([[ 3.,  4., 25.]])
    """

    def _learn(self, X):
        self._n_features_out = X.shape[1] + 1

    def _map(self, X):
        heights = arrays.squared_norms(X)[:, None]
        if arrays.is_sparse(X):
            return sparse.hstack([X, heights], format="csr")
        return np.hstack([X, heights])

    def get_feature_names_out(self, input_features=None):
        """The names of the features, and |x|^2."""
        return np.append(self._input_names(input_features), "|x|^2")
