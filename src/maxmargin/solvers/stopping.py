"""When a solver gives up: when it has gained nothing, or next to nothing, for too long.

The violation of the optimality conditions does not fall with every step, and rounding can leave
steps that gain nothing. So what counts is for how long the objective has gained nothing.
"""

import numpy as np

# A gain that is smaller, relative to the objective, may be rounding of values in this precision.
NO_GAIN = {np.dtype(np.float32): 1e-10, np.dtype(np.float64): 1e-15}
PATIENCE = 3  # A solver gives up after this many rounds without a gain.
# This many steps times variables, about a second of work, must bring a notable change.
CRAWL = 400_000_000
# A notable change is this gain of the objective, or a fall of the violation to this share.
NOTABLE_GAIN, NOTABLE_FALL = 1e-4, 0.9
# Where the tolerance is below rounding, a solver goes on for this many times as long.
IN_VAIN = 3


class Idle:
    """Counts the rounds in which the objective gains nothing."""

    def __init__(self, dtype):
        self._no_gain, self._rounds = NO_GAIN[np.dtype(dtype)], 0

    def too_long(self, before, objective):
        """Whether this round, from one objective to the next, is one too many without a gain."""
        is_gain = objective - before > self._no_gain * abs(objective)
        self._rounds = 0 if is_gain else self._rounds + 1
        return self._rounds >= PATIENCE


class Crawl:
    """Tells when many steps have brought next to nothing, or rounding leaves nothing to reach."""

    def __init__(self, n_variables, n_iter):
        self._steps = CRAWL // n_variables
        self._since, self._violation, self._objective = n_iter, np.inf, -np.inf

    def too_long(self, n_iter, violation, objective, in_vain):
        """Whether it is time to give up; `in_vain` says that the goal is below rounding."""
        gained = objective - self._objective > NOTABLE_GAIN * abs(objective)
        if not in_vain and (gained or violation < NOTABLE_FALL * self._violation):
            self._since, self._violation, self._objective = n_iter, violation, objective
        return n_iter - self._since >= self._steps * (IN_VAIN if in_vain else 1)
