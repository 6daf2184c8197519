"""The verbs of the command line and their options; `work.py` and `shows.py` do the work."""

from enum import StrEnum
from functools import partial
from typing import Annotated

import typer
from typer import Abort
from typer.core import TyperCommand, TyperGroup

from maxmargin import __version__
from maxmargin.cli.messages import write
from maxmargin.cli.names import ESTIMATORS, EXPERIMENTS, FILLINGS, FORMATS
from maxmargin.cli.play import play

__all__ = ["Abort", "app"]

BARE = ""  # It replaces the type of a flag, which newer versions of typer show as <bool>.


def _without_type(option):
    if option is not None:
        option.metavar = BARE
    return option


class Verb(TyperCommand):
    """A command whose --help is shown as the flag it is."""

    def get_help_option(self, ctx):
        return _without_type(super().get_help_option(ctx))


class Verbs(TyperGroup):
    def get_help_option(self, ctx):
        return _without_type(super().get_help_option(ctx))


app = typer.Typer(
    name="maxmargin",
    help="Support vector machines, exact, fast, and with a proof of optimality on every fit.",
    cls=Verbs,
    add_completion=False,
    rich_markup_mode="markdown",  # this joins the lines of a paragraph
    epilog="LIBSVM's own tools are here too: maxmargin svm-train | svm-predict | svm-scale.",
    context_settings={"help_option_names": ["--help", "-h"]},
)
verb = partial(app.command, cls=Verb)

# mypy cannot see the members of these, which are made from tables.
EstimatorName = StrEnum("EstimatorName", {name: name for name in ESTIMATORS})  # type: ignore[misc]
DEFAULT_ESTIMATOR = EstimatorName("svc")
FormatName = StrEnum("FormatName", {name: name for name in FORMATS})  # type: ignore[misc]
ExperimentName = StrEnum("ExperimentName", {name: name for name in EXPERIMENTS})  # type: ignore[misc]
FillingName = StrEnum("FillingName", {name: name for name in FILLINGS})  # type: ignore[misc]

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="svmlight or CSV, plain or compressed; - is standard input."
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file, ours or LIBSVM's.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="CSV: leave these out, by name or position, with commas between them: id,date",
    ),
]
TargetToFit = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="CSV: the column to predict, by name or position from 0 (default: the last)",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="CSV: the column to compare with (default: the one that the fit had)",
    ),
]
AsJSON = Annotated[bool, typer.Option("--json", metavar=BARE, help="Write one JSON object.")]


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


def _listed(texts):
    """The columns of an option that may be given several times, with commas in it."""
    return tuple(one.strip() for text in texts or () for one in text.split(",") if one.strip())


def _show_version(asked: bool):
    if asked:
        write(f"maxmargin {__version__}")
        raise typer.Exit


@app.callback()
def _every_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, metavar=BARE, help="Say which."
        ),
    ] = False,
):
    pass


@verb()
def fit(
    data: DataFile,
    model: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Where to write the model: .mm, .model (LIBSVM's) or .onnx."
        ),
    ],
    estimator: Annotated[
        EstimatorName, typer.Option(metavar="NAME", help=", ".join(ESTIMATORS))
    ] = DEFAULT_ESTIMATOR,
    C: Annotated[float | None, typer.Option("-C", "--C", help="The price of slack.")] = None,
    kernel: Annotated[
        str | None, typer.Option(metavar="NAME", help="linear, poly, rbf, sigmoid or laplacian.")
    ] = None,
    gamma: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="A number, scale or auto.")
    ] = None,
    degree: Annotated[int | None, typer.Option(help="Of the polynomial kernel.")] = None,
    coef0: Annotated[float | None, typer.Option(help="Of poly and sigmoid.")] = None,
    nu: Annotated[float | None, typer.Option(help="Of nusvc, nusvr and one-class.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Half the width of the tube.")] = None,
    class_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WEIGHTS", help="balanced, or how much slack costs more in a class: yes=5,no=1"
        ),
    ] = None,
    tol: Annotated[float | None, typer.Option(help="When it is optimal enough.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Steps of the solver, at most.")] = None,
    max_time: Annotated[float | None, typer.Option(help="Seconds for the fit, at most.")] = None,
    target: TargetToFit = None,
    drop: Columns = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="CSV: take the words of these as categories."),
    ] = None,
    impute: Annotated[
        FillingName | None,
        typer.Option(
            metavar="HOW", help="CSV: fill missing numbers by their column's mean or median."
        ),
    ] = None,
    scale: Annotated[
        bool,
        typer.Option(
            "--scale", metavar=BARE, help="Give every column of numbers mean 0 and deviation 1."
        ),
    ] = False,
    max_abs: Annotated[
        bool,
        typer.Option(
            "--max-abs", metavar=BARE, help="Or divide each by its largest size; zeros stay zeros."
        ),
    ] = False,
    probability: Annotated[
        bool, typer.Option("--probability", metavar=BARE, help="Probabilities too, for --proba.")
    ] = False,
    cv: Annotated[
        int | None, typer.Option(metavar="FOLDS", help="Report a cross-validated score too.")
    ] = None,
    json: AsJSON = False,
):
    """Fit a model and write it to a file.

    In a CSV file the last column is the target, unless --target names another; one-class has no
    target but the one that --target names. All others are features and must be numbers; --drop
    leaves some out, --categorical takes words, --impute fills holes (missing words with the
    commonest of their column). The model remembers the names of its columns and finds them again,
    in any order and among others.

    The file appears when it is complete; after Ctrl-C there is none, and an old one stays. A fit
    that --max-iter or --max-time ends writes the best model so far, with a warning. What
    --scale, --impute and --categorical have learned is in it too, which LIBSVM's format cannot
    hold. --scale means the same for svmlight and CSV. It makes rows dense: for rows that are mostly
    zeros there is --max-abs.
    """
    given = {
        "C": C, "kernel": kernel, "gamma": _number_or_word(gamma), "degree": degree, "coef0": coef0,
        "nu": nu, "epsilon": epsilon, "tol": tol, "max_iter": max_iter, "max_time": max_time,
        "probability": probability or None, "class_weight": _listed(class_weight) or None,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    table = {"target": target, "drop": _listed(drop), "categorical": _listed(categorical)}
    steps = {"scale": scale, "max_abs": max_abs, "impute": impute and str(impute.value)}
    _work().fit(data, model, str(estimator.value), options, table, steps, cv, json)


@verb()
def predict(
    model: ModelFile,
    data: DataFile,
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file instead of standard output.")
    ] = None,
    decision: Annotated[
        bool, typer.Option("--decision", metavar=BARE, help="Decision values too.")
    ] = False,
    proba: Annotated[
        bool, typer.Option("--proba", metavar=BARE, help="Probabilities too.")
    ] = False,
    target: Target = None,
    drop: Columns = None,
    json: AsJSON = False,
):
    """Predict a label or value for every row; a CSV file need not have a target.

    Columns are found by their names, in any order; those that the model does not know are ignored,
    and a line says which. Without names they must be those of the fit, in its order.

    It writes one prediction per line; with --decision or --proba, comma-separated columns with a
    header.
    """
    _work().predict(model, data, output, decision, proba, target, _listed(drop), json)


@verb()
def inspect(
    model: ModelFile,
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="Labelled rows: score and margins.")
    ] = None,
    target: Target = None,
    drop: Columns = None,
    json: AsJSON = False,
):
    """Show what a model is, the proof that it is optimal, and its margins on data."""
    _shows().inspect(model, data, target, _listed(drop), json)


@verb()
def plot(
    model: ModelFile,
    data: DataFile,
    output: Annotated[str, typer.Option(metavar="FILE", help="The picture: .png, .svg or .pdf.")],
    target: Target = None,
    drop: Columns = None,
):
    """Draw the decision boundary of a classifier of two features."""
    _shows().plot(model, data, output, target, _listed(drop))


@verb()
def convert(
    model_in: Annotated[str, typer.Argument(metavar="MODEL", help="Ours or LIBSVM's.")],
    model_out: Annotated[
        str, typer.Argument(metavar="NEW", help=".mm, .libsvm, .model (LIBSVM's) or .onnx")
    ],
    to: Annotated[
        FormatName | None,
        typer.Option(metavar="FORMAT", help=f"{', '.join(FORMATS)}, whatever the suffix says."),
    ] = None,
):
    """Write a model in another format.

    An ONNX graph holds the scaling, the filling of holes, the categories and the probabilities; a
    LIBSVM model can hold none of them.
    """
    _work().convert(model_in, model_out, None if to is None else str(to.value))


@verb()
def bench(
    rows: Annotated[int, typer.Option(min=100, help="Of the built-in comparison.")] = 3000,
    data: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Data sets for the full benchmarks of a checkout."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", metavar=BARE, help="With --data: smaller sets.")
    ] = False,
    json: AsJSON = False,
):
    """Compare the speed and the objective with scikit-learn's.

    In a checkout, --data runs benchmarks/run.py; otherwise a small generated problem is fitted.
    """
    return _shows().bench(rows, data, quick, json)


@verb()
def compile():
    """Compile the inner loops now, and keep them, so that no later process waits for that.

    Each kind of fit compiles its own the first time. For images and CI: about a minute, once.
    """
    _shows().compile_all()


@verb()
def demo(
    output: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where to write the model and the picture.")
    ] = "demo",
    json: AsJSON = False,
):
    """Fit two moons, prove the fit optimal, and draw it."""
    _shows().demo(output, json)


@verb()
def experiment(
    name: Annotated[
        ExperimentName, typer.Argument(metavar="NAME", help="Which of the texts' experiments.")
    ],
    output: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where to write it (default: the name)")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="reviews: the file of reviews, .csv.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", metavar=BARE, help="Smaller, for a first look.")
    ] = False,
    json: AsJSON = False,
):
    """Run an experiment of the texts: a folder with figures, numbers and a page."""
    _shows().experiment(str(name.value), output, data, quick, json)


verb()(play)
