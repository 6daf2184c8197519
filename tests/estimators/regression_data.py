"""Three real data sets for the tests of linear models: y, and features of mean 0 and variance 1.

They are read from the folder MAXMARGIN_DATA, or from `../shared/data` beside the repository; a test
that asks for one that is not there is skipped.
"""

import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

BESIDE = Path(__file__).parents[3] / "shared" / "data"


def abalone():
    """4177 x 8, correlated measures of a shell; the sex is -1, 0 or 1."""
    return _copies(_abalone(_file("regression/abalone.data.gz")))


def cal_housing():
    """20640 x 8."""
    return _copies(_cal_housing(_file("regression/cal_housing.arff.gz")))


def leu():
    """38 x 7129: far more features than points. The labels serve as targets."""
    return _copies(_leu(_file("binary/leu.gz")))


def _file(name):
    path = Path(os.environ.get("MAXMARGIN_DATA", BESIDE)) / name
    if not path.exists():
        pytest.skip(f"{path.name} is not there; set MAXMARGIN_DATA to the data folder")
    return path


@cache
def _abalone(path):
    with gzip.open(path, "rt") as lines:
        cells = [line.split(",") for line in lines if line.strip()]
    sexes = {"F": -1.0, "I": 0.0, "M": 1.0}
    rows = np.array([[sexes[sex], *map(float, rest)] for sex, *rest in cells])
    return _standardised(rows[:, :-1]), rows[:, -1]


@cache
def _cal_housing(path):
    with gzip.open(path, "rt") as lines:
        cells = [line.split(",") for line in lines if line[0] not in "%@" and line.strip()]
    rows = np.array(cells, dtype=np.float64)
    return _standardised(rows[:, :-1]), rows[:, -1]


@cache
def _leu(path):
    X, y = load_svmlight_file(str(path))
    return _standardised(X.toarray()), y


def _standardised(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _copies(data):
    """A test may write to what it gets."""
    return tuple(part.copy() for part in data)
