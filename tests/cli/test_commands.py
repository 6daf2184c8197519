"""Every verb of the command line on real small files."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

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


def test_scale_standardises_and_the_model_holds_it(maxmargin, moons, tmp_path):
    code, out, err = maxmargin("fit", moons, "--scale", "--model", "m.mm")
    assert (code, err) == (0, "")
    assert "after               StandardScaler" in out
    assert sorted(os.listdir(tmp_path)) == ["m.mm", "moons.csv"]
    data = read_data(moons)
    expected = make_pipeline(StandardScaler(), library.SVC()).fit(data.X, data.y)
    found = json_of(maxmargin("predict", "m.mm", moons, "--decision", "--json"))
    assert found["decision"] == expected.decision_function(data.X).tolist()
    model = load("m.mm")
    assert [type(step).__name__ for _, step in model.steps] == ["StandardScaler", "SVC"]
    assert list(model.feature_names_in_) == ["left", "right"]


@pytest.mark.parametrize("options", [[], ["--scale"]])
def test_a_model_with_probabilities_says_them(maxmargin, moons, options):
    maxmargin("fit", moons, *options, "--probability", "--model", "m.mm")
    found = json_of(maxmargin("predict", "m.mm", moons, "--proba", "--json"))
    sums = np.add(found["probability_down"], found["probability_up"])
    np.testing.assert_allclose(sums, 1.0)
    maxmargin("fit", moons, *options, "--model", "m.mm")
    assert "fit it with --probability" in maxmargin("predict", "m.mm", moons, "--proba")[2]


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
    said = maxmargin("predict", "m.mm", "first.csv", "--target", "0")
    assert said[0] == 0
    assert maxmargin("predict", "m.mm", "first.csv") == said, "the target is remembered"
    code, out, err = maxmargin("predict", "m.mm", "first.csv", "--target", "1")
    assert (code, out) == (1, "")
    assert "the column '1' is no target of the model" in err


def test_fit_says_which_column_is_the_target(maxmargin, counted):
    help_text = " ".join(re.findall(r"[^\s│]+", maxmargin("fit", "--help")[1]))
    assert "the last column is the target, unless --target names another" in help_text
    assert "(default: the last)" in help_text  # in square brackets it would not be shown
    code, _, err = maxmargin("fit", "first.csv", "--model", "m.mm")
    assert code == 1
    assert "the target is the last column unless --target" in err


def test_features_divided_by_their_largest_size_keep_their_zeros(maxmargin, iris):
    assert maxmargin("fit", iris, "--max-abs", "--model", "m.mm")[0] == 0
    X = read_data(iris).X
    largest = np.abs(X).max(axis=0).toarray()
    scaler, model = load("m.mm")
    assert isinstance(scaler, MaxAbsScaler)
    vectors = model.support_vectors_
    expected = (X.toarray() / largest)[model.support_]
    np.testing.assert_allclose(vectors.toarray(), expected, rtol=1e-12)


@pytest.mark.parametrize("option", ["--scale", "--max-abs"])
def test_to_scale_means_the_same_for_svmlight_and_csv(maxmargin, iris, tmp_path, option):
    data = read_data(iris)
    np.savetxt(tmp_path / "iris.csv", np.column_stack([data.X.toarray(), data.y]), delimiter=",")
    kernels, decisions = [], []
    for path in ("iris.svm", "iris.csv"):
        kernels.append(
            json_of(maxmargin("fit", path, option, "--model", "m.mm", "--json"))["kernel"]
        )
        said = json_of(maxmargin("predict", "m.mm", "iris.svm", "--decision", "--json"))
        decisions.append([said[f"decision_{k}"] for k in (1, 2, 3)])
    assert kernels[0] == kernels[1]
    np.testing.assert_allclose(*decisions, atol=1e-12)
    if option == "--scale":
        gamma = float(re.fullmatch(r"RBF\(gamma=(.*)\)", kernels[0])[1])
        assert gamma == pytest.approx(1 / 4), "the variance of all features is one"


def test_rows_that_would_be_too_large_without_their_zeros_are_not_made_dense(maxmargin, tmp_path):
    (tmp_path / "wide.svm").write_text("1 16777216:1\n2 1:1\n" * 10_000)
    code, out, err = maxmargin("fit", "wide.svm", "--scale", "--model", "m.mm")
    assert (code, out) == (1, "")
    assert "not enough memory. fit: --scale makes the rows dense: 20,000 x 16,777,216" in err
    assert "--max-abs keeps zeros as they are" in err


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


def test_inspect_shows_the_proof_and_the_margins_of_the_machine_behind_a_scaler(maxmargin, moons):
    maxmargin("fit", moons, "--scale", "--model", "m.mm")
    found = json_of(maxmargin("inspect", "m.mm", moons, "--json"))
    assert (found["estimator"], found["after"]) == ("SVC", ["StandardScaler"])
    data = read_data(moons)
    X = StandardScaler().fit_transform(data.X)
    machine = library.SVC().fit(X, data.y)
    assert found["support_vectors"] == len(machine.support_)
    assert found["certificate"]["dual_objective"] == machine.certificate_.dual_objective
    assert found["accuracy"] == machine.score(X, data.y)
    width = library.inspection.margins(machine, X, data.y).width
    assert found["margins"]["width"] == pytest.approx(width)


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
    assert "needs a classifier of two features; this SVC has 4." in err


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


def test_convert_says_that_libsvms_text_has_no_place_for_probabilities(maxmargin, signs):
    assert maxmargin("fit", signs, "--probability", "--model", "m.mm")[0] == 0
    code, out, err = maxmargin("convert", "m.mm", "m.model")
    assert (code, out) == (0, "")
    assert err == (
        "maxmargin: m.model: LIBSVM's format cannot hold the probabilities, which are left out.\n"
    )


@pytest.fixture
def signed(moons, tmp_path):
    """The moons far from zero and wide, with whole numbers as classes, as LIBSVM needs them."""
    rows = [line.split(",") for line in moons.read_text().split()[1:]]
    path = tmp_path / "signed.csv"
    lines = [f"{100 * float(a)!r},{float(b) - 5!r},{1 if c == 'up' else -1}" for a, b, c in rows]
    path.write_text("\n".join(["left,right,kind", *lines]) + "\n")
    return path


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_convert_writes_the_scaling_into_a_graph_and_a_model_but_not_into_libsvms_text(
    maxmargin, signed
):
    maxmargin("fit", signed, "--scale", "--model", "s.mm")
    assert maxmargin("convert", "s.mm", "again", "--to", "mm") == (0, "", "")
    model, X = load("again"), read_data(signed).X
    assert load("s.mm").decision_function(X).tolist() == model.decision_function(X).tolist()
    assert maxmargin("convert", "s.mm", "s.model") == (1, "", (
        "maxmargin: error: s.model: LIBSVM's format cannot hold the scaling; write .mm or .onnx, "
        "or scale the data with svm-scale first.\n"
    ))  # fmt: skip
    assert not os.path.exists("s.model")
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    assert maxmargin("convert", "s.mm", "s.onnx") == (0, "", "")
    label, decision = runtime.InferenceSession("s.onnx").run(None, {"X": X})
    np.testing.assert_allclose(decision, model.decision_function(X), atol=1e-10)
    assert label.tolist() == model.predict(X).tolist()


def test_scaling_is_refused_for_a_libsvm_file_before_any_work(maxmargin, signed, monkeypatch):
    monkeypatch.setattr(library.SVC, "fit", None)
    code, out, err = maxmargin("fit", signed, "--scale", "--model", "s.model")
    assert (code, out) == (1, "")
    assert "s.model: LIBSVM's format cannot hold the scaling; write .mm or .onnx, or scale" in err


# Models of older versions, which were scaled by ranges in a file beside them.

GOLDEN = Path(__file__).with_name("golden")
SAID = json.loads((GOLDEN / "said.json").read_text())


@pytest.fixture
def golden(maxmargin, tmp_path):
    """The old models, the ranges beside them and some rows, in the folder of the test."""
    for path in GOLDEN.iterdir():
        shutil.copy(path, tmp_path)


@pytest.mark.parametrize("path", SAID)
def test_an_old_scaled_model_predicts_as_it_did_and_becomes_one_file(maxmargin, golden, path):
    rows = "rows.svm" if path == "sparse.mm" else "rows.csv"
    code, out, err = maxmargin("predict", path, rows, "--decision", "--json")
    assert code == 0
    assert json.loads(out)["prediction"] == SAID[path]["prediction"]
    decisions = json.loads(out)["decision"]
    np.testing.assert_allclose(decisions, SAID[path]["decision"], rtol=1e-12, atol=1e-14)
    said = "maxmargin: dense.model: its features are scaled as dense.model.range says.\n"
    assert err.startswith(said) == (path == "dense.model")
    assert maxmargin("convert", path, "new.mm")[:2] == (0, "")
    os.remove(path + ".range")
    again = maxmargin("predict", "new.mm", rows, "--decision", "--json")
    assert json_of(again)["decision"] == decisions
    has_names = path in ("dense.mm", "linear.mm")
    names = getattr(load("new.mm")[0], "feature_names_in_", ())
    assert list(names) == (["constant", "wide", "narrow"] if has_names else [])


def test_an_old_scaled_model_needs_its_ranges_and_no_others(maxmargin, golden):
    with open("dense.mm.range", "a") as file:
        file.write("2 0 1\n")
    code, out, err = maxmargin("predict", "dense.mm", "rows.csv")
    assert (code, out) == (1, "")
    assert "dense.mm.range: the ranges are not those that dense.mm was fitted with" in err
    os.remove("dense.mm.range")
    code, out, err = maxmargin("predict", "dense.mm", "rows.csv")
    assert (code, out) == (1, "")
    assert "dense.mm: was fitted on scaled features, and dense.mm.range is missing" in err


@pytest.mark.parametrize("ranges", ["1 -1\n2 0 5", "1 1\n2 0 5", "-1 1\n2 5 0"])
def test_ranges_that_fall_are_refused(maxmargin, golden, ranges):
    with open("dense.model.range", "w") as file:
        file.write(f"x\n{ranges}\n")
    code, out, err = maxmargin("predict", "dense.model", "rows.csv")
    assert (code, out) == (1, "")
    assert err.endswith("error: the ranges beside the model must rise.\n")


def test_svm_predict_does_not_scale_as_libsvms_does_not(maxmargin, golden):
    answers = []
    for name in ("with", "without"):
        assert maxmargin("svm-predict", "-q", "rows.svm", "dense.model", name) == (0, "", "")
        with open(name) as file:
            answers.append(file.read())
        if name == "with":
            os.remove("dense.model.range")
    assert answers[0] == answers[1]


def test_a_scaled_feature_that_no_support_vector_has_still_counts(maxmargin, golden):
    with open("dense.model") as file:
        text = file.read()
    with open("dense.model", "w") as file:
        file.write(re.sub(r" 3:\S+", "", text))
    assert maxmargin("predict", "dense.model", "rows.csv")[0] == 0


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


def test_what_lies_beside_an_unscaled_model_is_left_alone(maxmargin, moons):
    with open("m.mm.range", "w") as file:
        file.write("somebody's")
    assert maxmargin("fit", moons, "--model", "m.mm")[0] == 0
    with open("m.mm.range") as file:
        assert file.read() == "somebody's"


# bench, demo, experiment


def test_bench_compares_with_scikit_learn(maxmargin):
    found = json_of(maxmargin("bench", "--rows", "300", "--json"))
    ours, theirs = found["maxmargin"], found["scikit-learn"]
    assert ours["dual_objective"] == pytest.approx(theirs["dual_objective"], rel=1e-3)
    assert "scikit-learn takes" in maxmargin("bench", "--rows", "300")[1]


def test_compile_says_how_long_it_took(maxmargin):
    code, out, _ = maxmargin("compile")
    assert code == 0
    assert out.splitlines()[-1].endswith("s  in all; the code is kept for later processes.")


def test_bench_counts_no_compiling_as_all_rows_were_fitted_once_before(maxmargin, monkeypatch):
    sizes, fit = [], library.SVC.fit
    monkeypatch.setattr(
        library.SVC, "fit", lambda model, X, y: sizes.append(len(X)) or fit(model, X, y)
    )
    assert maxmargin("bench", "--rows", "400")[0] == 0
    assert sizes == [400, 400]


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
