"""The algebra of kernels, as equations between matrices on random data."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV

from maxmargin import SVC
from maxmargin.errors import KernelError
from maxmargin.kernels import (
    RBF,
    Custom,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)


def some_points(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 3)) * (rng.random((25, 3)) < 0.7)
    X[4] = 0.0
    return X, rng.standard_normal((15, 3))


def decay(X):
    return 1 / (1 + np.asarray(abs(X).sum(axis=1)).ravel())


def title(kernel):
    """A name for a test: the repr without the addresses of functions."""
    return re.sub(r"<function (\w+) at \w+>", r"\1", str(kernel))


def assert_close(actual, expected, share=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * np.abs(expected).max())


# A kernel beside the same formula written out in NumPy, so that any expression can be checked.

LEAVES = [
    (Linear(), lambda X, Z: X @ Z.T),
    (Polynomial(2, 0.5, 1.0), lambda X, Z: (0.5 * X @ Z.T + 1) ** 2),
    (RBF(0.3), lambda X, Z: np.exp(-0.3 * cdist(X, Z, "sqeuclidean"))),
    (Laplacian(0.3), lambda X, Z: np.exp(-0.3 * cdist(X, Z, "cityblock"))),
    (Sigmoid(0.1, 0.2), lambda X, Z: np.tanh(0.1 * X @ Z.T + 0.2)),
]


def _scaled(part, factor):
    kernel, plain = part
    return factor * kernel, lambda X, Z: factor * plain(X, Z)


def _sum(left, right):
    return left[0] + right[0], lambda X, Z: left[1](X, Z) + right[1](X, Z)


def _product(left, right):
    return left[0] * right[0], lambda X, Z: left[1](X, Z) * right[1](X, Z)


def _power(part, degree):
    return part[0] ** degree, lambda X, Z: part[1](X, Z) ** degree


def _exp(part):
    """Of a kernel brought to length one: others may be too large."""
    kernel, plain = _normalised(part)
    return kernel.exp(), lambda X, Z: np.exp(plain(X, Z))


def _conformal(part):
    kernel, plain = part
    return kernel.conformal(decay), lambda X, Z: decay(X)[:, None] * plain(X, Z) * decay(Z)


def _normalised(part):
    def plain(X, Z):
        def length(points):
            squares = np.diagonal(part[1](points, points))
            return np.where(squares > 0, np.sqrt(squares), 1.0)

        return part[1](X, Z) / length(X)[:, None] / length(Z)

    return part[0].normalised(), plain


def _composed(parts):
    return st.one_of(
        st.builds(_scaled, parts, st.floats(0.1, 3.0)),
        st.builds(_sum, parts, parts),
        st.builds(_product, parts, parts),
        st.builds(_power, parts, st.integers(1, 3)),
        st.builds(_exp, parts),
        st.builds(_conformal, parts),
        st.builds(_normalised, parts),
    )


expressions = st.recursive(st.sampled_from(LEAVES), _composed, max_leaves=4)
checked = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@checked
@given(expressions, st.integers(0, 5))
def test_any_expression_is_its_formula(expression, seed):
    kernel, plain = expression
    X, Z = some_points(seed)
    assert_close(kernel(X, Z), plain(X, Z), share=1e-11)
    assert_close(kernel.diagonal(X), np.diagonal(plain(X, X)), share=1e-11)


@checked
@given(expressions, st.integers(0, 5))
def test_any_expression_is_symmetric_and_the_same_on_sparse_rows(expression, seed):
    kernel, _ = expression
    X, Z = some_points(seed)
    np.testing.assert_array_equal(kernel(X), kernel(X).T)
    assert_close(kernel(sparse.csr_array(X), sparse.csr_array(Z)), kernel(X, Z), share=1e-11)


@checked
@given(expressions, st.integers(0, 5))
def test_any_expression_called_semidefinite_is(expression, seed):
    kernel, _ = expression
    X, _ = some_points(seed)
    eigenvalues = np.linalg.eigvalsh(kernel(X))
    assert not kernel.positive_semidefinite or eigenvalues[0] >= -1e-12 * eigenvalues[-1]


# The equations one by one.


@pytest.mark.parametrize("factor", [2, 0.5, np.float64(2), np.float32(0.5), np.int64(3)])
def test_multiple(factor):
    X, Z = some_points()
    for kernel in (factor * RBF(), RBF() * factor):
        assert isinstance(kernel, Kernel)
        np.testing.assert_array_equal(kernel(X, Z), float(factor) * RBF()(X, Z))


def test_sum_and_product_commute_and_distribute():
    X, Z = some_points()
    a, b, c = RBF(0.2), Linear(), Polynomial(2, coef0=1.0)
    np.testing.assert_array_equal((a + b)(X, Z), (b + a)(X, Z))
    np.testing.assert_array_equal((a * b)(X, Z), (b * a)(X, Z))
    assert_close((a * (b + c))(X, Z), (a * b + a * c)(X, Z))


def test_power_is_the_repeated_product():
    X, Z = some_points()
    kernel = RBF(0.2) + Linear()
    assert_close((kernel**3)(X, Z), (kernel * kernel * kernel)(X, Z))
    np.testing.assert_array_equal((kernel**1)(X, Z), kernel(X, Z))


def test_exp_is_its_series():
    X, Z = some_points()
    kernel = RBF(0.2) + 0.1 * Linear()
    terms = [np.ones((len(X), len(Z)))]
    for degree in range(1, 30):
        terms.append(terms[-1] * kernel(X, Z) / degree)
    assert_close(kernel.exp()(X, Z), sum(terms))


@pytest.mark.parametrize("gamma", [0.01, 0.5, 2.0])
def test_the_gaussian_is_the_normalised_exp_of_the_dot_product(gamma):
    X, Z = some_points()
    kernel = (2 * gamma * Linear()).exp().normalised()
    assert_close(kernel(X, Z), RBF(gamma)(X, Z))
    assert_close(kernel.diagonal(X), np.ones(len(X)))


def test_a_normalised_exp_does_not_overflow():
    X, Z = some_points()
    X, Z = 100 * X, 100 * Z
    kernel = (2 * 0.5 * Linear()).exp().normalised()
    np.testing.assert_allclose(kernel(X, Z), RBF(0.5)(X, Z), rtol=1e-9, atol=1e-300)
    np.testing.assert_array_equal(kernel.diagonal(X), np.ones(len(X)))


def test_an_exp_that_overflows_is_refused_in_words(binary):
    X, y = binary
    with pytest.raises(KernelError, match="overflow"):
        SVC(kernel=(1000 * Linear()).exp()).fit(100 * X, y)


def test_precedence_is_that_of_python():
    X, _ = some_points()
    assert_close((2 * RBF() ** 2 + Linear())(X), 2 * RBF()(X) ** 2 + Linear()(X))


def test_normalised_has_ones_on_the_diagonal_and_cosines_beside_it():
    X, _ = some_points()
    zero = ~X.any(axis=1)
    K = Linear().normalised()(X)
    np.testing.assert_allclose(np.diagonal(K)[~zero], 1.0, rtol=1e-15)
    np.testing.assert_allclose(Linear().normalised().diagonal(X)[~zero], 1.0, rtol=1e-15)
    assert np.abs(K).max() <= 1 + 1e-15
    assert zero.any()
    assert not K[zero].any()
    assert not K[:, zero].any()


def test_normalising_removes_scale_and_conformal_factor():
    X, Z = some_points()
    kernel = Polynomial(2, coef0=1.0)
    for other in (5.0 * kernel, kernel.conformal(decay), kernel.normalised()):
        assert_close(other.normalised()(X, Z), kernel.normalised()(X, Z))


def test_normalised_refuses_a_negative_diagonal():
    with pytest.raises(KernelError, match=r"Normalised: Sigmoid\(.*\) is negative on the diagonal"):
        Sigmoid(gamma=0.1, coef0=-5.0).normalised()(some_points()[0])


def test_conformal_refuses_a_factor_of_the_wrong_shape():
    kernel = RBF().conformal(lambda X: X)
    message = (
        "Conformal: factor must return one number per row (25), got an array of shape (25, 3)."
    )
    with pytest.raises(KernelError) as refusal:
        kernel(some_points()[0])
    assert str(refusal.value) == message


def test_points_that_cannot_be_compared_are_refused_in_words():
    X, _ = some_points()
    with pytest.raises(ValueError, match=r"RBF: points are rows of a table, got .* \(3,\)"):
        RBF()([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"Sum: both sets must have as many features, got"):
        (RBF() + Linear())(X, X[:, :2])


NOT_BOTH = (
    "a precomputed matrix cannot be combined with a kernel of features: X is either the one or the "
    "other."
)

NO_POINTS = (
    "a precomputed matrix allows only multiples, sums, products, powers and exp; this needs "
    "the points themselves."
)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (-1.0 * RBF(), "Scaled: factor must be a number above 0, got -1.0."),
        (0 * RBF(), "Scaled: factor must be a number above 0, got 0."),
        (np.inf * RBF(), "Scaled: factor must be a number above 0, got inf."),
        (np.nan * RBF(), "Scaled: factor must be a number above 0, got nan."),
        (RBF() ** 0.5, "Power: degree must be a whole number of at least 1, got 0.5."),
        (RBF() ** 2.0, "Power: degree must be a whole number of at least 1, got 2.0."),
        (RBF() ** 0, "Power: degree must be a whole number of at least 1, got 0."),
        (RBF() ** -1, "Power: degree must be a whole number of at least 1, got -1."),
        (RBF() ** True, "Power: degree must be a whole number of at least 1, got True."),
        ((Linear() + -2 * RBF()) ** 2, "Scaled: factor must be a number above 0, got -2."),
        (RBF(-1.0).normalised(), "RBF: gamma must be a number of at least 0, got -1.0."),
        (RBF(-1.0).conformal(decay), "RBF: gamma must be a number of at least 0, got -1.0."),
        (Precomputed() + 2 * RBF(), f"Sum: {NOT_BOTH}"),
        (RBF() * (0.5 * Precomputed()), f"Product: {NOT_BOTH}"),
        (Precomputed() * Custom(np.inner), f"Product: {NOT_BOTH}"),
        (Precomputed().conformal(decay), f"Conformal: {NO_POINTS}"),
        ((2 * Precomputed()).normalised(), f"Normalised: {NO_POINTS}"),
    ],
    ids=title,
)
def test_what_would_not_be_a_kernel_is_refused(kernel, message):
    X, _ = some_points()
    for call in (kernel, kernel.diagonal):
        with pytest.raises(ValueError) as refusal:
            call(X)
        assert str(refusal.value) == message


@pytest.mark.parametrize("operation", ["kernel + 1", "1 + kernel", "kernel - kernel", "-kernel",
                                       "True * kernel", "'2' * kernel", "kernel / 2"])  # fmt: skip
def test_operations_outside_the_algebra_are_type_errors(operation):
    with pytest.raises(TypeError):
        eval(operation, {"kernel": RBF()})


@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        (RBF() + Linear(), True),
        (RBF() + Sigmoid(), None),
        (RBF() * Polynomial(coef0=-1.0), None),
        (2 * Sigmoid(), False),
        (Sigmoid() ** 2, None),
        (RBF() ** 3, True),
        (RBF().exp(), True),
        (Sigmoid().exp(), None),
        (Sigmoid().normalised(), False),
        (RBF().conformal(decay), True),
        (Custom(np.inner, positive_semidefinite=True) + RBF(), True),
        (Custom(np.inner) * 2, None),
        (Precomputed() + Precomputed(), None),
    ],
    ids=title,
)
def test_semidefiniteness_is_claimed_only_where_known(kernel, known):
    assert kernel.positive_semidefinite is known


@pytest.mark.parametrize(
    ("kernel", "takes"),
    [
        (RBF() + Linear(), "features"),
        (2 * Precomputed(), "gram"),
        (Custom(np.inner) ** 2, "anything"),
        (Custom(np.inner) + RBF(), "features"),
    ],
    ids=title,
)
def test_composed_kernel_takes_what_its_parts_take(kernel, takes):
    assert kernel.takes == takes


# Parameters of the parts.


def test_parameter_of_a_part_is_set_by_its_nested_name():
    X, _ = some_points()
    kernel = 0.5 * RBF(0.1) + Linear() * Polynomial(2)
    kernel.set_params(left__factor=2.0, left__kernel__gamma=0.7, right__right__degree=3)
    np.testing.assert_array_equal(kernel(X), (2.0 * RBF(0.7) + Linear() * Polynomial(3))(X))
    kernel.set_params(right=RBF())
    np.testing.assert_array_equal(kernel(X), (2.0 * RBF(0.7) + RBF())(X))
    with pytest.raises(ValueError, match="Invalid parameter"):
        kernel.set_params(left__gamma=1.0)


def test_resolving_reaches_every_part_and_leaves_the_kernel_as_it_was():
    X, _ = some_points()
    kernel = 2 * RBF("scale") + (Linear() * Laplacian("auto")).normalised()
    resolved = kernel.resolve(X)
    gammas = {name: v for name, v in resolved.get_params().items() if name.endswith("gamma")}
    scale = 1 / (3 * X.var())
    assert gammas == pytest.approx(
        {"left__kernel__gamma": scale, "right__kernel__right__gamma": 1 / 3}
    )
    assert kernel.left.kernel.gamma == "scale"
    resolved.check()


def test_grid_search_over_the_parameter_of_a_part(binary):
    X, y = binary
    grid = {"kernel__left__gamma": [1e-6, 1.0], "kernel__right__factor": [1e-9]}
    search = GridSearchCV(SVC(kernel=RBF() + 1.0 * Linear()), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__left__gamma": 1.0, "kernel__right__factor": 1e-9}
    assert search.best_estimator_.kernel_.left.gamma == 1.0
