"""Kernel formulas as ONNX nodes: a composed kernel is a composed graph.

`Formula` writes the matrix k(x, z), and `Diagonal` writes the same formulas for k(x, x).
"""

import numpy as np

from maxmargin import arrays
from maxmargin.kernels import (
    RBF,
    Exp,
    Linear,
    Normalised,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)


def kernel_values(graph, kernel, Z, numbers):
    """The matrix between the rows of the input and the points Z, with their row numbers."""
    if isinstance(kernel, Precomputed):
        return graph.node("Gather", graph.X, numbers.astype(np.int64), axis=1)
    Z = np.ascontiguousarray(arrays.dense(Z))
    # A shift of all points changes no distance, and saves digits.
    centre = Z.mean(axis=0) if len(Z) else np.zeros(Z.shape[1])
    return Formula(graph, Z, centre).of(kernel)


class Formula:
    """The matrix k(x, z) between the rows of the input and the points Z."""

    def __init__(self, graph, Z, centre):
        self.graph, self.Z, self.centre = graph, Z, centre

    def of(self, kernel):
        if type(kernel) not in FORMULAS:
            raise TypeError(f"to_onnx: the kernel {kernel} cannot be written.")
        return getattr(self, FORMULAS[type(kernel)])(kernel)

    def linear(self, kernel):
        return self.dots(1.0)

    def dots(self, factor):
        """factor x.z, with the factor in Z, because onnxruntime would merge a factor after the
        product into it, in single precision."""
        return self.graph.node("MatMul", self.graph.X, np.ascontiguousarray(factor * self.Z.T))

    def shaped(self, kernel):
        """A power, or the hyperbolic tangent, of gamma x.z + coef0."""
        shifted = self.graph.node("Add", self.dots(float(kernel.gamma)), float(kernel.coef0))
        if isinstance(kernel, Sigmoid):
            return self.graph.node("Tanh", shifted)
        return self.graph.node("Pow", shifted, float(kernel.degree))

    def rbf(self, kernel):
        graph, Z = self.graph, self.Z - self.centre
        X = graph.node("Sub", graph.X, self.centre)
        squares = graph.row_sums(graph.node("Mul", X, X))
        products = graph.node("Mul", graph.node("MatMul", X, Z.T), -2.0)
        distances = graph.node("Add", graph.node("Add", squares, products), (Z**2).sum(axis=1))
        positive = graph.node("Max", distances, 0.0)
        return graph.node("Exp", graph.node("Mul", positive, -float(kernel.rate)))

    def sum(self, kernel):
        return self.graph.node("Add", self.of(kernel.left), self.of(kernel.right))

    def product(self, kernel):
        return self.graph.node("Mul", self.of(kernel.left), self.of(kernel.right))

    def scaled(self, kernel):
        factors = np.full(len(self.Z), float(kernel.factor))
        return self.graph.scaled(self.of(kernel.kernel), factors)

    def power(self, kernel):
        return self.graph.node("Pow", self.of(kernel.kernel), float(kernel.degree))

    def exp(self, kernel):
        return self.graph.node("Exp", self.of(kernel.kernel))

    def normalised(self, kernel):
        """k(x, z) over the lengths of x and z; the diagonal of x is written as nodes, too."""
        graph, inner = self.graph, kernel.kernel
        if isinstance(inner, Exp):
            return self.normalised_exp(inner.kernel)
        lengths = np.sqrt(inner.diagonal(self.Z))
        values = graph.node("Div", self.of(inner), np.where(lengths > 0, lengths, 1.0))
        own = graph.node("Sqrt", Diagonal(graph).of(inner))
        is_zero = graph.node("Equal", own, 0.0)
        return graph.node("Div", values, graph.node("Where", is_zero, 1.0, own))

    def normalised_exp(self, exponent):
        """The normalised exponential, divided before the exponential is taken, as in the kernel."""
        graph, halves = self.graph, 0.5 * exponent.diagonal(self.Z)
        own = graph.node("Mul", Diagonal(graph).of(exponent), 0.5)
        return graph.node(
            "Exp", graph.node("Sub", graph.node("Sub", self.of(exponent), own), halves)
        )


class Diagonal(Formula):
    """k(x, x) of the rows of the input, as a column."""

    def __init__(self, graph):
        super().__init__(graph, Z=np.empty((1, 0)), centre=None)

    def dots(self, factor):
        return self.graph.node("Mul", self.graph.squared_norms(), factor)

    def rbf(self, kernel):
        return self.graph.node("Exp", self.graph.node("Mul", self.linear(kernel), 0.0))

    def normalised(self, kernel):
        return self.graph.node("Sign", self.of(kernel.kernel))


FORMULAS = {
    Linear: Formula.linear.__name__,
    Polynomial: Formula.shaped.__name__,
    Sigmoid: Formula.shaped.__name__,
    RBF: Formula.rbf.__name__,
    Sum: Formula.sum.__name__,
    Product: Formula.product.__name__,
    Scaled: Formula.scaled.__name__,
    Power: Formula.power.__name__,
    Exp: Formula.exp.__name__,
    Normalised: Formula.normalised.__name__,
}
