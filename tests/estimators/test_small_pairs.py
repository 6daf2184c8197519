"""Many small classes at once: the same answers, certificates and limits as pair by pair."""

import warnings
from itertools import combinations

import numpy as np
import pytest
import sklearn.svm
from matrices import matrix_of
from oracle import oracle_objective

from maxmargin import SVC, kernels
from maxmargin.compiled import pairs as compiled
from maxmargin.errors import ConvergenceWarning
from maxmargin.estimators.decomposition import OneVsOne
from maxmargin.estimators.probability import couple
from maxmargin.problems.reductions import c_svc
from maxmargin.solvers import small_pairs, smo

CONDITIONS = [
    {},
    {"C": 100.0, "gamma": 0.05},
    {"kernel": "linear", "C": 0.01},
    {"kernel": "poly", "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.01},
    {"kernel": "laplacian"},
    {"kernel": kernels.RBF(0.1) + kernels.Linear()},
    {"kernel": lambda A, B: np.asarray(A) @ np.asarray(B).T},
    {"class_weight": "balanced"},
    {"tol": 1e-6},
]


def data(sizes, seed=0, d=4):
    """As many rows of each class as `sizes` says, in no order, and some more to ask about."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    centres = 2.0 * np.random.default_rng(seed).standard_normal((len(sizes), d))
    rng = np.random.default_rng(seed + 1)
    order = rng.permutation(len(y))
    X = centres[y] + rng.standard_normal((len(y), d))
    return X[order], y[order], rng.standard_normal((50, d)) * 3


def pair_by_pair(**options):
    """The same model by the ordinary way, which whoever looks on is shown."""
    return SVC(callbacks=[lambda progress: False], **options)


def assert_same(model, other, X_new):
    for shape in ("ovo", "ovr"):
        found, expected = (
            m.set_params(decision_function_shape=shape).decision_function(X_new)
            for m in (model, other)
        )
        np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_array_equal(model.predict(X_new), other.predict(X_new))
    np.testing.assert_allclose(model.norms_, other.norms_, atol=1e-7)
    np.testing.assert_array_equal(model.roles_, other.roles_)
    assert model.converged_ == other.converged_
    proof, other_proof = model.certificate_, other.certificate_
    assert len(proof.parts) == len(other_proof.parts)
    both = zip((proof, *proof.parts), (other_proof, *other_proof.parts), strict=True)
    for part, other_part in both:
        assert part.optimal == other_part.optimal
        assert part.primal_objective == pytest.approx(other_part.primal_objective, rel=1e-7)
        assert part.dual_objective == pytest.approx(other_part.dual_objective, rel=1e-7)
        assert part.n_zero + part.n_free + part.n_bound == (
            other_part.n_zero + other_part.n_free + other_part.n_bound
        )
        assert part.kkt_violation == pytest.approx(other_part.kkt_violation, abs=1e-8)


@pytest.fixture
def at_once(monkeypatch):
    """The solver of single problems is not to be asked."""

    def solve(*arguments, **options):
        raise AssertionError("a small pair was solved by itself")

    monkeypatch.setattr(smo.SMO, "solve", solve)


@pytest.mark.filterwarnings("ignore:kernel not PSD")  # of the sigmoid
@pytest.mark.parametrize("options", CONDITIONS, ids=lambda options: str(options).split(" at 0x")[0])
def test_small_pairs_at_once_are_what_they_are_one_by_one(options):
    X, y, X_new = data([1, 2, 3, 7, 20, 1, 12])
    weight = np.random.default_rng(3).uniform(0.2, 3.0, len(y))
    model = SVC(**options).fit(X, y, weight)
    assert_same(model, pair_by_pair(**options).fit(X, y, weight), X_new)


def test_small_pairs_need_no_solver_of_single_problems(at_once):
    X, y, _ = data([3] * 12)
    model = SVC(probability=True).fit(X, y)
    assert model.certificate_.optimal
    assert all(part.optimal for part in model.certificate_.parts)


@pytest.mark.parametrize("options", [{}, {"C": 50.0}, {"class_weight": "balanced"}], ids=str)
def test_probabilities_at_once_are_what_they_are_one_by_one(options):
    X, y, X_new = data([1, 2, 3, 7, 20, 1, 12])
    weight = np.random.default_rng(3).uniform(0.2, 3.0, len(y))
    model = SVC(probability=True, random_state=5, **options).fit(X, y, weight)
    other = pair_by_pair(probability=True, random_state=5, **options).fit(X, y, weight)
    np.testing.assert_allclose(model.predict_proba(X_new), other.predict_proba(X_new), atol=1e-6)


def test_decisions_of_many_small_classes_are_scikit_learns():
    X, y, X_new = data([4] * 30)
    options = {"decision_function_shape": "ovo", "C": 3.0}
    ours = SVC(**options).fit(X, y)
    theirs = sklearn.svm.SVC(tol=1e-10, **options).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X_new), theirs.decision_function(X_new), atol=1e-6
    )


def test_every_part_has_the_objective_of_an_interior_point_method(at_once):
    X, y, _ = data([5] * 8)
    model = SVC(gamma=0.2, C=2.0).fit(X, y)
    for k, pair in enumerate(combinations(range(8), 2)):
        rows = np.flatnonzero(np.isin(y, pair))
        signs = np.where(y[rows] == pair[0], 1.0, -1.0)
        best = oracle_objective(
            c_svc(matrix_of(kernels.RBF(0.2), X[rows]), signs, np.full(10, 2.0))
        )
        part = model.certificate_.parts[k]
        assert part.dual_objective == pytest.approx(best, rel=1e-7)
        assert part.primal_objective == pytest.approx(best, rel=1e-7)


def test_small_and_large_pairs_and_classes_without_weight_keep_their_order():
    X, y, X_new = data([3, 300, 4, 2, 280, 5])
    weight = (y != 3).astype(float)
    model, other = SVC().fit(X, y, weight), pair_by_pair().fit(X, y, weight)
    assert len(model.certificate_.parts) == 10
    assert_same(model, other, X_new)


def test_the_order_of_rows_and_names_of_classes_do_not_matter():
    X, y, X_new = data([2, 5, 9, 3, 4])
    order = np.random.default_rng(0).permutation(len(y))
    model = SVC(decision_function_shape="ovo").fit(X, y)
    other = SVC(decision_function_shape="ovo").fit(X[order], np.array(list("abcde"))[y[order]])
    np.testing.assert_allclose(
        model.decision_function(X_new), other.decision_function(X_new), atol=1e-8
    )


def test_a_weight_of_two_is_the_row_twice(at_once):
    X, y, X_new = data([3] * 10)
    twice = SVC(gamma=0.1).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = SVC(gamma=0.1).fit(X, y, np.full(len(y), 2.0))
    np.testing.assert_allclose(
        weighted.decision_function(X_new), twice.decision_function(X_new), atol=1e-7
    )


def test_a_matrix_that_does_not_fit_is_made_for_groups_of_classes(at_once, monkeypatch):
    X, y, X_new = data([6] * 40)
    expected = SVC(decision_function_shape="ovo").fit(X, y).decision_function(X_new)
    sizes = []
    block = small_pairs._Tile.__init__

    def noted(self, *arguments):
        block(self, *arguments)
        sizes.append(self.K.nbytes)

    monkeypatch.setattr(small_pairs._Tile, "__init__", noted)
    monkeypatch.setattr(small_pairs, "LARGEST", 12)
    model = SVC(decision_function_shape="ovo", cache_size=0.2).fit(X, y)
    assert len(sizes) > 1
    assert 3 * max(sizes) <= 0.2 * 2**20
    np.testing.assert_allclose(model.decision_function(X_new), expected, atol=1e-10)


def test_limits_of_steps_and_time_are_kept_and_told():
    X, y, X_new = data([10] * 6)
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model = SVC(max_iter=3).fit(X, y)
    assert np.max(model.n_iter_) == 3
    late = SVC(max_time=1e-9).fit(X, y)
    assert_same(late, pair_by_pair(max_time=1e-9).fit(X, y), X_new)


def test_ctrl_c_leaves_the_model_as_it_was(monkeypatch):
    X, y, X_new = data([10] * 6)
    model = SVC().fit(X, y)
    before = model.decision_function(X_new)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(compiled, "solve_pairs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:30], y[:30])
    np.testing.assert_array_equal(model.decision_function(X_new), before)


def test_points_that_no_step_can_tell_apart_are_left_to_the_solver():
    """Equal points of several classes, and kernel values that drown the labels."""
    X, y, _ = data([4] * 4)
    for far in (np.zeros_like(X), 1e9 * X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SVC(kernel="linear").fit(far, y)
            other = pair_by_pair(kernel="linear").fit(far, y)
        assert model.certificate_.optimal == other.certificate_.optimal
        assert model.converged_ == other.converged_


def test_slices_of_the_pass_change_nothing(monkeypatch):
    X, y, X_new = data([5] * 12)
    expected = SVC(probability=True).fit(X, y)
    monkeypatch.setattr(small_pairs, "SLICE", 1)
    monkeypatch.setattr(small_pairs, "AT_A_TIME", 3)
    monkeypatch.setattr(small_pairs, "ALONE", 0)
    found = SVC(probability=True).fit(X, y)
    np.testing.assert_array_equal(found.predict_proba(X_new), expected.predict_proba(X_new))
    assert found.certificate_ == expected.certificate_


def test_coupling_of_many_classes_solves_its_linear_system():
    rng = np.random.default_rng(0)
    for n_classes, spread in ((3, 1.0), (40, 1.0), (40, 30.0)):
        pairs = np.triu_indices(n_classes, 1)
        r = np.zeros((n_classes, n_classes))
        odds = spread * rng.standard_normal(len(pairs[0]))
        r[pairs] = np.clip(1 / (1 + np.exp(-odds)), 1e-7, 1 - 1e-7)
        r.T[pairs] = 1 - r[pairs]
        system = np.ones((n_classes + 1, n_classes + 1))
        system[:-1, :-1] = np.diag((r**2).sum(axis=0)) - r * r.T
        system[-1, -1] = 0.0
        expected = np.linalg.solve(system, np.eye(n_classes + 1)[-1])[:-1]
        np.testing.assert_allclose(couple(r[pairs][None], n_classes)[0], expected, atol=1e-12)


def test_votes_are_those_of_a_count_by_hand():
    rng = np.random.default_rng(0)
    how = OneVsOne(7)
    decisions = rng.standard_normal((20, 21))
    votes, confidence = np.zeros((20, 7)), np.zeros((20, 7))
    for k, (i, j) in enumerate(combinations(range(7), 2)):
        votes[:, i] += decisions[:, k] > 0
        votes[:, j] += decisions[:, k] <= 0
        confidence[:, i] += decisions[:, k]
        confidence[:, j] -= decisions[:, k]
    np.testing.assert_array_equal(how.votes(decisions > 0), votes)
    squeezed = confidence / (3 * (np.abs(confidence) + 1))
    np.testing.assert_array_equal(how.scores(decisions), votes + squeezed)
    assert [how.position(task) for task in how.tasks] == list(range(21))
