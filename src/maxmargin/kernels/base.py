"""Kernel, and the algebra that makes new kernels out of old ones.

A kernel writes two formulas: its value on pairs of points and its value on the diagonal. A composed
kernel (a*K, K1 + K2, K1*K2, K**p, exp K, f(x) K f(z), the normalised kernel) writes the same two in
terms of its parts, and the explicit feature map where it is finite. Invariant: sums, products,
positive multiples and limits of positive semidefinite kernels are positive semidefinite, and
`positive_semidefinite` is True only where that is known.
"""

import numbers
from collections.abc import Hashable
from copy import copy
from math import prod

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from maxmargin import arrays
from maxmargin.errors import KernelError, NoFeatureMapError
from maxmargin.kernels.pairs import Pairs, Points, points_of
from maxmargin.memory import check_room


class Kernel(BaseEstimator):
    """A symmetric function k(x, z); a class says whether it is positive semidefinite.

    Call it on one set of points for the Gram matrix, on two for the matrix between them. Combine
    kernels with `+`, `*`, `**`, a positive number, `exp`, `conformal` and `normalised`. Parameters
    are read and set as in scikit-learn, so `kernel__gamma` is a grid key.
    """

    #: True, False (declared indefinite) or None (not known: `fit` looks at its matrix).
    positive_semidefinite: bool | None = None
    is_bounded = False  # whether k(x, z) is finite for all points with finite squared norms
    asks_rows = False  # whether a formula needs the points, not only the values of its parts

    @property
    def takes(self):
        """What the rows of X hold: "features", rows of a "gram" matrix, or "anything"."""
        kinds = {part.takes for part in self.parts()}
        if "gram" in kinds:
            return "gram"
        return "anything" if kinds == {"anything"} else "features"

    @property
    def needs_all_rows(self):
        """Whether a part of it is a function that is called on all training rows at once."""
        return any(part.needs_all_rows for part in self.parts())

    __array_ufunc__ = None  # np.float64(2) * kernel then calls the kernel

    def formula(self, pairs):
        """The matrix of k over `pairs`, as a new array."""
        raise TypeError(f"{type(self).__name__} does not define its formula.")

    def diagonal_formula(self, points):
        """k(x, x) for every point."""
        raise TypeError(f"{type(self).__name__} does not define its diagonal.")

    @np.errstate(
        over="ignore", invalid="ignore"
    )  # the caller sees inf or NaN and says what overflowed
    def __call__(self, X, Z=None):
        """The matrix k(x, z), in float64."""
        self.check()
        X, Z = self._as_rows(X), None if Z is None else self._as_rows(Z)
        self._check_rows(X, X if Z is None else Z)
        if Z is not None and arrays.is_sparse(X) != arrays.is_sparse(Z):
            X, Z = arrays.dense(X), arrays.dense(Z)
        shape = arrays.n_rows(X), arrays.n_rows(X if Z is None else Z)
        check_room(f"{type(self).__name__}: the kernel matrix", shape)
        pairs = Pairs(*points_of(X, Z))
        return np.asarray(self.formula(pairs), dtype=np.float64)

    def _as_rows(self, X):
        """X as the formula takes it; a kernel that takes anything gets a data frame as it is."""
        is_frame = self.takes == "anything" and hasattr(X, "iloc")
        return X if is_frame else as_rows(X)

    def _check_rows(self, X, Z):
        if self.takes == "anything":
            return
        name, shapes = type(self).__name__, (np.shape(X), np.shape(Z))
        if any(len(shape) != 2 for shape in shapes):
            raise ValueError(f"{name}: points are rows of a table, got arrays of shapes {shapes}.")
        if self.takes == "features" and shapes[0][1] != shapes[1][1]:
            raise ValueError(f"{name}: both sets must have as many features, got {shapes}.")

    @np.errstate(over="ignore", invalid="ignore")
    def diagonal(self, X):
        """k(x, x) for every row of X, in float64."""
        self.check()
        return np.asarray(self.diagonal_formula(Points(self._as_rows(X))), dtype=np.float64)

    def cosines(self, pairs):
        """k(x, z) / sqrt(k(x, x) k(z, z)) over `pairs`; zero where a feature vector is zero."""
        return self.formula(pairs) / (self._lengths(pairs.A)[:, None] * self._lengths(pairs.B))

    def own_cosines(self, points):
        """The cosine of every point with itself: one, or zero."""
        return self.diagonal_formula(points) / self._lengths(points) ** 2

    def _lengths(self, points):
        """The lengths of the feature vectors; one for those that are zero."""
        squares = np.asarray(self.diagonal_formula(points), dtype=np.float64)
        if np.any(squares < 0):
            raise KernelError(f"Normalised: {self} is negative on the diagonal.")
        return np.where(squares > 0, np.sqrt(squares), 1.0).astype(points.dtype)

    def feature_map(self, X):
        """phi(X) with phi(x).phi(z) = k(x, z), where a finite one exists."""
        raise NoFeatureMapError(f"{self} has no finite feature map.")

    def n_features_of_map(self, n_features):
        """How many features the map makes of `n_features`, if possible without making them."""
        return self.feature_map(np.zeros((1, n_features))).shape[1]

    def _html_repr(self):
        """The view in a notebook: that of scikit-learn's estimators, without a word about whether
        it is fitted, as a kernel is a formula."""
        return estimator_html_repr(self).replace("Not fitted", "Kernel")

    def parts(self):
        """The kernels this one is made of."""
        return [value for value in vars(self).values() if isinstance(value, Kernel)]

    @property
    def key(self):
        """A key that is equal for kernels of equal parameters. A function equals only itself."""
        return type(self), tuple((name, _key_of(value)) for name, value in vars(self).items())

    def resolve(self, X, sample_weight=None):
        """A copy in which parameters that depend on the data, rows or `Points`, are numbers."""
        resolved = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Kernel):
                setattr(resolved, name, value.resolve(X, sample_weight))
        return resolved

    def check(self):
        """Raise ValueError if a parameter has no meaning; composed kernels check their parts."""
        for part in self.parts():
            part.check()
        kinds = {part.takes for part in self.parts()}
        if "gram" in kinds and self.asks_rows:
            raise ValueError(
                f"{type(self).__name__}: a precomputed matrix allows only multiples, sums, "
                "products, powers and exp; this needs the points themselves."
            )
        if "gram" in kinds and len(kinds) > 1:
            raise ValueError(
                f"{type(self).__name__}: a precomputed matrix cannot be combined with a kernel of "
                "features: X is either the one or the other."
            )

    def __add__(self, other):
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other):
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if _is_number(other) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, degree):
        return Power(self, degree)

    def exp(self):
        """The kernel e^k(x, z), the sum of all powers of k, the p-th over p factorial."""
        return Exp(self)

    def conformal(self, factor):
        """The kernel f(x) k(x, z) f(z); `factor` maps an array of rows to one number each."""
        return Conformal(self, factor)

    def normalised(self):
        """The kernel k(x, z) / sqrt(k(x, x) k(z, z)): the cosine in feature space."""
        return Normalised(self)


class Sum(Kernel):
    """k1 + k2: the two feature maps side by side."""

    def __init__(self, left, right):
        self.left = left
        self.right = right

    @property
    def positive_semidefinite(self):
        return _all_known(self.left, self.right)

    def formula(self, pairs):
        return self.left.formula(pairs) + self.right.formula(pairs)

    def diagonal_formula(self, points):
        return self.left.diagonal_formula(points) + self.right.diagonal_formula(points)

    def feature_map(self, X):
        return _hstack(self.left.feature_map(X), self.right.feature_map(X))

    def n_features_of_map(self, n_features):
        return sum(part.n_features_of_map(n_features) for part in self.parts())


class Product(Kernel):
    """k1 * k2: every product of a feature of the one with a feature of the other."""

    def __init__(self, left, right):
        self.left = left
        self.right = right

    @property
    def positive_semidefinite(self):
        return _all_known(self.left, self.right)

    def formula(self, pairs):
        return self.left.formula(pairs) * self.right.formula(pairs)

    def diagonal_formula(self, points):
        return self.left.diagonal_formula(points) * self.right.diagonal_formula(points)

    def feature_map(self, X):
        return _all_products(self.left.feature_map(X), self.right.feature_map(X))

    def n_features_of_map(self, n_features):
        return prod(part.n_features_of_map(n_features) for part in self.parts())


class Scaled(Kernel):
    """a * k with a > 0: every feature times sqrt(a)."""

    def __init__(self, kernel, factor):
        self.kernel = kernel
        self.factor = factor

    @property
    def positive_semidefinite(self):
        return self.kernel.positive_semidefinite

    def check(self):
        check_number(self, "factor", self.factor, above=0.0)
        self.kernel.check()

    def formula(self, pairs):
        return self.kernel.formula(pairs) * self.factor

    def diagonal_formula(self, points):
        return self.kernel.diagonal_formula(points) * self.factor

    def feature_map(self, X):
        self.check()
        return self.kernel.feature_map(X) * np.sqrt(self.factor)

    def n_features_of_map(self, n_features):
        return self.kernel.n_features_of_map(n_features)


class Power(Kernel):
    """k**p for a positive integer p: the p-fold product of k with itself."""

    def __init__(self, kernel, degree):
        self.kernel = kernel
        self.degree = degree

    @property
    def positive_semidefinite(self):
        return True if self.kernel.positive_semidefinite else None

    def check(self):
        check_whole_number(self, "degree", self.degree, at_least=1)
        self.kernel.check()

    def formula(self, pairs):
        return integer_power(self.kernel.formula(pairs), self.degree)

    def diagonal_formula(self, points):
        return integer_power(self.kernel.diagonal_formula(points), self.degree)

    def feature_map(self, X):
        self.check()
        features = once = self.kernel.feature_map(X)
        for _ in range(self.degree - 1):
            features = _all_products(features, once)
        return features

    def n_features_of_map(self, n_features):
        self.check()
        return self.kernel.n_features_of_map(n_features) ** self.degree


class Exp(Kernel):
    """e^k = 1 + k + k^2 / 2 + k^3 / 6 + ...: a limit of kernels, with an infinite feature map.

    Examples
    --------
    The Gaussian kernel is that of the dot product, normalised:

    >>> from maxmargin.kernels import Linear
    >>> (2 * 0.5 * Linear()).exp().normalised()([[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    def __init__(self, kernel):
        self.kernel = kernel

    @property
    def positive_semidefinite(self):
        return True if self.kernel.positive_semidefinite else None

    def formula(self, pairs):
        values = self.kernel.formula(pairs)
        return np.exp(values, out=values)

    def diagonal_formula(self, points):
        return np.exp(self.kernel.diagonal_formula(points))

    def cosines(self, pairs):
        """The cosines, divided before the exponential is taken, so that it cannot overflow."""
        A, B = (0.5 * self.kernel.diagonal_formula(points) for points in (pairs.A, pairs.B))
        return np.exp(self.kernel.formula(pairs) - (A[:, None] + B))

    def own_cosines(self, points):
        return np.ones(len(points), dtype=points.dtype)


class Conformal(Kernel):
    """f(x) k(x, z) f(z): the feature map of k times f."""

    asks_rows = True

    def __init__(self, kernel, factor):
        self.kernel = kernel
        self.factor = factor

    @property
    def positive_semidefinite(self):
        return self.kernel.positive_semidefinite

    def formula(self, pairs):
        factors = self._factor_of(pairs.A)[:, None] * self._factor_of(pairs.B)
        return self.kernel.formula(pairs) * factors

    def diagonal_formula(self, points):
        return self.kernel.diagonal_formula(points) * self._factor_of(points) ** 2

    def feature_map(self, X):
        factor = self._factor_of(Points(as_rows(X)))
        return sparse.diags_array(factor) @ self.kernel.feature_map(X)

    def n_features_of_map(self, n_features):
        return self.kernel.n_features_of_map(n_features)

    def _factor_of(self, points):
        factor = np.asarray(self.factor(points.X), dtype=points.dtype)
        if factor.shape != (len(points),):
            raise KernelError(
                f"Conformal: factor must return one number per row ({len(points)}), "
                f"got an array of shape {factor.shape}."
            )
        return factor


class Normalised(Kernel):
    """k(x, z) / sqrt(k(x, x) k(z, z)): feature vectors scaled to length one.

    A point whose feature vector is zero has no direction, and the value 0 with every point.
    """

    asks_rows = True

    def __init__(self, kernel):
        self.kernel = kernel

    @property
    def positive_semidefinite(self):
        return self.kernel.positive_semidefinite

    def formula(self, pairs):
        return self.kernel.cosines(pairs)

    def diagonal_formula(self, points):
        return self.kernel.own_cosines(points)

    def feature_map(self, X):
        lengths = self.kernel._lengths(Points(as_rows(X)))
        return sparse.diags_array(1 / lengths) @ self.kernel.feature_map(X)

    def n_features_of_map(self, n_features):
        return self.kernel.n_features_of_map(n_features)


def integer_power(values, degree):
    """values**degree by repeated squaring, which is exact for integers and avoids `pow`."""
    result = None
    while degree:
        if degree & 1:
            result = values.copy() if result is None else result * values
        degree >>= 1
        if degree:
            values = values * values
    return np.ones_like(values) if result is None else result


def check_number(owner, name, value, above=None, at_least=None):
    """Refuse a parameter that is not a finite real number in its range."""
    wanted = "a number"
    if above is not None:
        wanted = f"a number above {above:g}"
    elif at_least is not None:
        wanted = f"a number of at least {at_least:g}"
    fits = _is_number(value) and np.isfinite(value)
    fits = fits and (above is None or value > above) and (at_least is None or value >= at_least)
    if not fits:
        raise ValueError(f"{type(owner).__name__}: {name} must be {wanted}, got {value!r}.")


def check_whole_number(owner, name, value, at_least):
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not is_whole or value < at_least:
        raise ValueError(
            f"{type(owner).__name__}: {name} must be a whole number of at least {at_least}, "
            f"got {value!r}."
        )


def _is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def as_rows(X):
    """X as formulas take it: an array, a CSR matrix, or a list of objects that are not numbers."""
    if arrays.is_sparse(X) or isinstance(X, np.ndarray) or not _holds_numbers(X):
        return arrays.canonical(X)
    return np.asarray(X, dtype=np.float64)


def _holds_numbers(X):
    """Whether a list is a list of rows of numbers, and not of strings or other objects."""
    try:
        values = np.asarray(X)
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    # NumPy would also read the string "010" as the number 10.
    return not any(isinstance(value, (str, bytes)) for value in values.flat[:1])


def _key_of(value):
    if isinstance(value, Kernel):
        return value.key
    return value if isinstance(value, Hashable) else _Itself(value)


class _Itself:
    """A key for a value that cannot be compared, such as an array: it equals only itself."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Itself) and self.value is other.value

    def __hash__(self):
        return id(self.value)


def _all_known(*kernels):
    return True if all(kernel.positive_semidefinite for kernel in kernels) else None


def _hstack(left, right):
    if arrays.is_sparse(left) or arrays.is_sparse(right):
        return sparse.hstack([left, right], format="csr")
    return np.hstack([left, right])


def _all_products(left, right):
    """Every product of an entry of `left` with an entry of `right`, row by row."""
    if arrays.is_sparse(left) or arrays.is_sparse(right):
        left, right = sparse.csc_array(left), sparse.csc_array(right)
        columns = [left[:, [k]].multiply(right) for k in range(left.shape[1])]
        return sparse.hstack(columns, format="csr")
    check_room("The feature map of a product", (len(left), left.shape[1] * right.shape[1]))
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
