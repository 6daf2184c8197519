"""SVC among signals, threads, processes, time and memory."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info

from maxmargin import SVC
from maxmargin.errors import ConvergenceWarning


def large(n=30_000):
    """Noisy enough to keep any solver busy for many seconds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 30))
    return X, rng.integers(0, 2, n)


def run_python(code, **options):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=120, check=False, **options,
    )  # fmt: skip


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def interrupt_after(seconds, pressed):
    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, press)
    timer.start()
    return timer


@pytest.mark.usefixtures("untraced")
def test_ctrl_c_raises_within_half_a_second_and_keeps_the_model():
    X, y = large()
    SVC().fit(X[:3000], y[:3000])  # compiled
    model, pressed = SVC(C=10.0, gamma=0.02), []
    timer = interrupt_after(1.5, pressed)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert time.perf_counter() - pressed[0] < 0.5
    timer.cancel()
    assert not model.converged_
    assert not model.certificate_.recomputed
    assert "interrupted" in repr(model.certificate_)
    assert model.predict(X[:10]).shape == (10,)
    assert model.fit(X[:500], y[:500]).converged_


@pytest.mark.usefixtures("untraced")
def test_ctrl_c_before_every_class_pair_was_begun_leaves_the_model_unfitted():
    X, y = large()
    y = y + 2 * (np.arange(len(y)) % 2)
    model = SVC(C=10.0, gamma=0.02)
    timer = interrupt_after(1.5, [])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.cancel()
    assert not hasattr(model, "support_")


def test_max_time_keeps_the_model_and_says_how_far_it_is():
    X, y = large()
    SVC().fit(X[:3000], y[:3000])  # compiled
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"max_time=2\.0 s.*KKT violation.*duality gap"):
        model = SVC(C=10.0, gamma=0.02, max_time=2.0).fit(X, y)
    assert time.perf_counter() - began < 4.0
    assert not model.converged_
    assert not model.certificate_.optimal
    assert model.score(X[:500], y[:500]) > 0.5


def test_fits_in_many_threads_are_identical_and_restore_blas():
    X, y = make_classification(3000, 20, flip_y=0.1, random_state=0)
    before = blas_threads()
    expected = SVC().fit(X, y).dual_coef_
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: SVC().fit(X, y).dual_coef_, range(24)))
    assert all(np.array_equal(result, expected) for result in results)
    assert blas_threads() == before


def _fit_in_child(queue):
    X, y = make_classification(3000, 20, flip_y=0.1, random_state=0)
    queue.put(SVC().fit(X, y).dual_coef_)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fit_after_fork():
    X, y = make_classification(3000, 20, flip_y=0.1, random_state=0)
    expected = SVC().fit(X, y).dual_coef_
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_in_child, args=(queue,))
    child.start()
    result = queue.get(timeout=60)
    child.join(60)
    np.testing.assert_array_equal(result, expected)


def test_joblib_processes_with_memory_mapped_data():
    X, y = make_classification(2500, 10, random_state=0)
    before = X.copy()
    expected = SVC().fit(X, y).dual_coef_
    fits = Parallel(n_jobs=2, max_nbytes=0)(delayed(SVC().fit)(X, y) for _ in range(2))
    assert all(np.array_equal(fit.dual_coef_, expected) for fit in fits)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("cache_size", [20, 200])
def test_memory_stays_within_the_cache(cache_size):
    code = f"""
    import resource
    import numpy as np
    from maxmargin import SVC

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    rng = np.random.default_rng(0)
    X = rng.standard_normal((12000, 50))
    y = (X[:, 0] + rng.standard_normal(12000) > 0).astype(int)
    SVC(cache_size={cache_size}).fit(X[:2500], y[:2500])
    before = peak()
    SVC(cache_size={cache_size}).fit(X, y)
    print(peak() - before)
    """
    result = run_python(code)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < cache_size + 100


def test_import_loads_no_numba_matplotlib_or_scikit_learn():
    code = """
    import sys
    import maxmargin
    heavy = {"numba", "matplotlib", "cupy", "dask"}
    print(sorted((heavy | {"sklearn"}) & set(sys.modules)))
    from maxmargin import SVC
    print(sorted(heavy & set(sys.modules)))
    """
    result = run_python(code)
    assert result.stdout.splitlines() == ["[]", "[]"], result.stderr


def test_a_long_first_compilation_says_what_it_is_doing(tmp_path):
    code = """
    from maxmargin.compiled import jit
    jit.ANNOUNCE_AFTER_SECONDS = 0.01
    from maxmargin import SVC
    SVC().fit([[0.0], [1.0]], [0, 1])
    """
    cold = run_python(code, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)})
    assert cold.returncode == 0, cold.stderr
    assert cold.stderr.count("maxmargin is compiling its inner loops") == 1
    warm = run_python(code, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)})
    assert "compiling" not in warm.stderr


def test_blas_threads_come_back_when_the_last_fit_ends_in_another_thread():
    X, y = make_classification(6000, 20, flip_y=0.3, random_state=0)
    before = blas_threads()
    other = threading.Thread(target=lambda: SVC(C=10.0).fit(X, y))
    seen = []

    def begin_the_other(progress):
        if not seen:
            other.start()
        seen.append(blas_threads())

    SVC(callbacks=[begin_the_other]).fit(X[:3000], y[:3000])
    other.join()
    assert blas_threads() == before
    assert all(counts == [1] * len(counts) for counts in seen[1:])


@pytest.mark.parametrize("variable", ["NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK"])
def test_the_loops_run_as_plain_python_and_with_bounds_checked(variable, tmp_path):
    code = """
    import numpy as np
    from maxmargin import SVC, SVR
    from maxmargin.solvers import smo

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = (X[:, 0] + 0.5 * rng.standard_normal(60) > 0).astype(int)
    for whole in (2048, 0):
        smo.TIGHT, smo.WHOLE, smo.SMALLEST_BLOCK = whole, whole, 16
        for model in (SVC(tol=1e-8).fit(X, y), SVR(tol=1e-8).fit(X, X[:, 0])):
            assert model.certificate_.optimal
            print(*model.intercept_, *model.predict(X))
    """
    environment = {**os.environ, variable: "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    found, expected = run_python(code, env=environment), run_python(code, env=os.environ)
    assert expected.stdout, expected.stderr
    numbers = [np.array(run.stdout.split(), dtype=float) for run in (found, expected)]
    assert len(numbers[1]) == 4 * 61
    np.testing.assert_allclose(*numbers, atol=1e-6, err_msg=found.stderr)


def test_many_small_machines_do_not_depend_on_the_number_of_threads():
    code = """
    import numpy as np
    from sklearn.datasets import load_digits
    from threadpoolctl import threadpool_limits
    from maxmargin import SVC
    from maxmargin.estimators import machines

    X, y = load_digits(return_X_y=True)
    together = SVC(gamma=1e-3, decision_function_shape="ovo").fit(X, y)
    with threadpool_limits(1):
        alone = SVC(gamma=1e-3, decision_function_shape="ovo").fit(X, y)
    machines.SMALLEST_BESIDE = 10**9
    in_turn = SVC(gamma=1e-3, decision_function_shape="ovo").fit(X, y)
    print(np.array_equal(together.dual_coef_, alone.dual_coef_))
    difference = together.decision_function(X) - in_turn.decision_function(X)
    print(together.converged_, abs(difference).max() < 1e-2)
    print(np.array_equal(together.predict(X), in_turn.predict(X)))
    """
    assert run_python(code).stdout.split() == ["True"] * 4
