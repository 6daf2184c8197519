"""The experiments of the texts, each a function `run` that writes a folder to read.

`run(folder)` writes pictures, their numbers in `results.json` and a page, `report.md`, that says
what was done and what the pictures show. It returns the numbers. The same `random_state` gives the
same numbers.
"""

from maxmargin.experiments import approximation, bias_variance, reviews, simulation

__all__ = ["approximation", "bias_variance", "reviews", "simulation"]
