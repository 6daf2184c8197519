"""Wrong commands and wrong files: one line, the right exit code, no traceback."""

import builtins
import re
import sys

import pytest

import maxmargin as library
from maxmargin.cli import main


@pytest.fixture
def model(maxmargin, moons):
    assert maxmargin("fit", moons, "--model", "m.mm")[0] == 0
    return "m.mm"


def is_one_line(err):
    return err.startswith("maxmargin: error: ") and err.count("\n") == 1 and "Traceback" not in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["fit"],
        ["fit", "moons.csv"],
        ["fit", "moons.csv", "--model", "m.mm", "--nope"],
        ["fit", "moons.csv", "--model", "m.mm", "-C", "much"],
        ["fit", "moons.csv", "--model", "m.mm", "--nu", "0.5"],
        ["fit", "moons.csv", "--model", "m.mm", "--estimator", "forest"],
        ["fit", "moons.csv", "--model", "m.mm", "--estimator", "linear-svc", "--kernel", "rbf"],
        ["fit", "moons.csv", "--model", "m.txt"],
        ["fit", "moons.csv", "--model", "model"],
        ["fit", "moons.csv", "--model", "m.mm", "--scale", "--max-abs"],
        ["fit", "moons.csv", "--model", "m.mm", "--cv", "1"],
        ["fit", "moons.csv", "--model", "m.mm", "--cv", "3", "--estimator", "one-class"],
        ["fit", "moons.csv", "--model", "m.mm", "--class-weight", "up"],
        ["fit", "moons.csv", "--model", "m.mm", "--class-weight", "left=2"],
        ["fit", "moons.csv", "--model", "m.mm", "--impute", "zero"],
        ["convert", "a.mm", "a.foo"],
        ["experiment", "unknown"],
        ["experiment", "simulation", "--data", "x"],
        ["bench", "--rows", "3"],
        ["svm-train", "-x", "1", "moons.csv"],
        ["svm-train", "-c"],
        ["svm-train", "-c", "much", "moons.csv"],
        ["svm-train", "-s", "9", "moons.csv"],
        ["svm-train", "-wx", "5", "moons.csv"],
        ["svm-predict", "one"],
        ["svm-scale", "-l", "2", "-u", "1", "moons.csv"],
        ["svm-scale", "-y", "1", "moons.csv"],
    ],
)
def test_usage_errors_exit_with_2(maxmargin, moons, arguments):
    pytest.importorskip("typer")
    code, out, err = maxmargin(*arguments)
    assert (code, out) == (2, "")
    assert is_one_line(err)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "gone.csv", "--model", "n.mm"], "gone.csv: No such file or directory."),
        (["fit", ".", "--model", "n.mm"], ".: not a regular file."),
        (["fit", "moons.csv", "--model", "no/n.mm"], "no: no such folder"),
        (["fit", "moons.csv", "--model", "n.mm", "-C", "-1"], "SVC: C must be a positive number"),
        (["fit", "moons.csv", "--model", "n.mm", "--kernel", "cubic"], "SVC: kernel must be one"),
        (["fit", "moons.csv", "--model", "n.mm", "--estimator", "svr"], "targets, got 'down'."),
        (["fit", "price.csv", "--model", "n.mm"], "--estimator svr predicts numbers"),
        (["fit", "moons.csv", "--model", "n.mm", "--drop", "id"], "it has left, right, kind."),
        (["predict", "empty.mm", "moons.csv"], "empty.mm: is empty."),
        (
            ["fit", "moons.csv", "--model", "n.model"],
            "LIBSVM's labels are whole numbers, not 'down'",
        ),
        (
            ["fit", "moons.csv", "--model", "n.model", "--probability"],
            "LIBSVM's format cannot hold these probabilities; write .mm or .onnx",
        ),
        (
            ["predict", "m.mm", "moons.csv", "--output", "no/such/answers"],
            "no/such/answers: No such file or directory.",
        ),
        (["fit", "moons.csv", "--model", "n.mm", "--categorical", "kind"], "is the target, and"),
        (["fit", "moons.csv", "--model", "n.mm", "--target", "kind", "--drop", "kind"], "dropped"),
        (["fit", "same.csv", "--model", "n.mm"], "the target 'kind' is '1' in every row"),
        (["fit", "void.csv", "--impute", "mean", "--model", "n.mm"], "column 'b' has no values"),
        (["fit", "tiny.svm", "--drop", "1", "--model", "n.mm"], "is svmlight, not CSV: it has no"),
        (["fit", "moons.csv", "--categorical", "left", "--model", "n.model"], "encodes columns"),
        (["fit", "m.mm", "--model", "n.mm"], "m.mm: is a model file or another zip, and no table"),
        (["predict", "cut.mm", "moons.csv"], "cut.mm: the file was cut off or damaged"),
        (["fit", "moons.csv", "--model", "n.mm", "--target", "kinds"], "no column named 'kinds'"),
        (["fit", "hole.csv", "--model", "n.mm"], "hole.csv:3:2: missing value in 'b'; --impute"),
        (["predict", "gone.mm", "moons.csv"], "gone.mm: No such file or directory."),
        (["predict", ".", "moons.csv"], ".: Is a directory."),
        (["predict", "moons.csv", "m.mm"], "moons.csv: not a model file, ours or LIBSVM's"),
        (["predict", "m.mm", "moons.csv", "--proba"], "fit it with --probability"),
        (["predict", "m.mm", "wide.csv"], "wide.csv: has 3 features, and the model 2."),
        (["svm-train", "gone.svm"], "gone.svm: No such file or directory."),
        (["svm-train", "zero.svm"], "zero.svm: has the index 0, and indices begin at 1 in LIBSVM"),
        (["svm-scale", "zero.svm"], "zero.svm: has the index 0, and indices begin at 1 in LIBSVM"),
        (["svm-predict", "zero.svm", "tiny.model", "o"], "zero.svm: has the index 0, and indices"),
        (["svm-predict", "moons.csv", "m.mm", "out"], "m.mm"),
        (["svm-scale", "-r", "moons.csv", "tiny.svm"], "moons.csv: not a file of ranges"),
    ],
)
def test_failures_exit_with_1_and_name_the_file_or_the_parameter(
    maxmargin, model, tmp_path, arguments, words
):
    (tmp_path / "hole.csv").write_text("a,b,y\n1,2,0\n3,,1\n")
    (tmp_path / "void.csv").write_text("a,b,y\n1,,0\n3,NA,1\n")
    (tmp_path / "price.csv").write_text("a,price\n1,2.5\n2,3\n3,1\n")
    (tmp_path / "same.csv").write_text("a,kind\n1,1\n2,1\n")
    (tmp_path / "empty.mm").write_bytes(b"")
    (tmp_path / "cut.mm").write_bytes((tmp_path / "m.mm").read_bytes()[:-50])
    (tmp_path / "wide.csv").write_text("1,2,3,up\n4,5,6,down\n")
    (tmp_path / "tiny.svm").write_text("1 1:2\n-1 1:3\n")
    (tmp_path / "zero.svm").write_text("1 0:2 1:1\n-1 1:3\n")
    assert maxmargin("svm-train", "-q", "tiny.svm", "tiny.model")[0] == 0
    code, out, err = maxmargin(*arguments)
    assert (code, out) == (1, "")
    assert is_one_line(err)
    assert words in err


def test_version_and_help(maxmargin):
    pytest.importorskip("typer")
    assert maxmargin("--version") == (0, f"maxmargin {library.__version__}\n", "")
    code, out, _ = maxmargin("--help")
    assert code == 0
    for verb in ("fit", "predict", "inspect", "plot", "convert", "bench", "demo", "experiment"):
        assert verb in out
    assert maxmargin()[0] == 2


@pytest.mark.parametrize(
    ("tool", "flags"),
    [("svm-train", "stdgrcnpwmehbvq"), ("svm-predict", "bq"), ("svm-scale", "luysr")],
)
def test_help_of_libsvms_tools_has_a_line_for_every_flag(maxmargin, tool, flags):
    code, out, err = maxmargin(tool, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: maxmargin {tool} ")
    assert re.findall(r"(?m)^  -(\w)", out) == list(flags)
    assert max(map(len, out.splitlines())) <= 100
    assert maxmargin(tool) == (2, out, "")


def test_without_typer_the_message_says_what_to_install(capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "typer":
            raise ModuleNotFoundError("No module named 'typer'", name="typer")
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "maxmargin.cli.app", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["fit", "x"]) == 1
    assert "pip install 'maxmargin[cli]'" in capsys.readouterr().err


def test_an_unexpected_error_is_one_line_with_its_class(maxmargin, moons, monkeypatch):
    def fails(*arguments):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(library.SVC, "fit", fails)
    code, out, err = maxmargin("fit", moons, "--model", "m.mm")
    assert (code, out) == (1, "")
    assert err == "maxmargin: error: ZeroDivisionError: by zero\n"
