"""No number that is not finite comes in unnoticed, and none goes out."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from every_estimator import EVERY, EXPORTED, IGNORED, QUESTIONS, TAKE_SPARSE, data_for, made
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.utils.validation import has_fit_parameter

import maxmargin
from maxmargin import SVC, SVR, Lasso, LinearSVR, NuSVC, NuSVR, Perceptron
from maxmargin.errors import KernelError
from maxmargin.estimators import machines
from maxmargin.kernels import Custom

pytestmark = [pytest.mark.filterwarnings(rule) for rule in IGNORED]

BAD = [np.nan, np.inf, -np.inf]
SOURCE = Path(maxmargin.__file__).parent


def spoiled(values, place, bad):
    values = np.array(values, dtype=float)
    values[place] = bad
    return values


# What comes in.


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("title", EVERY)
def test_rows_to_learn_from_are_finite(title, bad):
    model = EVERY[title]()
    X, y = data_for(model)
    expected = r"^Input X contains (NaN|infinity) \(first at row 7, column 1\)"
    with pytest.raises(ValueError, match=expected):
        model.fit(spoiled(X, (7, 1), bad), y)
    if title in TAKE_SPARSE:
        for stored in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
            with pytest.raises(ValueError, match=expected):
                model.fit(stored(spoiled(X, (7, 1), bad)), y)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("title", EVERY)
def test_rows_to_answer_for_are_finite(title, bad):
    model = EVERY[title]()
    X, y = data_for(model)
    model.fit(X, y)
    for question in (name for name in QUESTIONS if hasattr(model, name)):
        with pytest.raises(ValueError, match=r"^Input X contains .* \(first at row 7, column 1\)"):
            getattr(model, question)(spoiled(X, (7, 1), bad))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("title", [t for t, make in EVERY.items() if hasattr(make(), "score")])
def test_targets_are_finite(title, bad):
    model = EVERY[title]()
    X, y = data_for(model)
    with pytest.raises(ValueError, match=r"^Input y contains (NaN|infinity) \(first at index 9\)"):
        model.fit(X, spoiled(y, 9, bad))


@pytest.mark.parametrize("title", EVERY)
def test_missing_values_of_pandas_are_refused_with_their_place(title):
    """Of which float() and bool() both fail, so that no comparison finds them."""
    model = EVERY[title]()
    X, y = data_for(model)
    frame = pd.DataFrame(X).astype("Float64")
    frame.iloc[7, 1] = pd.NA
    for rows in (frame, frame.to_numpy(dtype=object)):
        with pytest.raises(ValueError, match=r"^Input X contains NaN \(first at row 7, column 1\)"):
            model.fit(rows, y)


@pytest.mark.parametrize("title", EVERY)
def test_in_a_data_frame_the_column_is_named_too(title):
    model = EVERY[title]()
    X, y = data_for(model)
    names = [f"feature {k}" for k in range(X.shape[1])]
    names[1] = "annual income"
    frame = pd.DataFrame(X, columns=names)
    place = r"\(first at row 7, column 1, named 'annual income'\)"
    for bad, kind in ((np.nan, "NaN"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=f"^Input X contains {kind} {place}"):
            model.fit(pd.DataFrame(spoiled(X, (7, 1), bad), columns=names), y)
    model.fit(frame, y)
    frame.iloc[7, 1] = np.nan
    for question in (name for name in QUESTIONS if hasattr(model, name)):
        with pytest.raises(ValueError, match=f"^Input X contains NaN {place}"):
            getattr(model, question)(frame)


@pytest.mark.parametrize("kind", ["string", "object", "category"])
@pytest.mark.parametrize("title", [t for t, make in EVERY.items() if hasattr(make(), "score")])
def test_labels_that_are_missing_are_refused_with_their_place(title, kind):
    model = EVERY[title]()
    X, y = data_for(model)
    labels = pd.Series([str(label) for label in y], dtype=kind).mask(np.arange(len(y)) == 9)
    with pytest.raises(ValueError, match=r"^Input y contains NaN \(first at index 9\)"):
        model.fit(X, labels)


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("cls", [SVC, NuSVC, SVR, NuSVR, maxmargin.KernelRidge])
def test_targets_beside_a_function_as_kernel_are_finite(cls, bad):
    X, y = data_for(cls())
    with pytest.raises(ValueError, match="Input y contains"):
        cls(kernel=lambda left, right: left @ right.T).fit(X, spoiled(y, 9, bad))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    "title", [t for t, make in EVERY.items() if has_fit_parameter(make(), "sample_weight")]
)
def test_weights_are_finite(title, bad):
    model = EVERY[title]()
    X, y = data_for(model)
    with pytest.raises(ValueError, match=r"sample_weight must be finite, got .* at index 5\."):
        model.fit(X, y, sample_weight=spoiled(np.ones(len(y)), 5, bad))


@pytest.mark.parametrize(
    "title", [t for t, make in EVERY.items() if has_fit_parameter(make(), "sample_weight")]
)
def test_weights_that_pandas_calls_missing_are_refused_with_their_place(title):
    model = EVERY[title]()
    X, y = data_for(model)
    weights = pd.Series(np.ones(len(y)), dtype="Float64")
    weights.iloc[5] = pd.NA
    for given in (weights, weights.astype(object), weights.to_numpy(dtype=object), list(weights)):
        with pytest.raises(ValueError, match=r"sample_weight must be finite, got .* at index 5\."):
            model.fit(X, y, sample_weight=given)
    with pytest.raises(ValueError, match=r"sample_weight must be finite, got .* at index 0\."):
        model.fit(X, y, sample_weight=pd.NA)


TAKE_A_MATRIX = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "KernelRidge"]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", TAKE_A_MATRIX)
def test_a_precomputed_matrix_is_finite(name, bad):
    model = made(name, kernel="precomputed")
    X, y = data_for(model)
    K = X @ X.T
    with pytest.raises(ValueError, match=r"^Input X contains .* \(first at row 3, column 4\)"):
        model.fit(spoiled(K, (3, 4), bad), y)
    model.fit(K, y)
    with pytest.raises(ValueError, match=r"^Input X contains .* \(first at row 3, column 4\)"):
        model.predict(spoiled(K, (3, 4), bad))


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("name", [*TAKE_A_MATRIX, "Nystroem", "Perceptron"])
def test_what_a_function_returns_is_finite(name, wrapped, bad):
    if name == "Perceptron" and not wrapped:
        pytest.skip("takes Kernel objects only")

    def kernel(left, right):
        K = np.exp(-((np.asarray(left)[:, None] - np.asarray(right)) ** 2).sum(axis=2))
        if poisoned and K.shape[0] > 3 and K.shape[1] > 4:
            K[3, 4] = bad
        return K

    model = made(name, kernel=Custom(kernel) if wrapped else kernel)
    X, y = data_for(model, n=30)
    poisoned = True
    with pytest.raises(KernelError, match=r"at row 3, column 4.* is not finite"):
        model.fit(X, y)
    poisoned = False
    model.fit(X, y)
    poisoned = True
    with pytest.raises(KernelError, match=r"at row 3, column 4.* is not finite"):
        (model.transform if name == "Nystroem" else model.predict)(X)


# What goes out: overflow is an error, never a NaN.


def check_finite(model, X):
    for name, value in vars(model).items():
        values = value.data if sparse.issparse(value) else value
        if isinstance(values, (float, np.ndarray)) and np.asarray(values).dtype.kind == "f":
            assert np.all(np.isfinite(values)), name
    for question in (name for name in QUESTIONS if hasattr(model, name)):
        found = getattr(model, question)(X)
        values = found.data if sparse.issparse(found) else found
        assert values.dtype.kind != "f" or np.all(np.isfinite(values)), question


@pytest.fixture
def few_steps(monkeypatch):
    """The default limit, made small: numbers of this size may take a machine there."""
    monkeypatch.setattr(machines, "DEFAULT_MAX_ITER", 2000)


def finite_or_refused(ask):
    """Call it; whether it was refused, in words that say what overflowed."""
    try:
        ask()
    except ValueError as error:
        if not re.search(r"overflow|diverged", str(error)):
            raise
        return True
    return False


def fit_and_ask(model, X, y):
    check_finite(model.fit(X, y), X)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("title", TAKE_SPARSE)
def test_rows_whose_squares_overflow(title, container, few_steps):
    X, y = data_for(EVERY[title]())
    refused = finite_or_refused(lambda: fit_and_ask(EVERY[title](), container(X * 1e200), y))
    assert refused or title == "KernelMap()"  # the linear map: the rows as they are
    finite_or_refused(lambda: fit_and_ask(EVERY[title](), container(X * 1e120), y))


@pytest.mark.parametrize("title", EVERY)
def test_large_numbers_in_single_precision(title, few_steps):
    X, y = data_for(EVERY[title]())
    finite_or_refused(lambda: fit_and_ask(EVERY[title](), (X * 1e25).astype(np.float32), y))


@pytest.mark.parametrize("title", EVERY)
def test_rows_to_answer_for_may_be_too_large(title):
    model = EVERY[title]()
    X, y = data_for(model)
    model.fit(X, y)
    for size in (1e160, 1e300):
        finite_or_refused(lambda rows=X * size: check_finite(model, rows))


@pytest.mark.parametrize("size", [1e160, 1e300])
@pytest.mark.parametrize("title", [t for t, make in EVERY.items() if is_regressor(make())])
def test_targets_whose_squares_overflow(title, size):
    model = EVERY[title]()
    X, y = data_for(model)
    with pytest.raises(ValueError, match="products of y overflow"):
        model.fit(X, y * size)


@pytest.mark.parametrize(
    "name", [name for name in EXPORTED if {"kernel", "degree"} <= made(name).get_params().keys()]
)
def test_a_polynomial_of_high_degree(name):
    model = made(name, kernel="poly", degree=12, gamma=1.0)
    X, y = data_for(model)
    with pytest.raises(ValueError, match=r"kernel overflow: Polynomial\(.*degree=12\)"):
        model.fit(X * 1e30, y)


# No compiled loop may assume that NaN does not occur.


def test_no_compiled_code_may_assume_that_numbers_are_finite():
    from maxmargin.compiled import jit

    assert not {"fast", "nnan", "ninf"} & (jit.FLOAT_FREEDOM | jit.ORDERED)
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "jit.py":
            assert "fastmath" not in text, path
            assert "njit" not in text, path
    # The one exception is a maximum that no test of finiteness depends on.
    text = Path(jit.__file__).read_text(encoding="utf-8")
    assert text.count("fastmath") == 2
    assert "fastmath=freedom" in text
    given = re.findall(r"return .*_compiled\(\w+, \S+, (\w+)\)", text)
    assert set(given) == {"FLOAT_FREEDOM", "ORDERED"}
    assert 'builder.call(function, arguments, fastmath=("fast",))' in text


def test_compiled_code_sees_what_is_not_finite():
    from maxmargin.compiled.numba_setup import compiled

    @compiled
    def seen(x):
        return np.isnan(x), np.isinf(x), np.isfinite(x), x != x

    assert seen(np.nan) == (True, False, False, True)
    assert seen(np.inf) == (False, True, False, False)
    assert seen(1.0) == (False, False, True, False)


def test_guards_are_in_numpy_and_not_in_compiled_code():
    """So that each of them is one of those tested here."""
    for path in (SOURCE / "compiled").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"isnan|isfinite|isinf", text), path


# Data without variation, and numbers at the edge of what floats can hold.


@pytest.mark.parametrize("value", [0.0, 3.0, 5e-324, 1e-310, 1e-160])
@pytest.mark.parametrize("title", EVERY)
def test_constant_and_subnormal_features_are_fitted(title, value):
    model = EVERY[title]()
    X, y = data_for(model, n=30)
    constant = np.full_like(X, value)
    check_finite(model.fit(constant, y), constant)
    one = X.copy()
    one[:, 1] = value
    check_finite(EVERY[title]().fit(one, y), one)


@pytest.mark.parametrize("gamma", [0, 0.0, 5e-324, 1e-300, 1e300, 1e308])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize(
    "name", [name for name in EXPORTED if {"kernel", "gamma"} <= made(name).get_params().keys()]
)
def test_any_width_of_a_kernel_is_fitted(name, kernel, gamma):
    model = made(name, kernel=kernel, gamma=gamma)
    X, y = data_for(model, n=30)
    refused = finite_or_refused(lambda: fit_and_ask(model, X, y))
    assert not refused or (name, gamma) == ("RandomFourierFeatures", 1e308)  # its frequencies do


# Parameters.


class Odd:
    """Of no type that any parameter takes."""

    def __repr__(self):
        return "Odd()"


# What is accepted beside the usual kind, on purpose.
MAY_BE_NEGATIVE = {"coef0", "verbose"}
MAY_BE_INFINITE = {("SVC", "C"), ("SVR", "C"), ("NuSVR", "C"), *((n, "max_time") for n in EXPORTED)}
MAY_BE_NONE = {(n, p) for n in ("KernelRidge", "Nystroem") for p in ("degree", "coef0")}
MAY_BE_A_FLAG = {"verbose", "trace"}
MAY_BE_A_LEVEL = {"verbose", "trace"}


def meaningless(name, parameter, default):
    yield from (Odd(), "no such value", float("nan"), [1, Odd()])
    is_flag = isinstance(default, bool)
    if isinstance(default, (int, float)) and not is_flag:
        if parameter not in MAY_BE_A_FLAG:
            yield True
        if parameter not in MAY_BE_NEGATIVE:
            yield -7
        if (name, parameter) not in MAY_BE_INFINITE:
            yield float("inf")
        if (name, parameter) not in MAY_BE_NONE:
            yield None
    if is_flag and parameter not in MAY_BE_A_LEVEL:
        yield from (2, None)


PARAMETERS = [
    (name, parameter, default)
    for name in EXPORTED
    for parameter, default in made(name).get_params().items()
]


@pytest.mark.parametrize(("name", "parameter", "default"), PARAMETERS)
def test_a_parameter_without_meaning_is_named_with_its_value_and_range(name, parameter, default):
    model = made(name)
    X, y = data_for(model, n=20)
    for value in meaningless(name, parameter, default):
        with pytest.raises(ValueError) as error:
            made(name, **{parameter: value}).fit(X, y)
        assert re.match(rf"{name}: {parameter} must be .+, got ", str(error.value))
        assert str(error.value).endswith(f"got {value!r}.")


@pytest.mark.parametrize(("name", "parameter", "default"), PARAMETERS)
def test_numbers_of_numpy_are_numbers(name, parameter, default):
    kinds = {float: (np.float64, np.float32), int: (np.int64, np.int8), bool: (np.bool_,)}
    X, y = data_for(made(name), n=20)
    for kind in kinds.get(type(default), ()):
        if kind is np.int8 and abs(default) > 127:
            continue
        check_finite(made(name, **{parameter: kind(default)}).fit(X, y), X)


# Targets that ask for nothing.


@pytest.mark.parametrize("n", [1, 2, 30])
@pytest.mark.parametrize("model", [SVR(), NuSVR(), LinearSVR(), LinearSVR(epsilon=10.0)], ids=str)
def test_a_constant_target_is_predicted(model, n):
    X = np.random.default_rng(0).standard_normal((n, 2))
    model.set_params(C=1e3).fit(X, np.full(n, 3.0))
    tube = model.get_params().get("epsilon", 0.0)
    np.testing.assert_allclose(model.predict(X), 3.0, rtol=0, atol=tube + 1e-2)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_tube_wider_than_the_data_needs_no_support_vectors(container):
    X, y = data_for(SVR())
    X = container(X)
    model = SVR(epsilon=100.0).fit(X, y)
    assert model.support_vectors_.shape == (0, 2)
    assert model.dual_coef_.shape == (1, 0)
    assert len(np.unique(model.predict(X))) == 1
    assert np.abs(model.predict(X) - y).max() <= 100.0


# Types and layouts of arrays.


@pytest.mark.parametrize("title", EVERY)
def test_other_types_and_layouts_are_equal_to_float64_or_refused(title):
    X, y = data_for(EVERY[title]())
    X = (X * 8).round() / 8  # exact in half precision
    expected = EVERY[title]().fit(X, y)
    question = next(name for name in QUESTIONS if hasattr(expected, name))
    expected = np.asarray(_dense(getattr(expected, question)(X)))
    for other in (
        X.astype(np.float16), X.astype(np.longdouble), X.astype(">f8"), X.astype(object),
        np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist(),
    ):  # fmt: skip
        found = _dense(getattr(EVERY[title]().fit(other, y), question)(X))
        np.testing.assert_array_equal(np.asarray(found), expected)
    for refused in (X + 1j, X[:0], X[:, :0]):
        with pytest.raises(ValueError, match=r"[Cc]omplex|minimum of|0 (sample|feature)"):
            EVERY[title]().fit(refused, y[: len(refused)])


def _dense(found):
    return found.toarray() if sparse.issparse(found) else found


def test_a_lasso_of_huge_features_is_no_silent_zero():
    X, y = data_for(Lasso())
    for container in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match="Lasso: products of X overflow"):
            Lasso(alpha=0.1).fit(container(X * 1e200), y)


def test_a_perceptron_stops_at_a_kernel_that_overflows():
    X, y = data_for(Perceptron())
    with pytest.raises(KernelError, match="kernel overflow"):
        Perceptron(kernel="poly", degree=300, gamma=1.0).fit(X * 1e30, y)
