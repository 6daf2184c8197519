"""A few threads that share tiles of work, while BLAS is limited to one thread.

NumPy's BLAS brings its own threads, which spin while they wait and steal the cores from ours. So
while any fit is under way BLAS is limited to one thread, and tiles of work are dealt out instead.
The limit is one setting of the whole process. Fits in several Python threads share it through a
count, and the last one to leave restores what the first one found.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import numpy as np
from threadpoolctl import ThreadpoolController

# A thread sleeps this many seconds at a time, so that the main thread soon sees Ctrl-C.
A_MOMENT = 0.1
NONE_LEFT = 1 << 40  # No counter of tiles reaches this number, and adding to it does not overflow.


class _SingleThreadedBlas:
    def __init__(self):
        self.forget()

    def forget(self):
        """Start anew, as a forked child must, because another thread may have held the lock."""
        # The lock is reentrant, as the garbage collector may close a pool while we are in here.
        self._lock = threading.RLock()
        self._users = 0
        self._libraries = None
        self._threads_outside = []

    @property
    def threads_outside(self):
        """The threads that BLAS may use while no fit is under way."""
        return max((count for count in self._threads_outside if count), default=1)

    def __enter__(self):
        with self._lock:
            self._users += 1  # counted first, so that another that leaves now is not the last
            if self._users == 1:
                if self._libraries is None:
                    blas = ThreadpoolController().select(user_api="blas")
                    self._libraries = blas.lib_controllers
                self._threads_outside = [library.num_threads for library in self._libraries]
                self._set([1] * len(self._libraries))
        return self

    def __exit__(self, *exception):
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._set(self._threads_outside)

    def _set(self, counts):
        for library, count in zip(self._libraries, counts, strict=True):
            # Newer threadpoolctl lets only the thread that first set a limit change it. Ours is set
            # by the first fit to begin and lifted by the last to end, which may be another thread.
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
    except AttributeError:  # this is not Linux
        return os.cpu_count() or 1


def starts_threads():
    """Whether this process can start a thread, which it cannot in a browser."""
    thread = threading.Thread(target=int)
    try:
        thread.start()
    except RuntimeError:
        return False
    thread.join()
    return True


def result_of(future):
    """The result of a future, for which Ctrl-C does not wait.

    A signal that comes just before a thread falls asleep does not wake it, so the main thread must
    not sleep until all is done.
    """
    while not future.done():
        wait([future], A_MOMENT)
    return future.result()


class Workers:
    """Threads that deal out items of work among the calling thread and its helpers."""

    def __init__(self, n_threads, pool):
        self.n_threads = n_threads
        self._pool = pool

    def map(self, function, items, most=None):
        """Call function(item) for every item, in any order; the first exception ends it.

        Which thread takes an item never changes the result as long as the items are independent. No
        more than `most` threads take part.
        """
        items = list(items)
        remaining = iter(items)  # next() of a list iterator is atomic: no item comes twice
        ended = threading.Event()

        def work():
            for item in remaining:
                if ended.is_set():
                    return
                function(item)

        n_threads = len(items) if most is None else min(most, len(items))
        self._together(work, work, ended.set, n_threads)

    def drain(self, strip, n_tiles, after=None):
        """Call strip(counter) in all threads, again and again, until it says that nothing is left.

        It takes its tiles by raising the counter. This thread calls `after` between two calls, with
        the number of tiles that have been taken.
        """
        counter = np.zeros(1, dtype=np.int64)

        def help_out():
            while strip(counter):
                pass

        def work():
            while strip(counter):
                if after is not None:
                    after(int(counter[0]))

        self._together(work, help_out, lambda: counter.fill(NONE_LEFT), n_tiles)

    def _together(self, work, help_out, end, n_threads):
        """Work in this thread while helpers help out, so that there are no more than `n_threads`;
        `end` tells all to begin nothing new."""

        def help_until_it_fails():
            try:
                help_out()
            except BaseException:
                end()
                raise

        n_helpers = min(self.n_threads, n_threads) - 1
        helpers = [self._pool.submit(help_until_it_fails) for _ in range(n_helpers)]
        try:
            work()
            # A helper that has not begun yet has nothing left to do.
            helpers = [helper for helper in helpers if not helper.cancel()]
            for helper in helpers:
                result_of(helper)
        finally:  # after Ctrl-C, too, helpers end the tile they are at, and no more
            end()
            wait([helper for helper in helpers if not helper.cancelled()])


def single_threaded_blas():
    """A context in which BLAS keeps to the thread that calls it."""
    return _blas


def thread_count(n_threads=None):
    """The number of threads: by default as many as there are cores and BLAS was allowed to use."""
    with _blas:
        limit = min(available_cores(), _blas.threads_outside)
    return limit if n_threads is None else n_threads


@contextmanager
def workers(n_threads=None):
    """Threads for one fit; they are made anew each time, so that a fork cannot lose them."""
    with _blas:
        n_threads = thread_count(n_threads)
        if n_threads == 1 or not starts_threads():
            yield Workers(1, None)
            return
        with ThreadPoolExecutor(n_threads - 1, "maxmargin") as pool:
            yield Workers(n_threads, pool)
