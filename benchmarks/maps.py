"""Time feature maps against scikit-learn's Nystroem and RBFSampler, and say how near they come.

python benchmarks/maps.py [--rows N] [--repeat N] [--cases NAME,...] [--libraries NAME,...]

Each case is a map of so many rows to so many features. Every library runs it in a process of its
own, warmed up on some of the rows; the processes take turns, and the best time of each step counts:
`fit`, `transform`, and `fit_transform` as one call. "cpu" is the processor time of that call in all
threads, which a busy machine changes less than the clock. "ratio" is scikit-learn's time of
`fit_transform` over ours. "memory" is by how much the peak of the process grew in `transform`, over
the size of the features; a peak that was reached before hides a part of it. "error" is the root
mean square of z(x).z(x') - k(x, x') on some rows.
"""

import argparse
import json
import resource
import subprocess
import sys
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from scipy import sparse

LIBRARIES = ("maxmargin", "sklearn")
STEPS = ("fit", "transform", "fit_transform")
WARM_ROWS = 5000
ERROR_ROWS = 500


class Case(NamedTuple):
    """A map, its kernel with gamma = 1 / n_features, and the rows it is given."""

    kind: str
    kernel: str = "rbf"
    n_features: int = 20
    n_components: int = 300
    storage: str = "dense"
    dtype: type = np.float64


CASES = {
    "nystroem": Case("nystroem"),
    "nystroem float32": Case("nystroem", dtype=np.float32),
    "nystroem wide": Case("nystroem", n_features=300),
    "nystroem 1000": Case("nystroem", n_components=1000),
    "nystroem sparse": Case("nystroem", n_features=20_000, storage="sparse"),
    "nystroem poly": Case("nystroem", kernel="poly"),
    "nystroem linear": Case("nystroem", kernel="linear", n_features=400),
    "nystroem laplacian": Case("nystroem", kernel="laplacian"),
    "waves": Case("waves"),
    "waves float32": Case("waves", dtype=np.float32),
    "waves wide": Case("waves", n_features=300),
    "waves wide float32": Case("waves", n_features=300, dtype=np.float32),
    "waves sparse": Case("waves", n_features=20_000, storage="sparse"),
}


def rows_of(case, n):
    """Normal numbers, or 50 of them to a sparse row; all rows have squares of about n_features."""
    rng = np.random.default_rng(0)
    if case.storage == "dense":
        return rng.standard_normal((n, case.n_features)).astype(case.dtype)
    stored = 50
    values = rng.standard_normal(n * stored) * np.sqrt(case.n_features / stored)
    columns = rng.integers(0, case.n_features, n * stored)
    starts = np.arange(0, n * stored + 1, stored)
    X = sparse.csr_array((values.astype(case.dtype), columns, starts), shape=(n, case.n_features))
    X.sum_duplicates()
    return X


def map_of(library, case):
    gamma = 1 / case.n_features
    options = {"n_components": case.n_components, "gamma": gamma, "random_state": 0}
    if case.kind == "nystroem":
        options |= {"kernel": case.kernel, "degree": 3, "coef0": 1.0}
    if library == "maxmargin":
        from maxmargin import Nystroem, RandomFourierFeatures

        return (Nystroem if case.kind == "nystroem" else RandomFourierFeatures)(**options)
    from sklearn.kernel_approximation import Nystroem, RBFSampler

    return (Nystroem if case.kind == "nystroem" else RBFSampler)(**options)


def error_of(model, case, X):
    from sklearn.metrics.pairwise import pairwise_kernels

    some = X[:ERROR_ROWS].astype(np.float64)
    features = model.transform(X[:ERROR_ROWS]).astype(np.float64)
    options = {"gamma": 1 / case.n_features, "degree": 3, "coef0": 1.0}
    K = pairwise_kernels(some, metric=case.kernel, filter_params=True, **options)
    return float(np.sqrt(np.mean((features @ features.T - K) ** 2)))


def peak():
    """The most memory that this process has had, in MB (Linux counts in KB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(library, title, n):
    """What a process of its own does: warm up, then every step against the clock."""
    case = CASES[title]
    X = rows_of(case, n)
    map_of(library, case).fit_transform(X[:WARM_ROWS])
    seconds, model = {}, map_of(library, case)

    def timed(step, call):
        began, cpu = perf_counter(), process_time()
        call(X)
        seconds[step], seconds["cpu"] = perf_counter() - began, process_time() - cpu

    timed("fit", model.fit)
    before = peak()
    timed("transform", model.transform)
    features = n * case.n_components * np.dtype(case.dtype).itemsize / 2**20
    seconds["memory"] = (peak() - before) / features
    seconds["error"] = error_of(model, case, X)
    timed("fit_transform", map_of(library, case).fit_transform)
    print(json.dumps(seconds))


def best_of(title, libraries, n, repeat):
    """The smallest of everything, for each library, whose processes take turns."""
    found = {library: [] for library in libraries}
    for _ in range(repeat):
        for library in libraries:
            command = [sys.executable, __file__, "--work", library, title, str(n)]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found[library].append(json.loads(answer))
    return {
        library: {name: min(run[name] for run in runs) for name in runs[0]}
        for library, runs in found.items()
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeat", type=int, default=3, help="processes of each library")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        library, title, n = options.work
        work(library, title, int(n))
        return
    names = [*STEPS, "cpu", "ratio", "memory", "error"]
    print(f"{'':<20}{'library':<11}" + "".join(f"{name:>14}" for name in names))
    for title in options.cases.split(","):
        found = best_of(title, options.libraries.split(","), options.rows, options.repeat)
        ours = found.get("maxmargin", {}).get("fit_transform", np.nan)
        for library, one in found.items():
            times = "".join(f"{one[name]:>12.3f} s" for name in (*STEPS, "cpu"))
            rest = (
                f"{one['fit_transform'] / ours:>14.2f}{one['memory']:>14.2f}{one['error']:>14.1e}"
            )
            print(f"{title:<20}{library:<11}{times}{rest}", flush=True)


if __name__ == "__main__":
    main()
