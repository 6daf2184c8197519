"""Platt's SMO at work on two moons, as an animated GIF.

    python examples/plot_animation.py [folder]

Every frame shows the pair of multipliers that was moved, the boundary that they make, and how the
dual objective rises towards the primal one.
"""

from pictures import folder_asked_for, say_written

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.displays import animate_trace


def main(folder):
    X, y = make_moons(80)
    model = SVC(C=5.0, gamma=2.0, solver="smo_platt", trace=True).fit(X, y)
    say_written(animate_trace(model, X, y, folder / "smo.gif", max_frames=45))


if __name__ == "__main__":
    main(folder_asked_for())
