"""Where Numba, threads or processes are missing, as in a browser, the library says so and works."""

import logging
import pickle
import subprocess
import sys
import textwrap
import threading
import tomllib
from pathlib import Path

import numpy as np
import pytest
from every_estimator import EVERY, EXPORTED
from packaging.requirements import Requirement
from what_is_said import said_of_all

from maxmargin import SVC
from maxmargin.compiled import numba_setup
from maxmargin.engines import interrupts
from maxmargin.engines.threads import starts_threads, workers

FOLDER = Path(__file__).parent
NOTICE = "maxmargin cannot import Numba"
HIDE_NUMBA = """
    import sys
    sys.modules["numba"] = None
"""


def run(*command, folder=None):
    return subprocess.run(
        [sys.executable, "-W", "error", *command],
        capture_output=True, text=True, timeout=300, check=False, cwd=folder,
    )  # fmt: skip


def run_code(code, folder=None):
    return run("-c", textwrap.dedent(HIDE_NUMBA) + textwrap.dedent(code), folder=folder)


def test_every_estimator_answers_the_same_where_all_is_missing(tmp_path):
    """Without Numba, without threads, and where the system tells nothing of itself."""
    path = tmp_path / "said"
    without = run(FOLDER / "what_is_said.py", path, "no_numba", "no_threads", "no_system")
    assert without.returncode == 0, without.stderr
    assert without.stderr.count("\n") == without.stderr.count(NOTICE) == 1
    found, expected = pickle.loads(path.read_bytes()), said_of_all()
    assert {title.split("(")[0] for title in found} == set(EXPORTED)
    assert found.keys() == expected.keys() == EVERY.keys()
    for title, said in found.items():
        for one, other in zip(said.pop("numbers"), expected[title].pop("numbers"), strict=True):
            scale = max(1.0, np.abs(other).max())
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-7 * scale, err_msg=title)
        assert said == expected[title], title
        assert said["is optimal"] in (True, None), title
        assert said["is the same when cloned"], title
        assert said["is the same from a file"], title


def test_what_needs_no_loop_says_nothing():
    code = """
    import maxmargin
    from maxmargin import SVC, Ridge, kernels
    Ridge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict([[3.0]])
    """
    ran = run_code(code)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_commands_work(tmp_path):
    pytest.importorskip("typer")
    (tmp_path / "data.csv").write_text("a,b,kind\n" + "0,1,x\n1,0,y\n0,2,x\n2,0,y\n" * 3)
    code = """
    from maxmargin.cli import main
    assert main(["--version"]) == 0
    assert main(["fit", "data.csv", "--model", "m.mm"]) == 0
    assert main(["predict", "m.mm", "data.csv"]) == 0
    """
    ran = run_code(code, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count(NOTICE) == 1
    assert ran.stdout.split()[-12:] == ["x", "y"] * 6


@pytest.mark.parametrize(
    "error", [ImportError("No module named 'numba'"), OSError("no libllvmlite.so")]
)
def test_the_reason_is_part_of_the_notice(error, monkeypatch, caplog):
    class Refusing:
        def find_spec(self, name, *rest):
            if name == "numba":
                raise error

    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    with caplog.at_level(logging.WARNING, "maxmargin"):
        assert not numba_setup.has_compiler()
    (record,) = caplog.records
    assert f"({error})" in record.getMessage()
    assert "pip install numba" in record.getMessage()
    assert "\n" not in record.getMessage()


def test_a_browser_is_asked_for_no_numba_and_any_other_place_is():
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [Requirement(line) for line in project["project"]["dependencies"]]

    def names_for(system):
        return {
            one.name
            for one in needed
            if one.marker is None or one.marker.evaluate({"platform_system": system})
        }

    in_browser = {"numpy", "scipy", "scikit-learn", "threadpoolctl"}  # all of them in Pyodide
    assert names_for("Emscripten") == in_browser
    for system in ("Linux", "Darwin", "Windows"):
        assert names_for(system) == in_browser | {"numba"}


# Without threads and processes


@pytest.fixture
def no_threads(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    starts_threads.cache_clear()  # the answer is kept, because it costs a thread
    monkeypatch.setattr(threading.Thread, "start", refuse)
    yield
    starts_threads.cache_clear()


@pytest.mark.usefixtures("no_threads")
def test_work_for_many_threads_is_done_by_the_one_there_is():
    done = []
    with workers(4) as pool:
        assert pool.n_threads == 1
        pool.map(done.append, range(10))
    assert done == list(range(10))


@pytest.mark.usefixtures("no_threads")
def test_long_work_is_done_where_it_is_asked_for():
    assert interrupts.interruptible(interrupts.LONG, threading.get_ident) == threading.get_ident()


def test_a_fit_that_is_dealt_out_to_threads_gives_the_same_without(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 5))
    y = X[:, 0] + 0.3 * rng.standard_normal(900) > 0
    expected = SVC().fit(X, y).decision_function(X)
    request.getfixturevalue("no_threads")
    np.testing.assert_array_equal(SVC().fit(X, y).decision_function(X), expected)


def test_a_script_is_patched_where_there_are_no_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from sklearn.svm import SVC\nprint(SVC.__module__)\n")
    code = f"""
    import multiprocessing
    def refuse(names):
        raise ModuleNotFoundError("No module named '_multiprocessing'")
    multiprocessing.set_forkserver_preload = refuse
    from maxmargin.__main__ import main
    main([{str(script)!r}])
    """
    ran = run("-c", textwrap.dedent(code))
    assert (ran.returncode, ran.stdout) == (0, "maxmargin.estimators.svc\n"), ran.stderr


def test_numbers_overflow_without_a_word_as_in_compiled_code():
    code = """
    import numpy as np
    from maxmargin import SVC
    X = np.random.default_rng(0).standard_normal((30, 2))
    print(SVC(C=np.inf).fit(X, X[:, 0] > 0).certificate_.optimal)
    """
    ran = run_code(code)
    assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr
    assert ran.stderr.count("\n") == ran.stderr.count(NOTICE) == 1
