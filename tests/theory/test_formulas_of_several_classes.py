"""The formulas of docs/theory/several_classes.md, evaluated beside the code that they explain."""

from itertools import combinations

import numpy as np
import pytest
from oracle import joint_oracle_objective
from theory_pages import states

from maxmargin import SVC, LinearSVC
from maxmargin.datasets import make_gaussian_mixture
from maxmargin.problems.joint_loss import JointLoss
from maxmargin.solvers import solver_named
from maxmargin.solvers.base import Budget

CENTRES = {0: [(0, 0)], 1: [(1, 2)], 2: [(2, 0)], 3: [(3, 2)]}
X, y = make_gaussian_mixture(80, centres=CENTRES, noise=0.8)
C = 0.7
OWN = y[:, None] == np.arange(4)  # delta_im


@pytest.fixture(scope="module")
def joint():
    """Crammer and Singer's problem without an offset, and its dual point."""
    problem = JointLoss(X, 0.0, y, 4, np.full(80, C))
    solver = solver_named("crammer_singer")(1e-10)
    return problem, solver.solve(problem, Budget(10**6)).coef


def pair_decisions(model):
    """f_ij of all i and j, from the decisions of the pairs with i < j."""
    of_pairs = model.set_params(decision_function_shape="ovo").decision_function(X)
    f = np.zeros((80, 4, 4))
    for column, (i, j) in zip(of_pairs.T, combinations(range(4), 2), strict=True):
        f[:, i, j], f[:, j, i] = column, -column
    return of_pairs, f


@states("SC1", "SC2")
def test_a_tournament_has_k_choose_2_machines_and_the_winner_most_votes():
    model = SVC().fit(X, y)
    of_pairs, f = pair_decisions(model)
    assert of_pairs.shape[1] == 4 * 3 // 2
    votes = np.sum(f > 0, axis=2)
    np.testing.assert_array_equal(model.predict(X), np.argmax(votes, axis=1))


@states("SC3")
def test_scores_are_votes_and_a_fraction_of_the_summed_decisions():
    model = SVC(gamma=3.0).fit(X, y)
    _, f = pair_decisions(model)
    votes, sums = np.sum(f > 0, axis=2), f.sum(axis=2)
    scores = votes + sums / (3 * (np.abs(sums) + 1))
    model.set_params(decision_function_shape="ovr")
    np.testing.assert_allclose(model.decision_function(X), scores)
    np.testing.assert_array_equal(np.round(scores), votes)  # the fraction never overrules a vote


@states("SC4")
@pytest.mark.parametrize("k", [2, 3, 10, 100])
def test_the_work_of_a_tournament_is_below_two_n_squared(k):
    n = 1000.0
    work = k * (k - 1) / 2 * (2 * n / k) ** 2
    assert work == pytest.approx(2 * (k - 1) / k * n**2)
    assert work < 2 * n**2


@states("SC5")
@pytest.mark.parametrize(
    "model", [SVC(multi_class="ovr"), LinearSVC(loss="hinge")], ids=["kernel", "linear"]
)
def test_the_rest_is_beaten_by_the_largest_decision(model):
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X), np.argmax(model.decision_function(X), axis=1))


# One loss for all classes.


@states("SC6", "SC7")
def test_the_joint_primal_is_its_formula_and_the_oracles(joint):
    problem, alpha = joint
    W = alpha.T @ X
    scores = X @ W.T
    rivals = 1 - (scores[OWN][:, None] - scores)
    slack = np.maximum(0, np.where(OWN, -np.inf, rivals).max(axis=1))
    assert np.all(scores[OWN][:, None] - scores + OWN >= 1 - slack[:, None] - 1e-12)
    primal = 0.5 * np.sum(W**2) + C * slack.sum()
    weights = problem.weights_of(alpha)
    assert primal == pytest.approx(problem.primal(weights, problem.decisions(weights)))
    assert primal == pytest.approx(joint_oracle_objective(X, y, problem.C, 0.0), rel=1e-7)


@states("SC9", "SC11")
def test_the_joint_dual_is_its_formula_and_meets_the_primal(joint):
    problem, alpha = joint
    W = alpha.T @ X
    dual = -alpha[~OWN].sum() - 0.5 * np.sum(W**2)
    weights = problem.weights_of(alpha)
    assert dual == pytest.approx(problem.dual(alpha, weights))
    primal = problem.primal(weights, problem.decisions(weights))
    assert dual == pytest.approx(primal, rel=1e-8)


@states("SC10")
def test_the_multipliers_obey_their_two_constraints(joint):
    _, alpha = joint
    assert np.all(alpha <= C * OWN + 1e-12)
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12)


@states("SC8", "SC9")
def test_the_lagrangian_with_its_derivatives_at_zero_is_the_dual():
    rng = np.random.default_rng(0)
    eta = C * rng.dirichlet(np.ones(4), size=80)  # not negative, with sum C
    alpha = C * OWN - eta
    W, slack = alpha.T @ X, rng.uniform(size=80)
    scores = X @ W.T
    held = scores[OWN][:, None] - scores + OWN - 1 + slack[:, None]
    lagrangian = 0.5 * np.sum(W**2) + C * slack.sum() - np.sum(eta * held)
    assert lagrangian == pytest.approx(-alpha[~OWN].sum() - 0.5 * np.sum(W**2))


@states("SC12")
def test_two_classes_are_the_soft_margin_at_twice_the_price():
    two = y < 2
    options = {"loss": "hinge", "tol": 1e-8, "max_iter": 10**5}
    joint = LinearSVC(C=C, multi_class="crammer_singer", **options).fit(X[two], y[two])
    plain = LinearSVC(C=2 * C, **options).fit(X[two], y[two])
    np.testing.assert_allclose(joint.coef_, plain.coef_, atol=1e-3)
    halved = joint.certificate_.primal_objective
    assert halved == pytest.approx(0.5 * plain.certificate_.primal_objective, rel=1e-6)
