"""How a fit goes: Platt's SMO pair by pair, and random pairs round by round.

    python examples/plot_convergence.py [folder]

The dual objective of SMO never falls, the duality gap closes (not steadily), and the fit ends when
the violation is below tol. Random pairs learn in the first few rounds; the rest is polish.
"""

from pictures import folder_asked_for, write
from sklearn.datasets import load_iris

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.displays import ConvergenceDisplay


def main(folder):
    X, y = load_iris(return_X_y=True)
    flowers = SVC(C=10.0, solver="smo_platt", trace=True).fit(X, y)
    display = ConvergenceDisplay.from_estimator(flowers)  # a line per pair of classes
    write(display.figure_, folder / "convergence.png")

    X, y = make_moons(120)
    moons = SVC(gamma=2.0, solver="smo_random_pair", trace=True).fit(X, y)
    display = ConvergenceDisplay.from_estimator(moons)  # accuracy, loss and movement
    for ax in display.axes_:
        ax.set_xscale("log")
    write(display.figure_, folder / "random_pairs.png")


if __name__ == "__main__":
    main(folder_asked_for())
