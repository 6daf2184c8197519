"""A small zoo of binary problems: the cases on which solvers trip."""

from dataclasses import dataclass

import numpy as np
from matrices import matrix_of

from maxmargin.kernels import RBF, Linear, Polynomial
from maxmargin.problems import c_svc


@dataclass(frozen=True)
class Animal:
    name: str
    kernel: object
    X: np.ndarray
    y: np.ndarray
    C: np.ndarray

    def problem(self):
        return c_svc(matrix_of(self.kernel, self.X), self.y, self.C)

    def __str__(self):
        return self.name


def _animal(name, kernel, X, y, C):
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    return Animal(name, kernel, X, y, np.broadcast_to(np.asarray(C, dtype=float), y.shape).copy())


def _noisy(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)


def _zoo():
    XOR = [[0, 0], [1, 1], [0, 1], [1, 0]]
    X, y = _noisy(120, 0)
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    rng = np.random.default_rng(1)
    return [
        _animal("two points", Linear(), [[-1, -1], [1, 1]], [-1, 1], 1.0),
        _animal("xor", RBF(gamma=1.0), XOR, [1, 1, -1, -1], 10.0),
        _animal("xor, linear", Linear(), XOR, [1, 1, -1, -1], 1.0),
        _animal("same point, opposite labels", RBF(), [[0.0]] * 6, [1, -1] * 3, 5.0),
        _animal("duplicates, some contradictory", RBF(), np.vstack([X, X]),
                np.concatenate([y, y * np.where(np.arange(120) % 5, 1, -1)]), 2.0),
        _animal("constant feature", RBF(gamma=0.5), constant, y, 1.0),
        _animal("one against many", RBF(gamma=0.3), X, np.where(np.arange(120) == 3, 1, -1), 1.0),
        _animal("noisy", RBF(gamma=0.5), X, y, 1.0),
        _animal("noisy, large C", RBF(gamma=0.5), X, y, 1e4),
        _animal("weights over five decades", RBF(gamma=0.5), X, y, 10 ** rng.uniform(-3, 2, 120)),
        _animal("cubic", Polynomial(3, 0.5, 1.0), X, y, 1.0),
        _animal("a thousand points", RBF(gamma=0.5), *_noisy(1000, 3), 1.0),
        _animal("far from the origin", RBF(gamma=0.5), X + 1e6, y, 1.0),
        _animal("all zero", Linear(), np.zeros((8, 2)), [1, -1] * 4, 1.0),
    ]  # fmt: skip


ZOO = _zoo()
