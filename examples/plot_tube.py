"""Support vector regression and its tube, of a given width and of a given share outside.

    python examples/plot_tube.py [folder]

Points inside the tube leave no trace in the model. SVR is told how wide the tube is; NuSVR is told
how many points may lie outside, and finds the width.
"""

import numpy as np
from matplotlib import pyplot
from pictures import folder_asked_for, write

from maxmargin import SVR, NuSVR
from maxmargin.displays import TubeDisplay


def main(folder):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 6.0, 70))[:, None]
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(70)
    figure, axes = pyplot.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    machines = SVR(C=10.0, epsilon=0.25), NuSVR(C=10.0, nu=0.7)
    for ax, machine in zip(axes, machines, strict=True):
        display = TubeDisplay.from_estimator(machine.fit(X, y), X, y, ax=ax)
        share = np.mean(display.outside)
        ax.set_title(f"{type(machine).__name__}: {share:.0%} of the points are outside")
    axes[0].set_xlabel("")
    write(figure, folder / "tube.png")


if __name__ == "__main__":
    main(folder_asked_for())
