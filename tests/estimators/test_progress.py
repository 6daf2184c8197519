"""What `verbose` shows, and where it shows nothing."""

import io
import sys

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
    assert left(at(0.4, 0.5)) is not None
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
    assert written.count("\r") == 2
    assert written.count("\n") == 1
    assert written.endswith("\n")
    first, second = written.strip("\r\n").split("\r")
    assert len(second) >= len(first), "the rest of the longer line is wiped"


def test_a_line_is_never_wider_than_the_terminal(without_rich, always, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    with ProgressLine(1, terminal) as line:
        line(at(1.0, 0.5))
    assert len(terminal.getvalue().strip("\r\n")) == 39


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


def test_the_last_line_of_verbose_2_says_what_the_time_was_spent_on(capsys):
    X, y = make_blobs(600, centers=2, random_state=0)
    SVC(verbose=2).fit(X, y)
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("maxmargin: time spent on ")
    for work in ("steps", "block", "proof", "selection"):
        assert f"{work} 0." in last
    SVC(verbose=1).fit(X, y)
    assert "time spent" not in capsys.readouterr().err
