"""The certificate trusts nobody: it must see every way in which a solution can be wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matrices import matrix_of, on
from oracle import oracle_objective
from zoo import ZOO

from maxmargin import SVC
from maxmargin.errors import ConvergenceWarning
from maxmargin.kernels import RBF, Linear
from maxmargin.problems import certify
from maxmargin.problems.certificate import combine, prove, unproved
from maxmargin.problems.reductions import c_svc, hard_margin
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import Budget

NOISY = next(animal for animal in ZOO if animal.name == "noisy").problem()


def solve(problem, tol=1e-9):
    with on("cpu", problem) as problem:
        return solver_named("smo")(tol).solve(problem, Budget(10**7))


SOLVED = solve(NOISY)


def proof_of(coef=None, bias=None, tol=1e-6):
    coef = SOLVED.coef if coef is None else coef
    return certify(NOISY, coef, SOLVED.bias if bias is None else bias, tol)


def test_the_optimum_is_optimal():
    proof = proof_of()
    assert proof.optimal
    assert proof.kkt_violation < 1e-8
    assert 0 <= proof.relative_gap < 1e-8 or abs(proof.duality_gap) < 1e-9


def test_a_wrong_bias_breaks_slackness_and_widens_the_gap():
    proof = proof_of(bias=SOLVED.bias + 0.1)
    assert not proof.optimal
    assert proof.complementary_slackness == pytest.approx(0.1, abs=1e-6)
    assert proof.slack_complementarity == pytest.approx(0.1, abs=1e-6)
    assert proof.duality_gap > 1e-3


def test_a_coefficient_outside_its_box_breaks_dual_feasibility():
    coef = SOLVED.coef.copy()
    coef[np.argmax(coef)] += 0.5
    proof = proof_of(coef)
    assert proof.dual_feasibility == pytest.approx(0.5)
    assert proof.stationarity == pytest.approx(0.5 / np.abs(coef).sum())
    assert not proof.optimal


def test_zero_coefficients_leave_the_whole_loss_as_gap():
    proof = proof_of(np.zeros(NOISY.n), np.zeros(1))
    assert proof.dual_objective == 0
    assert proof.primal_objective == pytest.approx(NOISY.n)  # every hinge loss is one, C is one
    assert proof.n_zero == NOISY.n


def test_without_a_look_at_the_data_nothing_is_proved():
    assert prove(NOISY, SOLVED.coef, 1e-6).certificate.optimal
    unseen = unproved(NOISY, SOLVED.coef, 1e-6, SOLVED.expansion).certificate
    assert not unseen.optimal
    assert not unseen.recomputed


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-2, 2))
def test_weak_duality_holds_for_any_feasible_point(seed, bias):
    rng = np.random.default_rng(seed)
    coef = NOISY.nearest_feasible(rng.standard_normal(NOISY.n))
    proof = proof_of(coef, np.array([bias]))
    assert proof.stationarity < 1e-9
    assert proof.dual_feasibility == 0
    assert proof.primal_objective >= BEST - 1e-7
    assert proof.dual_objective <= BEST + 1e-7


BEST = oracle_objective(NOISY)


def test_groups_each_have_their_own_bias():
    problem = hard_margin(matrix_of(RBF(gamma=0.5), NOISY.points.X), NOISY.linear)
    solution = solve(problem, 1e-10)
    proof = certify(problem, solution.coef, solution.bias, 1e-8)
    assert len(solution.bias) == 2
    assert proof.optimal
    assert proof.dual_objective == pytest.approx(oracle_objective(problem), rel=1e-8)


def test_epsilon_prices_the_size_of_a_coefficient():
    rng = np.random.default_rng(0)
    target = np.sin(NOISY.points.X[:, 0]) + 0.1 * rng.standard_normal(NOISY.n)
    tube = replace(
        NOISY, linear=target, epsilon=np.full(NOISY.n, 0.1), lower=np.full(NOISY.n, -2.0),
        upper=np.full(NOISY.n, 2.0),
    )  # fmt: skip
    solution = solve(tube)
    proof = certify(tube, solution.coef, solution.bias, 1e-6)
    residual = np.abs(target - solution.expansion - solution.bias[0])
    loss = np.maximum(residual - 0.1, 0).sum()
    assert proof.optimal
    assert proof.primal_objective == pytest.approx(
        0.5 * solution.coef @ solution.expansion + 2.0 * loss
    )
    assert proof.dual_objective == pytest.approx(oracle_objective(tube), rel=1e-9)


def test_combined_certificates_add_objectives_and_keep_the_worst():
    good, bad = proof_of(), proof_of(bias=SOLVED.bias + 0.1)
    both = combine([good, bad])
    assert both.parts == (good, bad)
    assert both.dual_objective == good.dual_objective + bad.dual_objective
    assert both.duality_gap == bad.duality_gap
    assert both.kkt_violation == bad.kkt_violation
    assert not both.optimal
    assert combine([good]) is good


def test_what_is_shown_of_several_problems_adds_up():
    lines = repr(combine([proof_of(bias=SOLVED.bias + 0.1)] * 2)).splitlines()
    numbers = {line[2:20].strip(): line[20:] for line in lines[1:]}
    primal, dual, gap = (
        float(numbers[name]) for name in ("primal objective", "dual objective", "duality gap")
    )
    assert gap == pytest.approx(primal - dual, rel=0.01)
    assert float(numbers["largest of one"].split()[0]) == pytest.approx(gap / 2, rel=0.01)
    assert numbers["binary problems"].startswith("2;")


def test_a_certificate_without_a_proof_says_so_unless_it_is_known_to_fail():
    good, bad = proof_of(), proof_of(bias=SOLVED.bias + 0.1)
    for proof, words in ((good, "not proved within"), (bad, "NOT optimal within")):
        assert repr(replace(proof, recomputed=False)).startswith(f"Certificate: {words}")


def test_nearest_feasible_keeps_a_feasible_point_and_mends_any_other():
    np.testing.assert_allclose(NOISY.nearest_feasible(SOLVED.coef), SOLVED.coef, atol=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(20):
        coef = NOISY.nearest_feasible(3 * rng.standard_normal(NOISY.n) + 1)
        assert abs(coef.sum()) < 1e-9
        assert np.all((coef >= NOISY.lower) & (coef <= NOISY.upper))


@pytest.mark.parametrize("where", ["coef", "bias"])
def test_what_is_not_a_number_is_not_optimal(where):
    parts = {"coef": SOLVED.coef.copy(), "bias": SOLVED.bias.copy()}
    parts[where][0] = np.nan
    proof = certify(NOISY, parts["coef"], parts["bias"], 1e-3)
    assert not proof.optimal
    assert proof.kkt_violation == np.inf


def test_nor_is_what_the_targets_drown_in():
    """Equal points whose kernel values are 1e67: what is left of c in f is far above the labels."""
    X, y = np.full((133, 8), 1e8), np.where(np.arange(133) < 67, -1.0, 1.0)
    weight = np.random.default_rng(0).integers(0, 4, 133)
    with pytest.warns(ConvergenceWarning, match="KKT violation"):
        model = SVC(kernel="poly", degree=4, class_weight="balanced").fit(X, y, weight)
    assert not model.certificate_.optimal
    assert not model.converged_


def test_nor_is_a_hard_margin_without_a_bias():
    problem = c_svc(
        matrix_of(Linear(), np.array([[1.0], [-1.0]])), np.array([1.0, -1.0]), np.full(2, np.inf)
    )
    assert certify(problem, np.array([0.5, -0.5]), np.zeros(1), 1e-3).optimal
    assert not certify(problem, np.array([0.5, -0.5]), np.array([np.nan]), 1e-3).optimal


def test_nor_is_a_whole_of_which_a_part_is_no_number():
    good = replace(proof_of(), by_gap=True)
    bad = replace(good, dual_objective=np.nan)
    for parts in [(good, bad), (bad, good)]:
        assert combine(parts).relative_gap == np.inf
        assert not combine(parts).optimal
    assert combine([good, good]).optimal
