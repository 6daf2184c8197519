"""Feature maps of any size for kernels without a finite one: z(x).z(x') approximates k(x, x').

Random Fourier features draw the map at random and never look at the data. Nystroem derives it from
the kernel between the data and some of its rows. Both turn an n x n kernel matrix into n rows of D
numbers, on which a linear machine takes time proportional to n.
"""

from math import sqrt
from typing import ClassVar

import numpy as np

from maxmargin import arrays
from maxmargin.engines import engine_of
from maxmargin.engines.interrupts import interruptible
from maxmargin.engines.threads import single_threaded_blas
from maxmargin.errors import OVERFLOW, KernelError, MercerWarning, warn
from maxmargin.estimators.answers import KernelModel
from maxmargin.estimators.feature_maps import FeatureMap
from maxmargin.estimators.parameters import (
    AT_LEAST_ONE,
    N_JOBS,
    PAIRWISE_CONSTRAINTS,
    SEED,
    SVM_CONSTRAINTS,
    Constraint,
    kernel_of,
    one_of,
    pairwise_kernel_of,
)
from maxmargin.estimators.validation import (
    check_dense_gram,
    check_gram,
    check_unaltered,
    resolved_kernel,
    seed_of,
    shape_of_rows,
)
from maxmargin.kernels import RBF, Laplacian
from maxmargin.kernels.spectrum import ROUNDING
from maxmargin.memory import check_room

# Eigenvalues below this share of the largest are rounding error as much as they are kernel.
NEGLIGIBLE = 1e-12


# By Bochner's theorem a kernel of x - z is the Fourier transform of a density, to draw from.
SPECTRAL_DENSITIES = {
    RBF: lambda rng, gamma, shape: sqrt(2 * gamma) * rng.standard_normal(shape),
    Laplacian: lambda rng, gamma, shape: gamma * rng.standard_cauchy(shape),
}


class ApproximateMap(FeatureMap):
    """A map whose features an engine computes in float64 and returns in the precision of X."""

    _precisions: ClassVar[list[type]] = [np.float64, np.float32]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _new_engine(self):
        return engine_of(self.engine, cache_bytes=0)

    def _room_for_features(self, X):
        shape = arrays.n_rows(X), self._n_features_out
        check_room(
            f"{type(self).__name__}: the features", shape,
            "Use fewer n_components, or transform some rows at a time.",
        )  # fmt: skip
        is_single = getattr(X, "dtype", None) == np.float32
        return np.empty(shape, dtype=np.float32 if is_single else np.float64)

    def _finite(self, features):
        """The features as they are, because the engine has checked them already."""
        return features


class RandomFourierFeatures(ApproximateMap):
    """Waves of random frequency whose products average to the kernel.

    z(x) = sqrt(2/D) cos(w.x + b) with b uniform on [0, 2 pi], or, with m = D/2 frequencies,
    z(x) = sqrt(1/m) (cos(w.x), sin(w.x)). For the RBF kernel w is normal with standard deviation
    sqrt(2 gamma); for the Laplacian kernel it is Cauchy with scale gamma in every coordinate. The
    error of z(x).z(x') falls as 1/sqrt(D).

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}, RBF or Laplacian, default="rbf"
    gamma : float of at least 0, "scale" or "auto", default="scale"
        The gamma of a kernel given by name; a kernel object brings its own.
    n_components : int, default=200
        D, the number of features.
    form : {"cos", "sincos"}, default="cos"
        "sincos" has |z(x)| = 1 for every x, and needs an even D.
    random_state : int, Generator, RandomState or None, default=None
        None means the same draw every time.
    engine : str or engine object, default="auto"
        As in `SVC`.

    Attributes
    ----------
    frequencies_ : array of shape (D, d), or (D/2, d) for "sincos"
        The w, one in each row.
    offsets_ : array of shape (D,), or (D/2,) for "sincos"
        The b, which are zero for "sincos".
    kernel_ : RBF or Laplacian
        The kernel of the fit, with gamma a number.
    gamma_ : float
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import RandomFourierFeatures
    >>> from maxmargin.kernels import RBF
    >>> X = [[0.0, 0.0], [0.0, 1.0]]
    >>> Z = RandomFourierFeatures(gamma=0.5, n_components=2000).fit_transform(X)
    >>> bool(abs(Z @ Z.T - RBF(gamma=0.5)(X)).max() < 0.1)
    True
    """

    _constraints: ClassVar = {
        "kernel": Constraint(
            "'rbf', 'laplacian', an RBF or a Laplacian kernel",
            lambda v: (
                v in ("rbf", "laplacian") if isinstance(v, str) else type(v) in SPECTRAL_DENSITIES
            ),
        ),
        "gamma": SVM_CONSTRAINTS["gamma"],
        "n_components": AT_LEAST_ONE,
        "form": one_of("cos", "sincos"),
        "random_state": SEED,
        "engine": SVM_CONSTRAINTS["engine"],
    }

    def __init__(
        self, kernel="rbf", gamma="scale", n_components=200, form="cos", random_state=None,
        engine="auto",
    ):  # fmt: skip
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.form = form
        self.random_state = random_state
        self.engine = engine

    def _learn(self, X):
        in_pairs = self.form == "sincos"
        if in_pairs and self.n_components % 2:
            raise ValueError(
                "RandomFourierFeatures: n_components must be even for form='sincos', a cosine and "
                f"a sine to each frequency, got {self.n_components}."
            )
        kernel = self._kernel().resolve(X)
        kernel.check()
        self.kernel_ = kernel
        self.gamma_ = float(kernel.rate if isinstance(kernel, RBF) else kernel.gamma)
        n_frequencies = self.n_components // 2 if in_pairs else self.n_components
        rng = np.random.default_rng(seed_of(self.random_state))
        check_room("RandomFourierFeatures: the frequencies", (n_frequencies, X.shape[1]))
        draw = SPECTRAL_DENSITIES[type(kernel)]
        self.frequencies_ = draw(rng, self.gamma_, (n_frequencies, X.shape[1]))
        if not np.all(np.isfinite(self.frequencies_)):
            raise KernelError(OVERFLOW.format(f"the frequency of a wave of {kernel}"))
        largest_offset = 0.0 if in_pairs else 2 * np.pi
        self.offsets_ = rng.uniform(0.0, largest_offset, n_frequencies)
        self._n_features_out = self.n_components

    def _kernel(self):
        return kernel_of(self)

    def _check_unaltered(self):
        in_pairs = len(self.offsets_) < self._n_features_out
        n_waves = self._n_features_out // 2 if in_pairs else self._n_features_out
        check_unaltered(self, frequencies_=(n_waves, self.n_features_in_), offsets_=(n_waves,))

    def _map(self, X):
        features, height = self._room_for_features(X), sqrt(2 / self._n_features_out)
        with self._new_engine() as engine:
            engine.waves(engine.points(X), self.frequencies_, self.offsets_, height, features)
        return features


class Nystroem(KernelModel, ApproximateMap):
    """Features from the kernel with some rows: z(x) = K_mm^(-1/2) (k(x_1, x), ..., k(x_m, x)).

    The m landmarks x_1, ..., x_m are drawn from X without replacement. Between two landmarks
    z(x).z(x') is the kernel itself, and so it is everywhere when every row is a landmark.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        "linear", "poly" (or "polynomial"), "rbf", "sigmoid", "laplacian", "cosine", "precomputed",
        any Kernel, or a function that returns the matrix k(X, Z). With "precomputed", `fit` takes
        the matrix between all training rows, `transform` that between new and training rows.
    gamma, coef0, degree : default="scale", 0.0, 3
        The parameters of a kernel given by name, as in `SVC`. None stands for scikit-learn's
        1 / n_features, 1 and 3.
    kernel_params : dict or None, default=None
        More keyword arguments of a kernel that is a function.
    n_components : int, default=100
        The number of landmarks; all rows, if X has fewer.
    random_state : int, Generator, RandomState or None, default=None
        None means the same landmarks every time.
    n_jobs : int or None, default=None
        Accepted as in scikit-learn, without influence.
    engine : str or engine object, default="auto"
        As in `SVC`.

    Attributes
    ----------
    components_ : array or sparse matrix of shape (m, d)
        The landmarks. A precomputed kernel needs no rows, and none are kept.
    component_indices_ : array of shape (m,)
        Their row numbers in X.
    normalization_ : array of shape (m, m)
        K_mm^(-1/2), without the directions in which K_mm is zero or negative.
    rank_ : int
        The number of directions left.
    kernel_ : Kernel
        The kernel of the fit, with every parameter a number.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Nystroem
    >>> from maxmargin.kernels import RBF, Linear
    >>> X = [[0.0], [1.0], [2.0]]
    >>> kernel = RBF() + Linear()
    >>> Z = Nystroem(kernel).fit_transform(X)
    >>> np.allclose(Z @ Z.T, kernel(X))
    True
    """

    _constraints: ClassVar = {
        **PAIRWISE_CONSTRAINTS,
        "n_components": AT_LEAST_ONE,
        "random_state": SEED,
        "n_jobs": N_JOBS,
        "engine": SVM_CONSTRAINTS["engine"],
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        coef0=0.0,
        degree=3,
        kernel_params=None,
        n_components=100,
        random_state=None,
        n_jobs=None,
        engine="auto",
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.engine = engine

    def _kernel(self):
        return pairwise_kernel_of(self)

    def _rows_of(self, X, reset):
        """Checked rows; a function of the user's may take rows of anything, such as strings."""
        takes = (self._kernel() if reset else self.kernel_).takes
        if takes == "anything":
            return X
        if takes == "gram":
            check_dense_gram(X)
        X = super()._rows_of(X, reset)
        if takes == "gram" and reset:
            check_gram(X)
        return X

    def _learn(self, X):
        rng = np.random.default_rng(seed_of(self.random_state))
        n = arrays.n_rows(X)
        landmarks = np.sort(rng.choice(n, size=min(n, self.n_components), replace=False))
        m = len(landmarks)
        check_room("Nystroem: the kernel matrix of the landmarks", (m, m))
        with self._new_engine() as engine:
            points = engine.points(X)
            kernel = resolved_kernel(self._kernel(), points)
            K = engine.matrix(kernel, points[landmarks]).values(np.arange(len(landmarks)))
        # Small eigenvalues amplify rounding, which differs with the number of threads.
        with single_threaded_blas():
            self.normalization_, self.rank_ = _inverse_root(K, kernel)
        self.kernel_ = kernel
        self.components_ = _kept(X, landmarks, kernel.takes)
        self.component_indices_ = landmarks
        self._n_features_out = len(landmarks)

    def _check_unaltered(self):
        m = self._n_features_out
        takes = self.kernel_.takes
        rows = (m, 0) if takes == "gram" else shape_of_rows(self, m, takes)
        check_unaltered(self, components_=rows, normalization_=(m, m))

    def _map(self, X):
        components = self.components_
        if arrays.is_sparse(X):  # the many rows of X need not become dense
            components = arrays.canonical_csr(components)
        features = self._room_for_features(X)
        with self._new_engine() as engine:
            centres = engine.points(components, index=self.component_indices_)
            points = engine.points(X, beside=centres)
            engine.expand(self.kernel_, points, centres, self.normalization_, out=features)
        return features


def _kept(X, landmarks, takes):
    """The landmarks in float64, whatever the precision of X; rows of anything stay as they are."""
    if takes == "gram":
        return np.empty((len(landmarks), 0))
    rows = arrays.take(X, landmarks)
    return rows.astype(np.float64, copy=False) if takes == "features" else rows


def _inverse_root(K, kernel):
    """K^(-1/2) on the directions where K is positive, and the number of these."""
    work = 10 * len(K) ** 3
    eigenvalues, directions = interruptible(work, np.linalg.eigh, (K + K.T) / 2)
    scale = np.max(np.abs(eigenvalues))
    if eigenvalues[0] < -ROUNDING * scale:
        warn(
            f"Nystroem: {kernel} is not positive semidefinite on the landmarks (eigenvalues from "
            f"{eigenvalues[0]:.2g} to {eigenvalues[-1]:.2g}); the features leave out its negative "
            "part.",
            MercerWarning,
        )
    kept = eigenvalues > NEGLIGIBLE * scale
    directions = directions[:, kept]
    scaled = directions / np.sqrt(eigenvalues[kept])
    return interruptible(work, np.matmul, scaled, directions.T), int(np.sum(kept))
