"""Kernel matrices for tests of what works on them."""

from contextlib import contextmanager
from dataclasses import replace

from maxmargin.engines import engine_of


def matrix_of(kernel, X):
    """The matrix of a kernel on the rows of X, in plain NumPy."""
    return engine_of("plain").matrix(kernel, X)


@contextmanager
def on(engine, problem):
    """The same problem with its matrix on another engine, of that name."""
    with engine_of(engine) as engine:
        yield replace(problem, matrix=engine.matrix(problem.kernel, problem.points.X))
