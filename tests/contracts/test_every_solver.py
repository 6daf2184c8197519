"""Every solver of the package, of kernel machines and of linear ones, keeps to one contract.

It respects the budget, tells the callbacks, keeps what it has when it is ended, ends at once where
it begins at the optimum, and says of its solution what the data say.
"""

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from matrices import matrix_of
from scipy import sparse
from zoo import ZOO

from maxmargin import solvers
from maxmargin.engines import engine_of
from maxmargin.kernels import RBF
from maxmargin.losses import loss_named
from maxmargin.penalties import penalty_named
from maxmargin.problems.joint_loss import JointLoss
from maxmargin.problems.lasso import Features, LassoProblem
from maxmargin.problems.linear import linear_svc
from maxmargin.problems.nonnegative import NonNegativeProblem, RidgeProblem
from maxmargin.solvers import gradient_descent, kernel_system, perceptron, smo, walk
from maxmargin.solvers.base import BaseSolution, Budget, LinearSolver, Solver
from maxmargin.solvers.closed_form import Centred
from maxmargin.solvers.nonnegative import Products

NEVER = 10**9  # iterations that no solver makes here
WORDS = {"converged", "max_iter", "max_rounds", "max_time", "callback", "stalled", "interrupted"}
rng = np.random.default_rng(5)
X = rng.standard_normal((120, 6)) * np.array([1.0, 2.0, 0.5, 1.0, 3.0, 0.1])
NOISY = X @ rng.standard_normal(6) + 2.0 * rng.standard_normal(120)
LABELS = np.where(NOISY > 0, 1.0, -1.0)
CLASSES = np.digitize(NOISY, [-2.0, 2.0])
SEPARABLE = np.where(X @ np.arange(1.0, 7.0) > 0, 1.0, -1.0)
C = rng.uniform(0.5, 2.0, 120)
ONES = np.ones(120)
WITH_BIAS = np.column_stack([X, ONES])


def gap(primal, dual):
    return (primal - dual) / max(abs(primal), abs(dual))


def gap_of_machine(y, squared=True, l1=False):
    """Of loss + penalty, written down again from the definitions."""

    def recomputed(found):
        w, c = found.weights, found.coef
        slack = np.maximum(0.0, 1.0 - y * (WITH_BIAS @ w))
        loss = C @ (slack**2 if squared else slack)
        if l1:
            c = c / max(1.0, np.abs(WITH_BIAS.T @ c).max())
        assert np.all(y * c >= 0)
        assert squared or np.all(y * c <= C)
        dual_w = WITH_BIAS.T @ c
        penalty, dual_penalty = (np.abs(w).sum(), 0.0) if l1 else (w @ w / 2, dual_w @ dual_w / 2)
        return gap(penalty + loss, y @ c - dual_penalty - (c @ (c / (4 * C)) if squared else 0.0))

    return recomputed


def gap_of_all_classes(found):
    one_against_rest = [np.where(k == CLASSES, 1.0, -1.0) for k in range(3)]
    return max(
        gap_of_machine(y)(SimpleNamespace(weights=w, coef=c))
        for y, w, c in zip(one_against_rest, found.weights, found.coef, strict=True)
    )


def gap_of_joint_loss(found):
    is_own = CLASSES[:, None] == np.arange(3)
    f, alpha = WITH_BIAS @ found.weights.T, found.coef
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12)
    assert np.all(alpha <= np.where(is_own, C[:, None], 0.0))
    slack = np.max(f + ~is_own, axis=1) - f[is_own]
    primal = 0.5 * np.sum(found.weights**2) + C @ slack
    return gap(primal, -0.5 * np.sum((alpha.T @ WITH_BIAS) ** 2) - alpha[~is_own].sum())


def gap_of_lasso(found):
    y, penalty = NOISY - NOISY.mean(), 10.0
    r = y - (X - X.mean(axis=0)) @ found.weights
    pull = np.abs((X - X.mean(axis=0)).T @ r).max()
    multiples = np.linspace(0.0, min(2.0, penalty / pull), 100_001)  # feasible dual points s r
    dual = np.max(multiples * (y @ r) - multiples**2 * (r @ r) / 2)
    return (r @ r / 2 + penalty * np.abs(found.weights).sum() - dual) / (y @ y)


def left_to_gain(found):
    """Descent bounds what is left, and how close it comes to that depends on its steps."""
    f = X @ found.weights[:-1] + found.weights[-1]
    value = np.mean(np.logaddexp(0.0, -LABELS * f)) + 0.05 * found.weights[:-1] @ found.weights[:-1]
    assert found.objective == pytest.approx(value, rel=1e-12)
    assert value * (1.0 - found.violation) <= best_of_descent() + 1e-12
    return found.violation


@cache
def best_of_descent():
    solver = gradient_descent.GradientDescent(tol=1e-10)
    return solver.solve(CASES["gradient_descent"].problem, Budget(NEVER)).objective


def mistakes(found):
    w = X.T @ (found.coef * SEPARABLE * C)
    np.testing.assert_allclose(found.weights, np.append(w, found.coef @ (SEPARABLE * C)))
    return np.sum(SEPARABLE * (WITH_BIAS @ found.weights) <= 0)


def mistakes_of_kernel(found):
    step = found.coef * SEPARABLE * C
    np.testing.assert_allclose(found.weights, [step.sum()])
    return np.sum(SEPARABLE * (RBF(0.5)(X) @ step + step.sum()) <= 0)


def slope_of_ridge(found):
    """The process follows slope and size by its own recurrences, about as long as digits last."""
    slope = CENTRED.T @ (NOISY - CENTRED @ found.weights) - found.weights
    size = np.sqrt(np.sum(CENTRED**2) + X.shape[1])
    rest = np.hypot(np.linalg.norm(NOISY - CENTRED @ found.weights), np.linalg.norm(found.weights))
    assert np.linalg.norm(slope) / (size * rest) <= 2 * found.violation + 1e-14
    return found.violation


def slope_of_nonnegative(found):
    assert np.all(found.weights >= 0)
    lengths = np.sqrt(np.sum(CENTRED**2, axis=0) + 1.0)
    slope = CENTRED.T @ (NOISY - CENTRED @ found.weights) - found.weights
    terms = np.linalg.norm(NOISY) + lengths @ found.weights
    return max(0.0, np.max(slope / (lengths * terms)))


def residual(found):
    rest = NOISY[:, None] - RBF(0.5)(X) @ found.coef - 0.1 * found.coef
    return np.linalg.norm(rest) / np.linalg.norm(NOISY)


CENTRED = X - X.mean(axis=0)


@dataclass
class Case:
    """A solver, a problem that takes it some iterations, and what the violation ought to be."""

    solver: object
    problem: object
    violation: object
    at_once: int = 1  # iterations, if it begins at the optimum

    def most_again(self, found):
        return self.at_once

    def solve(self, max_iter=NEVER, start=None, **limits):
        return self.solver.solve(self.problem, Budget(max_iter, **limits), start)


@dataclass
class KernelCase(Case):
    def most_again(self, found):
        """Steps of pairs drawn at random, or beyond tol, which are few beside those before."""
        return 0.2 * found.n_iter


def violation_of_pair(found):
    problem = NOISY_ANIMAL
    gradient = problem.linear - problem.expansion(found.coef)
    up, low = found.coef < problem.upper, found.coef > problem.lower
    return gradient[up].max() - gradient[low].min()


def machine(y, X=X, **options):
    options = {"squared": True, **options}
    return linear_svc(X, y, C, 1.0, **options)


def descent_problem():
    logistic, l2 = loss_named("logistic", 0.0), penalty_named("l2")
    return gradient_descent.Objective(X, LABELS, ONES / 120, logistic, l2, 0.1)


def system():
    engine, alphas = engine_of("plain"), np.array([0.1])
    points = engine.points(X)
    return kernel_system.KernelSystem(RBF(0.5), points, ONES, engine, NOISY[:, None], alphas)


def named(name, *options, **more):
    return solvers.solver_named(name)(*options, **more)


A = Centred(X, ONES, True)
LASSO = LassoProblem(Features.of(X, ONES, X.mean(axis=0)), NOISY - NOISY.mean(), 10.0)
NOISY_ANIMAL = next(animal for animal in ZOO if animal.name == "noisy").problem()
JOINT = JointLoss(X, 1.0, CLASSES, 3, C)
TOGETHER = [machine(np.where(k == CLASSES, 1.0, -1.0), sparse.csr_array(X)) for k in range(3)]
SEPARATION = perceptron.Separation(X, SEPARABLE, C)
WITH_KERNEL = perceptron.Separation(X, SEPARABLE, C, matrix=matrix_of(RBF(0.5), X))
CASES = {
    "dual_descent": Case(named("dual_descent", 1e-6), machine(LABELS), gap_of_machine(LABELS)),
    "dual_descent, plain loss": Case(
        named("dual_descent", 1e-6), machine(LABELS, squared=False), gap_of_machine(LABELS, False)
    ),
    "one_vs_rest": Case(named("one_vs_rest", 1e-6), TOGETHER, gap_of_all_classes),
    "newton": Case(named("newton", 1e-6), machine(LABELS), gap_of_machine(LABELS)),
    "l1_newton": Case(
        named("l1_newton", 1e-6), machine(LABELS, l1=True), gap_of_machine(LABELS, l1=True)
    ),
    "smoothing": Case(
        named("smoothing", 1e-6), machine(LABELS, squared=False), gap_of_machine(LABELS, False)
    ),
    "crammer_singer": Case(named("crammer_singer", 1e-6), JOINT, gap_of_joint_loss),
    "interior_point": Case(named("interior_point", 1e-6), JOINT, gap_of_joint_loss),
    "coordinate_descent": Case(named("coordinate_descent", 1e-10), LASSO, gap_of_lasso),
    "gradient_descent": Case(  # which sees an end when the objective has not fallen for 5 epochs
        named("gradient_descent", tol=1e-6), descent_problem(), left_to_gain, at_once=6
    ),
    "perceptron": Case(perceptron.Perceptron(10**6), SEPARATION, mistakes),
    "kernel perceptron": Case(perceptron.KernelPerceptron(10**6), WITH_KERNEL, mistakes_of_kernel),
    "lsmr": Case(named("lsmr", 1e-12), RidgeProblem(A, NOISY, 1.0), slope_of_ridge),
    "nonnegative": Case(
        named("nonnegative"), NonNegativeProblem(A, NOISY, 1.0, Products(A)), slope_of_nonnegative
    ),
    "kernel_system": Case(named("kernel_system", 1e-10, 1), system(), residual),
    **{
        name: KernelCase(solvers.solver_named(name)(), NOISY_ANIMAL, violation_of_pair)
        for name in solvers.NAMES
    },
}


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    """So that solvers of kernel machines look at their limits on a small problem, too."""
    monkeypatch.setattr(smo, "SLICE", 1000)
    monkeypatch.setattr(walk, "REPORT_SECONDS", 0.0)


every_solver = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def is_usable(case, found):
    assert isinstance(found, BaseSolution)
    assert found.stopped in WORDS
    for name in ("weights", "coef", "bias"):
        values = getattr(found, name, None)
        assert values is None or np.all(np.isfinite(values))
    if found.stopped != "interrupted" and found.n_iter:  # after Ctrl-C there is no time for it
        assert found.violation == pytest.approx(case.violation(found), rel=1e-6, abs=1e-10)
    return True


def test_every_solver_of_the_package_is_here():
    found = set()
    for module in pkgutil.iter_modules(solvers.__path__, f"{solvers.__name__}."):
        members = vars(importlib.import_module(module.name)).values()
        found |= {
            cls
            for cls in members
            if inspect.isclass(cls)
            and issubclass(cls, (Solver, LinearSolver))
            and hasattr(cls, "approach" if issubclass(cls, LinearSolver) else "solve")
        }
    here = {type(case.solver) for case in CASES.values()}
    shared = {"Solver", "PairSolver", "TextbookSolver"}  # by others
    assert {cls.__name__ for cls in found - here} == shared
    assert here <= found


@every_solver
def test_the_solution_is_what_the_data_say(case):
    found = case.solve()
    assert found.converged
    assert found.violation <= case.solver.tol
    assert found.n_iter > 1, "the problem is too easy for these tests"
    assert is_usable(case, found)


@every_solver
@pytest.mark.parametrize("max_iter", [0, 1, 2])
def test_no_more_iterations_are_made_than_are_allowed(case, max_iter):
    found = case.solve(max_iter)
    assert found.n_iter <= max_iter
    assert found.stopped == "max_iter" or found.violation <= case.solver.tol
    assert is_usable(case, found)


@every_solver
def test_time_that_is_over_ends_it_with_what_there_is(case):
    found = case.solve(max_time=1e-9)
    assert found.stopped == "max_time"
    assert found.n_iter < case.solve().n_iter
    assert is_usable(case, found)


@every_solver
def test_callbacks_are_told_how_far_it_is(case):
    seen = []
    found = case.solve(callbacks=[seen.append])
    assert [one.n_iter for one in seen] == sorted(one.n_iter for one in seen)
    assert seen[-1].n_iter == found.n_iter
    assert seen[-1].violation <= seen[-1].tol == case.solver.tol
    assert seen[-1].n_support > 0
    assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
    without = case.solve()
    np.testing.assert_array_equal(found.coef, without.coef)
    assert found.n_iter == without.n_iter


@every_solver
def test_a_callback_that_says_so_ends_it(case):
    seen = []
    found = case.solve(callbacks=[lambda progress: seen.append(progress) or True])
    assert len(seen) == 1
    assert found.stopped == "callback"
    assert found.n_iter == seen[0].n_iter
    assert is_usable(case, found)


@every_solver
def test_ctrl_c_keeps_what_there_is(case):
    def press(progress):
        raise KeyboardInterrupt

    found = case.solve(callbacks=[press])
    assert found.stopped == "interrupted"
    assert not found.converged
    assert is_usable(case, found)


@every_solver
def test_a_start_at_the_optimum_is_the_end(case):
    found = case.solve()
    again = case.solve(start=found)
    assert again.converged
    assert again.n_iter <= case.most_again(found)
