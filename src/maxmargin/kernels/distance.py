"""Kernels that are functions of the distance between x and z: RBF (Gaussian) and Laplacian."""

import numpy as np

from maxmargin.kernels.base import Kernel, check_number
from maxmargin.kernels.scale import check_gamma, resolved_gamma


class RBF(Kernel):
    """k(x, z) = exp(-gamma |x - z|^2), or by width, exp(-|x - z|^2 / (2 sigma^2)).

    Parameters
    ----------
    gamma : float of at least 0, "scale" or "auto", default=1.0
    sigma : float above 0, optional
        If it is given, gamma is 1 / (2 sigma^2).

    Examples
    --------
    >>> from maxmargin.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    >>> RBF(sigma=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.1353]])
    """

    positive_semidefinite = is_bounded = True

    def __init__(self, gamma=1.0, sigma=None):
        self.gamma = gamma
        self.sigma = sigma

    @property
    def rate(self):
        """The factor of the squared distance in the exponent."""
        return self.gamma if self.sigma is None else 1.0 / (2.0 * self.sigma**2)

    def check(self):
        if self.sigma is None:
            check_gamma(self)
        else:
            check_number(self, "sigma", self.sigma, above=0.0)
            if not 1e-150 < self.sigma < 1e150:
                raise ValueError(
                    f"RBF: sigma must have a finite, positive square, got {self.sigma!r}."
                )

    def resolve(self, X, sample_weight=None):
        return resolved_gamma(self, X, sample_weight)

    def formula(self, pairs):
        return pairs.gaussian(self.rate)

    def diagonal_formula(self, points):
        return np.ones(len(points), dtype=points.dtype)


class Laplacian(Kernel):
    """k(x, z) = exp(-gamma sum_k |x_k - z_k|).

    Examples
    --------
    >>> from maxmargin.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    positive_semidefinite = True

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def check(self):
        check_gamma(self)

    def resolve(self, X, sample_weight=None):
        return resolved_gamma(self, X, sample_weight)

    def formula(self, pairs):
        values = pairs.cityblock_distances()
        values *= -self.gamma
        return np.exp(values, out=values)

    def diagonal_formula(self, points):
        return np.ones(len(points), dtype=points.dtype)
