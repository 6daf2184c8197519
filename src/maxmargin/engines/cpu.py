"""The cpu engine: tiles of the kernel matrix, dealt out to threads, never stored whole.

A tile is a panel of rows times a stretch of columns, small enough to stay in a core's cache while
its dot products (BLAS), its kernel values (one compiled pass) and its share of the gradient are
made. Tiles do not depend on the number of threads, so neither does any result.
"""

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.dots import narrow_dots, sparse_dots
from maxmargin.compiled.rows import subtract_rows
from maxmargin.compiled.tiles import (
    FAR,
    far_gaussian_from_dots,
    gaussian_from_dots_32,
    gaussian_from_dots_64,
)
from maxmargin.engines.rows import NOT_STORED, RowCache
from maxmargin.engines.threads import single_threaded_blas, workers
from maxmargin.errors import OVERFLOW, KernelError
from maxmargin.kernels import Linear
from maxmargin.kernels.pairs import Pairs, Points
from maxmargin.memory import TILE_ROWS, rows_at_a_time

TINY = 128  # rows of a matrix for which BLAS itself does not think of threads
SMALL = 500_000  # entries that one thread computes sooner than it would wake another
NARROW = 48  # bytes of a row up to which the compiled product is faster than that of BLAS
PANEL_ROWS = 256
TILE_COLUMNS = 1024
MIRRORED_AT_ONCE = 64 << 20  # bytes: that of the largest block, whose memory is soon touched
MULTIPLE = 4 * float(np.finfo(np.float64).eps)  # two roundings: coefficients in other units
COSTLY = 64  # numbers in a point, from which on a kernel row is stored when it is first made

# glibc gives memory back to the system as soon as it is freed, if it is as large as the largest
# that was freed before. After this one, the matrices of small fits stay with the process, which
# saves the next fit a third of its time: the first touch of new memory costs more than arithmetic.
np.empty(8 << 20, dtype=np.uint8)

# By `_finite`, which says what overflowed; NumPy's own warnings would come once per thread.
OVERFLOW_IS_CHECKED_LATER = np.errstate(over="ignore", invalid="ignore")


class TilePairs(Pairs):
    """Pairs whose first answer goes into a buffer that is already in the cache."""

    def __init__(self, A, B, scratch=None):
        super().__init__(A, B)
        self._scratch = scratch

    def _buffer(self):
        shape = (len(self.A), len(self.B))
        buffer, self._scratch = self._scratch, None
        if buffer is None or buffer.size < shape[0] * shape[1]:
            return np.empty(shape, dtype=self.A.dtype)
        return buffer[: shape[0] * shape[1]].reshape(shape)

    def _dots(self, A, B):
        out = self._buffer()
        if not (arrays.is_sparse(A) and arrays.is_sparse(B)):
            if A.shape[1] * out.itemsize > NARROW:
                return arrays.dots(A, B, out=out)
            narrow_dots(arrays.dense(A), np.ascontiguousarray(arrays.dense(B).T), out)
            return out
        sparse_dots(
            A.data, A.indices, A.indptr, B.data, B.indices, B.indptr, A.shape[1], out
        )  # fmt: skip
        return out

    def dots(self):
        return self._dots(self.A.numbers, self.B.numbers)

    def gaussian(self, gamma):
        A, B, gamma = self.A.centred, self.B.centred, float(gamma)
        tile = self._dots(A, B)
        norms = self.A.centred_squared_norms, self.B.centred_squared_norms
        if tile.dtype == np.float32:
            gaussian_from_dots_32(tile, *norms, gamma)
        else:
            if gaussian_from_dots_64(tile, *norms, gamma, FAR):
                A, B = arrays.stored_alike(A, B)
                far_gaussian_from_dots(tile, *norms, gamma, FAR, arrays.flat(A), arrays.flat(B))
        if self.A is self.B:
            np.fill_diagonal(tile, 1)
        return tile


class CPUKernelMatrix:
    """Rows of K on demand, with a cache for those that are asked for again."""

    def __init__(self, engine, kernel, X, dtype, cache_bytes):
        self.kernel = kernel
        self.dtype = np.dtype(dtype)
        self.points = Points(X, dtype, may_be_thin=True)
        self.n = len(self.points)
        self._engine = engine
        self.cache_bytes = cache_bytes
        self._tiles = None
        self._cache = None
        self._whole = None

    def block(self, rows):
        """K[rows, rows]; one that holds every point once is kept for whoever asks for it again.

        Proofs are made from it, too, so that nobody may write to it.
        """
        if self._whole is not None and np.array_equal(rows, self._whole[0]):
            return self._whole[1]
        block = self._from_shared(rows) if self._is_shared(rows) else self._block(rows)
        block.flags.writeable = False
        if self._holds_all(rows) and 2 * block.nbytes <= self.cache_bytes:
            self._whole = rows.copy(), block
        return block

    def _holds_all(self, rows):
        """Whether each point is there once; a problem with two variables to a row may repeat it."""
        return len(rows) == self.n and np.array_equal(np.sort(rows), np.arange(self.n))

    def times(self, rows, coef):
        """K[:, rows] @ coef, if the whole matrix is at hand in float64."""
        if self._whole is None or self.dtype != np.float64:
            return None
        order, block = self._whole
        everywhere, product = np.zeros(self.n), np.empty(self.n)
        everywhere[rows] = coef
        product[order] = block @ everywhere[order]
        return product

    def _is_shared(self, rows):
        shared = self._engine.shared
        if shared is None or shared[0] is not self.points.X or self.dtype != np.float32:
            return False
        return len(rows) == self.n and len(rows) ** 2 > SMALL and np.all(np.diff(rows) == 1)

    @OVERFLOW_IS_CHECKED_LATER
    def _from_shared(self, rows):
        """The whole matrix of two parts; only what lies between them is computed for sure."""
        self._engine.keep_blas_to_one_thread()
        X, parts, blocks = self._engine.shared

        def within(part):
            points = Points(arrays.take(X, part), self.dtype, may_be_thin=True)
            return self._in_panels(points, points)

        block = np.empty((self.n, self.n), dtype=self.dtype)
        for name, part in parts.items():
            block[part, part] = blocks.block(name, lambda part=part: within(part))
        one, other = parts.values()
        block[one, other] = self._in_panels(self.points[one], self.points[other])
        block[other, one] = block[one, other].T
        return _finite(block, self.kernel)

    def _in_panels(self, A, B):
        """The matrix between two sets of points; from the diagonal on if they are the same."""
        values = np.empty((len(A), len(B)), dtype=self.dtype)
        for points in (A, B):
            _warm_up(self.kernel, points)

        @OVERFLOW_IS_CHECKED_LATER
        def fill(panel):
            first = panel.start if A is B else 0
            values[panel, first:] = self.kernel.formula(TilePairs(A[panel], B[first:]))
            if A is B and is_small:
                values[panel.stop :, panel] = values[panel, panel.stop :].T

        def mirror(panel):
            """What lies left of the diagonal. To write down the column of a panel as soon as its
            row is known is faster, but touches all memory of the matrix at once, and Ctrl-C would
            wait for that."""
            values[panel, : panel.start] = values[: panel.start, panel].T

        panels, is_small = arrays.blocks(len(A), PANEL_ROWS), values.nbytes <= MIRRORED_AT_ONCE
        self._engine.workers.map(fill, panels)
        if A is B and not is_small:
            self._engine.workers.map(mirror, panels)
        return values

    @OVERFLOW_IS_CHECKED_LATER
    def _block(self, rows):
        points = self.points if np.array_equal(rows, self.points.index) else self.points[rows]
        if len(rows) > TINY:
            self._engine.keep_blas_to_one_thread()
        if len(rows) ** 2 <= SMALL:
            return _finite(self.kernel.formula(TilePairs(points, points)), self.kernel)
        return _finite(self._in_panels(points, points), self.kernel)

    def subtract(self, gradient, rows, steps):
        if self._tiles is None:
            self._prepare_rows()
        result = gradient.copy()
        stored, fill = self._cache.ask(rows)
        at_hand = stored != NOT_STORED
        fresh = np.flatnonzero(~at_hand)
        panels = [fresh[part] for part in arrays.blocks(len(fresh), PANEL_ROWS)]
        panels = [(self.points[rows[p]], steps[p].astype(self.dtype), fill[p]) for p in panels]
        for panel, _, _ in panels:
            _warm_up(self.kernel, panel)
        store, old_slots, old_steps = self._cache.store, stored[at_hand], steps[at_hand]

        @OVERFLOW_IS_CHECKED_LATER
        def update(tile):
            columns, points = tile
            part = result[columns]
            subtract_rows(part, store, old_slots, old_steps, columns.start)
            scratch = np.empty(PANEL_ROWS * TILE_COLUMNS, dtype=self.dtype)
            for panel, panel_steps, slots in panels:
                values = self.kernel.formula(TilePairs(panel, points, scratch))
                part -= panel_steps @ values
                keep = np.flatnonzero(slots != NOT_STORED)
                store[slots[keep], columns] = values[keep]

        self._engine.workers.map(update, self._tiles)
        return _finite(result, self.kernel)

    def _prepare_rows(self):
        tiles = [(c, self.points[c]) for c in arrays.blocks(self.n, TILE_COLUMNS)]
        for _, points in tiles:
            _warm_up(self.kernel, points)
        room = self.cache_bytes - self.points.n_bytes
        self._cache = RowCache(self.n, self.n, self.dtype, room, self._is_costly())
        self._tiles = tiles  # when all else has worked: what overflows may be asked again

    def _is_costly(self):
        if self.kernel.takes != "features":
            return False
        X = self.points.X
        stored = np.count_nonzero(X) if self.points.is_thin else arrays.n_stored(X)
        return stored >= COSTLY * self.n


@dataclass(frozen=True)
class Expanded:
    """An expansion and what it is of."""

    kernel: object
    X: object
    rows: np.ndarray
    coef: np.ndarray
    values: np.ndarray

    def times(self, kernel, X, rows, coef):
        """The expansion of these coefficients if they are a multiple of its own; None if not."""
        if self.kernel is not kernel or self.X is not X or not np.array_equal(self.rows, rows):
            return None
        largest = np.argmax(np.abs(self.coef))
        if self.coef[largest] == 0.0:
            return None
        factor = coef[largest] / self.coef[largest]
        off = np.abs(coef - factor * self.coef)
        return factor * self.values if np.all(off <= MULTIPLE * np.abs(coef)) else None


class CPUEngine:
    """NumPy's BLAS and compiled loops on the cores this process may use."""

    def __init__(self, n_threads=None):
        self.n_threads = n_threads
        self._open = ExitStack()
        self._workers = None
        self._matrix = None
        self._expanded = None
        self._has_blas = False
        self.shared = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._workers = self._matrix = self._expanded = None
        self._has_blas = False
        self._open.close()

    def keep_blas_to_one_thread(self):
        if not self._has_blas:
            self._open.enter_context(single_threaded_blas())
            self._has_blas = True

    @property
    def workers(self):
        """Started by the first piece of work that is large enough to share."""
        if self._workers is None:
            self._workers = self._open.enter_context(workers(self.n_threads))
        return self._workers

    def share(self, X, parts, blocks):
        """From now on, what lies within two parts of X = {name: slice} is taken from `blocks`."""
        self.shared = (X, parts, blocks)

    def kernel_matrix(self, kernel, X, dtype, cache_bytes):
        """The same object, with its rows, for the machines that ask for the same matrix in turn."""
        last, wanted = self._matrix, (dtype, cache_bytes)
        if not self._is_at_hand(kernel, X) or (last.dtype, last.cache_bytes) != wanted:
            self._matrix = None  # before the next one takes its memory
            self._matrix = CPUKernelMatrix(self, kernel, X, dtype, cache_bytes)
        return self._matrix

    def _is_at_hand(self, kernel, X):
        last = self._matrix
        return last is not None and last.kernel is kernel and last.points.X is X

    def expansion(self, kernel, X, rows, coef):
        """The last one is remembered, because the proof asks for what its solver has just seen, if
        in other units."""
        last, matrix = self._expanded, self._matrix
        values = None if last is None else last.times(kernel, X, rows, coef)
        if values is not None:
            return values
        if self._is_at_hand(kernel, X):
            values = matrix.times(rows, coef)
        if values is None:
            values = self.expand(kernel, X, arrays.take(X, rows), coef[:, None], rows)[:, 0]
        self._expanded = Expanded(kernel, X, rows.copy(), coef.copy(), values)
        return values.copy()

    @OVERFLOW_IS_CHECKED_LATER
    def expand(self, kernel, X, Z, coef, index=None, parts=None):
        by_part = [slice(0, len(coef))] if parts is None else parts
        result = np.zeros((arrays.n_rows(X), len(by_part), coef.shape[1]))
        if isinstance(kernel, Linear):  # f(x) = w.x: the expansion collapses to one vector
            self._expand_linear(X, Z, coef, by_part, result)
        else:
            self._expand_tiles(kernel, X, Points(Z, index=index, may_be_thin=True), coef, by_part,
                               result)  # fmt: skip
        return _finite(result[:, 0] if parts is None else result, kernel)

    def _expand_linear(self, X, Z, coef, parts, result):
        if TINY**2 < len(result) * coef.shape[1] <= SMALL:
            self.keep_blas_to_one_thread()  # whose threads would wait for each other
        for k, part in enumerate(parts):
            result[:, k] = X @ (arrays.take(Z, part).T @ coef[part])

    def _expand_tiles(self, kernel, X, centres, coef, parts, result):
        panels = [(centres[whole], pieces) for whole, pieces in _panels(parts)]
        for panel, _ in panels:
            _warm_up(kernel, panel)

        @OVERFLOW_IS_CHECKED_LATER
        def add(rows):
            tile = Points(arrays.take(X, rows), centre_of=centres)
            scratch = np.empty(PANEL_ROWS * TILE_ROWS)
            for panel, pieces in panels:
                values = kernel.formula(TilePairs(tile, panel, scratch))
                for k, columns, own in pieces:
                    result[rows, k] += values[:, columns] @ coef[own]

        tiles = arrays.blocks(len(result), TILE_ROWS)
        if len(result) * len(centres) > TINY**2:
            self.keep_blas_to_one_thread()
        if len(result) * len(centres) <= SMALL:
            for rows in tiles:
                add(rows)
        else:
            self.workers.map(add, tiles)


def _panels(parts):
    """Panels of points that lie side by side, each with the pieces of parts in it: the number of
    the part, where in the panel it lies, and where among all points."""
    pieces = [
        (k, slice(part.start + own.start, part.start + own.stop))
        for k, part in enumerate(parts)
        for own in arrays.blocks(part.stop - part.start, PANEL_ROWS)
    ]
    panels = []
    for k, own in pieces:
        if not panels or own.stop - panels[-1][0].start > PANEL_ROWS:
            panels.append((own, []))
        first = panels[-1][0].start
        panels[-1][1].append((k, slice(own.start - first, own.stop - first), own))
        panels[-1] = slice(first, own.stop), panels[-1][1]
    return panels


@OVERFLOW_IS_CHECKED_LATER
def _warm_up(kernel, points):
    """Make the forms that the kernel needs now, once, and not in several threads at a time."""
    if kernel.takes == "features":
        one = points[:1]
        kernel.formula(Pairs(one, one))


def _finite(values, kernel):
    some_rows = arrays.blocks(len(values), rows_at_a_time(max(1, values.size // len(values))))
    if not all(np.all(np.isfinite(values[rows])) for rows in some_rows):
        raise KernelError(OVERFLOW.format(kernel))
    return values
