"""The verbs that make and use models: fit, predict, convert."""

import csv
import io
import os
from time import perf_counter

import numpy as np
from sklearn.base import is_classifier, is_regressor

import maxmargin
from maxmargin import files
from maxmargin.cli.messages import UsageError, json_of, say, write, write_json
from maxmargin.cli.models import (
    Opened,
    check_no_ranges_beside,
    data_for,
    format_of,
    open_model,
    save_model,
    target_of,
)
from maxmargin.cli.names import ESTIMATORS, FORMATS
from maxmargin.cli.scaling import Scaling
from maxmargin.errors import FileError
from maxmargin.estimators.progress import ProgressLine
from maxmargin.files.access import replacing


def fit(data_path, model_path, name, options, target, scale, as_json):
    model = _estimator(name, options)
    folder = os.path.dirname(model_path) or "."
    if not os.path.isdir(folder):
        raise FileError(f"{folder}: no such folder for the model.")  # before the work, not after
    if not scale:
        check_no_ranges_beside(model_path)
    data = files.read_data(data_path, target=target_of(target))
    if is_regressor(model) and data.y.dtype.kind not in "if":
        raise FileError(f"{data_path}: {name} needs numbers as targets, got {data.y[0]!r}.")
    scaling = Scaling.standard(data.X) if scale else None
    X = data.X if scaling is None else scaling.transform(data.X)
    began = perf_counter()
    fit_with_line(model, X, data.y)
    seconds = perf_counter() - began
    save_model(Opened(model, scaling, data.feature_names), model_path)
    summary = {"model": model_path, "rows": X.shape[0], "features": X.shape[1]}
    summary |= {**describe(model), "seconds": round(seconds, 3)}
    write_json(summary) if as_json else write(lines_of(summary))


def _estimator(name, options):
    cls = getattr(maxmargin, ESTIMATORS[name])
    for option in options:
        if option not in cls._get_param_names():
            fitting = [
                other
                for other, class_name in ESTIMATORS.items()
                if option in getattr(maxmargin, class_name)._get_param_names()
            ]
            flag = "-C" if option == "C" else "--" + option.replace("_", "-")
            raise UsageError(f"fit: {name} has no {flag}; it goes with {', '.join(fitting)}.")
    return cls(**options)


def fit_with_line(model, X, y):
    """Fit, with a live line on a terminal."""
    if "callbacks" not in model._get_param_names():
        model.fit(X, y)
        return
    with ProgressLine() as line:
        model.set_params(callbacks=None if line.is_silent else [line]).fit(X, y)
    model.set_params(callbacks=None)


def describe(model):
    """What a fitted model is, in a few numbers."""
    facts = {"estimator": type(model).__name__}
    if hasattr(model, "kernel_"):
        facts["kernel"] = str(model.kernel_)
    if hasattr(model, "classes_"):
        facts["classes"] = _readable(model.classes_).tolist()
    if hasattr(model, "n_support_"):
        facts["support_vectors"] = int(np.sum(model.n_support_))
    certificate = getattr(model, "certificate_", None)
    if certificate is not None:
        facts["converged"] = bool(model.converged_)
        for name in ("optimal", "primal_objective", "dual_objective", "relative_gap"):
            facts[name] = getattr(certificate, name)
        facts["kkt_violation"] = certificate.kkt_violation
    return facts


def score(model, predicted, y):
    """How well the targets are predicted; nothing where there are none to speak of."""
    if y is None or not (is_classifier(model) or is_regressor(model)):
        return {}
    if is_classifier(model):
        hits = int(np.sum(predicted == y))
        if not {y.dtype.kind, predicted.dtype.kind}.isdisjoint("UO"):
            pairs = zip(predicted.tolist(), y.tolist(), strict=True)
            hits = sum(str(one) == str(other) for one, other in pairs)
        return {"accuracy": hits / len(y), "correct": hits, "of": len(y)}
    if y.dtype.kind not in "if":
        return {}
    return {"mean_squared_error": float(np.mean((predicted - y) ** 2))}


def lines_of(facts):
    """Name and value, one per line."""
    lines = []
    for name, value in facts.items():
        if isinstance(value, list):
            value = " ".join(map(str, value[:20])) + (" ..." if len(value) > 20 else "")
        elif isinstance(value, float):
            value = f"{value:.6g}"
        lines.append(f"{name.replace('_', ' '):<20}{value}")
    return "\n".join(lines)


def convert(model_in, model_out, to):
    if to is None and format_of(model_out) is None:
        raise UsageError(f"convert: which format is {model_out}? Say --to {'|'.join(FORMATS)}.")
    save_model(open_model(model_in), model_out, to)


def predict(model_path, data_path, output, decision, proba, target, as_json):
    opened = open_model(model_path)
    model = opened.model
    _check_can(model, decision, proba)
    X, y, _ = data_for(opened, data_path, target)
    columns = {"prediction": _readable(model.predict(X))}
    if decision:
        columns |= _named("decision", model.decision_function(X), model)
    if proba:
        columns |= _named("probability", model.predict_proba(X), model)
    text = json_of(columns) + "\n" if as_json else _table_of(columns)
    if output is None:
        write(text)
    else:
        with replacing(output) as file:
            file.write(text.encode())
    for name, value in score(model, columns["prediction"], y).items():
        if name in ("accuracy", "mean_squared_error"):
            say(f"{name.replace('_', ' ')} {value:.6g} on {len(y)} rows")


def _check_can(model, decision, proba):
    name = type(model).__name__
    if decision and not hasattr(model, "decision_function"):
        raise ValueError(f"predict: {name} has no decision values; leave out --decision.")
    if proba and not (hasattr(model, "predict_proba") and getattr(model, "_calibrated", True)):
        raise ValueError(f"predict: the {name} has no probabilities; fit it with --probability.")


def _named(kind, values, model):
    """A column per machine or class."""
    if values.ndim == 1:
        return {kind: values}
    classes = getattr(model, "classes_", ())
    names = _readable(classes) if len(classes) == values.shape[1] else range(values.shape[1])
    return {f"{kind}_{name}": values[:, k] for k, name in enumerate(names)}


def _readable(labels):
    """Those that are bytes as text."""
    if labels.dtype.kind not in "SO" or not isinstance(labels[0], bytes):
        return labels
    texts = [label.decode("utf-8", "backslashreplace") for label in labels.tolist()]
    return np.array(texts, dtype=object)


def _table_of(columns):
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    if len(columns) > 1:
        table.writerow(columns)
    table.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()
