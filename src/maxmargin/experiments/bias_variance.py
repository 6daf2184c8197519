"""Bias against variance: along the degree of a polynomial, and along the price of its weights."""

import numpy as np
from sklearn.pipeline import make_pipeline

from maxmargin.displays import BiasVarianceDisplay
from maxmargin.estimators.feature_maps import PolynomialMap
from maxmargin.estimators.linear import LinearRegression, Ridge
from maxmargin.experiments.machines import whole_seed
from maxmargin.experiments.pages import Page
from maxmargin.inspection import bias_variance_curve

N_POINTS, NOISE = 30, 0.4
DEGREES = tuple(range(1, 13))
ALPHAS = tuple(10.0 ** np.arange(-5, 3))
RIDGE_DEGREE = 12
PARTS = ("noise", "bias2", "variance", "error")

BEGINNING = """
The same model is fitted to {n_draws} training sets drawn from {source}. The mean squared error on
new targets is noise + bias² + variance: what no model can know, how far the mean prediction is
from the truth, and how much a prediction depends on the accident of its training set.

## Along the degree of a polynomial
"""
OF_DEGREE = """
A higher degree lowers the bias and raises the variance; their sum is least at degree {best},
where it is {least:.4f}. The circles are errors measured on data that no part of the sum has seen.

## Along alpha of ridge regression, at degree {ridge_degree}
"""
OF_ALPHA = """
Read from right to left it is the same picture: a smaller alpha is a freer model. The sum is least
at alpha = {best:g}, where it is {least:.4f}. Shrinking the weights of a polynomial that is too
rich does what leaving out its powers does, without steps.
"""


def truth(X):
    return np.sin(4.0 * X[:, 0] + 0.5)


def draw(rng):
    """A training set: the curve at fixed places, with noise."""
    X = np.linspace(-1.0, 1.0, N_POINTS)[:, None]
    return X, truth(X) + NOISE * rng.standard_normal(N_POINTS)


def run(
    folder,
    data=None,
    random_state=0,
    *,
    degrees=DEGREES,
    alphas=ALPHAS,
    ridge_degree=RIDGE_DEGREE,
    n_draws=200,
    quick=False,
):
    """Measure noise, bias and variance over the degree and over ridge's alpha.

    Parameters
    ----------
    folder : str or Path
        The folder for `report.md`, `results.json` and the pictures.
    data : pair of callables, optional
        `draw(rng)`, which returns a new training set X, y, and `truth(X)`, the mean of y. They take
        the place of a sine with noise.
    random_state : int, Generator, RandomState or None, default=0
    degrees : sequence of int
        The degrees of the polynomial that least squares fits.
    alphas : sequence of float
        The alphas of ridge regression on a polynomial of `ridge_degree`.
    ridge_degree : int, default=12
    n_draws : int, default=200
        Training sets per value.
    quick : bool, default=False
        Fewer draws and values, for a first look.

    Returns
    -------
    results : dict
        The content of `results.json`; `results["degree"]` and `results["alpha"]` hold a list for
        each part, the value with the smallest sum as "best", and that sum as "least".
    """
    seed = whole_seed(random_state)
    if quick:
        degrees, alphas, n_draws = degrees[::3], alphas[::2], min(n_draws, 40)
    page = Page(folder, "Bias and variance")
    polynomial = make_pipeline(PolynomialMap(), LinearRegression(fit_intercept=False))
    shrunk = make_pipeline(PolynomialMap(degree=ridge_degree), Ridge())
    found, figures = {}, {}
    for name, model, parameter, values, words in (
        ("degree", polynomial, "polynomialmap__degree", degrees, "degree of the polynomial"),
        ("alpha", shrunk, "ridge__alpha", alphas, "alpha of ridge regression"),
    ):
        along = {"param_name": parameter, "param_range": values}
        along |= {"n_draws": n_draws, "random_state": seed}
        curve = bias_variance_curve(model, *(data or (draw, truth)), **along)
        display = BiasVarianceDisplay.from_curve(curve, values, param_name=words)
        found[name] = {"values": values, "best": values[int(np.argmin(display.sum))]}
        found[name] |= {"least": display.sum.min()}
        found[name] |= {part: getattr(display, part) for part in PARTS}
        figures[name] = display.figure_
    parameters = {"n_draws": n_draws, "ridge_degree": ridge_degree, "random_state": seed}
    _write(page, found, figures, data is None, parameters)
    return page.finish({"experiment": "bias_variance", "parameters": parameters, **found})


def _write(page, found, figures, is_sine, parameters):
    sine = f"a sine at {N_POINTS} places with noise of standard deviation {NOISE:g}"
    page.say(BEGINNING, source=sine if is_sine else "the data given", **parameters)
    for name, words in (("degree", OF_DEGREE), ("alpha", OF_ALPHA)):
        one = found[name]
        _tabulate(page, one, name)
        page.show(figures[name], f"{name}.png", f"Noise, bias and variance over {name}")
        page.say(words, best=one["best"], least=one["least"], **parameters)


def _tabulate(page, one, name):
    columns = zip(one["values"], *(one[part] for part in PARTS), strict=True)
    page.tabulate(
        (name, "noise", "bias²", "variance", "their sum", "measured error"),
        [
            (f"{value:g}", *(f"{part:.4f}" for part in (*parts, sum(parts), error)))
            for value, *parts, error in columns
        ],
    )
