"""Many small classifiers, one for each pair of classes, solved in one compiled pass.

Each is the C-SVC of a pair: a block with the steps of `compiled/smo.py`, solved to the tolerance of
small problems (`solvers/smo.py`). Whatever is unusual is left to that solver.

Class k occupies the positions place[k], place[k] + 1, ... of the kernel matrix K. Among all rows in
use, its rows are those from starts[k] to starts[k + 1]; `rows` holds their numbers in the data.
"""

from collections import namedtuple

import numpy as np

from maxmargin.arrays import EPSILON
from maxmargin.compiled.conditions import measure
from maxmargin.compiled.numba_setup import compiled
from maxmargin.compiled.sigmoid import fit_slopes
from maxmargin.compiled.smo import balance, bias_of, fill_offsets, shift_groups, solve_block

# Rounding errors above this share of the tolerance are left to `solvers/smo.py`.
CLEAR = 0.01
STEP_OF_PAIR = 50  # Setting up a problem and proving it costs about as much as this many steps.

# A C-SVC: its kernel matrix, bounds, variables and gradient, and the constant arrays of one group.
Small = namedtuple(
    "Small",
    "K diagonal linear lower upper coef gradient up low zeros groups totals starts",
)
# When to stop. `few_steps` and `hard` (per variable) limit the steps to `tol`; `work` (squared
# variables times steps) and `steps` limit those on to `tight`; `max_iter` and `refreshes` limit all
# steps and new gradients. A proof needs the `ulps` that a kernel value may be off, and the largest
# relative `gap`.
Limits = namedtuple("Limits", "tol tight few_steps hard work steps max_iter refreshes ulps gap")
# What is found for each pair: its certificate, whether it is done, and the coefficient and the role
# of each of its rows, in the layout of `dual_coef_`.
Found = namedtuple("Found", "coef roles bias n_iter norms proofs slopes done")
# The rows in use, by class.
Classes = namedtuple("Classes", "place starts rows price weight log_weight")


@compiled
def small_problem(n):
    """Empty arrays for a problem of n variables."""
    vector = np.zeros((9, n))
    return Small(
        np.empty((n, n)), vector[0], vector[1], vector[2], vector[3], vector[4], vector[5],
        vector[6], vector[7], vector[8], np.zeros(n, np.int64), np.zeros(1), np.array([0, n]),
    )  # fmt: skip


@compiled
def fill_pair(small, K, classes, i, j, is_mercer):
    """Fill in the problem of a pair, in which c starts at zero; return the largest |K_ij|."""
    n_first = classes.starts[i + 1] - classes.starts[i]
    n = len(small.coef)
    largest = 0.0
    for a in range(n):
        is_first = a < n_first
        row = classes.place[i] + a if is_first else classes.place[j] + a - n_first
        position = classes.starts[i] + a if is_first else classes.starts[j] + a - n_first
        for b in range(n_first):
            small.K[a, b] = K[row, classes.place[i] + b]
        for b in range(n - n_first):
            small.K[a, n_first + b] = K[row, classes.place[j] + b]
        small.diagonal[a] = small.K[a, a]
        small.linear[a] = 1.0 if is_first else -1.0
        small.upper[a] = classes.price[position] if is_first else 0.0
        small.lower[a] = 0.0 if is_first else -classes.price[position]
        small.coef[a] = 0.0
        small.gradient[a] = small.linear[a]
        for b in range(0 if is_mercer else n):
            largest = max(largest, abs(small.K[a, b]))
        largest = max(largest, abs(small.diagonal[a]))
    fill_offsets(small.coef, small.lower, small.upper, small.zeros, small.up, small.low)
    return largest


@compiled
def rounding(small):
    """The error of a difference of two gradients, as in `Block.rounding`."""
    largest, squares, gradient = 0.0, 0.0, 0.0
    for k in range(len(small.coef)):
        size = abs(small.diagonal[k])
        largest = max(largest, size)
        squares += size * small.coef[k] * small.coef[k]
        gradient = max(gradient, abs(small.gradient[k]))
    return 0.5 * EPSILON * max(np.sqrt(largest * squares), 4.0 * gradient)


@compiled
def refresh(small):
    """Compute the gradient anew; return the violation."""
    balance(small.coef, small.lower, small.upper, small.groups, small.totals)
    for a in range(len(small.coef)):
        expansion = 0.0
        for b in range(len(small.coef)):
            expansion += small.K[a, b] * small.coef[b]
        small.gradient[a] = small.linear[a] - expansion
    return violation_of(small)


@compiled
def violation_of(small):
    first = small.K[0]
    return shift_groups(small.gradient, small.up, small.low, first, first, 0.0, small.starts)[0]


@compiled
def go_to(small, coef):
    small.coef[:] = coef
    fill_offsets(small.coef, small.lower, small.upper, small.zeros, small.up, small.low)
    return refresh(small)


@compiled
def descend(small, stop, max_steps, largest):
    smallest_eta = max(4.0 * EPSILON * largest, 1e-280)
    return solve_block(
        small.K, small.diagonal, small.gradient, small.coef, small.lower, small.upper,
        small.zeros, small.up, small.low, small.starts, max(stop, rounding(small)), max_steps,
        smallest_eta, max(largest, smallest_eta),
    )[0]  # fmt: skip


@compiled
def solve_small(small, tol, limits, largest):
    """Solve the problem to tol and, with a few more steps, far below it, from where it stands.

    It returns the steps taken and the violation left.
    """
    n = len(small.coef)
    room = min(max(limits.hard * n, limits.few_steps), limits.max_iter)
    n_iter = descend(small, tol, room, largest)
    violation = refresh(small)
    if not violation <= tol:
        return n_iter, violation
    optimal, best, least = small.coef.copy(), small.coef.copy(), np.inf
    extra = max(n_iter, min(limits.work // n**2, limits.steps))
    room = min(n_iter + extra, limits.max_iter)
    stop = min(tol, limits.tight)
    for _ in range(limits.refreshes):
        n_iter += descend(small, stop, room - n_iter, largest)
        violation = refresh(small)
        if violation <= stop:
            return n_iter, violation
        if violation < least:
            least = violation
            best[:] = small.coef
        if n_iter >= room:
            break
    if violation > least:
        violation = go_to(small, best)
    if violation > tol:
        violation = go_to(small, optimal)
    return n_iter, violation


@compiled
def rounding_of_proof(small, bias, ulps):
    """How far f may be off, as in `problems/certificate.py`."""
    largest, squares, expansion = 0.0, 0.0, 0.0
    for k in range(len(small.coef)):
        size = abs(small.diagonal[k])
        largest = max(largest, size)
        squares += size * small.coef[k] * small.coef[k]
        expansion = max(expansion, abs(small.linear[k] - small.gradient[k]))
    return EPSILON * (ulps * np.sqrt(largest * squares) + expansion + 1.0 + abs(bias))


@compiled
def write_proof(small, bias, ulps, proof):
    """Write the numbers of the certificate, from the gradient that was just computed.

    It returns |w|^2, the largest violation and the relative gap.
    """
    n = len(small.coef)
    residual, losses = small.gradient - bias, np.empty(n)
    growth, shrinkage, outside, n_zero, n_bound, _ = measure(
        small.coef, residual, small.lower, small.upper, small.zeros, losses
    )
    square, linear, total, size, loss = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        square += small.coef[k] * (small.linear[k] - small.gradient[k])
        linear += small.coef[k] * small.linear[k]
        total += small.coef[k]
        size += abs(small.coef[k])
        loss += losses[k]
    proof[0], proof[1] = 0.5 * square + loss, linear - 0.5 * square
    proof[2], proof[3] = abs(total) / (size if size > 0.0 else 1.0), outside
    proof[4], proof[5] = shrinkage, growth
    proof[6], proof[7], proof[8] = n_zero, n - n_zero - n_bound, n_bound
    proof[9] = rounding_of_proof(small, bias, ulps)
    objective = max(abs(proof[0]), abs(proof[1]), 1e-300)
    return square, max(proof[2], outside, shrinkage, growth), (proof[0] - proof[1]) / objective


@compiled
def write_rows(small, bias, classes, i, j, found):
    """Write coefficients and roles of a pair's rows (`role_codes` of estimators/margins.py)."""
    n_first = classes.starts[i + 1] - classes.starts[i]
    for k in range(len(small.coef)):
        is_first = k < n_first
        position = classes.starts[i] + k if is_first else classes.starts[j] + k - n_first
        place = (j - 1 if is_first else i), classes.rows[position]
        c = small.coef[k]
        found.coef[place] = c
        if c == 0.0:
            found.roles[place] = 0
        elif c > small.lower[k] and c < small.upper[k]:
            found.roles[place] = 1
        else:
            decision = small.linear[k] - small.gradient[k] + bias
            found.roles[place] = 3 if small.linear[k] * decision < 0.0 else 2


@compiled
def leave_out(small, classes, i, j, solution, folds, fold):
    """Close the boxes of a fold, and begin from the solution. The excess of one sign among the
    other coefficients is taken from them one after the other."""
    n_first = classes.starts[i + 1] - classes.starts[i]
    total = 0.0
    for k in range(len(small.coef)):
        is_in, is_first = folds[k] != fold, k < n_first
        position = classes.starts[i] + k if is_first else classes.starts[j] + k - n_first
        small.upper[k] = classes.price[position] if is_in and is_first else 0.0
        small.lower[k] = -classes.price[position] if is_in and not is_first else 0.0
        small.coef[k] = solution[k] if is_in else 0.0
    for k in range(len(small.coef)):
        total += small.coef[k]
    for k in range(len(small.coef)):
        if total * small.coef[k] > 0.0:
            taken = min(abs(total), abs(small.coef[k]))
            taken = taken if total > 0.0 else -taken
            small.coef[k] -= taken
            total -= taken
    fill_offsets(small.coef, small.lower, small.upper, small.zeros, small.up, small.low)
    refresh(small)


@compiled
def calibrate(small, classes, i, j, folds, tol, limits, largest, slopes):
    """Write the slopes of the pair's sigmoid, from decisions on points left out.

    It returns the steps taken, or -1 where a fold was not solved.
    """
    n, n_first = len(small.coef), classes.starts[i + 1] - classes.starts[i]
    solution, decisions, weight = small.coef.copy(), np.empty(n), np.empty(n)
    n_iter = 0
    for fold in range(folds.max() + 1):
        leave_out(small, classes, i, j, solution, folds, fold)
        steps, violation = solve_small(small, tol, limits, largest)
        if not violation <= tol or steps >= limits.max_iter:
            return -1
        n_iter += steps
        bias = bias_of(small.gradient, small.up, small.low, small.groups, 0)
        for k in range(n):
            if folds[k] == fold:
                decisions[k] = small.linear[k] - small.gradient[k] + bias
    weight[:n_first] = classes.weight[classes.starts[i] : classes.starts[i + 1]]
    weight[n_first:] = classes.weight[classes.starts[j] : classes.starts[j + 1]]
    offset = classes.log_weight[j] - classes.log_weight[i]
    fit_slopes(
        decisions, small.linear > 0.0, weight / weight.mean(), offset, np.empty(n), slopes
    )  # fmt: skip
    return n_iter


@compiled
def solve_pair(K, classes, i, j, is_mercer, limits, rough, folds, found, position):
    """Solve the problem of one pair; return the work in steps times variables."""
    n = classes.starts[i + 1] - classes.starts[i] + classes.starts[j + 1] - classes.starts[j]
    small = small_problem(n)
    largest = fill_pair(small, K, classes, i, j, is_mercer)
    n_iter, violation = solve_small(small, limits.tol, limits, largest)
    work = n * (n_iter + n + STEP_OF_PAIR)
    if not violation <= limits.tol or n_iter >= limits.max_iter:
        return work
    bias, proof = (
        bias_of(small.gradient, small.up, small.low, small.groups, 0),
        found.proofs[position],
    )
    square, worst, gap = write_proof(small, bias, limits.ulps, proof)
    if not worst <= limits.tol or not gap <= limits.gap or not proof[9] <= CLEAR * limits.tol:
        return work
    write_rows(small, bias, classes, i, j, found)
    found.bias[position], found.n_iter[position] = bias, n_iter
    found.norms[position] = np.sqrt(max(0.0, square))
    steps = 0
    if folds is not None:
        steps = calibrate(
            small, classes, i, j, folds, rough, limits, largest, found.slopes[position]
        )
    found.done[position] = steps >= 0
    return work + n * abs(steps)


@compiled
def solve_pairs(
    K, classes, pairs, positions, is_mercer, limits, rough, folds, fold_of, found, first, work
):  # fmt: skip
    """Solve the pairs at some positions, from the `first` on, until `work` has been done.

    `folds` holds the fold of every row of a pair, from fold_of[position] on; it is None where no
    probabilities are asked for. It returns which of the positions is the next.
    """
    reached = first
    while reached < len(positions) and work > 0:
        position = positions[reached]
        i, j = pairs[position, 0], pairs[position, 1]
        n = classes.starts[i + 1] - classes.starts[i] + classes.starts[j + 1] - classes.starts[j]
        own = None if folds is None else folds[fold_of[position] : fold_of[position] + n]
        work -= solve_pair(
            K, classes, i, j, is_mercer, limits, rough, own, found, position
        )  # fmt: skip
        reached += 1
    return reached
