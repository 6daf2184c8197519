"""svm-train, svm-predict and svm-scale against LIBSVM itself."""

import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin.files import load_libsvm, read_data

TRAIN = [
    ("signs", "-t 0"),
    ("signs", "-c 10 -g 0.5"),
    ("signs", "-t 1 -d 2 -g 0.5 -r 1"),
    ("signs", "-w-2 5 -w1 0.5"),
    ("signs", "-s 1 -n 0.3"),
    ("iris", "-h 0 -m 20"),
    ("iris", "-s 1 -n 0.3"),
    ("iris", "-s 2 -n 0.2"),
    ("diabetes", "-s 3 -p 0.2"),
    ("diabetes", "-s 4 -n 0.3 -c 2"),
]


@pytest.fixture
def libsvm():
    return pytest.importorskip("libsvm.svmutil", reason="needs libsvm-official")


def predicted_by_libsvm(x, model):
    """Row by row: its `svm_predict` leaves too little room for a nu-SVC of several classes."""
    from libsvm.svm import gen_svm_nodearray
    from libsvm.svm import libsvm as functions

    return [functions.svm_predict(model, gen_svm_nodearray(row)[0]) for row in x]


def output_of_libsvm(path, options):
    """What LIBSVM's C code prints goes past Python."""
    code = "import sys; from libsvm.svmutil import *; svm_train(*svm_read_problem(sys.argv[1]),\
 sys.argv[2])"
    command = [sys.executable, "-c", code, str(path), options + " -e 1e-7"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def numbers_after(name, text):
    return [float(value) for value in re.findall(rf"{name} = (-?[\d.]+)", text)]


@pytest.mark.parametrize(("data", "options"), TRAIN)
def test_libsvm_predicts_with_our_model_what_our_tool_predicts(
    maxmargin, libsvm, request, data, options
):
    path = request.getfixturevalue(data)
    flags = ["-q", "-e", "1e-6", *options.split()]
    assert maxmargin("svm-train", *flags, path, "ours.model") == (0, "", "")
    code, out, _ = maxmargin("svm-predict", path, "ours.model", "ours.out")
    y, x = libsvm.svm_read_problem(str(path))
    predicted = predicted_by_libsvm(x, libsvm.svm_load_model("ours.model"))
    accuracy, error, correlation = libsvm.evaluations(y, predicted)
    assert code == 0
    found = np.loadtxt("ours.out")
    if "-s 2" in options:  # points on the boundary are inside for us, and of either side for LIBSVM
        model = load_libsvm("ours.model")
        clear = np.abs(model.decision_function(read_data(path).X)) > 1e-4
        assert np.all(found[~clear] == 1)
        found[~clear] = np.asarray(predicted)[~clear]
        assert np.sum(~clear) < 20
        accuracy = 100 * np.mean(np.loadtxt("ours.out") == y)
    np.testing.assert_allclose(found, predicted, rtol=1e-9, atol=1e-9)
    if data == "diabetes":
        assert numbers_after("Mean squared error", out)[0] == pytest.approx(error, rel=1e-4)
        found = numbers_after("Squared correlation coefficient", out)[0]
        assert found == pytest.approx(correlation, rel=1e-4)
    else:
        hits, n = round(accuracy * len(y) / 100), len(y)
        assert out == f"Accuracy = {accuracy:g}% ({hits}/{n}) (classification)\n"


@pytest.mark.parametrize(("data", "options"), TRAIN)
def test_our_tool_predicts_with_libsvms_model_what_libsvm_predicts(
    maxmargin, libsvm, request, data, options
):
    path = request.getfixturevalue(data)
    y, x = libsvm.svm_read_problem(str(path))
    model = libsvm.svm_train(y, x, options + " -q")
    libsvm.svm_save_model(str(path) + ".theirs", model)
    # The file has eight digits of the support vectors.
    predicted = predicted_by_libsvm(x, libsvm.svm_load_model(str(path) + ".theirs"))
    assert maxmargin("svm-predict", "-q", path, f"{path}.theirs", "out") == (0, "", "")
    np.testing.assert_allclose(np.loadtxt("out"), predicted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("data", "options"), [one for one in TRAIN if "-s 1" not in one[1]])
def test_the_lines_about_a_fit_say_what_libsvms_say(maxmargin, libsvm, request, data, options):
    path = request.getfixturevalue(data)
    code, ours, _ = maxmargin("svm-train", "-e", "1e-7", *options.split(), path, "ours.model")
    theirs = output_of_libsvm(path, options)
    assert code == 0
    for name in ("nu", "obj", "rho", "epsilon"):
        found, expected = numbers_after(name, ours), numbers_after(name, theirs)
        if name == "rho":  # its sign depends on which label is first
            found, expected = np.abs(found), np.abs(expected)
        np.testing.assert_allclose(np.sort(found), np.sort(expected), rtol=2e-3, atol=2e-4)
    assert ours.count("optimization finished, #iter = ") == theirs.count("optimization finished")
    assert bool(re.search(r"^Total nSV = \d+$", ours, re.M)) == ("Total nSV" in theirs)
    assert len(re.findall(r"^nSV = \d+, nBSV = \d+$", ours, re.M)) == theirs.count("nBSV")


def test_nu_svc_reports_the_c_and_the_objective_that_libsvm_reports(maxmargin, libsvm, signs):
    _, ours, _ = maxmargin("svm-train", "-e", "1e-7", "-s", "1", "-n", "0.3", signs)
    theirs = output_of_libsvm(signs, "-s 1 -n 0.3")
    for name in ("C", "obj"):
        assert numbers_after(name, ours) == pytest.approx(numbers_after(name, theirs), rel=1e-3)


def test_the_model_has_the_name_of_the_data_unless_it_is_given(maxmargin, signs, tmp_path):
    assert maxmargin("svm-train", "-q", signs) == (0, "", "")
    assert (tmp_path / "signs.svm.model").exists()


def test_cross_validation_reports_accuracy_or_error(maxmargin, iris, diabetes):
    code, out, _ = maxmargin("svm-train", "-v", "5", iris)
    assert code == 0
    assert 90 <= float(re.fullmatch(r"Cross Validation Accuracy = ([\d.]+)%\n", out)[1]) <= 100
    _, out, _ = maxmargin("svm-train", "-s", "3", "-v", "5", diabetes)
    lines = out.splitlines()
    assert lines[0].startswith("Cross Validation Mean squared error = ")
    assert lines[1].startswith("Cross Validation Squared correlation coefficient = ")


def test_a_weight_of_an_absent_label_is_warned_of(maxmargin, signs):
    code, _, err = maxmargin("svm-train", "-q", "-w7", "2", signs)
    assert code == 0
    assert err == "maxmargin: warning: -w7: there is no such label in the data\n"


@pytest.mark.parametrize("data", ["signs", "iris"])
def test_probabilities_are_those_that_libsvm_reads_from_the_file(maxmargin, libsvm, request, data):
    path = request.getfixturevalue(data)
    assert maxmargin("svm-train", "-q", "-b", "1", path, "b.model") == (0, "", "")
    code, out, _ = maxmargin("svm-predict", "-b", "1", path, "b.model", "out")
    assert code == 0
    assert out.startswith("Accuracy = ")
    y, x = libsvm.svm_read_problem(str(path))
    model = libsvm.svm_load_model("b.model")
    labels, _, shares = libsvm.svm_predict(y, x, model, "-b 1 -q")
    with open("out") as file:
        assert file.readline() == "labels " + " ".join(map(str, model.get_labels())) + "\n"
        rows = np.loadtxt(file)
    np.testing.assert_allclose(rows[:, 1:], shares, atol=2e-3)  # LIBSVM iterates to 0.005 / k
    np.testing.assert_array_equal(rows[:, 0], labels)
    out = maxmargin("svm-predict", path, "b.model", "out")[1]
    assert out.startswith("Model supports probability estimates, but disabled in prediction.\n")


def test_the_sigmoids_are_about_libsvms_own(maxmargin, libsvm, signs):
    maxmargin("svm-train", "-q", "-b", "1", signs, "b.model")
    y, x = libsvm.svm_read_problem(str(signs))
    theirs = libsvm.svm_train(y, x, "-b 1 -q")
    _, _, expected = libsvm.svm_predict(y, x, theirs, "-b 1 -q")
    order = np.argsort(theirs.get_labels())
    _, _, found = libsvm.svm_predict(y, x, libsvm.svm_load_model("b.model"), "-b 1 -q")
    ours = np.argsort(libsvm.svm_load_model("b.model").get_labels())
    difference = np.asarray(found)[:, ours] - np.asarray(expected)[:, order]
    assert np.abs(difference).max() < 0.1  # the folds are random


def test_probabilities_are_for_classifiers_trained_for_them(maxmargin, signs, diabetes):
    assert maxmargin("svm-train", "-s", "3", "-b", "1", diabetes)[0] == 2
    maxmargin("svm-train", "-q", signs, "m.model")
    code, _, err = maxmargin("svm-predict", "-b", "1", signs, "m.model", "out")
    assert code == 1
    assert "train it with -b 1" in err


def test_a_precomputed_kernel_gives_the_answer_of_the_kernel(maxmargin, signs, tmp_path):
    X, y, *_ = read_data(signs)
    with open(tmp_path / "gram.svm", "w") as file:
        for k, (label, row) in enumerate(zip(y, rbf_kernel(X, gamma=0.25), strict=True)):
            pairs = " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row.tolist()))
            file.write(f"{label} 0:{k + 1} {pairs}\n")
    assert maxmargin("svm-train", "-q", "-t", "4", "gram.svm", "gram.model")[0] == 0
    assert maxmargin("svm-train", "-q", "-g", "0.25", signs, "rbf.model")[0] == 0
    gram, rbf = load_libsvm("gram.model"), load_libsvm("rbf.model")
    assert gram.intercept_ == pytest.approx(rbf.intercept_, abs=1e-6)
    ours = maxmargin("svm-predict", "gram.svm", "gram.model", "out")
    assert ours == maxmargin("svm-predict", signs, "rbf.model", "out")


def test_test_data_may_have_more_or_fewer_features_than_the_model(maxmargin, libsvm, signs):
    maxmargin("svm-train", "-q", signs, "m.model")
    with open("other.svm", "w") as file:
        file.write("1 1:6.1 3:4.9\n-2 1:6 2:3 9:0.5\n")
    assert maxmargin("svm-predict", "-q", "other.svm", "m.model", "out")[0] == 0
    _, x = libsvm.svm_read_problem("other.svm")
    expected = predicted_by_libsvm(x, libsvm.svm_load_model("m.model"))
    assert np.loadtxt("out").tolist() == expected
    with open("narrow.svm", "w") as file:
        file.write("1 1:6.1\n")
    assert maxmargin("svm-predict", "-q", "narrow.svm", "m.model", "out")[0] == 0


def test_rows_without_features_are_read(maxmargin, tmp_path):
    (tmp_path / "bare.svm").write_text("1\n-1\n")
    code, out, err = maxmargin("svm-scale", "bare.svm")
    assert (code, out, err) == (0, "1 \n-1 \n", "")


# svm-scale


def test_scale_writes_the_rows_and_the_ranges(maxmargin, tmp_path):
    (tmp_path / "data.svm").write_text("1 1:2 3:5\n-1 1:4 2:1 3:5\n1 2:-3 3:5\n")
    code, out, err = maxmargin("svm-scale", "-s", "range", "data.svm")
    assert code == 0
    # Column 1 is 2, 4, 0; column 2 is 0, 1, -3; column 3 never varies and is dropped.
    assert out == "1 2:0.5 \n-1 1:1 2:1 \n1 1:-1 2:-1 \n"
    assert (tmp_path / "range").read_text() == "x\n-1 1\n1 0 4\n2 -3 1\n"
    assert err == ""


def test_scale_restores_ranges_for_other_data(maxmargin, tmp_path):
    (tmp_path / "range").write_text("y\n0 1\n-1 1\nx\n0 2\n1 0 4\n2 -3 1\n")
    (tmp_path / "data.svm").write_text("-1 1:8\n1 2:1 5:7\n")
    code, out, _ = maxmargin("svm-scale", "-r", "range", "data.svm")
    assert code == 0
    assert out == "0 1:4 2:1.5 \n1 2:2 \n"


def test_scale_warns_when_zeros_are_lost(maxmargin, tmp_path):
    (tmp_path / "data.svm").write_text("1 1:2\n-1 2:4\n1 3:1\n")
    code, _, err = maxmargin("svm-scale", "data.svm")
    assert code == 0
    assert err == (
        "maxmargin: warning: 3 entries became 9; use -l 0 if many feature values are zeros.\n"
    )
    assert maxmargin("svm-scale", "-l", "0", "data.svm")[2] == ""


def test_scaled_rows_agree_with_scikit_learns_scaler(maxmargin, iris):
    from sklearn.preprocessing import MinMaxScaler

    with open("scaled.svm", "w") as file:
        file.write(maxmargin("svm-scale", "-l", "-2", "-u", "3", iris)[1])
    expected = MinMaxScaler((-2, 3)).fit_transform(read_data(iris).X.toarray())
    np.testing.assert_allclose(read_data("scaled.svm").X.toarray(), expected, atol=1e-5)


def test_libsvm_reads_scaled_rows_as_we_do(maxmargin, libsvm, iris):
    with open("scaled.svm", "w") as file:
        file.write(maxmargin("svm-scale", iris)[1])
    _, x = libsvm.svm_read_problem("scaled.svm", return_scipy=True)
    np.testing.assert_array_equal(read_data("scaled.svm").X.toarray(), x.toarray())


@pytest.mark.parametrize("text", ["", "x\n", "x\n0 1\n0 1 2\n", "x\n0 1\n1 2\n", "x\n0 nan\n"])
def test_a_file_that_holds_no_ranges_is_refused(maxmargin, iris, tmp_path, text):
    (tmp_path / "range").write_text(text)
    code, out, err = maxmargin("svm-scale", "-r", "range", iris)
    assert (code, out) == (1, "")
    assert err == "maxmargin: error: range: not a file of ranges, as svm-scale -s writes it.\n"
