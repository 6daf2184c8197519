"""Models to and from scikit-learn, and scikit-learn with our classes in it."""

import logging
import multiprocessing
import subprocess
import sys

import numpy as np
import pytest
import sklearn.svm
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin import from_sklearn, to_sklearn
from maxmargin.kernels import RBF, Linear

NAMES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"]


def data(n_classes=3):
    return make_blobs(90, 3, centers=n_classes, cluster_std=3.0, random_state=0)


def answers(model, X):
    if "OneClass" in type(model).__name__:  # its free support vectors are on the boundary
        return [model.decision_function(X)]
    if hasattr(model, "decision_function"):
        return [model.predict(X), model.decision_function(X)]
    return [model.predict(X)]


def assert_same_answers(one, other, X):
    for mine, theirs in zip(answers(one, X), answers(other, X), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-7 * (1 + np.abs(theirs).max()))


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.filterwarnings("ignore::maxmargin.errors.MercerWarning")
def test_round_trip_predicts_the_same(name, kernel, n_classes, container):
    X, y = data(n_classes)
    X = container(X / 3)
    ours = getattr(maxmargin, name)(kernel=kernel).fit(X, y)
    theirs = to_sklearn(ours)
    assert type(theirs) is getattr(sklearn.svm, name)
    assert_same_answers(ours, theirs, X)
    back = from_sklearn(theirs)
    assert type(back) is type(ours)
    assert_same_answers(back, ours, X)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_fitted_by_scikit_learn_predicts_the_same_here(name):
    X, y = data()
    theirs = getattr(sklearn.svm, name)().fit(X, y)
    ours = from_sklearn(theirs)
    assert_same_answers(ours, theirs, X)
    if hasattr(ours, "multi_class"):
        assert_same_answers(ours.set_params(multi_class="ovr"), theirs, X)


def test_kernel_objects_become_names_and_composed_ones_are_refused():
    X, y = data()
    theirs = to_sklearn(maxmargin.SVC(kernel=RBF(sigma=2.0)).fit(X, y))
    assert (theirs.kernel, theirs.gamma) == ("rbf", 0.125)
    assert_same_answers(maxmargin.SVC(kernel=RBF(sigma=2.0)).fit(X, y), theirs, X)
    with pytest.raises(TypeError, match="scikit-learn has no kernel like Sum"):
        to_sklearn(maxmargin.SVC(kernel=RBF() + Linear()).fit(X, y))
    with pytest.raises(TypeError, match="a function as kernel needs the training rows"):
        to_sklearn(maxmargin.SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
    with pytest.raises(TypeError, match="expected a fitted SVM of scikit-learn"):
        from_sklearn(maxmargin.SVC().fit(X, y))


def test_what_scikit_learn_has_no_class_for_is_refused_in_words():
    X, y = data()
    for other in (maxmargin.LinearSVC(), maxmargin.Ridge(), sklearn.svm.SVC()):
        with pytest.raises(TypeError, match=r"expected a fitted SVC, NuSVC, .* of ours, got"):
            to_sklearn(other.fit(X, y))
    with pytest.raises(NotFittedError):
        to_sklearn(maxmargin.SVC())


def test_what_only_a_fit_knows_is_refused_in_words():
    X, y = data()
    ours = from_sklearn(sklearn.svm.SVC().fit(X, y))
    with pytest.raises(ValueError, match=r"SVC: margins need \|w\|, and a model .* elsewhere"):
        ours.margins(X, y)
    with pytest.raises(NotFittedError, match="predict_proba is not available"):
        ours.set_params(probability=True).predict_proba(X)


@pytest.fixture
def patched():
    maxmargin.patch_sklearn()
    yield
    maxmargin.unpatch_sklearn()


def test_patch_and_unpatch_swap_the_classes(caplog):
    own = {name: getattr(sklearn.svm, name) for name in NAMES}
    with caplog.at_level(logging.INFO, logger="maxmargin"):
        maxmargin.patch_sklearn()
        maxmargin.patch_sklearn()
    assert len(caplog.records) == 1
    try:
        for name in NAMES:
            assert getattr(sklearn.svm, name) is getattr(maxmargin, name)
        X, y = data()
        with pytest.raises(TypeError, match=r"sklearn.svm is patched"):
            to_sklearn(maxmargin.SVC().fit(X, y))
    finally:
        maxmargin.unpatch_sklearn()
    assert {name: getattr(sklearn.svm, name) for name in NAMES} == own


def test_python_m_maxmargin_runs_a_script_patched(tmp_path):
    (tmp_path / "helper.py").write_text("value = 7")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, helper\nfrom sklearn.svm import SVC\n"
        "print(SVC.__module__, sys.argv[1:], helper.value, __name__)\n"
    )
    command = [sys.executable, "-m", "maxmargin"]
    run = subprocess.run(
        [*command, str(script), "a"], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == ["maxmargin.estimators.svc", "['a']", "7", "__main__"]
    missing = subprocess.run(
        [*command, "nowhere.py"], capture_output=True, text=True, check=False, timeout=60
    )
    assert missing.returncode == 2
    assert missing.stderr == "python -m maxmargin: no such file: nowhere.py\n"


CHILDREN = """
import multiprocessing, sys
import helper, maxmargin
from concurrent.futures import ProcessPoolExecutor
from joblib import Parallel, delayed
from sklearn.svm import SVC

def origins():
    from sklearn.svm import SVR
    return {one.__module__.partition(".")[0] for one in (SVC, SVR, helper.SVC)}

def in_a_child(method, work, *arguments):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        return pool.submit(work, *arguments).result()

if __name__ == "__main__":
    method = sys.argv[1]
    if method == "loky":
        print(*Parallel(n_jobs=2)(delayed(origins)() for _ in range(2)))
    else:
        print(in_a_child(method, in_a_child, method, origins))
        maxmargin.unpatch_sklearn()
        print(in_a_child(method, origins))
"""


START_METHODS = [one for one in multiprocessing.get_all_start_methods() if one != "fork"]


@pytest.mark.parametrize("method", [*START_METHODS, "loky"])
def test_processes_that_a_patched_script_starts_are_patched(method, tmp_path):
    """And so are those that they start, until the script takes the patch back."""
    (tmp_path / "helper.py").write_text("from sklearn.svm import SVC")
    (tmp_path / "script.py").write_text(CHILDREN)
    run = subprocess.run(
        [sys.executable, "-m", "maxmargin", str(tmp_path / "script.py"), method],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    expected = ["{'maxmargin'}", "{'maxmargin'}" if method == "loky" else "{'sklearn'}"]
    assert run.stdout.split() == expected, run.stderr


def test_sparse_models_with_no_or_one_support_vector():
    X = sparse.csr_matrix([[0.0], [1.0], [2.0]])
    flat = maxmargin.SVR(epsilon=1e3).fit(X, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(to_sklearn(flat).predict(X), flat.predict(X))
    single = sparse.csr_matrix([[1.0, 2.0]])
    theirs = sklearn.svm.OneClassSVM(nu=0.3).fit(single)
    assert_same_answers(from_sklearn(theirs), theirs, single)
