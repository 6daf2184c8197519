"""Pictures that keep the data they are drawn from.

Every display is made by `from_estimator` or a method of that kind, holds its numbers as attributes,
and draws them with `plot`. Matplotlib is loaded only when something is drawn.
"""

from maxmargin.displays.animation import animate_trace
from maxmargin.displays.bias_variance import BiasVarianceDisplay
from maxmargin.displays.boundary import BoundaryDisplay
from maxmargin.displays.convergence import ConvergenceDisplay
from maxmargin.displays.gram import GramDisplay
from maxmargin.displays.path import PathDisplay
from maxmargin.displays.step import StepDisplay
from maxmargin.displays.tube import TubeDisplay

__all__ = [
    "BiasVarianceDisplay",
    "BoundaryDisplay",
    "ConvergenceDisplay",
    "GramDisplay",
    "PathDisplay",
    "StepDisplay",
    "TubeDisplay",
    "animate_trace",
]
