"""After `maxmargin.compile()` no ordinary fit compiles anything: in a process of its own it finds
all code on disk."""

import os
import subprocess
import sys

import maxmargin

FITS = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from numba.core import event
from scipy import sparse
from maxmargin import SVC, SVR, Lasso, LinearSVC, NuSVC, OneClassSVM, Ridge

compiled = []

class Listener(event.Listener):
    def on_start(self, one):
        compiled.append(one.data["dispatcher"].py_func.__qualname__)

    def on_end(self, one):
        pass

import maxmargin.compiled.numba_setup
event.register("numba:compile", Listener())
rng = np.random.default_rng(1)
for n in (50, 600, 2500):
    X = rng.standard_normal((n, 11))
    y = X[:, 1] + rng.standard_normal(n)
    for rows in (X, sparse.csr_matrix(np.where(X > 0.5, X, 0.0))):
        for model in (SVC(), SVC(kernel="poly"), NuSVC(nu=0.2), LinearSVC()):
            model.fit(rows, y > 0).predict(rows)
        SVC(C=10.0).fit(rows, np.digitize(y, [-1.0, 0.0, 1.0])).predict(rows)
        OneClassSVM(nu=0.2).fit(rows).predict(rows)
        for model in (SVR(), Ridge(), Lasso()):
            model.fit(rows, y).predict(rows)
print(*sorted(set(compiled)))
"""


def test_after_compiling_no_other_process_compiles_an_ordinary_fit():
    seen = []
    seconds = maxmargin.compile(lambda model, seconds: seen.append(seconds))
    assert sum(seen) <= seconds
    assert len(seen) > 50
    ran = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


FIT = """
import hashlib
from sklearn.datasets import make_classification
from maxmargin import SVC

X, y = make_classification(2500, 10, random_state=0)
print(hashlib.sha256(SVC().fit(X, y).dual_coef_.tobytes()).hexdigest())
"""


def test_a_process_that_compiles_finds_the_same_bytes_as_one_that_loads(tmp_path):
    def digest():
        ran = subprocess.run(
            [sys.executable, "-c", FIT], env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return ran.stdout

    assert digest() == digest()
    assert any(tmp_path.rglob("*.nbc"))
