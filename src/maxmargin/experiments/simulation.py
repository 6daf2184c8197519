"""Three simulated sets, the exact Gaussian kernel, and two solvers for the same machine."""

import re
from collections.abc import Mapping

from sklearn.model_selection import train_test_split

from maxmargin.datasets import make_circles, make_gaussian_mixture, make_moons
from maxmargin.displays import BoundaryDisplay, ConvergenceDisplay
from maxmargin.displays.convergence import LEARNING
from maxmargin.estimators.svc import SVC
from maxmargin.experiments.machines import (
    GAMMA,
    C,
    comparison,
    random_pair_machine,
    scores,
    whole_seed,
)
from maxmargin.experiments.pages import Page, percent

MAKERS = {"Gaussian mixture": make_gaussian_mixture, "moons": make_moons, "circles": make_circles}
TEST_SHARE = 1 / 3
ROUNDS = 10_000

BEGINNING = """
An SVM with the Gaussian kernel exp(-gamma |x - z|²), C = {C:g} and gamma = {gamma:g}, on data of
two features that no line separates. Two solvers find it: the default one, and random-pair SMO,
which moves N/2 pairs of multipliers drawn at random per iteration, until the optimality
conditions hold within tol = {tol:g} and hardly anything moves. A third of each set is kept for
the test.

## The machines
"""
SURFACES = """
Every boundary bends around its class. The points away from it play no part: only those with a
ring carry a multiplier. Squares have alpha = C, they are inside the margin or beyond it; circles
lie on it. A C as small as this lets many points inside, which keeps the surface smooth where the
classes mix.

## Two solvers, one model
"""
CURVES = """
Accuracy and loss settle early. The movement, sum |change of alpha| + |change of b|, goes on
falling long after: the last pairs that violate the conditions are hard to hit by chance. Choosing
the pair is what makes a solver fast.
"""


def run(folder, data=None, random_state=0, *, n_samples=300, C=C, gamma=GAMMA, quick=False):
    """Fit an SVM with the Gaussian kernel to each set, by the default solver and by random pairs.

    Parameters
    ----------
    folder : str or Path
        The folder for `report.md`, `results.json` and the pictures.
    data : dict from str to (X, y), optional
        Sets of two features and two classes in place of the simulated ones.
    random_state : int, Generator, RandomState or None, default=0
    n_samples : int, default=300
        The size of each simulated set; a third of it is kept for the test.
    C, gamma : float, default=0.6 and 2
    quick : bool, default=False
        Smaller sets, for a first look.

    Returns
    -------
    results : dict
        The content of `results.json`; `results["sets"]` has an entry per set.
    """
    seed = whole_seed(random_state)
    n_samples = min(n_samples, 90) if quick else n_samples
    page = Page(folder, "Three simulated sets and the exact kernel")
    found, pictures = {}, []
    for name, (X, y) in sets_of(data, n_samples, seed).items():
        parts = split(X, y, seed)
        X_train, _, y_train, _ = parts
        fast = SVC(C=C, gamma=gamma).fit(X_train, y_train)
        slow = random_pair_machine(X_train, y_train, C, gamma, seed, ROUNDS)
        found[name] = {
            "train_rows": len(y_train),
            "test_rows": len(parts[3]),
            **scores(fast, *parts),
            "support_vectors": fast.n_support_.sum(),
            "objective": fast.certificate_.dual_objective,
            "kkt_violation": fast.certificate_.kkt_violation,
            "random_pairs": scores(slow, *parts) | comparison(fast, slow, X),
        }
        pictures.append((name, fast, slow, X_train, y_train))
    parameters = {"C": C, "gamma": gamma, "tol": SVC().tol, "random_state": seed}
    _write(page, found, pictures, parameters)
    return page.finish({"experiment": "simulation", "parameters": parameters, "sets": found})


def sets_of(data, n_samples, seed):
    """The sets by name: those given, or the three simulated ones."""
    if data is None:
        return {name: make(n_samples, random_state=seed) for name, make in MAKERS.items()}
    if not isinstance(data, Mapping):
        raise TypeError(
            "experiments: data must be a dict from the name of each set to its (X, y), "
            f"got {type(data).__name__}."
        )
    return data


def split(X, y, seed):
    """X of training and test, and y of training and test, with the same share of each class."""
    return train_test_split(X, y, test_size=TEST_SHARE, stratify=y, random_state=seed)


def file_name(kind, name):
    return f"{kind}_{re.sub(r'[^a-z0-9]+', '_', name.lower())}.png"


def _write(page, found, pictures, parameters):
    page.say(BEGINNING, **parameters)
    _tabulate_machines(page, found)
    for name, fast, _, X, y in pictures:
        display = BoundaryDisplay.from_estimator(fast, X, y)
        page.show(display.figure_, file_name("boundary", name), f"Decision surface, {name}")
    page.say(SURFACES)
    _tabulate_solvers(page, found)
    for name, _, slow, _, _ in pictures:
        display = ConvergenceDisplay.from_estimator(slow, quantities=LEARNING)
        words = f"Accuracy, loss and movement per iteration of random-pair SMO, {name}"
        page.show(display.figure_, file_name("curves", name), words)
    page.say(CURVES)


def _tabulate_machines(page, found):
    page.tabulate(
        ("set", "rows", "train accuracy", "test accuracy", "support vectors", "dual objective"),
        [
            (name, one["train_rows"], percent(one["train_accuracy"]), percent(one["test_accuracy"]),
             one["support_vectors"], f"{one['objective']:.6f}")
            for name, one in found.items()
        ],
    )  # fmt: skip


def _tabulate_solvers(page, found):
    rows = []
    for name, one in found.items():
        pairs = one["random_pairs"]
        rows.append(
            (name, pairs["iterations"], pairs["pairs_moved"], percent(pairs["test_accuracy"]),
             f"{pairs['relative_difference_of_objectives']:.1e}",
             f"{pairs['largest_difference_of_decisions']:.1e}", f"{pairs['kkt_violation']:.1e}")
        )  # fmt: skip
    page.tabulate(
        ("set", "iterations", "pairs moved", "test accuracy", "objective short of the default's by",
         "decisions differ by", "KKT violation"),
        rows,
    )  # fmt: skip
