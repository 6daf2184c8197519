"""Kernel formulas once more, from the page: in long doubles, entry by entry, without any trick.

Each comes with a bound on what float64 may do to it, derived from the formula by the usual rules
(a sum of d terms loses d ulps of the sum of their sizes, a product adds relative errors). That
bound is what the fuzzer calls rounding; no tolerance is chosen by hand.
"""

from typing import NamedTuple

import numpy as np

LONG = np.longdouble
ULP = float(np.finfo(np.float64).eps)
TINY = 1e-290  # what underflow may lose
CANCELLED, FAR = 2e6, 4e4  # of distances: what may cancel, and below what it need not be looked at


class Rounded(NamedTuple):
    """A matrix, and for each entry how far a float64 evaluation may be from it."""

    value: np.ndarray
    error: np.ndarray

    @property
    def is_finite(self):
        """Whether float64 holds every entry, with room for sums of them, whatever its rounding."""
        return bool(np.all(np.abs(self.value) < 1e290) and np.all(self.error < 1e290))


def gram(kernel, X, Z=None):
    """k(x, z) for all pairs of rows; of a Gram matrix X, its columns."""
    X = X.astype(LONG)
    Z = X if Z is None else Z.astype(LONG)
    with np.errstate(over="ignore", invalid="ignore"):
        return FORMULAS[type(kernel).__name__](kernel, X, Z)


def _diagonal(kernel, X):
    rows = [gram(kernel, X[i : i + 1]) for i in range(len(X))]
    return Rounded(
        np.array([row.value[0, 0] for row in rows]), np.array([row.error[0, 0] for row in rows])
    )


def _dots(X, Z):
    size = np.abs(X) @ np.abs(Z).T
    return Rounded(X @ Z.T, (X.shape[1] + 4) * ULP * size + TINY)


def _shaped(kernel, X, Z):
    """gamma x.z + coef0"""
    dots = _dots(X, Z)
    value = kernel.gamma * dots.value + LONG(kernel.coef0)
    size = np.abs(kernel.gamma * dots.value) + abs(kernel.coef0)
    return Rounded(value, kernel.gamma * dots.error + 4 * ULP * size)


def _power(base, degree):
    value = base.value**degree
    error = (np.abs(base.value) + base.error) ** degree - np.abs(value)
    return Rounded(value, error + 2 * degree * ULP * np.abs(value) + TINY)


def _polynomial(kernel, X, Z):
    return _power(_shaped(kernel, X, Z), kernel.degree)


def _sigmoid(kernel, X, Z):
    inner = _shaped(kernel, X, Z)
    return Rounded(np.tanh(inner.value), np.minimum(2, inner.error) + 4 * ULP)


def _decaying(exponent, error):
    """exp(-exponent), when the exponent is known up to `error`."""
    value = np.exp(-exponent)
    wrong = value * np.expm1(np.minimum(error, 50)) + 8 * ULP * value
    return Rounded(value, np.minimum(wrong, 1) + TINY)


def _gaussian(kernel, X, Z):
    rate = kernel.gamma if kernel.sigma is None else 1 / (2 * LONG(kernel.sigma) ** 2)
    squares = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    # |x|^2 + |z|^2 - 2 x.z of centred points cancels: its error has the size of its terms, which
    # are at most the largest distance, whichever of the points the centre lies amid.
    lengths = squares.max(axis=1)[:, None] + squares.max(axis=0)
    # Where the terms are large and six digits cancel, differences take their place. The centre is
    # subtracted from both, which rounds every coordinate once.
    terms = np.minimum(lengths, np.maximum(CANCELLED * squares, FAR / max(rate, TINY)))
    farthest = np.maximum(np.abs(X).max(), np.abs(Z).max())
    moved = 4 * ULP * (np.sqrt(lengths) + ULP * farthest)
    wrong = 2 * np.sqrt(squares * X.shape[1]) * moved + X.shape[1] * moved**2
    return _decaying(rate * squares, rate * ((4 * X.shape[1] + 16) * ULP * terms + wrong))


def _laplacian(kernel, X, Z):
    distances = np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2)
    lengths = distances.max(axis=1)[:, None] + distances.max(axis=0)  # as for the Gaussian
    error = (X.shape[1] + 8) * ULP * (distances + lengths)
    return _decaying(kernel.gamma * distances, kernel.gamma * error)


def _precomputed(kernel, X, Z):
    return Rounded(X, np.zeros(X.shape))


def _sum(kernel, X, Z):
    left, right = gram(kernel.left, X, Z), gram(kernel.right, X, Z)
    value = left.value + right.value
    return Rounded(value, left.error + right.error + 2 * ULP * np.abs(value))


def _product(kernel, X, Z):
    left, right = gram(kernel.left, X, Z), gram(kernel.right, X, Z)
    value = left.value * right.value
    error = np.abs(left.value) * right.error + np.abs(right.value) * left.error
    return Rounded(value, error + left.error * right.error + 2 * ULP * np.abs(value) + TINY)


def _scaled(kernel, X, Z):
    inner = gram(kernel.kernel, X, Z)
    value = inner.value * LONG(kernel.factor)
    return Rounded(value, inner.error * kernel.factor + 2 * ULP * np.abs(value) + TINY)


def _exp(kernel, X, Z):
    return _exponential(*gram(kernel.kernel, X, Z))


def _exponential(exponent, error):
    """exp(exponent), when the exponent is known up to `error`."""
    value = np.exp(exponent)
    return Rounded(value, value * np.expm1(error) + 8 * ULP * value + TINY)


def _conformal(kernel, X, Z):
    inner = gram(kernel.kernel, X, Z)
    factors = np.outer(kernel.factor(X), kernel.factor(Z)).astype(LONG)
    error = factors * (inner.error + (2 * X.shape[1] + 8) * ULP * np.abs(inner.value))
    return Rounded(inner.value * factors, error + TINY)


def _normalised(kernel, X, Z):
    if type(kernel.kernel).__name__ == "Exp":
        return _normalised_exp(kernel.kernel.kernel, X, Z)
    inner = gram(kernel.kernel, X, Z)
    (left, doubt), (right, other) = (_lengths(kernel.kernel, points) for points in (X, Z))
    scale = np.outer(left, right)
    value = inner.value / scale
    relative = doubt[:, None] + other + 4 * ULP
    return Rounded(value, inner.error / scale + relative * np.abs(value))


def _normalised_exp(kernel, X, Z):
    """Divided before the exponential is taken, which even long doubles could not hold."""
    inner, own, other = gram(kernel, X, Z), _diagonal(kernel, X), _diagonal(kernel, Z)
    exponent = inner.value - (own.value[:, None] + other.value) / 2
    size = np.abs(inner.value) + (np.abs(own.value)[:, None] + np.abs(other.value)) / 2
    error = inner.error + (own.error[:, None] + other.error) / 2 + 4 * ULP * size
    return _exponential(exponent, error)


def _lengths(kernel, X):
    """|phi(x)|, one where that is zero, and their relative errors."""
    squares = _diagonal(kernel, X)
    positive = squares.value > 0
    lengths = np.where(positive, np.sqrt(np.maximum(squares.value, 0)), 1)
    return lengths, np.where(positive, squares.error / np.where(positive, squares.value, 1), 0)


FORMULAS = {
    "Linear": lambda kernel, X, Z: _dots(X, Z),
    "Custom": lambda kernel, X, Z: _dots(X, Z),  # the fuzzer's function is the dot product
    "Polynomial": _polynomial,
    "Sigmoid": _sigmoid,
    "RBF": _gaussian,
    "Laplacian": _laplacian,
    "Precomputed": _precomputed,
    "Sum": _sum,
    "Product": _product,
    "Scaled": _scaled,
    "Power": lambda kernel, X, Z: _power(gram(kernel.kernel, X, Z), kernel.degree),
    "Exp": _exp,
    "Conformal": _conformal,
    "Normalised": _normalised,
}
