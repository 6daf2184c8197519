"""What every kernel that is exported keeps to, by itself and composed."""

import re

import numpy as np
import pytest
from kernel_functions import Decay, Dots
from scipy import sparse
from sklearn.base import clone

from maxmargin import kernels
from maxmargin.kernels import (
    RBF,
    Conformal,
    Custom,
    Exp,
    Kernel,
    Laplacian,
    Linear,
    Normalised,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)

INSTANCES = {
    Linear: [Linear()],
    Polynomial: [Polynomial(), Polynomial(2, 0.5, 1.0), Polynomial(3, 0.3, -1.0), Polynomial(0)],
    Sigmoid: [Sigmoid(0.2, -0.5)],
    RBF: [RBF(0.3), RBF(sigma=0.7), RBF(gamma=0.0)],
    Laplacian: [Laplacian(0.4)],
    Custom: [Custom(Dots()), Custom(Dots(), positive_semidefinite=True)],
    Precomputed: [Precomputed()],
    Sum: [RBF(0.2) + Linear(), RBF(0.2) + (Sigmoid(0.1) + Custom(Dots()))],
    Product: [RBF(0.2) * Polynomial(2, coef0=1.0), Linear() * (RBF() + Laplacian())],
    Scaled: [0.5 * RBF(0.2), 3 * (2.0 * Precomputed())],
    Power: [RBF(0.2) ** 3, (Linear() + RBF()) ** 2],
    Exp: [Linear().exp(), (0.1 * Precomputed()).exp(), Exp(RBF(0.2) + Sigmoid(0.1))],
    Conformal: [RBF(0.2).conformal(Decay()), Conformal(Linear() + RBF(), Decay(0.1))],
    Normalised: [Linear().normalised(), Normalised(Polynomial(2, coef0=1.0) * RBF(0.1))],
}
KERNELS = [kernel for instances in INSTANCES.values() for kernel in instances]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def exported_classes():
    members = [getattr(kernels, name) for name in kernels.__all__]
    classes = {m for m in members if isinstance(m, type) and issubclass(m, Kernel)}
    return classes - {Kernel}


def some_points():
    """Forty points, half of the entries zero, one row zero and one row twice."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 4)) * (rng.random((40, 4)) < 0.5)
    X[5] = 0.0
    X[6] = X[7]
    return X


def two_sets(kernel):
    """Rows as `kernel` takes them: 40 and 15 of them, or the Gram matrix twice."""
    X = some_points()
    if kernel.takes == "gram":
        gram = RBF(0.3)(X)
        return gram, gram
    return X, X[10:25] + 0.25


def assert_close(actual, expected, share=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=share * np.abs(expected).max())


def plain_params(kernel):
    return {n: v for n, v in kernel.get_params().items() if not isinstance(v, Kernel)}


def test_every_exported_kernel_has_instances_here():
    assert set(INSTANCES) == exported_classes()
    for kind, instances in INSTANCES.items():
        assert [type(kernel) for kernel in instances] == [kind] * len(instances)
        assert instances


def concrete(kind):
    """The classes at the ends of the family tree."""
    children = kind.__subclasses__()
    return {kind} if not children else {leaf for child in children for leaf in concrete(child)}


def test_every_kernel_of_the_package_is_exported():
    of_the_package = {k for k in concrete(Kernel) if k.__module__.startswith("maxmargin.")}
    assert of_the_package == exported_classes()


@every_kernel
def test_gram_matrix_is_exactly_symmetric(kernel):
    X, _ = two_sets(kernel)
    K = kernel(X)
    assert K.shape == (40, 40)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, K.T)


@every_kernel
def test_gram_matrix_has_no_negative_eigenvalue_where_that_is_declared(kernel):
    eigenvalues = np.linalg.eigvalsh(kernel(two_sets(kernel)[0]))
    assert kernel.positive_semidefinite in (True, False, None)
    if kernel.positive_semidefinite:
        assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


@every_kernel
def test_arguments_may_change_places(kernel):
    X, Z = two_sets(kernel)
    assert_close(kernel(X, Z).T, kernel(Z, X))


@every_kernel
def test_gram_matrix_is_the_matrix_between_a_set_and_itself(kernel):
    X, _ = two_sets(kernel)
    assert_close(kernel(X), kernel(X, X.copy()))


@every_kernel
def test_diagonal_is_that_of_the_gram_matrix(kernel):
    X, _ = two_sets(kernel)
    diagonal = kernel.diagonal(X)
    assert diagonal.shape == (40,)
    assert_close(diagonal, np.diagonal(kernel(X)))


@every_kernel
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil"])
def test_sparse_is_dense(kernel, layout, kind):
    X, Z = two_sets(kernel)
    stored = getattr(sparse, f"{layout}_{kind}")
    assert_close(kernel(stored(X)), kernel(X))
    assert_close(kernel(stored(X), stored(Z)), kernel(X, Z))
    assert_close(kernel(stored(X), Z), kernel(X, Z))
    assert_close(kernel(X, stored(Z)), kernel(X, Z))
    assert_close(kernel.diagonal(stored(X)), kernel.diagonal(X))


@every_kernel
@pytest.mark.parametrize("size", [1, 7, 20])
def test_any_split_gives_the_same_matrix(kernel, size):
    X, Z = two_sets(kernel)
    K = kernel(X, Z)
    assert_close(np.vstack([kernel(X[i : i + size], Z) for i in range(0, 40, size)]), K)
    if kernel.takes != "gram":  # whose columns are numbered from the first training point on
        assert_close(np.hstack([kernel(X, Z[j : j + size]) for j in range(0, 15, size)]), K)
        pieces = [kernel.diagonal(X[i : i + size]) for i in range(0, 40, size)]
        assert_close(np.concatenate(pieces), kernel.diagonal(X))


@every_kernel
def test_float32_points_lose_no_digit(kernel):
    X, Z = (rows.astype(np.float32) for rows in two_sets(kernel))
    K = kernel(X, Z)
    assert K.dtype == np.float64
    assert_close(K, kernel(X.astype(np.float64), Z.astype(np.float64)))
    assert_close(kernel(sparse.csr_array(X), sparse.csr_array(Z)), K)
    assert_close(K, kernel(*two_sets(kernel)), share=1e-5)


@every_kernel
def test_order_of_memory_does_not_matter(kernel):
    X, Z = two_sets(kernel)
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    assert_close(kernel(np.asfortranarray(X), Z), kernel(X, Z))
    assert_close(kernel(strided, Z), kernel(X, Z))


@every_kernel
@pytest.mark.parametrize("stored", [np.array, sparse.csr_array, sparse.lil_matrix])
def test_points_are_left_as_they_were(kernel, stored):
    X, Z = (stored(rows) for rows in two_sets(kernel))
    kernel(X)
    kernel(X, Z)
    kernel.diagonal(X)
    as_array = np.asarray if stored is np.array else stored.toarray
    np.testing.assert_array_equal(as_array(X), two_sets(kernel)[0])
    np.testing.assert_array_equal(as_array(Z), two_sets(kernel)[1])


@every_kernel
def test_clone_has_the_parameters_and_none_of_the_parts(kernel):
    copy = clone(kernel)
    assert type(copy) is type(kernel)
    assert copy.get_params().keys() == kernel.get_params().keys()
    assert plain_params(copy) == plain_params(kernel)
    assert not {id(part) for part in copy.parts()} & {id(part) for part in kernel.parts()}


@every_kernel
def test_what_set_params_sets_get_params_gets(kernel):
    X, _ = two_sets(kernel)
    changed = clone(kernel)
    numbers = {n: v for n, v in plain_params(kernel).items() if isinstance(v, (int, float))}
    for name, value in numbers.items():
        changed.set_params(**{name: value + 1})
        assert changed.get_params()[name] == value + 1
    assert plain_params(changed.set_params(**numbers)) == plain_params(kernel)
    np.testing.assert_array_equal(changed(X), kernel(X))


@every_kernel
def test_repr_makes_the_kernel_again(kernel):
    names = {name: getattr(kernels, name) for name in kernels.__all__}
    again = eval(repr(kernel), names | {"Dots": Dots, "Decay": Decay})
    assert repr(again) == repr(kernel)
    assert again.get_params().keys() == kernel.get_params().keys()
    assert plain_params(again) == plain_params(kernel)


@every_kernel
def test_resolving_a_kernel_of_numbers_changes_nothing(kernel):
    X, _ = two_sets(kernel)
    resolved = kernel.resolve(X)
    assert resolved is not kernel
    assert plain_params(resolved) == plain_params(kernel)


@every_kernel
def test_a_notebook_shows_a_formula_and_not_a_model_that_is_not_fitted(kernel):
    for shown in (kernel._repr_html_(), kernel._repr_mimebundle_()["text/html"]):
        assert type(kernel).__name__ in shown
        assert "itted" not in re.sub(r"<(style|script)>.*?</\1>", "", shown, flags=re.DOTALL)
