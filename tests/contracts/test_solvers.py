"""Every solver closes its certificate on every animal of the zoo."""

import numpy as np
import pytest
from oracle import oracle_objective
from zoo import ZOO

from maxmargin import solvers
from maxmargin.engines import engine_named
from maxmargin.problems import certify
from maxmargin.solvers.base import Budget


def solve(problem, name, tol, **limits):
    with engine_named("cpu") as engine:
        budget = Budget(limits.pop("max_iter", 10**7), **limits)
        return solvers.solver_named(name)(tol).solve(problem, engine, budget)


@pytest.mark.parametrize("animal", ZOO, ids=str)
@pytest.mark.parametrize("name", solvers.NAMES)
def test_reaches_the_optimum(name, animal):
    problem = animal.problem()
    solution = solve(problem, name, 1e-9)
    proof = certify(problem, solution.coef, solution.bias, tol=1e-6)
    best = oracle_objective(problem)
    assert solution.converged
    assert proof.optimal, proof
    assert proof.dual_objective == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert proof.relative_gap <= 1e-6


@pytest.mark.parametrize("name", solvers.NAMES)
def test_objective_never_falls_and_is_what_it_says(name, binary):
    problem = next(a for a in ZOO if a.name == "noisy").problem()
    seen = []
    for max_iter in range(0, 60, 3):
        solution = solve(problem, name, 1e-9, max_iter=max_iter)
        assert solution.n_iter <= max_iter
        seen.append(certify(problem, solution.coef, solution.bias, 1e-3).dual_objective)
    assert np.all(np.diff(seen) >= -1e-12)
    assert seen[-1] > seen[0]


@pytest.mark.parametrize("animal", ZOO, ids=str)
@pytest.mark.parametrize("name", solvers.NAMES)
def test_coefficients_are_feasible_and_exactly_at_their_bounds(name, animal):
    problem = animal.problem()
    coef = solve(problem, name, 1e-6).coef
    assert np.all((coef >= problem.lower) & (coef <= problem.upper))
    assert abs(coef.sum()) <= 1e-12 * np.abs(coef).sum() + 1e-15
    near_bound = np.minimum(coef - problem.lower, problem.upper - coef)
    assert not np.any((near_bound > 0) & (near_bound < 1e-14 * (problem.upper - problem.lower)))
