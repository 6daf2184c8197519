"""Where Ctrl-C is seen: long work in slices, or in a thread of its own.

Python looks at signals between its own instructions and in the main thread only, so a compiled loop
or a factorisation cannot be interrupted. A loop is called for a slice of its work at a time, which
changes none of its steps. A single call of LAPACK is made by another thread while the main thread
waits, because waiting can be interrupted.
"""

import atexit
import contextvars
import threading
from concurrent.futures import Future
from contextlib import suppress

from maxmargin import arrays

SLICE = 10_000_000  # products of two numbers, in a compiled loop: some tens of milliseconds
LONG = 1_000_000_000  # in BLAS and LAPACK


def slices(items, n_products):
    """The items of one pass, in pieces that a compiled loop is soon done with.

    `n_products` is the work of the whole pass.
    """
    size = max(1, int(len(items) * SLICE / max(n_products, 1)))
    return [items[part] for part in arrays.blocks(len(items), size)]


def interruptible(n_products, function, *arguments, **options):
    """function(*arguments, **options), of which Ctrl-C does not wait for the end.

    The function must let other threads run, as NumPy's products and factorisations do, and SciPy's
    do not. After Ctrl-C it goes on to its end, for which the end of the process waits, and nobody
    looks at what it found.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if n_products < LONG or not is_main:
        return function(*arguments, **options)
    answer, context = Future(), contextvars.copy_context()  # which holds np.errstate

    def call():
        try:
            answer.set_result(context.run(function, *arguments, **options))
        except BaseException as error:
            answer.set_exception(error)

    thread = threading.Thread(target=call, name="maxmargin", daemon=True)
    thread.start()
    try:
        return answer.result()
    except KeyboardInterrupt:
        atexit.register(_wait_for, thread)
        raise


def _wait_for(thread):
    """A BLAS that is shut down with the process while it works would wait for itself, for ever."""
    while thread.is_alive():
        with suppress(KeyboardInterrupt):
            thread.join()
