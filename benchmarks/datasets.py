"""The benchmark's data sets: how each is read from the data folder, and how it is fitted.

As a program it writes one set as .npy files, which the workers load:

    python benchmarks/datasets.py a9a --data DIR --out FOLDER [--rows N]
"""

import argparse
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

TRAIN_SHARE = 0.8
COVTYPE_NUMERIC_COLUMNS = 10
COVTYPE_POSITIVE_CLASS = 2
COVTYPE_TRAIN_ROWS = 50_000
COVTYPE_TEST_ROWS = 10_000
MNIST_TRAIN_ROWS = 20_000
IDX_IMAGE_HEADER, IDX_LABEL_HEADER = 16, 8


@dataclass(frozen=True)
class DataSet:
    """A set, and the parameters every library fits it with. quick_rows: its size in --quick."""

    name: str
    files: tuple[str, ...]
    load: Callable
    C: float
    gamma: float
    kernel: str = "rbf"
    estimator: str = "SVC"
    others: dict = field(default_factory=dict)
    in_quick: bool = False
    quick_rows: int | None = None

    @property
    def parameters(self):
        """What every library's estimator is given; nu replaces C where there is one."""
        price = {} if self.estimator in ("NuSVC", "OneClassSVM") else {"C": self.C}
        return {"kernel": self.kernel, "gamma": self.gamma, **price, **self.others}

    def missing_files(self, data_folder):
        return [name for name in self.files if not (Path(data_folder) / name).is_file()]

    def arrays(self, data_folder, rows=None):
        """X_train, y_train, X_test, y_test; only the first `rows` of the training part."""
        paths = [Path(data_folder) / name for name in self.files]
        X_train, y_train, X_test, y_test = self.load(*paths)
        parts = X_train[:rows], y_train[:rows], X_test, y_test
        return tuple(np.ascontiguousarray(part) for part in parts)


def _read_svmlight(path, n_features=None):
    X, y = load_svmlight_file(str(path), n_features=n_features)
    return X.toarray(), y.astype(np.int64)


def _load_with_test_file(train_path, test_path):
    X_train, y_train = _read_svmlight(train_path)
    # A test file may not reach the last feature, so the width is the training file's.
    return X_train, y_train, *_read_svmlight(test_path, n_features=X_train.shape[1])


def _load_and_split(path):
    X, y = _read_svmlight(path)
    order = np.random.RandomState(0).permutation(len(y))
    n_train = int(TRAIN_SHARE * len(y))
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]


def _load_covtype(path):
    with gzip.open(path, "rt") as stream:
        table = np.loadtxt(stream, delimiter=",", dtype=np.int32)
    X = table[:, :-1].astype(np.float64)
    y = np.where(table[:, -1] == COVTYPE_POSITIVE_CLASS, 1, -1)
    numeric = X[:, :COVTYPE_NUMERIC_COLUMNS]
    X[:, :COVTYPE_NUMERIC_COLUMNS] = (numeric - numeric.mean(axis=0)) / numeric.std(axis=0)
    order = np.random.RandomState(0).permutation(len(y))
    train, rest = order[:COVTYPE_TRAIN_ROWS], order[COVTYPE_TRAIN_ROWS:]
    test = rest[:COVTYPE_TEST_ROWS]
    return X[train], y[train], X[test], y[test]


def read_idx(images_path, labels_path, rows=None):
    images = np.frombuffer(gzip.decompress(images_path.read_bytes()), np.uint8)[IDX_IMAGE_HEADER:]
    labels = np.frombuffer(gzip.decompress(labels_path.read_bytes()), np.uint8)[IDX_LABEL_HEADER:]
    return images.reshape(len(labels), -1)[:rows] / 255.0, labels[:rows].astype(np.int64)


def _load_mnist(train_images, train_labels, test_images, test_labels):
    train = read_idx(train_images, train_labels, MNIST_TRAIN_ROWS)
    return *train, *read_idx(test_images, test_labels)


def load_whole_mnist(folder):
    """All 60000 training rows, and the 10000 to predict."""
    paths = [Path(folder) / name for name in MNIST_FILES]
    return *read_idx(*paths[:2]), *read_idx(*paths[2:])


def _read_rows(path, convert):
    """The data lines of an ARFF or CSV file, as numbers."""
    with gzip.open(path, "rt") as lines:
        lines = [line.strip() for line in lines]
    first = next((k + 1 for k, line in enumerate(lines) if line.lower() == "@data"), 0)
    return np.array([convert(line.split(",")) for line in lines[first:] if line], dtype=float)


def _split_regression(table):
    """Standardised features and target (the last column), first 80 % of a permutation to train."""
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    order = np.random.RandomState(0).permutation(len(table))
    cut = int(TRAIN_SHARE * len(table))
    train, test = table[order[:cut]], table[order[cut:]]
    return train[:, :-1], train[:, -1], test[:, :-1], test[:, -1]


def _load_table(path):
    return _split_regression(_read_rows(path, lambda cells: cells))


def _load_abalone(path):
    sexes = {"M": [1, 0, 0], "F": [0, 1, 0], "I": [0, 0, 1]}
    return _split_regression(_read_rows(path, lambda cells: [*sexes[cells[0]], *cells[1:]]))


def _load_scaled(train_path, test_path):
    """Every feature brought to [0, 1] by the training part."""
    X_train, y_train, X_test, y_test = _load_with_test_file(train_path, test_path)
    low, high = X_train.min(axis=0), X_train.max(axis=0)
    return (X_train - low) / (high - low), y_train, (X_test - low) / (high - low), y_test


MNIST_FILES = (
    "mnist/train-images-idx3-ubyte.gz",
    "mnist/train-labels-idx1-ubyte.gz",
    "mnist/t10k-images-idx3-ubyte.gz",
    "mnist/t10k-labels-idx1-ubyte.gz",
)

_TABLE = (
    DataSet(
        "a9a",
        ("binary/a9a.gz", "binary/a9a.t.gz"),
        _load_with_test_file,
        C=1,
        gamma=0.03,
        in_quick=True,
        quick_rows=8_000,
    ),
    DataSet("w8a", ("binary/w8a.gz",), _load_and_split, C=10, gamma=0.1),
    DataSet(
        "ijcnn1",
        ("binary/ijcnn1.gz",),
        _load_and_split,
        C=32,
        gamma=2,
        in_quick=True,
        quick_rows=15_000,
    ),
    DataSet(
        "cod-rna",
        ("binary/cod-rna.std.gz",),
        _load_and_split,
        C=32,
        gamma=0.5,
        in_quick=True,
        quick_rows=10_000,
    ),
    DataSet("covtype", ("multiclass/covtype.data.gz",), _load_covtype, C=10, gamma=1),
    DataSet("mnist", MNIST_FILES, _load_mnist, C=10, gamma=0.02),
    DataSet(
        "letter",
        ("multiclass/letter.scale.gz", "multiclass/letter.scale.t.gz"),
        _load_with_test_file,
        C=16,
        gamma=2,
    ),
    DataSet(
        "usps",
        ("multiclass/usps.gz", "multiclass/usps.t.gz"),
        _load_with_test_file,
        C=10,
        gamma=1 / 128,
        in_quick=True,
    ),
    DataSet(
        "svr-cal_housing",
        ("regression/cal_housing.arff.gz",),
        _load_table,
        C=1,
        gamma=0.125,
        estimator="SVR",
    ),
    DataSet(
        "svr-cpu_small",
        ("regression/cpu_small.arff.gz",),
        _load_table,
        C=1,
        gamma=1 / 12,
        estimator="SVR",
    ),
    DataSet(
        "svr-abalone",
        ("regression/abalone.data.gz",),
        _load_abalone,
        C=1,
        gamma=0.1,
        estimator="SVR",
        in_quick=True,
    ),
    *(
        DataSet(
            f"{estimator.lower()}-{name}",
            (f"{folder}/{name}.gz", f"{folder}/{name}.t.gz"),
            load,
            C=1,
            gamma=gamma,
            estimator=estimator,
            others={"nu": nu},
        )
        for estimator in ("NuSVC", "OneClassSVM")
        for name, folder, load, gamma, nu in (
            ("svmguide1", "binary", _load_scaled, 2, 0.1),
            ("usps", "multiclass", _load_with_test_file, 1 / 128, 0.05),
        )
    ),
)

DATA_SETS = {data_set.name: data_set for data_set in _TABLE}
PARTS = ("X_train", "y_train", "X_test", "y_test")


def write_parts(arrays, folder):
    for name, array in zip(PARTS, arrays, strict=True):
        if sparse.issparse(array):
            sparse.save_npz(Path(folder) / f"{name}.npz", array)
        else:
            np.save(Path(folder) / f"{name}.npy", array)


def read_part(folder, name):
    path = Path(folder) / f"{name}.npz"
    return sparse.load_npz(path) if path.exists() else np.load(path.with_suffix(".npy"))


def describe(X_train, y_train, X_test, y_test):
    return {
        "train_rows": len(y_train),
        "test_rows": len(y_test),
        "features": X_train.shape[1],
        "classes": len(np.unique(y_train)),
    }


def _command_line():
    parser = argparse.ArgumentParser(description="Write one data set as .npy files.")
    parser.add_argument("name", choices=DATA_SETS)
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--out", required=True, metavar="FOLDER")
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N training rows")
    return parser.parse_args()


def main():
    options = _command_line()
    arrays = DATA_SETS[options.name].arrays(options.data, options.rows)
    write_parts(arrays, options.out)
    shape_file = Path(options.out) / "shape.json"
    shape_file.write_text(json.dumps(describe(*arrays)))


if __name__ == "__main__":
    main()
