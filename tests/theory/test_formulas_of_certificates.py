"""The formulas of docs/theory/certificates.md, evaluated beside the code that they explain."""

import re
from pathlib import Path

import numpy as np
import pytest
from matrices import matrix_of
from sklearn.metrics.pairwise import rbf_kernel
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.kernels import RBF
from maxmargin.problems import c_svc, certify

N, C = 60, 1.3
X, y = make_moons(N, noise=0.25)
K = rbf_kernel(X, gamma=2.0)
PROBLEM = c_svc(matrix_of(RBF(gamma=2.0), X), y, np.full(N, C))
PAGE = Path(__file__).parents[2] / "docs" / "theory" / "certificates.md"


def feasible(rng):
    alpha = rng.uniform(0, C, N)
    lighter = 1 if alpha[y == 1].sum() < alpha[y == -1].sum() else -1
    alpha[y != lighter] *= alpha[y == lighter].sum() / alpha[y != lighter].sum()
    return alpha


def primal(c, b):
    return 0.5 * c @ K @ c + C * np.maximum(0, 1 - y * (K @ c + b)).sum()


def dual(alpha):
    return alpha.sum() - 0.5 * (y * alpha) @ K @ (y * alpha)


def terms(alpha, f):
    """C xi - alpha (1 - y f), a number for every point."""
    t = 1 - y * f
    return C * np.maximum(0, t) - alpha * t


@pytest.fixture(scope="module")
def model():
    return SVC(C=C, gamma=2.0, solver="smo_pairs", tol=1e-10, trace=True).fit(X, y)


@pytest.fixture(scope="module")
def best(model):
    """c and b of the optimum."""
    return model.trace_.replay(), model.intercept_[0]


@states("CE1", "CE2", "CE3")
@pytest.mark.parametrize("seed", range(5))
def test_the_identity_holds_for_any_separator_and_any_feasible_multipliers(seed):
    rng = np.random.default_rng(seed)
    alpha, other, b = feasible(rng), rng.normal(size=N), rng.normal()
    away = other - y * alpha
    right = 0.5 * away @ K @ away + terms(alpha, K @ other + b).sum()
    assert primal(other, b) - dual(alpha) == pytest.approx(right)
    assert np.all(terms(alpha, K @ other + b) >= 0)
    assert primal(other, b) >= dual(alpha)


@states("CE4")
@pytest.mark.parametrize("n_steps", [1, 5, 20, 60])
def test_the_gap_is_a_sum_over_the_points_and_what_the_certificate_says(model, n_steps):
    c, b = model.trace_.replay(n_rows=n_steps), model.trace_["b"][n_steps - 1]
    gap = terms(np.abs(c), K @ c + b).sum()
    assert gap == pytest.approx(model.trace_["gap"][n_steps - 1])
    proof = certify(PROBLEM, c, np.array([b]), 1e-3)
    assert gap == pytest.approx(proof.duality_gap)
    assert primal(c, b) == pytest.approx(proof.primal_objective)
    assert dual(np.abs(c)) == pytest.approx(proof.dual_objective)


@states("CE5", "CE6")
@pytest.mark.parametrize("n_steps", [1, 5, 20, 60])
def test_the_gap_bounds_the_weights_and_every_point_at_the_optimum(model, best, n_steps):
    c, b = model.trace_.replay(n_rows=n_steps), model.trace_["b"][n_steps - 1]
    gap, alpha = terms(np.abs(c), K @ c + b).sum(), np.abs(c)
    away = best[0] - c
    assert away @ K @ away <= 2 * gap + 1e-9
    at_optimum = y * (K @ best[0] + best[1])
    below, above = alpha < C, alpha > 0
    assert np.all(at_optimum[below] >= 1 - gap / (C - alpha[below]) - 1e-8)
    assert np.all(at_optimum[above] <= 1 + gap / alpha[above] + 1e-8)


@states("CE7")
@pytest.mark.parametrize("n_steps", [20, 60])
def test_every_training_point_gives_an_interval_in_which_f_of_the_optimum_lies(
    model, best, n_steps
):
    c, b = model.trace_.replay(n_rows=n_steps), model.trace_["b"][n_steps - 1]
    gap = terms(np.abs(c), K @ c + b).sum()
    f, f_best = K @ c, K @ best[0]
    apart = np.sqrt(np.maximum(2 - 2 * K, 0))
    change = f_best[:, None] - f_best - (f[:, None] - f)
    assert np.all(np.abs(change) <= np.sqrt(2 * gap) * apart + 1e-8)


@states("CE8")
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("solver", ["smo_simplified", "smo_platt", "smo_pairs"])
def test_the_gap_is_at_most_the_tolerance_times_all_prices(solver, tol):
    rough = SVC(C=C, gamma=2.0, solver=solver, tol=tol).fit(X, y)
    proof = rough.certificate_
    assert proof.kkt_violation <= tol
    assert proof.duality_gap <= tol * N * C


def test_the_page_shows_a_certificate_as_it_is_printed():
    shown = re.search(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL).group(1)
    points, labels = make_moons(100, noise=0.25)
    printed = repr(SVC(gamma=2.0).fit(points, labels).certificate_)
    small = re.compile(r"\d\S*e-\d+|\b0$", re.MULTILINE)  # what rounding decides
    assert small.sub("small", shown.strip()) == small.sub("small", printed)
