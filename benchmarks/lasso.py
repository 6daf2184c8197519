"""Time Lasso fits and paths against scikit-learn and celer, and check what each has reached.

python benchmarks/lasso.py --data DIR [--repeat N] [--libraries maxmargin,sklearn] [--long]

leu (38 x 7129): fits at a tenth and a hundredth of the largest alpha, and a path of 100 alphas down
to a thousandth. Simulated data (1000 x 10000, neighbouring features correlated by 0.5, 100 of them
in use, noise a fifth of the signal): a path of 100 alphas down to a hundredth; --long adds the one
down to a thousandth. Features and target are centred beforehand, each library gets the memory order
it asks for, runs in a process of its own and is warmed up; the processes take turns, and the best
time counts. All are asked for a duality gap of 1e-6, relative to the objective at w = 0.

Two figures say what was reached, the worst over the alphas, both recomputed here in float64 from
the weights alone: `gap` with the scaled residual as dual point (an upper bound of the error; celer
stops on a better dual point than that), and `excess`, the objective above the lowest that any of
the libraries has found, both relative to the objective at w = 0.
"""

import argparse
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import load_svmlight_file

RELATIVE_GAP = 1e-6
TOL = RELATIVE_GAP / 2  # all three compare the gap with tol |y|^2 / n, twice the objective at zero
LIBRARIES = ("maxmargin", "sklearn", "celer")
SETS = {
    "leu fit, 1/10": ("leu", [0.1]),
    "leu fit, 1/100": ("leu", [0.01]),
    "leu path to 1/1000": ("leu", np.geomspace(1, 1e-3, 100)),
    "simulated path to 1/100": ("simulated", np.geomspace(1, 1e-2, 100)),
    "simulated path to 1/1000": ("simulated", np.geomspace(1, 1e-3, 100)),
}
LONG = "simulated path to 1/1000"


def leu(folder):
    with gzip.open(Path(folder) / "binary" / "leu.gz") as lines:
        X, y = load_svmlight_file(lines)
    X = X.toarray()
    return X / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0), y


def simulated(folder, n=1000, d=10_000, n_used=100, correlation=0.5, signal=5.0):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    w = np.zeros(d)
    w[rng.choice(d, n_used, replace=False)] = rng.standard_normal(n_used)
    noise = rng.standard_normal(n)
    noise *= np.linalg.norm(X @ w) / (signal * np.linalg.norm(noise))
    return X, X @ w + noise


def fit_with(library, X, y, alphas):
    """The weights, one row per alpha."""
    warnings.simplefilter("ignore")
    if library == "maxmargin":
        from maxmargin import Lasso

        if len(alphas) > 1:
            return Lasso(tol=TOL).path(X, y, alphas=alphas).coefs
        return Lasso(alphas[0], tol=TOL).fit(X, y).coef_[None]
    if library == "sklearn":
        from sklearn.linear_model import Lasso, lasso_path

        if len(alphas) > 1:
            return lasso_path(X, y, alphas=alphas, tol=TOL, max_iter=1_000_000)[1].T
        return Lasso(alphas[0], tol=TOL, max_iter=1_000_000).fit(X, y).coef_[None]
    from celer import Lasso, celer_path

    if len(alphas) > 1:
        return celer_path(X, y, "lasso", alphas=alphas, tol=TOL, max_iter=1000)[1].T
    return Lasso(alphas[0], tol=TOL, max_iter=1000).fit(X, y).coef_[None]


def work(library, folder):
    """What a process of its own does: warm up, fit once against the clock, keep the weights."""
    X, y, alphas = (np.load(Path(folder) / f"{name}.npy") for name in ("X", "y", "alphas"))
    X = X if library == "maxmargin" else np.asfortranarray(X)
    few = X[:, :200].copy(order="K")
    for several in (alphas[:1], alphas[0] * np.geomspace(1, 0.01, 20)):
        fit_with(library, few, y, several)
    began = perf_counter()
    coefs = fit_with(library, X, y, alphas)
    seconds = perf_counter() - began
    np.save(Path(folder) / f"{library}.npy", coefs)
    print(json.dumps(seconds))


def objectives(X, y, alphas, coefs):
    """Primal objectives and the lower bounds that the scaled residuals prove."""
    primal, dual = [], []
    for alpha, w in zip(alphas, coefs, strict=True):
        used = np.flatnonzero(w)
        residual = y - X[:, used] @ w[used]
        squared = residual @ residual
        highest = np.max(np.abs(X.T @ residual))
        multiple = min(residual @ y / squared, len(y) * alpha / highest)
        primal.append(squared / (2 * len(y)) + alpha * np.abs(w).sum())
        dual.append((multiple * (residual @ y) - 0.5 * multiple**2 * squared) / len(y))
    return np.array(primal), np.array(dual)


def run(name, folder, libraries, repeat):
    seconds = {library: [] for library in libraries}
    for _ in range(repeat):
        for library in libraries:
            command = [sys.executable, __file__, "--work", library, str(folder)]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            seconds[library].append(json.loads(answer))
    X, y, alphas = (np.load(folder / f"{part}.npy") for part in ("X", "y", "alphas"))
    values = {
        library: objectives(X, y, alphas, np.load(folder / f"{library}.npy"))
        for library in libraries
    }
    lowest = np.min([primal for primal, _ in values.values()], axis=0)
    at_zero = y @ y / (2 * len(y))
    ours = min(seconds.get("maxmargin", [np.nan]))
    for library, (primal, dual) in values.items():
        best = min(seconds[library])
        gap, excess = np.max(primal - dual) / at_zero, np.max(primal - lowest) / at_zero
        print(
            f"{name:<26}{library:<11}{1e3 * best:>11.2f} ms{best / ours:>8.1f}"
            f"{gap:>10.0e}{excess:>10.0e}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("MAXMARGIN_DATA"))
    parser.add_argument("--repeat", type=int, default=3, help="processes of each library")
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--long", action="store_true", help="scikit-learn takes minutes")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return
    if not options.data:
        print("skipped: no data folder (give --data DIR, or set MAXMARGIN_DATA)")
        return
    chosen = [library for library in options.libraries.split(",")
              if importlib.util.find_spec(library)]  # fmt: skip
    print(f"{'':<26}{'library':<11}{'best':>14}{'ratio':>8}{'gap':>10}{'excess':>10}")
    for name, (source, parts) in SETS.items():
        if name == LONG and not options.long:
            continue
        X, y = {"leu": leu, "simulated": simulated}[source](options.data)
        X, y = X - X.mean(axis=0), y - y.mean()
        alphas = np.max(np.abs(X.T @ y)) / len(y) * np.asarray(parts)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for part, array in (("X", X), ("y", y), ("alphas", alphas)):
                np.save(folder / f"{part}.npy", array)
            run(name, folder, chosen, options.repeat)


if __name__ == "__main__":
    main()
