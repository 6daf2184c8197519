"""Warnings name the line of the caller, from however deep they come."""

import numpy as np
import pytest

from maxmargin import (
    SVC,
    SVR,
    GradientDescentClassifier,
    KernelRidge,
    Lasso,
    LinearRegression,
    LinearSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    Ridge,
)
from maxmargin.errors import ConvergenceWarning, MercerWarning, RankWarning
from maxmargin.kernels import Sigmoid

INDEFINITE = Sigmoid(gamma=1.0, coef0=-1.0)
UNFINISHED = [
    SVC(max_iter=1), NuSVC(nu=0.3, max_iter=1), SVR(max_iter=1), NuSVR(max_iter=1),
    OneClassSVM(max_iter=1), LinearSVC(max_iter=1, tol=1e-12), Lasso(alpha=1e-3, max_iter=1),
    GradientDescentClassifier(max_iter=1), Perceptron(max_updates=1),
    KernelRidge(kernel="rbf", solver="cg", alpha=1e-9, max_iter=1, memory_limit=1e-3),
]  # fmt: skip
OF_KERNELS = [
    SVC(kernel=INDEFINITE), SVR(kernel=INDEFINITE), OneClassSVM(kernel=INDEFINITE),
    KernelRidge(kernel=INDEFINITE), Perceptron(kernel=INDEFINITE, max_updates=3000),
]  # fmt: skip
OF_SHORT_RANK = [LinearRegression(), Ridge(alpha=0.0), KernelRidge(alpha=0.0)]


def rows():
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[:, 3] = X[:, 2]
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


@pytest.mark.parametrize(
    ("model", "category"),
    [
        *((model, ConvergenceWarning) for model in UNFINISHED),
        *((model, MercerWarning) for model in OF_KERNELS),
        *((model, RankWarning) for model in OF_SHORT_RANK),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_a_warning_of_a_fit_names_the_line_of_the_caller(model, category):
    X, y = rows()
    with pytest.warns(category) as caught:
        model.fit(X, y)
    assert {one.filename for one in caught if one.category is category} == {__file__}
