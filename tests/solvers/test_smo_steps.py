"""SMO pair by pair on every kernel machine: the oracle's optimum, by steps that say why."""

import numpy as np
import pytest
from matrices import matrix_of
from oracle import oracle_objective

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, solvers
from maxmargin.engines import engine_of
from maxmargin.kernels import RBF
from maxmargin.problems import certify
from maxmargin.problems.reductions import (
    c_svc,
    epsilon_svr,
    hard_margin,
    nu_svc,
    nu_svr,
    one_class,
)
from maxmargin.problems.trace import REASONS, REFUSALS, Trace
from maxmargin.solvers.base import Budget
from maxmargin.solvers.smo_steps import SMOSteps

rng = np.random.default_rng(4)
X = rng.standard_normal((50, 2))
LABELS = np.where(X[:, 0] + 0.5 * rng.standard_normal(50) > 0, 1.0, -1.0)
TARGETS = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(50)
WEIGHT = rng.uniform(0.5, 2.0, 50)
K = matrix_of(RBF(gamma=0.7), X)
PROBLEMS = {
    "c_svc": c_svc(K, LABELS, 3.0 * WEIGHT),
    "epsilon_svr": epsilon_svr(K, TARGETS, 2.0 * WEIGHT, 0.1),
    "one_class": one_class(K, WEIGHT, 0.3),
    "nu_svc": nu_svc(K, LABELS, WEIGHT, 0.4),
    "nu_svr": nu_svr(K, TARGETS, 2.0 * WEIGHT, 0.4),
    "hard_margin": hard_margin(matrix_of(RBF(gamma=5.0), X), LABELS),
}
MACHINES = [SVC(), SVR(), NuSVC(), NuSVR(), OneClassSVM()]
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
every_machine = pytest.mark.parametrize("svm", MACHINES, ids=lambda svm: type(svm).__name__)
both_orders = pytest.mark.parametrize("order", [1, 2])


def solved(problem, tol=1e-3, order=2, trace=None):
    return SMOSteps(tol, order).solve(problem, Budget(10**6, trace=trace))


@every_problem
@both_orders
def test_the_optimum_is_the_oracles(problem, order):
    found = solved(problem, 1e-8, order)
    proof = certify(problem, found.coef, found.bias, 1e-6)
    assert found.converged
    assert proof.optimal, proof
    assert proof.dual_objective == pytest.approx(oracle_objective(problem), rel=1e-8, abs=1e-8)


@every_problem
def test_pairs_are_those_of_the_fast_solver(problem):
    """The inner loop of the cpu engine makes its first twenty steps one by one."""
    trace, made = Trace(), []
    solved(problem, trace=trace)
    with engine_of("cpu") as engine:
        matrix = engine.matrix(problem.kernel, problem.points.X)
        run = solvers.smo._Run(solvers.SMO(), problem, Budget(1), None)
        block = matrix.block(problem, run.state, run.everything, np.dtype(np.float64))
        block.refresh()
        for _ in trace.steps[:20]:
            before = block.coef.copy()
            block.run(1e-3, 1)
            rose, fell = np.argmax(block.coef - before), np.argmin(block.coef - before)
            made.append((block.order[rose], block.order[fell]))
    assert made == [(row["i"], row["j"]) for row in trace.steps[:20]]
    assert len(made) == min(20, len(trace.steps)) > 5


@every_problem
@both_orders
def test_every_step_follows_from_the_errors_and_stays_in_its_box(problem, order):
    trace = Trace()
    found = solved(problem, 1e-6, order, trace)
    coef, signs = trace.start().coef.copy(), trace.start().signs
    values = problem.matrix.values(problem.row_of(np.arange(problem.n)))
    assert np.all(np.abs(coef) <= trace.start().box)
    assert len(trace.steps) == found.n_iter > 10
    for row in trace.steps:
        i, j = row["i"], row["j"]
        price_i = problem.epsilon[i] * (1 if coef[i] >= 0 else -1)
        price_j = problem.epsilon[j] * (1 if coef[j] > 0 else -1)
        slope = row["error_j"] - price_i - row["error_i"] + price_j
        eta = values[i, i] + values[j, j] - 2 * values[i, j]
        assert row["eta"] == pytest.approx(eta, rel=1e-9)
        assert row["unclipped"] == pytest.approx(signs[j] * (coef[j] - slope / eta), rel=1e-6)
        assert row["L"] <= row["clipped"] <= row["H"]
        assert row["clipped"] == pytest.approx(np.clip(row["unclipped"], row["L"], row["H"]))
        for end in (row["L"], row["H"]):
            fallen = signs[j] * end
            risen = coef[i] + coef[j] - fallen
            for k, value in ((i, risen), (j, fallen)):
                assert problem.lower[k] - 1e-12 <= value <= problem.upper[k] + 1e-12
                assert problem.epsilon[k] == 0 or value * coef[k] >= -1e-12  # none beyond the kink
        coef[[i, j]] = signs[i] * row["alpha_i"], signs[j] * row["clipped"]
    np.testing.assert_array_equal(coef, found.coef)
    np.testing.assert_array_equal(trace.replay(), found.coef)


@every_problem
def test_the_trace_tells_the_truth(problem):
    trace = Trace()
    solved(problem, 1e-6, trace=trace)
    assert np.all(np.diff(trace["objective"]) >= -1e-12)
    for n_rows in (1, len(trace) // 2, len(trace)):
        row, coef = trace[n_rows - 1], trace.replay(n_rows=n_rows)
        bias = problem.biases(coef, problem.expansion(coef))
        proof = certify(problem, coef, bias, 1e-3)
        assert row["b"] == pytest.approx(bias.mean(), abs=1e-9)
        assert row["spread"] == pytest.approx((bias[-1] - bias[0]) / 2, abs=1e-9)
        assert row["objective"] == pytest.approx(proof.dual_objective, rel=1e-9, abs=1e-9)
        assert row["gap"] == pytest.approx(proof.duality_gap, rel=1e-8, abs=1e-9)


@every_machine
def test_every_machine_can_be_fitted_step_by_step(svm):
    y = LABELS if isinstance(svm, (SVC, NuSVC)) else TARGETS
    model = type(svm)(solver="smo_steps", trace=True, tol=1e-6).fit(X, y)
    best = type(svm)(tol=1e-6).fit(X, y)
    assert model.converged_
    assert model.certificate_.optimal
    assert model.trace_.complete
    assert len(model.trace_.steps) == np.sum(model.n_iter_) > 10
    np.testing.assert_allclose(
        model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X),
        best.decision_function(X) if hasattr(best, "decision_function") else best.predict(X),
        atol=1e-4,
    )


# Why a pair was chosen, and which were refused.


@pytest.mark.parametrize(
    ("solver", "reasons"),
    [
        (SMOSteps(order=1), {"most_violating"}),
        (SMOSteps(), {"most_gain"}),
        (solvers.SMOPairs(order=1), {"most_violating"}),
        (solvers.SMOPairs(), {"most_gain"}),
        (solvers.SMOPlatt(), {"largest_difference", "inside", "anywhere"}),
        (solvers.SMOSimplified(), {"random_partner"}),
        (solvers.SMORandomPair(), {"random_pair"}),
        (solvers.CoordinateAscent(), {"sweep"}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_every_step_says_why_its_pair_was_chosen(solver, reasons):
    trace = Trace()
    solver.solve(PROBLEMS["c_svc"], Budget(10**5, trace=trace))
    assert set(trace.reasons) == {REASONS[name] for name in reasons}
    assert list(trace.to_frame()["reason"]) == list(trace.reasons)


def test_pairs_that_were_looked_at_and_left_alone_are_told():
    trace = Trace()
    solvers.SMOSimplified().solve(PROBLEMS["c_svc"], Budget(10**5, trace=trace))
    refused, per_step = trace.refused, trace.steps["refused"]
    before_end = refused[refused["step"] < len(trace.steps)]
    counted = np.bincount(before_end["step"], minlength=len(trace.steps))
    np.testing.assert_array_equal(counted, per_step)
    assert per_step.sum() > 10
    words = np.array(list(REFUSALS))[refused["why"]]
    assert {"no_room", "no_gain"} <= set(words)
    at = int(refused["step"][np.flatnonzero(words == "no_room")[0]])
    row = refused[(refused["step"] == at) & (words == "no_room")][0]
    coef, box = trace.replay(n_rows=at), PROBLEMS["c_svc"]
    lengths = np.minimum(coef - box.lower, box.upper - coef)[[row["i"], row["j"]]]
    assert np.min(lengths) == 0  # one of the two is at a bound that keeps both


def test_a_refusal_beyond_the_limit_is_counted_all_the_same():
    trace = Trace(limit=20)
    solvers.SMOSimplified().solve(PROBLEMS["c_svc"], Budget(10**5, trace=trace))
    assert len(trace.refused) == len(trace.steps) == 20
    whole = Trace()
    solvers.SMOSimplified().solve(PROBLEMS["c_svc"], Budget(10**5, trace=whole))
    np.testing.assert_array_equal(trace.steps["refused"], whole.steps["refused"][:20])
    assert trace.steps["refused"].sum() > 0
