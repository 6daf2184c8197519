"""How far a fit is, on standard error: `verbose=1` draws one live line, `verbose=2` writes lines.

Invariant: nothing is drawn where nobody looks. The live line needs a terminal; the plain lines of
`verbose=2` are for logs and notebooks; the last of them says what the time was spent on.
"""

import sys
import weakref
from importlib.util import find_spec
from math import log
from shutil import get_terminal_size
from time import perf_counter

EVERY = {1: 0.1, 2: 1.0}  # seconds between two drawings of the live line, and between two lines


class ProgressLine:
    """A callback that shows how far the fit is; `close` it, or use it as a context.

    Parameters
    ----------
    level : int, default=1
        1 redraws one line on a terminal (with rich, where that is installed) and shows nothing
        anywhere else; 2 and more write a line a second, whatever the stream is; 0 is silent.
    stream : file, optional
        Standard error if not given.
    """

    def __init__(self, level=1, stream=None):
        stream = sys.stderr if stream is None else stream
        self._level = min(int(level), 2)
        self._writer = _writer(self._level, stream)
        self._time_left = TimeLeft()
        self._latest = self._shown = None
        self._last = -1.0
        if self._writer is not None:
            # A line that nobody has closed ends when it is forgotten, at the latest with Python.
            self._end_line = weakref.finalize(self, self._writer.close)

    @property
    def is_silent(self):
        return self._writer is None

    def __call__(self, progress):
        if self.is_silent:
            return
        self._latest = sentence(progress, self._time_left(progress))
        now = perf_counter()
        if now - self._last >= EVERY[self._level]:
            self._last = now
            self._show()

    def _show(self):
        if self._latest not in (None, self._shown):
            self._writer.show(self._latest)
            self._shown = self._latest

    def tell_times(self, seconds):
        """On lines: what the time went into, by kind of work; threads beside each other add up."""
        if self._level == 2 and not self.is_silent and seconds:
            parts = [f"{work} {duration(spent, 2)}" for work, spent in seconds.most_common()]
            self._show()
            self._writer.show("maxmargin: time spent on " + ", ".join(parts))

    def close(self):
        """Show where the fit ended, and end the line."""
        if not self.is_silent:
            self._show()
            self._end_line()
            self._writer = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class TimeLeft:
    """Seconds until the violation reaches tol, if it goes on falling as it does; else None.

    Near the solution the violation falls about exponentially, so its logarithm is followed: how
    fast its lowest value fell over the latter half of the time this problem has taken. Problems to
    come are taken to last as long as those before, or as this one.
    """

    def __init__(self):
        self._problem, self._began, self._samples = None, 0.0, []

    def __call__(self, progress):
        if progress.problem != self._problem:
            self._problem, self._began, self._samples = progress.problem, progress.seconds, []
            if progress.problem == 0:
                self._began = 0.0
        left = self._of_this(progress)
        to_come = progress.n_problems - progress.problem - 1
        if left is None or not to_come:
            return left
        whole = progress.seconds - self._began + left
        average = self._began / progress.problem if progress.problem else whole
        return left + to_come * average

    def _of_this(self, progress):
        if not 0 < progress.violation < float("inf"):
            return None if progress.violation else 0.0
        now, height = progress.seconds, log(progress.violation / progress.tol)
        if self._samples:
            height = min(height, self._samples[-1][1])
        self._samples.append((now, height))
        half = (self._began + now) / 2
        while len(self._samples) > 2 and self._samples[1][0] <= half:
            self._samples.pop(0)
        if height <= 0:
            return 0.0
        then, higher = self._samples[0]
        return (now - then) * height / (higher - height) if higher > height else None


def sentence(progress, left):
    """One line about a `Progress`, what matters most first; `left` is in seconds, or None."""
    sign = "<=" if progress.violation <= progress.tol else ">"
    parts = [
        f"{duration(progress.seconds)}, {'?' if left is None else duration(left)} left",
        f"violation {progress.violation:.1e} {sign} tol {progress.tol:.0e}",
        f"{progress.n_support:,} support vectors",
        f"{progress.n_iter:,} steps",
    ]
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
    if not stream.isatty():
        return None
    return _RichLine(stream) if find_spec("rich") else _OverwrittenLine(stream)


class _Lines:
    def __init__(self, stream):
        self._stream = stream

    def show(self, text):
        self._stream.write(text + "\n")
        self._stream.flush()

    def close(self):
        pass


class _OverwrittenLine:
    """Goes back to the start of the line, and wipes what a longer text has left.

    Wider than the terminal, a text would go on in a next line, and there would be no way back.
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


class _RichLine:
    """The same by rich, which cuts the text to the width of the terminal."""

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
                redirect_stdout=False,  # they belong to the program, not to a fit
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)

    def close(self):
        if self._live is not None:
            self._live.stop()
