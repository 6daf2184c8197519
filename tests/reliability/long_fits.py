"""Fits that take seconds, one per line of standard input; run by `test_signals.py` in a process.

For every name: "begin", the fit, and then "ended", the time at which it ended, and how.
"""

import sys
import time
import warnings
from functools import cache

import numpy as np
from every_estimator import made, state
from sklearn.base import clone, is_classifier

# Settings with which a fit takes long; the others take long on so much noise, or never do.
SETTINGS = {
    "GradientDescentClassifier": {"max_iter": 10**6, "tol": 0.0},
    "GradientDescentRegressor": {"max_iter": 10**6, "tol": 0.0},
    "KernelRidge": {"kernel": "rbf", "alpha": 1e-3},
    "Lasso": {"alpha": 1e-4},
    "NuSVC": {"nu": 0.5},
    "Nystroem": {"n_components": 1500},
    "Perceptron": {"max_updates": 10**9},
    "SVC": {"C": 10.0},
    "SVR": {"C": 10.0},
}
WIDE = {  # those whose work is in w: many features, not many points
    "GradientDescentClassifier", "GradientDescentRegressor", "Lasso", "LinearRegression",
    "LinearSVC", "LinearSVR", "Perceptron", "Ridge",
}  # fmt: skip
OF_TWO_FEATURES = {"CircleMap", "KernelMap", "PolynomialMap", "XNORMap"}


@cache
def noise(n, d):
    return np.random.default_rng(0).standard_normal((n, d))


def rows_for(name):
    if name in WIDE:
        return noise(12_000, 1500)
    if name in ("KernelRidge", "Nystroem"):
        return noise(6000, 30)
    return noise(20_000, 2 if name in OF_TWO_FEATURES else 30)


def targets_for(model, X):
    target = X[:, 0] + 2 * np.random.default_rng(1).standard_normal(len(X))
    return (target > 0).astype(int) if is_classifier(model) else target


def ending(model, X, y):
    """Fit, anew where that is over too soon, until Ctrl-C; say how it ended."""
    initial = dict(vars(model))
    try:
        while True:
            vars(model).clear()
            vars(model).update(initial)
            model.fit(X, y)
    except KeyboardInterrupt:
        return "interrupted"


def aftermath(model, before, X, y, how):
    """What is wrong with a model after that; nothing, if it is as it was or can be used."""
    if how == "interrupted" and state(model) != before:
        if "max_time" not in model.get_params():
            return "not as before"
        usable = not getattr(model, "converged_", False)
        if not usable or not np.all(np.isfinite(model.predict(X[:5]))):
            return "neither as before nor usable"
    fit_a_little(model, X, y)
    return ""


def fit_a_little(model, X, y):
    names = ("max_iter", "max_updates", "n_components")
    few = {name: 3 for name in names if name in model.get_params()}
    return clone(model).set_params(**few).fit(X[:100, :10], y[:100])


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main():
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        name = line.strip()
        model = made(name, **SETTINGS.get(name, {}))
        X = rows_for(name)
        y = targets_for(model, X)
        fit_a_little(model, X, y)  # compiled
        before = state(model)
        say("begin")
        how = ending(model, X, y)
        ended = time.monotonic()
        say("ended", ended, how, aftermath(model, before, X, y, how))


if __name__ == "__main__":
    main()
