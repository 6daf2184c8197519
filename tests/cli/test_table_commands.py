"""Tables as people have them: columns in any order, ids and dates, words, holes, a pipe."""

import gzip
import io
import json
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import maxmargin as library
from maxmargin.files import load, read_data
from maxmargin.files.csv_columns import Known, Wanted

pytest.importorskip("typer")

NAMES = ["id", "day", "age", "income", "city", "buys"]


def people(n=90):
    """Rows of text: a number, a date, two numbers with holes, a city with holes, yes or no."""
    rng = np.random.default_rng(0)
    age, income = rng.integers(18, 80, n), rng.normal(30, 10, n)
    city = rng.choice(["Rome", "Oslo", "Nice"], n)
    buys = np.where(income / 10 + 2 * (city == "Oslo") - age / 30 > 2, "yes", "no")
    return [
        [str(7 * k), f"2024-01-{k % 28 + 1:02d}", "" if k % 17 == 3 else str(age[k]),
         f"{income[k]:.3f}", "NA" if k % 23 == 5 else str(city[k]), str(buys[k])]
        for k in range(n)
    ]  # fmt: skip


def write_table(path, columns, names=True, rows=None, **added):
    """Those columns of the people, in this order; an added column has the same cell everywhere."""
    rows = people() if rows is None else rows
    places = [NAMES.index(name) for name in columns if name in NAMES]
    lines = [[row[k] for k in places] + list(added.values()) for row in rows]
    header = [[*columns, *added]] if names else []
    path.write_text("".join(",".join(line) + "\n" for line in [*header, *lines]))


@pytest.fixture
def table(tmp_path):
    write_table(tmp_path / "people.csv", NAMES)
    return "people.csv"


FAQ = Path(__file__).parents[2] / "docs" / "faq.md"
SVR = ["--estimator", "svr"]
FIT = ["--drop", "id,day", "--categorical", "city", "--impute", "median", "--scale"]


@pytest.fixture
def model(maxmargin, table):
    code, _, err = maxmargin("fit", table, *FIT, "--probability", "--model", "m.mm")
    assert (code, err) == (0, "")
    return "m.mm"


def expected_model(**options):
    data = read_data("people.csv", drop=["id", "day"], categorical=["city"], missing="keep")
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    columns = ColumnTransformer([("numbers", numbers, [0, 1]), ("words", words, [2])])
    return make_pipeline(columns, library.SVC(**options)), data


def decisions(answer):
    code, out, err = answer
    assert code == 0, err
    return json.loads(out)["decision"]


def test_words_and_holes_are_learned_and_the_file_holds_it(maxmargin, model, table):
    expected, data = expected_model()
    expected.fit(data.X, data.y)
    said = decisions(maxmargin("predict", model, table, "--decision", "--json"))
    np.testing.assert_allclose(said, expected.decision_function(data.X), atol=1e-12)
    loaded = load(model)
    assert loaded[0].feature_names_in_.tolist() == ["age", "income", "city"]
    assert loaded[-1].target_name_ == "buys"


def test_columns_are_found_by_name_in_any_order_and_others_are_ignored(
    maxmargin, model, table, tmp_path
):
    expected = maxmargin("predict", model, table, "--decision", "--json")
    assert expected[2].startswith(
        "maxmargin: people.csv: ignores what the model does not know: id, day\n"
    )
    assert "accuracy" in expected[2]
    write_table(tmp_path / "turned.csv", ["city", "buys", "income", "age"], extra="9")
    code, out, err = maxmargin("predict", model, "turned.csv", "--decision", "--json")
    assert (code, out) == expected[:2]
    assert "turned.csv: ignores what the model does not know: extra\n" in err
    assert err.split("\n", 1)[1] == expected[2].split("\n", 1)[1]


def test_an_extra_last_column_is_not_taken_for_the_target(maxmargin, model, table, tmp_path):
    write_table(tmp_path / "extra.csv", ["age", "income", "city"], remark="0")
    code, _, err = maxmargin("predict", model, "extra.csv")
    assert (code, err) == (
        0,
        "maxmargin: extra.csv: ignores what the model does not know: remark\n",
    )


@pytest.mark.parametrize("columns", [["age", "income", "city"], ["age", "income", "city", "buys"]])
def test_without_names_columns_are_those_of_the_fit(maxmargin, model, table, tmp_path, columns):
    expected = decisions(maxmargin("predict", model, table, "--decision", "--json"))
    write_table(tmp_path / "bare.csv", columns, names=False)
    code, out, err = maxmargin("predict", model, "bare.csv", "--decision", "--json")
    assert decisions((code, out, err)) == expected
    assert ("accuracy" in err) == ("buys" in columns)


def test_the_target_is_remembered_by_name_and_by_position(maxmargin, table, tmp_path):
    order = ["buys", "age", "income"]
    rows = [[cell or "40" for cell in row] for row in people()]
    write_table(tmp_path / "named.csv", order, rows=rows)
    write_table(tmp_path / "bare.csv", order, names=False, rows=rows)
    write_table(tmp_path / "other.csv", ["income", "age", "buys"], rows=rows)
    for fitted, target, asked in (
        ("named.csv", "buys", ["named.csv", "other.csv", "bare.csv"]),
        ("bare.csv", "0", ["bare.csv", "named.csv"]),
    ):
        assert maxmargin("fit", fitted, "--target", target, "--model", "m.mm")[0] == 0
        answers = {maxmargin("predict", "m.mm", path) for path in asked}
        assert len(answers) == 1
        assert re.fullmatch(r"maxmargin: accuracy 0\.\d+ on 90 rows\n", answers.pop()[2])


def test_a_column_that_the_model_needs_is_named(maxmargin, model, tmp_path):
    write_table(tmp_path / "few.csv", ["age", "city"])
    code, out, err = maxmargin("predict", model, "few.csv")
    assert (code, out) == (1, "")
    reason = "has no column named 'income', which the model needs; it has age, city"
    assert err == f"maxmargin: error: few.csv: {reason}.\n"


def test_dropped_columns_without_names_are_dropped_again(maxmargin, table, tmp_path):
    write_table(tmp_path / "bare.csv", ["day", "income", "buys"], names=False)
    assert maxmargin("fit", "bare.csv", "--drop", "0", "--model", "m.mm")[0] == 0
    assert maxmargin("predict", "m.mm", "bare.csv")[0] == 1
    code, out, err = maxmargin("predict", "m.mm", "bare.csv", "--drop", "0")
    assert (code, out.count("\n")) == (0, 90)
    assert "accuracy" in err
    assert maxmargin("inspect", "m.mm", "bare.csv", "--drop", "0")[0] == 0


def test_rows_whose_target_is_not_known_yet_are_predicted(maxmargin, model, table, tmp_path):
    rows = people()
    write_table(tmp_path / "new.csv", NAMES[2:], rows=[*rows[:4], [*rows[4][:5], ""], *rows[5:]])
    code, out, err = maxmargin("predict", model, "new.csv")
    assert (code, out) == maxmargin("predict", model, table)[:2]
    assert err == (
        "maxmargin: new.csv: the target is not known in all rows, so there is no score.\n"
    )
    code, _, err = maxmargin("predict", model, "new.csv", "--target", "buys")
    assert (code, err) == (1, "maxmargin: error: new.csv:6:4: missing target in 'buys'.\n")


def test_a_table_of_words_alone_needs_no_names_to_be_predicted(maxmargin, table, tmp_path):
    rows = [[*row[:4], row[4].replace("NA", "Rome"), row[5]] for row in people()]
    write_table(tmp_path / "words.csv", ["city", "buys"], rows=rows)
    assert maxmargin("fit", "words.csv", "--categorical", "city", "--model", "m.mm")[0] == 0
    expected = maxmargin("predict", "m.mm", "words.csv")
    for columns in (["city"], ["city", "buys"]):
        write_table(tmp_path / "bare.csv", columns, names=False, rows=rows)
        assert maxmargin("predict", "m.mm", "bare.csv")[:2] == expected[:2]


def test_a_hole_is_refused_by_a_model_that_was_not_taught_to_fill_it(maxmargin, table):
    options = ["--drop", "id", "--drop", "day", "--drop", "age,city", "--model", "m.mm"]
    assert maxmargin("fit", table, *options)[0] == 0
    with open("hole.csv", "w") as file:
        file.write("income\n3\nNA\n")
    assert maxmargin("predict", "m.mm", "hole.csv") == (1, "", (
        "maxmargin: error: hole.csv:3:1: missing value in 'income'; the model was fitted without "
        "--impute.\n"
    ))  # fmt: skip


def test_a_word_that_was_not_in_the_fit_is_none_of_the_categories(maxmargin, model):
    expected, data = expected_model()
    expected.fit(data.X, data.y)
    with open("new.csv", "w") as file:
        file.write("city,income,age\nAtlantis,30,50\n,31,?\n")
    said = decisions(maxmargin("predict", model, "new.csv", "--decision", "--json"))
    rows = np.array([[50.0, 30.0, "Atlantis"], [np.nan, 31.0, np.nan]], dtype=object)
    np.testing.assert_allclose(said, expected.decision_function(rows), atol=1e-12)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_dash_reads_standard_input(maxmargin, table, monkeypatch, pack):
    with open(table, "rb") as file:
        content = pack(file.read())

    def piped(*arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return maxmargin(*arguments)

    assert piped("fit", "-", *FIT, "--model", "piped.mm")[0] == 0
    maxmargin("fit", table, *FIT, "--model", "m.mm")
    code, out, err = piped("predict", "piped.mm", "-")
    assert (code, out) == maxmargin("predict", "m.mm", table)[:2]
    assert err.startswith("maxmargin: standard input: ignores")
    assert (
        "error: standard input:2:2: not a number: '2024-01-01' in 'day'"
        in piped("fit", "-", "--model", "m.mm")[2]
    )


def test_cross_validation_is_that_of_scikit_learn(maxmargin, table):
    code, out, _ = maxmargin("fit", table, *FIT, "--cv", "4", "--model", "m.mm", "--json")
    expected, data = expected_model()
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(expected, data.X, data.y, cv=folds)
    found = json.loads(out)
    assert code == 0
    assert found["cv_accuracy"] == pytest.approx(scores.mean())
    assert found["cv_deviation"] == pytest.approx(scores.std())
    options = ["--estimator", "svr", "--target", "income", "--drop", "id,day,age,city,buys"]
    assert "no column left to learn from" in maxmargin("fit", table, *options, "--model", "m.mm")[2]
    options[-1] = "id,day,city,buys"
    found = maxmargin("fit", table, *options, "--impute", "mean", "--cv", "3", "--model", "m.mm")[1]
    assert re.search(r"(?m)^cv mean squared error {2,}\d", found)


def test_on_a_terminal_a_line_says_that_folds_come_first(maxmargin, moons, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    err = maxmargin("fit", moons, "--cv", "3", "--model", "m.mm")[2]
    assert err.startswith("maxmargin: 3 folds of cross-validation come first, then the fit.\n")


def test_folds_without_a_row_of_each_class_are_refused_before_the_work(maxmargin, moons, diabetes):
    for options, most in (
        ((moons,), "the rarest class has 60"),
        ((diabetes, *SVR), "there are 150"),
    ):
        code, out, err = maxmargin("fit", *options, "--cv", "200", "--model", "m.mm")
        assert (code, out) == (2, "")
        assert f"--cv 200 is too many folds: {most} rows." in err


def test_the_commands_of_the_faq_run_as_they_are_written(maxmargin, tmp_path, monkeypatch):
    names = ["id", "date", "age", "income", "city", "buys"]
    for name in ("people.csv", "new.csv"):
        text = "\n".join(map(",".join, [names, *people()])) + "\n"
        (tmp_path / name).write_text(text)
    piped = io.TextIOWrapper(io.BytesIO(text.encode()))
    monkeypatch.setattr(sys, "stdin", piped)
    commands = re.findall(r"(?m)^(?:cat new.csv \| )?maxmargin (.*)", FAQ.read_text("utf-8"))
    assert [command.split()[0] for command in commands] == ["fit", "predict", "predict"]
    for command in commands:
        code, out, err = maxmargin(*command.split())
        assert code == 0, err
    assert out.startswith("prediction,probability_no,probability_yes\n")


def test_one_class_takes_every_column_for_a_feature_unless_a_target_is_named(maxmargin, tmp_path):
    write_table(tmp_path / "ages.csv", ["age", "income"])
    options = ["ages.csv", "--estimator", "one-class", "--impute", "mean", "--model", "m.mm"]
    code, _, err = maxmargin("fit", *options)
    assert code == 0
    assert (
        err == "maxmargin: ages.csv: one-class learns from all 2 columns; --drop leaves some out.\n"
    )
    assert load("m.mm")[0].feature_names_in_.tolist() == ["age", "income"]
    assert maxmargin("predict", "m.mm", "ages.csv")[::2] == (0, "")
    assert maxmargin("fit", *options, "--target", "income")[::2] == (0, "")
    assert load("m.mm")[0].feature_names_in_.tolist() == ["age"]


def test_weights_of_classes_and_steps_at_most(maxmargin, iris):
    options = ["--class-weight", "1=5,3=0.5", "--class-weight", "2=2"]
    assert maxmargin("fit", iris, *options, "--model", "m.mm")[0] == 0
    assert load("m.mm").class_weight == {1: 5.0, 2: 2.0, 3: 0.5}
    maxmargin("fit", iris, "--class-weight", "balanced", "--model", "m.mm")
    assert load("m.mm").class_weight == "balanced"
    code, _, err = maxmargin("fit", iris, "--max-iter", "3", "--model", "m.mm")
    assert (code, load("m.mm").max_iter) == (0, 3)
    assert "max_iter=3" in err
    code, _, err = maxmargin(
        "fit",
        iris,
        "--estimator",
        "linear-svc",
        "--max-iter",
        "1",
        "--tol",
        "1e-12",
        "--model",
        "m.mm",
    )
    assert "LinearSVC failed to converge within max_iter=1" in err
    assert "iblinear" not in err


def test_a_target_of_many_whole_numbers_is_doubted(maxmargin, tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{x:.3f},{k}\n" for k, x in enumerate(rng.standard_normal(30)))
    (tmp_path / "t.csv").write_text("a,b\n" + rows)
    err = maxmargin("fit", "t.csv", "--max-iter", "1", "--model", "m.mm")[2]
    assert "warning: the target 'b' has 30 classes in 30 rows; --estimator svr" in err


def test_a_graph_of_a_table_is_no_dead_end(maxmargin, model, table):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    code, out, err = maxmargin("convert", model, "m.onnx")
    assert (code, out) == (0, "")
    assert (
        err
        == "maxmargin: m.onnx: takes numbers and words apart: X is age, income; words is city.\n"
    )
    code, out, _ = maxmargin("predict", model, table, "--decision", "--proba", "--json")
    said = json.loads(out)
    rows = [row[2:5] for row in people()]
    inputs = {
        "X": np.array([[float(one or "nan") for one in row[:2]] for row in rows]),
        "words": np.array([["" if row[2] == "NA" else row[2]] for row in rows], dtype=object),
    }
    label, decision, probability = runtime.InferenceSession("m.onnx").run(None, inputs)
    assert label.tolist() == said["prediction"]
    np.testing.assert_allclose(decision, said["decision"], atol=1e-10)
    np.testing.assert_allclose(probability[:, 1], said["probability_yes"], atol=1e-10)


def test_inspect_says_the_score_also_of_labels_that_were_not_in_the_fit(maxmargin, model, tmp_path):
    rows = people()
    write_table(
        tmp_path / "new.csv", NAMES, rows=[[*row[:5], "maybe"] for row in rows[:9]] + rows[9:]
    )
    code, out, err = maxmargin("inspect", model, "new.csv")
    assert code == 0
    assert "MarginReport of 81 points" in out
    assert "9 of 90 rows have labels that were not in the fit, like 'maybe'" in err
    predicted = maxmargin("predict", model, "new.csv")[2]
    accuracy = float(re.search(r"accuracy (\S+)", predicted)[1])
    assert float(re.search(r"accuracy +(\S+)", out)[1]) == pytest.approx(accuracy)
    write_table(tmp_path / "new.csv", NAMES, rows=[[*row[:5], "maybe"] for row in rows])
    code, out, err = maxmargin("inspect", model, "new.csv")
    assert (code, "MarginReport" in out) == (0, False)


def test_plot_has_no_place_for_words(maxmargin, table):
    options = ["--drop", "id,day,age", "--categorical", "city", "--impute", "mean"]
    maxmargin("fit", table, *options, "--model", "m.mm")
    code, _, err = maxmargin("plot", "m.mm", table, "--output", "m.png")
    assert code == 1
    assert "needs a classifier of two features; this SVC has 2, with words" in err


def test_svm_scale_reads_a_table_so_that_its_model_can_be_libsvms(maxmargin, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2.5,1\n2,3.5,-1\n4,1,1\n3,2,-1\n")
    code, out, _ = maxmargin("svm-scale", "t.csv")
    assert (code, out.split("\n")[0]) == (0, "1 1:-1 2:0.2 ")
    (tmp_path / "t.svm").write_text(out)
    assert maxmargin("fit", "t.svm", "--model", "t.model")[0] == 0
    (tmp_path / "words.csv").write_text("a,y\n1,yes\n2,no\n")
    assert "labels are numbers, not 'yes'" in maxmargin("svm-scale", "words.csv")[2]


VERBS = (
    "fit", "predict", "inspect", "plot", "convert", "bench", "compile", "demo", "experiment",
    "play",
)  # fmt: skip


@pytest.mark.parametrize("verb", [[], *([verb] for verb in VERBS)])
def test_help_shows_flags_as_flags_and_has_a_short_name(maxmargin, verb):
    code, out, _ = maxmargin(*verb, "--help")
    assert code == 0
    assert "bool" not in out
    assert maxmargin(*verb, "-h")[:2] == (0, out)


# The work that columns make: twice as many cost twice as much, and not four times.


def calls_of(work):
    """How many functions are called meanwhile, in Python and in C."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("options", [[], ["--drop", "n1,n3"], ["--categorical", "n1,n3"]])
def test_a_fit_and_a_prediction_call_functions_in_proportion_to_the_columns(
    maxmargin, tmp_path, options
):
    rng = np.random.default_rng(0)

    def work(width):
        names = [f"n{k}" for k in range(width)]
        rows = rng.integers(0, 9, (6, width)).astype(str)
        lines = [",".join([*row, str(k % 2)]) for k, row in enumerate(rows)]
        (tmp_path / "t.csv").write_text("\n".join([",".join([*names, "y"]), *lines]) + "\n")
        assert maxmargin("fit", "t.csv", "--scale", *options, "--model", "m.mm")[0] == 0
        assert maxmargin("predict", "m.mm", "t.csv")[0] == 0

    work(10)  # what is done once is done before
    few, many = (calls_of(partial(work, width)) for width in (500, 2000))
    assert many < 4.5 * few


class Name(str):
    """A name that counts with how many it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("asked", ["fit", "model"])
def test_names_are_looked_up_and_not_searched_for(asked):
    names = [Name(f"n{k}") for k in range(3000)]
    some = tuple(Name(f"n{k}") for k in range(1, 3000, 2))
    if asked == "fit":
        wanted = Wanted(Name("n0"), drop=some[::2], categorical=some[1::2])
    else:
        wanted = Known(len(some), list(some[::-1]), target_name=Name("n0"))
    Name.compared = 0
    columns = wanted.of("t.csv", names, len(names))
    assert len(columns.features) == (2249 if asked == "fit" else 1500)
    assert Name.compared < 3 * len(names)
