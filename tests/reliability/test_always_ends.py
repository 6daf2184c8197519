"""Every fit ends, and one that has not reached its tolerance says so, with numbers."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import sklearn.svm
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_classification

from maxmargin import (
    SVC,
    SVR,
    KernelRidge,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    Perceptron,
    solvers,
)
from maxmargin.errors import ConvergenceWarning, KernelError, MercerWarning, NotSeparableError
from maxmargin.estimators import machines
from maxmargin.kernels import Custom
from maxmargin.solvers.base import Solution, Solver

KERNEL_MACHINES = [SVC(), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM()]
LINEAR_MACHINES = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(penalty="l1", dual=False),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive"),
]


BY_EVERY_SOLVER = [*KERNEL_MACHINES, *(SVC(solver=name) for name in solvers.TEACHING)]


def name_of(model):
    return type(model).__name__


def data(n=200, d=5):
    X, y = make_classification(n, d, n_redundant=0, flip_y=0.2, random_state=0)
    return X, y


def fitted(model, X, y, **parameters):
    """A fitted copy of the model, and the warnings of the fit."""
    model = clone(model).set_params(**parameters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return model, [warning.message for warning in caught]


def check_honest(model, caught):
    """Proved and silent, or not converged and said so with its numbers."""
    proof = model.certificate_
    told = [w for w in caught if isinstance(w, ConvergenceWarning)]
    assert model.converged_ or not proof.optimal
    assert proof.stationary or not model.converged_
    assert len(told) == (0 if model.converged_ else 1)
    if told:
        assert "duality gap" in str(told[0])
        if hasattr(model, "dual_coef_"):
            assert f"KKT violation {proof.kkt_violation:.1e}" in str(told[0])
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.all(np.isfinite(value)), name


@pytest.mark.parametrize("solver", solvers.NAMES)
@pytest.mark.parametrize("gamma", [1.0, "scale"])
def test_two_points_that_hang_libsvm(solver, gamma):
    X, y = np.array([[1.0, 99999.0], [2.0, 99999.0]]), np.array([0, 1])
    model, caught = fitted(SVC(kernel="poly", degree=2, gamma=gamma, solver=solver), X, y)
    check_honest(model, caught)
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("model", KERNEL_MACHINES[1:], ids=name_of)
def test_other_machines_end_on_them_too(model):
    X, y = np.array([[1.0, 99999.0], [2.0, 99999.0]]), np.array([0, 1])
    model, caught = fitted(type(model)(kernel="poly", degree=2, gamma=1.0), X, y)
    check_honest(model, caught)


@pytest.fixture
def few_steps(monkeypatch):
    """The default limit, made small: what happens there must not take ten seconds to see."""
    monkeypatch.setattr(machines, "DEFAULT_MAX_ITER", 20_000)


@pytest.mark.parametrize("C", [1e10, float("inf")])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("cls", [SVC, SVR, NuSVR])
def test_no_C_is_too_large(cls, kernel, C, request):
    X, y = data(400)
    model = cls(C=C, kernel=kernel)
    if cls is NuSVR and kernel == "rbf":  # ends at its tolerance, but after fifteen seconds
        request.getfixturevalue("few_steps")
    if cls is SVC and np.isinf(C) and kernel == "linear":
        with pytest.raises(NotSeparableError, match="cannot be separated"):
            model.fit(X, y)
        return
    model, caught = fitted(model, X, y if cls is SVC else X[:, 0] + np.sin(5 * X[:, 1]))
    check_honest(model, caught)
    assert np.max(model.n_iter_) < 2_000_000  # a step takes a millionth of a second


@pytest.mark.parametrize("model", LINEAR_MACHINES, ids=str)
@pytest.mark.parametrize("C", [1.0, 1e10])
@pytest.mark.parametrize("largest", [1.0, 1e7])
def test_linear_machines_end_on_large_prices_and_on_badly_scaled_columns(model, C, largest):
    X, y = data(400)
    X = X * np.geomspace(1.0, largest, X.shape[1])
    model, caught = fitted(model, X, y, C=C)
    check_honest(model, caught)


@pytest.mark.parametrize("model", KERNEL_MACHINES, ids=name_of)
def test_badly_scaled_columns_of_a_linear_kernel(model):
    X, y = data(400)
    X = X * np.geomspace(1.0, 1e7, X.shape[1])
    model, caught = fitted(model, X, y, kernel="linear")
    check_honest(model, caught)
    assert model.n_iter_ < 7_000_000  # of the ten million that are allowed


@dataclass
class Idle(Solver):
    """Does nothing and remembers what it was allowed."""

    allowed = []  # noqa: RUF012

    def solve(self, problem, budget, start=None):
        self.allowed.append(budget.max_iter)
        zero = np.zeros(problem.n)
        return Solution(zero, np.zeros(1), zero, 0, 1.0, "max_iter")


@pytest.mark.parametrize("n", [10, 150_000])
def test_the_default_limit_is_libsvms(n):
    Idle.allowed.clear()
    X, y = np.zeros((n, 1)), np.arange(n) % 2
    with pytest.warns(ConvergenceWarning, match="KKT violation .* duality gap"):
        model = SVC(solver=Idle(), gamma=1.0).fit(X, y)
    assert Idle.allowed == [max(10_000_000, 100 * n)]
    assert not model.converged_


# Kernels that are none.


def random_symmetric(n=200):
    S = np.random.default_rng(0).standard_normal((n, n))
    return S + S.T


@pytest.mark.parametrize("n", [100, 160, 300, 700, 2500])
@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.filterwarnings("ignore::maxmargin.errors.MercerWarning")
def test_negative_distances_are_as_good_as_a_kernel(n, power):
    """Their curvature is that of a kernel where the multipliers sum to zero; K_ii is zero."""
    X, y = make_classification(n, 6, random_state=0)
    K = -(cdist(X, X) ** power)
    ours, theirs = SVC(kernel="precomputed").fit(K, y), sklearn.svm.SVC(kernel="precomputed")
    theirs.fit(K, y)
    assert ours.converged_
    ours, theirs = (dual_objective(model, K) for model in (ours, theirs))
    assert ours >= theirs - 1e-3 * abs(theirs)


def dual_objective(model, K):
    coef = model.dual_coef_[0]
    K = K[np.ix_(model.support_, model.support_)]
    return np.abs(coef).sum() - 0.5 * coef @ K @ coef


@pytest.mark.parametrize("model", BY_EVERY_SOLVER, ids=str)
@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed"])
@pytest.mark.filterwarnings("ignore:nu is too small")  # without |w|^2 >= 0 there may be no margin
def test_an_indefinite_kernel_ends_at_a_stationary_point_and_warns_once(model, kernel):
    X, y = data()
    X = X if kernel == "sigmoid" else random_symmetric()
    model, caught = fitted(model, X, y, kernel=kernel, gamma=1.0)
    not_psd = [str(warning) for warning in caught if isinstance(warning, MercerWarning)]
    assert len(not_psd) == 1
    assert "kernel not PSD (smallest eigenvalue -" in not_psd[0]
    check_honest(model, caught)
    if model.solver not in ("smo_random_pair", "smo_simplified"):  # whose luck may run out
        assert model.certificate_.kkt_violation <= model.tol


@pytest.mark.parametrize(
    "model",
    [KernelRidge(kernel="sigmoid"), Perceptron(kernel="sigmoid", max_updates=50),
     Nystroem(kernel="sigmoid", gamma=1.0)],
    ids=name_of,
)  # fmt: skip
def test_everyone_else_who_takes_kernels_warns_too(model):
    X, y = data(60)
    caught = [w for w in fitted(model, 3 * X, y)[1] if not isinstance(w, ConvergenceWarning)]
    assert [type(warning) for warning in caught] == [MercerWarning]
    assert "-" in str(caught[0])


@pytest.mark.parametrize("model", [*KERNEL_MACHINES, KernelRidge()], ids=name_of)
def test_an_asymmetric_matrix_is_refused(model):
    X, y = data(60)
    K = X @ X.T
    K[3, 7] = K[7, 3] + 1.1e-8 * np.abs(K).max()
    with pytest.raises(ValueError, match="not symmetric: entries differ by up to"):
        clone(model).set_params(kernel="precomputed").fit(K, y)
    K[3, 7] = K[7, 3] * (1 + 1e-14)  # rounding is no asymmetry
    model, caught = fitted(model, K, y, kernel="precomputed")
    assert not any(isinstance(warning, MercerWarning) for warning in caught)


def lopsided(A, B):
    return A @ np.diag([1.0, 1.0, 1.0, 1.0], k=1) @ B.T


@pytest.mark.parametrize("kernel", [lopsided, Custom(lopsided)], ids=["function", "Custom"])
@pytest.mark.parametrize("model", [*KERNEL_MACHINES, KernelRidge()], ids=name_of)
def test_an_asymmetric_function_is_refused(model, kernel):
    X, y = data(60)
    with pytest.raises(KernelError, match="is not symmetric: k\\(x, z\\) and k\\(z, x\\) differ"):
        clone(model).set_params(kernel=kernel).fit(X, y)


def test_a_function_may_round_to_single_precision():
    X, y = data(60)
    kernel = Custom(lambda A, B: np.float32(A + 3) @ np.float32(B + 3).T)
    model, _ = fitted(SVC(), X, y, kernel=kernel)
    assert model.predict(X).shape == y.shape


# Points that contradict each other.


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("n", "C"), [(20, 1.0), (20, 1e8), (400, 1e4), (400, 1e8), (4000, 1.0)])
def test_every_point_with_both_labels_is_at_its_bound(kernel, n, C):
    X = np.repeat(np.random.default_rng(0).standard_normal((n // 2, 3)), 2, axis=0)
    model = SVC(kernel=kernel, C=C).fit(X, np.arange(n) % 2)
    np.testing.assert_array_equal(np.abs(model.dual_coef_), C)
    assert len(model.support_) == n
    assert model.converged_
    assert model.n_iter_[0] <= 200 * n


@pytest.mark.parametrize("size", [1e5, 1e10, 1e20])
def test_they_are_at_their_bound_however_large_the_kernel_is(size):
    """Nothing is claimed of it where f, a sum of entries of the kernel, is known to no digit."""
    X, y = np.full((9, 2), size), np.arange(9) % 2
    with pytest.warns(ConvergenceWarning, match="rounding errors"):
        model = SVC(kernel="poly", degree=2, gamma=1.0).fit(X, y)
    assert not model.certificate_.optimal
    assert np.abs(model.dual_coef_).sum() == 8.0


@pytest.mark.parametrize(("n", "C"), [(4000, 1e4), (4000, 1e8), (10_000, 1e8)])
def test_thousands_of_them_in_any_order(n, C):
    """They do not fit into one block, and a block without the twin of a point would go astray."""
    rng = np.random.default_rng(0)
    order = rng.permutation(n)
    X = np.repeat(rng.standard_normal((n // 2, 3)), 2, axis=0)[order]
    model = SVC(C=C).fit(X, (np.arange(n) % 2)[order])
    np.testing.assert_array_equal(np.abs(model.dual_coef_), C)
    assert len(model.support_) == n
    assert model.n_iter_[0] <= n


# Tolerances and limits.


@pytest.mark.parametrize("tol", [1e-12, 1e-16])
@pytest.mark.parametrize("model", [*BY_EVERY_SOLVER, *LINEAR_MACHINES], ids=str)
def test_no_tolerance_is_too_small(model, tol):
    X, y = data(60)
    model, caught = fitted(model, X, y, tol=tol)
    check_honest(model, caught)
    assert np.max(model.n_iter_) < 100_000


@pytest.mark.parametrize("tol", [0, 0.0, -1e-3, float("nan"), float("inf")])
@pytest.mark.parametrize("model", [*KERNEL_MACHINES, *LINEAR_MACHINES, KernelRidge()], ids=str)
def test_a_tolerance_that_means_nothing_is_refused(model, tol):
    X, y = data(20)
    with pytest.raises(ValueError, match=f"{name_of(model)}: tol must be a positive finite number"):
        type(model)(tol=tol).fit(X, y)


@pytest.mark.parametrize("max_iter", [0, 1, 5])
@pytest.mark.parametrize("model", BY_EVERY_SOLVER, ids=str)
def test_max_iter_is_obeyed_exactly_by_every_solver(model, max_iter):
    X, y = data()
    model, caught = fitted(model, X, y, max_iter=max_iter)
    assert f"(max_iter={max_iter})" in str(caught[0])
    assert np.all(model.n_iter_ == max_iter)
    assert not model.converged_
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("max_iter", [0, 1, 5])
@pytest.mark.parametrize("model", LINEAR_MACHINES, ids=str)
def test_max_iter_of_linear_machines(model, max_iter):
    X, y = data()
    model, caught = fitted(model, X * np.geomspace(1, 1e3, 5), y, max_iter=max_iter, tol=1e-10)
    assert model.n_iter_ <= max_iter
    check_honest(model, caught)
    assert np.all(np.isfinite(model.predict(X)))
