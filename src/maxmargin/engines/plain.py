"""The plain engine: all that an engine does, in float64, with NumPy and nothing else.

It is the engine to read, the one that the others are compared with, and the one that works without
Numba. It holds no cache and starts no thread. Its inner solver is that of the cpu engine
(`compiled/smo.py`), written with vectors.
"""

from itertools import count, pairwise
from time import perf_counter

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.smo import low_offset, room_above, room_below, snapped, up_offset
from maxmargin.engines.host_block import HostBlock
from maxmargin.kernels.pairs import Pairs, Points, diagonal_values, finite

SPEED = 1e-2  # Steps with vectors of NumPy take about a hundred times as long as compiled ones.
AT_A_TIME = 1_000_000  # Kernel values are made and used in strips of about this many.
FEW = 256  # A matrix of this many points is timed, to see how long a larger one takes.


class PlainEngine:
    """Every operation in a few lines of NumPy."""

    def __init__(self, cache_bytes=200 << 20):
        self.cache_bytes = cache_bytes

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def points(self, X, index=None, beside=None):
        return Points(X, index=index, centre_of=beside)

    def matrix(self, kernel, points):
        points = points if isinstance(points, Points) else self.points(points)
        return PlainMatrix(kernel, points, self.cache_bytes)

    def expand(self, kernel, X, centres, coef, parts=None, out=None, told=None):
        by_part = [slice(0, len(centres))] if parts is None else parts
        result = np.empty((len(X), len(by_part), coef.shape[1])) if out is None else out[:, None]
        for rows in _strips(len(X), len(centres)):
            values = kernel_values(kernel, X[rows], centres)
            for k, part in enumerate(by_part):
                result[rows, k] = values[:, part] @ coef[part]
            if told is not None and told(rows.stop / len(X)):
                return None
        return result[:, 0] if parts is None else result

    def expand_roughly(self, kernel, X, centres, coef, parts=None):
        return None

    @np.errstate(over="ignore", invalid="ignore")  # `finite` looks at the angles
    def waves(self, X, frequencies, offsets, height, out):
        n_waves = len(frequencies)
        for rows in _strips(len(X), n_waves):
            angles = arrays.dots(X[rows].X.astype(np.float64, copy=False), frequencies) + offsets
            finite(angles, "the angle of a wave")
            out[rows, :n_waves] = height * np.cos(angles)
            if out.shape[1] > n_waves:
                out[rows, n_waves:] = height * np.sin(angles)

    def side_by_side(self, work, items):
        for item in items:
            work(item)


class PlainMatrix:
    """K of some points, computed whenever it is asked for."""

    def __init__(self, kernel, points, cache_bytes):
        self.kernel, self.points, self.n = kernel, points, len(points)
        self.room = cache_bytes

    def block(self, problem, state, order, dtype):
        rows = problem.row_of(order)
        return HostBlock(self.values(rows), solve_block, SPEED, problem, state, order)

    def subtract(self, gradient, rows, steps, dtype):
        return gradient - self.expansion(rows, steps)

    def expansion(self, rows, coef, told=None):
        f = np.empty(self.n)
        for strip in _strips(self.n, len(rows)):
            f[strip] = kernel_values(self.kernel, self.points[strip], self.points[rows]) @ coef
            if told is not None and told(strip.stop / self.n):
                return None
        return f

    def seconds_to_expand(self, n_rows):
        few = np.arange(min(self.n, FEW))
        began = perf_counter()
        self.values(few)
        return (perf_counter() - began) * (self.n / len(few)) * (n_rows / len(few))

    def diagonal(self):
        return diagonal_values(self.kernel, self.points)

    def values(self, rows, columns=None):
        points = self.points[rows]
        other = points if columns is None else self.points[columns]
        return kernel_values(self.kernel, points, other)


def _strips(n, width):
    return arrays.blocks(n, max(1, AT_A_TIME // max(1, width)))


def kernel_values(kernel, A, B):
    """k(x, z) for x in A and z in B; values that are not finite are an error."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(kernel.formula(Pairs(A, B)), dtype=np.float64)
    return finite(values, kernel)


def solve_block(
    K, diagonal, gradient, coef, lower, upper, epsilon, up, low, starts, stop, max_steps,
    smallest_eta, largest_eta,
):  # fmt: skip
    """SMO with second-order choice of the pair (Fan, Chen and Lin 2005) on a block, in place.

    It returns the steps taken, the violation left and the objective gained.
    """
    groups, gained = [slice(*ends) for ends in pairwise(starts) if ends[0] < ends[1]], 0.0
    for step in count():
        rise, fall = gradient + up, gradient + low
        violation, group = max(
            ((rise[part].max() - fall[part].min(), part) for part in groups),
            key=lambda pair: pair[0],
        )
        if not violation > stop or step >= max_steps:
            return step, float(violation), gained
        i = group.start + int(np.argmax(rise[group]))
        eta = np.maximum(diagonal[i] + diagonal[group] - 2.0 * K[i, group], smallest_eta)
        difference = np.maximum(rise[i] - fall[group], 0.0) / violation
        best = int(np.argmax(difference**2 / (eta / largest_eta)))
        j, difference, eta = group.start + best, rise[i] - fall[group.start + best], eta[best]
        length = min(
            difference / eta,
            room_above(coef[i], upper[i], epsilon[i]),
            room_below(coef[j], lower[j], epsilon[j]),
        )
        for k, moved in ((i, coef[i] + length), (j, coef[j] - length)):
            coef[k] = snapped(moved, coef[k], lower[k], upper[k], epsilon[k])
            up[k] = up_offset(coef[k], upper[k], epsilon[k])
            low[k] = low_offset(coef[k], lower[k], epsilon[k])
        gradient -= length * (K[i] - K[j])
        gained += length * (difference - 0.5 * length * eta)
