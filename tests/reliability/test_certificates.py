"""A certificate claims nothing that is not so, on the data and by the solvers that make it hard."""

import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.svm
from lying_solvers import Boaster, Exaggerator, Liar
from matrices import matrix_of
from oracle import oracle_objective
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone

from maxmargin import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM
from maxmargin.errors import ConvergenceWarning, KernelError, MercerWarning
from maxmargin.kernels import RBF, Custom, Kernel, Linear, Polynomial, Sigmoid
from maxmargin.problems import certify
from maxmargin.problems.certificate import combine, unproved
from maxmargin.problems.reductions import c_svc
from maxmargin.solvers import proved
from maxmargin.solvers.base import Solution
from maxmargin.solvers.smo import SMO

STORED = {"dense": np.asarray, "csr": sparse.csr_array}


def caught_by(fit):
    """What a fit returns, and the categories of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return fit(), {warning.category for warning in caught}


# The rounding of f.


def thin_groups(far, n=400, d=40):
    """Rows that are mostly zeros, half of them in a group far away."""
    rng = np.random.default_rng(0)
    X = np.zeros((n, d))
    X[:, :3] = rng.standard_normal((n, 3))
    X[::2, 0] += far
    return X, np.sign(X[:, 1] + 0.5 * rng.standard_normal(n))


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("far", [1e4, 1e7, 1e8])
def test_thin_rows_in_far_groups_have_the_answers_of_the_formula(far, stored):
    X, y = thin_groups(far)
    K = np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    rows = STORED[stored](X)
    model = SVC(gamma=0.5, C=10, tol=1e-6).fit(rows, y)
    coef = np.zeros(len(y))
    coef[model.support_] = np.ravel(sparse.csr_array(model.dual_coef_).toarray())
    np.testing.assert_allclose(
        model.decision_function(rows), K @ coef + model.intercept_, atol=1e-9
    )
    best = oracle_objective(c_svc(matrix_of(RBF(0.5), X), y, np.full(len(y), 10.0)))
    assert model.certificate_.optimal
    assert model.certificate_.dual_objective == pytest.approx(best, rel=1e-6)
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(rows, y)
    expected = K @ np.linalg.solve(K + 0.1 * np.eye(len(y)), y)
    np.testing.assert_allclose(ridge.predict(rows), expected, atol=1e-8)


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("kernel", [RBF(0.5), 2.0 * RBF(0.5) + RBF(0.1)])
def test_distances_of_far_points_are_those_of_their_differences(kernel, stored):
    X, _ = thin_groups(1e8, n=60)
    expected = [[kernel(X[[i]] - X[[j]], np.zeros((1, 40)))[0, 0] for j in range(60)]
                for i in range(60)]  # fmt: skip
    np.testing.assert_allclose(kernel(STORED[stored](X)), expected, atol=1e-9)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 1.0), Sigmoid(1e-14)], ids=repr)
@pytest.mark.filterwarnings("ignore::maxmargin.errors.MercerWarning")
def test_what_rounding_hides_is_never_called_optimal(kernel):
    """Products of numbers of 1e14 that nearly cancel: what is left of them is rounding."""
    rng = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 100)
    X = 1e14 * np.column_stack([np.ones(200), y]) + rng.standard_normal((200, 2))
    X = X[rng.permutation(200)]
    model, seen = caught_by(lambda: SVC(kernel=kernel, C=10).fit(X, y))
    certificate = model.certificate_
    assert certificate.rounding > certificate.tol
    assert not certificate.stationary
    assert not certificate.optimal
    assert not model.converged_
    assert ConvergenceWarning in seen


def test_the_estimate_of_rounding_is_above_the_error_of_f_and_not_far_above():
    rng = np.random.default_rng(0)
    X, y = 1e3 * rng.standard_normal((300, 4)), rng.standard_normal(300)
    model = SVR(kernel="poly", degree=2, gamma=1.0, C=1e-9, tol=1e-3).fit(X, y)
    coef = np.zeros(300, dtype=np.longdouble)
    coef[model.support_] = model.dual_coef_[0]
    wide = X.astype(np.longdouble)
    exact = (wide @ wide.T) ** 2 @ coef + model.intercept_[0]
    error = float(np.max(np.abs(exact - model.predict(X))))
    assert error <= model.certificate_.rounding <= 1e4 * max(error, 1e-16)


# Kernels that may be none.


def indefinite_away_from_the_sample(n):
    """A Gram matrix with a few rows, in no step with any even spacing, that spoil it."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 2))
    K = np.exp(-cdist(X, X, "sqeuclidean"))
    bad = np.flatnonzero(rng.random(n) < 0.5)[: n // 8] // 2 * 2 + 1
    bad = np.setdiff1d(bad, np.linspace(0, n - 1, 200).astype(int))
    S = rng.standard_normal((len(bad), len(bad)))
    K[np.ix_(bad, bad)] += S + S.T
    return K, np.sign(X[:, 0] + 0.3 * rng.standard_normal(n))


def test_a_matrix_that_is_indefinite_away_from_any_sample_is_found_out():
    K, y = indefinite_away_from_the_sample(600)
    model, seen = caught_by(lambda: SVC(kernel="precomputed", C=10).fit(K, y))
    assert MercerWarning in seen
    assert model.certificate_.mercer is False
    assert not model.certificate_.optimal
    assert "positive semidefinite" in repr(model.certificate_)


def test_a_kernel_too_large_to_look_at_is_certified_as_a_stationary_point_only():
    K, y = indefinite_away_from_the_sample(2200)
    model, _ = caught_by(lambda: SVC(kernel="precomputed", C=10, tol=1e-2).fit(K, y))
    certificate = model.certificate_
    assert certificate.mercer is not True
    assert not certificate.optimal
    theirs = sklearn.svm.SVC(kernel="precomputed", C=10, tol=1e-2, max_iter=200_000).fit(K, y)
    coef = np.zeros(len(y))
    coef[theirs.support_] = theirs.dual_coef_[0]
    better = coef @ y - 0.5 * coef @ K @ coef > certificate.primal_objective
    assert not (better and certificate.optimal)


def test_a_good_matrix_of_unknown_kind_is_certified_where_all_of_it_was_looked_at():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.sign(X[:, 0])
    K = np.exp(-cdist(X, X, "sqeuclidean"))
    for kernel, rows in (("precomputed", K), (Custom(lambda A, B: A @ B.T), X)):
        model = SVC(kernel=kernel).fit(rows, y)
        assert model.certificate_.mercer is True
        assert model.certificate_.optimal


def test_a_good_matrix_too_large_to_look_at_converges_without_a_warning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2100, 3))
    model = SVC(kernel=Custom(lambda A, B: A @ B.T), tol=1e-2).fit(X, np.sign(X[:, 0]))
    assert model.converged_
    assert model.certificate_.stationary
    assert model.certificate_.mercer is None
    assert not model.certificate_.optimal
    assert repr(model.certificate_).startswith("Certificate: a stationary point within")


def test_an_indefinite_kernel_is_never_called_optimal():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    with pytest.warns(MercerWarning):
        model = SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0).fit(X, np.sign(X[:, 0]))
    assert model.certificate_.mercer is False
    assert not model.certificate_.optimal


def lopsided(n, at):
    """A function of two sets of rows that is symmetric but for one pair of rows."""

    def kernel(A, B):
        K = A[:, :1] @ B[:, :1].T + np.exp(-cdist(A[:, :1], B[:, :1], "sqeuclidean"))
        K[np.ix_(A[:, 1] == at[0], B[:, 1] == at[1])] += 50.0
        return K

    X = np.column_stack([np.linspace(-1, 1, n), np.arange(n)])
    return kernel, X, np.sign(np.sin(20 * X[:, 0]))


def test_asymmetry_away_from_any_sample_is_refused_by_name():
    kernel, X, y = lopsided(601, at=(2, 502))
    with pytest.raises(KernelError, match=r"is not symmetric: .* differ by up to 50"):
        SVC(kernel=kernel).fit(X, y)
    with pytest.raises(KernelError, match=r"is not symmetric: .* differ by up to 50"):
        SVC(kernel=Custom(kernel)).fit(X, y)


# Solvers that lie.


MACHINES = [SVC(), SVR(epsilon=0.01), NuSVC(nu=0.3), NuSVR(), OneClassSVM()]


@pytest.mark.parametrize("liar", [Liar(), Exaggerator(), Exaggerator(factor=1e-9)], ids=repr)
@pytest.mark.parametrize("model", MACHINES, ids=lambda model: type(model).__name__)
def test_a_solver_that_lies_is_never_called_optimal(model, liar):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(80))
    model.set_params(solver=liar)
    try:
        _, seen = caught_by(lambda: model.fit(X, y))
    finally:
        model.set_params(solver="smo")
    assert not model.certificate_.optimal
    assert not model.converged_
    assert ConvergenceWarning in seen


@pytest.mark.parametrize("model", [SVC(C=5.0), SVR(), NuSVR(), OneClassSVM(nu=0.3)], ids=str)
@pytest.mark.parametrize("n", [60, 700])
def test_of_a_solver_nothing_but_its_coefficients_is_used(model, n):
    """Biases and f are computed from the data, so that a lie about them changes no model."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(n))
    honest, boasting = (clone(model).set_params(solver=one).fit(X, y) for one in ("smo", Boaster()))
    np.testing.assert_array_equal(boasting.dual_coef_, honest.dual_coef_)
    np.testing.assert_array_equal(boasting.intercept_, honest.intercept_)
    assert boasting.certificate_ == honest.certificate_


def test_a_solution_holds_nothing_that_a_certificate_measures_with():
    """Units and scales come from the problem, so that no solver can choose its own."""
    names = set(Solution.__dataclass_fields__)
    assert names == {"coef", "bias", "expansion", "n_iter", "violation", "stopped", "reached"}


def test_an_interrupted_fit_is_not_called_optimal():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    problem = c_svc(matrix_of(RBF(1.0), X), np.sign(X[:, 0]), np.ones(50))
    model = SVC(gamma=1.0, tol=1e-6).fit(X, np.sign(X[:, 0]))
    coef = np.zeros(50)
    coef[model.support_] = model.dual_coef_[0]
    assert certify(problem, coef, model.intercept_, 1e-3).optimal
    assert not unproved(problem, coef, 1e-3, RBF(1.0)(X) @ coef).certificate.optimal


# Targets of any scale.


@pytest.mark.parametrize("scale", [1e-12, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("model", [SVR(epsilon=0.0), NuSVR(nu=0.5)], ids=["SVR", "NuSVR"])
@pytest.mark.parametrize("n", [100, 1000])
def test_targets_of_any_scale_are_fitted(model, scale, n):
    X = np.linspace(-3, 3, n)[:, None]
    y = scale * np.sin(X[:, 0])
    model.set_params(C=10.0 * scale).fit(X, y)
    assert model.score(X, y) > 0.99
    assert model.converged_
    assert model.certificate_.stationary


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_small_targets_are_fitted_or_warned_of(scale, noise):
    X = np.linspace(-3, 3, 1000)[:, None]
    rng = np.random.default_rng(0)
    y = scale * (np.sin(X[:, 0]) + noise * rng.standard_normal(1000))
    model, seen = caught_by(lambda: SVR(epsilon=0).fit(X, y))
    certificate = model.certificate_
    assert model.score(X, y) > 0.8
    assert model.converged_ == certificate.stationary == (ConvergenceWarning not in seen)
    assert certificate.optimal == (certificate.stationary and certificate.relative_gap <= 0.01)


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_nearly_separable_classes_at_a_large_c_have_a_small_gap(C):
    """A slack below tol times a large C is more than all of the objective."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 20))
    y = np.sign(X @ rng.standard_normal(20) + 1e-9)
    model = SVC(kernel="linear", C=C).fit(X, y)
    assert model.certificate_.optimal
    assert model.certificate_.relative_gap <= 0.01


@pytest.mark.parametrize("model", [NuSVC(nu=0.3), OneClassSVM(nu=0.3)], ids=["NuSVC", "OneClass"])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_the_scale_of_the_kernel_does_not_matter_to_a_machine_without_targets(model, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(300))
    model.set_params(kernel=scale * RBF(0.5)).fit(X, y)
    assert model.certificate_.optimal
    assert model.certificate_.relative_gap <= 0.01


# The same machine, the same certificate.


@pytest.mark.parametrize(
    "model", [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM(nu=0.3)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_weights_and_repetition_have_the_same_certificate(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(60))
    model.set_params(tol=1e-9)
    weighted = model.fit(X, y, sample_weight=np.full(60, 2.0)).certificate_
    repeated = model.fit(np.vstack([X, X]), np.tile(y, 2)).certificate_
    assert weighted.primal_objective == pytest.approx(repeated.primal_objective, rel=1e-6)
    assert weighted.dual_objective == pytest.approx(repeated.dual_objective, rel=1e-6)


@pytest.mark.parametrize("max_iter", [1, 10, 50, 100, 200, 1000, 5000, -1])
@pytest.mark.parametrize("n", [60, 700])
def test_what_is_proved_has_converged_and_nothing_else_has(n, max_iter):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(n))
    model, seen = caught_by(lambda: SVC(max_iter=max_iter).fit(X, y))
    assert model.converged_ == model.certificate_.optimal
    assert model.converged_ == (ConvergenceWarning not in seen)


# What else a proof must not be misled by.


def test_rounding_that_is_no_number_proves_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    certificate = SVC().fit(X, np.sign(X[:, 0])).certificate_
    assert certificate.optimal
    assert not replace(certificate, rounding=np.nan).stationary
    assert not combine([certificate, replace(certificate, rounding=np.nan)]).stationary
    assert not combine([replace(certificate, rounding=np.nan), certificate]).stationary


@dataclass
class Vandal(SMO):
    """Solves another problem than it was given, by changing the matrix of the one it was given."""

    def solve(self, problem, *rest, **more):
        state = SimpleNamespace(
            coef=problem.start, gradient=problem.linear, up=problem.linear, low=problem.linear
        )
        block = problem.matrix.block(problem, state, np.arange(problem.n), np.float64)
        block.K *= 0.5
        return super().solve(problem, *rest, **more)


def test_nobody_writes_to_the_matrix_that_proofs_are_made_from():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    with pytest.raises(ValueError, match="read-only"):
        SVC(solver=Vandal()).fit(X, np.sign(X[:, 0]))


def test_a_kernel_that_is_negative_on_its_diagonal_has_a_unit():
    X = np.random.default_rng(0).standard_normal((60, 3))
    with pytest.warns(MercerWarning):
        model = OneClassSVM(kernel="sigmoid", coef0=-10.0, gamma=0.1).fit(X)
    assert model.certificate_.kkt_violation <= 1e-3
    assert model.converged_


def test_rows_without_weight_say_nothing_of_the_kernel():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y, weight = np.sign(X[:, 0]), np.append(np.ones(39), 0.0)
    K = np.exp(-cdist(X, X, "sqeuclidean"))
    K[-1] = K[:, -1] = 5.0
    model = SVC(kernel="precomputed").fit(K, y, weight)
    assert model.certificate_.optimal
    X[-1] = 1e120
    assert SVC(kernel="poly", gamma=1.0).fit(X, y, weight).certificate_.optimal


def test_ctrl_c_during_the_proof_keeps_the_model(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    model = SVC()

    def pressed(*arguments, **known):
        raise KeyboardInterrupt

    monkeypatch.setattr(proved, "prove", pressed)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, np.sign(X[:, 0]))
    assert len(model.support_) > 0
    assert not model.converged_
    assert not model.certificate_.optimal


@dataclass
class OutOfBox(SMO):
    """Solves the problem of another, larger C."""

    factor: float = 900.0

    def solve(self, problem, *rest, **more):
        wide = replace(
            problem, lower=problem.lower * self.factor, upper=problem.upper * self.factor
        )
        return super().solve(wide, *rest, **more)


@pytest.mark.parametrize("C", [1e-6, 1e-4, 1.0])
def test_coefficients_outside_a_small_box_are_never_called_optimal(C):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.sign(X[:, 0] + 0.3 * rng.standard_normal(60))
    model, seen = caught_by(lambda: SVC(C=C, kernel="linear", solver=OutOfBox()).fit(X, y))
    assert not model.certificate_.optimal
    assert not model.converged_
    assert ConvergenceWarning in seen


def test_targets_that_drown_in_their_own_offset_prove_nothing():
    rng = np.random.default_rng(27)
    X, y = rng.standard_normal((3, 2)), rng.standard_normal(3) + 1e15
    with pytest.warns(ConvergenceWarning):
        model = SVR(C=1.0, gamma=0.5, epsilon=0.05, max_time=1).fit(X, y)
    assert model.certificate_.rounding > 0.1
    assert not model.certificate_.optimal


def test_one_large_entry_does_not_hide_that_the_rest_is_indefinite():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 60))
    K = (A + A.T) / 2 + np.diag([1e12, *np.zeros(59)])
    model, _ = caught_by(lambda: SVC(kernel="precomputed", C=100).fit(K, np.tile([1, -1], 30)))
    assert model.certificate_.mercer is not True
    assert not model.certificate_.optimal


class Negative(Kernel):
    """A class of the user's that does not say what kind of kernel it is."""

    def formula(self, pairs):
        return -pairs.dots()

    def diagonal_formula(self, points):
        return -np.sum(points.X**2, axis=1)


def test_a_kernel_class_that_says_nothing_is_looked_at():
    X = np.random.default_rng(0).standard_normal((80, 3))
    with pytest.warns(MercerWarning):
        model = SVC(kernel=Negative()).fit(X, np.sign(X[:, 0]))
    assert model.certificate_.mercer is False
    assert not model.certificate_.optimal


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_sparse_rows_without_an_entry_are_points_like_others(kernel):
    X, y = sparse.csr_array((8, 1)), np.repeat([0, 1], [3, 5])
    model = SVC(kernel=kernel, gamma=1.0).fit(X, y)
    assert model.certificate_.optimal
    np.testing.assert_array_equal(model.predict(X), np.ones(8))
