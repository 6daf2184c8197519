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
from maxmargin.engines.threads import result_of, starts_threads

# A compiled loop makes this many products of two numbers in some tens of milliseconds.
SLICE = 10_000_000
# BLAS and LAPACK make this many products of two numbers in about a tenth of a second.
LONG = 1_000_000_000


def slices(items, n_products):
    """The items of one pass, in pieces that take a compiled loop only a moment.

    `n_products` is the work of the whole pass.
    """
    size = max(1, int(len(items) * SLICE / max(n_products, 1)))
    return [items[part] for part in arrays.blocks(len(items), size)]


def interruptible(n_products, function, *arguments, **options):
    """Call function(*arguments, **options) so that Ctrl-C need not wait for its end.

    The function must let other threads run, as NumPy's products and factorisations do, and SciPy's
    do not. After Ctrl-C it goes on to its end, which the end of the process waits for, and its
    answer is dropped.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if n_products < LONG or not is_main or not starts_threads():
        return function(*arguments, **options)
    answer, context = Future(), contextvars.copy_context()  # the context holds np.errstate

    def call():
        try:
            answer.set_result(context.run(function, *arguments, **options))
        except BaseException as error:
            answer.set_exception(error)

    thread = threading.Thread(target=call, name="maxmargin", daemon=True)
    thread.start()
    try:
        return result_of(answer)
    except KeyboardInterrupt:
        atexit.register(_wait_for, thread)
        raise


def _wait_for(thread):
    """Let a call of BLAS end, because a BLAS that is shut down meanwhile would hang."""
    while thread.is_alive():
        with suppress(KeyboardInterrupt):
            thread.join()
