"""A one-class SVM around two moons, for two values of nu.

    python examples/plot_one_class.py [folder]

nu is the share of points that may lie outside, at most, and of support vectors, at least.
"""

from matplotlib import pyplot
from pictures import folder_asked_for, write

from maxmargin import OneClassSVM
from maxmargin.datasets import make_moons
from maxmargin.displays import BoundaryDisplay


def main(folder):
    X, _ = make_moons(150, noise=0.12)
    figure, axes = pyplot.subplots(2, 1, figsize=(8, 8), sharex=True, layout="constrained")
    for ax, nu in zip(axes, (0.1, 0.5), strict=True):
        model = OneClassSVM(nu=nu, gamma=3.0).fit(X)
        display = BoundaryDisplay.from_estimator(model, X, ax=ax)
        ax.set_title(f"nu = {nu:g}: {display.bounded.mean():.0%} of the points are outside")
    axes[0].set_xlabel("")
    axes[1].get_legend().remove()  # the same as above
    write(figure, folder / "one_class.png")


if __name__ == "__main__":
    main(folder_asked_for())
