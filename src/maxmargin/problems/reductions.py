"""How each SVM fills in the one dual problem (`problems/dual.py`), side by side.

| formulation    | p | epsilon | box of c_i            | groups and their totals        |
|----------------|---|---------|-----------------------|--------------------------------|
| C-SVC          | y | 0       | [0, C_i] times y_i    | all: 0                         |
| nu-SVC         | 0 | 0       | [0, 2 w_i / (nu W)] y_i | each class: y                |
| epsilon-SVR    | y | epsilon | [-C_i, C_i]           | all: 0                         |
| nu-SVR         | y | 0       | [0, C_i] and [-C_i, 0]| each sign: +- nu sum(C_i) / 2  |
| one-class      | 0 | 0       | [0, w_i]              | all: nu W                      |
| hard margin    | 0 | 0       | [0, oo) times y_i     | each class: y                  |

w_i are the sample weights, W their sum, C_i = C w_i. Where the solution of the problem is not yet
the model, a function beside the reduction leads back: it takes a Solution and returns one.
"""

from dataclasses import replace

import numpy as np

from maxmargin.problems.dual import DualProblem


def c_svc(kernel, X, y, C):
    """Soft margin classification: minimise 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)).

    With labels y_i = +-1 and c_i = y_i alpha_i the textbook dual, sum alpha - 1/2 alpha'Q alpha
    over 0 <= alpha <= C and y.alpha = 0, has p = y, a box on the label's side of zero, and one
    group that sums to zero. C_i = inf asks for the hard margin.
    """
    bound = y * C
    lower, upper = np.minimum(bound, 0.0), np.maximum(bound, 0.0)
    return _problem(kernel, X, y.astype(np.float64), lower, upper)


def epsilon_svr(kernel, X, y, C, epsilon):
    """Regression with a tube: minimise 1/2 |w|^2 + sum_i C_i max(0, |y_i - f(x_i)| - epsilon).

    The textbook has two multipliers per point, one for each side of the tube. Never both are
    positive, so their difference c_i = alpha_i - alpha*_i says it all, at the price epsilon |c_i|.
    """
    tube = np.full(len(y), float(epsilon))
    return _problem(kernel, X, y.astype(np.float64), -C, C, epsilon=tube)


def one_class(kernel, X, weight, nu):
    """The smallest half-space in feature space, seen from the origin, with all but a share nu."""
    total = nu * weight.sum()
    return _problem(
        kernel, X, np.zeros(len(weight)), np.zeros(len(weight)), weight,
        totals=np.array([total]), start=_filled(weight, total),
    )  # fmt: skip


def nu_svc(kernel, X, y, weight, nu):
    """Classification where nu bounds the share of margin errors, instead of a price C.

    Minimises 1/2 |w|^2 - nu rho W + sum_i w_i max(0, rho - y_i f(x_i)) over w, b and rho. Its dual
    fixes the sum of alpha over each class to nu W / 2; in units of that sum it asks for the two
    nearest points of the classes' reduced convex hulls, in which no point may weigh more than
    2 w_i / (nu W).
    """
    half = nu * weight.sum() / 2
    return _reduced_hulls(kernel, X, y, weight / half, own_scale=half)


def hard_margin(kernel, X, y):
    """The hard margin seen from the other side: the two nearest points of the classes' hulls.

    Always feasible and bounded, and the distance it finds is zero exactly when there is no
    separator.
    """
    return _reduced_hulls(kernel, X, y, np.ones(len(y)))


def _reduced_hulls(kernel, X, y, largest, **others):
    # A weight of one is the most there can be: a bound there would only make a corner look pressed.
    largest = np.where(largest >= 1, 2.0, largest)
    start = np.zeros(len(y))
    for sign in (1, -1):
        start[y == sign] = sign * _filled(largest[y == sign], 1.0)
    bound = y * largest
    return _problem(
        kernel, X, np.zeros(len(y)), np.minimum(bound, 0.0), np.maximum(bound, 0.0),
        groups=(y < 0).astype(np.int64), totals=np.array([1.0, -1.0]), start=start, **others,
    )  # fmt: skip


def margin_of(solution):
    """rho: the biases of the two classes' groups are b - rho and b + rho."""
    return 0.5 * float(solution.bias[1] - solution.bias[0])


def model_of_hulls(solution):
    """Divide by rho, so that the margins are at f(x) = +-1, with one bias for both classes."""
    rho = margin_of(solution)
    has_margin = rho > 0 and solution.stopped != "no_margin"
    solution = rescaled(solution, 1.0 / rho if has_margin else 1.0)  # without one, keep the signs
    return replace(solution, bias=solution.bias.mean(keepdims=True))


def rescaled(solution, factor):
    """The solution of `problem.scaled(factor)`."""
    return replace(
        solution,
        coef=factor * solution.coef,
        bias=factor * solution.bias,
        expansion=factor * solution.expansion,
        violation=factor * solution.violation,
        scale=factor * solution.scale,
    )


def nu_svr(kernel, X, y, C, nu):
    """Regression where nu bounds the share of points outside the tube, whose width is found.

    Both multipliers of a point are needed here, because the sums of alpha and of alpha* are fixed
    one by one: two variables to a row.
    """
    n, half = len(y), nu * C.sum() / 2
    filled, zero = _filled(C, half), np.zeros(n)
    return _problem(
        kernel, X, np.concatenate([y, y]),
        np.concatenate([zero, -C]), np.concatenate([C, zero]),
        groups=np.repeat([0, 1], n), totals=np.array([half, -half]),
        start=np.concatenate([filled, -filled]), rows=np.tile(np.arange(n), 2),
    )  # fmt: skip


def model_of_nu_svr(solution):
    """c_i = alpha_i - alpha*_i; the biases of the two groups are b + epsilon and b - epsilon."""
    n = len(solution.coef) // 2
    return replace(
        solution,
        coef=solution.coef[:n] + solution.coef[n:],
        bias=solution.bias.mean(keepdims=True),
        expansion=solution.expansion[:n],
    )


def _problem(kernel, X, linear, lower, upper, **others):
    n = len(linear)
    defaults = {
        "epsilon": np.zeros(n),
        "groups": np.zeros(n, dtype=np.int64),
        "totals": np.zeros(1),
        "start": np.zeros(n),
    }
    return DualProblem(kernel, X, linear, lower, upper, **{**defaults, **others})


def _filled(upper, total):
    """Fill variables to their bounds, one after the other, until they sum to `total`."""
    before = np.concatenate([[0.0], np.cumsum(upper)[:-1]])
    return np.clip(total - before, 0.0, upper)
