"""Random Fourier features in place of the kernel: what is lost, and how the error falls."""

import numpy as np
from sklearn.pipeline import make_pipeline

from maxmargin.displays import BoundaryDisplay
from maxmargin.displays.drawing import INK, colour_of, legend_beside, marker_of, tidy
from maxmargin.estimators.kernel_approximation import RandomFourierFeatures
from maxmargin.estimators.svc import SVC
from maxmargin.experiments.machines import GAMMA, C, scores, whole_seed
from maxmargin.experiments.pages import Page, panels, percent
from maxmargin.experiments.simulation import file_name, sets_of, split
from maxmargin.kernels import RBF

SIZES = (10, 20, 50, 100, 200, 500, 1000)

BEGINNING = """
The Gaussian kernel with gamma = {gamma:g} is replaced by D = {n_components} features sqrt(2/D)
cos(w.x + b), with w drawn from a normal distribution and b uniformly: their products average to
the kernel. On them a linear SVM with C = {C:g} is fitted. It needs D numbers per prediction,
however many support vectors the exact machine would keep.

## Accuracy beside the exact kernel
"""
SURFACES = """
Near the data the surfaces are those of the exact kernel. Far from it they are not: the exact one
falls back to b, the waves go on.

## How the error falls with D
"""
RATE = """
The error is the root mean square over all pairs of training points and all {n_draws} draws. On
logarithmic scales it follows the line of 1/sqrt(D) that theory predicts; the slopes are {slopes},
where -0.50 is expected. Four times the features halve the error. Long before it is gone the
accuracy is near that of the exact machine (dotted).
"""


def run(
    folder,
    data=None,
    random_state=0,
    *,
    n_samples=300,
    n_components=200,
    sizes=SIZES,
    n_draws=10,
    C=C,
    gamma=GAMMA,
    quick=False,
):
    """Fit a linear SVM on random Fourier features beside the exact one, and measure the error.

    Parameters
    ----------
    folder : str or Path
        The folder for `report.md`, `results.json` and the pictures.
    data : dict from str to (X, y), optional
        Sets of two features and two classes in place of the simulated ones.
    random_state : int, Generator, RandomState or None, default=0
    n_samples : int, default=300
        The size of each simulated set; a third of it is kept for the test.
    n_components : int, default=200
        D, the number of features of the machine that is shown.
    sizes : sequence of int
        The values of D along which error and accuracy are measured.
    n_draws : int, default=10
        Random maps per value.
    C, gamma : float, default=0.6 and 2
    quick : bool, default=False
        Smaller sets and fewer draws, for a first look.

    Returns
    -------
    results : dict
        The content of `results.json`; `results["sets"]` has an entry per set.
    """
    seed = whole_seed(random_state)
    if quick:
        n_samples, sizes, n_draws = min(n_samples, 120), sizes[::3], min(n_draws, 4)
    page = Page(folder, f"Three simulated sets and {n_components} random Fourier features")
    found, pictures = {}, []
    for name, (X, y) in sets_of(data, n_samples, seed).items():
        parts = split(X, y, seed)
        exact = SVC(C=C, gamma=gamma).fit(parts[0], parts[2])
        machine = _on_features(parts, C, gamma, n_components, seed)
        found[name] = {
            "train_rows": len(parts[2]),
            "test_rows": len(parts[3]),
            "exact": scores(exact, *parts),
            "approximate": scores(machine, *parts),
            "along_d": _along(parts, C, gamma, sizes, n_draws, seed),
        }
        pictures.append((name, machine, parts[0], parts[2]))
    parameters = {"C": C, "gamma": gamma, "n_components": n_components, "sizes": sizes,
                  "n_draws": n_draws, "random_state": seed}  # fmt: skip
    _write(page, found, pictures, parameters)
    return page.finish({"experiment": "approximation", "parameters": parameters, "sets": found})


def _on_features(parts, C, gamma, D, seed):
    features = RandomFourierFeatures(gamma=gamma, n_components=D, random_state=seed)
    return make_pipeline(features, SVC(kernel="linear", C=C)).fit(parts[0], parts[2])


def _along(parts, C, gamma, sizes, n_draws, seed):
    """The error of the Gram matrix and the test accuracy over D, each from several draws."""
    X, X_test, _, y_test = parts
    K = RBF(gamma=gamma)(X)
    errors, accuracies = [], []
    for D in sizes:
        squares, rights = [], []
        for draw in range(n_draws):
            machine = _on_features(parts, C, gamma, D, seed + draw)
            Z = machine[0].transform(X)
            squares.append(np.mean((Z @ Z.T - K) ** 2))
            rights.append(machine.score(X_test, y_test))
        errors.append(np.sqrt(np.mean(squares)))
        accuracies.append(np.mean(rights))
    # The variance of one product of features is 1 + K^4 / 2 - K^2 (docs/theory/random_features.md).
    scale = np.sqrt(np.mean(1 + K**4 / 2 - K**2))
    return {
        "sizes": list(sizes),
        "gram_error": errors,
        "predicted_error": scale / np.sqrt(sizes),
        "slope": np.polyfit(np.log(sizes), np.log(errors), 1)[0],
        "test_accuracy": accuracies,
    }


def _write(page, found, pictures, parameters):
    D = parameters["n_components"]
    page.say(BEGINNING, **parameters)
    _tabulate_accuracy(page, found, D)
    for name, machine, X, y in pictures:
        display = BoundaryDisplay.from_estimator(machine, X, y)
        page.show(display.figure_, file_name("boundary", name), f"{name}: {D} features")
    page.say(SURFACES)
    _tabulate_error(page, found)
    page.show(_draw_along(found), "error.png", "Error of the Gram matrix and accuracy over D")
    slopes = ", ".join(f"{one['along_d']['slope']:.2f} ({name})" for name, one in found.items())
    page.say(RATE, slopes=slopes, **parameters)


def _tabulate_accuracy(page, found, D):
    rows = [
        (name, *(percent(one[machine][score]) for score in ("train_accuracy", "test_accuracy")
                 for machine in ("exact", "approximate")))
        for name, one in found.items()
    ]  # fmt: skip
    page.tabulate(
        ("set", "train, exact", f"train, {D} features", "test, exact", f"test, {D} features"), rows
    )


def _tabulate_error(page, found):
    rows = []
    for name, one in found.items():
        along = one["along_d"]
        columns = along["sizes"], along["gram_error"], along["predicted_error"]
        for D, error, predicted, accuracy in zip(*columns, along["test_accuracy"], strict=True):
            rows.append((name, D, f"{error:.4f}", f"{predicted:.4f}", percent(accuracy)))
    page.tabulate(("set", "D", "error of the Gram matrix", "predicted", "test accuracy"), rows)


def _draw_along(found):
    left, right = panels(1, 2, (11.0, 4.2))
    for position, (name, one) in enumerate(found.items()):
        along, colour = one["along_d"], colour_of(position)
        look = {"color": colour, "marker": marker_of(position), "markersize": 5}
        left.loglog(along["sizes"], along["gram_error"], linestyle="none", **look)
        left.loglog(along["sizes"], along["predicted_error"], color=colour, linewidth=1.0)
        right.semilogx(along["sizes"], along["test_accuracy"], label=name, **look)
        right.axhline(one["exact"]["test_accuracy"], color=colour, linestyle=":", linewidth=1.2)
    left.plot([], [], color=INK, linewidth=1.0, label="predicted, falls as 1/√D")
    left.plot([], [], color=INK, marker="o", linestyle="none", label="measured")
    left.legend(frameon=False)
    left.set(xlabel="D, number of features", ylabel="error of the Gram matrix")
    right.set(xlabel="D, number of features", ylabel="test accuracy")
    tidy(left)
    tidy(right)
    legend_beside(right)
    return left.figure
