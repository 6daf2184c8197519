"""The dual objective of a fitted machine, recomputed in float64.

Only the data and the coefficients go in, so no library's own account of its solution is trusted.
The kernels are those of sklearn.metrics, which none of the solvers uses.
Run by run.py in a process of its own; prints JSON.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path

import numpy as np
from datasets import read_part
from sklearn.metrics.pairwise import pairwise_kernels

BLOCK_ROWS = 512


def quadratic_form(X, c, parameters):
    """c'Kc, a block of kernel rows at a time."""
    kernel = {"gamma": parameters["gamma"], "degree": 3, "coef0": 0.0}  # as in every estimator
    kernel |= {name: parameters[name] for name in kernel.keys() & parameters.keys()}
    total = 0.0
    for start in range(0, len(c), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        K = pairwise_kernels(X[block], X, metric=parameters["kernel"], filter_params=True, **kernel)
        total += c[block] @ (K @ c)
    return float(total)


def pair_problems(solution, y):
    """Rows and signed coefficients of every one-vs-one problem, from scikit-learn's layout."""
    support, dual_coef = solution["support"], solution["dual_coef"]
    classes, class_of_support = np.unique(y, return_inverse=True)
    class_of_support = class_of_support[support]
    if not np.array_equal(np.bincount(class_of_support), solution["n_support"]):
        raise ValueError("n_support_ does not count the support vectors of each class")
    for i, j in combinations(range(len(classes)), 2):
        in_i, in_j = class_of_support == i, class_of_support == j
        rows = np.concatenate([support[in_i], support[in_j]])
        c = np.concatenate([dual_coef[j - 1, in_i], dual_coef[i, in_j]])
        yield rows[c != 0], c[c != 0]


def evaluate(solution, X, y, parameters):
    """The objective summed over the pairs, and how far the worst pair is from feasible."""
    objective, equality, box = 0.0, 0.0, 0.0
    for rows, c in pair_problems(solution, y):
        linear = np.abs(c).sum()
        if "nu" in parameters:
            # The solution was divided by its margin in every pair; its sum before that is known.
            n_pair = np.isin(y, y[rows]).sum()
            c, linear = c * (parameters["nu"] * n_pair / linear), 0.0
        objective += linear - 0.5 * quadratic_form(X[rows], c, parameters)
        equality = max(equality, abs(float(c.sum())))
        box = max(box, float(np.abs(c).max(initial=0.0)) - parameters.get("C", 1.0))
    return {"objective": float(objective), "equality_error": equality, "box_error": max(box, 0.0)}


def evaluate_single(solution, X, y, parameters, epsilon):
    """The objective of a machine with one problem: regression, or one class (no linear term)."""
    rows, c = solution["support"], solution["dual_coef"][0]
    square = quadratic_form(X[rows], c, parameters)
    linear = 0.0 if epsilon is None else float(c @ y[rows] - epsilon * np.abs(c).sum())
    return {"objective": linear - 0.5 * square, "equality_error": 0.0, "box_error": 0.0}


def evaluate_as(estimator, solution, X, y, parameters):
    if estimator in ("SVC", "NuSVC"):
        return evaluate(solution, X, y, parameters)
    return evaluate_single(solution, X, y, parameters, 0.1 if estimator == "SVR" else None)


def _command_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("folder", type=Path, help="where datasets.py and worker.py wrote")
    parser.add_argument("--estimator", default="SVC")
    parser.add_argument("--parameters", type=json.loads, required=True, help="as JSON")
    return parser.parse_args()


def main():
    options = _command_line()
    X, y = read_part(options.folder, "X_train"), read_part(options.folder, "y_train")
    with np.load(options.folder / f"{options.library}.npz") as solution:
        result = evaluate_as(options.estimator, dict(solution), X, y, options.parameters)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
