"""Kernels from outside: a matrix, or a function of the user's."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SVC
from maxmargin.errors import KernelError
from maxmargin.kernels import Custom, Precomputed

WORDS = ["cat", "act", "dog", "god", "cog", "010", "110"]


def shared_letters(left, right):
    return [[len(set(u) & set(v)) for v in right] for u in left]


@pytest.fixture
def X():
    rng = np.random.default_rng(6)
    return rng.standard_normal((40, 3)) * (rng.random((40, 3)) < 0.6)


@pytest.mark.parametrize("stored", [np.asarray, np.ndarray.tolist, sparse.csr_array,
                                    sparse.coo_matrix])  # fmt: skip
def test_precomputed_is_the_matrix_itself(X, stored):
    K = X @ X.T
    np.testing.assert_array_equal(Precomputed()(stored(K)), K)
    np.testing.assert_array_equal(Precomputed().diagonal(stored(K)), np.diagonal(K))


def test_precomputed_rows_of_new_points_against_the_training_matrix(X):
    K = X @ X.T
    new = K[[3, 8]] * 2
    np.testing.assert_array_equal(Precomputed()(new, K), new)


def test_precomputed_matrix_is_copied(X):
    K = X @ X.T
    values = Precomputed()(K)
    values[:] = 0
    np.testing.assert_array_equal(K, X @ X.T)


def test_precomputed_matrix_with_too_few_columns_is_refused():
    message = "Precomputed: X must have a column for each of the 4 training points, got 3 columns."
    calls = [
        lambda: Precomputed()(np.ones((4, 3))),
        lambda: Precomputed()(np.ones((2, 3)), np.ones((4, 4))),
        lambda: Precomputed().diagonal(np.ones((4, 3))),
        lambda: (2 * Precomputed())(sparse.csr_array(np.ones((4, 3)))),
    ]
    for call in calls:
        with pytest.raises(KernelError) as refusal:
            call()
        assert str(refusal.value) == message


@pytest.mark.parametrize("stored", [np.asarray, np.ndarray.tolist, sparse.csr_array,
                                    sparse.lil_matrix])  # fmt: skip
def test_function_gets_arrays_or_sparse_matrices(X, stored):
    seen = set()

    def dots(A, B):
        seen.update([type(A), type(B)])
        return A @ B.T

    np.testing.assert_allclose(Custom(dots)(stored(X), stored(X[:5])), X @ X[:5].T, atol=1e-15)
    np.testing.assert_allclose(Custom(dots).diagonal(stored(X)), (X**2).sum(axis=1), atol=1e-15)
    assert seen == {sparse.csr_array if sparse.issparse(stored(X)) else np.ndarray}


def test_function_gets_a_list_of_strings_as_it_is():
    seen = []

    def shared(left, right):
        seen.extend([left, right])
        return shared_letters(left, right)

    np.testing.assert_array_equal(
        Custom(shared)(WORDS, WORDS[5:]), shared_letters(WORDS, WORDS[5:])
    )
    assert seen == [WORDS, ["010", "110"]]
    np.testing.assert_array_equal(
        Custom(shared_letters).diagonal(WORDS), [len(set(word)) for word in WORDS]
    )


@pytest.mark.parametrize("words", [["010", "110"], [b"010", b"110"], np.array(["010", "110"])])
def test_strings_of_digits_stay_strings(words):
    same = Custom(lambda left, right: [[u == v for v in right] for u in left])
    np.testing.assert_array_equal(same(words, [*words, words[0]]), [[1, 0, 1], [0, 1, 0]])
    overlap = Custom(lambda left, right: [[len(u) for _ in right] for u in left])
    np.testing.assert_array_equal(overlap(words), 3.0)


def test_composed_function_gets_strings_too():
    K = np.array(shared_letters(WORDS, WORDS))
    np.testing.assert_array_equal((2 * Custom(shared_letters) ** 2)(WORDS), 2.0 * K**2)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda A, B: np.ones((len(A), 1)), (3, 1)),
        (lambda A, B: np.ones(len(A)), (3,)),
        (lambda A, B: 1.0, ()),
        (lambda A, B: np.ones((len(B) + 1, len(A) + 1)), (4, 4)),
    ],
)
def test_function_that_returns_the_wrong_shape_is_refused(function, shape):
    message = f"Custom: the kernel function must return a matrix of shape (3, 3), got {shape}."
    for call in (Custom(function), Custom(function).diagonal, 2 * Custom(function)):
        with pytest.raises(KernelError) as refusal:
            call(np.eye(3))
        assert str(refusal.value) == message


def test_function_must_be_callable():
    with pytest.raises(ValueError, match=r"Custom: function must be callable, got 'rbf'\."):
        Custom("rbf")(np.eye(2))


def test_values_of_the_function_become_float64():
    K = Custom(lambda A, B: np.ones((len(A), len(B)), dtype=np.int8))(np.eye(2))
    assert K.dtype == np.float64


def test_a_function_of_a_data_frame_gets_one():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) ** 2})

    def by_name(left, right):
        return left[["a"]].to_numpy() @ right[["a"]].to_numpy().T

    kernel = Custom(by_name)
    np.testing.assert_array_equal(kernel(rows), np.outer(rows["a"], rows["a"]))
    np.testing.assert_array_equal(kernel.diagonal(rows), rows["a"] ** 2)
    y = (rows["a"] > 5).astype(int)
    np.testing.assert_array_equal(SVC(kernel=kernel, C=100.0).fit(rows, y).predict(rows), y)


@pytest.mark.parametrize(
    "flag", [{"whole": "no"}, {"positive_semidefinite": "yes"}, {"whole": None}]
)
def test_flags_of_a_function_are_flags(flag):
    with pytest.raises(ValueError, match=rf"Custom: {next(iter(flag))} must be one of .*, got"):
        Custom(np.inner, **flag).check()


@pytest.mark.parametrize("kernel", [lambda f: f, lambda f: 1.0 * Custom(f, whole=True)], ids="ab")
def test_a_function_of_all_rows_sees_all_of_them_in_fit_and_prediction(kernel, X):
    """Also those without weight, and also as a part of another kernel."""
    seen = []

    def centred(A, B):
        seen.append((len(A), len(B)))
        centre = B.mean(axis=0)
        return (A - centre) @ (B - centre).T

    y, weight = np.arange(len(X)) % 2, np.ones(len(X))
    weight[:3] = 0.0
    model = SVC(kernel=kernel(centred)).fit(X, y, weight)
    found = model.decision_function(X[:4])
    assert seen == [(len(X), len(X)), (4, len(X))]
    mean = X.mean(axis=0)
    plain = SVC(kernel="linear").fit(X - mean, y, weight)
    np.testing.assert_allclose(found, plain.decision_function(X[:4] - mean), atol=1e-2)
