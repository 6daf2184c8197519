"""What the library is for, in one run: fit, prove it optimal, compare with scikit-learn, draw.

    python examples/demo.py [--output demo_output]

Everything uses data that comes with scikit-learn. The folder it writes holds `report.md`,
`results.json` and `boundary.png`.
"""

import argparse
import json
import os
import platform
from pathlib import Path
from time import perf_counter

import matplotlib
import numpy as np
import sklearn
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SklearnSVC

import maxmargin
from maxmargin import SVC
from maxmargin.displays import BoundaryDisplay

LIBRARIES = {"maxmargin": SVC, "scikit-learn": SklearnSVC}
WARM_UP_ROWS = 300
REPEATS = 3
HOW_TIMED = (
    f"Fit seconds are the best of {REPEATS} fits, after one fit of the first {WARM_UP_ROWS} rows, "
    "so that compiling is not counted; scikit-learn works in one thread, maxmargin in one per "
    "core. The dual objective (larger is better) is recomputed in float64 from `dual_coef_` with "
    "plain NumPy, for both libraries in the same way."
)


# The data.


def digits():
    X, y = load_digits(return_X_y=True)
    return X, y % 2


def generated():
    return make_classification(
        8000, 20, n_informative=10, n_clusters_per_class=4, flip_y=0.02, random_state=0
    )


def split_and_scaled(X, y):
    parts = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    scaler = StandardScaler().fit(parts[0])
    return scaler.transform(parts[0]), scaler.transform(parts[1]), parts[2], parts[3]


# The comparison.


def timed_fit(model, X, y):
    model.fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    seconds = []
    for _ in range(REPEATS):
        start = perf_counter()
        model.fit(X, y)
        seconds.append(perf_counter() - start)
    return min(seconds)


def dual_objective(model):
    """sum_i alpha_i - 1/2 alpha'Q alpha of a fitted RBF machine with two classes."""
    Z = np.asarray(model.support_vectors_, dtype=np.float64)
    coef = np.asarray(model.dual_coef_, dtype=np.float64)[0]
    norms = (Z**2).sum(axis=1)
    squared_distances = np.maximum(norms[:, None] + norms - 2 * Z @ Z.T, 0.0)
    K = np.exp(-model.gamma * squared_distances)
    return float(np.abs(coef).sum() - 0.5 * coef @ K @ coef)


def compare(name, X, y, C):
    X_train, X_test, y_train, y_test = split_and_scaled(X, y)
    gamma = 1 / (X_train.shape[1] * X_train.var())  # what gamma="scale" means, the same for both
    experiment = {"data": name, "rows": len(X_train), "features": X_train.shape[1]}
    experiment |= {"test_rows": len(X_test), "C": C, "gamma": float(gamma), "libraries": {}}
    for library, estimator in LIBRARIES.items():
        model = estimator(C=C, gamma=gamma)
        experiment["libraries"][library] = {
            "fit_seconds": timed_fit(model, X_train, y_train),
            "dual_objective": dual_objective(model),
            "support_vectors": len(model.support_),
            "test_accuracy": float(model.score(X_test, y_test)),
        }
        if library == "maxmargin":
            experiment["certificate"] = certificate_numbers(model.certificate_)
            experiment["certificate_text"] = repr(model.certificate_).splitlines()
    return experiment


def certificate_numbers(certificate):
    names = (
        "primal_objective",
        "dual_objective",
        "duality_gap",
        "relative_gap",
        "kkt_violation",
        "tol",
        "optimal",
    )
    return {name: getattr(certificate, name) for name in names}


# The picture.


def draw_moons(file):
    X, y = make_moons(300, noise=0.25, random_state=0)
    model = SVC(C=1, gamma=2).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y)
    display.figure_.savefig(file, dpi=150)
    roles, counts = np.unique(model.roles_, return_counts=True)
    return {
        "data": "make_moons(300, noise=0.25, random_state=0)",
        "C": 1.0,
        "gamma": 2.0,
        "train_accuracy": float(model.score(X, y)),
        "roles": dict(zip(roles.tolist(), counts.tolist(), strict=True)),
        "certificate": certificate_numbers(model.certificate_),
    }


# The words.


def table(experiment):
    lines = [
        "| library      | fit seconds | dual objective  | support vectors | test accuracy |",
        "|--------------|------------:|----------------:|----------------:|--------------:|",
    ]
    for library, row in experiment["libraries"].items():
        lines.append(
            f"| {library:<12} | {row['fit_seconds']:>11.3f} | {row['dual_objective']:>15.8f} "
            f"| {row['support_vectors']:>15} | {row['test_accuracy']:>13.4f} |"
        )
    return "\n".join(lines)


def summary(experiment):
    ours, theirs = (experiment["libraries"][library] for library in LIBRARIES)
    ratio = theirs["fit_seconds"] / ours["fit_seconds"]
    difference = ours["dual_objective"] / theirs["dual_objective"] - 1
    return (
        f"scikit-learn's fit time is {ratio:.1f} times maxmargin's; "
        f"maxmargin's dual objective differs by {difference:+.1e} (relative; + is better)."
    )


def section(experiment):
    title = "## {data}: {rows} rows, {features} features, C = {C:g}".format(**experiment)
    certificate = "\n".join(experiment["certificate_text"])
    parts = title, table(experiment), summary(experiment), f"```\n{certificate}\n```"
    return "\n\n".join(parts)


def picture_words(picture):
    roles = ", ".join(f"{count} {role}" for role, count in picture["roles"].items())
    gap = picture["certificate"]["duality_gap"]
    return f"Training accuracy {picture['train_accuracy']:.4f}; duality gap {gap:.1e}; {roles}."


def report(results):
    machine = "Python {python}, NumPy {numpy}, scikit-learn {scikit-learn}, {cores} cores"
    parts = [
        "# maxmargin: a demonstration",
        machine.format(**results["machine"]) + ". " + HOW_TIMED,
        *(section(experiment) for experiment in results["comparisons"]),
        "## Two moons: 300 rows, 2 features, C = 1, gamma = 2",
        picture_words(results["picture"]),
        "![The decision boundary, its margins and the support vectors](boundary.png)",
    ]
    return "\n\n".join(parts) + "\n"


def machine():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "maxmargin": maxmargin.__version__,
        "cores": cores,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo_output"))
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    matplotlib.use("Agg")  # a file is all we draw to

    results = {"machine": machine(), "comparisons": []}
    print(HOW_TIMED)
    for name, load, C in (("even or odd digits", digits, 10.0), ("generated", generated, 1.0)):
        experiment = compare(name, *load(), C)
        results["comparisons"].append(experiment)
        print("\n" + section(experiment))
    results["picture"] = draw_moons(output / "boundary.png")

    (output / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    (output / "report.md").write_text(report(results), encoding="utf-8")
    print("\nWritten:", *(output / name for name in ("report.md", "results.json", "boundary.png")))


if __name__ == "__main__":
    main()
