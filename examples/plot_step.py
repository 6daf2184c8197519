"""One step of SMO: two multipliers in their box, and the objective along their line.

    python examples/plot_step.py [folder]

The step goes to the top of the parabola, or, where that lies outside the box, to the nearer end of
the segment. Here is one that the box cuts short.
"""

import numpy as np
from pictures import folder_asked_for, write

from maxmargin import SVC
from maxmargin.datasets import make_moons
from maxmargin.displays import StepDisplay


def main(folder):
    X, y = make_moons(80)
    model = SVC(gamma=2.0, solver="smo_platt", trace=True).fit(X, y)
    beyond = np.abs(model.trace_["unclipped"] - model.trace_["clipped"])
    gain = np.diff(model.trace_["objective"], prepend=0.0)
    step = int(np.argmax(np.where((beyond > 0.2) & (beyond < 0.8), gain, 0.0)))
    display = StepDisplay.from_estimator(model, X, y, step=step)
    write(display.figure_, folder / "step.png")


if __name__ == "__main__":
    main(folder_asked_for())
