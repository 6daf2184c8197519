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
from maxmargin.cli.messages import UsageError, say, write, write_json
from maxmargin.cli.models import Opened, data_for, open_model, save_model
from maxmargin.cli.work import describe, fit_with_line, lines_of, score
from maxmargin.datasets import make_moons
from maxmargin.errors import FileError
from maxmargin.files.access import replacing
from maxmargin.inspection import kkt_report, margins

NO_CERTIFICATE = "no certificate: the file does not hold one (LIBSVM's never do)."
WARM_UP_ROWS = 300


def inspect(model_path, data_path, target, as_json):
    opened = open_model(model_path)
    model, facts = opened.model, describe(opened.model)
    certificate = getattr(model, "certificate_", None)
    report = None if certificate is None else kkt_report(model)
    found = None
    if data_path is not None:
        X, y, _ = data_for(opened, data_path, target)
        facts |= score(model, model.predict(X), y)
        if y is not None and _has_margins(model):
            found = margins(model, X, y)
    if as_json:
        write_json({**facts, "certificate": certificate, "kkt": _conditions(report)} | _of(found))
        return
    parts = [lines_of(facts), *map(repr, filter(None, (certificate, report, found)))]
    write("\n\n".join(parts))
    if certificate is None:
        say(NO_CERTIFICATE)


def _has_margins(model):
    """A kernel machine needs |w|, which LIBSVM's files do not hold; a linear one has it."""
    is_kernel_machine = hasattr(model, "dual_coef_")
    return is_classifier(model) and hasattr(model, "norms_" if is_kernel_machine else "coef_")


def _conditions(report):
    return None if report is None else [one._asdict() for one in report.conditions]


def _of(found):
    if found is None:
        return {}
    names = ("functional_of_set", "geometric_of_set", "width", "norm")
    return {"margins": {name: getattr(found, name) for name in names}}


def plot(model_path, data_path, output, target):
    opened = open_model(model_path)
    if not is_classifier(opened.model) or opened.model.n_features_in_ != 2:
        what = f"a {type(opened.model).__name__} of {opened.model.n_features_in_} features"
        raise ValueError(f"plot: needs a classifier of two features, got {what}.")
    X, y, names = data_for(opened, data_path, target)
    if y is None:
        raise FileError(f"{data_path}: has no target to colour the points by.")
    draw(opened.model, X, y, output, names or opened.names, opened.scaling is not None)


def draw(model, X, y, output, names=None, is_scaled=False):
    """Write the picture of a classifier of two features."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # a command needs no window
    from maxmargin.displays import BoundaryDisplay
    from maxmargin.displays.drawing import matplotlib_for

    display = BoundaryDisplay.from_estimator(model, X, y, plot=False)
    words = " (scaled)" if is_scaled else ""
    display.feature_names = tuple(name + words for name in names or display.feature_names)
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
    write(f"scikit-learn takes {found['ratio']:.1f} times as long")


def _timed(cls, X, y):
    cls().fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])  # so that compiling is not counted
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
    save_model(Opened(model, None, None), paths["model"])
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
