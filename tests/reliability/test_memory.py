"""What memory a fit takes, that it gives it back, and that rows beyond 2^31 entries are found."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from maxmargin import (
    SVC,
    KernelMap,
    KernelRidge,
    Nystroem,
    PolynomialMap,
    RandomFourierFeatures,
    memory,
)
from maxmargin.compiled.linear import add_row, row_dot
from maxmargin.compiled.tiles import subtract_rows
from maxmargin.kernels import RBF, Custom, Linear, Polynomial, mercer

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
def test_answers_of_many_classes_take_little_beside_themselves():
    code = """
    import numpy as np
    from maxmargin import SVC

    rng = np.random.default_rng(0)
    X, many = rng.standard_normal((600, 5)), rng.standard_normal((40_000, 5))
    y = np.arange(600) % 30
    model = SVC(probability=True, max_iter=50).fit(X, y)
    model.predict_proba(X)
    some = many[:20_000]
    print(extra(lambda: model.predict(many)))
    print(extra(lambda: model.decision_function(many)))
    print(extra(lambda: model.predict_proba(some)))
    print(extra(lambda: model.margins(many, np.arange(40_000) % 30)))
    model.set_params(decision_function_shape="ovo")
    print(extra(lambda: model.decision_function(some)))
    """
    *answers, pairs = run_python(code)  # 40 000 rows of 435 pairs would be 133 MB, several times
    assert max(answers) < 200
    assert pairs < 20_000 * 435 * 8 / MEGABYTE + 130


@NEEDS_PROC
def test_linear_machines_of_many_classes_and_those_of_one_decision():
    code = """
    import numpy as np
    from maxmargin import SVR, KernelRidge, LinearSVC, OneClassSVM, Perceptron

    rng = np.random.default_rng(0)
    X, many = rng.standard_normal((600, 5)), rng.standard_normal((600_000, 5))
    y = np.arange(600) % 30
    models = [
        LinearSVC(max_iter=5), Perceptron(max_updates=50), Perceptron(kernel="rbf", max_updates=20),
    ]
    models += [make().fit(X[:20], X[:20, 0]) for make in (SVR, KernelRidge, OneClassSVM)]
    for model in models[:3]:
        model.fit(X, y)
    for model in models:
        model.predict(X)
    for model in models:
        print(extra(lambda: model.predict(many)))
    """
    assert max(run_python(code)) < 130  # decisions for 30 classes would be 137 MB


@NEEDS_PROC
def test_features_take_little_beside_themselves():
    code = """
    import numpy as np
    from scipy import sparse
    from maxmargin import Nystroem, RandomFourierFeatures
    from maxmargin.kernels import Laplacian, Linear

    rng = np.random.default_rng(0)
    X = rng.standard_normal((80_000, 20))
    text = sparse.random_array((80_000, 20_000), density=5e-4, format="csr", random_state=0)
    for rows in (X, X.astype(np.float32), text):
        maps = [RandomFourierFeatures(), Nystroem(), Nystroem(Linear())]
        for model in maps if rows is text else [*maps, Nystroem(Laplacian(0.1))]:
            model.set_params(n_components=100).fit(rows).transform(rows[:4000])
            print(80_000 * 100 * rows.dtype.itemsize / 2**20, extra(lambda: model.transform(rows)))
    """
    for features, megabytes in np.reshape(run_python(code), (-1, 2)):
        assert megabytes < features + 40


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_blocks_of_rows_do_not_change_a_bit(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 4)), np.arange(120) % 6
    many = rng.standard_normal((1700, 4))
    model = SVC(kernel=kernel, probability=True).fit(X, y)

    def answers():
        margins = model.margins(many, np.arange(1700) % 6)
        for shape in ("ovr", "ovo"):
            model.set_params(decision_function_shape=shape)
            yield model.decision_function(many)
        yield from (model.predict(many), model.predict_proba(many), *margins)

    whole = list(answers())
    monkeypatch.setattr(memory, "BLOCK_BYTES", 2**18)
    assert memory.rows_at_a_time(4 * 15) == 512
    for one, other in zip(whole, answers(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_numbers", [1, 60, 1740, 20_000, 10**6, 10**9])
def test_a_block_is_whole_tiles_or_a_part_of_one(n_numbers):
    rows = memory.rows_at_a_time(n_numbers)
    assert rows % memory.TILE_ROWS == 0 or memory.TILE_ROWS % rows == 0
    assert rows == 1 or 8 * rows * n_numbers <= memory.BLOCK_BYTES


def test_a_function_is_called_once_and_its_custom_kernel_on_blocks():
    rng = np.random.default_rng(0)
    X, many = rng.standard_normal((30, 2)), rng.standard_normal((2000, 2))
    rows = []

    def linear(A, B):
        rows.append(len(A))
        return A @ B.T

    for kernel, largest in (
        (linear, 2000),
        (Custom(linear, positive_semidefinite=True), memory.TILE_ROWS),
    ):
        model = SVC(kernel=kernel).fit(X, X[:, 0] > 0)
        rows.clear()
        model.predict(many)
        assert max(rows) == largest


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
    size = r"400,000 x 400,000 numbers take 1,280\.0 GB, and this machine has"
    with pytest.raises(MemoryError, match=f"^KernelRidge: .*{size}.*'cg'"):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "dual_coef_")
    for work in (lambda: RBF()(X), lambda: mercer(RBF(), X)):
        with pytest.raises(MemoryError, match=f"^RBF: the kernel matrix: {size}"):
            work()


def test_a_function_is_not_called_for_a_matrix_that_cannot_be_held(monkeypatch):
    def never(A, B):
        raise AssertionError("called")

    X = np.arange(400_000, dtype=float)[:, None]
    with pytest.raises(
        MemoryError, match=r"^A function as kernel .*1,280\.0 GB.*Custom\(function\)"
    ):
        SVC(kernel=never).fit(X, X[:, 0] > 7)
    model = SVC(kernel=lambda A, B: A @ B.T).fit(X[:20], X[:20, 0] > 7)
    monkeypatch.setattr(memory, "machine_bytes", lambda: 8 * 20 * 20)
    model.predict(X[:20])
    with pytest.raises(MemoryError, match="21 x 20 numbers"):
        model.predict(X[:21])


def test_features_that_cannot_be_held_are_counted_not_made():
    X = np.zeros((3, 200))
    with pytest.raises(MemoryError, match=r"^PolynomialMap: .*75,824,205,888,366 .*606,593\.6 GB"):
        PolynomialMap(degree=8).fit(X)
    phi = PolynomialMap(degree=4).fit(X)  # one row of its features can be held, these cannot
    with pytest.raises(MemoryError, match="20,000 x 70,058,751 numbers"):
        phi.transform(np.zeros((20_000, 200)))
    with pytest.raises(MemoryError, match=r"^KernelMap: the features"):
        KernelMap(Linear() ** 8).fit(X)
    with pytest.raises(MemoryError, match=r"^RandomFourierFeatures: the frequencies"):
        RandomFourierFeatures(n_components=10**11).fit(X)
    with pytest.raises(MemoryError, match=r"^RandomFourierFeatures: the features"):
        RandomFourierFeatures(n_components=10**6).fit(X[:, :2]).transform(np.zeros((10**6, 2)))
    with pytest.raises(MemoryError, match=r"^Nystroem: the kernel matrix"):
        Nystroem(n_components=10**6).fit(np.zeros((10**6, 1)))


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(degree=3),
        Polynomial(degree=0),
        2.0 * Linear() + Polynomial(degree=2, coef0=1.0),
        Linear() * Polynomial(degree=2),
        (Linear() ** 3).normalised(),
        Linear().conformal(lambda X: np.ones(X.shape[0])),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_maps_of_any_kernel_count_their_features(kernel):
    X = np.random.default_rng(0).standard_normal((5, 3))
    assert kernel.n_features_of_map(3) == kernel.feature_map(X).shape[1]
    assert KernelMap(kernel).fit_transform(X).shape[1] == kernel.n_features_of_map(3)


def test_a_machine_that_does_not_tell_its_memory(monkeypatch):
    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(memory.os, "sysconf", unknown, raising=False)
    monkeypatch.setattr(memory, "LIMITS", ())
    assert memory.machine_bytes.__wrapped__() == memory.UNKNOWN


def test_a_container_may_use_a_part_of_its_machine(tmp_path, monkeypatch):
    limit, none = tmp_path / "limit", tmp_path / "none"
    limit.write_text("1000000\n")
    none.write_text("max\n")
    monkeypatch.setattr(memory, "LIMITS", (str(limit), str(none), str(tmp_path / "missing")))
    assert memory.machine_bytes.__wrapped__() == 1_000_000
