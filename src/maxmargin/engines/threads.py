"""A few threads that share tiles of work, while BLAS is limited to one thread.

NumPy's BLAS brings its own threads, which spin while they wait and steal the cores from ours. So
while any fit is under way BLAS is limited to one thread, and tiles of work are dealt out instead.
The limit is one setting of the whole process. Fits in several Python threads share it through a
count, and the last one to leave restores what the first one found.

The threads are the process's own: as many as there are cores, asleep while nothing is to be done.
Starting a dozen of them anew takes longer than many a prediction. A fit takes those that are idle,
and works alone where there is none, so that several fits at once do not fight for cores.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from functools import cache

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


@cache
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


class _Helper:
    """A thread that sleeps until it is given a task."""

    def __init__(self):
        self._task, self._is_wanted = None, threading.Lock()
        self._is_wanted.acquire()
        threading.Thread(target=self._run, name="maxmargin", daemon=True).start()

    def begin(self, task):
        self._task = task
        self._is_wanted.release()

    def _run(self):
        while True:
            self._is_wanted.acquire()
            task, self._task = self._task, None
            task.help_out(self)
            del task  # its arrays are freed when the caller forgets them


class _Crew:
    """The helpers of this process, which are started when there are too few."""

    def __init__(self):
        self.forget()

    def forget(self):
        """Start anew, as a forked child must, which has no threads but its own."""
        self._lock, self._idle, self._size = threading.RLock(), [], 0

    def take(self, count, most):
        """Up to `count` idle helpers, of which there may be `most` in all."""
        with self._lock:
            cut = max(0, len(self._idle) - count)
            taken, self._idle = self._idle[cut:], self._idle[:cut]
            n_new = max(0, min(count - len(taken), most - self._size))
            self._size += n_new
        return taken + [_Helper() for _ in range(n_new)]

    def take_back(self, helper):
        with self._lock:
            self._idle.append(helper)


_crew = _Crew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_crew.forget)


class _Task:
    """Work that a thread shares with helpers; `end` tells all to begin nothing new."""

    def __init__(self, work: Callable[[], None], end: Callable[[], None], helpers: list):
        self._work, self._end, self._asleep = work, end, helpers
        self._lock, self._have_ended = threading.Lock(), threading.Lock()
        self._have_ended.acquire()
        self._n_helping, self._is_closed, self._must_wait = 0, False, False
        self._error: BaseException | None = None

    def wake_two(self):
        """Wake two helpers, each of which wakes two more, because it takes a while to wake one."""
        for _ in range(2):
            try:
                helper = self._asleep.pop()
            except IndexError:
                return
            helper.begin(self)

    def help_out(self, helper):
        """What a helper does. It is idle again before the caller goes on, who may need it next."""
        self.wake_two()
        with self._lock:
            takes_part = not self._is_closed
            self._n_helping += takes_part
        if takes_part:
            try:
                self._work()
            except BaseException as error:
                self._error = error
                self._end()
        _crew.take_back(helper)
        with self._lock:
            self._n_helping -= takes_part
            if takes_part and self._is_closed and not self._n_helping:
                self._have_ended.release()

    def close(self):
        """Let nobody begin any more, and wait for those that have begun."""
        with self._lock:
            if not self._is_closed:
                self._is_closed, self._must_wait = True, self._n_helping > 0
        while self._asleep:
            with suppress(IndexError):
                _crew.take_back(self._asleep.pop())
        # A signal that comes just before a thread falls asleep does not wake it, so the main
        # thread must not sleep until all is done.
        while self._must_wait:
            self._must_wait = not self._have_ended.acquire(timeout=A_MOMENT)
        if self._error is not None:
            raise self._error


class Workers:
    """Threads that deal out items of work among the calling thread and its helpers.

    `n_threads` counts the calling thread, and `n_in_all` those that all such objects of a fit have
    together, if there are several.
    """

    def __init__(self, n_threads, n_in_all=None):
        self.n_threads, self._n_in_all = n_threads, n_in_all or n_threads

    def part(self, n_threads):
        """Some of these threads, for a part of the work."""
        return Workers(n_threads, self._n_in_all)

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

    def drain(self, strip, n_tiles, after=None, most=None):
        """Call strip(counter) in all threads, again and again, until it says that nothing is left.

        It takes its tiles by raising the counter. This thread calls `after` between two calls, with
        the number of tiles that have been taken. No more than `most` threads take part.
        """
        counter = np.zeros(1, dtype=np.int64)

        def help_out():
            while strip(counter):
                pass

        def work():
            while strip(counter):
                if after is not None:
                    after(int(counter[0]))

        n_threads = n_tiles if most is None else min(most, n_tiles)
        self._together(work, help_out, lambda: counter.fill(NONE_LEFT), n_threads)

    def _together(self, work, help_out, end, n_threads):
        """Work in this thread while helpers help out, so that there are no more than `n_threads`;
        `end` tells all to begin nothing new."""
        n_helpers = min(self.n_threads, n_threads) - 1
        helpers = _crew.take(n_helpers, self._n_in_all - 1) if n_helpers > 0 else []
        if not helpers:
            work()
            return
        task = _Task(help_out, end, helpers)
        try:
            task.wake_two()
            work()
            task.close()
        except BaseException:  # after Ctrl-C, too, helpers end the tile they are at, and no more
            end()
            with suppress(Exception):  # the first error counts
                task.close()
            raise


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
    """Threads for one fit; BLAS keeps to one thread meanwhile."""
    with _blas:
        n_threads = thread_count(n_threads)
        yield Workers(n_threads if starts_threads() else 1)
