"""Models come back from their files as they went in."""

import os
import re
import stat
import subprocess
import sys

import numpy as np
import pytest
import sklearn.svm
from guarded_engine import GuardedEngine
from limits import peak_below
from model_zoo import (
    COMPOSED,
    EXPORTED,
    IGNORED,
    KINDS,
    answers,
    data,
    fitted,
    fitted_on_gram,
    model_of,
    opened_up,
)
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin import kernels
from maxmargin.engines.cpu import CPUEngine
from maxmargin.engines.plain import PlainEngine
from maxmargin.files import FileError, load, models, save, save_libsvm, to_onnx
from maxmargin.files.estimators_as_json import LEFT_OUT
from maxmargin.files.kernels_as_json import CLASSES
from maxmargin.kernels import RBF, Conformal, Custom, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.solvers import SMOPairs

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]


def through_a_file(model, folder):
    save(model, folder / "model.mm")
    return load(folder / "model.mm")


def assert_same(mine, theirs, X):
    assert type(mine) is type(theirs)
    for one, other in zip(answers(mine, X), answers(theirs, X), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("name", EXPORTED)
def test_every_exported_estimator_answers_the_same_bit_for_bit(name, container, tmp_path):
    model = fitted(name, container)
    loaded = through_a_file(model, tmp_path)
    assert_same(loaded, model, container(data()[0]))
    for attribute, value in vars(model).items():
        if attribute not in LEFT_OUT:
            kept = vars(loaded)[attribute]
            assert type(kept) is type(value) or np.isscalar(value)


@pytest.mark.parametrize("kind", KINDS)
def test_saving_what_was_loaded_gives_the_same_bytes(kind, tmp_path):
    loaded = through_a_file(model_of(kind), tmp_path)
    save(loaded, tmp_path / "again.mm")
    assert (tmp_path / "again.mm").read_bytes() == (tmp_path / "model.mm").read_bytes()


CLASSIFIERS = [name for name in EXPORTED if is_classifier(getattr(maxmargin, name)())]


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(
    "labels",
    [
        (3, 5, -1),
        (0.0, 1.0, 2.0),
        ("no", "yes", "perhaps"),
        (False, True, True),
        np.array(["no", "yes\0", "\ud800"], dtype=object),
    ],
    ids=["ints", "floats", "text", "flags", "odd text"],
)
def test_labels_keep_their_type(name, labels, tmp_path):
    n_classes = 2 if labels[0] is False else 3
    model = fitted(name, labels=labels, n_classes=n_classes)
    loaded = through_a_file(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert_same(loaded, model, data()[0])


@pytest.mark.parametrize("kind", ["bytes", "bytes as objects"])
def test_labels_that_are_bytes_keep_their_type(kind, tmp_path):
    model = model_of(kind)
    loaded = through_a_file(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert [*map(type, loaded.classes_)] == [*map(type, model.classes_)]
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert_same(loaded, model, data()[0])


def test_labels_that_are_bytes_are_refused_in_words_by_formats_that_have_none(tmp_path):
    for kind, label in (("bytes", "b'a'"), ("bytes as objects", "b''")):
        with pytest.raises(ValueError, match=f"ONNX has no labels that are bytes, like {label}"):
            to_onnx(model_of(kind))
    with pytest.raises(FileError, match="LIBSVM's labels are whole numbers, not b'a'"):
        save_libsvm(model_of("bytes"), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_one_long_label_does_not_make_a_file_long(tmp_path):
    labels = np.array([*map(str, range(500)), "z" * 100_000], dtype=object)
    model = maxmargin.LinearSVC(max_iter=1).fit(np.eye(1503, 3), np.tile(labels, 3))
    with peak_below(2**24):
        loaded = through_a_file(model, tmp_path)
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert (tmp_path / "model.mm").stat().st_size < 2**20


@pytest.mark.parametrize("name", ["SVR", "NuSVR"])
def test_a_regression_keeps_the_roles_of_its_rows(name, tmp_path):
    X, y = data()
    weight = np.where(np.arange(len(y)) < 3, 0.0, 1.0)
    model = getattr(maxmargin, name)().fit(X, y, sample_weight=weight)
    loaded = through_a_file(model, tmp_path)
    assert {"unused", "outside"} <= set(model.roles_)
    np.testing.assert_array_equal(loaded.roles_, model.roles_)


def test_a_file_says_the_oldest_format_that_has_all_it_uses(tmp_path):
    versions = {"perceptron": 1, "binary": 2, "bytes": 2, "bytes as objects": 2, "regression": 5}
    for kind, version in versions.items():
        save(model_of(kind), tmp_path / "model.mm")
        assert opened_up(tmp_path / "model.mm")[0]["format_version"] == version


def test_labels_and_names_that_are_objects(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=["length", "", "ümlaut"])
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    model = maxmargin.SVC().fit(frame, labels)
    loaded = through_a_file(model, tmp_path)
    assert loaded.classes_.dtype == object
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert_same(loaded, model, frame)


@pytest.mark.parametrize("name", ["SVC", "LinearSVC", "Ridge", "SVR"])
def test_the_proof_comes_along(name, tmp_path):
    model = fitted(name)
    loaded = through_a_file(model, tmp_path)
    assert loaded.certificate_ == model.certificate_
    assert repr(loaded.certificate_) == repr(model.certificate_)


def test_parameters_come_along(tmp_path):
    parameters = {
        "C": np.float64(2.5),
        "class_weight": {"a": 2.0, "b": 1, "c": 3},
        "solver": SMOPairs(order=1),
        "random_state": 7,
        "max_time": 100.0,
    }
    loaded = through_a_file(fitted("SVC", **parameters), tmp_path)
    assert {key: loaded.get_params()[key] for key in parameters} == parameters
    assert np.inf == through_a_file(fitted("SVC", C=np.inf, kernel=RBF(9.0)), tmp_path).C


def test_what_only_a_next_fit_needs_and_no_file_can_hold_is_left_out(tmp_path):
    model = fitted("SVC", callbacks=[lambda progress: None], trace=True,
                   random_state=np.random.RandomState(0))  # fmt: skip
    loaded = through_a_file(model, tmp_path)
    assert (loaded.callbacks, loaded.random_state) == (None, None)
    assert hasattr(model, "trace_")
    assert not hasattr(loaded, "trace_")


@pytest.mark.parametrize("name", ["SVC", "KernelRidge", "Nystroem", "Perceptron"])
def test_of_an_engine_object_a_file_holds_the_name(name, tmp_path):
    for engine, saved in ((CPUEngine(1 << 20, n_threads=1), "cpu"), (PlainEngine(), "plain")):
        model = fitted(name, kernel="rbf", engine=engine)
        assert through_a_file(model, tmp_path).engine == saved
        assert model.engine is engine


def test_an_engine_of_the_users_own_is_refused_with_advice(tmp_path):
    model = fitted("SVC", engine=GuardedEngine())
    with pytest.raises(ValueError, match=r"GuardedEngine; .* model\.set_params\(engine='auto'\)"):
        through_a_file(model, tmp_path)
    assert through_a_file(model.set_params(engine="auto"), tmp_path).engine == "auto"


@pytest.mark.parametrize("name", ["GradientDescentClassifier", "GradientDescentRegressor"])
def test_descent_goes_on_from_where_it_stood(name, tmp_path):
    X, y = data()
    model = fitted(name, max_iter=3)
    loaded = through_a_file(model, tmp_path)
    y = np.array(["a", "b", "c"])[y] if is_classifier(model) else X[:, 0]
    assert_same(loaded.partial_fit(X, y), model.partial_fit(X, y), X)
    assert len(loaded.trace_) == len(model.trace_)


SIMPLE = [RBF(0.5), RBF(sigma=2.0), Laplacian(0.5), Linear(), Sigmoid(0.1)]
COMBINED = [COMPOSED, RBF("scale") + 3 * Laplacian("auto"), Polynomial(2, "scale", 1)]


def test_the_closed_list_is_every_kernel_without_a_function():
    exported = {
        value
        for value in (getattr(kernels, name) for name in kernels.__all__)
        if isinstance(value, type) and issubclass(value, kernels.Kernel)
    }
    assert set(CLASSES.values()) == exported - {kernels.Kernel, Custom, Conformal}


@pytest.mark.parametrize("kernel", SIMPLE + COMBINED, ids=repr)
@pytest.mark.parametrize("name", ["SVC", "KernelRidge"])
def test_kernels_of_the_closed_list(name, kernel, tmp_path):
    model = fitted(name, kernel=kernel)
    loaded = through_a_file(model, tmp_path)
    assert repr(loaded.kernel) == repr(kernel)
    assert repr(loaded.kernel_) == repr(model.kernel_)
    assert_same(loaded, model, data()[0])


def test_precomputed_kernels(tmp_path):
    X = data()[0]
    for name in ("SVC", "SVR", "OneClassSVM", "KernelRidge"):
        model = fitted_on_gram(name)
        assert_same(through_a_file(model, tmp_path), model, X @ X.T)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_model_without_support_vectors(container, tmp_path):
    model = fitted("SVR", container, epsilon=1e3)
    assert len(model.support_) == 0
    assert_same(through_a_file(model, tmp_path), model, container(data()[0]))


def test_models_from_scikit_learn(tmp_path):
    X, y = data()
    for name in ("SVC", "SVR", "OneClassSVM"):
        model = maxmargin.from_sklearn(getattr(sklearn.svm, name)().fit(X, y))
        loaded = through_a_file(model, tmp_path)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def linear(X, Z):
    return np.asarray(X) @ np.asarray(Z).T


@pytest.mark.parametrize(
    ("kernel", "named"),
    [
        (linear, "function"),
        (Custom(linear), "Custom"),
        (RBF() + Custom(linear), "Custom"),
        (Linear().conformal(lambda X: np.ones(len(X))), "Conformal"),
    ],
    ids=["function", "custom", "within a sum", "conformal"],
)
def test_kernels_that_hold_functions_are_refused_and_nothing_is_written(kernel, named, tmp_path):
    with pytest.raises(FileError, match=rf"model.mm: .*{named}"):
        save(fitted("SVC", kernel=kernel), tmp_path / "model.mm")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("fitted_as", "then"), [("ovo", "ovr"), ("ovr", "ovo")])
def test_a_loaded_classifier_answers_as_it_was_fitted_whatever_is_set_later(
    fitted_as, then, tmp_path
):
    model = fitted("SVC", multi_class=fitted_as)
    loaded = through_a_file(model, tmp_path).set_params(multi_class=then)
    assert_same(loaded, model.set_params(multi_class=then), data()[0])


@pytest.mark.skipif(os.name != "posix", reason="folders cannot be opened")
@pytest.mark.parametrize("refused", ["open", "fsync"])
def test_a_file_system_that_cannot_keep_folders_is_no_reason_to_fail(
    refused, tmp_path, monkeypatch
):
    real = getattr(os, refused)

    def of_no_folder(what, *rest):
        if os.path.isdir(what):
            raise OSError(22, "Invalid argument")
        return real(what, *rest)

    model = fitted("SVC")
    with monkeypatch.context() as patch:
        patch.setattr(os, refused, of_no_folder)
        save(model, tmp_path / "model.mm")
    assert_same(load(tmp_path / "model.mm"), model, data()[0])


@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1.0])
def test_a_ridge_is_saved_with_a_certificate_or_none(alpha, tmp_path):
    model = fitted("Ridge", alpha=alpha)
    loaded = through_a_file(model, tmp_path)
    assert_same(loaded, model, data()[0])
    assert (loaded.certificate_ is None) == (model.certificate_ is None) == (alpha < 1)


def test_models_of_scikit_learn_are_told_what_works(tmp_path):
    X, y = data()
    theirs = sklearn.svm.SVC().fit(X, y)
    message = "this SVC of sklearn, only estimators of maxmargin; from_sklearn(model) is one."
    with pytest.raises(FileError, match=re.escape(message)):
        save(theirs, tmp_path / "m")
    save(maxmargin.from_sklearn(theirs), tmp_path / "m")
    assert (load(tmp_path / "m").predict(X) == theirs.predict(X)).all()
    with pytest.raises(FileError, match=r"LinearSVC of sklearn, only estimators of maxmargin\.$"):
        save(sklearn.svm.LinearSVC().fit(X, y), tmp_path / "m")


class Own(maxmargin.SVC):
    pass


def test_only_fitted_estimators_of_the_library_are_saved(tmp_path):
    X, y = data()
    with pytest.raises(FileError, match="cannot hold this Own"):
        save(Own().fit(X, y), tmp_path / "m")
    with pytest.raises(NotFittedError):
        save(maxmargin.SVC(), tmp_path / "m")
    model = maxmargin.SVC().fit(X, y)
    model.remark = "mine"
    with pytest.raises(FileError, match="the attribute remark"):
        save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dual_coef_": np.zeros((2, 3))}, "dual_coef_ has shape"),
        ({"kernel": "linear"}, "kernel_ is a RBF, not what kernel asks for"),
        ({"C": -1.0}, "C must be a positive number"),
        ({"intercept_": np.array([np.nan] * 3)}, "intercept_ holds NaN"),
    ],
)
def test_a_model_that_was_altered_is_not_saved(change, reason, tmp_path):
    model = fitted("SVC")
    vars(model).update(change)
    with pytest.raises(FileError, match=reason):
        save(model, tmp_path / "m")


class Future(BaseEstimator):
    """An estimator that someone exports one day without telling the file format."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self


def test_an_estimator_of_an_unknown_kind_is_refused_clearly(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(maxmargin), "Future", Future)
    monkeypatch.setattr(maxmargin, "__all__", [*maxmargin.__all__, "Future"])
    with pytest.raises(FileError, match="cannot hold this Future"):
        save(Future().fit(None), tmp_path / "m")


# Writing.


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.mm"
    save(fitted("SVC"), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    for broken in ("os.fsync", "os.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(broken, full)
            with pytest.raises(OSError, match="No space left"):
                save(fitted("SVR"), path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path):
    path, model = tmp_path / "model.mm", fitted("Ridge")
    old_mask = os.umask(0o027)
    try:
        save(model, path)
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    save(model, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_link_stays_a_link_and_no_device_is_replaced(tmp_path):
    model, target, link = fitted("Ridge"), tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    save(model, link)
    assert link.is_symlink()
    assert_same(load(target), model, data()[0])
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", "/dev/null"):
        with pytest.raises(FileError, match="not a regular file"):
            save(model, path)


def test_missing_files_and_folders_are_the_usual_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        save(fitted("Ridge"), tmp_path / "nowhere" / "model.mm")


def test_the_file_says_what_it_is(tmp_path):
    save(fitted("SVC"), tmp_path / "model.mm")
    document, arrays = opened_up(tmp_path / "model.mm")
    assert document["format"] == models.FORMAT
    assert document["format_version"] == 2
    assert document["library_version"] == maxmargin.__version__
    assert document["class"] == "SVC"
    assert all(array.dtype != object for array in arrays.values())


def test_reading_files_loads_no_compiled_code_and_no_extras():
    code = (
        "import sys, maxmargin.files; "
        "print([m for m in ('numba', 'matplotlib', 'onnx') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
