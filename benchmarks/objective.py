"""The dual objective of a fitted machine, recomputed in float64 with plain NumPy.

Only the data and the coefficients go in, so no library's own account of its solution is trusted.
Run by run.py in a process of its own; prints JSON.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path

import numpy as np
from datasets import read_part

BLOCK_ROWS = 512


def rbf_quadratic_form(X, c, gamma):
    """c'Kc, a block of kernel rows at a time."""
    squares = np.einsum("ij,ij->i", X, X)
    total = 0.0
    for start in range(0, len(c), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        distances = squares[block, None] + squares - 2.0 * (X[block] @ X.T)
        total += c[block] @ (np.exp(-gamma * np.maximum(distances, 0.0)) @ c)
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


def evaluate(solution, X, y, C, gamma):
    """The objective summed over the pairs, and how far the worst pair is from feasible."""
    objective, equality, box = 0.0, 0.0, 0.0
    for rows, c in pair_problems(solution, y):
        objective += np.abs(c).sum() - 0.5 * rbf_quadratic_form(X[rows], c, gamma)
        equality = max(equality, abs(float(c.sum())))
        box = max(box, float(np.abs(c).max(initial=0.0)) - C)
    return {"objective": float(objective), "equality_error": equality, "box_error": max(box, 0.0)}


def _command_line():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("folder", type=Path, help="where datasets.py and worker.py wrote")
    parser.add_argument("--C", type=float, required=True)
    parser.add_argument("--gamma", type=float, required=True)
    return parser.parse_args()


def main():
    options = _command_line()
    X, y = read_part(options.folder, "X_train"), read_part(options.folder, "y_train")
    with np.load(options.folder / f"{options.library}.npz") as solution:
        print(json.dumps(evaluate(dict(solution), X, y, options.C, options.gamma)))


if __name__ == "__main__":
    main()
