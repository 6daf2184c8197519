"""The teaching solvers do what their derivations say, step by step."""

import itertools

import numpy as np
import pytest
from matrices import matrix_of
from zoo import ZOO

from maxmargin import solvers
from maxmargin.kernels import RBF, Linear
from maxmargin.problems import c_svc
from maxmargin.problems.trace import Trace
from maxmargin.solvers.base import Budget, Solution
from maxmargin.solvers.coordinate_ascent import maximise_quadratic, room_alone
from maxmargin.solvers.textbook import Multipliers


@pytest.fixture
def problem():
    return next(animal for animal in ZOO if animal.name == "noisy").problem()


def solved(problem, solver, **limits):
    trace = Trace()
    budget = Budget(limits.pop("max_iter", 10**6), trace=trace)
    return solver.solve(problem, budget), trace


class Before:
    """The state in which the steps of a trace were chosen, computed anew from the multipliers."""

    def __init__(self, problem, trace):
        self.y, self.K = problem.linear, problem.matrix.values(np.arange(problem.n))
        self.C = problem.upper - problem.lower
        self.alpha, self.b = np.zeros(problem.n), 0.0
        self.steps = trace.steps

    def __iter__(self):
        for row in self.steps:
            self.E = self.K @ (self.y * self.alpha) + self.b - self.y
            yield int(row["i"]), int(row["j"])
            self.alpha[row["i"]], self.alpha[row["j"]] = row["alpha_i"], row["clipped"]
            self.b = row["b"]

    def can_rise(self):
        return np.where(self.y > 0, self.alpha < self.C, self.alpha > 0)

    def can_fall(self):
        return np.where(self.y > 0, self.alpha > 0, self.alpha < self.C)


# The step of two multipliers.


def two_points(y, alpha, C=(1.0, 3.0)):
    X, y = np.array([[0.0], [2.0]]), np.array(y, dtype=float)
    problem = c_svc(matrix_of(Linear(), X), y, np.array(C))
    return Multipliers(problem, Budget(100), 1e-3, start=Solution.at(y * np.array(alpha)))


def test_ends_of_the_segment():
    assert two_points([1, -1], [0.5, 0.5]).segment(0, 1) == (0.0, 1.0)  # the difference stays
    assert two_points([1, -1], [0.2, 0.7]).segment(0, 1) == pytest.approx((0.5, 1.5))
    assert two_points([1, 1], [0.5, 2.0]).segment(0, 1) == (1.5, 2.5)  # the sum stays
    assert two_points([1, 1], [0.5, 0.2]).segment(0, 1) == pytest.approx((0.0, 0.7))


def test_eta_is_the_squared_distance_and_zero_for_equal_points():
    assert two_points([1, -1], [0.0, 0.0]).curvature(0, 1) == 4.0  # K_ii + K_jj - 2 K_ij
    X = np.random.default_rng(0).standard_normal((4, 3))
    problem = c_svc(matrix_of(RBF(), np.vstack([X, X])), np.repeat([1.0, -1.0], 4), np.ones(8))
    multipliers = Multipliers(problem, Budget(1), 1e-3)
    assert [multipliers.curvature(i, i + 4) for i in range(4)] == [0.0] * 4
    assert multipliers.curvature(0, 1) > 0


def test_a_pair_without_curvature_goes_to_the_better_end_or_is_skipped():
    X = np.zeros((2, 1))
    problem = c_svc(matrix_of(Linear(), X), np.array([1.0, -1.0]), np.array([2.0, 5.0]))
    multipliers = Multipliers(problem, Budget(100), 1e-3)
    assert not multipliers.step(0, 1, "random_pair", skip_flat=True)
    assert multipliers.step(0, 1, "random_pair")
    np.testing.assert_array_equal(multipliers.alpha, [2.0, 2.0])
    assert multipliers.objective == 4.0


def test_b_follows_the_multiplier_inside_the_box():
    inside = two_points([1, -1], [0.0, 0.0], C=(9.0, 9.0))
    inside.step(0, 1, "random_pair")
    np.testing.assert_allclose(inside.alpha, 0.5)
    assert inside.b == pytest.approx(1.0)  # f = 1 at x = 0 and -1 at x = 2
    at_bounds = two_points([1, -1], [0.0, 0.0], C=(0.1, 0.1))
    at_bounds.step(0, 1, "random_pair")
    np.testing.assert_array_equal(at_bounds.alpha, 0.1)
    errors = at_bounds.E - at_bounds.b
    assert at_bounds.b == pytest.approx(-errors.mean())  # the middle of what either would say


def test_bias_is_the_mean_of_the_free_points_or_the_middle_of_the_interval():
    problem = c_svc(
        matrix_of(Linear(), np.zeros((4, 1))), np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4)
    )
    expansion = problem.linear - np.array([0.1, 0.3, -0.5, 0.9])
    two_free = np.array([0.5, 0.5, 0.0, 0.0])
    assert problem.biases(two_free, expansion) == pytest.approx([(0.1 + 0.3) / 2])
    all_at_bounds = np.array([0.0, 0.0, -1.0, -1.0])  # that can only rise
    assert problem.biases(all_at_bounds, expansion) == pytest.approx([0.9])
    some_can_fall = np.array([0.0, 1.0, 0.0, -1.0])
    assert problem.biases(some_can_fall, expansion) == pytest.approx([(0.9 - 0.5) / 2])


# Which pair.


def test_simplified_takes_violators_and_stops_after_quiet_passes(problem):
    solver = solvers.SMOSimplified(max_passes=4)
    solution, trace = solved(problem, solver)
    before = Before(problem, trace)
    for i, _ in before:
        excess = before.y[i] * before.E[i]
        assert (excess < -solver.tol / 2 and before.alpha[i] < before.C[i]) or (
            excess > solver.tol / 2 and before.alpha[i] > 0
        )
    assert solution.converged
    assert np.all(trace.rounds["movement"][-4:] == 0)
    partners = trace.steps["j"]
    assert len(set(partners)) > 0.5 * problem.n  # drawn from everywhere


def test_random_pairs_are_disjoint_and_number_half_of_the_points(problem):
    solution, trace = solved(problem, solvers.SMORandomPair())
    ends = np.concatenate([[0], trace.rounds["n_iter"]])
    for start, stop in itertools.pairwise(ends):
        used = np.concatenate([trace.steps["i"][start:stop], trace.steps["j"][start:stop]])
        assert len(np.unique(used)) == len(used) <= problem.n
    assert solution.converged
    assert trace.rounds["movement"][-1] <= 1e-6
    solution, trace = solved(problem, solvers.SMORandomPair(max_rounds=3))
    assert (solution.stopped, len(trace.rounds)) == ("max_rounds", 3)
    assert solvers.SMORandomPair().max_rounds == 1000
    assert solvers.SMORandomPair().smallest_movement == 1e-6


def test_platt_prefers_the_largest_difference_of_errors(problem):
    _, trace = solved(problem, solvers.SMOPlatt())
    before, by_heuristic, by_choice = Before(problem, trace), 0, 0
    for i, j in before:
        inside = np.flatnonzero((before.alpha > 0) & (before.alpha < before.C))
        if len(inside) > 1:
            by_choice += 1
            differences = np.abs(before.E[inside] - before.E[i])
            by_heuristic += np.isclose(np.abs(before.E[j] - before.E[i]), differences.max())
    assert by_heuristic > 0.7 * by_choice > 100
    # Passes over the inner points follow each other until they agree, then everyone is looked at.
    quiet = trace.rounds["movement"] == 0
    assert quiet[-1]


@pytest.mark.parametrize("order", [1, 2])
def test_pairs_are_the_maximal_violating_or_the_most_gaining(problem, order):
    _, trace = solved(problem, solvers.SMOPairs(order=order))
    before = Before(problem, trace)
    diagonal = np.diagonal(before.K)
    for i, j in before:
        gradient = -before.E
        assert gradient[i] == pytest.approx(gradient[before.can_rise()].max(), abs=1e-9)
        fall = before.can_fall()
        if order == 1:
            assert gradient[j] == pytest.approx(gradient[fall].min(), abs=1e-9)
        else:
            fall &= gradient < gradient[i]
            eta = np.maximum(diagonal[i] + diagonal - 2 * before.K[i], 1e-12)
            gains = (gradient[i] - gradient) ** 2 / eta
            assert gains[j] == pytest.approx(gains[fall].max(), rel=1e-6)


# Coordinate ascent.


def test_coordinate_ascent_climbs_to_the_solution_of_the_linear_system():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    A, linear = root @ root.T + np.eye(6), rng.standard_normal(6)
    path = maximise_quadratic(A, linear, np.zeros(6))
    values = path @ linear - 0.5 * np.einsum("ij,jk,ik->i", path, A, path)
    assert np.all(np.diff(values) >= -1e-12)
    assert np.all(np.count_nonzero(np.diff(path, axis=0), axis=1) <= 1)  # one at a time
    np.testing.assert_allclose(path[-1], np.linalg.solve(A, linear), atol=1e-8)


def test_a_single_multiplier_cannot_move(problem):
    coef = solved(problem, solvers.SMOPairs(), max_iter=20)[0].coef
    for i in range(problem.n):
        low, high = room_alone(problem, coef, i)
        assert low == high == pytest.approx(coef[i], abs=1e-12)


def test_a_sweep_keeps_its_reference(problem):
    _, trace = solved(problem, solvers.CoordinateAscent())
    ends = np.concatenate([[0], trace.rounds["n_iter"]])
    sweeps = [trace.steps[a:b] for a, b in itertools.pairwise(ends)]
    assert all(len(set(sweep["i"])) == 1 for sweep in sweeps)
    assert all(np.all(np.diff(sweep["j"]) > 0) for sweep in sweeps)  # in order, each once
    assert len({int(sweep["i"][0]) for sweep in sweeps}) > 1


def test_prediction_needs_the_support_vectors_only(problem):
    from maxmargin import SVC

    y = problem.linear
    model = SVC(kernel=problem.kernel).fit(problem.points.X, y)
    assert 0 < len(model.support_) < problem.n
    K = problem.matrix.values(np.arange(problem.n), model.support_)
    f = K @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(problem.points.X), f, atol=1e-12)
    np.testing.assert_array_equal(model.predict(problem.points.X), np.sign(f))
    alone = SVC(kernel=problem.kernel).fit(model.support_vectors_, y[model.support_])
    np.testing.assert_allclose(alone.decision_function(problem.points.X), f, atol=1e-6)
