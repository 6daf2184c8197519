"""Probabilities as ONNX nodes: the sigmoid of every machine, coupled where there are several.

The nodes follow `estimators/probability.py` and `compiled/coupling.py` formula by formula.
"""

import numpy as np

from maxmargin.estimators.decomposition import OneVsOne
from maxmargin.estimators.probability import SMALLEST, counted_weights


def write_probabilities(graph, model, decisions, winner):
    """Write the output of `predict_proba`, a column per class."""
    how = model._fitted_decomposition()
    machines = _clipped(graph, _positive(graph, decisions, model._slopes))
    if how.n_classes == 2:
        found = graph.node("Concat", graph.node("Sub", 1.0, machines), machines, axis=1)
    elif isinstance(how, OneVsOne):
        found = _coupled(graph, machines, how)
    else:
        found = _shares(graph, machines)
    found = _agreed(graph, found, winner, how.n_classes)
    return _shares(graph, graph.node("Div", found, counted_weights(model.class_weight_)))


def has_probabilities(model):
    return getattr(model, "probability", False) is True and getattr(model, "_calibrated", False)


def _positive(graph, decisions, slopes):
    """The probability of a positive decision, with a slope on either side of the boundary."""
    below, above = (graph.node("Mul", decisions, one[None, :]) for one in np.asarray(slopes).T)
    t = graph.node("Where", graph.node("Less", decisions, 0.0), below, above)
    half = graph.node("Tanh", graph.node("Mul", t, 0.5))
    return graph.node("Mul", graph.node("Add", half, 1.0), 0.5)


def _clipped(graph, values):
    return graph.node("Min", graph.node("Max", values, SMALLEST), 1 - SMALLEST)


def _shares(graph, values):
    return graph.node("Div", values, graph.row_sums(values))


def _coupled(graph, pairwise, how):
    """p = (Q + vv')^-1 v up to a factor, by elimination in all rows at once, without pivoting, as
    the matrix is positive definite."""
    k = how.n_classes
    r = graph.node("Reshape", _both_ways(graph, pairwise, how), np.array([-1, k, k]))
    turned = graph.node("Transpose", r, perm=[0, 2, 1])
    diagonal = graph.node("ReduceSum", graph.node("Mul", r, r), np.array([1]), keepdims=0)
    scale = graph.node("Div", 1.0, graph.node("Sqrt", diagonal))
    length = graph.node("Sqrt", graph.row_sums(graph.node("Mul", scale, scale)))
    v = graph.node("Unsqueeze", graph.node("Div", scale, length), np.array([2]))
    column = graph.node("Unsqueeze", scale, np.array([2]))
    sizes = graph.node("Mul", column, graph.node("Unsqueeze", scale, np.array([1])))
    Q = graph.node("Sub", np.eye(k), graph.node("Mul", graph.node("Mul", r, turned), sizes))
    outer = graph.node("Mul", v, graph.node("Transpose", v, perm=[0, 2, 1]))
    x = _solved(graph, graph.node("Concat", graph.node("Add", Q, outer), v, axis=2), k)
    found = _shares(graph, graph.node("Mul", scale, x))
    return _shares(graph, graph.node("Max", found, SMALLEST**2))


def _both_ways(graph, pairwise, how):
    """The matrix of r_ij and r_ji = 1 - r_ij, row after row, with zeros on the diagonal."""
    k = how.n_classes
    factors, shifts = np.zeros((len(how.tasks), k * k)), np.zeros(k * k)
    for machine, (i, j) in enumerate(how.tasks):
        factors[machine, i * k + j], factors[machine, j * k + i] = 1.0, -1.0
        shifts[j * k + i] = 1.0
    return graph.node("Add", graph.node("MatMul", pairwise, factors), shifts)


def _solved(graph, system, k):
    """The solution of k equations, whose right-hand side is the last column."""
    for pivot in range(k):
        here, unit = np.array([pivot]), np.eye(k)[:, pivot : pivot + 1]
        row = graph.node("Gather", system, here, axis=1)
        row = graph.node("Div", row, graph.node("Gather", row, here, axis=2))
        factors = graph.node("Sub", graph.node("Gather", system, here, axis=2), unit)
        system = graph.node("Sub", system, graph.node("Mul", factors, row))
    return graph.node("Squeeze", graph.node("Gather", system, np.array([k]), axis=2), np.array([2]))


def _agreed(graph, found, winner, k):
    """Give the predicted class the largest probability, by swapping the two."""
    chosen = _is_class(graph, winner, k)
    largest = _is_class(graph, graph.node("ArgMax", found, axis=1, keepdims=0), k)
    top, own = _at(graph, found, largest), _at(graph, found, chosen)
    swapped = graph.node("Where", chosen, top, graph.node("Where", largest, own, found))
    more = graph.node("Mul", graph.node("Cast", chosen, to=graph.kind("float64")), 1e-12)
    return _shares(graph, graph.node("Add", swapped, more))


def _is_class(graph, labels, k):
    return graph.node("Equal", graph.node("Unsqueeze", labels, np.array([1])), np.arange(k))


def _at(graph, values, places):
    """The value of every row at its place, as a column."""
    there = graph.node("Cast", places, to=graph.kind("float64"))
    return graph.row_sums(graph.node("Mul", values, there))
