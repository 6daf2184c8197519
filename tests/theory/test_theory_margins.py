"""The formulas of docs/theory/margins.md, evaluated."""

import numpy as np
import pytest
from scipy.optimize import minimize
from theory_pages import states

from maxmargin import SVC
from maxmargin.datasets import make_separable
from maxmargin.inspection import margins


@pytest.fixture(scope="module")
def data():
    return make_separable(30, margin=0.4, random_state=7)


@pytest.fixture(scope="module")
def hard(data):
    return SVC(kernel="linear", C=float("inf"), tol=1e-9).fit(*data)


@pytest.fixture
def w(hard):
    return hard.coef_[0]


@pytest.fixture
def b(hard):
    return float(hard.intercept_[0])


@states("M1", "M2")
def test_confidence_grows_with_the_decision_and_the_answer_is_its_sign(data, hard):
    from maxmargin.losses import Logistic

    f = hard.decision_function(data[0])
    g = 1 / (1 + np.exp(-f))
    assert np.all(np.diff(g[np.argsort(f)]) >= 0)
    np.testing.assert_allclose(-np.log(g), Logistic().value(1, f))  # its loss is -log P(y = +1)
    np.testing.assert_array_equal(np.where(f >= 0, 1, -1), hard.predict(data[0]))


@states("M3", "M4", "M6")
def test_functional_margins_grow_with_w_and_geometric_ones_do_not(data, hard, w, b):
    X, y = data
    report = margins(hard, X, y)
    np.testing.assert_allclose(report.functional, y * (X @ w + b))
    assert report.functional_of_set == report.functional.min()
    np.testing.assert_allclose(y * (X @ (10 * w) + 10 * b), 10 * report.functional)
    length = np.linalg.norm(w)
    np.testing.assert_allclose(report.geometric, y * (X @ (w / length) + b / length))
    np.testing.assert_allclose(y * (X @ (10 * w) + 10 * b) / (10 * length), report.geometric)
    assert report.geometric_of_set == report.geometric.min()


@states("M5", "M7")
def test_the_foot_is_the_nearest_point_of_the_boundary(data, w, b):
    rng = np.random.default_rng(0)
    for x in data[0]:
        s = (w @ x + b) / np.linalg.norm(w)
        p = x - s * w / np.linalg.norm(w)
        assert w @ p + b == pytest.approx(0, abs=1e-9)
        along = rng.standard_normal(2)
        z = p + along - (along @ w) / (w @ w) * w
        assert w @ z + b == pytest.approx(0, abs=1e-9)
        assert np.sum((x - z) ** 2) == pytest.approx(s**2 + np.sum((p - z) ** 2))


@states("M8", "M9", "M10", "M11")
def test_four_ways_to_write_the_search_have_one_solution(data, hard, w, b):
    X, y = data
    signed = y[:, None] * np.column_stack([X, np.ones(len(X))])
    start = np.array([*w, b]) * 0.7 + 0.05

    def solve(objective, at_least, start, equality=()):
        limits = [{"type": "ineq", "fun": at_least}, *equality]
        return minimize(objective, start, constraints=limits, options={"maxiter": 500}).x

    unit = [{"type": "eq", "fun": lambda v: v[:2] @ v[:2] - 1}]
    one = solve(lambda v: -v[3], lambda v: signed @ v[:3] - v[3], [*start, 0.1], unit)
    assert one[3] == pytest.approx(1 / np.linalg.norm(w), rel=1e-4)
    ratio = (signed @ [*w, b]).min() / np.linalg.norm(w)
    for scale in (0.1, 1.0, 30.0):  # the length is free, so the ratio is the same
        assert (signed @ (scale * np.array([*w, b]))).min() / np.linalg.norm(
            scale * w
        ) == pytest.approx(ratio)
    assert ratio == pytest.approx(one[3], rel=1e-4)
    quadratic = solve(lambda v: v[:2] @ v[:2] / 2, lambda v: signed @ v - 1, start)
    np.testing.assert_allclose(quadratic, [*w, b], rtol=1e-4)
    shortest = solve(lambda v: np.linalg.norm(v[:2]), lambda v: signed @ v - 1, start)
    np.testing.assert_allclose(shortest, [*w, b], rtol=1e-3)
    assert (signed @ [*w, b]).min() == pytest.approx(1, rel=1e-6)


@states("M12")
def test_the_kerb_is_one_over_the_length_away(data, hard, w, b):
    length = np.linalg.norm(w)
    assert abs((1 - b) - (-b)) / length == pytest.approx(margins(hard, *data).width)
    on_kerb = (1 - b) * w / (w @ w)
    assert abs(w @ on_kerb + b) / length == pytest.approx(1 / length)


@states("M13")
def test_the_length_of_w_needs_only_dot_products(data, hard, w):
    K = hard.support_vectors_ @ hard.support_vectors_.T
    c = hard.dual_coef_[0]
    assert c @ K @ c == pytest.approx(w @ w) == pytest.approx(hard.norms_[0] ** 2)


@states("M14", "M15")
def test_the_street_is_as_wide_as_the_hulls_are_apart(data, hard, w):
    X, y = data
    alpha = np.zeros(len(y))
    alpha[hard.support_] = np.abs(hard.dual_coef_[0])
    A = alpha[y > 0].sum()
    assert A == pytest.approx(alpha[y < 0].sum()) == pytest.approx(w @ w / 2)
    plus, minus = alpha[y > 0] @ X[y > 0] / A, alpha[y < 0] @ X[y < 0] / A
    np.testing.assert_allclose(w, A * (plus - minus))
    apart = np.linalg.norm(plus - minus)
    assert apart == pytest.approx(2 / np.linalg.norm(w))
    rng = np.random.default_rng(0)  # and no other points of the hulls are nearer
    for _ in range(200):
        mixes = [rng.dirichlet(np.full(n, 0.1)) for n in (sum(y > 0), sum(y < 0))]
        assert np.linalg.norm(mixes[0] @ X[y > 0] - mixes[1] @ X[y < 0]) >= apart - 1e-9
