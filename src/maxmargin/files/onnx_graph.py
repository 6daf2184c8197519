"""Fitted models as ONNX graphs, made of standard operators in float64.

A kernel is a few nodes between the rows and the support vectors, so composed kernels are composed
graphs. Nothing is approximated in float32: the graph gives the decision values of the model itself.
"""

import json

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from maxmargin import arrays
from maxmargin.errors import class_of
from maxmargin.estimators.base import BaseSVM
from maxmargin.estimators.linear_base import LinearModel
from maxmargin.estimators.one_class import BOUNDARY, OneClassSVM
from maxmargin.files.advice import steps_of
from maxmargin.files.onnx_columns import inputs_of
from maxmargin.files.onnx_kernels import kernel_values
from maxmargin.files.onnx_probability import has_probabilities, write_probabilities
from maxmargin.files.onnx_steps import STEPS, check_step

# These versions of the operators have all that is needed, and every current runtime knows them.
OPSETS = {"": 17, "ai.onnx.ml": 3}
INPUT_TYPES = ("float64", "float32")


def to_onnx(model, *, dtype="float64"):
    """A fitted model as an ONNX model, to be run by onnxruntime and others.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR or another linear model
        It must be fitted, with any kernel but the Laplacian and those that hold functions. It may
        be at the end of a Pipeline, after StandardScaler, MinMaxScaler, MaxAbsScaler,
        SimpleImputer, OneHotEncoder, ColumnTransformer and the feature maps of maxmargin; the graph
        then takes the rows that the Pipeline takes.
    dtype : {"float64", "float32"}, default="float64"
        The type of the input "X", which has a row per point. All is computed in float64.

    Returns
    -------
    graph : onnx.ModelProto
        Its outputs are "label" and "decision" (the values of `decision_function`) for a classifier
        and `OneClassSVM`, and "prediction" for a regressor. A classifier that was fitted with
        `probability=True` has "probability", too, a column per class. No file is written:
        `graph.SerializeToString()` gives the bytes of an .onnx file.

    Notes
    -----
    Columns that a OneHotEncoder takes as text are an input of their own, "words", and "X" then has
    the other columns; both keep the order of the table. A missing number is NaN, a missing word is
    empty, and a word that was not in the fit belongs to no category. The metadata of the graph list
    the columns of each input ("X", "words") and the classes ("classes") as JSON.

    Examples
    --------
    >>> from maxmargin import SVC
    >>> from maxmargin.files import to_onnx
    >>> model = SVC().fit([[0.0], [1.0]], [0, 1])
    >>> [output.name for output in to_onnx(model).graph.output]    # doctest: +SKIP
    ['label', 'decision']
    """
    check_is_fitted(model)
    *before, (_, model) = steps = steps_of(model)
    first = steps[0][1]
    if not isinstance(model, (BaseSVM, LinearModel)):
        raise TypeError(f"to_onnx: cannot write this {class_of(model)}.")
    if isinstance(model, BaseSVM) and model.kernel_.takes == "anything":
        raise TypeError("to_onnx: a kernel that is a function cannot be written.")
    if dtype not in INPUT_TYPES:
        raise ValueError(f"to_onnx: dtype must be 'float64' or 'float32', got {dtype!r}.")
    label = getattr(model, "classes_", np.array([None])).tolist()[0]
    if isinstance(label, bytes):
        raise ValueError(f"to_onnx: ONNX has no labels that are bytes, like {label!r}; fit text.")
    for name, step in before:
        check_step(name, step)
    numbers, words = inputs_of(first)
    graph = Graph(len(numbers), dtype, len(words))
    for name, step in before:
        graph.write_step(name, step)
    decisions = _decisions(graph, model)
    if isinstance(model, OneClassSVM):
        _one_class_outputs(graph, model, decisions)
    elif is_classifier(model):
        _class_outputs(graph, model, decisions)
    else:
        width = None if isinstance(model, BaseSVM) or model.coef_.ndim == 1 else len(model.coef_)
        values = graph.flat(decisions) if width is None else decisions
        graph.output("prediction", values, np.float64, width)
    return graph.finished(type(model).__name__, _metadata(first, model, numbers, words))


def _metadata(first, model, numbers, words):
    """The names of the columns of each input, if they have names, and the classes."""
    found = {}
    names = getattr(first, "feature_names_in_", None)
    for name, places in {"X": numbers, "words": words}.items():
        if names is not None and len(places):
            found[name] = names[places].tolist()
    if is_classifier(model):
        found["classes"] = model.classes_.tolist()
    return {name: json.dumps(value, ensure_ascii=False) for name, value in found.items()}


class Graph:
    """An ONNX graph that grows node by node; every method returns the name of a value.

    `X` and `words` are the rows after the steps so far: numbers, and texts that no encoder has
    encoded yet. `fillings` are the words that will fill the missing ones.
    """

    def __init__(self, n_numbers, dtype, n_words=0):
        self.onnx = _onnx()
        self.nodes, self.constants, self.outputs, self.inputs = [], [], [], []
        self.X = self.words = self.fillings = None
        if n_numbers or not n_words:
            X = self.input("X", self.kind(dtype), n_numbers)
            self.X = self.node("Cast", X, to=self.kind("float64"))
        if n_words:
            self.words = self.input("words", self.onnx.TensorProto.STRING, n_words)

    def input(self, name, kind, width):
        info = self.onnx.helper.make_tensor_value_info(name, kind, [None, width])
        self.inputs.append(info)
        return name

    def write_step(self, name, step):
        """Write a step of a pipeline, which changes the rows."""
        check_step(name, step)
        self.X = STEPS[type(step)](self, step)

    def kind(self, dtype):
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def node(self, operator, *inputs, **attributes):
        """The value of an operator; arrays and numbers among its inputs become constants."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        inputs = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, value):
        name = f"constant_{len(self.constants)}"
        value = np.asarray(value)
        if value.dtype.kind == "U":  # onnx takes text as bytes
            value = value.astype(object)
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def flat(self, column):
        return self.node("Squeeze", column, np.array([1]))

    def scaled(self, values, factors):
        """Every column times its factor. A single factor is a matrix, because onnxruntime would
        merge a lone number into a product beside it, in single precision."""
        operator = "MatMul" if len(factors) == 1 else "Mul"
        return self.node(operator, values, factors[None, :])

    def row_sums(self, values):
        return self.node("ReduceSum", values, np.array([1]), keepdims=1)

    def squared_norms(self):
        return self.row_sums(self.node("Mul", self.X, self.X))

    def output(self, name, value, dtype, width=None):
        """Make a value an output, with one entry per row, or `width` of them."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        kind = self.onnx.TensorProto.STRING if np.dtype(dtype).kind in "UO" else self.kind(dtype)
        shape = [None] if width is None else [None, width]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def finished(self, name, metadata):
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid(*one) for one in OPSETS.items()]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        model.producer_name = "maxmargin"
        helper.set_model_props(model, metadata)
        self.onnx.checker.check_model(model)
        return model


def _onnx():
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the package onnx: pip install 'maxmargin[onnx]'"
        ) from error
    return onnx


def _decisions(graph, model):
    """The decisions, one column per machine: sum_i coef_i k(x_i, x) + b, or w.x + b."""
    model._check_unaltered()
    if isinstance(model, LinearModel):
        if not hasattr(model, "coef_"):
            raise TypeError(f"to_onnx: cannot write a {type(model).__name__} with a kernel.")
        weights = np.atleast_2d(arrays.dense(model.coef_)).T
        values = graph.X
    else:
        weights = _machine_columns(model)
        values = kernel_values(graph, model.kernel_, model.support_vectors_, model.support_)
    products = graph.node("MatMul", values, weights)
    return graph.node("Add", products, np.atleast_1d(np.asarray(model.intercept_, dtype=float)))


def _machine_columns(model):
    """The coefficients, with a row per support vector and a column per machine."""
    coef = arrays.dense(model.dual_coef_)
    if not is_classifier(model):
        return np.ascontiguousarray(coef.T)
    how = model._fitted_decomposition()
    columns = np.zeros((coef.shape[1], len(how.tasks)))
    for machine, task in enumerate(how.tasks):
        for row, k in how.coef_rows(task):
            part = how.parts(model.n_support_)[k]
            columns[part, machine] = coef[row, part]
    return columns


def _one_class_outputs(graph, model, decisions):
    """Write the outputs; a decision within rounding of the boundary is zero, as in
    `OneClassSVM.decision_function`."""
    values = graph.flat(decisions)
    near = graph.node("LessOrEqual", graph.node("Abs", values),
                      BOUNDARY * float(abs(model.offset_[0])))  # fmt: skip
    values = graph.node("Where", near, 0.0, values)
    inside = graph.node("GreaterOrEqual", values, 0.0)
    graph.output("label", graph.node("Where", inside, np.int64(1), np.int64(-1)), np.int64)
    graph.output("decision", values, np.float64)


def _class_outputs(graph, model, decisions):
    k = len(model.classes_)
    width = k
    if k == 2:
        values, width = graph.flat(decisions), None
        # As in scikit-learn, zero is for the second class in an SVC, and for the first elsewhere.
        operator = "GreaterOrEqual" if isinstance(model, BaseSVM) else "Greater"
        winner = graph.node("Cast", graph.node(operator, values, 0.0), to=graph.kind("int64"))
    elif isinstance(model, LinearModel) or model._fitted_decomposition().n_coef_rows == k:
        values = decisions
        winner = graph.node("ArgMax", decisions, axis=1, keepdims=0)
    else:
        values, winner, width = _votes(graph, model, decisions)
    classes = model.classes_ if model.classes_.dtype.kind in "UObf" else model.classes_.astype(int)
    graph.output("label", graph.node("Gather", classes, winner), classes.dtype)
    graph.output("decision", values, np.float64, width)
    if has_probabilities(model):
        shares = write_probabilities(graph, model, decisions, winner)
        graph.output("probability", shares, np.float64, k)


def _votes(graph, model, decisions):
    """The decision values in their shape, the class with the most votes, and their width."""
    how = model._fitted_decomposition()
    first, second = np.zeros((2, len(how.tasks), how.n_classes))
    for machine, (i, j) in enumerate(how.tasks):
        first[machine, i] = second[machine, j] = 1.0

    def votes(operator):
        wins = graph.node("Cast", graph.node(operator, decisions, 0.0), to=graph.kind("float64"))
        losses = graph.node("Sub", 1.0, wins)
        return graph.node(
            "Add", graph.node("MatMul", wins, first), graph.node("MatMul", losses, second)
        )

    confidence = graph.node("MatMul", decisions, first - second)
    size = graph.node("Add", graph.node("Abs", confidence), 1.0)
    squeezed = graph.node("Div", confidence, graph.node("Mul", size, 3.0))
    scores = graph.node("Add", votes("GreaterOrEqual"), squeezed)
    counted = scores if model.break_ties else votes("Greater")
    winner = graph.node("ArgMax", counted, axis=1, keepdims=0)
    if model.decision_function_shape == "ovr":
        return scores, winner, how.n_classes
    return decisions, winner, len(how.tasks)
