"""Subtract multiples of stored kernel rows from the gradient."""

import numpy as np

from maxmargin.compiled.numba_setup import compiled


@compiled
def subtract_rows(gradient, store, slots, steps, start):
    """gradient -= sum_k steps[k] * store[slots[k], start : start + len(gradient)]."""
    n = len(gradient)
    whole = len(slots) // 4 * 4
    for k in range(0, whole, 4):  # four rows a pass: the gradient is read and written less often
        a = store[slots[k], start : start + n]
        b = store[slots[k + 1], start : start + n]
        c = store[slots[k + 2], start : start + n]
        d = store[slots[k + 3], start : start + n]
        for m in range(n):
            gradient[m] -= (
                steps[k] * np.float64(a[m])
                + steps[k + 1] * np.float64(b[m])
                + steps[k + 2] * np.float64(c[m])
                + steps[k + 3] * np.float64(d[m])
            )
    for k in range(whole, len(slots)):
        a = store[slots[k], start : start + n]
        for m in range(n):
            gradient[m] -= steps[k] * np.float64(a[m])
