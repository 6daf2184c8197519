"""Small files, and commands run in this process."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris, make_moons

from maxmargin.cli import main


@pytest.fixture
def maxmargin(capsys, tmp_path, monkeypatch):
    """Run a command in an empty folder: its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def moons(tmp_path):
    """A CSV file of two features and two words as classes."""
    X, y = make_moons(120, noise=0.2, random_state=0)
    path = tmp_path / "moons.csv"
    words = np.where(y == 1, "up", "down")
    rows = [f"{a!r},{b!r},{word}" for (a, b), word in zip(X.tolist(), words, strict=True)]
    path.write_text("\n".join(["left,right,kind", *rows]) + "\n")
    return path


@pytest.fixture
def iris(tmp_path):
    """An svmlight file of three classes, 1 to 3, in no order."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    path = tmp_path / "iris.svm"
    dump_svmlight_file(X[order], y[order] + 1, str(path), zero_based=False)
    return path


@pytest.fixture
def signs(tmp_path):
    """An svmlight file of two classes, -2 and 1."""
    X, y = load_iris(return_X_y=True)
    path = tmp_path / "signs.svm"
    dump_svmlight_file(X[50:], np.where(y[50:] == 1, -2, 1), str(path), zero_based=False)
    return path


@pytest.fixture
def diabetes(tmp_path):
    """An svmlight file of numbers to predict."""
    X, y = load_diabetes(return_X_y=True)
    path = tmp_path / "diabetes.svm"
    dump_svmlight_file(10 * X[:150], y[:150] / 100, str(path), zero_based=False)
    return path
