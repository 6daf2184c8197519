"""Threads, forks, numbers of threads, random numbers and the cache of compiled code."""

import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from every_estimator import EVERY, IGNORED, answers, data_for, numbers, takes_seed
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import maxmargin

pytestmark = [
    *(pytest.mark.filterwarnings(one) for one in IGNORED),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
N_THREADS, N_ROUNDS = 8, 3


def answer_of(title):
    model = EVERY[title]()
    X, y = data_for(model)
    return answers(model.fit(X, y), X)


def expected():
    return {title: answer_of(title) for title in EVERY}


def test_fits_of_all_kinds_in_many_threads_at_once_are_identical():
    alone = expected()
    work = [title for _ in range(N_ROUNDS) for title in EVERY]
    with ThreadPoolExecutor(N_THREADS) as pool:
        assert list(pool.map(answer_of, work)) == [alone[title] for title in work]


def _fit_all_in_child(queue):
    queue.put(expected())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_every_fit_works_after_a_fork():
    alone = expected()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_all_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=100) == alone
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_every_fit_works_under_joblibs_forked_processes():
    alone = expected()
    with parallel_config(backend="multiprocessing"):
        found = Parallel(n_jobs=2)(delayed(answer_of)(title) for title in EVERY)
    assert found == list(alone.values())


@pytest.mark.parametrize("title", EVERY)
def test_the_number_of_threads_changes_rounding_at_most(title):
    model = EVERY[title]()
    X, y = data_for(model, n=1100)
    found = []
    for n_threads in (1, 2, 8):
        with threadpool_limits(n_threads, user_api="blas"):
            once, again = clone(model).fit(X, y), clone(model).fit(X, y)
            assert answers(once, X) == answers(again, X)
        found.append(numbers(once, X))
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            scale = np.max(np.abs(one))
            np.testing.assert_allclose(another, one, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("title", EVERY)
def test_global_random_numbers_are_neither_used_nor_changed(title):
    model = EVERY[title]()
    X, y = data_for(model)
    found = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        before = np.random.get_state()[1].tobytes(), random.getstate()  # noqa: NPY002
        found.append(answers(clone(model).fit(X, y), X))
        assert (np.random.get_state()[1].tobytes(), random.getstate()) == before  # noqa: NPY002
    assert found[0] == found[1]


@pytest.mark.parametrize("title", [title for title, make in EVERY.items() if takes_seed(make())])
def test_every_kind_of_seed(title):
    model = EVERY[title]()
    X, y = data_for(model)
    for make in (lambda: 5, lambda: np.random.default_rng(5), lambda: np.random.RandomState(5)):
        found = [answers(clone(model).set_params(random_state=make()).fit(X, y), X) for _ in "12"]
        assert found[0] == found[1]
    assert answers(model.fit(X, y), X) == answer_of(title)  # and None is the same every time


# The first import, and the cache of compiled code.

PACKAGE = Path(maxmargin.__file__).parent
FIT = """
    import numpy as np
    from maxmargin import Perceptron
    X = np.random.default_rng(0).standard_normal((30, 2))
    print(Perceptron(max_updates=50).fit(X, X[:, 0] > 0).predict(X[:1]))
"""


def python(code, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], text=True, env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_two_processes_that_compile_at_once(tmp_path):
    processes = [python(FIT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, "[ True]\n"), err
    assert list(tmp_path.rglob("*.nbi"))


@pytest.mark.skipif(os.name != "posix", reason="names the folders of POSIX")
def test_nowhere_to_keep_compiled_code(tmp_path):
    """A file stands where every folder for it would be: the superuser cannot write there either."""
    shutil.copytree(
        PACKAGE, tmp_path / "maxmargin", ignore=shutil.ignore_patterns("__pycache__", "*.nb?")
    )
    obstacle = tmp_path / "maxmargin" / "compiled" / "__pycache__"
    obstacle.write_text("")
    nowhere = {"HOME": str(obstacle), "XDG_CACHE_HOME": str(obstacle), "NUMBA_CACHE_DIR": ""}
    process = python(FIT, PYTHONPATH=str(tmp_path), **nowhere)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "[ True]\n"), err
    assert err.count("finds no folder to keep compiled code in") == 1
