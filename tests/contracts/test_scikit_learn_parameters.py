"""docs/coming_from.md lists every parameter that scikit-learn's namesakes have and ours do not."""

import inspect
import re
from pathlib import Path

import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils import all_estimators
from sklearn.utils.fixes import parse_version

import maxmargin

GUIDE = Path(__file__).parents[2] / "docs" / "coming_from.md"
OTHER_NAMES = {
    "RandomFourierFeatures": "RBFSampler",
    "GradientDescentClassifier": "SGDClassifier",
    "GradientDescentRegressor": "SGDRegressor",
}
THEIRS = dict(all_estimators())
OURS = {
    name: value
    for name, value in ((name, getattr(maxmargin, name)) for name in maxmargin.__all__)
    if isinstance(value, type) and issubclass(value, BaseEstimator)
}
NAMESAKES = [name for name in OURS if OTHER_NAMES.get(name, name) in THEIRS]

every_namesake = pytest.mark.parametrize("name", NAMESAKES)
documented_version = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="the tables are those of scikit-learn 1.9",
)


def counterpart(name):
    return THEIRS[OTHER_NAMES.get(name, name)]


def parameters(function):
    found = dict(inspect.signature(function).parameters)
    found.pop("self", None)
    return found


def rows_below(title):
    """The cells of the table below a title."""
    text = GUIDE.read_text(encoding="utf-8").split(f"#### {title}\n", 1)[1].split("\n#", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def words(cell):
    return re.findall(r"`([^`]*)`", cell)


def listed_as_missing(owner):
    rows = rows_below("Parameters that are not here")
    return sorted(
        name for here, missing, _ in rows if words(here) == [owner] for name in words(missing)
    )


def missing(ours, theirs):
    return sorted(set(parameters(theirs)) - set(parameters(ours)))


def test_the_namesakes_are_all_of_scikit_learns_svm_and_more():
    svm = {cls.__name__ for cls in THEIRS.values() if cls.__module__.startswith("sklearn.svm")}
    assert svm <= set(NAMESAKES)
    assert {"Ridge", "Lasso", "LinearRegression", "KernelRidge", "Nystroem"} <= set(NAMESAKES)


@documented_version
@every_namesake
def test_missing_parameters_are_the_ones_listed(name):
    assert missing(OURS[name], counterpart(name)) == listed_as_missing(name)


@documented_version
@every_namesake
def test_missing_parameters_of_fit_are_the_ones_listed(name):
    assert missing(OURS[name].fit, counterpart(name).fit) == listed_as_missing(f"{name}.fit")


@documented_version
@every_namesake
def test_other_defaults_are_the_ones_listed(name):
    ours, theirs = parameters(OURS[name]), parameters(counterpart(name))
    differ = {
        (key, repr(ours[key].default), repr(theirs[key].default))
        for key in set(ours) & set(theirs)
        if repr(ours[key].default) != repr(theirs[key].default)
    }
    rows = rows_below("Parameters with another default")
    listed = [tuple(words(cell)[0] for cell in row[1:4]) for row in rows if words(row[0]) == [name]]
    assert sorted(listed) == sorted(differ)


def test_the_tables_name_nobody_else():
    rows = rows_below("Parameters that are not here") + rows_below(
        "Parameters with another default"
    )
    assert {words(row[0])[0].split(".")[0] for row in rows} <= set(NAMESAKES)
    assert all(row[-1] for row in rows)


@pytest.mark.parametrize("name", [name for name in NAMESAKES if name not in OTHER_NAMES])
def test_parameters_without_a_keyword_are_scikit_learns(name):
    positional = [
        [key for key, one in parameters(cls).items() if one.kind is one.POSITIONAL_OR_KEYWORD]
        for cls in (OURS[name], counterpart(name))
    ]
    assert positional[0] == positional[1]


@every_namesake
@pytest.mark.filterwarnings("ignore:GradientDescentRegressor stopped")
def test_their_own_defaults_are_accepted_but_for_those_listed(name):
    """Who hands over every default of scikit-learn's explicitly is understood."""
    theirs = parameters(counterpart(name))
    known = set(parameters(OURS[name]))
    defaults = {key: one.default for key, one in theirs.items() if key in known}
    if name == "GradientDescentRegressor":
        assert defaults.pop("loss") == "squared_error"
    if defaults.get("eta0") == 0.0:  # the default before 1.8, which another default ignores
        del defaults["eta0"]
    model = OURS[name](**defaults)
    X = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0], [4.0, 1.0], [5.0, 3.0]]
    model.fit(X, [0, 0, 0, 1, 1, 1])
    assert model.get_params() == OURS[name]().set_params(**defaults).get_params()
