"""Products with X, its constant feature included, in blocks of rows that threads share.

Invariant: sums are formed in the order of the blocks, whoever computed which, so that no result
depends on the number of threads.
"""

import numpy as np

from maxmargin import arrays

ROW_BLOCK = 4096
FULL = 0.3  # the share of stored values above which rows are multiplied as dense ones
SPARSE_PARTS = 8  # of the rows: each has a matrix of its own
MOSTLY = 0.7  # the share of rows that count, above which the others are not worth leaving out


class RowBlocks:
    """X w, X'v and X' diag(weight) X for a linear problem."""

    def __init__(self, problem, pool):
        self.X, self.bias, self.pool = problem.X, problem.bias, pool
        self.parts = arrays.blocks(problem.n, ROW_BLOCK)
        stored = problem.X.nnz if arrays.is_sparse(problem.X) else problem.X.size
        self._is_full = stored > FULL * problem.X.shape[0] * problem.X.shape[1]

    def times(self, w):
        result = np.empty(self.X.shape[0])

        def work(part):
            result[part] = self.X[part] @ w[:-1] + self.bias * w[-1]

        self.pool.map(work, self.parts)
        return result

    def transposed(self, values):
        def of_part(part):
            return np.append(self.X[part].T @ values[part], self.bias * values[part].sum())

        return self._sum(of_part)

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

        return self._sum(of_part)

    def _sparse_gram(self, weight):
        """From the pairs of stored values of each row."""
        from maxmargin.compiled.linear import weighted_gram

        def of_part(part):
            rows, gram = self.X[part], np.zeros((self.X.shape[1] + 1, self.X.shape[1] + 1))
            weighted_gram(rows.data, rows.indices, rows.indptr, weight[part], self.bias, gram)
            return gram

        lower = self._sum(of_part, arrays.blocks(len(weight), len(weight) // SPARSE_PARTS + 1))
        return lower + np.tril(lower, -1).T

    def _sum(self, of_part, parts=None):
        parts = self.parts if parts is None else parts
        found = [None] * len(parts)

        def work(k):
            found[k] = of_part(parts[k])

        self.pool.map(work, range(len(parts)))
        return sum(found[1:], found[0])
