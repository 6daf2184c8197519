"""A soft margin on two moons: boundary, margins, support vectors and slacks, for two values of C.

    python examples/plot_boundary.py [folder]

A small C buys a wide margin with much slack; a large one the other way round.
"""

from matplotlib import pyplot
from pictures import folder_asked_for, write

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.displays import BoundaryDisplay


def main(folder):
    X, y = make_moons(120, noise=0.2)
    figure, axes = pyplot.subplots(2, 1, figsize=(8, 8), sharex=True, layout="constrained")
    for ax, C in zip(axes, (0.3, 30.0), strict=True):
        model = SVC(C=C, gamma=1.0).fit(X, y)
        display = BoundaryDisplay.from_estimator(model, X, y, slack=True, ax=ax)
        counted = int(display.support.sum())
        ax.set_title(f"C = {C:g}: {counted} support vectors, slack {display.slack.sum():.1f}")
    axes[1].get_legend().remove()  # the same as above
    write(figure, folder / "boundary.png")


if __name__ == "__main__":
    main(folder_asked_for())
