"""LIBSVM's model files: LIBSVM itself reads ours, and we read LIBSVM's."""

import bz2
import gzip
import lzma
import re
import time
from ctypes import c_double
from itertools import combinations

import numpy as np
import pytest
import sklearn.svm
from limits import SECONDS, peak_below, refused
from model_zoo import COMPOSED, IGNORED, data, fitted, fitted_on_gram
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin.files import FileError, load_libsvm, save_libsvm
from maxmargin.kernels import RBF

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

NAMES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"]
KERNELS = ["linear", "poly", "rbf", "sigmoid", "precomputed"]
LABELS = np.array([7, -1, 3, 5])


def problem(name, kernel, n_classes):
    X, y = data()
    y = np.minimum(np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.7, 0.0, 0.7]), n_classes - 1)
    rows = X @ X.T if kernel == "precomputed" else X
    return rows, LABELS[y] if "SVC" in name else X[:, 0] ** 2


def own_decisions(model, X):
    """One column per machine, as LIBSVM gives them."""
    if hasattr(model, "classes_"):
        return model.set_params(decision_function_shape="ovo").decision_function(X)
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def libsvm_answers(model, X):
    """Labels and decision values by LIBSVM's C functions.

    Its Python wrapper makes the buffer of a nu-SVC of several classes too small, and crashes.
    """
    svm = pytest.importorskip("libsvm.svm")
    is_gram = model.param.kernel_type == svm.kernel_names["PRECOMPUTED"]
    size = model.get_nr_class() * (model.get_nr_class() - 1) // 2
    labels, values = [], []
    for number, row in enumerate(np.asarray(X), start=1):
        node = dict(enumerate(row, start=1))
        nodes, _ = svm.gen_svm_nodearray({0: number, **node} if is_gram else node)
        buffer = (c_double * size)()
        labels.append(svm.libsvm.svm_predict_values(model, nodes, buffer))
        values.append(list(buffer))
    return np.array(labels), np.squeeze(values)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", NAMES)
def test_libsvm_reads_ours_and_decides_the_same(name, kernel, n_classes, tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    X, y = problem(name, kernel, n_classes)
    nu = {"nu": 0.2} if name == "NuSVC" else {}
    model = getattr(maxmargin, name)(kernel=kernel, **nu).fit(X, y)
    save_libsvm(model, tmp_path / "model")
    labels, values = libsvm_answers(svmutil.svm_load_model(str(tmp_path / "model")), X)
    expected = own_decisions(model, X)
    # one-class: what is nearer than 1e-8 to the boundary counts as on it
    size = 1e-9 * (1 + np.abs(expected).max()) if name != "OneClassSVM" else 1e-8
    np.testing.assert_allclose(values, expected, rtol=0, atol=size)
    if "SVC" in name:
        np.testing.assert_array_equal(labels, model.predict(X))
    back = load_libsvm(tmp_path / "model", n_features=X.shape[1])
    assert type(back) is type(model)
    np.testing.assert_allclose(own_decisions(back, X), expected, rtol=0, atol=size)
    if "SVC" in name:
        np.testing.assert_array_equal(back.predict(X), model.predict(X))


@pytest.mark.parametrize("kernel_type", range(5))
@pytest.mark.parametrize("svm_type", range(5))
@pytest.mark.parametrize("labels", [(1, -1), (9, 2, 4)], ids=["two", "three"])
def test_we_read_libsvms_own_and_decide_the_same(svm_type, kernel_type, labels, tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    X, y = data()
    y = np.array(labels)[y % len(labels)]
    rows = X @ X.T if kernel_type == 4 else X
    nodes = [dict(enumerate(row, start=1)) for row in rows]
    if kernel_type == 4:
        nodes = [{0: number, **node} for number, node in enumerate(nodes, start=1)]
    options = f"-s {svm_type} -t {kernel_type} -n 0.2 -g 0.3 -r 0.5 -q"
    task = svmutil.svm_problem(y.tolist(), nodes, isKernel=kernel_type == 4)
    svmutil.svm_save_model(str(tmp_path / "model"), svmutil.svm_train(task, options))
    ours = load_libsvm(tmp_path / "model", n_features=rows.shape[1])
    again = svmutil.svm_load_model(str(tmp_path / "model"))  # the file has 8 digits of each vector
    chosen, values = libsvm_answers(again, rows)
    if svm_type in (0, 1):
        values = in_sorted_order(values.reshape(len(rows), -1), again.get_labels())
        clear = votes(values, len(labels)).max(axis=1) == len(labels) - 1  # no tie is possible
        np.testing.assert_array_equal(ours.predict(rows)[clear], chosen[clear])
        if len(labels) == 2:
            values = -values[:, 0]  # positive for the second class, as in scikit-learn
    decided = own_decisions(ours, rows)
    np.testing.assert_allclose(decided, values, rtol=0, atol=2e-8 * (1 + np.abs(values).max()))


def votes(values, n_classes):
    counts = np.zeros((len(values), n_classes))
    for column, (i, j) in zip(values.T, combinations(range(n_classes), 2), strict=True):
        counts[:, i] += column > 0
        counts[:, j] += column <= 0
    return counts


def in_sorted_order(values, labels):
    """LIBSVM's columns for its order of labels, as columns for the sorted ones."""
    pairs = list(combinations(range(len(labels)), 2))
    by_labels = {(labels[i], labels[j]): values[:, k] for k, (i, j) in enumerate(pairs)}
    by_labels |= {(j, i): -column for (i, j), column in by_labels.items()}
    ordered = sorted(labels)
    return np.column_stack([by_labels[ordered[i], ordered[j]] for i, j in pairs])


def test_sparse_and_dense_rows_and_features_the_file_does_not_know(tmp_path):
    X, y = data()
    X = np.hstack([X, np.zeros((len(X), 2))])
    save_libsvm(maxmargin.SVC().fit(sparse.csr_matrix(X), y), tmp_path / "model")
    narrow = load_libsvm(tmp_path / "model")
    assert narrow.n_features_in_ == 3
    wide = load_libsvm(tmp_path / "model", n_features=5)
    for rows in (X, sparse.csr_matrix(X)):
        np.testing.assert_allclose(
            wide.decision_function(rows), narrow.decision_function(rows[:, :3]), atol=1e-12
        )
    with pytest.raises(FileError, match="above n_features"):
        load_libsvm(tmp_path / "model", n_features=2)


def test_a_model_without_support_vectors(tmp_path):
    X, _ = data()
    model = fitted("SVR", epsilon=1e3)
    save_libsvm(model, tmp_path / "model")
    np.testing.assert_allclose(
        load_libsvm(tmp_path / "model", n_features=3).predict(X), model.predict(X)
    )


def test_a_kernel_object_and_labels_that_are_whole_floats(tmp_path):
    model = fitted("SVC", labels=(-1.0, 0.0, 1.0), kernel=RBF(sigma=2.0))
    save_libsvm(model, tmp_path / "model")
    assert "gamma 0.125\n" in (tmp_path / "model").read_text()
    assert load_libsvm(tmp_path / "model").classes_.tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: fitted("SVC"), "labels are whole numbers, not 'a'"),
        (lambda: fitted("SVC", labels=(0, 1, 2**40)), "32 bits"),
        (lambda: fitted("SVC", labels=(0, 1, 2), kernel=COMPOSED), "no kernel like"),
        (lambda: fitted("SVR", kernel="laplacian"), "no kernel like Laplacian"),
        (lambda: fitted("SVC", labels=(0, 1, 2), multi_class="ovr"), "multi_class='ovr'"),
        (lambda: fitted("LinearSVC"), "LIBSVM has no LinearSVC"),
        (
            lambda: sklearn.svm.SVC().fit(*data()),
            "only models of maxmargin can be written, and this SVC is one of sklearn; from_sk",
        ),
        (
            lambda: type("NuSVC", (maxmargin.NuSVC,), {"__module__": "others.svm"})(),
            "only models of maxmargin can be written, and this NuSVC is one of others.",
        ),
        (
            lambda: make_pipeline(StandardScaler(), maxmargin.SVC()).fit(*data()),
            "OneClassSVM; save its steps one by one, with save_libsvm(model['svc'], path); "
            "'standardscaler' must be kept otherwise.",
        ),
    ],
)
def test_what_libsvm_does_not_have_is_refused_and_nothing_written(make, reason, tmp_path):
    with pytest.raises(FileError, match=rf"model: .*{re.escape(reason)}"):
        save_libsvm(make(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_model_of_pairs_stays_one_whatever_is_set_later(tmp_path):
    save_libsvm(fitted("SVC", labels=(0, 1, 2)), tmp_path / "model")
    model = load_libsvm(tmp_path / "model")
    expected = model.decision_function(data()[0])
    found = model.set_params(multi_class="ovr").decision_function(data()[0])
    np.testing.assert_array_equal(found, expected)


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho 0.25
label 1 -1
nr_sv 2 1
SV
0.5 1:1 2:0.5
0.5 1:2
-1 2:-1
"""
CRAFTED = {
    "an unknown type": ("c_svc", "d_svc", "1:10: svm_type must be one of"),
    "an unknown kernel": ("rbf", "wavelet", "2:13: kernel_type must be one of"),
    "an unknown field": ("gamma 0.5", "omega 0.5", "3:1: unknown field 'omega'"),
    "NaN": ("gamma 0.5", "gamma nan", "3:7: gamma cannot be 'nan'"),
    "two gammas": ("gamma 0.5", "gamma 0.5 0.5", "3:7: gamma has 2 values"),
    "a negative gamma": ("gamma 0.5", "gamma -0.5", "gamma must be"),
    "a field twice": ("gamma 0.5", "gamma 0.5\ngamma 0.5", "4:1: gamma is there twice"),
    "a huge count": ("total_sv 3", "total_sv 99999999999", "5:10: total_sv cannot be"),
    "more vectors than said": ("total_sv 3", "total_sv 2", "nr_sv does not sum to total_sv"),
    "a negative total": ("total_sv 3", "total_sv -3", "nr_sv does not sum"),
    "a count below zero": ("nr_sv 2 1", "nr_sv 4 -1", "nr_sv has a negative count"),
    "counts that do not add up": ("nr_sv 2 1", "nr_sv 1 1", "nr_sv does not sum"),
    "a huge number of classes": ("nr_class 2", "nr_class 2000000000", "must have"),
    "one class": ("nr_class 2", "nr_class 1", "nr_class cannot be 1"),
    "a rho too many": ("rho 0.25", "rho 0.25 1", "rho must have 1 values, not 2"),
    "an infinite rho": ("rho 0.25", "rho inf", "6:5: rho cannot be 'inf'"),
    "a label twice": ("label 1 -1", "label 1 1", "a label is there twice"),
    "a label that is a word": ("label 1 -1", "label 1 no", "7:9: label cannot be 'no'"),
    "no labels": ("label 1 -1\n", "", "label or nr_sv is missing"),
    "no rho": ("rho 0.25\n", "", "rho is missing"),
    "no gamma": ("gamma 0.5\n", "", "gamma is missing"),
    "no vectors": ("SV\n", "", "10:1|unknown field"),
    "an empty line": ("label", "\nlabel", "7:1: expected a field"),
    "index zero": ("1:1 2:0.5", "0:1 2:0.5", "index 0 is for precomputed"),
    "a negative index": ("1:1 2:0.5", "-1:1 2:0.5", "10:5: expected index:value, got '-1:1'"),
    "an index too large": ("2:0.5", "99999999999:0.5", "10:9: the index is above"),
    "an index again": ("1:1 2:0.5", "2:1 2:0.5", "10:9: the index is not above"),
    "no value": ("2:0.5", "2:", "10:9: expected index:value, got '2:'"),
    "NaN in a vector": ("2:0.5", "2:nan", "10:9: NaN is not allowed"),
    "a value beyond floats": ("2:0.5", "2:1e999", "10:9: the value is too large"),
    "a coefficient beyond floats": ("0.5 1:2", "1e999 1:2", "11:1: a number at the start"),
    "two coefficients": ("0.5 1:2", "0.5 0.5 1:2", "11:5: expected index:value"),
    "no coefficient": ("0.5 1:2", "1:2", "11:2: expected|11:1"),
    "a NUL byte": ("0.5 1:2", "0.5 \x001:2", "11:5: a NUL byte"),
    "a blank line among the vectors": ("0.5 1:2", "", "11:1: expected a number"),
    "a vector less": ("-1 2:-1\n", "", "has 2 support vectors, but total_sv is 3"),
    "a vector more": ("-1 2:-1\n", "-1 2:-1\n-1 2:-1\n", "has 4 support vectors"),
}


def test_the_example_is_good(tmp_path):
    path = tmp_path / "model"
    path.write_text(GOOD)
    model = load_libsvm(path)
    assert model.classes_.tolist() == [-1, 1]
    assert model.n_support_.tolist() == [1, 2]
    np.testing.assert_allclose(
        model.decision_function([[1.0, 0.5]]),
        0.5 + 0.5 * np.exp(-0.5 * 1.25) - np.exp(-0.5 * 3.25) - 0.25,
    )


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_models_are_refused_with_their_place(name, tmp_path):
    old, new, reason = CRAFTED[name]
    path = tmp_path / "model"
    path.write_text(GOOD.replace(old, new, 1))
    refused(load_libsvm, path, reason)


def test_a_model_of_many_classes_is_read_in_a_second(tmp_path):
    path, k = tmp_path / "model", 300
    n_machines = k * (k - 1) // 2
    head = f"svm_type c_svc\nkernel_type linear\nnr_class {k}\ntotal_sv 0\n"
    rho, labels = map(str, range(n_machines)), map(str, range(k, 0, -1))
    path.write_text(f"{head}rho {' '.join(rho)}\nlabel {' '.join(labels)}\nnr_sv {'0 ' * k}\nSV\n")
    began = time.perf_counter()
    model = load_libsvm(path)
    assert time.perf_counter() - began < SECONDS
    assert model.classes_.tolist() == list(range(1, k + 1))
    turned = {(k - j, k - i): rho for rho, (i, j) in enumerate(combinations(range(k), 2))}
    assert model.intercept_.tolist() == [turned[pair] for pair in sorted(turned)]


WHOLE = {
    "two classes": lambda: fitted("SVC", labels=(-1, 1), n_classes=2),
    "three classes": lambda: fitted("SVC", labels=(3, 1, 2)),
    "regression": lambda: fitted("SVR"),
    "precomputed": lambda: fitted_on_gram("SVC"),
    "no support vectors": lambda: fitted("SVR", epsilon=1e3),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_text_cut_off_at_any_byte_is_refused(kind, tmp_path):
    path = tmp_path / "model"
    save_libsvm(WHOLE[kind](), path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        part = whole[:length]
        path.write_bytes(part)
        within_a_line = part and not part.endswith(b"\n")
        reason = "was cut off" if within_a_line else "ends before the line SV|total_sv is"
        with pytest.raises(FileError, match=rf"^{re.escape(str(path))}:.*({reason})"):
            load_libsvm(path)


FORMS = {
    "Windows line ends": lambda text: text.replace(b"\n", b"\r\n"),
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("form", FORMS)
def test_other_forms_of_a_text_are_read_and_refused_where_cut_off(form, tmp_path):
    path = tmp_path / "model"
    whole = FORMS[form](GOOD.encode())
    path.write_bytes(whole)
    assert load_libsvm(path).dual_coef_.nnz == 3
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError, match=rf"^{re.escape(str(path))}:"):
            load_libsvm(path)


def test_a_long_field_takes_a_few_times_its_memory(tmp_path):
    path = tmp_path / "model"
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 0\nlabel 1 2\nnr_sv 0 0\n"
    path.write_text(head + "rho " + "12 " * 500_000 + "\nSV\n")
    reason, n_bytes = "rho must have 1 values, not 500000", 20 * path.stat().st_size
    with peak_below(n_bytes), pytest.raises(FileError, match=reason):
        load_libsvm(path)
