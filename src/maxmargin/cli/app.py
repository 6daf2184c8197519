"""The verbs of the command line and their options; `work.py` and `shows.py` do the work."""

from enum import StrEnum
from typing import Annotated

import typer
from typer import Abort

from maxmargin import __version__
from maxmargin.cli.messages import write
from maxmargin.cli.names import ESTIMATORS, EXPERIMENTS, FORMATS

__all__ = ["Abort", "app"]

app = typer.Typer(
    name="maxmargin",
    help="Support vector machines, exact, fast, and with a proof of optimality on every fit.",
    add_completion=False,
    epilog="LIBSVM's own tools are here too: maxmargin svm-train | svm-predict | svm-scale.",
)

# Made from tables, which mypy cannot look into.
EstimatorName = StrEnum("EstimatorName", {name: name for name in ESTIMATORS})  # type: ignore[misc]
DEFAULT_ESTIMATOR = EstimatorName("svc")
FormatName = StrEnum("FormatName", {name: name for name in FORMATS})  # type: ignore[misc]
ExperimentName = StrEnum("ExperimentName", {name: name for name in EXPERIMENTS})  # type: ignore[misc]

DataFile = Annotated[str, typer.Argument(help="svmlight or CSV, plain or compressed.")]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, ours or LIBSVM's.")]
Target = Annotated[
    str | None,
    typer.Option(help="CSV: the column to predict, by name or position from 0 (default: the last)"),
]
AsJSON = Annotated[bool, typer.Option("--json", help="Write one JSON object.")]


def _work():
    from maxmargin.cli import work

    return work


def _shows():
    from maxmargin.cli import shows

    return shows


def _number_or_word(text):
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def _show_version(asked: bool):
    if asked:
        write(f"maxmargin {__version__}")
        raise typer.Exit


@app.callback()
def _every_command(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Say which.")
    ] = False,
):
    pass


@app.command()
def fit(
    data: DataFile,
    model: Annotated[str, typer.Option(help="Where to write the model: .mm, or .model (LIBSVM).")],
    estimator: Annotated[EstimatorName, typer.Option(help="What to fit.")] = DEFAULT_ESTIMATOR,
    C: Annotated[float | None, typer.Option("-C", "--C", help="The price of slack.")] = None,
    kernel: Annotated[str | None, typer.Option(help="linear, poly, rbf, sigmoid, ...")] = None,
    gamma: Annotated[str | None, typer.Option(help="A number, scale or auto.")] = None,
    degree: Annotated[int | None, typer.Option(help="Of the polynomial kernel.")] = None,
    coef0: Annotated[float | None, typer.Option(help="Of poly and sigmoid.")] = None,
    nu: Annotated[float | None, typer.Option(help="Of nusvc, nusvr and one-class.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Half the width of the tube.")] = None,
    tol: Annotated[float | None, typer.Option(help="When it is optimal enough.")] = None,
    max_time: Annotated[float | None, typer.Option(help="Seconds for the solver.")] = None,
    target: Target = None,
    scale: Annotated[bool, typer.Option("--scale", help="Standardise the features.")] = False,
    probability: Annotated[bool, typer.Option("--probability", help="For --proba.")] = False,
    json: AsJSON = False,
):
    """Fit a model and write it to a file.

    Of a CSV file the last column is the target, unless --target names another.

    The file appears when it is complete; after Ctrl-C there is none, and an old one stays. With
    --scale the ranges of the features are written beside it, to MODEL.range. There predict,
    inspect, plot and convert find them; svm-predict does not look, like LIBSVM's.
    """
    given = {
        "C": C, "kernel": kernel, "gamma": _number_or_word(gamma), "degree": degree, "coef0": coef0,
        "nu": nu, "epsilon": epsilon, "tol": tol, "max_time": max_time,
        "probability": probability or None,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    _work().fit(data, model, str(estimator.value), options, target, scale, json)


@app.command()
def predict(
    model: ModelFile,
    data: DataFile,
    output: Annotated[str | None, typer.Option(help="A file instead of standard output.")] = None,
    decision: Annotated[bool, typer.Option("--decision", help="Decision values too.")] = False,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities too.")] = False,
    target: Target = None,
    json: AsJSON = False,
):
    """Predict a label or value for every row; a CSV file need not have a target.

    One prediction per line; with --decision or --proba, comma-separated columns with a header.
    """
    _work().predict(model, data, output, decision, proba, target, json)


@app.command()
def inspect(
    model: ModelFile,
    data: Annotated[str | None, typer.Argument(help="Labelled rows: score and margins.")] = None,
    target: Target = None,
    json: AsJSON = False,
):
    """Show what a model is, the proof that it is optimal, and its margins on data."""
    _shows().inspect(model, data, target, json)


@app.command()
def plot(
    model: ModelFile,
    data: DataFile,
    output: Annotated[str, typer.Option(help="The picture: .png, .svg or .pdf.")],
    target: Target = None,
):
    """Draw the decision boundary of a classifier of two features."""
    _shows().plot(model, data, output, target)


@app.command()
def convert(
    model_in: Annotated[str, typer.Argument(help="A model file, ours or LIBSVM's.")],
    model_out: Annotated[str, typer.Argument(help=".mm, .libsvm, .model (LIBSVM) or .onnx")],
    to: Annotated[FormatName | None, typer.Option(help="Whatever the suffix says.")] = None,
):
    """Write a model in another format."""
    _work().convert(model_in, model_out, None if to is None else str(to.value))


@app.command()
def bench(
    rows: Annotated[int, typer.Option(min=100, help="Of the built-in comparison.")] = 3000,
    data: Annotated[
        str | None, typer.Option(help="Data sets for the full benchmarks of a checkout.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="With --data: smaller sets.")] = False,
    json: AsJSON = False,
):
    """Compare the speed and the objective with scikit-learn's.

    In a checkout, --data runs benchmarks/run.py; otherwise a small generated problem is fitted.
    """
    return _shows().bench(rows, data, quick, json)


@app.command()
def demo(
    output: Annotated[str, typer.Option(help="A folder for the model and the picture.")] = "demo",
    json: AsJSON = False,
):
    """Fit two moons, prove the fit optimal, and draw it."""
    _shows().demo(output, json)


@app.command()
def experiment(
    name: Annotated[ExperimentName, typer.Argument(help="Which of the texts' experiments.")],
    output: Annotated[str | None, typer.Option(help="A folder (default: the name)")] = None,
    data: Annotated[str | None, typer.Option(help="reviews: the file of reviews, .csv.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller, for a first look.")] = False,
    json: AsJSON = False,
):
    """Run an experiment of the texts: a folder with figures, numbers and a page."""
    _shows().experiment(str(name.value), output, data, quick, json)
