"""Small data sets to learn on, and one large one of words."""

from maxmargin.datasets.reviews import Reviews, load_reviews
from maxmargin.datasets.simulated import (
    make_circles,
    make_gaussian_mixture,
    make_moons,
    make_outlier,
    make_separable,
    make_xnor,
)

__all__ = [
    "Reviews",
    "load_reviews",
    "make_circles",
    "make_gaussian_mixture",
    "make_moons",
    "make_outlier",
    "make_separable",
    "make_xnor",
]
