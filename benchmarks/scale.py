"""Which machine for how many rows: time, memory and accuracy of each as the rows grow.

python benchmarks/scale.py [--rows N,N,...] [--features N] [--machines NAME,...]

The rows are made up (`make_classification`, half of the features informative, four clusters to a
class, standardised), so that a linear boundary is not enough. Every fit is the first of a process
of its own after a warm-up. "cpu" is the processor time of the fit in all threads, which is what a
busy machine can still measure; on idle cores the clock shows less. "memory" is by how much the peak
of the process grew. Accuracy is that of 20,000 rows not seen.
"""

import argparse
import json
import resource
import subprocess
import sys
import warnings
from time import perf_counter, process_time

from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

N_TEST = 20_000
WARM_ROWS = 1000


def after(features):
    from maxmargin import LinearSVC

    return make_pipeline(features, LinearSVC())


def machine_of(name):
    from maxmargin import SVC, LinearSVC, Nystroem, RandomFourierFeatures

    kind, _, size = name.partition(" ")
    makers = {
        "SVC": lambda: SVC(),
        "LinearSVC": lambda: LinearSVC(),
        "waves": lambda: after(RandomFourierFeatures(n_components=int(size))),
        "Nystroem": lambda: after(Nystroem(n_components=int(size))),
    }
    return makers[kind]()


def rows_of(n, d):
    X, y = make_classification(
        n + N_TEST,
        d,
        n_informative=d // 2,
        n_redundant=0,
        n_clusters_per_class=4,
        class_sep=1.5,
        random_state=0,
    )
    return StandardScaler().fit_transform(X), y


def peak():
    """The most memory that this process has had, in MB (Linux counts in KB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(name, n, d):
    warnings.simplefilter("ignore")
    X, y = rows_of(n, d)
    machine_of(name).fit(X[:WARM_ROWS], y[:WARM_ROWS])
    model, before = machine_of(name), peak()
    began, cpu = perf_counter(), process_time()
    model.fit(X[:n], y[:n])
    seconds, cpu = perf_counter() - began, process_time() - cpu
    memory = peak() - before
    accuracy = model.score(X[n:], y[n:])
    print(json.dumps({"clock": seconds, "cpu": cpu, "memory": memory, "accuracy": accuracy}))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="10000,50000,200000")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--machines", default="LinearSVC,waves 300,Nystroem 300,Nystroem 1000,SVC")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        name, n, d = options.work
        work(name, int(n), int(d))
        return
    print(f"{'machine':<16}{'rows':>9}{'clock':>11}{'cpu':>11}{'memory':>10}{'accuracy':>10}")
    for n in options.rows.split(","):
        for name in options.machines.split(","):
            command = [sys.executable, __file__, "--work", name, n, str(options.features)]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            one = json.loads(answer)
            print(
                f"{name:<16}{n:>9}{one['clock']:>9.2f} s{one['cpu']:>9.2f} s"
                f"{one['memory']:>7.0f} MB{one['accuracy']:>10.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
