"""A gradient that is read off a float32 block at the start is checked like any other number."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from maxmargin import SVC, NuSVC, OneClassSVM
from maxmargin.errors import ConvergenceWarning
from maxmargin.solvers.base import Budget


def far_apart(n, scale):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return scale * (rng.standard_normal((n, 10)) + 8.0 * (2 * y[:, None] - 1)), y


def test_sums_beyond_float32_are_done_in_float64():
    X, y = far_apart(700, 1e18)
    model = NuSVC(kernel="linear", nu=1.0, max_time=20)
    one_class = OneClassSVM(kernel="linear", nu=0.5, max_time=20)
    with pytest.warns(ConvergenceWarning):  # the unit of f is 1e37, that of tol is one
        model.fit(X, y)
    with pytest.warns(ConvergenceWarning):
        one_class.fit(np.abs(X))
    assert model.score(X, y) == 1.0
    for certificate in (model.certificate_, one_class.certificate_):
        assert np.isfinite(certificate.duality_gap)
        assert abs(certificate.relative_gap) < 1e-6


@pytest.mark.parametrize("n", [500, 600, 2050])
def test_a_warm_start_ends_where_a_cold_one_does(n):
    X, y = far_apart(n, 0.2)
    warm = SVC(warm_start=True, C=0.5).fit(X, y).set_params(C=2.0).fit(X, y)
    cold = SVC(C=2.0).fit(X, y)
    np.testing.assert_allclose(
        warm.certificate_.dual_objective, cold.certificate_.dual_objective, rtol=1e-4
    )


def test_thin_rows_that_do_not_fit_float32_leak_no_warning():
    rng = np.random.default_rng(0)
    X = np.zeros((60, 40))
    X[np.arange(60), rng.integers(0, 40, 60)] = 1e41 * rng.uniform(0.5, 2.0, 60)
    y = np.arange(60) % 2
    model = SVC(kernel="laplacian", gamma=1e-40, random_state=0).fit(X, y)
    assert model.certificate_.optimal


def test_the_end_of_a_fit_reaches_every_copy_of_its_budget():
    budget = Budget(100)
    copies = [budget.share(0, 3), replace(budget.share(1, 3), max_iter=5), budget.in_silence()]
    assert not any(copy.out_of_time() for copy in copies)
    thread = threading.Thread(target=copies[0].end_now)
    thread.start()
    thread.join()
    assert all(copy.out_of_time() for copy in [budget, *copies])
