"""What Numba brings: one decorator, vector instructions, one announcement.

Only `numba_setup.py` imports this file, where there is a Numba that compiles.
"""

import logging
import threading

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import event
from numba.extending import intrinsic

from maxmargin.compiled.kept_code import is_known_to_compile, keep_on_disk

logger = logging.getLogger("maxmargin")

# Sums may be reordered and multiply-adds fused, so that loops use vector registers. This is not
# "fast", which would also assume that NaN and inf never occur.
FLOAT_FREEDOM = {"contract", "reassoc", "nsz", "arcp"}

# Where a formula subtracts a number in parts, reordered sums would lose the parts.
ORDERED = {"contract"}

ANNOUNCE_AFTER_SECONDS = 2.0  # A compilation that takes no longer is not worth a line.


def compiled(function):
    """Compile without the GIL, and keep the machine code on disk for the next process.

    A loop that adds up a sum should not write to an array, too: then whether the sum is reordered
    depends on how far apart the arrays happen to lie in memory, and with it the last digit.

    The "numpy" error model leaves out the test for division by zero, which would keep a loop from
    using vector registers.
    """
    return _compiled(function, "never", FLOAT_FREEDOM)


def in_order(in_numpy):
    """Compile a loop whose entries do not depend on each other, without reordering any sum."""
    return lambda loop: _compiled(loop, "never", ORDERED)


def vectorised(in_numpy):
    """Compile a loop as if it stood in each function that calls it; a call would make it half as
    fast."""
    return lambda loop: _compiled(loop, "always", FLOAT_FREEDOM)


def _compiled(function, inline, freedom):
    """Compile a function into each compiled function that calls it, too ("forceinline").

    Left to itself, LLVM keeps some calls, and which of several copies of the called function they
    reach depends on what the process has compiled and loaded before: copies differ in the last
    digit, because sums may be reordered.
    """
    options = {"nogil": True, "error_model": "numpy", "inline": inline, "forceinline": True}
    dispatcher = numba.njit(fastmath=freedom, **options)(function)
    keep_on_disk(dispatcher)
    return dispatcher


@compiled
def unsigned(index):
    """The index, unsigned. Numba tests each time whether a signed one counts from the end."""
    return np.uint64(index)


def _vector_extremum(llvm_name):
    # Numba's own max() tests for NaN and is never vectorised; LLVM's intrinsic is.
    @intrinsic
    def extremum(typing_context, a, b):
        def generate(context, builder, signature, arguments):
            kind = arguments[0].type
            suffix = "f64" if kind == ir.DoubleType() else "f32"
            name = f"llvm.{llvm_name}.{suffix}"
            function_type = ir.FunctionType(kind, [kind, kind])
            function = builder.module.globals.get(name)
            if function is None:
                function = ir.Function(builder.module, function_type, name)
            return builder.call(function, arguments, fastmath=("fast",))

        if a != b or a not in (types.float64, types.float32):
            return None
        return a(a, b), generate

    return extremum


vector_max = _vector_extremum("maxnum")
vector_min = _vector_extremum("minnum")


@intrinsic
def float32_from_bits(typing_context, bits):
    """The float32 whose bit pattern is the given int32."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def float64_from_bits(typing_context, bits):
    """The float64 whose bit pattern is the given int64."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def fetch_and_add(typing_context, counter, amount):
    """What the only number of an int64 array is, to which an amount is added in the same moment, so
    that no two threads get the same."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, arguments[1], "monotonic")

    return types.int64(counter, types.int64), generate


class _Announcer(event.Listener):
    """Says once what takes so long when the first compilation does.

    A search over several processes compiles in each, because all begin before any of them has its
    code on disk; only the first of them says it.
    """

    def __init__(self, folder):
        self._folder = folder
        self._lock = threading.Lock()
        self._depth = 0
        self._timer = None
        self._said = False

    def on_start(self, compilation):
        with self._lock:
            self._depth += 1
            if self._depth == 1 and not self._said:
                self._timer = threading.Timer(ANNOUNCE_AFTER_SECONDS, self._say)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, compilation):
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _say(self):
        self._said = True
        if self._folder and is_known_to_compile(self._folder):
            return
        logger.warning(
            "maxmargin is compiling its inner loops, those of this kind of fit. This happens once "
            "per machine; the result is cached for later processes."
        )


event.register("numba:compile", _Announcer(unsigned._cache.cache_path))
