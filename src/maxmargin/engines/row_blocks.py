"""Products with X, its constant feature included, in blocks of rows that threads share.

Invariant: sums are formed in the order of the blocks, whichever thread computed them, so that no
result depends on the number of threads. Neither memory nor the wait after Ctrl-C grows with the
rows: a block is soon done, and only some of the matrices to be summed exist at a time.
"""

import numpy as np

from maxmargin import arrays

ROW_BLOCK = 4096  # A block of this many rows is soon done, so that Ctrl-C is seen.
FULL = 0.3  # Above this share of stored values, rows are multiplied as dense ones.
# Sparse rows are dealt out in at least this many parts, each of which has a matrix of its own.
SPARSE_PARTS = 8
# A block of a Gram matrix takes this many products of two numbers by BLAS, so that Ctrl-C is seen.
BLOCK_WORK = 2_000_000_000
SPARSE_WORK = 100_000_000  # A block of sparse rows takes this many products, which are slower.
SUMMED_BYTES = 256 << 20  # The matrices that wait to be summed take this much memory at most.
MOSTLY = 0.7  # Above this share of rows with a weight, the others are not worth leaving out.


class RowBlocks:
    """X w, X'v and X' diag(weight) X for a linear problem."""

    def __init__(self, problem, pool):
        self.X, self.bias, self.pool = problem.X, problem.bias, pool
        self.parts = arrays.blocks(problem.n, ROW_BLOCK)
        stored = arrays.n_stored(problem.X)
        self._is_full = stored > FULL * problem.X.shape[0] * problem.X.shape[1]

    def times(self, w):
        result = np.empty(self.X.shape[0])

        def work(part):
            self._times(part, w[:-1], result[part])
            result[part] += self.bias * w[-1]

        self.pool.map(work, self.parts)
        return result

    def _times(self, part, w, out):
        if arrays.is_sparse(self.X):
            from maxmargin.compiled.linear import dot_rows

            dot_rows(*self._stored(part), w, out)
        else:
            np.dot(self.X[part], w, out=out)

    def transposed(self, values):
        def of_part(part):
            return np.append(self._transposed(part, values[part]), self.bias * values[part].sum())

        return summed(self.pool, of_part, self.parts, len(self.parts))

    def _transposed(self, part, values):
        if not arrays.is_sparse(self.X):
            return self.X[part].T @ values
        from maxmargin.compiled.linear import sum_rows

        total = np.zeros(self.X.shape[1])
        sum_rows(*self._stored(part), values, total)
        return total

    def _stored(self, part):
        """Sparse rows as compiled loops take them; SciPy would copy them."""
        return self.X.data, self.X.indices, self.X.indptr[part.start : part.stop + 1]

    def gram(self, weight):
        if arrays.is_sparse(self.X) and not self._is_full:
            return self._sparse_gram(weight)

        def of_part(part):
            root, rows = np.sqrt(weight[part]), self.X[part]
            if np.count_nonzero(root) < MOSTLY * len(root):
                counts = np.flatnonzero(root)
                root, rows = root[counts], rows[counts]
            block = np.empty((len(root), self.X.shape[1] + 1))
            np.multiply(arrays.dense(rows), root[:, None], out=block[:, :-1])
            block[:, -1] = self.bias * root
            return block.T @ block

        height = max(1, min(ROW_BLOCK, BLOCK_WORK // (self.X.shape[1] + 1) ** 2))
        parts = arrays.blocks(len(weight), height)
        return summed(self.pool, of_part, parts, matrices_at_once(self.X.shape[1] + 1))

    def _sparse_gram(self, weight):
        """The Gram matrix from the pairs of stored values of each row."""
        from maxmargin.compiled.linear import weighted_gram

        def of_part(part):
            gram = np.zeros((size, size))
            weighted_gram(*self._stored(part), weight[part], self.bias, gram)
            return gram

        size = self.X.shape[1] + 1
        n_pairs = float(np.sum(np.diff(self.X.indptr).astype(np.float64) ** 2)) / 2
        n_parts = max(SPARSE_PARTS, int(n_pairs / SPARSE_WORK))
        parts = arrays.blocks(len(weight), len(weight) // n_parts + 1)
        lower = summed(self.pool, of_part, parts, matrices_at_once(size))
        return lower + np.tril(lower, -1).T


def matrices_at_once(size):
    """How many square matrices of a size may wait to be summed."""
    return max(SPARSE_PARTS, SUMMED_BYTES // (8 * size**2))


def summed(pool, of_part, parts, at_once):
    """The sum of of_part(part) over all parts, in their order; some are worked on at once."""
    found = [None] * len(parts)

    def work(k):
        found[k] = of_part(parts[k])

    total = 0.0
    for some in arrays.blocks(len(parts), at_once):
        ready = range(some.start, some.stop)
        pool.map(work, ready)
        for k in ready:
            total, found[k] = total + found[k], None
    return total
