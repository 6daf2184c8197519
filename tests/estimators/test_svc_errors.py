"""Errors: who, what was expected, what came. The texts are pinned here."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import SVC, SVR, NuSVR
from maxmargin.errors import ConvergenceWarning
from maxmargin.kernels import RBF, Linear

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
Y = np.array([0, 0, 1, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1.0}, "SVC: C must be a positive number, got -1.0."),
        ({"C": float("nan")}, "SVC: C must be a positive number, got nan."),
        ({"C": True}, "SVC: C must be a positive number, got True."),
        ({"C": "1"}, "SVC: C must be a positive number, got '1'."),
        ({"tol": 0}, "SVC: tol must be a positive finite number, got 0."),
        ({"degree": 1.5, "kernel": "poly"}, "SVC: degree must be a whole number of at least 0, "
         "got 1.5."),
        ({"gamma": "scales"}, "SVC: gamma must be 'scale', 'auto' or a number of at least 0, "
         "got 'scales'."),
        ({"kernel": "gauss"}, "SVC: kernel must be one of 'linear', 'poly', 'rbf', 'sigmoid', "
         "'laplacian', 'precomputed', a Kernel or a callable, got 'gauss'."),
        ({"kernel": RBF(), "gamma": 2.0}, "SVC: gamma=2.0 has no effect beside the Kernel object "
         "RBF(); set it on the kernel."),
        ({"kernel": RBF(sigma=-1.0)}, "RBF: sigma must be a number above 0, got -1.0."),
        ({"max_iter": -2}, "SVC: max_iter must be -1 (the default limit) or a whole number of at "
         "least 0, got -2."),
        ({"max_time": 0}, "SVC: max_time must be None or a positive number of seconds, got 0."),
        ({"cache_size": 0}, "SVC: cache_size must be a positive finite number, got 0."),
        ({"solver": "liblinear"}, "SVC: solver must be one of 'smo', 'smo_steps', "
         "'smo_simplified', 'smo_random_pair', 'smo_platt', 'smo_pairs', 'coordinate_ascent' or a "
         "solver object, got 'liblinear'."),
        ({"decision_function_shape": "all"}, "SVC: decision_function_shape must be 'ovo' or 'ovr', "
         "got 'all'."),
        ({"class_weight": "even"}, "SVC: class_weight must be None, 'balanced' or a dict of "
         "finite class weights of at least 0, got 'even'."),
    ],
)  # fmt: skip
def test_parameter_is_named_with_its_range(parameters, message):
    with pytest.raises(ValueError) as error:
        SVC(**parameters).fit(X, Y)
    assert str(error.value) == message


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    spoiled = X.copy()
    spoiled[1, 0] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        SVC().fit(spoiled, Y)
    with pytest.raises(ValueError, match="Input X contains"):
        SVC().fit(sparse.csr_array(spoiled), Y)
    with pytest.raises(ValueError, match="Input X contains"):
        SVC().fit(X, Y).predict(spoiled)
    with pytest.raises(ValueError, match=r"Input y contains|Unknown label type"):
        SVC().fit(X, np.where(Y == 0, bad, 1.0))
    with pytest.raises(ValueError, match=r"sample_weight must be finite, got .* at index 2\."):
        SVC().fit(X, Y, [1, 1, bad, 1])
    gram = X @ X.T
    gram[0, 1] = gram[1, 0] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        SVC(kernel="precomputed").fit(gram, Y)
    with pytest.raises(ValueError, match="not finite"):
        SVC(kernel=lambda left, right: np.full((len(left), len(right)), bad)).fit(X, Y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1, -0.5, 1], "sample_weight must not be negative, got -0.5 at index 2."),
        ([0, 0, 0, 0], "Invalid input - all samples have zero or negative weights."),
        ([-1, -1, -1, -1], "Invalid input - all samples have zero or negative weights."),
        (
            [1, 1, 0, 0],
            "Invalid input - all samples with positive weights belong to the same class.",
        ),
        ([1, 1, 1], r"sample_weight and X have incompatible shapes: \(3,\) vs \(4, 2\)"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        SVC().fit(X, Y, weight)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="number of classes has to be greater than one; got 1"):
        SVC().fit(X, [1, 1, 1, 1])


def test_gram_matrix_must_be_square_and_symmetric():
    with pytest.raises(ValueError, match=r"must be a square matrix. Input is a 4x2 matrix"):
        SVC(kernel="precomputed").fit(X, Y)
    gram = X @ X.T
    gram[0, 2] += 0.1
    with pytest.raises(ValueError, match=r"not symmetric: entries differ by up to 0\.1"):
        SVC(kernel="precomputed").fit(gram, Y)
    with pytest.raises(TypeError, match="Sparse precomputed kernels are not supported"):
        SVC(kernel="precomputed").fit(sparse.csr_array(X @ X.T), Y)
    with pytest.raises(ValueError, match="X has 2 features, but SVC is expecting 4"):
        SVC(kernel="precomputed").fit(X @ X.T, Y).predict(X)


def _csr(data, indices, indptr, shape=(4, 2)):
    """A CSR matrix made without SciPy's own checks."""
    matrix = sparse.csr_array(shape)
    matrix.data = np.asarray(data, dtype=float)
    matrix.indices = np.asarray(indices, dtype=np.int32)
    matrix.indptr = np.asarray(indptr, dtype=np.int32)
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (_csr([1, 2, 3], [0, 1, 2], [0, 1, 2, 3, 3]), "index 2, outside 0..1"),
        (_csr([1, 2, 3], [0, -1, 1], [0, 1, 2, 3, 3]), "index -1, outside 0..1"),
        (_csr([1, 2, 3], [0, 1, 1], [0, 2, 1, 3, 3]), "does not rise"),
        (_csr([1, 2], [0, 1, 1], [0, 1, 2, 3, 3]), "2 values, 3 indices"),
        (_csr([1, 2, 3], [0, 1, 1], [0, 1, 2, 3, 9]), "ending at 9"),
    ],
)
def test_malformed_sparse_input_is_refused_in_fit_and_predict(matrix, message):
    with pytest.raises(ValueError, match=message):
        SVC().fit(matrix, Y)
    with pytest.raises(ValueError, match=message):
        SVC().fit(sparse.csr_array(X), Y).predict(matrix)


@pytest.mark.parametrize(
    ("scale", "options"),
    [
        (1e200, {"gamma": "scale"}),
        (1e200, {"kernel": "linear"}),
        (1e30, {"kernel": "poly", "degree": 12, "gamma": 1.0}),
    ],
)
def test_overflow_in_a_kernel_is_named(scale, options):
    with pytest.raises(ValueError, match="kernel overflow"):
        SVC(**options).fit(X * scale, Y)


def test_sparse_input_after_a_dense_fit_is_refused_in_scikit_learns_words():
    with pytest.raises(ValueError, match="cannot use sparse input in 'SVC' trained on dense data"):
        SVC().fit(X, Y).predict(sparse.csr_array(X))


def _spoiled(kind):
    matrix = getattr(sparse, f"{kind}_array")(X)
    if kind == "coo":
        matrix.coords[1][0] = 10**8
    elif kind == "lil":
        matrix.rows[0] = [10**8]
        matrix.data[0] = [1.0]
    else:
        matrix.indices[0] = -5
    return matrix


@pytest.mark.parametrize("kind", ["coo", "lil", "bsr", "csc"])
def test_malformed_indices_are_refused_in_every_format(kind):
    with pytest.raises(ValueError, match=r"the sparse matrix has index (100000000|-5), outside"):
        SVC().fit(_spoiled(kind), Y)
    with pytest.raises(ValueError, match=r"the sparse matrix has index (100000000|-5), outside"):
        SVC().fit(sparse.csr_array(X), Y).predict(_spoiled(kind))


def test_altered_sparse_attributes_are_refused():
    for name in ("dual_coef_", "support_vectors_"):
        model = SVC(kernel="linear").fit(sparse.csr_array(X), Y)
        getattr(model, name).indices[0] = 2**30
        with pytest.raises(ValueError, match=f"{name}: the sparse matrix has index 1073741824"):
            model.predict(sparse.csr_array(X))
        with pytest.raises(ValueError, match=f"{name}: the sparse matrix has index 1073741824"):
            model.coef_  # noqa: B018


# A fit that took too long says what may help.


def noise(n=3000):
    """Labels that have nothing to do with the rows, which no fit with a large C is done with."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 4)), rng.integers(0, 2, n)


def said_when_cut_short(model, rows, y):
    with pytest.warns(ConvergenceWarning, match="^Solver terminated early") as caught:
        model.fit(rows, y)
    return str(caught[0].message)


@pytest.mark.parametrize("limit", [{"max_time": 1e-9}, {"max_iter": 3}])
@pytest.mark.parametrize(
    ("model", "twin"),
    [
        (SVC(kernel="linear", C=1e9), "LinearSVC(loss='hinge')"),
        (SVC(kernel=Linear(), C=1e9), "LinearSVC(loss='hinge')"),
        (SVR(kernel="linear", C=1e9), "LinearSVR"),
        (SVC(C=1e9), None),
        (NuSVR(kernel="linear", C=1e9), None),
    ],
    ids=str,
)
def test_a_linear_kernel_that_takes_too_long_is_sent_to_its_twin(model, twin, limit):
    said = said_when_cut_short(model.set_params(**limit), *noise())
    advice = f"With a linear kernel, {twin} finds nearly the same model, on many rows in a fraction"
    assert (advice in said) == (twin is not None)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("factor", "is_scaled"), [(1.0, True), (1e4, False), (1e-4, False)])
def test_to_scale_the_features_is_said_only_where_they_are_not(factor, is_scaled, container):
    rows, y = noise()
    rows[:, 3] *= factor
    said = said_when_cut_short(SVC(C=1e9, gamma=1e-3, max_time=1e-9), container(rows), y)
    assert said.startswith("Solver terminated early (max_time=1e-09 s). Allow more time.")
    assert ("Scale the features." in said) != is_scaled


def test_a_matrix_has_no_features_to_scale():
    rows, y = noise()
    said = said_when_cut_short(SVC(kernel="precomputed", C=1e9, max_time=1e-9), rows @ rows.T, y)
    assert "Scale" not in said
