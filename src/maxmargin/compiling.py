"""Compile the inner loops ahead of time, for images and CI: later processes find the code on disk.

Loops are compiled for the types they are called with, so each kind of fit is made once on a few
rows: dense and sparse, in one block and in many, for classes, targets and neither.
"""

import warnings
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.base import clone

from maxmargin.compiled.numba_setup import HAS_COMPILER
from maxmargin.estimators.gradient_descent import (
    GradientDescentClassifier,
    GradientDescentRegressor,
)
from maxmargin.estimators.kernel_approximation import Nystroem, RandomFourierFeatures
from maxmargin.estimators.kernel_ridge import KernelRidge
from maxmargin.estimators.lasso import Lasso
from maxmargin.estimators.linear import LinearRegression, Ridge
from maxmargin.estimators.linear_svm import LinearSVC, LinearSVR
from maxmargin.estimators.one_class import OneClassSVM
from maxmargin.estimators.perceptron import Perceptron
from maxmargin.estimators.svc import SVC, NuSVC
from maxmargin.estimators.svr import SVR, NuSVR
from maxmargin.solvers.smo import FLOAT64, SMO, WHOLE

FEW, MANY = 90, WHOLE + 1  # Few rows are one block, and many are several.
FEATURES = 6
KERNELS = ("rbf", "linear", "poly", "sigmoid", "laplacian")

# What is fitted to classes and to targets, with few rows and with many.
FEW_CLASSES = (
    *(SVC(kernel=kernel) for kernel in KERNELS), SVC(probability=True), SVC(multi_class="ovr"),
    NuSVC(nu=0.1), OneClassSVM(), Perceptron(), Perceptron(kernel="rbf"),
    GradientDescentClassifier(max_iter=20), LinearSVC(), LinearSVC(loss="hinge"),
    LinearSVC(penalty="l1", dual=False), LinearSVC(multi_class="crammer_singer"),
)  # fmt: skip
FEW_TARGETS = (
    SVR(), NuSVR(), LinearSVR(), LinearSVR(loss="squared_epsilon_insensitive"), Lasso(),
    LinearRegression(), Ridge(), KernelRidge(kernel="rbf"), GradientDescentRegressor(max_iter=20),
)  # fmt: skip
MANY_CLASSES = (
    *(SVC(kernel=kernel) for kernel in ("rbf", "poly")), SVC(solver=SMO(dtype=FLOAT64)),
    LinearSVC(), LinearSVC(loss="hinge"), Nystroem(n_components=20),
    RandomFourierFeatures(n_components=20),
)  # fmt: skip
MANY_TARGETS = (SVR(), LinearSVR(), Ridge(), Lasso())


def compile(tell=None):
    """Compile every kind of fit and keep the code on disk, so that no later process waits for it.

    Parameters
    ----------
    tell : callable, optional
        It is called with each model that has been fitted, and the seconds that took.

    Returns
    -------
    seconds : float
        The time it all took, which is short if the code is on disk already.

    Examples
    --------
    >>> import maxmargin
    >>> maxmargin.compile()  # doctest: +SKIP
    48.3
    """
    began = perf_counter()
    if HAS_COMPILER:
        for model, X, y in _fits():
            seconds = _compile_for(model, X, y)
            if tell is not None:
                tell(model, seconds)
    return perf_counter() - began


def _fits():
    rng = np.random.default_rng(0)
    for n, for_classes, for_targets in (
        (FEW, FEW_CLASSES, FEW_TARGETS),
        (MANY, MANY_CLASSES, MANY_TARGETS),
    ):
        X = rng.standard_normal((n, FEATURES))
        target = X[:, 0] + 0.5 * rng.standard_normal(n)
        classes = np.digitize(target, [-0.5, 0.5] if n == FEW else [0.0])
        for rows in (X, sparse.csr_array(np.where(X > 1.0, X, 0.0))):
            yield from ((clone(model), rows, classes) for model in for_classes)
            yield from ((clone(model), rows, target) for model in for_targets)


def _compile_for(model, X, y):
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the models are of no use to anybody
        model.fit(X, y)
    answer = model.predict if hasattr(model, "predict") else model.transform
    answer(X)
    return perf_counter() - began
