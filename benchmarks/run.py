"""Time maxmargin against scikit-learn and scikit-learn-intelex on well-known data sets.

    python benchmarks/run.py --data DIR            all sets
    python benchmarks/run.py --data DIR --quick    some smaller ones, a minute or two

Every library fits every set in a process of its own, at the same tolerance, after a warm-up;
the dual objective of each solution is then recomputed from the data (objective.py).
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import report
from datasets import DATA_SETS
from worker import NOT_THERE

HERE = Path(__file__).resolve().parent
TOL = 1e-3
DEFAULT_REPEAT = 3


def _names(known):
    def parse(text):
        names = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            raise argparse.ArgumentTypeError(f"{text!r}: choose from {', '.join(known)}")
        return names

    return parse


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _command_line():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", metavar="DIR", help="folder with the data files (default: $MAXMARGIN_DATA)")
    add("--quick", action="store_true", help="smaller sets, one repeat")
    add("--sets", type=_names(DATA_SETS), help="which, such as a9a,w8a (default: all)")
    add(
        "--libraries",
        type=_names(report.LIBRARY_NAMES),
        default=list(report.LIBRARY_NAMES),
        help="which, such as sklearn,maxmargin (default: all)",
    )
    add("--repeat", type=positive, metavar="N", help="best of N, sklearn excepted (default: 3)")
    add("--repeat-sklearn", type=positive, default=1, metavar="N", help="(default: 1, it is slow)")
    add("--rows", type=positive, metavar="N", help="only the first N training rows of each set")
    add("--json", metavar="FILE", help="also write everything measured to FILE")
    options = parser.parse_args()
    _fill_in(options, parser)
    return options


def _fill_in(options, parser):
    """The defaults that depend on other options."""
    quick_sets = [name for name, data_set in DATA_SETS.items() if data_set.in_quick]
    allowed = quick_sets if options.quick else list(DATA_SETS)
    options.sets = options.sets or allowed
    if not set(options.sets) <= set(allowed):
        parser.error(f"--quick has the sets {', '.join(quick_sets)}")
    options.repeat = options.repeat or (1 if options.quick else DEFAULT_REPEAT)
    options.data = options.data or os.environ.get("MAXMARGIN_DATA")


def run_script(script, *arguments, **process):
    """The standard output of one of the scripts beside this one, run in a new process."""
    # A child starts with its parent's peak memory on its own account (Linux), so this process
    # never holds any data: whatever needs it runs in a child.
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **process).stdout


def _prepare(data_set, options, folder):
    rows = options.rows or (data_set.quick_rows if options.quick else None)
    limit = ["--rows", rows] if rows else []
    run_script("datasets.py", data_set.name, "--data", options.data, "--out", folder, *limit)
    return json.loads((folder / "shape.json").read_text())


def measure(library, folder, estimator, parameters, *limits, **process):
    """What the worker measured within `limits`, its own options, and the objective it reached."""
    problem = ["--estimator", estimator, "--parameters", json.dumps(parameters | {"tol": TOL})]
    run_script("worker.py", library, folder, *problem, *limits, **process)
    measured = json.loads((folder / f"{library}.json").read_text())
    return measured | json.loads(run_script("objective.py", library, folder, *problem))


def _run_set(data_set, libraries, options):
    """The set's shape, each library's result, and the libraries that failed."""
    results, failed = {}, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shape = _prepare(data_set, options, folder)
        for library in libraries:
            repeat = options.repeat_sklearn if library == "sklearn" else options.repeat
            try:
                problem = data_set.estimator, data_set.parameters
                results[library] = measure(library, folder, *problem, "--repeat", repeat)
            except subprocess.CalledProcessError as error:
                if error.returncode == NOT_THERE:
                    print(f"\n{report.LIBRARY_NAMES[library]} has no {data_set.estimator}")
                    continue
                print(f"{data_set.name}: {library} failed (exit status {error.returncode})")
                failed.append(library)
    return shape, results, failed


def available(libraries):
    """The libraries that can be imported here; says which cannot."""
    found = [library for library in libraries if importlib.util.find_spec(library)]
    for library in libraries:
        if library not in found:
            print(f"skipped: {report.LIBRARY_NAMES[library]} is not installed")
    return found


def _benchmark(options):
    """One record per set that could be run; prints each table as soon as it is complete."""
    libraries, records = available(options.libraries), []
    for name in options.sets:
        data_set = DATA_SETS[name]
        missing = data_set.missing_files(options.data)
        if missing:
            print(f"\nskipped: {name}, the data folder has no {', '.join(missing)}")
            continue
        shape, results, failed = _run_set(data_set, libraries, options)
        report.print_table(data_set, shape, results)
        problem = {"estimator": data_set.estimator, **data_set.parameters, "tol": TOL}
        records.append(
            {"set": name, **problem, "shape": shape, "results": results, "failed": failed}
        )
    return records


def main():
    options = _command_line()
    if not options.data or not Path(options.data).is_dir():
        print("skipped: no data folder (give --data DIR, or set MAXMARGIN_DATA)")
        return 0
    environment = report.environment()
    report.print_environment(environment)
    report.print_legend(TOL)
    records = _benchmark(options)
    means = report.mean_ratios([record["results"] for record in records])
    print()
    report.print_mean_ratios(means)
    if options.json:
        everything = {"environment": environment, "sets": records, "mean_ratios": means}
        Path(options.json).write_text(json.dumps(everything, indent=2) + "\n")
    return 1 if any(record["failed"] for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())
