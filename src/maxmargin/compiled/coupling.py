"""Probabilities of many classes from those of all pairs of them (Wu, Lin and Weng).

With r_ij the probability of i among i and j, minimise sum over pairs (r_ji p_i - r_ij p_j)^2 over
probabilities p that sum to one. That is p'Qp with Q_ii = sum_j r_ji^2 and Q_ij = -r_ij r_ji. At the
minimum Qp is the same number for every class, and so is (Q + vv')p for v = (1, ..., 1) or a
multiple of it, so p is (Q + vv')^-1 v up to a factor. Scaled to a diagonal of ones, all but a few
eigenvalues of that matrix lie close together, and a dozen steps of conjugate gradients find p to
all digits.
"""

import numpy as np

from maxmargin.compiled.numba_setup import compiled
from maxmargin.compiled.vectors import dot

RESIDUAL = 1e-14  # Conjugate gradients stop at this residual; the right-hand side has length one.


@compiled
def fill_system(pairwise, Q, scale):
    """Fill in Q of one row, scaled to a diagonal of ones, and the `scale` of that."""
    n_classes = len(scale)
    scale[:] = 0.0
    pair = 0
    for i in range(n_classes - 1):
        for j in range(i + 1, n_classes):
            r = pairwise[pair]
            scale[i] += (1.0 - r) * (1.0 - r)
            scale[j] += r * r
            Q[i, j] = Q[j, i] = -r * (1.0 - r)
            pair += 1
    for i in range(n_classes):
        scale[i] = 1.0 / np.sqrt(scale[i])
    for i in range(n_classes):
        for j in range(n_classes):
            Q[i, j] *= scale[i] * scale[j]
        Q[i, i] = 1.0


@compiled
def multiply(Q, v, x, out):
    """out = (Q + vv')x."""
    along = dot(v, x)
    for i in range(len(x)):
        out[i] = dot(Q[i], x) + along * v[i]


@compiled
def solve(Q, v, x):
    """Solve (Q + vv')x = v, |v| = 1, by conjugate gradients that begin at x."""
    product = np.empty(len(x))
    multiply(Q, v, x, product)
    residual = v - product
    direction = residual.copy()
    square = dot(residual, residual)
    for _ in range(2 * len(x)):
        if square <= RESIDUAL**2:
            break
        multiply(Q, v, direction, product)
        step = square / dot(direction, product)
        for k in range(len(x)):
            x[k] += step * direction[k]
            residual[k] -= step * product[k]
        last, square = square, dot(residual, residual)
        for k in range(len(x)):
            direction[k] = residual[k] + square / last * direction[k]


@compiled
def couple(pairwise, probabilities):
    """Fill in a row of probabilities for each row of those of all pairs, which are not 0 or 1."""
    n_classes = probabilities.shape[1]
    Q, scale = np.empty((n_classes, n_classes)), np.empty(n_classes)
    for row in range(len(pairwise)):
        fill_system(pairwise[row], Q, scale)
        v = scale / np.sqrt(dot(scale, scale))
        x = v.copy()
        solve(Q, v, x)
        total = dot(scale, x)
        for k in range(n_classes):
            probabilities[row, k] = scale[k] * x[k] / total
