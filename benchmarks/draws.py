"""Problems that chance draws for many.py: an estimator, a set, its rows, scaling and parameters.

As a program it writes one problem, its arrays as datasets.py does and the rest as problem.json:

    python benchmarks/draws.py SEED NUMBER --out FOLDER [--data DIR] [--rows MOST]

A problem depends on these arguments alone. The sets are scikit-learn's own, loaded or made up,
and every .gz file in a folder below DIR: svmlight files, tables with the target in the last column
(.arff, .data, .tra, .tes), and IDX images beside their labels. SVR takes those of `regression`.
"""

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np
from cases import narrow_indices
from datasets import describe, read_idx, write_parts
from scipy import sparse
from sklearn import datasets as toys
from sklearn import preprocessing

LEAST_ROWS, MOST_ROWS = 500, 50_000
LEAST_TEST_ROWS, MOST_TEST_ROWS = 50, 5000
LEAST_ROWS_OF_A_CLASS = 5
# Each is drawn so often, out of a hundred times.
ESTIMATORS = {"SVC": 50, "SVR": 20, "NuSVC": 15, "OneClassSVM": 15}
KERNELS = {"rbf": 70, "linear": 15, "poly": 15}
SHARE_OF_FILES = 0.7  # The others are made up.
SHARE_OF_TWO_CLASSES = 0.4  # In so many draws the classes of a set are merged into two.
C_GRID = (0.1, 1.0, 10.0, 100.0)
NU_GRID = (0.01, 0.03, 0.1, 0.2, 0.4)
# These are multiples of one over the mean square of a row, for the RBF kernel from the mean of all
# rows, which suits most sets.
GAMMA_GRID = {"rbf": (0.1, 0.3, 1.0, 3.0, 10.0), "linear": (1.0,), "poly": (0.1, 0.3, 1.0)}
SANE = 10.0  # Sets with values up to this may stay as they are.
FULL = 0.3  # Rows that are fuller than this are never stored as sparse ones.
MOST_DENSE_FEATURES = 2000
FEWEST_FOR_UNIT_NORM = 10  # With few features, rows of one length have lost what told them apart.


def one_of(rng, choices):
    """An item; where the choices are a dictionary, its numbers say how often."""
    weights = np.array(list(choices.values()) if isinstance(choices, dict) else [1] * len(choices))
    return list(choices)[rng.choice(len(choices), p=weights / weights.sum())]


def log_uniform(rng, low, high):
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def state_of(rng):
    return int(rng.integers(2**31))


def numbers(column):
    """The column itself, or where it has words, the place of each among them."""
    try:
        return column.astype(float)
    except ValueError:
        return np.unique(column, return_inverse=True)[1]


def read_table(path):
    read = partial(np.loadtxt, path, delimiter=",", comments=["@", "%"])
    try:
        table = read()
    except ValueError:
        table = np.stack([numbers(column) for column in read(dtype=str).T], axis=1)
    return table[:, :-1], table[:, -1]


def read_images(path):
    return read_idx(path, path.with_name(path.name.replace("images-idx3", "labels-idx1")))


def reader_of(name):
    """The function that reads such a file; None where it holds no set of numbers."""
    if name.endswith((".csv.gz", "-labels-idx1-ubyte.gz")):
        return None
    if name.endswith("-images-idx3-ubyte.gz"):
        return read_images
    tables = (".arff.gz", ".data.gz", ".tra.gz", ".tes.gz")
    return read_table if name.endswith(tables) else toys.load_svmlight_file


def stored_sets(folder, regression):
    """Names and functions without arguments."""
    paths = sorted(Path(folder).glob("*/*.gz")) if folder else []
    sets = {
        path.name.removesuffix(".gz").removesuffix("-idx3-ubyte"): partial(
            reader_of(path.name), path
        )
        for path in paths
        if reader_of(path.name) and (path.parent.name == "regression") == regression
    }
    toy = {} if regression else {"digits": toys.load_digits, "cancer": toys.load_breast_cancer}
    return sets | {name: partial(load, return_X_y=True) for name, load in toy.items()}


def classification(n, rng):
    d = log_uniform(rng, 4, 400)
    return toys.make_classification(
        n, d, n_informative=max(4, d // log_uniform(rng, 1, 8)), n_redundant=0,
        n_classes=log_uniform(rng, 2, 12), n_clusters_per_class=1, class_sep=rng.uniform(0.5, 2),
        flip_y=one_of(rng, (0.0, 0.02, 0.1)), random_state=state_of(rng),
    )  # fmt: skip


def blobs(n, rng):
    d, classes, width = log_uniform(rng, 2, 100), log_uniform(rng, 2, 30), rng.uniform(1, 6)
    return toys.make_blobs(n, d, centers=classes, cluster_std=width, random_state=state_of(rng))


def quantiles(n, rng):
    d, classes = log_uniform(rng, 2, 50), log_uniform(rng, 2, 6)
    return toys.make_gaussian_quantiles(
        n_samples=n, n_features=d, n_classes=classes, random_state=state_of(rng)
    )


def words(n, rng):
    """Sparse counts; the classes are the combinations of one to three topics."""
    d, topics = log_uniform(rng, 300, 5000), log_uniform(rng, 1, 3)
    X, y = toys.make_multilabel_classification(
        n, d, length=log_uniform(rng, 20, 90), sparse=True, random_state=state_of(rng)
    )
    return X, y[:, :topics] @ 2 ** np.arange(topics)


def regression(n, rng):
    d, noise = log_uniform(rng, 4, 300), rng.uniform(1, 50)
    return toys.make_regression(n, d, n_informative=4, noise=noise, random_state=state_of(rng))


def noisy(make, n, rng, **others):
    return make(n_samples=n, noise=rng.uniform(0.05, 0.5), random_state=state_of(rng), **others)


MADE_UP_CLASSES = {
    "classification": classification,
    "blobs": blobs,
    "quantiles": quantiles,
    "words": words,
    "moons": partial(noisy, toys.make_moons),
    "circles": partial(noisy, toys.make_circles, factor=0.5),
    "hastie": lambda n, rng: toys.make_hastie_10_2(n, random_state=state_of(rng)),
}
MADE_UP_REGRESSION = {
    "regression": regression,
    "friedman1": partial(noisy, toys.make_friedman1),
    "friedman2": partial(noisy, toys.make_friedman2),
    "friedman3": partial(noisy, toys.make_friedman3),
    "swiss roll": partial(noisy, toys.make_swiss_roll),
}


def draw_set(rng, n, folder, for_regression):
    """A name, then n rows to learn from and some to predict; what does not serve is drawn anew."""
    stored = stored_sets(folder, for_regression)
    made_up = MADE_UP_REGRESSION if for_regression else MADE_UP_CLASSES
    while True:
        is_stored = rng.random() < SHARE_OF_FILES and stored
        name = one_of(rng, tuple(stored if is_stored else made_up))
        X, y = stored[name]() if is_stored else made_up[name](n + min(n, MOST_TEST_ROWS), rng)
        if len(y) < n + LEAST_TEST_ROWS:
            continue
        rows = rng.permutation(len(y))[: n + MOST_TEST_ROWS]
        learned, asked = rows[:n], rows[n:]
        if for_regression:
            y = (y - y.mean()) / y.std()
        else:
            y, learned, asked = draw_classes(rng, y, learned, asked)
        if len(np.unique(y[learned])) > 1:
            return name, (X[learned], y[learned], X[asked], y[asked])


def draw_classes(rng, y, learned, asked):
    """Without the rows of classes that are too rare; some draws merge the others into two."""
    y = np.unique(y, return_inverse=True)[1]
    often = np.flatnonzero(np.bincount(y[learned]) >= LEAST_ROWS_OF_A_CLASS)
    learned, asked = (rows[np.isin(y[rows], often)] for rows in (learned, asked))
    if len(often) > 2 and rng.random() < SHARE_OF_TWO_CLASSES:
        y = np.isin(y, rng.permutation(often)[: rng.integers(1, len(often))]).astype(int)
    return y, learned, asked


def draw_storage(rng, X, X_test):
    """Both parts as sparse or as dense rows, whichever makes sense, or either where both do."""
    filled = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    is_sparse = filled < FULL * np.prod(X.shape) and rng.random() < 0.5
    if is_sparse or X.shape[1] > MOST_DENSE_FEATURES:
        return tuple(narrow_indices(part).astype(float) for part in (X, X_test))
    dense = (part.toarray() if sparse.issparse(part) else part for part in (X, X_test))
    return tuple(np.ascontiguousarray(part, dtype=float) for part in dense)


def draw_scaling(rng, X):
    """The name of a scaling and what does it; sparse rows get none that would fill them."""
    scalings = {"max-abs": preprocessing.MaxAbsScaler()}
    if X.shape[1] >= FEWEST_FOR_UNIT_NORM:
        scalings["unit norm"] = preprocessing.Normalizer()
    if not sparse.issparse(X):
        scalings["standardised"] = preprocessing.StandardScaler()
        scalings["min-max"] = preprocessing.MinMaxScaler()
    if abs(X).max() <= SANE:
        scalings["as it is"] = preprocessing.FunctionTransformer(accept_sparse=True)
    name = one_of(rng, scalings.keys())
    return name, scalings[name]


def draw_parameters(rng, estimator, X, y):
    has_nu = estimator in ("NuSVC", "OneClassSVM")
    # With a kernel that cannot tell all points apart, a small nu leaves no margin to maximise.
    kernel = "rbf" if has_nu else one_of(rng, KERNELS)
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = (X.multiply(X) if sparse.issparse(X) else X * X).sum() / X.shape[0]
    if kernel == "rbf":
        squares -= mean @ mean
    gamma = float(f"{one_of(rng, GAMMA_GRID[kernel]) / squares:.3g}")
    parameters = {"kernel": kernel, "gamma": gamma}
    if kernel == "poly":
        parameters |= {"degree": one_of(rng, (2, 3)), "coef0": one_of(rng, (0.0, 1.0))}
    if not has_nu:
        return parameters | {"C": one_of(rng, C_GRID)}
    sizes = np.unique(y, return_counts=True)[1] if estimator == "NuSVC" else np.ones(1)
    return parameters | {"nu": draw_nu(rng, sizes)}


def draw_nu(rng, sizes):
    """One that classes of such sizes allow; where none of the grid is, half of the largest."""
    largest = float(2 * sizes.min() / (sizes.min() + sizes.max()))
    return one_of(rng, [nu for nu in NU_GRID if nu < largest] or [largest / 2])


def draw(seed, number, folder, most_rows=MOST_ROWS):
    """What describes a problem, and its arrays: X_train, y_train, X_test, y_test."""
    rng = np.random.default_rng([seed, number])
    estimator, n = one_of(rng, ESTIMATORS), log_uniform(rng, LEAST_ROWS, most_rows)
    name, (X, y, X_test, y_test) = draw_set(rng, n, folder, estimator == "SVR")
    X, X_test = draw_storage(rng, X, X_test)
    scaling, scaler = draw_scaling(rng, X)
    X, X_test = scaler.fit_transform(X), scaler.transform(X_test)
    problem = {
        "number": number,
        "set": name,
        "shape": describe(X, y, X_test, y_test),
        "storage": "sparse" if sparse.issparse(X) else "dense",
        "scaling": scaling,
        "estimator": estimator,
        "parameters": draw_parameters(rng, estimator, X, y),
    }
    return problem, (X, y, X_test, y_test)


def main():
    parser = argparse.ArgumentParser(description="Write one problem that the seed draws.")
    parser.add_argument("seed", type=int)
    parser.add_argument("number", type=int)
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--data", metavar="DIR")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, metavar="MOST")
    options = parser.parse_args()
    problem, arrays = draw(options.seed, options.number, options.data, options.rows)
    write_parts(arrays, options.out)
    (options.out / "problem.json").write_text(json.dumps(problem))


if __name__ == "__main__":
    main()
