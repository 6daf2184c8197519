"""How every compiled function is made: one decorator, two vector instructions, one announcement."""

import logging
import threading

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import event
from numba.extending import intrinsic

from maxmargin.compiled.kept_code import keep_on_disk

logger = logging.getLogger("maxmargin")

# Sums may be reordered and multiply-adds fused, which is what lets loops use vector registers.
# Not "fast": that would also assume that NaN and inf never occur.
FLOAT_FREEDOM = {"contract", "reassoc", "nsz", "arcp"}

ANNOUNCE_AFTER_SECONDS = 2.0


def compiled(function):
    """Compile without the GIL, and keep the machine code on disk for the next process.

    The "numpy" error model leaves out the test for division by zero, which would keep a loop from
    using vector registers.
    """
    dispatcher = numba.njit(nogil=True, error_model="numpy", fastmath=FLOAT_FREEDOM)(function)
    if dispatcher is not function:  # as it is where Numba is switched off
        keep_on_disk(dispatcher)
    return dispatcher


@compiled
def unsigned(index):
    """The same index; of a signed one Numba would ask each time whether it counts from the end."""
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


class _Announcer(event.Listener):
    """Say what takes so long when the very first compilation does."""

    def __init__(self):
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
        logger.warning(
            "maxmargin is compiling its inner loops. This happens once per machine; "
            "the result is cached for later processes."
        )


if getattr(numba.config, "DISABLE_JIT", False):  # for debugging: the same loops as plain Python
    vector_max, vector_min = max, min

    def float32_from_bits(bits):  # type: ignore[misc]
        return np.int32(bits).view(np.float32)

    def float64_from_bits(bits):  # type: ignore[misc]
        return np.int64(bits).view(np.float64)


event.register("numba:compile", _Announcer())
