"""What the benchmark prints: the machine, a table per data set, and the mean ratios."""

import datetime
import math
import os
import platform
from importlib import metadata
from pathlib import Path

LIBRARY_NAMES = {
    "sklearn": "scikit-learn",
    "sklearnex": "scikit-learn-intelex",
    "maxmargin": "maxmargin",
}
OTHER_PACKAGES = ("numpy", "scipy", "numba")
OURS, REFERENCE = "maxmargin", "sklearn"
FEASIBILITY_WARNING = 1e-6

LEGEND = """\
ratio: the faster peer's seconds / maxmargin's; above 1, maxmargin is the faster
objective: dual, float64, recomputed from the data; vs LIBSVM: (objective - LIBSVM's) / LIBSVM's,
           above 0 is nearer the optimum
score: accuracy, R^2 for regression, the share of new points inside for one class
fit MB: growth of the process's peak memory during the first fit; peak MB: that peak"""

COLUMNS = (
    ("library", "{:<20}", "{:<20}"),
    ("fit s", "{:>9}", "{:>9.3f}"),
    ("ratio", "{:>6}", "{:>6.2f}"),
    ("predict s", "{:>9}", "{:>9.3f}"),
    ("ratio", "{:>6}", "{:>6.2f}"),
    ("objective", "{:>16}", "{:>16.6f}"),
    ("vs LIBSVM", "{:>10}", "{:>+10.1e}"),
    ("SVs", "{:>6}", "{:>6d}"),
    ("score", "{:>8}", "{:>8.4f}"),
    ("fit MB", "{:>7}", "{:>7.0f}"),
    ("peak MB", "{:>7}", "{:>7.0f}"),
)


def _cpu_model():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def environment():
    packages = (*LIBRARY_NAMES.values(), *OTHER_PACKAGES)
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in packages},
        "thread_settings": {k: v for k, v in os.environ.items() if k.endswith("_NUM_THREADS")},
    }


def print_environment(facts):
    versions = [f"{name} {version}" for name, version in facts["packages"].items() if version]
    print(f"date      {facts['date']}")
    print(f"machine   {facts['cpu']}, {facts['cores']} cores, {facts['system']}")
    print(f"versions  python {facts['python']}, {', '.join(versions)}")
    for name, value in facts["thread_settings"].items():
        print(f"setting   {name}={value}")


def print_legend(tol):
    print(f"fits      tol={tol}, default cache_size, float64 dense, one process per library")
    print(LEGEND, flush=True)


def ratio(results, key):
    """The faster peer's best seconds over ours; None where either is missing."""
    best = {library: min(result[key]) for library, result in results.items() if result[key]}
    ours = best.pop(OURS, None)
    return min(best.values()) / ours if best and ours else None


def objective_difference(results, library):
    """Relative to LIBSVM's, as scikit-learn runs it; None where it was not run."""
    if REFERENCE not in results:
        return None
    reference = results[REFERENCE]["objective"]
    return (results[library]["objective"] - reference) / abs(reference)


def _cells(results, library):
    result, ours = results[library], library == OURS
    return (
        LIBRARY_NAMES[library],
        min(result["fit_s"]),
        ratio(results, "fit_s") if ours else None,
        min(result["predict_s"]),
        ratio(results, "predict_s") if ours else None,
        result["objective"],
        objective_difference(results, library) if library != REFERENCE else None,
        result["support_vectors"],
        result["accuracy"],
        result["peak_mb"] - result["baseline_mb"],
        result["peak_mb"],
    )


def _row(cells):
    pairs = zip(cells, COLUMNS, strict=True)
    return "  ".join(
        empty.format("") if cell is None else form.format(cell) for cell, (_, empty, form) in pairs
    )


def _remarks(result, C):
    if result.get("accelerated") is False:
        yield "fell back to scikit-learn's own solver"
    worst = max(result["equality_error"], result["box_error"])
    if worst > FEASIBILITY_WARNING * C:
        yield f"leaves the feasible set by {worst:.1e}, so its objective may pass the optimum"


def print_table(data_set, shape, results):
    print(
        f"\n{data_set.name}: {shape['train_rows']} training rows, {shape['test_rows']} test rows, "
        f"{shape['features']} features, {shape['classes']} different targets; "
        f"{data_set.estimator}, {', '.join(f'{k}={v}' for k, v in data_set.parameters.items())}"
    )
    print("  ".join(form.format(title) for title, form, _ in COLUMNS))
    for library in results:
        print(_row(_cells(results, library)))
    for library, result in results.items():
        for remark in _remarks(result, data_set.C):
            print(f"{LIBRARY_NAMES[library]}: {remark}")
    print(end="", flush=True)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def mean_ratios(results_by_set):
    """Geometric means over the sets of the fit and predict ratios, with how many sets they are."""
    means = {}
    for key in ("fit_s", "predict_s"):
        ratios = [ratio(results, key) for results in results_by_set]
        ratios = [value for value in ratios if value is not None]
        if ratios:
            means[key] = {"ratio": geometric_mean(ratios), "sets": len(ratios)}
    return means


def print_mean_ratios(means):
    for key, label in (("fit_s", "fit"), ("predict_s", "predict")):
        if key in means:
            mean = means[key]
            print(
                f"geometric mean of the {label} ratios over {mean['sets']} sets: "
                f"{mean['ratio']:.2f}"
            )
