"""The cpu engine: tiles of the kernel matrix, dealt out to threads, never stored whole.

A tile is a panel of rows times a stretch of columns, small enough to stay in a core's cache while
its dot products (BLAS), its kernel values (one compiled pass) and its share of the gradient are
made. Tiles do not depend on the number of threads, so neither does any result.
"""

import threading
from contextlib import ExitStack
from functools import lru_cache, partial
from itertools import count
from numbers import Integral
from time import perf_counter

import numpy as np

from maxmargin import arrays
from maxmargin.compiled.dots import narrow_dots, sparse_dots, table_dots
from maxmargin.compiled.numba_setup import HAS_COMPILER
from maxmargin.compiled.smo import solve_block
from maxmargin.compiled.tiles import (
    FAR,
    far_gaussian_from_dots,
    gaussian_from_dots_32,
    gaussian_from_dots_64,
    subtract_rows,
)
from maxmargin.compiled.waves import COSINES, SINES, write_waves
from maxmargin.engines.base import BLOCK_SHARE, MOST_BESIDE
from maxmargin.engines.host_block import HostBlock
from maxmargin.engines.rough import error_of_float32, with_sizes
from maxmargin.engines.rows import NOT_STORED, SHARED, BlockStore, RowCache
from maxmargin.engines.strips import strips_for
from maxmargin.engines.threads import Workers, single_threaded_blas, workers
from maxmargin.errors import KernelError
from maxmargin.kernels import RBF, Linear
from maxmargin.kernels.pairs import Pairs, Points, diagonal_values, finite, stored_alike
from maxmargin.memory import TILE_ROWS

TINY = 128  # BLAS starts no threads for a matrix of so few rows.
SMALL = 500_000  # One thread computes this many entries sooner than it would wake another.
NARROW = 48  # For rows of so few bytes, the compiled product is faster than that of BLAS.
PANEL_ROWS = 256
TILE_COLUMNS = 1024  # A tile of PANEL_ROWS rows and as many columns stays in a core's second cache.
MOST_IN_PYTHON = 4  # More threads would wait for each other where Python makes the tiles.
FEW = 1024  # An expansion of this many points is timed, to see how long a larger one takes.
# A matrix of this many bytes, as the largest block has, is soon mirrored as a whole.
MIRRORED_AT_ONCE = 64 << 20
COSTLY = 64  # A kernel row of points of this many numbers is stored when it is first made.
# From this many functions on, a tile has LOW_TILE rows and panels of LONG_PANEL centres.
WIDE = 32
LOW_TILE, LONG_PANEL = 256, 1024
TILE_PRODUCTS = 1 << 28  # A tile makes no more products, which take ten milliseconds, for Ctrl-C.
COLLAPSED = 1 << 23  # The weight vectors of linear kernels may hold this many numbers together.
TABLE_NUMBERS = (
    1 << 22
)  # A table of frequencies that sparse rows read by lines has this many numbers.

ALONE = Workers(1)
SPEED = 1.0 if HAS_COMPILER else 1e-3  # Loops that are not compiled take a thousand times as long.

# `finite` says what overflowed; NumPy's own warnings would come once per thread.
OVERFLOW_IS_CHECKED_LATER = np.errstate(over="ignore", invalid="ignore")


@lru_cache(maxsize=1)
def keep_memory_of_small_fits():
    """Let the process keep the memory of small fits, which saves the next fit a third of its time.

    The first touch of new memory costs more than arithmetic. (glibc returns a freed array to the
    system at once, if it is as large as the largest that was freed before.)
    """
    np.empty(8 << 20, dtype=np.uint8)


class TilePairs(Pairs):
    """Pairs that write their first tile into a buffer that is already in the cache."""

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
                A, B = (arrays.laid_out(X) for X in stored_alike(A, B))
                far_gaussian_from_dots(tile, *norms, gamma, FAR, *A, 0, *B, 0)
        if self.A is self.B:
            np.fill_diagonal(tile, 1)
        return tile


class _DeclinedError(Exception):
    """Raised when `told`, which hears how far an expansion is, asks for its end."""


class CPUKernelMatrix:
    """Rows of K on demand, with a cache for those that are used again."""

    def __init__(self, engine, kernel, points):
        self.kernel, self.points, self.n = kernel, points, len(points)
        self._engine = engine
        self.room = engine.room_for(points)
        self._rows = self._whole = self._diagonal = self._seconds_per_work = None

    def is_of(self, kernel, points):
        """Whether this is the matrix of an equal kernel on the same rows."""
        is_same = self.points.source is points.source and self.points.key == points.key
        return is_same and self.kernel.key == kernel.key

    def block(self, problem, state, order, dtype):
        K = self._block(problem.row_of(order), np.dtype(dtype))
        return HostBlock(K, solve_block, SPEED, problem, state, order)

    def values(self, rows, columns=None):
        if columns is None:
            block = self._block(rows, np.dtype(np.float64))
            if self._whole is not None and block is self._whole[1]:
                return block.copy()
            block.flags.writeable = True
            return block
        points = self.points.astype(np.float64)
        return self._checked(self._in_panels(points[rows], points[columns]))

    def diagonal(self):
        if self._diagonal is None:
            self._diagonal = diagonal_values(self.kernel, self.points)
        return self._diagonal

    def expansion(self, rows, coef, told=None):
        if self._whole is not None and self._whole[1].dtype == np.float64:
            order, block = self._whole
            everywhere, product = np.zeros(self.n), np.empty(self.n)
            everywhere[rows] = coef
            product[order] = block @ everywhere[order]
            return product
        points = self.points.astype(np.float64)
        return self._expanded(points, points[rows], coef, told)

    def _expanded(self, points, centres, coef, told=None):
        f = self._engine.expand(self.kernel, points, centres, coef[:, None], told=told)
        return None if f is None else f[:, 0]

    def seconds_to_expand(self, n_rows):
        if self._seconds_per_work is None:
            points = self.points.astype(np.float64)[: min(self.n, FEW)]
            seconds = min(self._seconds_of(points) for _ in range(2))  # the first one warms up
            self._seconds_per_work = seconds / self._work(len(points), len(points))
        return self._seconds_per_work * self._work(self.n, n_rows)

    def _work(self, n, n_rows):
        """A number that the time of an expansion is proportional to; a linear kernel collapses."""
        return n + n_rows if isinstance(self.kernel, Linear) else n * n_rows

    def _seconds_of(self, points):
        began = perf_counter()
        self._expanded(points, points, np.ones(len(points)))
        return perf_counter() - began

    def _block(self, rows, dtype):
        """K[rows, rows]; the last block that holds every point once is kept.

        Proofs use it, too, so that nothing may write to it.
        """
        last = self._whole
        if last is not None and last[1].dtype == dtype and np.array_equal(rows, last[0]):
            return last[1]
        holds_all = len(rows) == self.n and np.array_equal(np.sort(rows), np.arange(self.n))
        block = self._from_pieces(rows, dtype) if holds_all else None
        if block is None:
            block = self._computed(rows, dtype)
        block.flags.writeable = False
        if holds_all and 2 * block.nbytes <= self.room:
            self._whole = rows.copy(), block
        return block

    @OVERFLOW_IS_CHECKED_LATER
    def _from_pieces(self, rows, dtype):
        """The whole matrix of points that were joined from pieces, such as classes. The block of a
        piece is made once for all machines. None without pieces, or where that does not pay."""
        points = self.points.astype(dtype)
        sizes = [len(piece) for piece in self.points.pieces]
        if len(sizes) < 2 or len(rows) ** 2 <= SMALL or np.any(np.diff(rows) != 1):
            return None
        self._engine.keep_blas_to_one_thread()
        block, ends = np.empty((self.n, self.n), dtype=dtype), np.cumsum(sizes)
        parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        for k, part in enumerate(parts):
            piece = self.points.pieces[k].astype(dtype)
            key, n_bytes = (self.kernel.key, dtype, piece.key), dtype.itemsize * sizes[k] ** 2
            make = partial(self._in_panels, piece, piece)
            block[part, part] = self._engine.store.block(points.source, key, n_bytes, make)
            for other in parts[:k]:
                block[other, part] = self._in_panels(points[other], points[part])
                block[part, other] = block[other, part].T
        return self._checked(block)

    def _checked(self, values):
        """The values, unless the kernel may overflow and has done so."""
        return values if self.kernel.is_bounded else finite(values, self.kernel)

    @OVERFLOW_IS_CHECKED_LATER
    def _computed(self, rows, dtype):
        points = self.points.astype(dtype)
        points = points if np.array_equal(rows, np.arange(self.n)) else points[rows]
        if len(rows) > TINY:
            self._engine.keep_blas_to_one_thread()
        if len(rows) ** 2 <= SMALL:
            return self._checked(self.kernel.formula(TilePairs(points, points)))
        return self._checked(self._in_panels(points, points))

    def _in_panels(self, A, B):
        """The matrix between two sets of points; if they are the same, half of it is computed."""
        shared_by = ALONE if len(A) * len(B) <= SMALL else self._engine.workers
        if compiled := strips_for(self.kernel, A):
            return compiled.matrix(A, B, shared_by)
        values = np.empty((len(A), len(B)), dtype=A.dtype)
        for points in (A, B):
            _warm_up(self.kernel, points.kept())

        @OVERFLOW_IS_CHECKED_LATER
        def fill(panel):
            first = panel.start if A is B else 0
            values[panel, first:] = self.kernel.formula(TilePairs(A[panel], B[first:]))
            if A is B and is_small:
                values[panel.stop :, panel] = values[panel, panel.stop :].T

        def mirror(panel):
            """Fill what lies left of the diagonal. Writing the column of a panel as soon as its row
            is known is faster, but touches all memory of the matrix at once, and Ctrl-C would wait
            for that."""
            values[panel, : panel.start] = values[: panel.start, panel].T

        panels, is_small = arrays.blocks(len(A), PANEL_ROWS), values.nbytes <= MIRRORED_AT_ONCE
        shared_by.map(fill, panels, MOST_IN_PYTHON)
        if A is B and not is_small:
            shared_by.map(mirror, panels, MOST_IN_PYTHON)
        return values

    def subtract(self, gradient, rows, steps, dtype):
        if self._rows is None or self._rows.dtype != dtype:
            self._rows = None  # frees its memory before the next one takes it
            room = int((1 - BLOCK_SHARE) * self.room)
            self._rows = _Rows(self.kernel, self.points.astype(dtype).kept(), room)
        return finite(self._rows.subtracted(gradient, rows, steps, self._engine), self.kernel)


class _Rows:
    """Tiles of columns, and the cache of rows, in one precision."""

    def __init__(self, kernel, points, room):
        self.kernel, self.points, self.dtype = kernel, points, points.dtype
        n = len(points)
        self.compiled = strips_for(kernel, points)
        if self.compiled is not None:
            self.rows = self.compiled.rows(points)
        else:
            self.tiles = [(columns, points[columns]) for columns in arrays.blocks(n, TILE_COLUMNS)]
            for _, tile in self.tiles:
                _warm_up(kernel, tile)
        self.cache = RowCache(n, n, self.dtype, room - points.n_bytes, self._is_costly())

    def _is_costly(self):
        return self.kernel.takes == "features" and self.points.stored_per_row >= COSTLY

    def subtracted(self, gradient, rows, steps, engine):
        result = gradient.copy()
        stored, fill = self.cache.ask(rows)
        at_hand = stored != NOT_STORED
        fresh = np.flatnonzero(~at_hand)
        if self.compiled is not None:
            self.compiled.subtract(
                result, self.rows, self.points[rows[fresh]], steps[fresh].astype(self.dtype),
                fill[fresh], (self.cache.store, stored[at_hand], steps[at_hand]), engine.workers,
            )  # fmt: skip
            return result
        panels = [fresh[part] for part in arrays.blocks(len(fresh), PANEL_ROWS)]
        panels = [(self.points[rows[p]], steps[p].astype(self.dtype), fill[p]) for p in panels]
        for panel, _, _ in panels:
            _warm_up(self.kernel, panel)
        store, old_slots, old_steps = self.cache.store, stored[at_hand], steps[at_hand]

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

        engine.workers.map(update, self.tiles, MOST_IN_PYTHON)
        return result


class CPUEngine:
    """NumPy's BLAS and compiled loops on the cores this process may use.

    `cache_bytes` is for kernel values and for the points in working precision. `n_threads` is the
    number of threads, by default as many as there are cores and BLAS may use. While the engine is
    not open, it works in the calling thread alone, and leaves BLAS as it is.
    """

    def __init__(self, cache_bytes=200 << 20, n_threads=None):
        if n_threads is not None and not (isinstance(n_threads, Integral) and n_threads >= 1):
            raise ValueError(
                "CPUEngine: n_threads must be None or a whole number of at least 1, "
                f"got {n_threads!r}."
            )
        keep_memory_of_small_fits()
        self.cache_bytes, self.n_threads = cache_bytes, n_threads
        self.store = BlockStore(cache_bytes)
        self._open, self._depth, self._lock = ExitStack(), 0, threading.RLock()
        self._workers, self._pool, self._n_left = None, ALONE, 0
        self._has_blas = False
        self._of_thread = threading.local()  # it holds the last matrix and `is_beside`

    def __reduce__(self):
        return type(self), (self.cache_bytes, self.n_threads)

    def __deepcopy__(self, memo):
        return self  # clones of an estimator share its engine

    def __enter__(self):
        with self._lock:
            self._depth += 1
        return self

    def __exit__(self, *exception):
        with self._lock:
            self._depth -= 1
            if self._depth:
                return  # an outer context is still open
            ended, self._open = self._open, ExitStack()
            self._workers, self._of_thread = None, threading.local()
            self.store, self._has_blas = BlockStore(self.cache_bytes), False
        ended.close()

    def keep_blas_to_one_thread(self):
        """Limit BLAS until the engine is closed; an engine that is not open leaves BLAS alone."""
        with self._lock:
            if self._depth and not self._has_blas:
                self._open.enter_context(single_threaded_blas())
                self._has_blas = True

    @property
    def workers(self):
        """The threads, of which machines side by side have a share each. An engine that is not
        open works alone."""
        if self._is_beside:
            return self._pool.part(-(-self._pool.n_threads // self._n_beside))
        with self._lock:
            if not self._depth:
                return ALONE
            if self._workers is None:
                self._workers = self._open.enter_context(workers(self.n_threads))
            return self._workers

    @property
    def _is_beside(self):
        return getattr(self._of_thread, "is_beside", False)

    def side_by_side(self, work, items):
        items = list(items)

        def alone(item):
            # The last digits of cached rows depend on the rows they were made with, and which
            # machine had this thread before is a matter of chance.
            self._of_thread.matrix, self._of_thread.is_beside = None, True
            try:
                work(item)
            finally:
                self._of_thread.is_beside = False
                self._n_left -= 1

        self.keep_blas_to_one_thread()
        with workers(self.n_threads) as self._pool:
            self._n_left = len(items)
            self._pool.part(self._n_beside).map(alone, items)

    @property
    def _n_beside(self):
        """How many machines are under way side by side."""
        return max(1, min(self._pool.n_threads, MOST_BESIDE, self._n_left))

    def room_for(self, points):
        """The bytes that a machine may use. It must not depend on what others have taken so far, or
        results would depend on their order."""
        room = self.cache_bytes - self._shared_by(points)
        return int(room / MOST_BESIDE if self._is_beside else room)

    def _shared_by(self, points):
        """The bytes that blocks in the store will take, if all pieces are as large as these."""
        if len(points.pieces) < 2:
            return 0
        typical = len(points) / len(points.pieces)
        return min(SHARED * self.cache_bytes, 4 * points.n_of_whole * typical)

    def points(self, X, index=None, beside=None):
        return Points(X, index=index, centre_of=beside, may_be_thin=True)

    def matrix(self, kernel, points):
        points = points if isinstance(points, Points) else self.points(points)
        last = getattr(self._of_thread, "matrix", None)
        if last is None or not last.is_of(kernel, points):
            self._of_thread.matrix = None  # frees its memory before the next one takes it
            self._of_thread.matrix = CPUKernelMatrix(self, kernel, points)
        return self._of_thread.matrix

    @OVERFLOW_IS_CHECKED_LATER
    def expand(self, kernel, X, centres, coef, parts=None, out=None, told=None):
        by_part = [slice(0, len(coef))] if parts is None else parts
        result = np.empty((len(X), len(by_part), coef.shape[1])) if out is None else out[:, None]

        def tell(share):
            if told(share):
                raise _DeclinedError

        sums = _sums(kernel, X, centres, coef, by_part)
        workers = self._workers_for(len(X) * sums.n_values)
        try:
            sums.fill(result, X, workers, told and tell)
        except _DeclinedError:
            return None
        finite(result, kernel)
        return result[:, 0] if parts is None else result

    @OVERFLOW_IS_CHECKED_LATER
    def expand_roughly(self, kernel, X, centres, coef, parts=None):
        by_part = [slice(0, len(coef))] if parts is None else parts
        n_values = len(X) * len(centres)
        if n_values <= SMALL or type(kernel) is not RBF or coef.shape[1] >= WIDE:
            return None
        rough, coef = centres.astype(np.float32), with_sizes(coef)
        sums = _CompiledSums(strips_for(kernel, rough), rough, coef, by_part)
        result = np.empty((len(X), len(by_part), coef.shape[1]))
        try:
            norms = sums.fill(result, X, self._workers_for(n_values))
        except KernelError:
            return None  # the centres are beyond the range of float32
        totals = np.array([coef[part, -1].sum() for part in by_part])
        errors = error_of_float32(result[:, :, -1], totals, norms, rough, kernel.rate)
        sums = result[:, :, :-1]
        return (sums[:, 0], errors[:, 0]) if parts is None else (sums, errors)

    def waves(self, X, frequencies, offsets, height, out):
        n_waves = len(frequencies)
        for some in arrays.blocks(n_waves, _waves_at_a_time(X, n_waves)):
            table = _readable(frequencies[some].T, X)
            starts = range(some.start, out.shape[1], n_waves)  # for the cosines, and the sines
            parts = [out[:, start : start + table.shape[1]] for start in starts]
            self._write_waves(X, table, offsets[some], height, parts)

    def _write_waves(self, X, table, offsets, height, parts):
        @OVERFLOW_IS_CHECKED_LATER
        def fill(rows):
            angles = _times(X[rows].X, table)
            for part, ahead in zip(parts, (COSINES, SINES), strict=False):
                if write_waves(angles, offsets, height, ahead, part[rows]):
                    finite(part[rows], "the angle of a wave")

        tiles = arrays.blocks(len(X), LOW_TILE)
        self._workers_for(len(X) * len(offsets)).map(fill, tiles)

    def _workers_for(self, n_values):
        """The threads that make this many values; a few values are made by one."""
        if n_values > TINY**2:
            self.keep_blas_to_one_thread()  # threads of BLAS would wait for each other
        return ALONE if n_values <= SMALL else self.workers


def _sums(kernel, X, centres, coef, parts):
    """The fastest object that sums kernel values over centres."""
    if isinstance(kernel, Linear) and X.shape[1] * len(parts) * coef.shape[1] <= COLLAPSED:
        return _LinearSums(kernel, centres, coef, parts)
    compiled = strips_for(kernel, centres) if coef.shape[1] < WIDE else None
    if compiled is None:
        return _Sums(kernel, centres, coef, parts)
    return _CompiledSums(compiled, centres, coef, parts)


class _CompiledSums:
    """Sums for a kernel that `compiled/strips.py` knows."""

    def __init__(self, compiled, centres, coef, parts):
        self.compiled, self.centres, self.n_values = compiled, centres, len(centres)
        self.coef = np.ascontiguousarray(coef, dtype=centres.dtype)
        self.panels = _numbered(_panels(parts, compiled.height))

    def fill(self, result, X, workers, tell=None):
        return self.compiled.expand(X, self.centres, self.coef, self.panels, result, workers, tell)


def _numbered(panels):
    """Panels and their pieces as compiled code reads them: two tables."""
    pieces = [(k, own.start, own.stop) for _, inside in panels for k, _, own in inside]
    ends = np.cumsum([0] + [len(inside) for _, inside in panels])
    bounds = [(whole.start, whole.stop) for whole, _ in panels] + [(0, 0)]
    table = np.column_stack([np.array(bounds).reshape(-1, 2), ends])
    return table.astype(np.int64), np.array(pieces, dtype=np.int64).reshape(-1, 3)


class _SumsByTile:
    """Sums that Python makes for one tile of rows after the other."""

    most_threads: int | None = MOST_IN_PYTHON

    def fill(self, result, X, workers, tell):
        tiles, n_done = arrays.blocks(len(X), self.height), count(1)
        asked = threading.current_thread()  # only this thread calls `tell`

        @OVERFLOW_IS_CHECKED_LATER
        def fill(rows):
            result[rows] = self.of(X[rows])
            share = next(n_done) / len(tiles)
            if tell is not None and threading.current_thread() is asked:
                tell(share)

        workers.map(fill, tiles, self.most_threads)


class _Sums(_SumsByTile):
    """Sums over centres for any kernel: a tile of kernel values, panel by panel, times `coef`.

    `height` is the number of rows of a tile, and `n_values` counts the kernel values of a row. With
    many functions the product with `coef` is the heavy step, which long panels make faster.
    """

    def __init__(self, kernel, centres, coef, parts):
        self.kernel, self.coef, self.n_parts = kernel, coef, len(parts)
        is_wide = coef.shape[1] >= WIDE
        self.height = _height(coef.size, LOW_TILE) if is_wide else TILE_ROWS
        self.width, self.n_values = LONG_PANEL if is_wide else PANEL_ROWS, len(centres)
        panels = _panels(parts, self.width)
        self.panels = [(centres[whole].kept(), pieces) for whole, pieces in panels]
        for panel, _ in self.panels:
            _warm_up(kernel, panel)

    def of(self, tile):
        sums = np.zeros((len(tile), self.n_parts, self.coef.shape[1]))
        scratch = np.empty(len(tile) * min(self.width, self.n_values))
        for panel, pieces in self.panels:
            values = self.kernel.formula(TilePairs(tile, panel, scratch))
            for k, columns, own in pieces:
                sums[:, k] += values[:, columns] @ self.coef[own]
        return sums


class _LinearSums(_SumsByTile):
    """Sums for a linear kernel, which collapse to one weight vector per function: f(x) = w.x."""

    most_threads = None  # A tile is one product, so the interpreter's lock does not matter.

    def __init__(self, kernel, centres, coef, parts):
        vectors = [arrays.take(centres.X, part).T @ coef[part] for part in parts]
        self.w = np.ascontiguousarray(np.concatenate(vectors, axis=1))
        self.shape, self.n_values = (len(parts), coef.shape[1]), self.w.shape[1]
        self.height = _height(self.w.size, 16 * TILE_ROWS)

    def of(self, tile):
        return _times(tile.X, self.w).reshape(len(tile), *self.shape)


def _height(products_per_row, most):
    """The number of rows of a tile: a power of two that takes one thread only a moment."""
    rows = max(1, min(most, TILE_PRODUCTS // max(1, products_per_row)))
    return 1 << (rows.bit_length() - 1)


def _waves_at_a_time(X, n_waves):
    """How many frequencies are multiplied with all rows before the next ones."""
    if not arrays.is_sparse(X.source.X):
        return LONG_PANEL
    return max(TABLE_NUMBERS // max(1, X.shape[1]), n_waves // 8, 1)


def _readable(table, X):
    """A transposed table as `_times` reads it; BLAS reads it as it is."""
    is_for_blas = not arrays.is_sparse(X.source.X) and 8 * len(table) > NARROW
    return table if is_for_blas else np.ascontiguousarray(table)


def _times(rows, table):
    """rows @ table in float64, for rows of any precision, dense or sparse, and a dense table."""
    rows = rows.astype(np.float64, copy=False)
    out = np.empty((rows.shape[0], table.shape[1]))
    if arrays.is_sparse(rows):
        table_dots(rows.data, rows.indices, rows.indptr, table, out)
    elif 8 * len(table) > NARROW:
        np.dot(rows, table, out=out)
    else:
        narrow_dots(rows, table, out)
    return out


def _panels(parts, width):
    """Panels of neighbouring points, each with the pieces of parts in it: the number of the part,
    and where the piece lies in the panel and among all points."""
    pieces = [
        (k, slice(part.start + own.start, part.start + own.stop))
        for k, part in enumerate(parts)
        for own in arrays.blocks(part.stop - part.start, width)
    ]
    panels = []
    for k, own in pieces:
        if not panels or own.stop - panels[-1][0].start > width:
            panels.append((own, []))
        first = panels[-1][0].start
        panels[-1][1].append((k, slice(own.start - first, own.stop - first), own))
        panels[-1] = slice(first, own.stop), panels[-1][1]
    return panels


@OVERFLOW_IS_CHECKED_LATER
def _warm_up(kernel, points):
    """Make the forms that the kernel needs now and once, not in several threads at a time."""
    if kernel.takes == "features":
        one = points[:1]
        kernel.formula(Pairs(one, one))
