"""Fit and predict one data set with one library, in a process of its own (run.py starts it).

Writes LIBRARY.json (times, memory, accuracy) and LIBRARY.npz (the solution) into the folder.
"""

import argparse
import importlib
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
from datasets import read_part

MODULES = {"sklearn": "sklearn.svm", "sklearnex": "sklearnex.svm", "maxmargin": "maxmargin"}
WARM_UP_ROWS = 500
NOT_THERE = 3  # exit status: the library has no such estimator


def peak_memory_mb():
    """The most memory this process has held so far."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def seconds(action):
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def warm_up(make_model, X, y):
    """Compile, load libraries and start threads before the clock does."""
    # Evenly spaced rows: the first ones of a sorted file could be of one class.
    rows = np.linspace(0, len(y) - 1, min(WARM_UP_ROWS, len(y))).astype(int)
    elapsed, _ = seconds(lambda: make_model().fit(X[rows], y[rows]).predict(X[rows]))
    return elapsed


def measure(make_model, folder, repeat):
    X, y, X_test, y_test = (
        read_part(folder, name) for name in ("X_train", "y_train", "X_test", "y_test")
    )
    report = {"warm_up_s": warm_up(make_model, X, y), "fit_s": [], "predict_s": []}
    report["baseline_mb"] = peak_memory_mb()
    for _ in range(repeat):
        fit_s, model = seconds(lambda: make_model().fit(X, y))
        # Of the first fit only: later ones run while the model before them is still alive.
        report.setdefault("peak_mb", peak_memory_mb())
        predict_s, predicted = seconds(lambda model=model: model.predict(X_test))
        report["fit_s"].append(fit_s)
        report["predict_s"].append(predict_s)
    report["accuracy"] = score(model, predicted, y_test)
    return model, report


def score(model, predicted, y_test):
    """Accuracy, R^2, or the share of new points inside the region."""
    kind = type(model).__name__
    if kind == "OneClassSVM":
        return float(np.mean(predicted > 0))
    if kind == "SVR":
        return float(1 - np.mean((predicted - y_test) ** 2) / np.var(y_test))
    return float(np.mean(predicted == y_test))


def describe(model, library):
    facts = {"support_vectors": len(model.support_)}
    if library == "sklearnex":
        # It hands unsupported cases to scikit-learn without a word; the table should say so.
        facts["accelerated"] = hasattr(model, "_onedal_estimator")
    if library == "maxmargin":
        facts["certificate"] = str(model.certificate_)
    return facts


def save_solution(model, path):
    np.savez(
        path,
        dual_coef=np.asarray(model.dual_coef_, dtype=np.float64),
        support=np.asarray(model.support_),
        n_support=np.asarray(model.n_support_),
        intercept=np.asarray(model.intercept_),
    )


def _command_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", choices=MODULES)
    parser.add_argument("folder", type=Path, help="where datasets.py wrote the set")
    parser.add_argument("--estimator", default="SVC")
    parser.add_argument("--parameters", type=json.loads, required=True, help="as JSON")
    parser.add_argument("--repeat", type=int, default=1)
    return parser.parse_args()


def main():
    options = _command_line()
    estimator = getattr(importlib.import_module(MODULES[options.library]), options.estimator, None)
    if estimator is None:
        sys.exit(NOT_THERE)

    def make_model():
        return estimator(**options.parameters)

    model, report = measure(make_model, options.folder, options.repeat)
    report |= describe(model, options.library)
    save_solution(model, options.folder / f"{options.library}.npz")
    (options.folder / f"{options.library}.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
