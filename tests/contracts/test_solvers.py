"""Every solver closes its certificate on every animal of the zoo."""

from dataclasses import replace

import numpy as np
import pytest
from matrices import on
from oracle import oracle_objective
from zoo import ZOO

from maxmargin import solvers
from maxmargin.problems import certify
from maxmargin.problems.trace import Trace
from maxmargin.solvers.base import Budget

# Every solver by its name, and the options that make another method of it.
SOLVERS = {name: solvers.solver_named(name)() for name in solvers.NAMES}
SOLVERS["smo_pairs, first order"] = solvers.SMOPairs(order=1)
TEACHING = [name for name in SOLVERS if name != "smo"]

# Pairs drawn at random need more rounds than the thousand they have by default.
PATIENT = replace(SOLVERS["smo_random_pair"], max_rounds=50_000)

# Where every pair is a pair of equal points; simplified SMO skips those, as it is written.
WITHOUT_CURVATURE = ("same point, opposite labels", "all zero")


def animal_named(name):
    return next(animal for animal in ZOO if animal.name == name)


def solve(problem, solver, tol, trace=None, **limits):
    solver = SOLVERS[solver] if isinstance(solver, str) else solver
    budget = Budget(limits.pop("max_iter", 10**7), trace=trace, **limits)
    with on("cpu", problem) as problem:
        return solver.with_tol(tol).solve(problem, budget)


@pytest.mark.parametrize("animal", ZOO, ids=str)
def test_the_fast_one_reaches_the_optimum(animal):
    problem = animal.problem()
    solution = solve(problem, SOLVERS["smo"].precise_for(problem), 1e-9)
    proof = certify(problem, solution.coef, solution.bias, tol=1e-6)
    best = oracle_objective(problem)
    assert solution.converged
    assert proof.optimal, proof
    assert proof.dual_objective == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert proof.relative_gap <= 1e-6


@pytest.mark.parametrize("animal", ZOO, ids=str)
@pytest.mark.parametrize("name", TEACHING)
def test_the_teaching_ones_agree_with_it_within_tol(name, animal):
    problem = animal.problem()
    best = solve(problem, SOLVERS["smo"].precise_for(problem), 1e-9)
    solution = solve(problem, PATIENT if name == "smo_random_pair" else name, 1e-3)
    if name == "smo_simplified" and animal.name in WITHOUT_CURVATURE:
        assert solution.stopped == "stalled"
        return
    proof = certify(problem, solution.coef, solution.bias, tol=1e-3)
    assert solution.converged
    assert solution.violation <= 1e-3
    assert proof.stationary, proof
    assert proof.dual_objective == pytest.approx(problem.objective(best.coef, best.expansion), 1e-4)


@pytest.mark.parametrize("name", SOLVERS)
def test_objective_never_falls_and_is_what_it_says(name):
    problem = animal_named("noisy").problem()
    seen = []
    for max_iter in range(0, 60, 3):
        solution = solve(problem, name, 1e-9, max_iter=max_iter)
        assert solution.n_iter <= max_iter
        seen.append(certify(problem, solution.coef, solution.bias, 1e-3).dual_objective)
    assert np.all(np.diff(seen) >= -1e-12)
    assert seen[-1] > seen[0]


@pytest.mark.parametrize("animal", ZOO, ids=str)
@pytest.mark.parametrize("name", SOLVERS)
def test_coefficients_are_feasible_and_exactly_at_their_bounds(name, animal):
    problem = animal.problem()
    coef = solve(problem, name, 1e-3, max_iter=2000).coef
    assert np.all((coef >= problem.lower) & (coef <= problem.upper))
    assert abs(coef.sum()) <= 1e-12 * np.abs(coef).sum() + 1e-15
    near_bound = np.minimum(coef - problem.lower, problem.upper - coef)
    assert not np.any((near_bound > 0) & (near_bound < 1e-15 * (problem.upper - problem.lower)))


@pytest.mark.parametrize("animal", ZOO, ids=str)
@pytest.mark.parametrize("name", SOLVERS)
def test_the_trace_replays_bit_for_bit_and_changes_nothing(name, animal):
    problem, trace = animal.problem(), Trace()
    traced = solve(problem, name, 1e-3, trace, max_iter=2000)
    plain = solve(problem, name, 1e-3, max_iter=2000)
    assert trace.complete
    np.testing.assert_array_equal(trace.replay(), traced.coef)
    np.testing.assert_array_equal(plain.coef, traced.coef)
    assert plain.n_iter == traced.n_iter


@pytest.mark.parametrize("name", SOLVERS)
def test_the_trace_tells_the_truth(name):
    problem, trace = animal_named("noisy").problem(), Trace()
    solution = solve(problem, name, 1e-3, trace)
    K = problem.matrix.values(np.arange(problem.n))
    assert np.all(np.diff(trace["objective"]) >= -1e-12)
    for n_rows in (1, len(trace) // 2, len(trace)):
        coef, row = trace.replay(n_rows=n_rows), trace[n_rows - 1]
        proof = certify(problem, coef, np.array([row["b"]]), 1e-3)
        assert row["objective"] == pytest.approx(proof.dual_objective, rel=1e-9, abs=1e-9)
        assert row["gap"] == pytest.approx(proof.duality_gap, rel=1e-9, abs=1e-9)
        gradient = problem.linear - K @ coef
        violation = gradient[coef < problem.upper].max() - gradient[coef > problem.lower].min()
        assert row["violation"] == pytest.approx(violation, rel=1e-6, abs=1e-9)
    assert trace.rounds["n_iter"][-1] == solution.n_iter


@pytest.mark.parametrize("name", [name for name in TEACHING if name != "smo_steps"])
def test_every_step_of_the_trace_follows_the_derivation(name):
    problem, trace = animal_named("weights over five decades").problem(), Trace()
    solve(problem, name, 1e-3, trace, max_iter=300)
    K, y, C = (
        problem.matrix.values(np.arange(problem.n)),
        problem.linear,
        problem.upper - problem.lower,
    )
    alpha, b = np.zeros(problem.n), 0.0
    assert len(trace.steps) > 30
    for row in trace.steps:
        i, j = row["i"], row["j"]
        error = K @ (y * alpha) + b - y
        assert row["error_i"] == pytest.approx(error[i], rel=1e-9, abs=1e-9)
        assert row["error_j"] == pytest.approx(error[j], rel=1e-9, abs=1e-9)
        assert row["eta"] == pytest.approx(K[i, i] + K[j, j] - 2 * K[i, j], rel=1e-9)
        assert row["unclipped"] == pytest.approx(
            alpha[j] + y[j] * (error[i] - error[j]) / row["eta"]
        )
        # The ends of the segment, found by trying: alpha_i must stay in its box as well.
        for end in (row["L"], row["H"]):
            other = alpha[i] + y[i] * y[j] * (alpha[j] - end)
            assert -1e-12 <= other <= C[i] + 1e-12
            assert -1e-12 <= end <= C[j] + 1e-12
        assert row["clipped"] == pytest.approx(np.clip(row["unclipped"], row["L"], row["H"]))
        alpha[[i, j]], b = (row["alpha_i"], row["clipped"]), row["b"]
        f = K @ (y * alpha) + b
        inside = [k for k in (i, j) if 0 < alpha[k] < C[k]]
        if inside:  # strictly inside the box: exactly on the margin
            assert min(abs(y[k] * f[k] - 1) for k in inside) < 1e-9
