"""How each SVM fills in the one dual problem (`problems/dual.py`), side by side.

| formulation    | p | epsilon | box of c_i            | groups and their totals        |
|----------------|---|---------|-----------------------|--------------------------------|
| C-SVC          | y | 0       | [0, C_i] times y_i    | all: 0                         |
| nu-SVC         | 0 | 0       | [0, w_i] times y_i    | each class: y nu W / 2         |
| epsilon-SVR    | y | epsilon | [-C_i, C_i]           | all: 0                         |
| nu-SVR         | y | 0       | [0, C_i] and [-C_i, 0]| each sign: +- nu sum(C_i) / 2  |
| one-class      | 0 | 0       | [0, w_i]              | all: nu W                      |
| hard margin    | 0 | 0       | [0, oo) times y_i     | each class: y                  |

The w_i are the sample weights, W is their sum, and C_i = C w_i. Where the solution of the problem
is not yet the model, a function beside the reduction takes the Solution and returns the model's.
"""

from dataclasses import replace

import numpy as np

from maxmargin.problems.dual import DualProblem


def c_svc(matrix, y, C):
    """Soft margin classification: minimise 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)).

    With labels y_i = +-1 and c_i = y_i alpha_i the textbook dual, sum alpha - 1/2 alpha'Q alpha
    over 0 <= alpha <= C and y.alpha = 0, has p = y, a box on the label's side of zero, and one
    group that sums to zero. C_i = inf asks for the hard margin.
    """
    bound = y * C
    lower, upper = np.minimum(bound, 0.0), np.maximum(bound, 0.0)
    return _problem(matrix, y.astype(np.float64), lower, upper)


def epsilon_svr(matrix, y, C, epsilon):
    """Regression with a tube: minimise 1/2 |w|^2 + sum_i C_i max(0, |y_i - f(x_i)| - epsilon).

    The textbook has two multipliers per point, one for each side of the tube. They are never both
    positive, so c_i = alpha_i - alpha*_i stands for both, at the price epsilon |c_i|.
    """
    tube = np.full(len(y), float(epsilon))
    return _problem(matrix, y.astype(np.float64), -C, C, epsilon=tube)


def one_class(matrix, weight, nu):
    """The half-space farthest from the origin in feature space that holds all but a share nu."""
    total = nu * weight.sum()
    return _problem(
        matrix, np.zeros(len(weight)), np.zeros(len(weight)), weight,
        totals=np.array([total]), start=_filled(weight, total),
    )  # fmt: skip


def nu_svc(matrix, y, weight, nu):
    """Classification where nu bounds the share of margin errors, instead of a price C.

    It minimises 1/2 |w|^2 - nu rho W + sum_i w_i max(0, rho - y_i f(x_i)) over w, b and rho. Its
    dual fixes the sum of alpha over each class to nu W / 2. In units of that sum it asks for the
    two nearest points of the classes' reduced convex hulls, in which no point may weigh more than
    2 w_i / (nu W).
    """
    total = 0.5 * nu * weight.sum()
    return _reduced_hulls(matrix, y, weight, total)


def hard_margin(matrix, y):
    """The hard margin seen from the other side: the two nearest points of the classes' hulls.

    It is always feasible and bounded, and its distance is zero exactly when there is no separator.
    """
    return _reduced_hulls(matrix, y, np.ones(len(y)), 1.0)


def _reduced_hulls(matrix, y, largest, total):
    # No variable can exceed the total, so a bound there is moved out of the way: otherwise a point
    # that has all of the total would seem to be held by its bound.
    largest = np.where(largest >= total, 2.0 * total, largest)
    start = np.zeros(len(y))
    for sign in (1, -1):
        start[y == sign] = sign * _filled(largest[y == sign], total)
    bound = y * largest
    return _problem(
        matrix, np.zeros(len(y)), np.minimum(bound, 0.0), np.maximum(bound, 0.0),
        groups=(y < 0).astype(np.int64), totals=np.array([total, -total]), start=start,
    )  # fmt: skip


def margin_of(solution):
    """The margin rho; the biases of the two classes' groups are b - rho and b + rho."""
    return 0.5 * float(solution.bias[1] - solution.bias[0])


def model_of_hulls(solution):
    """Divide by rho, so that the margins are at f(x) = +-1, with one bias for both classes."""
    rho = margin_of(solution)
    has_margin = rho > 0 and solution.stopped != "no_margin"
    solution = rescaled(solution, 1.0 / rho if has_margin else 1.0)
    return replace(solution, bias=solution.bias.mean(keepdims=True))


def rescaled(solution, factor):
    """The solution of `problem.scaled(factor)`."""
    f = solution.expansion
    return replace(
        solution,
        coef=factor * solution.coef,
        bias=factor * solution.bias,
        expansion=None if f is None else factor * f,
        violation=factor * solution.violation,
    )


def nu_svr(matrix, y, C, nu):
    """Regression where nu bounds the share of points outside the tube, whose width is found.

    Each row has two variables here, because the sums of alpha and of alpha* are fixed one by one.
    """
    n, half = len(y), nu * C.sum() / 2
    filled, zero = _filled(C, half), np.zeros(n)
    return _problem(
        matrix, np.concatenate([y, y]),
        np.concatenate([zero, -C]), np.concatenate([C, zero]),
        groups=np.repeat([0, 1], n), totals=np.array([half, -half]),
        start=np.concatenate([filled, -filled]), rows=np.tile(np.arange(n), 2),
    )  # fmt: skip


def model_of_nu_svr(solution):
    """The model with c_i = alpha_i - alpha*_i; its groups have the biases b +- epsilon."""
    n = len(solution.coef) // 2
    return replace(
        solution,
        coef=solution.coef[:n] + solution.coef[n:],
        bias=solution.bias.mean(keepdims=True),
        expansion=solution.expansion[:n],
    )


def _problem(matrix, linear, lower, upper, **others):
    n = len(linear)
    defaults = {
        "epsilon": np.zeros(n),
        "groups": np.zeros(n, dtype=np.int64),
        "totals": np.zeros(1),
        "start": np.zeros(n),
    }
    return DualProblem(matrix, linear, lower, upper, **{**defaults, **others})


def _filled(upper, total):
    """Fill variables to their bounds, one after the other, until they sum to `total`."""
    before = np.concatenate([[0.0], np.cumsum(upper)[:-1]])
    return np.clip(total - before, 0.0, upper)
