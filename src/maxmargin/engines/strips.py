"""Kernels whose tiles are made by compiled code from the products on, and what they are made for.

A kernel that is put together from others, or a function of the caller's own, is made by NumPy tile
by tile instead (`engines/cpu.py`).
"""

import numpy as np

from maxmargin import arrays
from maxmargin.compiled import strips
from maxmargin.compiled.dots import width_of
from maxmargin.compiled.numba_setup import HAS_COMPILER
from maxmargin.compiled.tiles import FAR
from maxmargin.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.memory import BLOCK_BYTES, TILE_ROWS

PANEL = TILE = 256  # BLAS is at its best with products of this many rows and columns.
# Where they are formed from a table of features, a panel stays in a core's first cache, and a tile
# may be wide. The points are dealt out in TILES tiles at least, if these are not too narrow.
TABLE_PANEL, WIDEST, TILES = 32, 1024, 128
TABLE_BYTES = 4 << 20  # A larger table holds the features that occur, and no others.
WORK_AT_ONCE = 200_000_000  # One call makes this many multiplications, and Ctrl-C waits for it.
WORK_OF_VALUE = 30  # Making a kernel value of a product takes as long as this many products.
WORK_OF_STORED = 5  # Reading one that is stored takes as long as these.
WORTH_A_HELPER = 4_000_000  # Waking a helper takes as long as this many multiplications.


def _shape(kind, coef0=0.0, degree=0):
    return strips.Shape(kind, float(coef0), int(degree))


def _shape_of_gaussian(kernel, points):
    """None, or a shape of its own where points are so far out that float64 loses digits."""
    if points.dtype != np.float64:
        return None
    largest = float(points.centred_squared_norms.max(initial=0.0))
    return None if kernel.rate * largest <= FAR else _shape(strips.FAR_GAUSSIAN)


# What compiled code is to make of a product, for each kernel it knows and some points.
SHAPES = {
    RBF: _shape_of_gaussian,
    Linear: lambda kernel, points: _shape(strips.LINEAR),
    Polynomial: lambda kernel, points: _shape(strips.POLYNOMIAL, kernel.coef0, kernel.degree),
    Sigmoid: lambda kernel, points: _shape(strips.SIGMOID, kernel.coef0),
    Laplacian: lambda kernel, points: _shape(strips.LAPLACIAN),
}


def strips_for(kernel, points):
    """The compiled way to the kernel values of some rows with others, or None if there is none."""
    if not HAS_COMPILER or type(kernel) not in SHAPES:
        return None
    way = Strips(kernel, points)
    return None if way.is_laplacian and way.is_sparse else way


class Strips:
    """Compiled tiles of a kernel, for rows of one storage and precision."""

    def __init__(self, kernel, points):
        self.is_gaussian, self.is_laplacian = type(kernel) is RBF, type(kernel) is Laplacian
        self.gamma = float(kernel.rate if self.is_gaussian else getattr(kernel, "gamma", 1.0))
        self.shape = SHAPES[type(kernel)](kernel, points)
        self.n_features = points.shape[1]
        self.itemsize, self.per_row = points.dtype.itemsize, points.stored_per_row
        self.is_sparse = points.is_held_sparse and not (self.is_by_distance and points.is_centred)

    @property
    def is_by_distance(self):
        return self.is_gaussian or self.is_laplacian

    def _numbers(self, points):
        return points.centred if self.is_by_distance else points.numbers

    def rows(self, points):
        """Points as compiled code reads them."""
        if self.is_gaussian:
            norms = points.centred_squared_norms
        else:
            norms = np.zeros(len(points), dtype=points.dtype)
        if self.is_sparse:
            return strips.Rows(*points.stored_rows(), norms)
        return strips.Rows(*arrays.laid_out(self._numbers(points)), norms)

    @property
    def has_table(self):
        return self.is_sparse or self.is_laplacian

    def recipe(self, width, height=None):
        """How tiles of that width or less are made, of so many rows, or square ones."""
        is_partial = False
        if self.is_sparse:
            is_partial = self.n_features * width * self.itemsize > TABLE_BYTES
            stored = int(self.per_row * width)
            width = min(width, int(width_of(stored, width, self.n_features, self.itemsize)))
        height = width if height is None else height
        return strips.Recipe(self.gamma, self.has_table, is_partial, height, width)

    @property
    def height(self):
        return TABLE_PANEL if self.has_table else PANEL

    def width_for(self, n):
        """The width of the tiles of n points."""
        width = WIDEST if self.has_table else TILE
        while width > TILE and width * TILES > n:
            width //= 2
        return width

    def tiles_at_once(self, recipe, n_rows):
        """How many tiles with so many rows one call makes."""
        work = recipe.width * n_rows * (self.per_row + WORK_OF_VALUE)
        return max(1, int(WORK_AT_ONCE / max(1.0, work)))

    def _threads(self, n_values, n_stored=0):
        """How many threads are worth waking for so many kernel values."""
        work = n_values * (self.per_row + WORK_OF_VALUE) + n_stored * WORK_OF_STORED
        return 1 + int(work / WORTH_A_HELPER)

    def matrix(self, A, B, workers):
        """The kernel values between two sets of points."""
        values = np.empty((len(A), len(B)), dtype=A.dtype)
        recipe, rows = self.recipe(TILE), self.rows(A)
        columns = rows if A is B else self.rows(B)
        at_once = self.tiles_at_once(recipe, recipe.height)
        workers.drain(
            lambda counter: strips.matrix_strip(
                counter, at_once, recipe, self.shape, rows, columns, self.n_features, A is B, values
            ),
            n_tiles=-(-len(A) // recipe.height) * -(-len(B) // recipe.width),
            most=self._threads(values.size / (2 if A is B else 1)),
        )
        return values

    def subtract(self, result, points, fresh, steps, slots, stored, workers):
        """Take multiples of kernel rows off `result`, and write some of them into the store."""
        recipe, rows = self.recipe(self.width_for(len(result)), self.height), self.rows(fresh)
        at_once = self.tiles_at_once(recipe, len(steps))
        workers.drain(
            lambda counter: strips.subtract_strip(
                counter, at_once, recipe, self.shape, rows, points, self.n_features, steps, slots,
                stored, result,
            ),
            n_tiles=-(-len(result) // recipe.width),
            most=self._threads(len(result) * len(steps), len(result) * len(stored[1])),
        )  # fmt: skip

    def expand(self, X, centres, coef, panels, result, workers, after=None):
        """Fill `result` with sums over centres, in the precision of these and of `coef`; returns
        the squared norms of the rows. `after` is called from time to time with the share of the
        rows that have their sums."""
        recipe, rows = self.recipe(TILE_ROWS, self.height), self.rows(centres)
        at_once, norms = self.tiles_at_once(recipe, len(coef)), np.empty(len(X))
        origin = centres.origin if self.is_by_distance else None
        origin = np.zeros(self.n_features) if origin is None else origin
        for slab in arrays.blocks(len(X), self._slab_rows(X)):
            given, out = self._given(X, slab), (norms[slab], result[slab])

            def strip(counter, given=given, out=out):
                return strips.expand_strip(
                    counter, at_once, recipe, self.shape, rows, *given, origin, coef, *panels, *out
                )  # fmt: skip

            def tell(n_tiles, slab=slab):
                after(min(1.0, (slab.start + n_tiles * recipe.width) / len(X)))

            n_tiles, n_values = -(-len(out[0]) // recipe.width), len(out[0]) * len(coef)
            workers.drain(strip, n_tiles, after and tell, self._threads(n_values))
        return norms

    def _slab_rows(self, X):
        """How many rows are looked at together: all, or as many as may be copied at a time."""
        is_copied = arrays.is_sparse(X.source.X) and not X.is_stretch
        if self._is_as_given(X.source.X) and not is_copied:
            return max(1, len(X))
        return TILE_ROWS * max(8, BLOCK_BYTES // (8 * TILE_ROWS * max(1, X.shape[1])))

    def _is_as_given(self, X):
        if arrays.is_sparse(X):
            return self.is_sparse and X.dtype == np.float64
        return X.dtype == np.float64 and X.flags.c_contiguous

    def _given(self, X, slab):
        """Some rows as they are given, laid out for compiled code in float64, and the positions of
        dense ones, which need not be copied."""
        if self._is_as_given(X.source.X) and not arrays.is_sparse(X.source.X):
            return *arrays.laid_out(X.source.X), X.places[slab]
        rows = X.given(slab)
        rows = arrays.canonical(rows) if self.is_sparse else arrays.dense(rows)
        return *arrays.laid_out(rows.astype(np.float64, copy=False)), np.arange(rows.shape[0])
