"""Kernel formulas as ONNX nodes: a composed kernel is a composed graph.

`Formula` writes the matrix k(x, z), `Diagonal` the same formulas for k(x, x).
"""

import numpy as np

from maxmargin.kernels import (
    RBF,
    Exp,
    Linear,
    Normalised,
    Polynomial,
    Power,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)


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
        """factor x.z, with the factor in Z: onnxruntime would merge one that follows into the
        product, in single precision."""
        return self.graph.node("MatMul", self.graph.X, np.ascontiguousarray(factor * self.Z.T))

    def shaped(self, kernel):
        """gamma x.z + coef0, of which the kernel is a power or the hyperbolic tangent."""
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
        factors = np.full(len(self.Z), float(kernel.factor))  # no single number, as in `dots`
        return self.graph.node("Mul", self.of(kernel.kernel), factors)

    def power(self, kernel):
        return self.graph.node("Pow", self.of(kernel.kernel), float(kernel.degree))

    def exp(self, kernel):
        return self.graph.node("Exp", self.of(kernel.kernel))

    def normalised(self, kernel):
        """k(x, z) over the lengths of x and z; of x the diagonal is written as nodes too."""
        graph, inner = self.graph, kernel.kernel
        if isinstance(inner, Exp):
            return self.normalised_exp(inner.kernel)
        lengths = np.sqrt(inner.diagonal(self.Z))
        values = graph.node("Div", self.of(inner), np.where(lengths > 0, lengths, 1.0))
        own = graph.node("Sqrt", Diagonal(graph).of(inner))
        is_zero = graph.node("Equal", own, 0.0)
        return graph.node("Div", values, graph.node("Where", is_zero, 1.0, own))

    def normalised_exp(self, exponent):
        """As the kernel does it: divided before the exponential is taken."""
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
        squares = self.graph.node("Mul", self.graph.X, self.graph.X)
        return self.graph.node("Mul", self.graph.row_sums(squares), factor)

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
