"""The first algorithms as a blackboard has them: NumPy, one loop over the points, nothing else.

The solvers of `perceptron.py` and `gradient_descent.py` do the same on sparse rows, with weights,
penalties and limits, in compiled loops. These are the ones to read, and the tests compare the two.
The pages docs/theory/perceptron.md and docs/theory/losses_and_descent.md hold the pseudocode, line
for line.
"""

import numpy as np


def perceptron_without_offset(X, y, max_updates=10_000):
    """Correct w at every mistake until a pass makes none; return w and the number of corrections.

    Examples
    --------
    >>> from maxmargin.solvers.plain import perceptron_without_offset
    >>> perceptron_without_offset([[2.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    (array([ 2., -1.]), 2)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    w, updates, mistakes = np.zeros(X.shape[1]), 0, 1
    while mistakes > 0 and updates < max_updates:
        mistakes = 0
        for i in range(len(y)):
            if y[i] * (w @ X[i]) <= 0:
                w = w + y[i] * X[i]
                mistakes += 1
        updates += mistakes
    return w, updates


def perceptron(X, y, max_updates=10_000):
    """Correct an offset b along with w; return w, b and the number of corrections.

    Examples
    --------
    >>> from maxmargin.solvers.plain import perceptron
    >>> perceptron([[3.0], [1.0]], [1.0, -1.0])
    (array([2.]), -4.0, 10)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    w, b, updates, mistakes = np.zeros(X.shape[1]), 0.0, 0, 1
    while mistakes > 0 and updates < max_updates:
        mistakes = 0
        for i in range(len(y)):
            if y[i] * (w @ X[i] + b) <= 0:
                w = w + y[i] * X[i]
                b = b + float(y[i])
                mistakes += 1
        updates += mistakes
    return w, b, updates


def gradient_descent(X, y, slope, eta, n_steps):
    """Make steps along minus the gradient of the mean loss over all points; return w.

    `slope(y, f)` is the derivative of the loss by f, such as `maxmargin.losses.Hinge().slope`.

    Examples
    --------
    >>> from maxmargin.losses import Hinge
    >>> from maxmargin.solvers.plain import gradient_descent
    >>> gradient_descent([[2.0, 0.0], [0.0, 1.0]], [1.0, -1.0], Hinge().slope, eta=0.5, n_steps=1)
    array([ 0.5 , -0.25])
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    w, n = np.zeros(X.shape[1]), len(y)
    for _ in range(n_steps):
        g = np.zeros_like(w)
        for i in range(n):
            g = g + slope(y[i], w @ X[i]) * X[i] / n
        w = w - eta * g
    return w


def stochastic_gradient_descent(X, y, slope, eta, n_epochs, seed=0):
    """Make a step for every single point, in a new random order in each epoch; return w.

    Examples
    --------
    >>> from maxmargin.losses import Hinge
    >>> from maxmargin.solvers.plain import stochastic_gradient_descent
    >>> X, y = [[2.0, 0.0], [0.0, 1.0]], [1.0, -1.0]
    >>> stochastic_gradient_descent(X, y, Hinge().slope, eta=0.5, n_epochs=1)
    array([ 1. , -0.5])
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    w, n, rng = np.zeros(X.shape[1]), len(y), np.random.default_rng(seed)
    for _ in range(n_epochs):
        for i in rng.permutation(n):
            w = w - eta * slope(y[i], w @ X[i]) * X[i]
    return w
