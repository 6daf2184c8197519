"""Fits that are cut short: the best model, where a warm start goes on, and the proof."""

import pickle
from contextlib import suppress

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification

from maxmargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.engines import engine_of, strips, threads
from maxmargin.errors import ConvergenceWarning
from maxmargin.files import load, save
from maxmargin.kernels import RBF, Linear
from maxmargin.problems import c_svc
from maxmargin.problems.certificate import primal_objective
from maxmargin.problems.dual import DualProblem
from maxmargin.solvers import base, smo
from maxmargin.solvers.base import Budget

NOISY = make_classification(600, 8, flip_y=0.1, random_state=0)
ALL_MACHINES = [SVC(), NuSVC(nu=0.5), SVR(), NuSVR(), OneClassSVM(nu=0.2), SVC(probability=True)]
THREE_CLASSES = make_blobs(300, centers=3, cluster_std=1.5, random_state=0)


@pytest.fixture
def cpu_matrix():
    with engine_of("cpu") as engine:
        yield engine.matrix


@pytest.fixture
def blocks(monkeypatch):
    """Small blocks, so that there are many rounds."""
    for name, size in (("TIGHT", 0), ("WHOLE", 0), ("SMALLEST_BLOCK", 16), ("LARGEST_BLOCK", 32)):
        monkeypatch.setattr(smo, name, size)


@pytest.fixture
def passes(monkeypatch):
    """Counts the passes over the data in which f = Kc is formed."""
    seen, expansion = [], DualProblem.expansion

    def counted(problem, coef, told=None):
        seen.append(np.count_nonzero(coef))
        return expansion(problem, coef, told)

    monkeypatch.setattr(DualProblem, "expansion", counted)
    return seen


def cut_short(model, X, y):
    with suppress(KeyboardInterrupt), pytest.warns(ConvergenceWarning):
        return model.fit(X, y)
    return model


# The best model.


def test_a_solver_that_is_cut_short_returns_the_best_model_it_has_seen(blocks, cpu_matrix):
    X, y = NOISY
    problem = c_svc(cpu_matrix(RBF(0.1), X), 2.0 * y - 1.0, np.full(len(y), 10.0))
    was_better_before = 0
    for limit in range(20, 400, 20):
        found = smo.SMO().solve(problem, Budget(limit))
        if found.reached is None:
            continue
        was_better_before += 1
        best, last = (
            primal_objective(problem, one.coef, one.bias, problem.expansion(one.coef))
            for one in (found, found.reached)
        )
        assert best < last
    assert was_better_before > 3, "the problem is too easy for this test"


def test_the_best_model_of_an_earlier_fit_is_not_lost_by_going_on(blocks):
    X, y = NOISY
    model, primal = SVC(C=10.0, max_iter=60, warm_start=True), []
    for _ in range(8):
        cut_short(model, X, y)
        primal.append(model.certificate_.primal_objective)
    assert np.all(np.diff(primal) <= 1e-6 * primal[0])
    assert primal[-1] < 0.9 * primal[0]


# Going on.


@pytest.mark.parametrize("model", [SVC(C=10.0), SVR(), OneClassSVM(nu=0.5)], ids=repr)
def test_a_warm_start_goes_on_where_the_last_fit_stood(blocks, passes, model):
    X, y = NOISY
    straight = clone(model).fit(X, y)
    model, steps = clone(model).set_params(warm_start=True), []
    model.max_iter = int(np.sum(straight.n_iter_)) // 5
    for _ in range(100):
        passes.clear()
        with suppress(ConvergenceWarning):
            model.fit(X, y)
        steps.append(np.sum(model.n_iter_))
        if len(steps) > 1:
            assert len(passes) == 1, "only the proof looks at all data"
        if model.converged_:
            break
    assert model.converged_
    assert len(steps) > 2, "the problem is too easy for this test"
    assert np.sum(steps) < 2 * np.sum(straight.n_iter_)
    assert model.certificate_.optimal


def test_a_warm_start_on_other_rows_computes_f_anew(blocks, passes):
    X, y = NOISY
    model = SVC(C=10.0, max_iter=100, warm_start=True)
    cut_short(model, X, y)
    other = X.copy()
    other[7, 3] += 1e-3
    passes.clear()
    cut_short(model, other, y)
    assert len(passes) == 2
    passes.clear()
    cut_short(model.set_params(gamma=0.3), other, y)
    assert len(passes) == 2


def test_what_is_kept_for_going_on_does_not_travel(blocks):
    X, y = NOISY
    model = cut_short(SVC(max_iter=100, warm_start=True), X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert set(vars(model)) - set(vars(copy)) == {"_reached"}
    assert copy.set_params(max_iter=-1).fit(X, y).certificate_.optimal
    assert "_reached" not in vars(SVC().fit(X, y))


# The proof.


def is_certificate_there(model):
    return "certificate_" in vars(model)


@pytest.mark.parametrize("model", ALL_MACHINES, ids=repr)
def test_a_proof_that_is_put_off_is_the_same_proof(model):
    X, y = THREE_CLASSES
    at_once = clone(model).fit(X, y)
    later = clone(model).set_params(certify="lazy").fit(X, y)
    assert not is_certificate_there(later)
    np.testing.assert_allclose(at_once.dual_coef_, later.dual_coef_, rtol=1e-12)
    assert later.certificate_.optimal
    assert is_certificate_there(later)
    assert later.certificate_.dual_objective == pytest.approx(
        at_once.certificate_.dual_objective, rel=1e-12
    )
    assert later.certificate_.recomputed


def test_a_proof_that_is_put_off_may_find_that_the_fit_has_not_converged():
    X, y = np.copy(NOISY[0]), NOISY[1]
    model = SVC(certify="lazy").fit(X, y)
    assert model.converged_
    X[:] = X[::-1]  # which must not be
    with pytest.warns(ConvergenceWarning, match="KKT violation"):
        assert not model.certificate_.stationary
    assert not model.converged_
    assert model.fit_status_ == 1


def test_a_model_without_its_proof_is_pickled_saved_and_fitted_again(tmp_path):
    X, y = NOISY
    model = SVC(certify="lazy").fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert not hasattr(copy, "certificate_")
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    save(model, tmp_path / "model.mm")
    np.testing.assert_array_equal(load(tmp_path / "model.mm").predict(X), model.predict(X))
    assert clone(model).certify == "lazy"
    model.set_params(certify=True).fit(X, y)
    assert is_certificate_there(model)
    assert "_proof_to_come" not in vars(model)


@pytest.mark.parametrize("model", ALL_MACHINES[:5], ids=repr)
def test_without_a_proof_nothing_is_called_optimal(model, passes):
    X, y = THREE_CLASSES
    model = clone(model).set_params(certify=False).fit(X, y > 0)
    assert passes == []
    assert not model.certificate_.recomputed
    assert not model.certificate_.optimal
    assert "not recomputed" in repr(model.certificate_)
    assert model.converged_  # by the word of the solver
    assert model.certificate_.kkt_violation <= model.tol


def test_an_unknown_way_to_certify_is_refused():
    with pytest.raises(ValueError, match="certify must be True, 'lazy' or False"):
        SVC(certify="later").fit([[0.0], [1.0]], [0, 1])


@pytest.fixture
def told_at_once(monkeypatch):
    """Every tile of a proof is told, and one thread makes them all."""
    monkeypatch.setattr(base, "TELL_EVERY", 0.0)
    monkeypatch.setattr(strips, "WORK_AT_ONCE", 1)
    monkeypatch.setattr(threads, "available_cores", lambda: 1)


LARGE = make_classification(2600, 6, flip_y=0.3, random_state=0)  # more than one block


def test_the_proof_tells_how_far_it_is(told_at_once):
    seen = []
    model = SVC(callbacks=[seen.append]).fit(*LARGE)
    shares = [progress.proof for progress in seen if progress.proof is not None]
    assert len(shares) > 1
    assert shares == sorted(shares)
    assert all(0.0 < share <= 1.0 for share in shares)
    assert seen[-1].proof == shares[-1], "the proof is the end of a fit"
    assert any(progress.proof_seconds > 0 for progress in seen)
    np.testing.assert_array_equal(model.dual_coef_, SVC().fit(*LARGE).dual_coef_)


def test_a_callback_can_decline_the_proof(told_at_once):
    said = r"a callback asked for it\). All that is missing is the proof, which certify='lazy'"
    with pytest.warns(ConvergenceWarning, match=said):
        model = SVC(callbacks=[lambda progress: progress.proof is not None]).fit(*LARGE)
    assert not model.certificate_.recomputed
    assert not model.certificate_.optimal
    assert not model.converged_
    np.testing.assert_array_equal(model.support_, SVC().fit(*LARGE).support_)


def test_a_fit_that_a_callback_ends_makes_no_proof_that_takes_long(passes, monkeypatch):
    monkeypatch.setattr(DualProblem, "seconds_to_expand", lambda problem, coef: 1000.0)
    with pytest.warns(ConvergenceWarning, match=r"a callback asked for it\). KKT violation"):
        model = SVC(callbacks=[lambda progress: progress.n_iter > 100]).fit(*LARGE)
    assert passes == []
    assert not model.certificate_.recomputed


def test_time_is_kept_for_a_proof_that_takes_little_of_it_and_for_no_other(cpu_matrix, monkeypatch):
    X, y = LARGE
    problem = c_svc(cpu_matrix(RBF(0.1), X), 2.0 * y - 1.0, np.full(len(y), 1.0))
    run = smo._Run(smo.SMO(), problem, Budget(10**6, max_time=100.0), None)
    for seconds, kept in ((20.0, 20.0), (30.0, 0.0)):
        monkeypatch.setattr(DualProblem, "seconds_to_expand", lambda problem, coef, s=seconds: s)
        assert run.seconds_to_prove() == kept
    assert smo._Run(smo.SMO(), problem, Budget(10**6), None).seconds_to_prove() == 0.0


def test_the_last_rounds_before_the_time_is_over_are_small(cpu_matrix):
    X, y = LARGE
    problem = c_svc(cpu_matrix(RBF(0.1), X), 2.0 * y - 1.0, np.full(len(y), 1.0))
    sizes = []
    for max_time in (1000.0, 0.02, 0.002):
        run = smo._Run(smo.SMO(), problem, Budget(10**6, max_time=max_time), None)
        run.seconds_per_entry = 1e-8
        sizes.append(run.block_size(smo.FLOAT32))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[1] > 4 * sizes[2]


def test_the_proof_of_a_linear_kernel_is_known_to_take_next_to_no_time(cpu_matrix):
    X = np.random.default_rng(0).standard_normal((20_000, 10))
    linear, rbf = (cpu_matrix(k, X).seconds_to_expand(10_000) for k in (Linear(), RBF(0.1)))
    assert 0.0 < linear < rbf / 20


def test_what_a_start_costs_is_among_the_times(blocks, capsys):
    X, y = NOISY
    model = cut_short(SVC(C=10.0, max_iter=100, warm_start=True), X, y)
    cut_short(model.set_params(verbose=2), X[:, ::-1].copy(), y)
    last = capsys.readouterr().err.strip().splitlines()[-1]
    for work in ("points", "start", "proof"):
        assert f"{work} 0." in last
