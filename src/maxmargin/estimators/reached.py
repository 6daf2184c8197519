"""Where the machines of a fit stood at its end, so that a warm start goes on from there.

A model has its coefficients, but not Kc, which costs a pass over all support vectors. And a fit
that was cut short returns the best model it has seen, which is not where its solver stood. Both are
kept here, in memory, as long as `warm_start` is on. They belong to a kernel and to rows, which a
digest identifies.
"""

from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from maxmargin import arrays


@dataclass(frozen=True)
class Reached:
    """The rows of each machine and the solution of its dual problem, by its task."""

    digest: bytes | None = None
    machines: dict = field(default_factory=dict)

    @classmethod
    def by(cls, outcomes, digest):
        machines = {one.machine.task: (one.machine.all_rows, one.found) for one in outcomes}
        return cls(digest, machines)

    def start(self, machine, problem):
        """Where the machine stood, if that is feasible and the rows are the same; or None."""
        rows, found = self.machines.get(machine.task, (None, None))
        if found is None or not np.array_equal(rows, machine.all_rows):
            return None
        points = [found.coef] if found.reached is None else [found.coef, found.reached.coef]
        is_feasible = all(np.array_equal(c, problem.nearest_feasible(c)) for c in points)
        return found if is_feasible else None


def digest_of(X, kernel):
    """A digest of rows and kernel; None for rows that are not numbers."""
    if arrays.is_sparse(X):
        parts = [X.data, X.indices, X.indptr]
    elif isinstance(X, np.ndarray) and X.dtype != object:
        parts = [X]
    else:
        return None
    digest = blake2b(repr((X.shape, kernel.key)).encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).data.cast("B"))
    return digest.digest()
