"""Random Fourier features and Nystroem: how near the kernel they come, and how fast."""

import numpy as np
import pandas as pd
import pytest
import sklearn.kernel_approximation
import sklearn.metrics
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from maxmargin import SVC, LinearSVC, datasets
from maxmargin.engines.cpu import CPUEngine
from maxmargin.errors import KernelError, MercerWarning
from maxmargin.estimators.kernel_approximation import Nystroem, RandomFourierFeatures
from maxmargin.kernels import (
    RBF,
    Custom,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

FORMS = ["cos", "sincos"]
STATIONARY = [RBF(0.3), RBF(sigma=1.2), Laplacian(0.3)]
SIMULATED = [datasets.make_gaussian_mixture, datasets.make_moons, datasets.make_circles]


def some_rows(seed=100, n=40, d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)


def gram_error(kernel, form, X, n_components, seed):
    features = RandomFourierFeatures(
        kernel, n_components=n_components, form=form, random_state=seed
    ).fit_transform(X)
    return features @ features.T - kernel(X)


# Random Fourier features.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", STATIONARY, ids=str)
def test_error_falls_as_one_over_the_root_of_the_number_of_features(kernel, form):
    X, sizes = some_rows(), [32, 128, 512, 2048]
    errors = [
        np.sqrt(np.mean([gram_error(kernel, form, X, D, seed) ** 2 for seed in range(20)]))
        for D in sizes
    ]
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.55 < slope < -0.45


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", STATIONARY, ids=str)
def test_the_mean_over_draws_is_the_kernel(kernel, form):
    n_draws = 400
    errors = np.array([gram_error(kernel, form, some_rows(n=8), 20, s) for s in range(n_draws)])
    standard_error = errors.std(axis=0) / np.sqrt(n_draws)
    assert np.all(np.abs(errors.mean(axis=0)) <= 4.5 * standard_error + 1e-12)


@pytest.mark.parametrize("kernel", STATIONARY, ids=str)
def test_sine_and_cosine_have_length_one(kernel):
    features = RandomFourierFeatures(kernel, n_components=10, form="sincos").fit_transform(
        some_rows()
    )
    np.testing.assert_allclose((features**2).sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "density"),
    [
        (RBF(0.3), stats.norm(scale=np.sqrt(0.6))),
        (RBF(sigma=2.0), stats.norm(scale=0.5)),
        (Laplacian(0.3), stats.cauchy(scale=0.3)),
    ],
    ids=["gamma", "sigma", "laplacian"],
)
def test_frequencies_follow_the_spectral_density(kernel, density):
    fitted = RandomFourierFeatures(kernel, n_components=5000).fit(np.zeros((2, 3)))
    assert fitted.frequencies_.shape == (5000, 3)
    for coordinate in fitted.frequencies_.T:
        assert stats.kstest(coordinate, density.cdf).pvalue > 1e-3
    uniform = stats.uniform(0, 2 * np.pi)
    assert stats.kstest(fitted.offsets_, uniform.cdf).pvalue > 1e-3


@pytest.mark.parametrize("form", FORMS)
def test_features_are_the_formula_of_the_attributes(form):
    X = some_rows()
    fitted = RandomFourierFeatures("laplacian", 0.7, 6, form, random_state=3).fit(X)
    angles = X @ fitted.frequencies_.T + fitted.offsets_
    if form == "cos":
        expected = np.sqrt(2 / 6) * np.cos(angles)
    else:
        expected = np.sqrt(1 / 3) * np.hstack([np.cos(angles), np.sin(angles)])
        assert not fitted.offsets_.any()
    np.testing.assert_allclose(fitted.transform(X), expected, rtol=1e-13, atol=1e-13)
    assert fitted.gamma_ == fitted.kernel_.gamma == 0.7


def test_gamma_is_that_of_the_kernels():
    X = some_rows()
    scale = 1 / (3 * X.var())
    for kernel in ("rbf", "laplacian", RBF("scale"), Laplacian("scale")):
        assert RandomFourierFeatures(kernel).fit(X).gamma_ == pytest.approx(scale)
    assert RandomFourierFeatures(gamma="auto").fit(X).gamma_ == pytest.approx(1 / 3)
    assert RandomFourierFeatures(RBF(sigma=2.0)).fit(X).gamma_ == 0.125


@pytest.mark.parametrize("make", SIMULATED, ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    ("form", "linear"),
    [("cos", SVC(kernel="linear", C=0.6)), ("sincos", LinearSVC(C=0.6))],
    ids=FORMS,
)
def test_200_features_come_within_two_points_of_the_exact_kernel(make, form, linear):
    X, y = make(300, random_state=0)
    X_test, y_test = make(1000, random_state=1)
    exact = SVC(C=0.6, gamma=2).fit(X, y).score(X_test, y_test)
    features = RandomFourierFeatures(gamma=2.0, n_components=200, form=form, random_state=2)
    approximate = make_pipeline(features, linear).fit(X, y)
    assert abs(approximate.score(X_test, y_test) - exact) <= 0.02


# Nystroem.

ANY_KERNEL = [
    Linear(),
    Polynomial(3, 0.5, 1.0),
    RBF(0.5),
    Laplacian(0.5),
    RBF(0.5) * Linear() + 2.0 * Polynomial(2),
    Polynomial(2, coef0=1.0).normalised(),
    Custom(lambda X, Z: np.exp(X @ Z.T)),
]


@pytest.mark.parametrize("kernel", ANY_KERNEL, ids=lambda kernel: str(kernel)[:40])
def test_all_rows_as_landmarks_give_the_gram_matrix(kernel):
    X = some_rows()
    fitted = Nystroem(kernel, n_components=len(X)).fit(X)
    features, K = fitted.transform(X), kernel(X)
    np.testing.assert_allclose(features @ features.T, K, rtol=0, atol=1e-10 * np.abs(K).max())
    assert fitted.rank_ == np.linalg.matrix_rank(K, tol=1e-12 * np.linalg.norm(K, 2))
    np.testing.assert_array_equal(fitted.component_indices_, np.arange(len(X)))


@pytest.mark.parametrize("kernel", ANY_KERNEL, ids=lambda kernel: str(kernel)[:40])
def test_features_are_exact_on_the_landmarks_and_never_too_long(kernel):
    X = some_rows()
    fitted = Nystroem(kernel, n_components=12, random_state=5).fit(X)
    landmarks = X[fitted.component_indices_]
    np.testing.assert_array_equal(fitted.components_, landmarks)
    assert len(set(fitted.component_indices_)) == 12
    features, K = fitted.transform(landmarks), kernel(landmarks)
    np.testing.assert_allclose(features @ features.T, K, rtol=0, atol=1e-10 * np.abs(K).max())
    # It is a projection in feature space: what is left of the kernel is positive semidefinite.
    features, K = fitted.transform(X), kernel(X)
    left = np.linalg.eigvalsh(K - features @ features.T)
    assert left[0] >= -1e-10 * np.abs(K).max()


def test_normalization_is_the_inverse_root():
    fitted = Nystroem(RBF(0.5), n_components=10).fit(some_rows())
    root = fitted.normalization_
    K = RBF(0.5)(fitted.components_)
    np.testing.assert_allclose(root, root.T, atol=1e-10)
    np.testing.assert_allclose(root @ K @ root, np.eye(10), atol=1e-9)


@pytest.mark.parametrize("n_components", [5, 20, 80])
def test_products_of_features_go_through_the_pseudo_inverse(n_components):
    X = some_rows(n=150)
    K = RBF(0.2)(X)
    fitted = Nystroem(gamma=0.2, n_components=n_components).fit(X)
    chosen = fitted.component_indices_
    inverse = np.linalg.pinv(K[np.ix_(chosen, chosen)], rcond=1e-12, hermitian=True)
    features = fitted.transform(X)
    np.testing.assert_allclose(features @ features.T, K[:, chosen] @ inverse @ K[chosen], atol=1e-5)


def test_more_landmarks_come_nearer():
    X = some_rows(n=150)
    K = RBF(0.2)(X)

    def error(n_components, seed):
        model = Nystroem(gamma=0.2, n_components=n_components, random_state=seed)
        features = model.fit_transform(X)
        return np.linalg.norm(features @ features.T - K)

    few, some, many = (np.mean([error(m, seed) for seed in range(10)]) for m in (5, 20, 80))
    assert few > 3 * some > 9 * many


def test_landmarks_that_repeat_lower_the_rank():
    X = np.repeat(some_rows(n=6), 3, axis=0)
    fitted = Nystroem(RBF(0.5), n_components=18).fit(X)
    assert fitted.rank_ == 6
    features = fitted.transform(X)
    assert features.shape == (18, 18)
    np.testing.assert_allclose(features @ features.T, RBF(0.5)(X), atol=1e-12)


def test_kernel_that_is_zero_has_features_that_are_zero():
    fitted = Nystroem("linear").fit(np.zeros((4, 2)))
    assert fitted.rank_ == 0
    np.testing.assert_array_equal(fitted.transform([[1.0, 2.0]]), np.zeros((1, 4)))


def test_names_and_objects_and_functions_are_the_same_kernel():
    X = some_rows()
    by_name = Nystroem("poly", degree=2, gamma=0.5, coef0=1.0, n_components=9).fit_transform(X)
    kernel = Polynomial(2, 0.5, 1.0)
    by_object = Nystroem(kernel, n_components=9).fit_transform(X)
    by_function = Nystroem(lambda A, B: (0.5 * A @ B.T + 1) ** 2, n_components=9).fit_transform(X)
    np.testing.assert_array_equal(by_name, by_object)
    np.testing.assert_allclose(by_function, by_object, atol=1e-8)


def pair_function(x, z, c=1.0):
    """Of two rows, as scikit-learn calls it, or of two sets of rows, as we do."""
    return (x @ z.T + c) ** 2


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 2.0},
        {"kernel": "polynomial", "degree": 2, "gamma": 0.5, "coef0": 2.0},
        {"kernel": "polynomial"},
        {"kernel": "rbf"},
        {"kernel": "laplacian", "gamma": 0.3},
        {"kernel": "cosine"},
        {"kernel": pair_function, "kernel_params": {"c": 3.0}, "n_jobs": 1},
    ],
    ids=lambda options: getattr(options["kernel"], "__name__", str(options["kernel"])),
)
def test_features_are_scikit_learns_for_the_same_landmarks(options, container):
    """The products of features, that is: the landmarks stand in another order there."""
    if callable(options["kernel"]) and container is not np.asarray:
        pytest.skip("scikit-learn hands its function sparse rows, of which ours is not one")
    X = some_rows()
    X[4] = 0.0  # which has the cosine 0 with every row, itself included
    options = {"gamma": None, "coef0": None, "degree": None, **options}
    ours = Nystroem(n_components=20, **options).fit(container(X))
    landmarks = X[ours.component_indices_]
    theirs = sklearn.kernel_approximation.Nystroem(n_components=20, **options).fit(landmarks)
    found, expected = ours.transform(container(X)), theirs.transform(X)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["chi2", "rbf", "laplacian"])
def test_scikit_learns_own_kernels_are_functions_too(name):
    X = np.abs(some_rows())
    function = sklearn.metrics.pairwise.PAIRWISE_KERNEL_FUNCTIONS[name]
    ours = Nystroem(function, kernel_params={"gamma": 0.7}, n_components=20).fit(X)
    landmarks = X[ours.component_indices_]
    theirs = sklearn.kernel_approximation.Nystroem(kernel=name, gamma=0.7, n_components=20)
    found, expected = ours.transform(X), theirs.fit(landmarks).transform(X)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", ["precomputed", Precomputed()], ids=str)
def test_a_precomputed_matrix_is_its_kernel(kernel):
    X = some_rows()
    by_name = Nystroem("rbf", gamma=0.5, n_components=9, random_state=3).fit(X[:30])
    given = Nystroem(kernel, n_components=9, random_state=3).fit(RBF(0.5)(X[:30]))
    np.testing.assert_array_equal(given.component_indices_, by_name.component_indices_)
    np.testing.assert_allclose(
        given.transform(RBF(0.5)(X, X[:30])), by_name.transform(X), atol=1e-10
    )
    with pytest.raises(ValueError, match="30 features"):
        given.transform(X)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        given.transform(sparse.csr_array(RBF(0.5)(X, X[:30])))
    with pytest.raises(ValueError, match="not symmetric"):
        given.fit(np.arange(16.0).reshape(4, 4))


def test_precomputed_matrices_are_split_by_rows_and_columns():
    X = some_rows()
    y = X[:, 0] > 0
    machine = make_pipeline(Nystroem("precomputed", n_components=10), LinearSVC())
    scores = cross_val_score(machine, RBF(0.5)(X), y, cv=3)
    by_name = make_pipeline(Nystroem("rbf", gamma=0.5, n_components=10), LinearSVC())
    np.testing.assert_allclose(scores, cross_val_score(by_name, X, y, cv=3))


def test_function_takes_rows_of_anything():
    def shared_letters(left, right):
        return [[len(set(u) & set(v)) for v in right] for u in left]

    words = ["cat", "act", "dog", "god", "bird"]
    fitted = Nystroem(shared_letters).fit(words)
    features = fitted.transform(words)
    np.testing.assert_allclose(features @ features.T, shared_letters(words, words), atol=1e-12)
    assert fitted.rank_ == 3
    assert fitted.components_ == words


def test_indefinite_kernel_warns_and_keeps_its_positive_part():
    X, kernel = some_rows(), Sigmoid(0.5, -1.0)
    with pytest.warns(MercerWarning, match="Nystroem: Sigmoid.* not positive semi") as caught:
        fitted = Nystroem(kernel, n_components=len(X)).fit(X)
    assert caught[0].filename == __file__
    values, vectors = np.linalg.eigh(kernel(X))
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    features = fitted.transform(X)
    np.testing.assert_allclose(features @ features.T, positive, atol=1e-8)


@pytest.mark.parametrize("make", SIMULATED, ids=lambda make: make.__name__)
def test_100_landmarks_come_within_two_points_of_the_exact_kernel(make):
    X, y = make(300, random_state=0)
    X_test, y_test = make(1000, random_state=1)
    exact = SVC(C=0.6, gamma=2).fit(X, y).score(X_test, y_test)
    approximate = make_pipeline(Nystroem(gamma=2.0), SVC(kernel="linear", C=0.6)).fit(X, y)
    assert abs(approximate.score(X_test, y_test) - exact) <= 0.02


# Both.

APPROXIMATIONS = [
    RandomFourierFeatures(n_components=10),
    RandomFourierFeatures("laplacian", n_components=10, form="sincos"),
    Nystroem(n_components=10),
    Nystroem(RBF(0.5) + Linear(), n_components=10),
]


@pytest.mark.parametrize("stored", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("approximation", APPROXIMATIONS, ids=str)
def test_sparse_is_dense(approximation, stored):
    X, Z = some_rows(), some_rows(seed=7, n=9)
    expected = clone(approximation).fit(X).transform(Z)
    fitted = clone(approximation).fit(stored(X))
    assert isinstance(fitted.transform(Z), np.ndarray)
    for found in (
        fitted.transform(stored(Z)),
        fitted.transform(Z),
        clone(approximation).fit(X).transform(stored(Z)),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("theirs", ["RBFSampler", "Nystroem"])
def test_single_precision_stays_single_as_in_scikit_learn(theirs, stored):
    X = stored(some_rows().astype(np.float32))
    expected = getattr(sklearn.kernel_approximation, theirs)(n_components=10).fit_transform(X)
    for approximation in APPROXIMATIONS:
        fitted = clone(approximation).fit(X)
        assert fitted.transform(X).dtype == expected.dtype == np.float32
        assert fitted.transform(X.astype(np.float64)).dtype == np.float64
    assert fitted.components_.dtype == fitted.normalization_.dtype == np.float64


def test_features_that_single_precision_cannot_hold_are_refused():
    fitted = Nystroem(Linear() ** 3, n_components=10).fit(some_rows())
    large = np.full((2, 3), 1e20)
    assert np.all(np.isfinite(fitted.transform(large)))
    with pytest.raises(KernelError, match="kernel overflow"):
        fitted.transform(large.astype(np.float32))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("approximation", APPROXIMATIONS, ids=str)
def test_the_number_of_threads_changes_no_bit(approximation, storage):
    X = storage(some_rows(n=3000))
    many = clone(approximation).set_params(n_components=300)

    def features(n_threads):
        with threadpool_limits(n_threads):
            return clone(many).set_params(engine=CPUEngine(0, n_threads)).fit_transform(X)

    np.testing.assert_array_equal(features(2), features(1))


@pytest.mark.parametrize("approximation", APPROXIMATIONS, ids=str)
def test_seed_decides(approximation):
    X = some_rows()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = clone(approximation).fit_transform(X)
    np.testing.assert_array_equal(clone(approximation).fit_transform(X), first)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    other = clone(approximation).set_params(random_state=1).fit_transform(X)
    assert not np.allclose(other, first)
    again = clone(approximation).set_params(random_state=1).fit_transform(X)
    np.testing.assert_array_equal(again, other)


@pytest.mark.parametrize("approximation", APPROXIMATIONS, ids=str)
def test_features_of_a_frame_are_named_after_the_class(approximation):
    frame = pd.DataFrame(some_rows(), columns=list("abc"), index=np.arange(40) + 5)
    fitted = clone(approximation).set_output(transform="pandas").fit(frame)
    out = fitted.transform(frame)
    assert list(out.columns) == [f"{type(approximation).__name__.lower()}{k}" for k in range(10)]
    assert list(out.index) == list(frame.index)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("approximation", "message"),
    [
        (
            RandomFourierFeatures("poly"),
            "RandomFourierFeatures: kernel must be 'rbf', 'laplacian', an RBF or a Laplacian "
            "kernel, got 'poly'.",
        ),
        (
            RandomFourierFeatures(2.0 * RBF()),
            "RandomFourierFeatures: kernel must be 'rbf', 'laplacian', an RBF or a Laplacian "
            "kernel, got Scaled(factor=2.0, kernel=RBF()).",
        ),
        (
            RandomFourierFeatures(n_components=7, form="sincos"),
            "RandomFourierFeatures: n_components must be even for form='sincos', a cosine and a "
            "sine to each frequency, got 7.",
        ),
        (
            RandomFourierFeatures(n_components=0),
            "RandomFourierFeatures: n_components must be a whole number of at least 1, got 0.",
        ),
        (
            RandomFourierFeatures(form="sin"),
            "RandomFourierFeatures: form must be 'cos' or 'sincos', got 'sin'.",
        ),
        (
            RandomFourierFeatures(RBF(), gamma=2.0),
            "RandomFourierFeatures: gamma=2.0 has no effect beside the Kernel object RBF(); set "
            "it on the kernel.",
        ),
        (RandomFourierFeatures(RBF(-1.0)), "RBF: gamma must be a number of at least 0, got -1.0."),
        (
            Nystroem("precomputed"),
            "Precomputed matrix must be a square matrix. Input is a 40x3 matrix.",
        ),
        (
            Nystroem("cosine", kernel_params={"c": 1}),
            "Nystroem: kernel_params are for a function, and have no effect beside "
            "kernel='cosine'; set gamma, degree or coef0 themselves, or the kernel's own.",
        ),
        (
            Nystroem(n_components=2.5),
            "Nystroem: n_components must be a whole number of at least 1, got 2.5.",
        ),
        (
            Nystroem(RBF(), gamma=2.0),
            "Nystroem: gamma=2.0 has no effect beside the Kernel object RBF(); set it on the "
            "kernel.",
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_wrong_parameter_is_named(approximation, message):
    with pytest.raises(ValueError) as refusal:
        approximation.fit(some_rows())
    assert str(refusal.value) == message


def test_kernel_that_overflows_is_refused_and_nothing_is_kept():
    model = Nystroem(Custom(lambda X, Z: np.full((len(X), len(Z)), np.inf)))
    with pytest.raises(KernelError, match="kernel overflow: Custom"):
        model.fit(some_rows())
    assert not hasattr(model, "components_")
