"""What an engine must be able to do: a handful of coarse operations, and no more.

An engine decides where arrays live and how the heavy steps are done. It makes `Points` of the rows
of a fit, once; machines, folds and pairs of classes are views of them. Solvers never see tiles,
threads or devices: a problem brings its kernel matrix, and the matrix does what is asked of it. The
variables of a problem (coefficients, gradient, bounds) live on the host, because a solver looks at
them one by one; kernel values live with the engine.

`engines/plain.py` is the shortest engine, to be read beside this page.
"""

from typing import Protocol

BLOCK_SHARE = 1 / 3  # The matrix of a block takes at most this part of a machine's memory.
MOST_BESIDE = 4  # Machines side by side share the memory as if they were this many.


class Points(Protocol):
    """Rows where the engine works: `kernels/pairs.py`, or what takes its place on a device.

    They have a length and a `shape`; `points[rows]` and `points.join(rows, others)` are views.
    """

    def positions(self, index):
        """The positions here of the rows with these numbers in the training set."""

    def variance(self, weight=None):
        """The variance of all entries, each row counted as often as its weight says."""

    def squared_lengths(self):
        """The squared distance of every row from the origin that distances are measured from."""

    def projected(self):
        """Every row times one random direction, by which equal rows are found."""

    def are_equal(self, rows, others):
        """Whether each of `rows` is the same point as the one of `others` beside it."""

    def on_host(self, rows):
        """Some rows as they were given."""


class Block(Protocol):
    """Some variables of a problem and their kernel matrix, on which the inner solver works.

    `order` holds the numbers of the variables, the members of each group side by side, and `size`
    is how many there are. `coef`, `gradient`, `up` and `low` are those of the variables, on the
    host. `speed` is the speed of its steps relative to compiled ones, by which the solver limits a
    call to a tenth of a second. `is_precise` says whether its matrix is in float64.
    """

    def run(self, stop, max_steps):
        """Make steps of SMO until the violation is at most `stop`; return their number, the
        violation that is left, and what the objective gained."""

    def stride(self, rounding):
        """Move all free points together; return what the objective gained, and how many
        multiplications it took. A gain of no more than `rounding` counts as none."""

    def refresh(self):
        """Compute the gradient anew, for a block of all variables; return the violation."""

    def set_coef(self, coef):
        """Set the variables; the gradient must then be refreshed."""

    def rounding(self):
        """The rounding error of a difference of two gradients, below which a violation is noise."""

    def objective(self):
        """The dual objective, for a block that is the whole problem."""


class KernelMatrix(Protocol):
    """The kernel matrix of some points, of which only parts are ever held.

    `n` counts the points, `kernel` and `points` define the matrix, and `room` is the memory in
    bytes for its values and for the points in working precision. A `dtype` is the precision that
    kernel values need; an engine may be more precise.
    """

    def block(self, problem, state, order, dtype) -> Block:
        """The block of the variables `order` of a problem, at the solver's `state`."""

    def subtract(self, gradient, rows, steps, dtype):
        """gradient - K[:, rows] @ steps, as a new float64 array on the host."""

    def expansion(self, rows, coef, told=None):
        """K[:, rows] @ coef in float64, from the data, on the host. Proofs are made from it.

        `told` is called from time to time with the share that is done; if it returns True, the work
        ends, and the answer is None. The answer does not depend on whether there is a `told`.
        """

    def seconds_to_expand(self, n_rows):
        """About how long `expansion` takes with `n_rows` rows; a small one is timed."""

    def diagonal(self):
        """K_ii in float64, on the host."""

    def values(self, rows, columns=None):
        """K[rows, rows], or K[rows, columns], as a new float64 array on the host."""


class Engine(Protocol):
    """Where the work is done: engine="cpu" is `engines/cpu.py`.

    An engine is a context manager: threads or streams live from `__enter__` to `__exit__`.
    """

    def points(self, X, index=None, beside=None):
        """Bring rows to where the engine works. `index` holds their numbers in the training set.
        They take the origin of `beside`, the points that they will be compared with."""

    def matrix(self, kernel, points) -> KernelMatrix:
        """The kernel matrix of points. Values that any machine has asked for may be used again."""

    def expand(self, kernel, X, centres, coef, parts=None, out=None, told=None):
        """sum_i coef_i k(z_i, x) for every point x of X, over the points z_i in `centres`, in
        float64, on the host.

        `coef` has one column per function. `parts`, slices of the centres one after the other, asks
        for the sums over each part by itself; the axes of the answer are then rows of X, parts and
        functions. An `out` for the sums over all centres takes them in its own precision. `told` is
        as in `KernelMatrix.expansion`.
        """

    def expand_roughly(self, kernel, X, centres, coef, parts=None):
        """The same in less precision, and how far the sums over each part can be off at most, for
        every row; or None if that is no faster. A label is known from it nearly always."""

    def waves(self, X, frequencies, offsets, height, out):
        """Write height cos(w.x + b) for every point x of X and every frequency w with its offset b
        into `out`, on the host, and the sines beside them if `out` has room for both."""

    def side_by_side(self, work, items):
        """Call work(item) for every item, several at a time where that helps."""
