"""What `verbose` shows, and where it shows nothing."""

import io
import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest
from sklearn.datasets import make_blobs

from maxmargin import SVC
from maxmargin.estimators import progress as progress_module
from maxmargin.estimators.progress import ProgressLine, TimeLeft, duration, sentence
from maxmargin.solvers.base import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def at(seconds, violation, problem=0, n_problems=1, n_iter=1234):
    return Progress(n_iter, violation, 1e-3, 0.0, 56, seconds, problem, n_problems)


@pytest.fixture
def without_rich(monkeypatch):
    monkeypatch.setattr(progress_module, "find_spec", lambda name: None)


@pytest.fixture
def always(monkeypatch):
    """Draw every report, however soon it comes after the last."""
    monkeypatch.setattr(progress_module, "EVERY", {1: 0.0, 2: 0.0})


def test_the_sentence_says_steps_violation_support_vectors_problem_and_times():
    assert sentence(at(12.34, 0.05, 1, 3), 65.0) == (
        "maxmargin: 12.3 s, 1:05 left, problem 2/3, violation 5.0e-02 > tol 1e-03, "
        "56 support vectors, 1,234 steps"
    )
    assert "problem" not in sentence(at(1.0, 0.05), None)
    assert sentence(at(1.0, 0.05), None).startswith("maxmargin: 1.0 s, ? left,")
    assert "violation 9.0e-04 <= tol 1e-03" in sentence(at(1.0, 9e-4), 0.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (59.9, "59.9 s"), (60, "1:00"), (3723, "1:02:03"), (1e9, "days")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_the_time_left_of_an_exponential_decay_is_exact():
    left = TimeLeft()
    for tenth in range(1, 31):  # tol is reached at 6 s: a factor of ten every 2 s
        estimate = left(at(tenth / 10, 10 ** (-tenth / 20)))
    assert estimate == pytest.approx(3.0)


def test_the_time_left_is_unknown_before_the_violation_falls():
    left = TimeLeft()
    assert left(at(0.1, float("inf"))) is None
    assert left(at(0.2, 1.0)) is None
    assert left(at(0.3, 2.0)) is None
    assert left(at(0.4, 1.5)) is not None, "it falls from the top, though not below the beginning"
    assert left(at(0.5, 5e-4)) == 0.0


def test_problems_to_come_count_as_much_as_those_before():
    left = TimeLeft()
    left(at(1.0, 1.0, 0, 4))
    left(at(2.0, 1e-4, 0, 4))
    left(at(2.0, 1.0, 1, 4))
    # The second of four has begun at 2 s; a factor of ten a second leaves 2 s of it.
    assert left(at(3.0, 0.1, 1, 4)) == pytest.approx(2.0 + 2 * 2.0)


def test_one_line_is_overwritten_and_ended(without_rich, always, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()
    with ProgressLine(1, terminal) as line:
        line(at(1.0, 0.5, 0, 9))
        line(at(2.0, 0.1, 0, 1))
    written = terminal.getvalue()
    assert written.count("\r") == 3
    assert written.count("\n") == 1
    assert written.endswith("\n")
    first, second, end = written.strip("\r\n").split("\r")
    for longer, shorter in ((first, second), (second, end)):
        assert len(shorter) >= len(longer.rstrip()), "the rest of the longer line is wiped"


def test_a_line_is_never_wider_than_the_terminal(without_rich, always, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    with ProgressLine(1, terminal) as line:
        line(at(1.0, 0.5))
    assert [len(one) for one in terminal.getvalue().strip("\r\n").split("\r")] == [39, 39]


def test_a_line_that_nobody_closed_ends_when_it_is_forgotten(without_rich, always):
    terminal = Terminal()
    line = ProgressLine(1, terminal)
    line(at(1.0, 0.5))
    assert not terminal.getvalue().endswith("\n")
    del line
    assert terminal.getvalue().endswith("\n")


def test_a_fit_without_a_report_draws_nothing(without_rich):
    terminal = Terminal()
    with ProgressLine(1, terminal):
        pass
    assert terminal.getvalue() == ""


def test_the_last_state_is_shown_at_the_end(without_rich, monkeypatch):
    monkeypatch.setattr(progress_module, "EVERY", {1: 1e9})
    terminal = Terminal()
    with ProgressLine(1, terminal) as line:
        line(at(1.0, 0.5))
        line(at(2.0, 9e-4))
    assert "9.0e-04" in terminal.getvalue()


def test_a_line_that_has_ended_speaks_of_no_time_left(without_rich, always, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()
    with ProgressLine(1, terminal) as line:
        line(at(1.0, 0.5))
        line(replace(at(2.0, 9e-4), proof=0.9))
    *during, end = terminal.getvalue().strip("\r\n").split("\r")
    assert all(" left, " in one for one in during)
    assert end.rstrip() == (
        "maxmargin: 2.0 s, violation 9.0e-04 <= tol 1e-03, 56 support vectors, 1,234 steps"
    )


def test_rich_draws_the_same_words_and_restores_the_cursor(always, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()
    with ProgressLine(1, terminal) as line:
        line(at(1.0, 0.5))
    written = terminal.getvalue()
    assert sentence(at(1.0, 0.5), None) in written
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l"), "the cursor is back"


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_is_drawn_without_a_terminal(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine() as line:
        assert line.is_silent
        line(at(1.0, 0.5))
    assert stream is None or stream.getvalue() == ""


def test_a_level_of_two_writes_lines_anywhere(always):
    log = io.StringIO()
    with ProgressLine(2, log) as line:
        line(at(1.0, 0.5))
        line(at(2.0, 0.25))
    first, second = log.getvalue().splitlines()
    assert first.startswith("maxmargin: 1.0 s, ? left, violation 5.0e-01")
    assert second.startswith("maxmargin: 2.0 s,")


def test_verbose_says_nothing_when_standard_error_is_no_terminal(binary, capsys):
    SVC(verbose=True).fit(*binary)
    assert capsys.readouterr() == ("", "")


def test_verbose_draws_on_a_terminal(binary, monkeypatch, without_rich):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    SVC(verbose=1).fit(*binary)
    assert "violation" in terminal.getvalue()


# In a notebook, with a kernel of its own.

RUN_CELL = """
import json, sys
import nbformat
from nbclient import NotebookClient

cell = nbformat.v4.new_code_cell(sys.argv[1])
NotebookClient(nbformat.v4.new_notebook(cells=[cell]), kernel_name="python3").execute()
print(json.dumps(cell.outputs))
"""


def outputs_of(cell):
    """What stands below a cell in the end."""
    for package in ("nbclient", "ipykernel"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed, which runs a notebook")
    words = [sys.executable, "-c", RUN_CELL, cell]
    run = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_in_a_notebook_a_fit_has_one_line_that_changes_in_place():
    outputs = outputs_of("""
import contextlib, io
from maxmargin import SVC
from maxmargin.estimators import progress
from maxmargin.solvers.base import Progress

progress.EVERY[1] = 0.0  # every report is drawn
with progress.ProgressLine(1) as line:
    for violation in (0.5, 0.05, 0.0005):
        line(Progress(1234, violation, 1e-3, 0.0, 56, 1.0, 0, 1))
model = SVC(verbose=1).fit([[0.0], [1.0]], [0, 1])
with contextlib.redirect_stderr(io.StringIO()):
    model = SVC(verbose=1).fit([[0.0], [1.0]], [0, 1])
    """)
    assert [output["output_type"] for output in outputs] == ["display_data"] * 2
    first, second = (output["data"]["text/plain"] for output in outputs)
    assert "violation 5.0e-04 <= tol 1e-03, 56 support vectors, 1,234 steps" in first
    assert first.count("violation") == 1
    assert "2 support vectors" in second


def test_the_last_line_of_verbose_2_says_what_the_time_was_spent_on(capsys):
    X, y = make_blobs(600, centers=2, random_state=0)
    SVC(verbose=2).fit(X, y)
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("maxmargin: time spent on ")
    for work in ("steps", "block", "proof", "selection"):
        assert f"{work} 0." in last
    SVC(verbose=1).fit(X, y)
    assert "time spent" not in capsys.readouterr().err


def test_the_time_of_the_proof_counts_in_the_time_left():
    left = TimeLeft()
    for tenth in range(1, 31):  # tol is reached at 6 s: a factor of ten every 2 s
        estimate = left(replace(at(tenth / 10, 10 ** (-tenth / 20)), proof_seconds=5.0))
    assert estimate == pytest.approx(3.0 + 5.0)
    shares = [left(replace(at(6.0 + k, 9e-4), proof=0.2 * k)) for k in (1, 2, 3)]
    assert shares == [pytest.approx(5.0 * 0.8), pytest.approx(3.0), pytest.approx(2.0)]
    assert "proof 40 %" in sentence(replace(at(8.0, 9e-4), proof=0.4), 3.0)


def test_a_violation_that_does_not_fall_for_a_while_still_leaves_an_estimate():
    left = TimeLeft()
    for second in range(1, 4):
        left(at(float(second), 10.0**-second * 10))
    assert left(at(20.0, 0.05)) is not None
