"""What probability=True adds to the time of a fit on a9a.

python benchmarks/probability.py --data DIR
"""

import argparse
import os
from time import perf_counter

from datasets import DATA_SETS

from maxmargin import SVC


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("MAXMARGIN_DATA"))
    options = parser.parse_args()
    if not options.data:
        print("skipped: no data folder (give --data DIR, or set MAXMARGIN_DATA)")
        return
    data = DATA_SETS["a9a"]
    X, y = data.arrays(options.data)[:2]
    seconds = {False: [], True: []}
    SVC(**data.parameters, probability=True).fit(X[:3000], y[:3000])
    for _ in range(3):
        for probability, times in seconds.items():
            began = perf_counter()
            SVC(**data.parameters, probability=probability).fit(X, y)
            times.append(perf_counter() - began)
    plain, calibrated = min(seconds[False]), min(seconds[True])
    print(
        f"a9a: plain {plain:.2f} s, with probabilities {calibrated:.2f} s, "
        f"ratio {calibrated / plain:.2f}"
    )


if __name__ == "__main__":
    main()
