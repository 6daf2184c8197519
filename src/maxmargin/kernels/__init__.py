"""Kernels: formulas k(x, z) with an algebra."""

from maxmargin.kernels.base import Conformal, Exp, Kernel, Normalised, Power, Product, Scaled, Sum
from maxmargin.kernels.custom import Custom, Precomputed
from maxmargin.kernels.distance import RBF, Laplacian
from maxmargin.kernels.dot import Linear, Polynomial, Sigmoid
from maxmargin.kernels.spectrum import MercerReport, mercer

__all__ = [
    "RBF",
    "Conformal",
    "Custom",
    "Exp",
    "Kernel",
    "Laplacian",
    "Linear",
    "MercerReport",
    "Normalised",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "mercer",
]
