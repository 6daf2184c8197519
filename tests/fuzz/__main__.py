"""`python tests/fuzz MINUTES`: fresh seeds for as long as asked, on two processes.

A finding is shrunk, written as a snippet that makes it again, and from then on passed over, so that
the next one can be found. The last lines count the cases of each family and the findings; the exit
code is 1 if there was any.
"""

import argparse
import multiprocessing
import os
import secrets
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the processes share the machine

from hunt import hunt

PROCESSES = multiprocessing.get_context("spawn")


def main():
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    say(f"{options.minutes:g} minutes on {options.processes} processes, to {options.folder}")
    counts, findings = collect(options, time.time() + 60 * options.minutes)
    say(", ".join(f"{family} {count}" for family, count in counts.items()))
    say(f"{sum(counts.values())} cases, {findings} findings")
    return 1 if findings else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("minutes", type=float, nargs="?", default=60.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--families", nargs="*")
    parser.add_argument("--folder", type=Path, default=Path("fuzz_output"))
    return parser.parse_args()


def collect(options, end):
    """Keep the processes going until the end; one that dies is a finding, and is replaced."""
    queue, counts, findings, hunters = PROCESSES.Queue(), Counter(), 0, []
    while time.time() < end or hunters:
        while time.time() < end and len(hunters) < options.processes:
            hunters.append(new_hunter(options, end, queue))
        time.sleep(1.0)
        for family, count, finding in arrived(queue):
            counts[family] += count
            if finding:
                findings += 1
                say(f"FINDING {finding}")
        for hunter in [hunter for hunter in hunters if not hunter.is_alive()]:
            hunters.remove(hunter)
            if hunter.exitcode != 0:
                findings += 1
                say(f"FINDING process {hunter.pid} ended with {hunter.exitcode}: its last case is "
                    f"{options.folder}/running_{hunter.pid}.py")  # fmt: skip
    return counts, findings


def new_hunter(options, end, queue):
    seed = secrets.randbits(31)
    say(f"seed {seed}")
    work = (seed, end, options.families, options.folder, queue)
    hunter = PROCESSES.Process(target=hunt, args=work)
    hunter.start()
    return hunter


def arrived(queue):
    while not queue.empty():
        yield queue.get()


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
