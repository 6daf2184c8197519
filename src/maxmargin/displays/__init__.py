"""Pictures that keep the data they are drawn from.

Every display is made by `from_estimator`, holds its numbers as attributes, and draws them with
`plot`. Matplotlib is loaded only when something is drawn.
"""

from maxmargin.displays.boundary import BoundaryDisplay

__all__ = ["BoundaryDisplay"]
