"""Fit seconds for several cache sizes, which is how the default was chosen.

python benchmarks/cache.py --data DIR [--sets a9a,ijcnn1]
"""

import argparse
import os
from time import perf_counter

from datasets import DATA_SETS

from maxmargin import SVC

SIZES = (50, 200, 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("MAXMARGIN_DATA"))
    parser.add_argument("--sets", default="a9a,ijcnn1,cod-rna,w8a")
    options = parser.parse_args()
    if not options.data:
        print("no data folder: give --data DIR or set MAXMARGIN_DATA")
        return
    for name in options.sets.split(","):
        data = DATA_SETS[name]
        X, y = data.arrays(options.data)[:2]
        model = SVC(C=data.C, gamma=data.gamma)
        model.fit(X[:3000], y[:3000])
        seconds = {}
        for size in SIZES:
            began = perf_counter()
            model.set_params(cache_size=size).fit(X, y)
            seconds[size] = perf_counter() - began
        print(name, "  ".join(f"{size} MB: {value:.2f} s" for size, value in seconds.items()))


if __name__ == "__main__":
    main()
