"""Every exported estimator, with its ways to be solved, and data that give it something to do."""

import inspect
import pickle
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils import get_tags

import maxmargin

EXPORTED = sorted(
    name
    for name in maxmargin.__all__
    if isinstance(getattr(maxmargin, name), type)
    and issubclass(getattr(maxmargin, name), BaseEstimator)
)

# Where the default is infeasible for three classes, or would go on for long.
DEFAULTS = {
    "NuSVC": {"nu": 0.2},
    "Perceptron": {"max_updates": 200},
    "GradientDescentClassifier": {"max_iter": 5},
    "GradientDescentRegressor": {"max_iter": 5},
}

# Ways through other solvers than the default's.
OTHER_WAYS = {
    "SVC": [
        {"probability": True},
        {"multi_class": "ovr", "kernel": "linear"},
        {"multi_class": "ovr", "kernel": "poly", "probability": True},
        {"kernel": "poly"},
        {"solver": "smo_platt"},
    ],
    "SVR": [{"kernel": "linear"}],
    "LinearSVC": [
        {"loss": "hinge"},
        {"penalty": "l1", "dual": False},
        {"multi_class": "crammer_singer"},
    ],
    "LinearSVR": [{"loss": "squared_epsilon_insensitive"}],
    "LinearRegression": [{"positive": True}],
    "Ridge": [{"positive": True}, {"solver": "lsqr"}],
    "Nystroem": [{"kernel": "cosine"}],
    "KernelRidge": [{"kernel": "rbf"}, {"kernel": "rbf", "solver": "cg"}],
    "Perceptron": [{"kernel": maxmargin.kernels.RBF(0.5)}],
}

# Data on which some are told that they have not converged, that the rank is short, and so on:
# the estimators' own tests pin these warnings.
IGNORED = (
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::maxmargin.errors.RankWarning",
)

QUESTIONS = ("predict", "decision_function", "predict_proba", "transform", "score_samples")


def made(name, **parameters):
    return getattr(maxmargin, name)(**{**DEFAULTS.get(name, {}), **parameters})


def _named(name, **parameters):
    settings = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
    return f"{name}({settings})", partial(made, name, **parameters)


# Title -> a function that makes the estimator, unfitted.
EVERY = dict(
    _named(name, **parameters)
    for name in EXPORTED
    for parameters in [{}, *OTHER_WAYS.get(name, [])]
)
TAKE_SPARSE = [title for title, make in EVERY.items() if get_tags(make()).input_tags.sparse]


def data_for(model, n=90, d=2):
    """Rows, and labels of three classes or targets that have to do with them.

    Two columns, because that is what some of the feature maps are defined for.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d)).round(3)
    X[rng.random((n, d)) < 0.2] = 0.0
    target = X[:, 0] + 0.3 * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, (np.digitize(target, [-0.5, 0.5]) if is_classifier(model) else target)


def answers(model, X):
    """Everything a model says about X, as one text of bytes."""
    asked = [getattr(model, name)(X) for name in QUESTIONS if hasattr(model, name)]
    plain = [one.toarray() if sparse.issparse(one) else np.asarray(one) for one in asked]
    assert plain
    return b"".join(np.ascontiguousarray(one).tobytes() for one in plain)


def numbers(model, X):
    """What a model says about X where it answers in numbers, for comparisons up to rounding."""
    names = ["decision_function", "transform"] if not is_regressor(model) else ["predict"]
    found = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    return [one.toarray() if sparse.issparse(one) else np.asarray(one) for one in found]


def state(model):
    """All attributes, parameters and fitted ones, in bytes that are equal if and only if they are.

    Each by itself, so that two attributes which share an array do not differ from two that do not.
    """
    return {name: pickle.dumps(value) for name, value in vars(model).items()}


def takes_seed(model):
    return "random_state" in inspect.signature(type(model)).parameters
