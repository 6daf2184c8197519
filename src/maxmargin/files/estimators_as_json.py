"""Estimators as JSON and named arrays: a class from a closed list, its parameters and its fitted
attributes. A Pipeline is kept as its steps, which are estimators again.
"""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

import maxmargin
from maxmargin import engines
from maxmargin.errors import class_of
from maxmargin.estimators.svr import RegressionSVM
from maxmargin.files.advice import steps_of, way_out
from maxmargin.files.columns import parts_of, triples_of
from maxmargin.files.learned import LEARNED, learn_again
from maxmargin.files.schema import (
    TARGET,
    check_model,
    check_parameters,
    known_attributes,
    schema_of,
)

PARTS = {
    cls.__name__: cls
    for cls in (
        StandardScaler,
        MinMaxScaler,
        MaxAbsScaler,
        SimpleImputer,
        OneHotEncoder,
        ColumnTransformer,
    )
}

# Not the model: how scikit-learn hands it data and wraps its output, and the record of a fit.
# `_how` is what the parameters of the file say, or it is refused; `_assembled` sets it.
LEFT_OUT = {"_sklearn_output_config", "_metadata_request", "_skl_callbacks", "_how", "trace_"}
LEFT_OUT |= {"_reached", "_proof_to_come"}  # They are for later work in the process of the fit.


def estimator_to_json(encoder, model, prefix=""):
    """{"class": ..., "parameters": {...}, "attributes": {...}}, if these make a fitted estimator;
    its arrays are named with the prefix."""
    if type(model) in LEARNED:
        check_parameters(model)  # they explain attributes that a file cannot hold
    parameters = _parameters(model)
    encoded = _encoded(encoder, parameters, prefix)  # its errors say most, so it comes first
    attributes = _attributes(model)
    encoded_attributes = _encoded(encoder, attributes, prefix)
    if not attributes.keys().isdisjoint(name.rstrip("?") for name in TARGET):
        encoder.needs_format(4)
    if isinstance(model, RegressionSVM) and "roles_" in attributes:
        encoder.needs_format(5)
    _assembled(type(model), parameters, attributes)
    return {"class": type(model).__name__, "parameters": encoded, "attributes": encoded_attributes}


def estimator_from_json(decoder, description, class_named):
    """The estimator of a description, if `class_named` knows its class."""
    cls = class_named(description["class"])
    if cls is None:
        raise ValueError(f"unknown class {str(description['class'])[:100]!r}.")
    known = {"steps"} if cls is Pipeline else set(cls._get_param_names())
    parameters = _decoded(decoder, description["parameters"], known)
    attributes = _decoded(decoder, description["attributes"], known_attributes(cls))
    return _assembled(cls, parameters, attributes)


def _assembled(cls, parameters, attributes):
    """The fitted model of these parameters and attributes, if they make one."""
    first = {Pipeline: "steps", ColumnTransformer: "transformers"}.get(cls)
    model = cls(**({first: None} if first else {}) | parameters)
    vars(model).update(attributes)
    check_model(model)
    if cls in LEARNED:
        learn_again(model)
    if isinstance(model, (maxmargin.SVC, maxmargin.NuSVC)):
        model._keep_decomposition()
    return model


def check_can_be_held(model):
    """Refuse a model, or a step of a Pipeline, that is not of the closed list."""
    is_pipeline = type(model) is Pipeline
    held = ", ".join(PARTS) + " and " if is_pipeline else ""
    for name, step in parts_of(steps_of(model)):
        known = (step_named if is_pipeline else _ours_named)(type(step).__name__)
        if known is not type(step):
            what = f"the step {name!r}, a" if is_pipeline else "this"
            raise ValueError(
                f"a model file cannot hold {what} {class_of(step)}, only {held}estimators of "
                f"maxmargin{way_out(model, 'save', _is_ours)}."
            )
        check_is_fitted(step)


def model_named(name):
    """The class of that name that a file may hold: an estimator of ours, or a Pipeline."""
    return Pipeline if name == Pipeline.__name__ else _ours_named(name)


def step_named(name):
    """The class of that name that may stand in a Pipeline."""
    return PARTS[name] if isinstance(name, str) and name in PARTS else _ours_named(name)


def _ours_named(name):
    """The exported estimator of that name if the format knows its kind, or None."""
    if not isinstance(name, str) or name not in maxmargin.__all__ or not name[:1].isupper():
        return None
    cls = getattr(maxmargin, name)
    return cls if isinstance(cls, type) and schema_of(cls) is not None else None


def _is_ours(model):
    return _ours_named(type(model).__name__) is type(model)


def _parameters(model):
    """The parameters, without those that only a next fit needs and that hold code or state."""
    if type(model) is Pipeline:
        return {"steps": [(name, step) for name, step in model.steps]}
    parameters = model.get_params(deep=False)
    if parameters.get("callbacks"):
        parameters["callbacks"] = None
    if isinstance(parameters.get("random_state"), (np.random.RandomState, np.random.Generator)):
        parameters["random_state"] = None
    if not isinstance(parameters.get("engine", ""), str):
        parameters["engine"] = _name_of(parameters["engine"])
    if isinstance(model, MaxAbsScaler) and parameters.get("clip") is False:
        del parameters["clip"]  # scikit-learn 1.7 does not know it
    if isinstance(model, OneHotEncoder) and parameters["dtype"] is np.float64:
        del parameters["dtype"]  # it is the default, a type that JSON cannot hold
    if isinstance(model, ColumnTransformer):
        kept = schema_of(ColumnTransformer).constraints
        parameters = {name: parameters[name] for name in kept}
        parameters["transformers"] = triples_of(model)
    return parameters


def _name_of(engine):
    """The name of an engine object; its threads and memory depend on the machine that loads it."""
    name = engines.name_of(engine)
    if name is None:
        raise ValueError(
            f"engine is {engine!r}, and a file cannot hold a {type(engine).__name__}; save the "
            "model after model.set_params(engine='auto')."
        )
    return name


def _attributes(model):
    known = known_attributes(type(model))
    left_out = LEFT_OUT | LEARNED.get(type(model), set())
    attributes = {
        name: value
        for name, value in vars(model).items()
        if name not in model._get_param_names() and (name not in left_out or name in known)
    }
    unknown = sorted(set(attributes) - known)
    if unknown:
        raise ValueError(f"a model file cannot hold the attribute {unknown[0]}.")
    return attributes


def _encoded(encoder, values, prefix):
    return {name: encoder.encode(prefix + name, value) for name, value in values.items()}


def _decoded(decoder, values, known):
    if not isinstance(values, dict):
        raise ValueError("parameters and attributes must be named.")
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(f"unknown name {unknown[0][:100]!r}.")
    return {name: decoder.decode(value) for name, value in values.items()}
