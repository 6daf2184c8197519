"""Every verb of the command line on real small files."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import maxmargin as library
from maxmargin.files import load, read_data

pytest.importorskip("typer")


def json_of(answer):
    code, out, err = answer
    assert code == 0, err
    return json.loads(out)


# fit


def test_fit_writes_the_model_that_the_library_fits(maxmargin, moons):
    code, out, err = maxmargin("fit", moons, "-C", "10", "--gamma", "0.5", "--model", "m.mm")
    assert (code, err) == (0, "")
    assert "optimal             True" in out
    data = read_data(moons)
    expected = library.SVC(C=10.0, gamma=0.5).fit(data.X, data.y)
    model = load("m.mm")
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    assert list(model.feature_names_in_) == ["left", "right"]


def test_fit_reports_in_json(maxmargin, iris):
    found = json_of(maxmargin("fit", iris, "--model", "m.mm", "--json"))
    assert found["estimator"] == "SVC"
    assert found["classes"] == [1, 2, 3]
    assert (found["rows"], found["features"]) == (150, 4)
    assert found["optimal"] is True
    assert found["relative_gap"] <= 1e-3


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("svc", ["--kernel", "poly", "--degree", "2", "--coef0", "1", "--tol", "1e-5"]),
        ("nusvc", ["--nu", "0.2", "--max-time", "60"]),
        ("one-class", ["--nu", "0.2"]),
        ("linear-svc", ["-C", "0.5"]),
    ],
)
def test_every_estimator_can_be_fitted(maxmargin, iris, name, options):
    found = json_of(
        maxmargin("fit", iris, "--estimator", name, *options, "--model", "m.mm", "--json")
    )
    assert found["converged"] is True
    assert maxmargin("predict", "m.mm", iris)[0] == 0


@pytest.mark.parametrize("name", ["svr", "nusvr", "linear-svr"])
def test_every_regressor_can_be_fitted(maxmargin, diabetes, name):
    assert maxmargin("fit", diabetes, "--estimator", name, "--model", "m.mm")[0] == 0
    code, out, err = maxmargin("predict", "m.mm", diabetes)
    assert code == 0
    assert len(out.split()) == 150
    assert "mean squared error" in err


def test_a_target_by_name_and_by_position(maxmargin, moons, tmp_path):
    table = [line.split(",") for line in moons.read_text().split()]
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join(",".join([kind, a, b]) for a, b, kind in table))
    for column in ("kind", "0"):
        found = json_of(maxmargin("fit", turned, "--target", column, "--model", "m.mm", "--json"))
        assert found["classes"] == ["down", "up"]


def test_scale_standardises_and_the_ranges_stand_beside_the_model(maxmargin, moons):
    assert maxmargin("fit", moons, "--scale", "--model", "m.mm")[0] == 0
    data = read_data(moons)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    expected = library.SVC().fit(X, data.y)
    found = json_of(maxmargin("predict", "m.mm", moons, "--decision", "--json"))
    np.testing.assert_allclose(found["decision"], expected.decision_function(X), atol=1e-9)
    with open("m.mm.range", "a") as file:
        file.write("2 0 1\n")
    code, out, err = maxmargin("predict", "m.mm", moons)
    assert (code, out) == (1, "")
    assert "not those that m.mm was fitted with" in err
    os.remove("m.mm.range")
    code, out, err = maxmargin("predict", "m.mm", moons)
    assert (code, out) == (1, "")
    assert "m.mm.range is missing" in err


def test_scaled_features_without_names_may_get_some_later(maxmargin, moons, tmp_path):
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(moons.read_text().split()[1:]) + "\n")
    maxmargin("fit", bare, "--scale", "--model", "m.mm")
    expected = maxmargin("predict", "m.mm", bare)
    assert expected[0] == 0
    assert maxmargin("predict", "m.mm", moons) == expected


@pytest.fixture
def counted(moons, tmp_path):
    """The moons with the names that pandas gives: the target first, and last."""
    rows = [line.split(",") for line in moons.read_text().split()[1:]]
    for name, order in (("first.csv", (2, 0, 1)), ("last.csv", (0, 1, 2))):
        lines = [",".join(row[k] for k in order) for row in rows]
        (tmp_path / name).write_text("\n".join(["0,1,2", *lines]) + "\n")


@pytest.mark.parametrize("options", [[], ["--scale"]])
def test_columns_named_by_their_number(maxmargin, counted, moons, tmp_path, options):
    found = json_of(maxmargin("fit", "last.csv", *options, "--model", "m.mm", "--json"))
    assert (found["rows"], found["classes"]) == (120, ["down", "up"])
    expected = maxmargin("predict", "m.mm", "last.csv")
    assert (expected[0], len(expected[1].split())) == (0, 120)
    rows = moons.read_text().split()[1:]
    (tmp_path / "bare.csv").write_text("\n".join(rows) + "\n")
    assert maxmargin("predict", "m.mm", "bare.csv")[:2] == expected[:2]
    features = ["0,1", *(row.rpartition(",")[0] for row in rows)]
    (tmp_path / "features.csv").write_text("\n".join(features) + "\n")
    assert maxmargin("predict", "m.mm", "features.csv")[:2] == expected[:2]


@pytest.mark.parametrize("options", [[], ["--scale"]])
def test_numbers_as_names_tell_the_target_from_a_feature(maxmargin, counted, options, tmp_path):
    text = (tmp_path / "first.csv").read_text()
    (tmp_path / "first.csv").write_text(text.replace("up", "1").replace("down", "0"))
    maxmargin("fit", "first.csv", "--target", "0", *options, "--model", "m.mm")
    assert maxmargin("predict", "m.mm", "first.csv", "--target", "0")[0] == 0
    code, out, err = maxmargin("predict", "m.mm", "first.csv")
    assert (code, out) == (1, "")
    assert "the model has other columns, or in another order: not '0'" in err


def test_fit_says_which_column_is_the_target(maxmargin, counted):
    help_text = " ".join(re.findall(r"[^\s│]+", maxmargin("fit", "--help")[1]))
    assert "the last column is the target, unless --target names another" in help_text
    assert "(default: the last)" in help_text  # in square brackets it would not be shown
    code, _, err = maxmargin("fit", "first.csv", "--model", "m.mm")
    assert code == 1
    assert "the target is the last column unless --target" in err


def test_scaled_sparse_features_keep_their_zeros(maxmargin, iris):
    assert maxmargin("fit", iris, "--scale", "--model", "m.mm")[0] == 0
    X = read_data(iris).X
    largest = np.abs(X).max(axis=0).toarray()
    vectors = load("m.mm").support_vectors_
    expected = (X.toarray() / largest)[load("m.mm").support_]
    np.testing.assert_allclose(vectors.toarray(), expected, rtol=1e-12)


def test_a_fit_that_ends_early_says_so_in_one_line(maxmargin, tmp_path):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.standard_normal((3000, 3)), rng.integers(0, 2, 3000)])
    np.savetxt(tmp_path / "noise.csv", rows, delimiter=",")
    code, out, err = maxmargin(
        "fit", "noise.csv", "-C", "1e9", "--max-time", "1e-6", "--model", "m.mm", "--json"
    )
    assert code == 0
    assert json.loads(out)["converged"] is False
    assert err.startswith("maxmargin: warning: Solver terminated early (max_time=1e-06 s).")
    assert err.count("\n") == 1


# predict


def test_predictions_go_to_standard_output_and_the_score_to_standard_error(maxmargin, moons):
    maxmargin("fit", moons, "--model", "m.mm")
    code, out, err = maxmargin("predict", "m.mm", moons)
    data = read_data(moons)
    assert code == 0
    assert out.split() == library.SVC().fit(data.X, data.y).predict(data.X).tolist()
    hits = np.mean(np.array(out.split()) == data.y)
    assert err == f"maxmargin: accuracy {hits:.6g} on 120 rows\n"


@pytest.mark.parametrize("as_objects", [False, True])
def test_labels_that_are_bytes_are_written_as_text(maxmargin, moons, as_objects):
    data = read_data(moons)
    labels = data.y.astype("S")
    model = library.SVC(probability=True).fit(data.X, labels)
    if as_objects:
        labels = labels.astype(object)
        model = library.GradientDescentClassifier()
        model.partial_fit(data.X, labels, classes=np.unique(labels))
    library.save(model, "m.mm")
    code, out, err = maxmargin("predict", "m.mm", moons)
    assert code == 0
    assert set(out.split()) == {"up", "down"}
    accuracy = float(re.search(r"accuracy (\S+)", err).group(1))
    assert accuracy == pytest.approx(np.mean(model.predict(data.X) == labels), rel=1e-5)
    assert set(json_of(maxmargin("predict", "m.mm", moons, "--json"))["prediction"]) == {
        "up",
        "down",
    }
    assert "down up" in maxmargin("inspect", "m.mm")[1]
    if not as_objects:
        assert "probability_up" in maxmargin("predict", "m.mm", moons, "--proba")[1]


def test_decisions_and_probabilities_have_named_columns(maxmargin, moons):
    maxmargin("fit", moons, "--probability", "--model", "m.mm")
    code, out, _ = maxmargin(
        "predict", "m.mm", moons, "--decision", "--proba", "--output", "out.csv"
    )
    assert (code, out) == (0, "")
    with open("out.csv") as file:
        header, first, *rest = file.read().split()
    assert header == "prediction,decision,probability_down,probability_up"
    assert len(rest) == 119
    label, decision, down, up = first.split(",")
    assert (label == "up") == (float(decision) > 0) == (float(up) > float(down))


def test_a_doubtful_first_line_of_a_table_without_target_is_said_once(maxmargin, tmp_path):
    rows = [f"{k},{k % 7},{k % 3},{'odd' if k % 2 else 'even'}" for k in range(5, 40)]
    (tmp_path / "rows.csv").write_text("\n".join(["0,1,2,kind", *rows]) + "\n")
    (tmp_path / "bare.csv").write_text("0,1,2\n0.5,1,2\n")
    maxmargin("fit", "rows.csv", "--model", "m.mm")
    code, out, err = maxmargin("predict", "m.mm", "bare.csv")
    assert (code, out.count("\n"), err.count("is taken for names")) == (0, 1, 1)


def test_a_table_without_target_is_predicted(maxmargin, moons, tmp_path):
    maxmargin("fit", moons, "--model", "m.mm")
    bare = tmp_path / "bare.csv"
    bare.write_text(
        "\n".join(",".join(line.split(",")[:2]) for line in moons.read_text().split()) + "\n"
    )
    with_target = maxmargin("predict", "m.mm", moons)
    assert maxmargin("predict", "m.mm", bare) == (0, with_target[1], "")


def test_columns_in_another_order_are_refused(maxmargin, moons, tmp_path):
    maxmargin("fit", moons, "--model", "m.mm")
    turned = tmp_path / "turned.csv"
    turned.write_text(moons.read_text().replace("left,right", "right,left"))
    code, _, err = maxmargin("predict", "m.mm", turned)
    assert code == 1
    assert "in another order" in err


# inspect, plot, convert


def test_inspect_shows_certificate_conditions_and_margins(maxmargin, moons):
    maxmargin("fit", moons, "--model", "m.mm")
    code, out, _ = maxmargin("inspect", "m.mm", moons)
    assert code == 0
    for words in ("Certificate: optimal", "KKT conditions of SVC", "width 1/|w|", "accuracy"):
        assert words in out
    found = json_of(maxmargin("inspect", "m.mm", moons, "--json"))
    assert found["certificate"]["dual_objective"] <= found["certificate"]["primal_objective"]
    assert [one["holds"] for one in found["kkt"]] == [True] * 5
    data = read_data(moons)
    report = library.inspection.margins(library.SVC().fit(data.X, data.y), data.X, data.y)
    assert found["margins"]["width"] == pytest.approx(report.width)


def test_inspect_says_that_a_libsvm_file_holds_no_certificate(maxmargin, iris):
    maxmargin("svm-train", "-q", iris, "iris.model")
    code, out, err = maxmargin("inspect", "iris.model")
    assert code == 0
    assert "support vectors" in out
    assert err.startswith("maxmargin: no certificate")
    assert json_of(maxmargin("inspect", "iris.model", "--json"))["certificate"] is None


@pytest.mark.parametrize("options", [[], ["--scale"]])
def test_plot_writes_a_picture(maxmargin, moons, options):
    pytest.importorskip("matplotlib")
    maxmargin("fit", moons, *options, "--model", "m.mm")
    assert maxmargin("plot", "m.mm", moons, "--output", "m.png") == (0, "", "")
    with open("m.png", "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"


def test_plot_needs_two_features(maxmargin, iris):
    maxmargin("fit", iris, "--model", "m.mm")
    code, _, err = maxmargin("plot", "m.mm", iris, "--output", "m.png")
    assert code == 1
    assert "needs a classifier of two features, got a SVC of 4 features" in err


def test_convert_there_and_back_predicts_the_same(maxmargin, iris):
    maxmargin("fit", iris, "--model", "m.mm")
    assert maxmargin("convert", "m.mm", "m.model") == (0, "", "")
    assert maxmargin("convert", "m.model", "back", "--to", "mm") == (0, "", "")
    decisions = [
        json_of(maxmargin("predict", model, iris, "--decision", "--json"))
        for model in ("m.mm", "m.model", "back")
    ]
    for other in decisions[1:]:
        for name, column in decisions[0].items():
            np.testing.assert_allclose(other[name], column, atol=1e-12)


# Ranges beside a model in LIBSVM's text.


def decisions_of(answer):
    return json_of(answer)["decision"]


@pytest.fixture
def signed(moons, tmp_path):
    """The moons far from zero and wide, with whole numbers as classes, as LIBSVM needs them."""
    rows = [line.split(",") for line in moons.read_text().split()[1:]]
    path = tmp_path / "signed.csv"
    lines = [f"{100 * float(a)!r},{float(b) - 5!r},{1 if c == 'up' else -1}" for a, b, c in rows]
    path.write_text("\n".join(["left,right,kind", *lines]) + "\n")
    return path


def test_ranges_beside_a_libsvm_file_are_applied_and_said(maxmargin, signed):
    for path in ("s.mm", "s.model"):
        assert maxmargin("fit", signed, "--scale", "--model", path)[0] == 0
    said = "maxmargin: s.model: its features are scaled as s.model.range says.\n"
    expected = decisions_of(maxmargin("predict", "s.mm", signed, "--decision", "--json"))
    answer = maxmargin("predict", "s.model", signed, "--decision", "--json")
    np.testing.assert_allclose(decisions_of(answer), expected, atol=1e-12)
    assert answer[2].startswith(said)
    accuracies = [
        json_of(maxmargin("inspect", path, signed, "--json"))["accuracy"]
        for path in ("s.mm", "s.model")
    ]
    assert accuracies[0] == accuracies[1] > 0.9


def test_convert_takes_the_ranges_along(maxmargin, signed):
    maxmargin("fit", signed, "--scale", "--model", "s.mm")
    expected = decisions_of(maxmargin("predict", "s.mm", signed, "--decision", "--json"))
    assert maxmargin("convert", "s.mm", "s.model")[0] == 0
    assert maxmargin("convert", "s.model", "back.mm")[0] == 0
    os.remove("s.model.range")
    answer = maxmargin("predict", "back.mm", signed, "--decision", "--json")
    np.testing.assert_allclose(decisions_of(answer), expected, atol=1e-12)


def test_svm_predict_does_not_scale_as_libsvms_does_not(maxmargin, iris):
    maxmargin("fit", iris, "--scale", "--model", "s.model")
    answers = []
    for name in ("with", "without"):
        assert maxmargin("svm-predict", "-q", iris, "s.model", name) == (0, "", "")
        with open(name) as file:
            answers.append(file.read())
        if name == "with":
            os.remove("s.model.range")
    assert answers[0] == answers[1]


def test_a_scaled_feature_that_no_support_vector_has_still_counts(maxmargin, signed):
    maxmargin("fit", signed, "--scale", "--model", "s.model")
    with open("s.model") as file:
        text = file.read()
    with open("s.model", "w") as file:
        file.write(re.sub(r" 2:\S+", "", text))
    assert maxmargin("predict", "s.model", signed)[0] == 0


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "command", [["fit", "signed.csv", "--model", "s.model"], ["convert", "s.mm", "s.model"]]
)
def test_ranges_that_would_scale_an_unscaled_model_are_neither_removed_nor_used(
    maxmargin, signed, tmp_path, monkeypatch, command
):
    maxmargin("fit", signed, "--model", "s.mm")
    (tmp_path / "s.model.range").write_text("x\n-1 1\n1 0 5\n2 0 5\n")
    before = contents(tmp_path)
    monkeypatch.setattr(library.SVC, "fit", None)  # it is refused before any work
    code, out, err = maxmargin(*command)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("maxmargin: error: s.model.range: would scale the features of s.model")
    assert "another name for the model or remove that file" in err
    assert contents(tmp_path) == before


def test_svm_train_too_refuses_ranges_that_would_scale_its_model(
    maxmargin, signs, tmp_path, monkeypatch
):
    for model in ("s.model", "named"):  # its file is LIBSVM's under any name
        (tmp_path / f"{model}.range").write_text("x\n-1 1\n1 0 5\n2 0 5\n")
        with monkeypatch.context() as patch:
            patch.setattr(library.SVC, "fit", None)  # it is refused before any work
            code, out, err = maxmargin("svm-train", signs, model)
        assert (code, out) == (1, "")
        assert err.startswith(f"maxmargin: error: {model}.range: would scale the features of")
        assert not (tmp_path / model).exists()
    assert maxmargin("svm-train", "-v", "3", signs, "s.model")[0] == 0  # writes no model


def test_what_lies_beside_an_unscaled_model_is_left_alone(maxmargin, moons, monkeypatch):
    with open("m.mm.range", "w") as file:
        file.write("somebody's")
    monkeypatch.setattr("shutil.copy2", None)
    assert maxmargin("fit", moons, "--model", "m.mm")[0] == 0
    with open("m.mm.range") as file:
        assert file.read() == "somebody's"


def test_a_convert_that_fails_leaves_no_ranges(maxmargin, signed, tmp_path):
    maxmargin("fit", signed, "--scale", "--estimator", "linear-svc", "--model", "s.mm")
    before = contents(tmp_path)
    assert maxmargin("convert", "s.mm", "s.model")[0] == 1
    assert contents(tmp_path) == before


@pytest.mark.parametrize("is_new", [False, True])
def test_a_model_that_cannot_be_written_leaves_the_ranges_too(
    maxmargin, signed, moons, tmp_path, is_new
):
    if not is_new:
        maxmargin("fit", signed, "--scale", "--model", "s.model")
    before = contents(tmp_path)
    for data, options in ((signed, ["--estimator", "linear-svc"]), (moons, [])):
        code, _, err = maxmargin("fit", data, "--scale", *options, "--model", "s.model")
        assert code == 1
        assert err.startswith("maxmargin: error: s.model: LIBSVM")
        assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("s.mm", "s.mm.range"),
        ("s.mm", "s.mm"),
        ("s.model", "s.model.range"),
        ("s.model", "s.model"),
    ],
)
def test_either_both_files_are_new_or_none(maxmargin, signed, tmp_path, monkeypatch, path, broken):
    (tmp_path / "half.csv").write_text("\n".join(signed.read_text().split()[:60]) + "\n")
    maxmargin("fit", "half.csv", "--scale", "--model", path)
    before, real = contents(tmp_path), os.replace

    def fails_once(source, target):
        if os.path.basename(target) == broken:
            monkeypatch.setattr("os.replace", real)
            raise OSError(28, "No space left on device", target)
        real(source, target)

    monkeypatch.setattr("os.replace", fails_once)
    code, _, err = maxmargin("fit", signed, "--scale", "--model", path)
    assert code == 1
    assert "No space left on device" in err
    assert contents(tmp_path) == before


# bench, demo, experiment


def test_bench_compares_with_scikit_learn(maxmargin):
    found = json_of(maxmargin("bench", "--rows", "300", "--json"))
    ours, theirs = found["maxmargin"], found["scikit-learn"]
    assert ours["dual_objective"] == pytest.approx(theirs["dual_objective"], rel=1e-3)
    assert "scikit-learn takes" in maxmargin("bench", "--rows", "300")[1]


def test_demo_proves_its_fit(maxmargin):
    code, out, _ = maxmargin("demo", "--output", "shown")
    assert code == 0
    assert "Certificate: optimal" in out
    assert load(os.path.join("shown", "moons.mm")).certificate_.optimal


def test_an_experiment_is_run_by_name(maxmargin, monkeypatch):
    module = pytest.importorskip("maxmargin.experiments.bias_variance")
    calls = []

    def run(folder, data=None, quick=False):
        calls.append((folder, data, quick))
        return {"variance": float("nan")}

    monkeypatch.setattr(module, "run", run)
    path = os.path.join("bias-variance", "report.md")
    assert maxmargin("experiment", "bias-variance", "--quick") == (0, path + "\n", "")
    assert json_of(maxmargin("experiment", "bias-variance", "--json")) == {"variance": None}
    assert calls == [("bias-variance", None, True), ("bias-variance", None, False)]


# Terminals, signals and pipes.


@pytest.mark.parametrize("verb", ["fit", "svm-train"])
def test_a_live_line_on_a_terminal_does_not_disturb_the_result(maxmargin, iris, monkeypatch, verb):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    if verb == "fit":
        found = json_of(maxmargin("fit", iris, "--probability", "--model", "m.mm", "--json"))
        assert found["optimal"] is True
    else:
        code, out, _ = maxmargin("svm-train", "-b", "1", iris, "m.model")
        assert code == 0
        assert "Total nSV = " in out
    assert "violation" in terminal.getvalue()
    assert terminal.getvalue().endswith(("\n", "\x1b[?25h")), "the line is ended"


COMMAND = [sys.executable, "-c", "import sys; from maxmargin.cli import main; sys.exit(main())"]


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize("verb", ["fit", "svm-train"])
def test_ctrl_c_leaves_the_old_file_and_says_so_in_one_line(tmp_path, verb):
    rng = np.random.default_rng(0)
    n = 20_000
    with open(tmp_path / "noise.svm", "w") as file:
        for label, row in zip(rng.integers(0, 2, n), rng.standard_normal((n, 8)), strict=True):
            file.write(f"{label} " + " ".join(f"{k + 1}:{v:.4f}" for k, v in enumerate(row)) + "\n")
    (tmp_path / "m.model").write_text("the old one")
    options = ["-C", "1e4", "--model", "m.model"] if verb == "fit" else ["-c", "1e4", "-q"]
    files = ["noise.svm"] if verb == "fit" else ["noise.svm", "m.model"]
    process = subprocess.Popen(
        [*COMMAND, verb, *options, *files], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(9.0)  # long enough to have imported and be solving, which takes minutes
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    # The first process of a machine compiles, and says so before.
    said = [line for line in err.splitlines() if "compiling its inner loops" not in line]
    assert (out, said) == ("", ["maxmargin: interrupted; no file is left half-written."])
    assert (tmp_path / "m.model").read_text() == "the old one"
    assert sorted(os.listdir(tmp_path)) == ["m.model", "noise.svm"]


@pytest.mark.skipif(os.name != "posix", reason="a pipe of the shell")
def test_a_closed_pipe_is_quiet(iris, tmp_path):
    with open(tmp_path / "many.svm", "w") as file:
        file.write(iris.read_text() * 200)
    shell = " ".join(f"'{word}'" for word in [*COMMAND, "svm-scale", "many.svm"]) + " | head -1"
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
