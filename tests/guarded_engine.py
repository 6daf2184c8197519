"""An engine whose arrays nothing else may touch, so that a leak to the host fails a test."""

from functools import wraps

from maxmargin.engines.host_block import HostBlock
from maxmargin.engines.plain import SPEED, PlainEngine, PlainMatrix, solve_block
from maxmargin.kernels.pairs import Points

_depth = [0]


def of_engine(method):
    """A method that runs where the arrays are."""

    @wraps(method)
    def inside(*given, **named):
        _depth[0] += 1
        try:
            return method(*given, **named)
        finally:
            _depth[0] -= 1

    return inside


def guarded(name):
    """A property that is for the engine alone."""

    def get(self):
        if not _depth[0]:
            raise AssertionError(f"{name} has left the engine")
        return getattr(super(type(self), self), name)

    return property(get)


class GuardedPoints(Points):
    X, numbers, centred = guarded("X"), guarded("numbers"), guarded("centred")
    centred_squared_norms = guarded("centred_squared_norms")
    variance, squared_lengths = of_engine(Points.variance), of_engine(Points.squared_lengths)
    projected, are_equal = of_engine(Points.projected), of_engine(Points.are_equal)
    on_host = of_engine(Points.on_host)


class GuardedBlock(HostBlock):
    run, stride = of_engine(HostBlock.run), of_engine(HostBlock.stride)
    refresh, is_precise = of_engine(HostBlock.refresh), True

    @property
    def K(self):
        if not _depth[0]:
            raise AssertionError("the matrix of a block has left the engine")
        return self._K

    @K.setter
    def K(self, values):
        self._K = values


class GuardedMatrix(PlainMatrix):
    subtract, expansion = of_engine(PlainMatrix.subtract), of_engine(PlainMatrix.expansion)
    diagonal, values = of_engine(PlainMatrix.diagonal), of_engine(PlainMatrix.values)

    @of_engine
    def block(self, problem, state, order, dtype):
        K = self.values(problem.row_of(order))
        return GuardedBlock(K, solve_block, SPEED, problem, state, order)


class GuardedEngine(PlainEngine):
    expand, waves = of_engine(PlainEngine.expand), of_engine(PlainEngine.waves)
    expand_roughly = of_engine(PlainEngine.expand_roughly)

    def points(self, X, index=None, beside=None):
        return GuardedPoints(X, index=index, centre_of=beside)

    def matrix(self, kernel, points):
        points = points if isinstance(points, Points) else self.points(points)
        return GuardedMatrix(kernel, points, self.cache_bytes)
