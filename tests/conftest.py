"""Shared fixtures; this folder is on the path, so that tests can import `oracle` and `zoo`."""

import signal
import sys
import threading
from pathlib import Path

import pytest

from maxmargin.solvers import smo

sys.path.insert(0, str(Path(__file__).parent))
# A suite that was started in the background ignores Ctrl-C, and so would what it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
collect_ignore = [
    "conftest.py",
    "cli/conftest.py",
    "play/conftest.py",
]  # not as modules with doctests


@pytest.fixture
def untraced():
    """Nobody counts lines in a test that presses Ctrl-C: coverage might keep its lock for ever.

    A KeyboardInterrupt inside coverage's own function that takes the lock leaves it taken. The mark
    `no_cover` of pytest-cov does not help: under xdist a second tracer goes on.
    """
    here, elsewhere = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    yield
    sys.settrace(here)
    threading.settrace(elsewhere)


@pytest.fixture
def binary():
    """A noisy binary problem of 150 points in four dimensions."""
    import numpy as np

    rng = np.random.default_rng(7)
    X = rng.standard_normal((150, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(150) > 0, 1, 0)
    return X, y


@pytest.fixture(params=["whole", "blocks"])
def path(request, monkeypatch):
    """Both ways through the solver, on problems small enough for the oracle."""
    if request.param == "blocks":
        monkeypatch.setattr(smo, "TIGHT", 0)
        monkeypatch.setattr(smo, "WHOLE", 0)
        monkeypatch.setattr(smo, "SMALLEST_BLOCK", 16)
    return request.param
