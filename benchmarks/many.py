"""Time maxmargin against scikit-learn and scikit-learn-intelex on problems that chance draws.

    python benchmarks/many.py --seed 7 [--data DIR] [--sets N] [--cores 2,4,8,16] [--json FILE]
    python benchmarks/many.py --seed 7 --quick    five small sets, some minutes

Nobody can tune to these: the seed draws the estimator, the set, how many of its rows (500 to
50,000, log-uniformly), which classes go together, dense or sparse rows, the scaling, the kernel
and its parameters (draws.py). Without a data folder all sets are scikit-learn's own. A problem
depends on the seed, its number and the folder alone: `--only 4,17` measures those two again.

Every library fits every problem in a process of its own, after a warm-up; the best of a few fits
counts. The process may use as many cores as `--cores` says, by its affinity and by the variables
that set numbers of threads. scikit-learn's solver has one thread, so it runs once for all numbers.

"ratio" is the faster peer's time over ours. A fit that takes longer than `--limit` is ended and
stands with the limit, marked ">"; the ratio is then a bound, ">" where no peer was in time and "<"
where we were not, and enters the means as it is. "objective" is by how much our dual objective,
recomputed from the data, exceeds the best of the peers, relative to it; WORSE marks those that
fall short of it by more than the tolerance explains. The problems with the lowest ratios of fit
are fitted again by us, to say what the time went into.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from itertools import pairwise, product
from pathlib import Path

import report
from draws import ESTIMATORS, KERNELS, LEAST_ROWS, MOST_ROWS
from report import LIBRARY_NAMES, OURS
from run import TOL, available, measure, positive, run_script
from worker import NOT_THERE

QUICK = {"sets": 5, "rows": 1500}
THOROUGH = {"sets": 40, "rows": MOST_ROWS}
SIZES = (LEAST_ROWS, 2000, 10_000, MOST_ROWS)
SIZE_NAMES = [f"{low} to {high} rows" for low, high in pairwise(SIZES)]
GROUPS = ("all", *SIZE_NAMES, *ESTIMATORS, *KERNELS, "dense", "sparse")
SINGLE_THREADED = "sklearn"
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Most solutions of the same tol differ by less than this share; some with a small nu by more.
WORSE = -1e-3
N_WORST = 10
STEPS = {"fit_s": "fit", "predict_s": "predict"}


def several(text):
    return [int(number) for number in text.split(",")]


def command_line():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seed", type=int, default=0)
    add("--data", metavar="DIR", default=os.environ.get("MAXMARGIN_DATA"))
    add("--quick", action="store_true", help="five sets of up to 1500 rows")
    add("--sets", type=positive, metavar="N", help="how many (default: 40)")
    add("--only", type=several, metavar="N,N", help="the numbers of some problems (default: all)")
    add("--rows", type=positive, metavar="MOST", help="rows of the largest (default: 50000)")
    add("--cores", type=several, metavar="N,N", help="how many (default: all that are here)")
    add("--repeat", type=positive, default=3, metavar="N", help="best of N (default: 3)")
    add("--limit", type=float, default=60, metavar="SECONDS", help="for a fit (default: 60)")
    add("--json", metavar="FILE", help="also write everything measured to FILE")
    options = parser.parse_args()
    for name, value in (QUICK if options.quick else THOROUGH).items():
        setattr(options, name, getattr(options, name) or value)
    return options


def processors():
    """Those that this process may use, one of each core before the second of any."""
    if not hasattr(os, "sched_getaffinity"):  # not Linux
        return list(range(os.cpu_count()))

    def is_second(number):
        siblings = Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list")
        return siblings.exists() and int(re.match(r"\d+", siblings.read_text())[0]) != number

    return sorted(os.sched_getaffinity(0), key=lambda number: (is_second(number), number))


def keep_to(some):
    """Bind this process and those it starts to some processors, and to as many threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, some)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(len(some))))


def draw_into(folder, number, options):
    data = ["--data", options.data] if options.data else []
    run_script("draws.py", options.seed, number, "--out", folder, "--rows", options.rows, *data)
    return json.loads((folder / "problem.json").read_text())


def result_of(library, folder, problem, options):
    """What was measured, "unfinished" or "failed"; None where there is no such estimator."""
    limits = "--repeat", options.repeat, "--limit", options.limit
    problem = problem["estimator"], problem["parameters"]
    try:
        return measure(library, folder, *problem, *limits, stderr=subprocess.PIPE)
    except subprocess.CalledProcessError as error:
        if error.returncode == NOT_THERE:
            return None
        if error.returncode == -signal.SIGALRM:
            return {"fit_s": [options.limit], "predict_s": [], "unfinished": True}
        return {"fit_s": [], "predict_s": [], "failed": (error.stderr or str(error)).strip()}


def records_of(number, libraries, processors, options):
    """One record for each number of cores; prints them as they come."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, once = Path(temporary), {}
        problem = draw_into(folder, number, options)
        for cores in options.cores:
            keep_to(processors[:cores])
            results = dict(once)
            for library in [name for name in libraries if name not in once]:
                results[library] = result_of(library, folder, problem, options)
            once = {name: results[name] for name in results if name == SINGLE_THREADED}
            found = {name: result for name, result in results.items() if result}
            record = problem | {"cores": cores, "results": found} | compare(found)
            print_record(record)
            yield record


def compare(results):
    """The ratios, the sign of a ratio that is a bound, and the difference of the objectives."""
    ours = results.get(OURS, {})
    peers = [one for library, one in results.items() if library != OURS and one["fit_s"]]
    too_slow = bool(peers) and all("unfinished" in peer for peer in peers)
    ratios = {step: report.ratio(results, step) for step in STEPS}
    if too_slow and "unfinished" in ours:
        ratios["fit_s"] = None
    bests = [peer["objective"] for peer in peers if "objective" in peer]
    difference = None
    if bests and "objective" in ours:
        difference = (ours["objective"] - max(bests)) / max(abs(max(bests)), sys.float_info.min)
    sign = ">" if too_slow else "<" if "unfinished" in ours else ""
    return {"ratios": ratios, "bound": sign, "objective": difference}


def title_of(record):
    """What is in the JSON file, for people."""
    rows, _, features, targets = record["shape"].values()
    kernel, *others = record["parameters"].items()
    if kernel[1] == "linear":
        others = others[1:]  # gamma, which it has not
    classes = f", {targets} classes" if record["estimator"].endswith("SVC") else ""
    data = f"{record['set']} {rows} x {features}{classes}, {record['storage']}, {record['scaling']}"
    values = ", ".join(f"{name}={value:.3g}" for name, value in others)
    return f"{record['number']}: {data}; {record['estimator']} {kernel[1]}, {values}"


def seconds_of(result):
    if result is None:
        return ""
    if "failed" in result:
        return "failed"
    if "unfinished" in result:
        return f"> {result['fit_s'][0]:g}"
    return " / ".join(f"{min(result[step]):.3g}" for step in STEPS)


def ratio_of(record, step):
    ratio, sign = record["ratios"][step], record["bound"] if step == "fit_s" else ""
    return "" if ratio is None else f"{sign} {ratio:.2f}".strip()


def print_row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def print_head(*cells):
    print()
    print_row(*cells)
    print("|" + "---|" * len(cells))


def print_record(record):
    times = [seconds_of(record["results"].get(library)) for library in LIBRARY_NAMES]
    ratios = [ratio_of(record, step) for step in STEPS]
    difference = record["objective"]
    objective = "" if difference is None else f"{difference:+.1e}"
    if is_worse(record):
        objective += " WORSE"
    print_row(title_of(record), record["cores"], *times, *ratios, objective)
    for library, result in record["results"].items():
        if "failed" in result:
            print(f"{LIBRARY_NAMES[library]} failed: {result['failed'].splitlines()[-1]}")


def is_worse(record):
    return record["objective"] is not None and record["objective"] < WORSE


def groups_of(record):
    size = sum(record["shape"]["train_rows"] > high for high in SIZES[1:-1])
    kind = record["estimator"], record["parameters"]["kernel"], record["storage"]
    return "all", SIZE_NAMES[size], *kind


def means_of(records, cores):
    """The mean and the lowest ratio for each number of cores, group of problems and step."""
    for number, group, step in product(cores, GROUPS, STEPS):
        chosen = [one for one in records if one["cores"] == number and group in groups_of(one)]
        ratios = [one["ratios"][step] for one in chosen if one["ratios"][step] is not None]
        if ratios:
            found = {"mean": report.geometric_mean(ratios), "lowest": min(ratios)}
            yield {"cores": number, "group": group, "step": step, "number": len(ratios), **found}


def print_means(means):
    print_head("problems", "cores", "step", "how many", "mean ratio", "lowest")
    for one in means:
        ratios = f"{one['mean']:.2f}", f"{one['lowest']:.2f}"
        print_row(one["group"], one["cores"], STEPS[one["step"]], one["number"], *ratios)


def growth_of(records, fewest):
    """How many times faster than with the fewest cores we fit: mean, lowest and that problem."""
    fits = {(r["number"], r["cores"]): r["results"].get(OURS) for r in records}
    fits = {key: min(one["fit_s"]) for key, one in fits.items() if one and one["predict_s"]}
    for cores in sorted({cores for _, cores in fits} - {fewest}):
        gains = {
            n: fits[n, fewest] / fits[n, k] for n, k in fits if k == cores and (n, fewest) in fits
        }
        if gains:
            worst = min(gains, key=gains.get)
            yield cores, report.geometric_mean(gains.values()), gains[worst], worst


def print_growth(records, fewest):
    print_head("cores", f"our fit against {fewest} cores, mean", "lowest", "in problem")
    for cores, mean, lowest, number in growth_of(records, fewest):
        print_row(cores, f"{mean:.2f}", f"{lowest:.2f}", number)


def time_spent(record, processors, options):
    """What our last fit says that it spent its time on, or where it stood when time was over."""
    keep_to(processors[: record["cores"]])
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        draw_into(folder, record["number"], options)
        parameters = record["parameters"] | {"tol": TOL, "verbose": 2}
        problem = "--estimator", record["estimator"], "--parameters", json.dumps(parameters)
        command = "worker.py", OURS, folder, *problem, "--limit", options.limit, "--repeat", 2
        try:
            told = run_script(*command, stderr=subprocess.STDOUT)
        except subprocess.CalledProcessError as error:
            told = error.stdout
    lines = re.findall(r"^maxmargin: (?:time spent on )?(.*)", told, re.MULTILINE)
    return lines[-1] if lines else "not told"


def print_worst(records, processors, options):
    known = [record for record in records if record["ratios"]["fit_s"] is not None]
    print_head("lowest fit ratios", "cores", "ratio", "ours", "which it spent on")
    for record in sorted(known, key=lambda record: record["ratios"]["fit_s"])[:N_WORST]:
        record["time_spent"] = time_spent(record, processors, options)
        ratio, ours = ratio_of(record, "fit_s"), seconds_of(record["results"][OURS])
        print_row(title_of(record), record["cores"], ratio, ours, record["time_spent"])


def measure_all(options, here):
    records, libraries = [], available(LIBRARY_NAMES)
    print_head(
        "problem", "cores", *LIBRARY_NAMES.values(), "fit ratio", "predict ratio", "objective"
    )
    for number in options.only or range(options.sets):
        records.extend(records_of(number, libraries, here, options))
    return records


def main():
    options, here = command_line(), processors()
    options.cores = options.cores or [len(here)]
    if max(options.cores) > len(here):
        sys.exit(f"--cores: this process may use {len(here)}, not {max(options.cores)}")
    facts = report.environment() | {"seed": options.seed}
    report.print_environment(facts)
    print(
        f"draws     seed {options.seed}, rows up to {options.rows}, data {options.data or 'none'}"
    )
    records = measure_all(options, here)
    means = list(means_of(records, options.cores))
    print_means(means)
    if len(options.cores) > 1:
        print_growth(records, min(options.cores))
    print_worst(records, here, options)
    if options.json:
        everything = {"environment": facts, "problems": records, "means": means}
        Path(options.json).write_text(json.dumps(everything, indent=2) + "\n")
    failed = any("failed" in record["results"].get(OURS, {}) for record in records)
    return 1 if failed or any(map(is_worse, records)) else 0


if __name__ == "__main__":
    sys.exit(main())
