"""One line of progress on standard error for `verbose=True`."""

import sys
from time import perf_counter


class ProgressLine:
    """A callback that writes at most one line a second."""

    def __init__(self, stream=None):
        self._stream = stream or sys.stderr
        self._last = -1.0

    def __call__(self, progress):
        now = perf_counter()
        if now - self._last < 1.0:
            return
        self._last = now
        which = f"problem {progress.problem + 1}/{progress.n_problems}, "
        self._stream.write(
            f"maxmargin: {which if progress.n_problems > 1 else ''}"
            f"{progress.n_iter} steps, violation {progress.violation:.2e} (tol {progress.tol:.0e}),"
            f" {progress.n_support} support vectors, {progress.seconds:.1f} s\n"
        )
