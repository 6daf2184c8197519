"""Probabilities in LIBSVM's form, so that its model files can hold them.

Each pair of classes has a sigmoid 1 / (1 + exp(A f + B)) of its decision values f (Platt), fitted
on five folds; the pairs are coupled as `SVC(probability=True)` couples its own.
"""

import io
from itertools import combinations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from maxmargin import arrays
from maxmargin.estimators.probability import N_FOLDS, couple
from maxmargin.files.access import reasons_named, replacing
from maxmargin.files.libsvm_writer import write_libsvm


def pairs_of(classes):
    """The pairs in the order in which `save_libsvm` writes them; the second of two comes first."""
    return [(1, 0)] if len(classes) == 2 else list(combinations(range(len(classes)), 2))


def fit_sigmoids(model, X, y):
    """The (A, B) of every pair, from decision values of points that the machine has not seen."""
    found = []
    for first, second in pairs_of(model.classes_):
        rows = np.flatnonzero(np.isin(y, model.classes_[[first, second]]))
        part = arrays.take(X, rows)
        if model.kernel == "precomputed":
            part = np.ascontiguousarray(part[:, rows])
        is_first = y[rows] == model.classes_[first]
        smallest = int(min(is_first.sum(), (~is_first).sum()))
        if smallest < 2:
            raise ValueError("svm-train: -b 1 needs at least two rows of every label.")
        folds = StratifiedKFold(min(N_FOLDS, smallest), shuffle=True, random_state=0)
        machine = clone(model).set_params(class_weight=_for_signs(model, first, second))
        decisions = cross_val_predict(
            machine, part, is_first.astype(int), cv=folds, method="decision_function"
        )
        found.append(platt(decisions, is_first))
    return found


def _for_signs(model, first, second):
    weights = model.class_weight
    if not isinstance(weights, dict):
        return weights
    labels = model.classes_.tolist()
    return {1: weights.get(labels[first], 1.0), 0: weights.get(labels[second], 1.0)}


def platt(decisions, is_first):
    """The A and B that make the labels likeliest, with targets a little inside 0 and 1."""
    n_first, n_second = is_first.sum(), (~is_first).sum()
    target = np.where(is_first, (n_first + 1) / (n_first + 2), 1 / (n_second + 2))

    def loss(AB):
        t = AB[0] * decisions + AB[1]  # p = 1 / (1 + exp(t)): -log p = log(1 + exp(t))
        value = np.sum(target * np.logaddexp(0, t) + (1 - target) * np.logaddexp(0, -t))
        slope = target - expit(-t)
        return value, np.array([slope @ decisions, slope.sum()])

    start = np.array([0.0, np.log((n_second + 1) / (n_first + 1))])
    return minimize(loss, start, jac=True, method="BFGS").x


def save_with_sigmoids(model, sigmoids, path):
    """Write a LIBSVM model file with the lines probA and probB."""
    A, B = (" ".join(f"{value:.17g}" for value in values) for values in zip(*sigmoids, strict=True))
    without = io.BytesIO()
    with reasons_named(path), replacing(path) as file:
        write_libsvm(model, without)
        text = without.getvalue()
        file.write(text.replace(b"\nnr_sv ", f"\nprobA {A}\nprobB {B}\nnr_sv ".encode(), 1))


def read_sigmoids(path):
    """(labels in the file's order, A, B) of a classifier in a LIBSVM file, or None if it has none.

    The file has been read as a model before, so its lines are valid.
    """
    head = {}
    with open(path, "rb") as file:
        for line in file:
            words = line.split()
            if words[:1] == [b"SV"]:
                break
            if words[:1] in ([b"label"], [b"probA"], [b"probB"]):
                head[words[0]] = np.array([float(word) for word in words[1:]])
    if len(head) < 3:
        return None
    return head[b"label"].astype(np.int64), head[b"probA"], head[b"probB"]


def probabilities(model, sigmoids, X):
    """The probabilities, a column per label in the file's order."""
    labels, A, B = sigmoids
    places = np.searchsorted(model.classes_, labels)
    decisions = _pair_decisions(model, X)
    pairs = list(combinations(range(len(labels)), 2))
    columns = []
    for k, (i, j) in enumerate(pairs):
        a, b = places[i], places[j]
        f = decisions[min(a, b), max(a, b)]
        columns.append(expit(-(A[k] * (f if a < b else -f) + B[k])))
    if len(labels) == 2:
        return np.column_stack([columns[0], 1 - columns[0]])
    return couple(np.column_stack(columns), len(labels))


def _pair_decisions(model, X):
    """Decision values by pair of sorted classes, positive for the first."""
    model.decision_function_shape = "ovo"  # a column per pair
    values = model.decision_function(X)
    if values.ndim == 1:
        return {(0, 1): -values}
    pairs = combinations(range(len(model.classes_)), 2)
    return {pair: values[:, k] for k, pair in enumerate(pairs)}
