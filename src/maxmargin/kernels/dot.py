"""Kernels that are functions of the dot product x.z: linear, polynomial, sigmoid."""

from collections import Counter
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np

from maxmargin import arrays
from maxmargin.kernels.base import Kernel, as_rows, check_number, check_whole_number, integer_power
from maxmargin.kernels.pairs import Points
from maxmargin.kernels.scale import check_gamma, resolved_gamma
from maxmargin.memory import check_room


class Linear(Kernel):
    """The dot product: k(x, z) = x.z.

    Examples
    --------
    >>> from maxmargin.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    positive_semidefinite = True

    def formula(self, pairs):
        return pairs.dots()

    def diagonal_formula(self, points):
        return arrays.squared_norms(points.numbers).astype(points.dtype)

    def feature_map(self, X):
        return Points(as_rows(X)).numbers

    def n_features_of_map(self, n_features):
        return n_features


class ShapedDot(Kernel):
    """k(x, z) = shape(gamma x.z + coef0); a subclass writes `shape`."""

    def check(self):
        check_gamma(self)
        check_number(self, "coef0", self.coef0)

    def resolve(self, X, sample_weight=None):
        return resolved_gamma(self, X, sample_weight)

    def formula(self, pairs):
        return self._of_dots(pairs.dots())

    def diagonal_formula(self, points):
        return self._of_dots(arrays.squared_norms(points.numbers).astype(points.dtype))

    def _of_dots(self, dots):
        dots *= self.gamma
        dots += self.coef0
        return self.shape(dots)


class Polynomial(ShapedDot):
    """k(x, z) = (gamma x.z + coef0)**degree.

    Parameters
    ----------
    degree : int of at least 0, default=3
    gamma : float of at least 0, "scale" or "auto", default=1.0
    coef0 : float, default=0.0
        Negative values are allowed, as in LIBSVM, but the kernel is then indefinite.

    Examples
    --------
    >>> from maxmargin.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    def __init__(self, degree=3, gamma=1.0, coef0=0.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def positive_semidefinite(self):
        return True if self.coef0 >= 0 else None

    def check(self):
        check_whole_number(self, "degree", self.degree, at_least=0)
        super().check()

    def shape(self, values):
        return integer_power(values, self.degree)

    def feature_map(self, X):
        """One feature per monomial of degree `degree` in (sqrt(gamma) x, sqrt(coef0)).

        By the multinomial theorem its coefficient is the square root of the number of ways to
        order its factors.
        """
        self.check()
        if self.coef0 < 0:
            return super().feature_map(X)
        X = arrays.dense(Points(as_rows(X)).numbers)
        shape = len(X), self.n_features_of_map(X.shape[1])
        check_room(f"The feature map of {self}", shape)
        columns = X * np.sqrt(self.gamma)
        if self.coef0 > 0:
            columns = np.column_stack([columns, np.full(len(X), np.sqrt(self.coef0))])
        features = np.empty(shape)
        monomials = combinations_with_replacement(range(columns.shape[1]), self.degree)
        for k, factors in enumerate(monomials):
            features[:, k] = _monomial(columns, factors)
        return features

    def n_features_of_map(self, n_features):
        if self.coef0 < 0:
            return super().n_features_of_map(n_features)
        n_columns = n_features + (self.coef0 > 0)
        # Monomials are multisets; without a column there is only the empty one, of degree 0.
        return comb(n_columns + self.degree - 1, self.degree) if n_columns else int(not self.degree)


def _monomial(columns, factors):
    orders = factorial(len(factors)) / prod(factorial(c) for c in Counter(factors).values())
    return np.sqrt(orders) * np.prod(columns[:, list(factors)], axis=1)


class Sigmoid(ShapedDot):
    """k(x, z) = tanh(gamma x.z + coef0), which is declared not to be positive semidefinite.

    Examples
    --------
    >>> from maxmargin.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5).positive_semidefinite
    False
    """

    positive_semidefinite = False

    def __init__(self, gamma=1.0, coef0=0.0):
        self.gamma = gamma
        self.coef0 = coef0

    def shape(self, values):
        return np.tanh(values, out=values)
