"""The steps of a pipeline before its last one as ONNX nodes: scalers, feature maps, and the steps
of tables in `onnx_columns`."""

from itertools import combinations_with_replacement

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

from maxmargin.errors import class_of
from maxmargin.estimators.feature_maps import CircleMap, KernelMap, PolynomialMap, XNORMap
from maxmargin.estimators.kernel_approximation import Nystroem, RandomFourierFeatures
from maxmargin.files.onnx_columns import write_columns, write_encoder, write_imputer
from maxmargin.files.onnx_kernels import kernel_values
from maxmargin.files.schema import check_model
from maxmargin.kernels import Linear, Polynomial


def check_step(name, step):
    """Refuse what is no step of a graph, or was altered since its fit."""
    if type(step) not in STEPS:
        raise TypeError(f"to_onnx: the step {name!r}, a {class_of(step)}, cannot be written.")
    if type(step) is not ColumnTransformer:  # its columns may be names, which are looked up
        check_model(step)


def _standardised(graph, scaler):
    X = graph.node("Sub", graph.X, scaler.mean_.astype(float)) if scaler.with_mean else graph.X
    return graph.scaled(X, 1 / scaler.scale_.astype(float)) if scaler.with_std else X


def _in_range(graph, scaler):
    scaled = graph.scaled(graph.X, scaler.scale_.astype(float))
    shifted = graph.node("Add", scaled, scaler.min_.astype(float))
    return _clipped(graph, shifted, scaler, *scaler.feature_range)


def _of_size_one(graph, scaler):
    scaled = graph.scaled(graph.X, 1 / scaler.scale_.astype(float))
    return _clipped(graph, scaled, scaler, -1, 1)


def _clipped(graph, X, scaler, lower, upper):
    if not getattr(scaler, "clip", False):  # MaxAbsScaler of scikit-learn 1.7 has no `clip`
        return X
    return graph.node("Min", graph.node("Max", X, float(lower)), float(upper))


def _waves(graph, feature_map):
    """Write a cosine as the sine a quarter turn ahead, as onnxruntime has none in float64."""
    products = graph.node("MatMul", graph.X, feature_map.frequencies_.T)
    angles = graph.node("Add", products, feature_map.offsets_)
    waves = graph.node("Sin", graph.node("Add", angles, np.pi / 2))
    n_out = feature_map._n_features_out
    if len(feature_map.offsets_) < n_out:
        waves = graph.node("Concat", waves, graph.node("Sin", angles), axis=1)
    return graph.scaled(waves, np.full(n_out, np.sqrt(2 / n_out)))


def _landmarks(graph, feature_map):
    points, numbers = feature_map.components_, feature_map.component_indices_
    values = kernel_values(graph, feature_map.kernel_, points, numbers)
    return graph.node("MatMul", values, feature_map.normalization_)


def _monomials(graph, feature_map):
    """Write every monomial as a product of `degree` columns, one of which may be constant. Its
    weight is its value where all features are 1."""
    kernel, d = feature_map.kernel_, feature_map.n_features_in_
    if isinstance(kernel, Linear):
        return graph.X
    if not isinstance(kernel, Polynomial):
        raise TypeError(f"to_onnx: the feature map of {kernel} cannot be written.")
    ones = graph.node("Add", graph.node("Mul", graph.row_sums(graph.X), 0.0), 1.0)
    columns = graph.node("Concat", graph.X, ones, axis=1)
    values = graph.node("Mul", ones, kernel.feature_map(np.ones((1, d))))
    factors = combinations_with_replacement(range(d + (kernel.coef0 > 0)), kernel.degree)
    for places in np.array(list(factors), dtype=np.int64).T:
        values = graph.node("Mul", values, graph.node("Gather", columns, places, axis=1))
    return values


STEPS = {
    ColumnTransformer: write_columns,
    SimpleImputer: write_imputer,
    OneHotEncoder: write_encoder,
    StandardScaler: _standardised,
    MinMaxScaler: _in_range,
    MaxAbsScaler: _of_size_one,
    XNORMap: lambda graph, step: graph.node("ReduceProd", graph.X, axes=[1], keepdims=1),
    CircleMap: lambda graph, step: graph.node("Concat", graph.X, graph.squared_norms(), axis=1),
    KernelMap: _monomials,
    PolynomialMap: _monomials,
    RandomFourierFeatures: _waves,
    Nystroem: _landmarks,
}
