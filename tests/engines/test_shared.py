"""Blocks within a class are made once for all pairs it is in, and nothing but time shows it."""

import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from maxmargin import SVC, NuSVC
from maxmargin.engines.cpu import CPUEngine, CPUKernelMatrix
from maxmargin.engines.shared import SharedBlocks, bytes_within
from maxmargin.estimators import base
from maxmargin.estimators.multiclass import OneVsOne
from maxmargin.estimators.svc import ClassTargets
from maxmargin.kernels import RBF, Linear, Polynomial


def test_a_block_is_made_once():
    blocks, made, begin = SharedBlocks(), [], threading.Barrier(4)

    def ask():
        begin.wait()
        for name in range(3):
            blocks.block(name, lambda name=name: made.append(name) or np.full(2, name))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 1, 2]


def test_after_an_error_the_next_one_tries_again():
    blocks = SharedBlocks()
    with pytest.raises(ZeroDivisionError):
        blocks.block("a", lambda: 1 / 0)
    assert blocks.block("a", lambda: 5) == 5


def test_bytes_count_every_class_once():
    parts = [{0: slice(0, 3), 1: slice(3, 5)}, {0: slice(0, 3), 2: slice(3, 4)}]
    assert bytes_within(parts) == 4 * (9 + 4 + 1)


@pytest.mark.parametrize("kernel", [RBF(0.2), Linear(), Polynomial(degree=3, gamma=0.1)], ids=str)
def test_the_matrix_is_the_same(kernel):
    X = np.random.default_rng(0).normal(size=(900, 5)) + 30.0
    parts, everything = {"a": slice(0, 500), "b": slice(500, 900)}, np.arange(900)
    with CPUEngine() as engine:
        engine.share(X, parts, SharedBlocks())
        found = engine.kernel_matrix(kernel, X, np.float32, 100 << 20).block(everything)
        other = engine.kernel_matrix(kernel, X[::-1], np.float32, 100 << 20).block(everything)
    K = kernel(X)
    np.testing.assert_allclose(found, K, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(other, K[::-1, ::-1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", [SVC(tol=1e-6), NuSVC(nu=0.1, tol=1e-6)], ids=["SVC", "NuSVC"])
def test_a_fit_does_not_change(model, monkeypatch):
    X, y = make_blobs([400, 380, 420, 410], 6, cluster_std=4.0, random_state=0)
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order], y[order]
    used = []
    original = CPUKernelMatrix._from_shared
    monkeypatch.setattr(
        CPUKernelMatrix, "_from_shared", lambda *given: used.append(1) or original(*given)
    )
    shared = clone(model).fit(X, y)
    assert len(used) >= 6
    monkeypatch.setattr(base, "MOST_SHARED", 0.0)
    alone = clone(model).fit(X, y)
    assert shared.converged_
    assert shared.certificate_.optimal
    np.testing.assert_allclose(
        shared.certificate_.dual_objective, alone.certificate_.dual_objective, rtol=1e-5
    )
    np.testing.assert_allclose(shared.decision_function(X), alone.decision_function(X), atol=1e-4)


def test_parts_are_the_rows_of_their_class():
    labels = np.random.default_rng(0).integers(0, 3, 50)
    targets = ClassTargets(np.arange(3), labels, np.ones(3), np.ones(50), np.arange(50.0) % 5)
    how = OneVsOne(3)
    for task in how.tasks:
        rows, signs, parts = targets.of_task(how, task)
        assert sum(part.stop - part.start for part in parts.values()) == len(rows) == len(signs)
        for name, part in parts.items():
            assert np.all(labels[rows[part]] == name)
            assert np.all(targets.cost[rows[part]] > 0)


def test_memory_is_taken_only_where_it_is_of_use():
    X, y = make_blobs([1000] * 10, 3, random_state=0)
    machines = machines_of(SVC(), X, y)
    assert SVC()._bytes_to_share(machines) == 0  # what is left would not hold a pair
    assert SVC(cache_size=500)._bytes_to_share(machines) == 10 * 4 * 1000**2
    small = machines_of(SVC(), X[::4], y[::4])
    assert SVC()._bytes_to_share(small) > 0
    assert SVC(solver="smo_platt")._bytes_to_share(small) == 0


def machines_of(model, X, y):
    targets = model._targets(y, np.ones(len(y)))
    return model._machines(RBF(1.0), X, targets)
