"""The verbs that make and use models: fit, predict, convert."""

import csv
import io
import os
from time import perf_counter

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

import maxmargin
from maxmargin import files
from maxmargin.cli.messages import UsageError, is_watched, json_of, say, write, write_json
from maxmargin.cli.models import (
    check_libsvm_can_hold,
    data_for,
    format_named,
    format_of,
    open_model,
    save_model,
    target_of,
    with_columns,
)
from maxmargin.cli.names import ESTIMATORS
from maxmargin.cli.preparing import check_steps, prepared, rows_to_fit
from maxmargin.errors import FileError
from maxmargin.estimators.pipelines import last_step
from maxmargin.estimators.progress import ProgressLine
from maxmargin.files.access import reasons_named, replacing
from maxmargin.files.advice import steps_of
from maxmargin.files.columns import parts_of
from maxmargin.files.csv_columns import listed
from maxmargin.files.libsvm_writer import whole_labels
from maxmargin.files.tables import name_of

FEW_CLASSES = 20  # More classes than this, in half of the rows, may well be numbers to predict.


def fit(data_path, model_path, name, options, table, steps, cv, as_json):
    model = _estimator(name, options)
    check_steps(**steps)
    _check_folds(cv, model)
    has_more = bool(steps["impute"] or table["categorical"])
    _check_can_be_written(model_path, steps["scale"] or steps["max_abs"], has_more, options)
    data = _data_to_fit(data_path, table, "keep" if steps["impute"] else "refuse", name, model)
    _check_labels_can_be_written(model_path, data.y, model)
    _check_rows_suffice(cv, data.y, model)
    if "class_weight" in options:
        model.set_params(class_weight=_class_weight(options["class_weight"], data.y))
    X = rows_to_fit(data_path, data, steps["scale"], steps["impute"])
    model = prepared(model, data, **steps)
    began = perf_counter()
    if cv and is_watched():
        say(f"{cv} folds of cross-validation come first, then the fit.")
    scores = cross_validated(model, X, data.y, cv) if cv else {}
    fit_with_line(model, X, data.y)
    seconds = perf_counter() - began
    save_model(with_columns(model, data), model_path)
    summary = {"model": model_path, "rows": X.shape[0], "features": X.shape[1]}
    summary |= {**describe(model), **scores, "seconds": round(seconds, 3)}
    write_json(summary) if as_json else write(lines_of(summary))


def _data_to_fit(path, table, missing, name, model):
    """The rows of a file, with a target that goes with the model."""
    target = _target_of(table["target"], model)
    data = files.read_data(path, **table | {"target": target}, missing=missing)
    if data.y is None:
        n_columns = f"all {data.X.shape[1]} columns"
        say(f"{name_of(path)}: {name} learns from {n_columns}; --drop leaves some out.")
    _check_target(path, data, name, model)
    return data


def _target_of(text, model):
    """The column to predict: the last one unless --target names another, and none of those that
    predict none, whose every column is a feature."""
    if text is None and not (is_classifier(model) or is_regressor(model)):
        return None
    return target_of(text)


def _check_can_be_written(path, is_scaled, has_more, options):
    """Before the work, not after."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FileError(f"{folder}: no such folder for the model.")
    if format_named("fit", path) == "libsvm":
        check_libsvm_can_hold(path, is_scaled, has_more)
        if "probability" in options:
            what = "write .mm or .onnx, or use svm-train -b 1"
            raise FileError(f"{path}: LIBSVM's format cannot hold these probabilities; {what}.")


def _check_labels_can_be_written(path, y, model):
    if is_classifier(model) and format_of(path) == "libsvm":
        with reasons_named(path):
            whole_labels(np.unique(y))


def _check_rows_suffice(n_folds, y, model):
    """Every fold must have a row of each class, or at least one."""
    if n_folds is None:
        return
    most = np.unique(y, return_counts=True)[1].min() if is_classifier(model) else len(y)
    if n_folds > most:
        what = "the rarest class has " if is_classifier(model) else "there are "
        raise UsageError(f"fit: --cv {n_folds} is too many folds: {what}{most} rows.")


def _check_target(path, data, name, model):
    """Refuse words for a regressor, and continuous numbers for a classifier."""
    what = "the target" if data.target_name is None else f"the target {data.target_name!r}"
    if is_regressor(model) and data.y.dtype.kind not in "if":
        raise FileError(
            f"{name_of(path)}: {name} needs numbers as targets, got {str(data.y[0])!r}."
        )
    if not is_classifier(model):
        return
    if data.y.dtype.kind == "f":
        number = next(value for value in data.y.tolist() if not value.is_integer())
        reason = f"has numbers like {number:g}, which are no classes"
        advice = "--estimator svr predicts numbers, and --target names another column"
        raise FileError(f"{name_of(path)}: {what} {reason}; {advice}.")
    n_classes = len(np.unique(data.y))
    if n_classes == 1:
        raise FileError(
            f"{name_of(path)}: {what} is {str(data.y[0])!r} in every row; two classes at least."
        )
    if n_classes > max(FEW_CLASSES, len(data.y) / 2):
        say(f"warning: {what} has {n_classes} classes in {len(data.y)} rows; --estimator svr "
            "predicts numbers.")  # fmt: skip


def _class_weight(words, y):
    """The word "balanced", or the weight of each class that is named."""
    if list(words) == ["balanced"]:
        return "balanced"
    classes, weights = {str(one): one for one in np.unique(y).tolist()}, {}
    for word in words:
        label, _, number = word.rpartition("=")
        weight = _number_or_none(number)
        if weight is None:
            raise UsageError(f"fit: --class-weight is balanced or LABEL=NUMBER, not {word!r}.")
        if label not in classes:
            known = listed([*classes])
            raise UsageError(f"fit: --class-weight: no label is {label!r}; there are {known}.")
        weights[classes[label]] = weight
    return weights


def _number_or_none(text):
    try:
        return float(text)
    except ValueError:
        return None


def _check_folds(cv, model):
    if cv is not None and cv < 2:
        raise UsageError(f"fit: --cv must be at least 2 folds, got {cv}.")
    if cv is not None and not (is_classifier(model) or is_regressor(model)):
        raise UsageError("fit: --cv needs a target to compare with; one-class has none.")


def cross_validated(model, X, y, n_folds):
    """The mean and deviation of the score on rows that were left out of the fit, fold by fold."""
    folds = StratifiedKFold if is_classifier(model) else KFold
    name, sign = ("accuracy", 1) if is_classifier(model) else ("neg_mean_squared_error", -1)
    folds = folds(n_folds, shuffle=True, random_state=0)
    scores = sign * cross_val_score(model, X, y, cv=folds, scoring=name, error_score="raise")
    mean, deviation = float(scores.mean()), float(scores.std())
    return {f"cv_{name.removeprefix('neg_')}": mean, "cv_deviation": deviation, "cv_folds": n_folds}


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
    return cls(**{option: value for option, value in options.items() if option != "class_weight"})


def fit_with_line(model, X, y):
    """Fit, with a live line on a terminal."""
    last = last_step(model)
    if "callbacks" not in last._get_param_names():
        model.fit(X, y)
        return
    with ProgressLine() as line:
        last.set_params(callbacks=None if line.is_silent else [line])
        model.fit(X, y)
    last.set_params(callbacks=None)


def describe(model):
    """A few numbers about a fitted model, or about the last step of a pipeline."""
    steps = [type(step).__name__ for _, step in parts_of(steps_of(model))]
    *before, name = [one for one in steps if one != ColumnTransformer.__name__]
    facts = {"estimator": name} | ({"after": before} if before else {})
    model = last_step(model)
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
    """How well the targets are predicted; an empty dict if there are none."""
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
    lines, width = [], max(20, 2 + max(map(len, facts)))
    for name, value in facts.items():
        if isinstance(value, list):
            value = " ".join(map(str, value[:20])) + (" ..." if len(value) > 20 else "")
        elif isinstance(value, float):
            value = f"{value:.6g}"
        lines.append(f"{name.replace('_', ' '):<{width}}{value}")
    return "\n".join(lines)


def convert(model_in, model_out, to):
    to = to or format_named("convert", model_out)
    save_model(open_model(model_in), model_out, to)


def predict(model_path, data_path, output, decision, proba, target, drop, as_json):
    model = open_model(model_path)
    _check_can(last_step(model), decision, proba)
    X, y, _ = data_for(model, data_path, target, drop)
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
    """The values by the name of their column, one per machine or class."""
    if values.ndim == 1:
        return {kind: values}
    classes = getattr(model, "classes_", ())
    names = _readable(classes) if len(classes) == values.shape[1] else range(values.shape[1])
    return {f"{kind}_{name}": values[:, k] for k, name in enumerate(names)}


def _readable(labels):
    """The labels, as text if they are bytes."""
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
