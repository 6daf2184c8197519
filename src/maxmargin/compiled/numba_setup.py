"""How every inner loop is made: compiled where there is Numba, and plain Python elsewhere."""

import logging
import threading
from functools import wraps

import numpy as np

logger = logging.getLogger("maxmargin")

NO_NUMBA = (
    "maxmargin cannot import Numba (%s), so its inner loops run as plain Python: the results are "
    "the same, and fits take far longer. `pip install numba` makes them fast where Numba exists."
)


def has_compiler():
    """Whether loops are compiled. Numba's own switch, NUMBA_DISABLE_JIT, is there for debugging."""
    try:
        import numba
    except (ImportError, OSError) as error:  # OSError means that its library of LLVM is missing
        logger.warning(NO_NUMBA, error)
        return False
    return not getattr(numba.config, "DISABLE_JIT", False)


HAS_COMPILER = has_compiler()

if HAS_COMPILER:
    from maxmargin.compiled.jit import (
        compiled,
        fetch_and_add,
        float32_from_bits,
        float64_from_bits,
        in_order,
        unsigned,
        vector_max,
        vector_min,
        vectorised,
    )
else:
    vector_max, vector_min = max, min

    _here = threading.local()

    def compiled(function):
        """The function, in which numbers overflow silently, as they do when it is compiled."""

        @wraps(function)
        def quiet(*arguments, **options):
            if getattr(_here, "is_quiet", False):
                return function(*arguments, **options)
            _here.is_quiet = True
            try:
                with np.errstate(all="ignore"):
                    return function(*arguments, **options)
            finally:
                _here.is_quiet = False

        return quiet

    def vectorised(in_numpy):
        """Decorates a loop over one vector; `in_numpy` does the same at the speed of NumPy."""
        return lambda loop: in_numpy

    in_order = vectorised

    def unsigned(index):
        return index

    def fetch_and_add(counter, amount):  # type: ignore[misc]
        """This is for one thread: there are no others where nothing is compiled."""
        before = int(counter[0])
        counter[0] += amount
        return before

    def float32_from_bits(bits):  # type: ignore[misc]
        return np.int32(bits).view(np.float32)

    def float64_from_bits(bits):  # type: ignore[misc]
        return np.int64(bits).view(np.float64)


__all__ = [
    "HAS_COMPILER",
    "compiled",
    "fetch_and_add",
    "float32_from_bits",
    "float64_from_bits",
    "in_order",
    "unsigned",
    "vector_max",
    "vector_min",
    "vectorised",
]
