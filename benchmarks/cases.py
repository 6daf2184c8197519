"""Time what run.py does not: linear machines, sparse input, small sets, many classes, growth.

    python benchmarks/cases.py --data DIR [--cases small,linear,...] [--json FILE]

Every library runs every case in a process of its own, warmed up; the best of a few fits counts.
"ratio" is the time of the fastest peer over ours.
"""

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from datasets import DATA_SETS, load_whole_mnist
from scipy import sparse
from sklearn import datasets as toys
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

MODULES = {"sklearn": "sklearn.svm", "sklearnex": "sklearnex.svm", "maxmargin": "maxmargin"}


def estimator_of(library, name):
    if library != "snapml":
        return getattr(importlib.import_module(MODULES[library]), name)
    from snapml import SupportVectorMachine

    def linear_svc(loss="squared_hinge"):
        """The same objective, at its own tolerance, on all cores."""
        return SupportVectorMachine(loss=loss, fit_intercept=True, n_jobs=os.cpu_count())

    return linear_svc


def toy(loader):
    def load(folder):
        X, y = loader(return_X_y=True)
        return StandardScaler().fit_transform(X), y

    return load


def dense_set(name, rows=None):
    return lambda folder: DATA_SETS[name].arrays(folder, rows)[:2]


def sparse_set(name):
    def load(folder):
        X, y = load_svmlight_file(str(Path(folder) / "binary" / f"{name}.gz"))
        return narrow_indices(X), y

    return load


def news(folder):
    path = Path(folder) / "text" / "20news.counts.train.svm.gz"
    X, y = load_svmlight_file(str(path))
    return narrow_indices(TfidfTransformer(sublinear_tf=True).fit_transform(X)), y


def narrow_indices(X):
    """CSR with 32-bit indices, which is all that scikit-learn's LIBLINEAR takes."""
    X = sparse.csr_matrix(X)
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_matrix(parts, shape=X.shape)


def covtype(folder, rows=None):
    import gzip

    with gzip.open(Path(folder) / "multiclass" / "covtype.data.gz", "rt") as stream:
        table = np.loadtxt(stream, delimiter=",", dtype=np.int32, max_rows=rows)
    X = table[:, :-1].astype(np.float64)
    X[:, :10] = (X[:, :10] - X[:, :10].mean(axis=0)) / X[:, :10].std(axis=0)
    return X, np.where(table[:, -1] == 2, 1, -1)


def covtype_rows(rows):
    """The same rows as `dense_set("covtype", rows)`, and more."""

    def load(folder):
        X, y = covtype(folder)
        order = np.random.RandomState(0).permutation(len(y))[:rows]
        return X[order], y[order]

    return load


def many_classes(n_classes, rows_each):
    """Also predicts its own rows: with many pairs of classes that takes as long as the fit."""

    def load(folder):
        n = n_classes * rows_each
        X, y = toys.make_blobs(n, 10, centers=n_classes, cluster_std=3.0, random_state=0)
        return X, y, X, y

    return load


def checkerboard(folder, n=10_000):
    X = np.random.default_rng(0).uniform(-4, 4, (n, 2))
    return X, np.where((np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 == 0, 1, -1)


def parameters_of(name, **others):
    return {**DATA_SETS[name].parameters, **others}


SVMS = ("sklearn", "sklearnex", "maxmargin")
PLAIN = ("sklearn", "maxmargin")
WITH_SNAP = ("sklearn", "snapml", "maxmargin")
COLUMNS = ("sklearn", "sklearnex", "snapml", "maxmargin")
NEWS_RBF = {"kernel": "rbf", "C": 10.0, "gamma": 0.5}
# name: data, estimator, its parameters, libraries, repetitions
CASES = {
    "small: iris": (toy(toys.load_iris), "SVC", {}, PLAIN, 15),
    "small: breast cancer": (toy(toys.load_breast_cancer), "SVC", {}, PLAIN, 15),
    "small: digits": (toy(toys.load_digits), "SVC", {}, PLAIN, 15),
    "classes: 100 of 10 rows": (many_classes(100, 10), "SVC", {}, PLAIN, 5),
    "classes: 100 of 10 rows, probability": (
        many_classes(100, 10), "SVC", {"probability": True}, PLAIN, 3,
    ),
    "classes: 300 of 5 rows": (many_classes(300, 5), "SVC", {}, PLAIN, 3),
    "classes: 20 of 100 rows": (many_classes(20, 100), "SVC", {}, PLAIN, 5),
    "sparse: a9a, CSR": (sparse_set("a9a"), "SVC", parameters_of("a9a"), PLAIN, 1),
    "sparse: w8a, CSR": (sparse_set("w8a"), "SVC", parameters_of("w8a"), PLAIN, 1),
    "sparse: 20news tf-idf, RBF": (news, "SVC", NEWS_RBF, PLAIN, 1),
    "sparse: 20news tf-idf, linear": (news, "SVC", {"kernel": "linear"}, PLAIN, 1),
    "hard: checkerboard, C = 1e4": (checkerboard, "SVC", {"C": 1e4, "gamma": 1.0}, SVMS, 2),
    "hard: cod-rna, C = 1e4": (
        dense_set("cod-rna"), "SVC", parameters_of("cod-rna", C=1e4), SVMS, 1,
    ),
    "linear: covtype 581k, squared hinge": (covtype, "LinearSVC", {}, WITH_SNAP, 2),
    "linear: covtype 581k, hinge": (covtype, "LinearSVC", {"loss": "hinge"}, WITH_SNAP, 1),
    "linear: a9a, CSR, squared hinge": (sparse_set("a9a"), "LinearSVC", {}, PLAIN, 5),
    "linear: a9a, CSR, hinge": (sparse_set("a9a"), "LinearSVC", {"loss": "hinge"}, PLAIN, 3),
    "linear: 20news tf-idf, squared hinge": (news, "LinearSVC", {}, PLAIN, 3),
    "growth: covtype 10k": (dense_set("covtype", 10_000), "SVC", parameters_of("covtype"), SVMS, 1),
    "growth: covtype 20k": (dense_set("covtype", 20_000), "SVC", parameters_of("covtype"), SVMS, 1),
    "growth: covtype 40k": (
        dense_set("covtype", 40_000), "SVC", parameters_of("covtype"), SVMS[1:], 1,
    ),
    "growth: covtype 80k": (
        covtype_rows(80_000), "SVC", parameters_of("covtype"), SVMS[1:], 1,
    ),
    "growth: covtype 160k": (
        covtype_rows(160_000), "SVC", parameters_of("covtype"), SVMS[2:], 1,
    ),
    "mnist 60k, fit and predict 10k": (
        load_whole_mnist, "SVC", parameters_of("mnist"), PLAIN, 1,
    ),
    "linear kernel: a9a": (dense_set("a9a"), "SVC", {"kernel": "linear"}, SVMS, 1),
    "linear kernel: usps": (dense_set("usps"), "SVC", {"kernel": "linear"}, SVMS, 2),
    "cubic kernel: usps": (dense_set("usps"), "SVC", {"kernel": "poly", "gamma": 0.01}, SVMS, 2),
    "cubic kernel: a9a": (dense_set("a9a"), "SVC", {"kernel": "poly", "gamma": 0.05}, SVMS, 1),
    "SVR: cal_housing": (
        dense_set("svr-cal_housing"), "SVR", parameters_of("svr-cal_housing"), SVMS, 2,
    ),
}  # fmt: skip


def measure(case, library, folder):
    """Run in the worker: the best fit and predict seconds, and the objective where it is known."""
    load, estimator, parameters, _, repeat = CASES[case]
    make = estimator_of(library, estimator)
    X, y, *to_predict = load(folder)
    warnings.simplefilter("ignore")
    some = np.linspace(0, len(y) - 1, min(600, len(y))).astype(int)
    make(**parameters).fit(X[some], y[some]).predict(X[some])
    fits = []
    for _ in range(repeat):
        began = time.perf_counter()
        model = make(**parameters).fit(X, y)
        if to_predict:  # the rows, and their labels
            ask = model.predict_proba if parameters.get("probability") else model.predict
            ask(to_predict[0])
        fits.append(time.perf_counter() - began)
    found = {"fit_s": min(fits)}
    if estimator == "LinearSVC":
        found["objective"] = linear_objective(model, X, y, parameters.get("loss", "squared_hinge"))
    return found


def linear_objective(model, X, y, loss):
    """Recomputed in float64: the sum over the classes."""
    decisions = model.decision_function(X).reshape(len(y), -1)
    positive = model.classes_[1:] if decisions.shape[1] == 1 else model.classes_
    slack = np.maximum(0, 1 - np.where(y[:, None] == positive, 1, -1) * decisions)
    losses = slack.sum() if loss == "hinge" else (slack**2).sum()
    return float(0.5 * (np.sum(model.coef_**2) + np.sum(model.intercept_**2)) + losses)


def run(case, library, folder, limit):
    command = [sys.executable, __file__, "--data", folder, "--work", case, "--library", library]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"fit_s": limit, "unfinished": True}
    return json.loads(result.stdout.splitlines()[-1])


def row_of(case, found):
    cells = [case]
    for library in COLUMNS:
        seconds, more = (found.get(library, {}).get(key) for key in ("fit_s", "unfinished"))
        cells.append("" if seconds is None else f"{'> ' if more else ''}{seconds:.4g} s")
    peers = [found[library] for library in found if library != "maxmargin"]
    if peers:
        fastest = min(peers, key=lambda peer: peer["fit_s"])
        more = "> " if fastest.get("unfinished") else ""
        cells.append(f"{more}{fastest['fit_s'] / found['maxmargin']['fit_s']:.2f}")
    else:
        cells.append("")
    objectives = [found[library].get("objective") for library in found]
    if all(objectives):
        cells.append(", ".join(f"{peer / objectives[-1] - 1:+.1e}" for peer in objectives[:-1]))
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("MAXMARGIN_DATA"))
    parser.add_argument("--cases", default="", help="beginnings of names, such as small,linear")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one library")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--library", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(measure(options.work, options.library, options.data)))
        return
    absent = [name for name in COLUMNS if importlib.util.find_spec(name) is None]
    everything = {}
    print("| case | scikit-learn | intelex | snapml | maxmargin | ratio | objective above ours |")
    print("|---|---|---|---|---|---|---|")
    for case, (*_, libraries, _) in CASES.items():
        if not case.startswith(tuple(options.cases.split(","))):
            continue
        chosen = [name for name in libraries if name not in absent]
        everything[case] = found = {
            name: run(case, name, options.data, options.limit) for name in chosen
        }
        print(row_of(case, found), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
