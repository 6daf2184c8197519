"""How far a fit is, on standard error: `verbose=1` draws one live line, `verbose=2` writes lines.

Invariant: the live line is drawn only in a terminal or a notebook. The plain lines of `verbose=2`
are for logs, and the last of them says what the time was spent on.
"""

import sys
import weakref
from importlib.util import find_spec
from math import log
from shutil import get_terminal_size
from time import perf_counter

# These are the seconds between two drawings of the live line, and between two lines.
EVERY = {1: 0.1, 2: 1.0}


class ProgressLine:
    """A callback that shows how far the fit is; `close` it, or use it as a context.

    Parameters
    ----------
    level : int, default=1
        1 redraws one line on a terminal (with rich, where that is installed) or below the cell of
        a notebook, and shows nothing anywhere else; 2 and more write a line a second, whatever the
        stream is; 0 is silent.
    stream : file, optional
        The stream to write to; standard error if not given.
    """

    def __init__(self, level=1, stream=None):
        stream = sys.stderr if stream is None else stream
        self._level = min(int(level), 2)
        self._writer = _writer(self._level, stream)
        self._time_left = TimeLeft()
        self._latest = self._end = self._shown = None
        self._last = -1.0
        if self._writer is not None:
            # A line that was not closed ends with its object, or with Python.
            self._end_line = weakref.finalize(self, self._writer.close)

    @property
    def is_silent(self):
        return self._writer is None

    def __call__(self, progress):
        if self.is_silent:
            return
        self._latest = sentence(progress, self._time_left(progress))
        self._end = sentence(progress)
        now = perf_counter()
        if now - self._last >= EVERY[self._level]:
            self._last = now
            self._show()

    def _show(self):
        if self._latest not in (None, self._shown):
            self._writer.show(self._latest)
            self._shown = self._latest

    def _show_end(self):
        """Where the fit ended, when no time is left; a line that was written stays as it is."""
        if self._level == 1 or self._latest != self._shown:
            self._latest = self._end
        self._show()

    def tell_times(self, seconds):
        """Write what the time was spent on, by kind of work, summed over threads."""
        if self._level == 2 and not self.is_silent and seconds:
            parts = [f"{work} {duration(spent, 2)}" for work, spent in seconds.most_common()]
            self._show_end()
            self._writer.show("maxmargin: time spent on " + ", ".join(parts))

    def close(self):
        """Show where the fit ended, and end the line."""
        if not self.is_silent:
            self._show_end()
            self._end_line()
            self._writer = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class TimeLeft:
    """The seconds left, if the violation goes on falling to tol as it does; else None.

    It rises at first, as more points come into play. Near the solution it falls about
    exponentially, so its logarithm is followed from the top on: how fast its lowest value fell over
    the latter half of the time this problem has taken, or over all of it. Then comes the proof.
    Problems to come are taken to last as long as those before, or as this one.
    """

    def __init__(self):
        self._problem, self._began, self._proof_seconds = None, 0.0, 0.0
        self._forget()

    def _forget(self):
        self._samples, self._top, self._proof = [], None, None

    def __call__(self, progress):
        if progress.problem != self._problem:
            self._problem, self._began = progress.problem, progress.seconds
            self._forget()
            if progress.problem == 0:
                self._began = 0.0
        left = self._of_this(progress)
        if progress.proof is None:
            self._proof_seconds = progress.proof_seconds
            left = left if left is None else left + progress.proof_seconds
        to_come = progress.n_problems - progress.problem - 1
        if left is None or not to_come:
            return left
        whole = progress.seconds - self._began + left
        average = self._began / progress.problem if progress.problem else whole
        return left + to_come * average

    def _of_this(self, progress):
        if progress.proof is not None:
            return self._of_proof(progress)
        if not 0 < progress.violation < float("inf") or progress.tol == 0:
            return None if progress.violation else 0.0
        now, height = progress.seconds, log(progress.violation / progress.tol)
        if self._top is None or height > self._top[1]:
            self._top, self._samples = (now, height), []
        if self._samples:
            height = min(height, self._samples[-1][1])
        self._samples.append((now, height))
        half = (self._began + now) / 2
        while len(self._samples) > 2 and self._samples[1][0] <= half:
            self._samples.pop(0)
        if height <= 0:
            return 0.0
        for then, higher in (self._samples[0], self._top):  # lately, or all the time
            if higher > height:
                return (now - then) * height / (higher - height)
        return None

    def _of_proof(self, progress):
        """What is left of the proof, which goes on as it began, or as was expected before."""
        if self._proof is None or progress.proof <= self._proof[1]:
            self._proof = progress.seconds, progress.proof
            return self._proof_seconds * (1.0 - progress.proof) or None
        then, share = self._proof
        return (progress.seconds - then) * (1.0 - progress.proof) / (progress.proof - share)


ENDED = object()  # It stands for the time left of a fit that has ended.


def sentence(progress, left=ENDED):
    """One line about a `Progress`, what matters most first; `left` is in seconds, or None where
    nobody knows."""
    sign = "<=" if progress.violation <= progress.tol else ">"
    time_left = "" if left is ENDED else f", {'?' if left is None else duration(left)} left"
    parts = [
        f"{duration(progress.seconds)}{time_left}",
        f"violation {progress.violation:.1e} {sign} tol {progress.tol:.0e}",
        f"{progress.n_support:,} {progress.counted}",
        f"{progress.n_iter:,} steps",
    ]
    if progress.proof is not None and left is not ENDED:
        parts.insert(1, f"proof {100 * progress.proof:.0f} %")
    if progress.n_problems > 1:
        parts.insert(1, f"problem {progress.problem + 1}/{progress.n_problems}")
    return "maxmargin: " + ", ".join(parts)


def duration(seconds, digits=1):
    """12.3 s, 4:05 or 1:02:03."""
    if seconds < 60:
        return f"{seconds:.{digits}f} s"
    if seconds >= 360_000:
        return "days"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _writer(level, stream):
    if level <= 0 or stream is None:  # a program without a console has none
        return None
    if level == 2:
        return _Lines(stream)
    if stream.isatty():
        return _RichLine(stream) if find_spec("rich") else _OverwrittenLine(stream)
    return _NotebookLine() if _is_of_notebook(stream) else None


def _is_of_notebook(stream):
    """Whether it is the standard error of a notebook, and not a file or a text buffer that has been
    put in its place."""
    ipython = sys.modules.get("IPython")
    has_kernel = ipython is not None and hasattr(ipython.get_ipython(), "kernel")
    return has_kernel and type(stream).__module__ != "_io"


class _Lines:
    def __init__(self, stream):
        self._stream = stream

    def show(self, text):
        self._stream.write(text + "\n")
        self._stream.flush()

    def close(self):
        pass


class _OverwrittenLine:
    """A line that is overwritten, with blanks over what a longer text has left.

    A text wider than the terminal is cut, because it could not be overwritten.
    """

    def __init__(self, stream):
        self._stream, self._length = stream, 0

    def show(self, text):
        text = text[: get_terminal_size().columns - 1]
        self._stream.write("\r" + text.ljust(self._length))
        self._stream.flush()
        self._length = len(text)

    def close(self):
        if self._length:
            self._stream.write("\n")
            self._stream.flush()


class _NotebookLine:
    """An output of the cell, which is changed in place.

    It is IPython's own, which every notebook has and saves. A live display of rich would need
    ipywidgets, and would be missing from a saved notebook.
    """

    def __init__(self):
        self._output = None

    def show(self, text):
        from IPython.display import display

        content = {"text/plain": text}
        if self._output is None:
            self._output = display(content, raw=True, display_id=True)
        else:
            self._output.update(content, raw=True)

    def close(self):
        pass


class _RichLine:
    """A line drawn by rich, which cuts the text to the width of the terminal."""

    def __init__(self, stream):
        self._stream, self._live = stream, None

    def show(self, text):
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            self._live = Live(
                console=Console(file=self._stream),
                auto_refresh=False,
                redirect_stdout=False,  # these streams belong to the program, not to a fit
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

    def close(self):
        if self._live is not None:
            self._live.stop()
