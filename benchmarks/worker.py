"""Fit and predict one data set with one library, in a process of its own (run.py starts it).

Writes LIBRARY.json (times, memory, accuracy) and LIBRARY.npz (the solution) into the folder.
"""

import argparse
import importlib
import json
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np
from datasets import read_part
from scipy import sparse

MODULES = {"sklearn": "sklearn.svm", "sklearnex": "sklearnex.svm", "maxmargin": "maxmargin"}
WARM_UP_ROWS = 500
NOT_THERE = 3  # exit status: the library has no such estimator
START_UP_SECONDS = 300  # Some libraries compile, which no limit on a fit should count.


def peak_memory_mb():
    """The most memory this process has held so far."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def seconds(action):
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def some_of_each(y, n):
    """Up to `n` rows, shared out among the targets: a nu that suits all rows suits these."""
    order = np.argsort(y, kind="stable")
    in_order = y[order]
    rank = np.empty(len(y), dtype=int)
    rank[order] = np.arange(len(y)) - np.searchsorted(in_order, in_order)
    return np.argsort(rank, kind="stable")[:n]


def end_process_after(limit):
    """Have the system end this process, whatever it is in, after so many seconds; 0 for never."""
    signal.setitimer(signal.ITIMER_REAL, limit)


def warm_up(make_model, X, y):
    """Compile, load libraries and start threads before the clock does."""
    rows = some_of_each(y, WARM_UP_ROWS)
    elapsed, _ = seconds(lambda: make_model().fit(X[rows], y[rows]).predict(X[rows]))
    return elapsed


def has_time_for_another(fit_s, limit):
    return not limit or not fit_s or sum(fit_s) + max(fit_s) <= limit


def measure(make_model, folder, repeat, limit):
    X, y, X_test, y_test = (
        read_part(folder, name) for name in ("X_train", "y_train", "X_test", "y_test")
    )
    end_process_after(limit and limit + START_UP_SECONDS)
    report = {"warm_up_s": warm_up(make_model, X, y), "fit_s": [], "predict_s": []}
    report["baseline_mb"] = peak_memory_mb()
    end_process_after(limit)
    while len(report["fit_s"]) < repeat and has_time_for_another(report["fit_s"], limit):
        fit_s, model = seconds(lambda: make_model().fit(X, y))
        end_process_after(0)
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
    coef = model.dual_coef_
    coef = coef.toarray() if sparse.issparse(coef) else coef
    np.savez(
        path,
        dual_coef=np.asarray(coef, dtype=np.float64),
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
    parser.add_argument("--limit", type=float, default=0, help="seconds for a fit (default: none)")
    return parser.parse_args()


def main():
    options = _command_line()
    estimator = getattr(importlib.import_module(MODULES[options.library]), options.estimator, None)
    if estimator is None:
        sys.exit(NOT_THERE)

    def make_model():
        return estimator(**options.parameters)

    model, report = measure(make_model, options.folder, options.repeat, options.limit)
    report |= describe(model, options.library)
    save_solution(model, options.folder / f"{options.library}.npz")
    (options.folder / f"{options.library}.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
