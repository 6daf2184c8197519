"""The verbs that show something: inspect, plot, bench, demo, experiment."""

import io
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from sklearn.svm import SVC as SklearnSVC

import maxmargin
from maxmargin import arrays
from maxmargin.cli.messages import UsageError, say, write, write_json
from maxmargin.cli.models import data_for, first_step, known_columns, open_model, save_model
from maxmargin.cli.work import describe, fit_with_line, lines_of, score
from maxmargin.datasets import make_moons
from maxmargin.displays.models import rows_at_last_step
from maxmargin.errors import FileError
from maxmargin.estimators.pipelines import last_step
from maxmargin.files.access import replacing
from maxmargin.files.tables import name_of
from maxmargin.inspection import kkt_report, margins

TOLD_FROM = 0.5  # A fit of fewer seconds has compiled nothing.
NO_CERTIFICATE = "no certificate: the file does not hold one (LIBSVM's never do)."


def inspect(model_path, data_path, target, drop, as_json):
    model = open_model(model_path)
    last, facts = last_step(model), describe(model)
    certificate = getattr(last, "certificate_", None)
    report = None if certificate is None else kkt_report(last)
    found = None
    if data_path is not None:
        X, y, _ = data_for(model, data_path, target, drop)
        facts |= score(model, model.predict(X), y)
        if y is not None and _has_margins(last):
            found = _margins(model, X, y, data_path)
    if as_json:
        write_json({**facts, "certificate": certificate, "kkt": _conditions(report)} | _of(found))
        return
    parts = [lines_of(facts), *map(repr, filter(None, (certificate, report, found)))]
    write("\n\n".join(parts))
    if certificate is None:
        say(NO_CERTIFICATE)


def _margins(model, X, y, path):
    """The margins of the rows whose label was in the fit; the others have none."""
    last = last_step(model)
    known = np.isin(y, last.classes_)
    if not np.all(known):
        count, other = f"{np.sum(~known)} of {len(y)} rows", str(y[~known][0])
        reason = f"have labels that were not in the fit, like {other!r}, and so no margins"
        say(f"{name_of(path)}: {count} {reason}.")
    if not np.any(known):
        return None
    return margins(last, rows_at_last_step(model, arrays.take(X, np.flatnonzero(known))), y[known])


def _has_margins(model):
    """Whether |w| is known. A linear machine has it, but LIBSVM's files do not hold it."""
    is_kernel_machine = hasattr(model, "dual_coef_")
    return is_classifier(model) and hasattr(model, "norms_" if is_kernel_machine else "coef_")


def _conditions(report):
    return None if report is None else [one._asdict() for one in report.conditions]


def _of(found):
    if found is None:
        return {}
    names = ("functional_of_set", "geometric_of_set", "width", "norm")
    return {"margins": {name: getattr(found, name) for name in names}}


def plot(model_path, data_path, output, target, drop):
    model = open_model(model_path)
    width, words = first_step(model).n_features_in_, known_columns(model).categorical
    if not is_classifier(model) or width != 2 or words:
        what = f"this {type(last_step(model)).__name__} has {width}" + ", with words" * bool(words)
        raise ValueError(f"plot: needs a classifier of two features; {what}.")
    X, y, names = data_for(model, data_path, target, drop)
    if y is None:
        raise FileError(f"{data_path}: has no target to colour the points by.")
    draw(model, X, y, output, names or getattr(first_step(model), "feature_names_in_", None))


def draw(model, X, y, output, names=None):
    """Write the picture of a classifier of two features."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # a command needs no window
    from maxmargin.displays import BoundaryDisplay
    from maxmargin.displays.drawing import matplotlib_for

    display = BoundaryDisplay.from_estimator(model, X, y, plot=False)
    if names is not None:
        display.feature_names = tuple(names)
    picture, suffix = io.BytesIO(), Path(output).suffix.lstrip(".") or "png"
    figure = display.plot().figure_
    figure.savefig(picture, format=suffix, dpi=150, bbox_inches="tight")
    matplotlib_for("plot").pyplot.close(figure)
    with replacing(output) as file:
        file.write(picture.getvalue())


def bench(rows, data, quick, as_json):
    script = Path(maxmargin.__file__).parents[2] / "benchmarks" / "run.py"
    if data is not None:
        if not script.is_file():
            raise FileError("bench: --data needs a checkout with benchmarks/run.py.")
        command = [sys.executable, str(script), "--data", data, *(["--quick"] if quick else [])]
        return subprocess.run(command, check=False).returncode
    X, y = make_classification(rows, 20, n_informative=10, flip_y=0.02, random_state=0)
    libraries = {"maxmargin": maxmargin.SVC, "scikit-learn": SklearnSVC}
    found = {name: _timed(cls, X, y) for name, cls in libraries.items()}
    found["ratio"] = found["scikit-learn"]["seconds"] / found["maxmargin"]["seconds"]
    if as_json:
        return write_json({"rows": rows, "features": 20, **found})
    write(f"{rows} rows, 20 features, RBF kernel, C = 1")
    for name in libraries:
        seconds, objective = found[name].values()
        write(f"{name:<14}{seconds:>9.3f} s   dual objective {objective:.8g}")
    write(f"scikit-learn takes {found['ratio']:.2g} times as long")


def compile_all():
    def tell(model, seconds):
        if seconds >= TOLD_FROM:
            write(f"{seconds:6.1f} s  {model}")

    write(f"{maxmargin.compile(tell):6.1f} s  in all; the code is kept for later processes.")


def _timed(cls, X, y):
    cls().fit(X, y)  # so that compiling is not counted; fewer rows may need other loops
    began = perf_counter()
    model = cls().fit(X, y)
    seconds = perf_counter() - began
    coef, support = model.dual_coef_[0], model.support_vectors_
    gamma = 1.0 / (X.shape[1] * X.var())
    K = maxmargin.kernels.RBF(gamma)(support, support)
    return {"seconds": seconds, "dual_objective": float(np.abs(coef).sum() - coef @ K @ coef / 2)}


def demo(output, as_json):
    os.makedirs(output, exist_ok=True)
    X, y = make_moons(300, random_state=0)
    model = maxmargin.SVC(gamma=2.0)
    fit_with_line(model, X, y)
    paths = {"model": os.path.join(output, "moons.mm")}
    save_model(model, paths["model"])
    try:
        paths["picture"] = os.path.join(output, "moons.png")
        draw(model, X, y, paths["picture"])
    except ImportError as error:
        del paths["picture"]
        say(f"no picture: {error}")
    facts = {**paths, **describe(model), **score(model, model.predict(X), y)}
    if as_json:
        write_json(facts)
    else:
        write(lines_of(facts) + "\n\n" + repr(model.certificate_))


def experiment(name, output, data, quick, as_json):
    if data is not None and name != "reviews":
        raise UsageError(f"experiment: {name} makes its own data; only reviews takes --data.")
    output = name if output is None else output
    os.environ.setdefault("MPLBACKEND", "Agg")
    module = import_module(f"maxmargin.experiments.{name.replace('-', '_')}")
    results = module.run(output, data=data, quick=quick)
    write_json(results) if as_json else write(os.path.join(output, "report.md"))
