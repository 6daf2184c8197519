"""Two kernels as matrices: one that is positive semidefinite, and one that is not.

    python examples/plot_gram.py [folder]

Handwritten digits of a kind resemble each other, so the RBF kernel shows blocks along the
diagonal, and all its eigenvalues are positive. The sigmoid kernel has negative ones.
"""

from matplotlib import pyplot
from pictures import folder_asked_for, write
from sklearn.datasets import load_digits

from maxmargin.displays import GramDisplay
from maxmargin.kernels import RBF, Sigmoid


def main(folder):
    X, y = load_digits(return_X_y=True)
    figure, axes = pyplot.subplots(2, 2, figsize=(9.6, 8.4), layout="constrained")
    GramDisplay.from_kernel(RBF(gamma="scale"), X, y, max_rows=200, ax=axes[0])
    GramDisplay.from_kernel(Sigmoid(gamma=1e-3, coef0=-2.5), X, y, max_rows=200, ax=axes[1])
    write(figure, folder / "gram.png")


if __name__ == "__main__":
    main(folder_asked_for())
