"""Where the error of a polynomial comes from, as its degree grows.

    python examples/plot_bias_variance.py [folder]

A line is too stiff for a sine (bias), a polynomial of degree ten follows every accident of the
sample (variance); the noise is there for all of them.
"""

import numpy as np
from pictures import folder_asked_for, write
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from maxmargin import LinearRegression
from maxmargin.displays import BiasVarianceDisplay
from maxmargin.inspection import bias_variance_curve


def truth(X):
    return np.sin(3.0 * X[:, 0])


def draw(rng):
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    return X, truth(X) + 0.4 * rng.standard_normal(len(X))


def main(folder):
    model = make_pipeline(PolynomialFeatures(include_bias=False), LinearRegression())
    degrees = range(1, 11)
    curve = bias_variance_curve(
        model, draw, truth, param_name="polynomialfeatures__degree", param_range=degrees
    )
    display = BiasVarianceDisplay.from_curve(curve, degrees, param_name="degree of the polynomial")
    write(display.figure_, folder / "bias_variance.png")


if __name__ == "__main__":
    main(folder_asked_for())
