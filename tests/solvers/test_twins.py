"""Equal points that oppose each other are taken to their bounds before the first step."""

import numpy as np
import pytest
from matrices import matrix_of, on
from oracle import oracle_objective
from scipy import sparse

from maxmargin.kernels import RBF
from maxmargin.kernels.pairs import Points
from maxmargin.problems import c_svc, certify, epsilon_svr, one_class
from maxmargin.solvers import smo
from maxmargin.solvers.base import Budget
from maxmargin.solvers.starts import start_with_twins


def points(n=60, n_different=25, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_different, 2))[rng.integers(0, n_different, n)], rng


def problems(X, rng):
    y = rng.choice([-1.0, 1.0], len(X))
    yield c_svc(matrix_of(RBF(0.5), X), y, rng.choice([0.5, 1.0, 30.0], len(X)))
    yield epsilon_svr(
        matrix_of(RBF(0.5), X), rng.standard_normal(len(X)), np.full(len(X), 3.0), 0.2
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_start_is_feasible_has_no_expansion_and_gains(seed):
    X, rng = points(seed=seed)
    for problem in problems(X, rng):
        start = start_with_twins(problem)
        coef = start.coef
        np.testing.assert_array_equal(start.expansion, np.zeros(problem.n))
        assert np.all((problem.lower <= coef) & (coef <= problem.upper))
        assert abs(coef.sum()) < 1e-12 * np.abs(coef).sum()
        expansion = problem.kernel(X, X) @ coef
        assert np.max(np.abs(expansion)) < 1e-12 * np.abs(coef).sum()
        assert problem.objective(coef, expansion) > 0


def test_sparse_rows_start_where_dense_ones_do():
    X, rng = points()
    y = rng.choice([-1.0, 1.0], len(X))
    dense, stored = (
        c_svc(matrix_of(RBF(0.5), Z), y, np.ones(len(y))) for Z in (X, sparse.csr_array(X))
    )
    np.testing.assert_array_equal(start_with_twins(dense).coef, start_with_twins(stored).coef)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(97, 3), (1001, 2), (1001, 33), (4003, 123)])
def test_equal_rows_have_equal_keys_wherever_they_stand(shape, order):
    row = np.random.default_rng(0).standard_normal(shape[1])
    points = Points(np.array(np.broadcast_to(row, shape), order=order))
    assert len(np.unique(points.projected())) == 1


@pytest.mark.parametrize("seed", range(5))
def test_what_is_left_of_a_problem_is_its_optimum(seed, monkeypatch):
    monkeypatch.setattr(smo, "TIGHT", 0)  # small problems need no such start
    monkeypatch.setattr(smo, "WHOLE", 0)
    X, rng = points(seed=seed)
    for problem in problems(X, rng):
        with on("cpu", problem) as problem:
            found = smo.SMO(tol=1e-9).precise_for(problem).solve(problem, Budget(10**6))
        proof = certify(problem, found.coef, found.bias, 1e-9)
        assert proof.optimal
        assert proof.dual_objective >= oracle_objective(problem) * (1 - 1e-8)


def test_without_opposed_twins_there_is_no_such_start():
    X, _ = points(30, 30)
    assert start_with_twins(c_svc(matrix_of(RBF(0.5), X), np.ones(30), np.ones(30))) is None
    different = np.unique(X, axis=0)
    y = np.where(np.arange(len(different)) % 2, 1.0, -1.0)
    assert start_with_twins(c_svc(matrix_of(RBF(0.5), different), y, np.ones(len(y)))) is None
    assert start_with_twins(one_class(matrix_of(RBF(0.5), X), np.ones(30), 0.5)) is None
