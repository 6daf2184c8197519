"""The formulas of docs/theory/smo_step_by_step.md, for random pairs and recorded steps."""

import numpy as np
import pytest
from matrices import matrix_of
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.kernels import RBF
from maxmargin.problems import c_svc
from maxmargin.solvers.base import Budget, Solution
from maxmargin.solvers.textbook import Multipliers, gain_of

X, y = make_moons(24, noise=0.3, random_state=4)
y = y.astype(float)
KERNEL, C, n = RBF(gamma=0.7), 1.0, len(y)
K = KERNEL(X)
rng = np.random.default_rng(0)
PAIRS = [(int(i), int(j)) for i, j in rng.choice(n, (40, 2)) if i != j]


def W(alpha):
    return alpha.sum() - 0.5 * (alpha * y) @ K @ (alpha * y)


def feasible():
    alpha = rng.uniform(0, 0.4, n)
    alpha[y > 0] *= alpha[y < 0].sum() / alpha[y > 0].sum()
    assert alpha.max() < C
    return alpha


class Pair:
    """The quantities of the page for two points and feasible multipliers."""

    def __init__(self, i, j, alpha, b=0.3):
        self.i, self.j, self.alpha, self.b = i, j, alpha, b
        self.f = K @ (alpha * y) + b
        self.E = self.f - y
        self.zeta = y[i] * alpha[i] + y[j] * alpha[j]
        others = np.setdiff1d(np.arange(n), [i, j])
        self.v = [(alpha * y)[others] @ K[others, point] for point in (i, j)]
        self.const = W(np.where(np.isin(np.arange(n), [i, j]), 0.0, alpha))
        self.eta = K[i, i] + K[j, j] - 2 * K[i, j]

    def moved(self, alpha_j):
        alpha = self.alpha.copy()
        alpha[self.j] = alpha_j
        alpha[self.i] = y[self.i] * (self.zeta - y[self.j] * alpha_j)
        return alpha

    def J(self, a):
        i, j, (v_i, v_j), rest = self.i, self.j, self.v, self.zeta - y[self.j] * a
        return (
            y[i] * self.zeta - y[i] * y[j] * a + a - 0.5 * rest**2 * K[i, i] - 0.5 * a**2 * K[j, j]
            - rest * y[j] * a * K[i, j] - rest * v_i - y[j] * a * v_j + self.const
        )  # fmt: skip


@pytest.fixture(params=PAIRS[:12], ids=str)
def pair(request):
    return Pair(*request.param, feasible())


@states("O1", "O2", "O3", "O4", "O5")
def test_every_line_of_the_substitution_has_the_same_value(pair):
    i, j, alpha, (v_i, v_j) = pair.i, pair.j, pair.alpha, pair.v
    split = (
        alpha[i] + alpha[j] - 0.5 * alpha[i] ** 2 * K[i, i] - 0.5 * alpha[j] ** 2 * K[j, j]
        - alpha[i] * alpha[j] * y[i] * y[j] * K[i, j] - alpha[i] * y[i] * v_i
        - alpha[j] * y[j] * v_j + pair.const
    )  # fmt: skip
    assert split == pytest.approx(W(alpha))
    np.testing.assert_allclose(pair.moved(alpha[j]), alpha)
    for a in rng.uniform(-1, 2, 5):
        assert pair.J(a) == pytest.approx(W(pair.moved(a)))
        assert pair.moved(a) @ y == pytest.approx(0, abs=1e-9)


@states("O6", "O7", "O8", "O9", "O10")
def test_every_form_of_the_derivative_is_the_finite_difference(pair):
    i, j, zeta, (v_i, v_j), E = pair.i, pair.j, pair.zeta, pair.v, pair.E
    old_i, old_j, f, b = pair.alpha[i], pair.alpha[j], pair.f, pair.b
    assert v_i == pytest.approx(f[i] - b - old_i * y[i] * K[i, i] - old_j * y[j] * K[i, j])
    assert v_j == pytest.approx(f[j] - b - old_i * y[i] * K[i, j] - old_j * y[j] * K[j, j])
    apart = f[i] - f[j] - zeta * (K[i, i] - K[i, j]) + y[j] * old_j * pair.eta
    assert v_i - v_j == pytest.approx(apart)
    for a in rng.uniform(-1, 2, 5):
        h = 1e-5
        measured = (W(pair.moved(a + h)) - W(pair.moved(a - h))) / (2 * h)
        by_terms = (
            1 - y[i] * y[j] + y[j] * (zeta - y[j] * a) * K[i, i] - a * K[j, j]
            - zeta * y[j] * K[i, j] + 2 * a * K[i, j] + y[j] * (v_i - v_j)
        )  # fmt: skip
        sorted_by_a = (
            -a * pair.eta + zeta * y[j] * (K[i, i] - K[i, j]) + y[j] * (v_i - v_j) + 1 - y[i] * y[j]
        )
        short = -pair.eta * (a - old_j) + y[j] * (E[i] - E[j])
        assert by_terms == pytest.approx(measured, abs=1e-7)
        assert sorted_by_a == pytest.approx(by_terms)
        assert short == pytest.approx(by_terms)


@states("O11", "O12", "O17")
def test_the_top_of_the_parabola_is_where_nothing_more_is_gained(pair):
    i, j = pair.i, pair.j
    assert pair.eta == pytest.approx(K[i, i] + K[j, j] - 2 * K[i, j])
    degree_two = X @ X.T  # the linear kernel, whose features are the coordinates themselves
    distance = np.sum((X[i] - X[j]) ** 2)
    assert degree_two[i, i] + degree_two[j, j] - 2 * degree_two[i, j] == pytest.approx(distance)
    slope = y[j] * (pair.E[i] - pair.E[j])
    top = pair.alpha[j] + slope / pair.eta
    highest = W(pair.moved(top))
    for a in rng.uniform(-2, 3, 20):
        assert W(pair.moved(a)) <= highest + 1e-12
        move = a - pair.alpha[j]
        gained = W(pair.moved(a)) - W(pair.alpha)
        assert gained == pytest.approx(move * slope - 0.5 * pair.eta * move**2)
        assert gained == pytest.approx(gain_of(move, slope, pair.eta))


@states("O13", "O14")
@pytest.mark.parametrize(("i", "j"), PAIRS)
def test_the_ends_are_those_of_the_box(i, j):
    alpha = feasible()
    pair = Pair(i, j, alpha)
    if y[i] == y[j]:
        L, H = max(0, alpha[i] + alpha[j] - C), min(C, alpha[i] + alpha[j])
    else:
        L, H = max(0, alpha[j] - alpha[i]), min(C, C + alpha[j] - alpha[i])
    for a in np.linspace(-0.5, 1.5, 81):
        inside = np.all((pair.moved(a) >= -1e-12) & (pair.moved(a) <= C + 1e-12))
        assert inside == (L - 1e-12 <= a <= H + 1e-12)
    problem = c_svc(matrix_of(KERNEL, X), y, np.full(n, C))
    state = Multipliers(problem, Budget(10), 1e-3, start=Solution.at(alpha * y))
    assert state.segment(i, j) == pytest.approx((L, H))


@states("O15", "O16", "O18", "O19", "O20", "O21", "O22")
def test_every_recorded_step_follows_the_formulas():
    model = SVC(kernel=KERNEL, C=C, solver="smo_platt", trace=True, tol=1e-6).fit(X, y)
    trace, alpha, b, kinds = model.trace_, np.zeros(n), 0.0, set()
    E = -y.copy()
    for row in trace.steps:
        i, j = row["i"], row["j"]
        assert (row["error_i"], row["error_j"]) == pytest.approx((E[i], E[j]), abs=1e-9)
        top, L, H = row["unclipped"], row["L"], row["H"]
        clipped = H if top > H else (L if top < L else top)
        assert row["clipped"] == pytest.approx(clipped, abs=1e-12) == min(max(top, L), H)
        new_i = alpha[i] + y[i] * y[j] * (alpha[j] - clipped)
        assert row["alpha_i"] == pytest.approx(new_i, abs=1e-12)
        zeta = y[i] * alpha[i] + y[j] * alpha[j]
        assert new_i == pytest.approx(y[i] * (zeta - y[j] * clipped), abs=1e-12)
        change_i, change_j = y[i] * (row["alpha_i"] - alpha[i]), y[j] * (clipped - alpha[j])
        b_i = b - E[i] - change_i * K[i, i] - change_j * K[i, j]
        b_j = b - E[j] - change_i * K[i, j] - change_j * K[j, j]
        others = np.setdiff1d(np.arange(n), [i, j])
        v_i = (alpha * y)[others] @ K[others, i]
        on_kerb = v_i + row["alpha_i"] * y[i] * K[i, i] + clipped * y[j] * K[i, j] + b_i
        assert on_kerb == pytest.approx(y[i])
        inside = 0 < row["alpha_i"] < C, 0 < row["clipped"] < C
        kinds.add(inside)
        expected = b_i if inside[0] else (b_j if inside[1] else (b_i + b_j) / 2)
        assert row["b"] == pytest.approx(expected, abs=1e-9)
        if all(inside):
            assert b_i == pytest.approx(b_j, abs=1e-9)
        E = E + change_i * K[i] + change_j * K[j] + row["b"] - b
        alpha[i], alpha[j], b = row["alpha_i"], row["clipped"], row["b"]
        np.testing.assert_allclose(E, K @ (alpha * y) + b - y, atol=1e-9)
    assert len(kinds) >= 3  # both inside, one of them, none
