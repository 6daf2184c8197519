"""Random cases: data with the shapes of trouble, kernels, parameters, weights and containers.

Hypothesis draws what a person would name (how many points, which trouble, which kernel); the
numbers themselves come from a seeded generator, so that a case is quick to draw and shrinks to few
points and few troubles. Kernels are discovered from the exports: a new class is drawn from its
constructor, and a parameter of a name that is not known here stops the fuzzer with a KeyError.
"""

import inspect
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from kernel_functions import Decay, Dots
from lying_solvers import Liar
from scipy import sparse

import maxmargin
from maxmargin import kernels
from maxmargin.kernels import Conformal, Kernel, Precomputed

KERNEL_MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
LINEAR_MACHINES = ("LinearSVC", "LinearSVR")
REGRESSIONS = ("Ridge", "LinearRegression", "Lasso", "KernelRidge", "GradientDescentRegressor")
FAMILIES = (*KERNEL_MACHINES, *LINEAR_MACHINES, *REGRESSIONS, "Perceptron")
CLASSIFIERS = ("SVC", "NuSVC", "LinearSVC", "Perceptron")


@dataclass(frozen=True)
class Case:
    """One thing to fit, and how it is handed over."""

    family: str
    parameters: dict
    X: np.ndarray = field(repr=False)
    y: np.ndarray | None = field(repr=False)
    weight: np.ndarray | None = field(repr=False)
    container: str

    @property
    def stored(self):
        """X as the estimator gets it."""
        return CONTAINERS[self.container](self.X)

    @property
    def plain(self):
        """The same numbers as a dense array of float64."""
        stored = self.stored
        stored = stored.toarray() if sparse.issparse(stored) else np.asarray(stored)
        return np.ascontiguousarray(stored, dtype=np.float64)

    @property
    def weights(self):
        return np.ones(len(self.X)) if self.weight is None else self.weight

    def estimator(self):
        return getattr(maxmargin, self.family)(**self.parameters)

    def fit(self, model, X):
        given = {} if self.weight is None else {"sample_weight": self.weight}
        return model.fit(X, **given) if self.y is None else model.fit(X, self.y, **given)

    def snippet(self):
        """Python that makes the case again, to the last bit."""
        values = {name: _source(value) for name, value in self.parameters.items()}
        chosen = ", ".join(f"{name!r}: {value}" for name, value in values.items())
        return (
            "import sys\n\nimport numpy as np\nfrom numpy import inf, nan\n\n"
            "sys.path[:0] = ['tests', 'tests/fuzz']\n"
            "from checks import check\nfrom maxmargin.kernels import *\n"
            "from strategies import Case, Decay, Dots, Liar\n\n"
            f"X = {_source(self.X)}\ny = {_source(self.y)}\nweight = {_source(self.weight)}\n"
            f"check(Case({self.family!r}, {{{chosen}}}, X, y, weight, {self.container!r}))\n"
        )


def _source(value):
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r}, dtype={value.dtype.str!r}).reshape({value.shape})"
    return repr(value)


def _strided(X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _wide_indices(X):
    stored = sparse.csr_array(X)
    stored.indices, stored.indptr = (a.astype(np.int64) for a in (stored.indices, stored.indptr))
    return stored


def _integers(X):
    return np.rint(np.clip(X, -1e6, 1e6)).astype(np.int64)


def _float32(X):
    return np.clip(X, -1e30, 1e30).astype(np.float32)


DENSE_CONTAINERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": _float32,
    "int": _integers,
    "list": np.ndarray.tolist,
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]),
    "read-only": _read_only,
    "strided": _strided,
}
CONTAINERS = {
    **DENSE_CONTAINERS,
    "csr matrix": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csc matrix": sparse.csc_matrix,
    "csc array": sparse.csc_array,
    "coo matrix": sparse.coo_matrix,
    "coo array": sparse.coo_array,
    "csr of int64 indices": _wide_indices,
    "csr of float32": lambda X: sparse.csr_array(_float32(X)),
}


def powers_of_ten(low, high):
    return st.floats(low, high).map(lambda exponent: float(f"{10.0**exponent:.3g}"))


def rarely(value, usual):
    """One time in twenty `value`."""
    return st.tuples(st.integers(0, 19), usual).map(lambda drawn: drawn[1] if drawn[0] else value)


# Data.

sizes = st.one_of(st.integers(2, 12), st.integers(2, 60), st.integers(61, 150))
seeds = st.integers(0, 2**32 - 1)
TROUBLES = {
    "duplicates": lambda X, rng: X[rng.integers(0, max(1, len(X) // 3), len(X))],
    "constant column": lambda X, rng: np.column_stack([X[:, :-1], np.full(len(X), 7.3)]),
    "all equal": lambda X, rng: np.tile(X[:1], (len(X), 1)),
    "scaled": lambda X, rng: X * 10.0 ** rng.integers(-8, 9),
    "columns scaled": lambda X, rng: X * 10.0 ** rng.integers(-4, 5, X.shape[1]),
    "shifted": lambda X, rng: X + 10.0 ** rng.integers(1, 9),
    "many zeros": lambda X, rng: X * (rng.random(X.shape) < 0.4),
    "subnormal": lambda X, rng: X * 1e-310,
    "collinear": lambda X, rng: np.outer(X[:, 0], rng.standard_normal(X.shape[1])),
    "outlier": lambda X, rng: np.vstack([X[:-1], 1e4 * X[-1:]]),
    "far groups": lambda X, rng: X + _beside(X, rng, 10.0 ** rng.integers(2, 9)),
    "thin": lambda X, rng: np.hstack([X[:, :4], np.zeros((len(X), 40))]),
    "thin and far": lambda X, rng: TROUBLES["thin"](TROUBLES["far groups"](X, rng), rng),
}


def _beside(X, rng, far):
    """Where to move some of the rows: along the first axis."""
    moved = np.zeros(X.shape)
    moved[rng.random(len(X)) < 0.5, 0] = far
    return moved


@st.composite
def points(draw):
    n, d = draw(sizes), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(seeds))
    X = rng.standard_normal((n, d))
    if draw(st.booleans()):
        X = rng.integers(-3, 4, (n, d)).astype(np.float64)
    for trouble in draw(st.lists(st.sampled_from(sorted(TROUBLES)), max_size=2, unique=True)):
        X = TROUBLES[trouble](X, rng)
    return X


@st.composite
def labels(draw, X):
    n, n_classes = len(X), draw(st.one_of(st.integers(2, 5), st.integers(2, 12)))
    rng = np.random.default_rng(draw(seeds))
    kind = draw(st.sampled_from(["random", "by the first feature", "one sample", "unbalanced"]))
    if kind == "random":
        codes = rng.integers(0, n_classes, n)
    elif kind == "by the first feature":
        codes = np.argsort(np.argsort(X[:, 0], kind="stable")) * n_classes // n
    elif kind == "one sample":
        codes = np.zeros(n, dtype=int)
        codes[: n_classes - 1] = np.arange(1, n_classes)[:n]
    else:
        codes = np.minimum(rng.geometric(0.6, n) - 1, n_classes - 1)
    named = draw(st.sampled_from(["0 up", "signs", "words", "floats"]))
    names = {
        "0 up": np.arange(12),
        "signs": np.array([-1, 1, *range(5, 15)]),
        "words": np.array(["no", "yes", *(f"z{k:02d}" for k in range(9)), "é"]),
        "floats": np.array([-2.0, 0.0, 1.0, 3.0, *np.arange(8.0, 16.0)]),
    }[named]
    return names[codes]


SCALES = [1.0, 1.0, 1e-2, 1e-4, 1e-8, 1e-12, 1e4]


@st.composite
def targets(draw, X):
    rng = np.random.default_rng(draw(seeds))
    kind = draw(st.sampled_from(["linear", "noise", "constant", "whole numbers", "one spike"]))
    n = len(X)
    if kind == "linear":
        largest = np.max(np.abs(X))
        y = (X / largest if largest > 0 else X) @ rng.standard_normal(X.shape[1])
        y = y + 0.1 * rng.standard_normal(n)
    elif kind == "constant":
        y = np.full(n, rng.standard_normal())
    elif kind == "whole numbers":
        y = rng.integers(-3, 4, n).astype(np.float64)
    elif kind == "one spike":
        y = np.eye(n)[0]
    else:
        y = rng.standard_normal(n)
    scale, shift = draw(st.sampled_from(SCALES)), draw(st.sampled_from([0.0, 0.0, 100.0]))
    return y * scale + shift


@st.composite
def weights(draw, n):
    kind = draw(st.sampled_from(["none", "none", "some", "zeros", "decades", "whole numbers"]))
    rng = np.random.default_rng(draw(seeds))
    if kind == "none":
        return None
    if kind == "decades":
        return 10.0 ** rng.uniform(-3, 2, n)
    if kind == "whole numbers":
        return rng.integers(0, 4, n).astype(np.float64)
    weight = rng.uniform(0.1, 3, n)
    return weight * (rng.random(n) < 0.7) if kind == "zeros" else weight


# Kernels.

NUMBERS = {
    "gamma": st.one_of(st.sampled_from(["scale", "auto", 0.0]), powers_of_ten(-3, 3)),
    "sigma": st.one_of(st.none(), powers_of_ten(-1, 2)),
    "degree": st.integers(1, 3),
    "coef0": st.sampled_from([0.0, 1.0, 0.5, -1.0]),
    "factor": powers_of_ten(-3, 3),
    "function": st.just(Dots()),
    "positive_semidefinite": st.sampled_from([True, None]),
    "whole": st.booleans(),
}
OF_A_CLASS = {(Conformal, "factor"): st.just(Decay(rate=1.0))}
PARTS = ("kernel", "left", "right")


def kernel_classes():
    members = [getattr(kernels, name) for name in kernels.__all__]
    classes = {m for m in members if isinstance(m, type) and issubclass(m, Kernel)} - {Kernel}
    return sorted(classes, key=lambda kind: kind.__name__)


@st.composite
def kernel_objects(draw, depth=2, outermost=True):
    """Any exported kernel; a composed one down to two floors."""
    kinds = [kind for kind in kernel_classes() if depth > 0 or not _parts_of(kind)]
    if not outermost:
        # A matrix and its features have different rows.
        kinds = [kind for kind in kinds if kind is not Precomputed]
    kind = draw(st.sampled_from(kinds))
    given = {}
    for name in inspect.signature(kind).parameters:
        if name in PARTS:
            given[name] = draw(kernel_objects(depth - 1, outermost=False))
        else:
            given[name] = draw(OF_A_CLASS.get((kind, name), NUMBERS[name]))
    return kind(**given)


def _parts_of(kind):
    return [name for name in inspect.signature(kind).parameters if name in PARTS]


@st.composite
def named_kernels(draw, gammas=NUMBERS["gamma"]):
    name = draw(st.sampled_from(["linear", "poly", "rbf", "sigmoid", "laplacian"]))
    return {
        "kernel": name, "gamma": draw(gammas), "degree": draw(st.integers(0, 4)),
        "coef0": draw(NUMBERS["coef0"]),
    }  # fmt: skip


def kernel_parameters(gammas=NUMBERS["gamma"]):
    objects = kernel_objects().map(lambda kernel: {"kernel": kernel})
    return st.one_of(named_kernels(gammas), objects)


# Parameters.

shares = st.one_of(st.sampled_from([0.5, 1.0, 0.1]), st.floats(0.01, 1).map(lambda v: round(v, 3)))
epsilons = st.sampled_from([0.0, 0.1, 1e-3, 10.0])
class_weights = st.sampled_from([None, None, "balanced"])
tolerances = st.sampled_from([1e-3, 1e-3, 1e-6, 1e-9])
alphas = st.one_of(st.just(0.0), powers_of_ten(-6, 4))
OWN_PARAMETERS = {
    "SVC": {
        "C": rarely(np.inf, powers_of_ten(-4, 6)),
        "class_weight": class_weights,
        "break_ties": st.booleans(),
    },
    "NuSVC": {"nu": shares, "class_weight": class_weights},
    "SVR": {"C": powers_of_ten(-4, 6), "epsilon": epsilons},
    "NuSVR": {"C": powers_of_ten(-4, 6), "nu": shares},
    "OneClassSVM": {"nu": shares},
    "LinearSVC": {
        "C": powers_of_ten(-4, 4),
        "class_weight": class_weights,
        "fit_intercept": st.booleans(),
        "intercept_scaling": st.sampled_from([1.0, 10.0]),
        "loss": st.sampled_from(["hinge", "squared_hinge"]),
        "multi_class": st.sampled_from(["ovr", "ovr", "crammer_singer"]),
    },
    "LinearSVR": {
        "C": powers_of_ten(-4, 4),
        "epsilon": epsilons,
        "fit_intercept": st.booleans(),
        "intercept_scaling": st.sampled_from([1.0, 10.0]),
        "loss": st.sampled_from(["epsilon_insensitive", "squared_epsilon_insensitive"]),
    },
    "Ridge": {
        "alpha": alphas,
        "fit_intercept": st.booleans(),
        "solver": st.sampled_from(["auto", "primal", "dual", "svd"]),
    },
    "LinearRegression": {"fit_intercept": st.booleans()},
    "Lasso": {"alpha": powers_of_ten(-6, 2), "fit_intercept": st.booleans(),
              "positive": st.booleans()},
    "KernelRidge": {"alpha": powers_of_ten(-6, 3), "solver": st.sampled_from(["auto", "cg"])},
    "Perceptron": {"fit_intercept": st.booleans(), "max_updates": st.sampled_from([50, 10_000])},
    "GradientDescentRegressor": {
        "loss": st.sampled_from(["squared", "epsilon_insensitive", "squared_epsilon_insensitive"]),
        "penalty": st.sampled_from([None, "l1", "l2"]),
        "alpha": powers_of_ten(-4, 0),
        "epsilon": epsilons,
        "batch_size": st.sampled_from([None, None, 1, 7]),
        "max_iter": st.sampled_from([20, 100]),
    },
}  # fmt: skip
SMALL_BLOCKS = 0.02  # MB of cache
WITH_TOL = (*KERNEL_MACHINES, *LINEAR_MACHINES, "Lasso", "GradientDescentRegressor")


@st.composite
def parameters(draw, family):
    chosen = {name: draw(values) for name, values in OWN_PARAMETERS[family].items()}
    if family in WITH_TOL:
        chosen["tol"] = draw(tolerances)
    if family in KERNEL_MACHINES:
        # The default limit, ten million steps for each pair of classes, would take minutes.
        chosen["max_iter"] = draw(st.sampled_from([*[100_000] * 19, 0, 1, 10]))
        chosen["solver"] = draw(rarely(Liar(), st.just("smo")))
        chosen["cache_size"] = draw(st.sampled_from([*[200] * 9, SMALL_BLOCKS]))
        chosen["trace"] = draw(rarely(True, st.just(False)))
        if chosen["trace"]:  # one that ends amid its steps must say so
            chosen["max_iter"] = draw(st.sampled_from([100_000, 1, 10, 100]))
            chosen["cache_size"] = draw(st.sampled_from([200, SMALL_BLOCKS]))
    if family in LINEAR_MACHINES:
        chosen["max_iter"] = draw(st.sampled_from([*[50] * 9, 0, 1000]))
    if family in KERNEL_MACHINES or family == "KernelRidge":
        chosen |= draw(kernel_parameters())
    if chosen.get("multi_class") == "crammer_singer":
        chosen["max_iter"] = draw(st.sampled_from([*[1000] * 3, 50]))  # the default: always enough
    elif family == "LinearSVC" and chosen["loss"] == "squared_hinge" and draw(st.booleans()):
        chosen |= {"penalty": "l1", "dual": False}
    return chosen


@st.composite
def cases(draw, family):
    chosen, X = draw(parameters(family)), draw(points())
    kernel = chosen.get("kernel")
    takes = kernel.takes if isinstance(kernel, Kernel) else "features"
    container = "C"
    if takes == "gram":
        X = _gram_of(X)
        if draw(st.integers(0, 4)) == 0:
            X = _spoiled(X, np.random.default_rng(draw(seeds)))
    if takes != "anything":  # a function of the user's gets X as it is
        fitting = DENSE_CONTAINERS if takes == "gram" else CONTAINERS
        container = draw(st.sampled_from(sorted(fitting)))
    y = None
    if family in CLASSIFIERS:
        y = draw(labels(X))
    elif family != "OneClassSVM":
        y = draw(targets(X))
    weight = None if family in WITHOUT_WEIGHT else draw(weights(len(X)))
    if family == "NuSVC" and draw(st.booleans()):
        chosen["nu"] *= smallest_share(y, weight)
    return Case(family, chosen, X, y, weight, container)


WITHOUT_WEIGHT = ("Perceptron", "GradientDescentRegressor")


def smallest_share(y, weight):
    """A factor that makes every nu feasible, unless a class has next to no weight."""
    counts = np.bincount(np.unique(y, return_inverse=True)[1], weights=weight)
    return max(0.9 * 2 * counts.min() / max(counts.min() + counts.max(), 1e-3), 1e-3)


def _spoiled(K, rng):
    """A matrix that a few of its rows make indefinite."""
    bad = rng.integers(0, len(K), 2)
    noise = rng.standard_normal((2, 2)) * np.max(np.abs(K))
    K = K.copy()
    K[np.ix_(bad, bad)] += noise + noise.T
    return (K + K.T) / 2


def _gram_of(X):
    """A Gram matrix that floats hold exactly symmetric."""
    K = X @ X.T + np.eye(len(X))
    return (K + K.T) / 2
