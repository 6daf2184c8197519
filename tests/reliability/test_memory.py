"""What memory a fit takes, that it gives it back, and that rows beyond 2^31 entries are found."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from maxmargin import KernelRidge
from maxmargin.compiled.linear import add_row, row_dot
from maxmargin.compiled.rows import subtract_rows

MEGABYTE = 2**20
NEEDS_PROC = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="asks Linux for the peak of its memory"
)

# A peak that can be set back, in MB.
METER = """
    def now(field="VmRSS"):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith(field))

    def extra(work):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = now()
        work()
        return now("VmHWM") - before
"""


def run_python(code):
    whole = textwrap.dedent(METER) + textwrap.dedent(code)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", whole], capture_output=True, text=True, timeout=200,
        check=False, cwd=Path(__file__).parent,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return [float(word) for word in run.stdout.split()]


@NEEDS_PROC
def test_a_fit_takes_the_cache_and_little_more_and_a_prediction_little_at_all():
    code = """
    import numpy as np
    from maxmargin import SVC

    rng = np.random.default_rng(0)
    X = rng.standard_normal((8000, 30))
    y = X[:, 0] + rng.standard_normal(8000) > 0
    SVC().fit(X[:3000], y[:3000])
    for cache_size in (5, 20, 50, 100, 200):
        print(cache_size, extra(lambda: SVC(cache_size=cache_size).fit(X, y)))
    model = SVC().fit(X, y)
    many = rng.standard_normal((150_000, 30))
    print(0, extra(lambda: model.predict(many)))
    """
    found = np.reshape(run_python(code), (-1, 2))
    *fits, (_, prediction) = found
    rows = 8000 * 30 * 8 / MEGABYTE
    for cache_size, megabytes in fits:
        assert megabytes <= cache_size + rows + 32
    assert prediction < 256


@NEEDS_PROC
def test_a_thousand_fits_leave_nothing_behind():
    code = """
    import gc
    import tracemalloc
    from every_estimator import EVERY, data_for

    fits = [(make, *data_for(make(), n=40)) for make in EVERY.values()]

    def rounds(count):
        for _ in range(count):
            for make, X, y in fits:
                make().fit(X, y)
        gc.collect()

    rounds(6)
    before = now()
    rounds(32)
    print(32 * len(fits), now() - before)
    tracemalloc.start()
    rounds(4)
    before = tracemalloc.get_traced_memory()[0]
    rounds(16)
    print(16 * len(fits), tracemalloc.get_traced_memory()[0] - before)
    """
    (n_fits, of_process), (n_watched, in_objects) = np.reshape(run_python(code), (-1, 2))
    assert n_fits > 900
    assert of_process < 1.0  # MB: the heap grows in pieces of an eighth
    assert in_objects < 100 * n_watched  # bytes, of arrays and of everything of Python's


def holes(path, shape, dtype):
    """An array as large as that in a file that takes no room on the disk."""
    return np.asarray(np.memmap(path, dtype=dtype, mode="w+", shape=shape))


def test_cached_kernel_rows_beyond_two_to_the_31(tmp_path):
    n = 46_400
    assert n * n > 2**31
    store = holes(tmp_path / "rows", (n, n), np.float32)
    store[n - 1, -10:] = np.arange(10)
    gradient = np.zeros(10)
    subtract_rows(gradient, store, np.array([n - 1]), np.array([2.0]), n - 10)
    np.testing.assert_array_equal(gradient, -2.0 * np.arange(10))


def test_rows_of_data_beyond_two_to_the_31(tmp_path):
    n, d = 2**20 + 1, 2**11
    assert n * d > 2**31
    X, nothing = holes(tmp_path / "X", (n, d), np.float64), np.empty(0, dtype=np.int32)
    X[n - 1, -3:] = [1.0, 2.0, 3.0]
    w = np.ones(d)
    assert row_dot(X, nothing, nothing, n - 1, w) == 6.0
    add_row(X, nothing, nothing, n - 1, 10.0, w)
    np.testing.assert_array_equal(w[-4:], [1.0, 11.0, 21.0, 31.0])


def test_sparse_rows_beyond_two_to_the_31(tmp_path):
    """Row 0 is empty, row 1 begins behind entry 2^31."""
    first = 2**31 + 5
    data = holes(tmp_path / "data", (first + 2,), np.float64)
    indices = holes(tmp_path / "indices", (first + 2,), np.int32)
    data[-2:], indices[-2:] = [3.0, 4.0], [0, 2]
    indptr = np.array([first, first, first + 2])
    assert row_dot(data, indices, indptr, 1, np.array([1.0, 10.0, 100.0])) == 403.0


def test_a_matrix_that_cannot_be_held_is_refused_with_its_size_before_any_work():
    X = np.arange(400_000, dtype=float)[:, None]
    model = KernelRidge(kernel="rbf", solver="cholesky")
    with pytest.raises(MemoryError, match=r"1\.16 TiB"):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "dual_coef_")
