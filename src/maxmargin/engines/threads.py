"""A few threads that share tiles of work, beside a BLAS that keeps to one thread.

NumPy's BLAS brings its own threads, which spin while they wait and steal the cores from ours. So
while any fit is under way BLAS is limited to one thread, and tiles of work are dealt out instead.
The limit is one setting of the whole process: fits in several Python threads share it through a
count, and the last one to leave restores what the first one found.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController


class _SingleThreadedBlas:
    def __init__(self):
        self.forget()

    def forget(self):
        """Start anew, as a forked child must: the lock may have been held by another thread."""
        self._lock = threading.Lock()
        self._users = 0
        self._libraries = None
        self._threads_outside = []

    @property
    def threads_outside(self):
        """What BLAS may use while no fit is under way."""
        return max((count for count in self._threads_outside if count), default=1)

    def __enter__(self):
        with self._lock:
            if self._users == 0:
                if self._libraries is None:
                    blas = ThreadpoolController().select(user_api="blas")
                    self._libraries = blas.lib_controllers
                self._threads_outside = [library.num_threads for library in self._libraries]
                self._set([1] * len(self._libraries))
            self._users += 1
        return self

    def __exit__(self, *exception):
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._set(self._threads_outside)

    def _set(self, counts):
        for library, count in zip(self._libraries, counts, strict=True):
            # Newer threadpoolctl lets only the thread that first set a limit change it; ours is
            # set by the first fit to begin and lifted by the last to end, in whichever thread.
            release = getattr(library, "clear_controlling_thread", lambda force: None)
            release(force=True)
            library.set_num_threads(count)
            release(force=True)


_blas = _SingleThreadedBlas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.forget)


def available_cores():
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


class Workers:
    """Deals out items of work to the calling thread and its helpers."""

    def __init__(self, n_threads, pool):
        self.n_threads = n_threads
        self._pool = pool

    def map(self, function, items):
        """Call function(item) for every item, in any order; the first exception ends it.

        Which thread takes an item never changes the result as long as the items are independent.
        """
        remaining = iter(list(items))  # next() of a list iterator is atomic: no item twice
        ended = threading.Event()

        def work():
            try:
                for item in remaining:
                    if ended.is_set():
                        return
                    function(item)
            except BaseException:
                ended.set()
                raise

        helpers = [self._pool.submit(work) for _ in range(self.n_threads - 1)]
        try:
            work()
            for helper in helpers:
                helper.result()
        finally:  # also on Ctrl-C: helpers end the tile they are at, and no more
            ended.set()
            wait(helpers)


def single_threaded_blas():
    """A context in which BLAS keeps to the thread that calls it."""
    return _blas


@contextmanager
def workers(n_threads=None, most=None):
    """Threads for the length of one fit; made anew each time, so that a fork cannot lose them.

    By default as many as there are cores and BLAS was allowed to use, but not more than `most`.
    """
    with _blas:
        limit = min(available_cores(), _blas.threads_outside)
        limit = limit if most is None else min(limit, most)
        n_threads = limit if n_threads is None else n_threads
        if n_threads == 1:
            yield Workers(1, None)
            return
        with ThreadPoolExecutor(n_threads - 1, "maxmargin") as pool:
            yield Workers(n_threads, pool)
