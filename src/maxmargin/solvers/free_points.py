"""All free points of a block at once: the end of a hard problem in a few strides.

Pairs of free points pull at one another, and where C is large SMO moves them back and forth a
million times. The optimum over the free points alone, bounds aside, is the solution of a linear
system: their gradients, K_FF s taken off, must agree within each group, and s must sum to zero
there. So go towards it as far as the box allows, let go of the point that stops there, and again.
Every stride raises the objective, so it may be tried at any time; it costs a Cholesky
factorisation, and is worth it when SMO has done as much work on the block as that takes.
"""

import numpy as np
from scipy import linalg

from maxmargin.compiled import smo as compiled

MOST = 600  # points in the linear system: above, its strides cost more than they save
FREE = 0.5 * compiled.FORBIDDEN
ROUNDINGS = 1e3  # a pivot below this many rounding errors of the largest means equal points


def stride(block, work):
    """Move the free points of a block towards their joint optimum, for so many multiplications.

    Returns what the objective gained.
    """
    gained = 0.0
    while True:
        # Equal offsets leave out the points at the kink of |c|, which are held there.
        free = np.flatnonzero((block.up > -FREE) & (block.low < FREE) & (block.up == block.low))
        if not 2 <= len(free) <= MOST:
            return gained
        slope = block.gradient[free] + block.up[free]
        work -= len(free) ** 3 / 3 + len(free) * block.size
        if work < 0:
            return gained
        K = block.K[np.ix_(free, free)]
        smallest = ROUNDINGS * float(np.finfo(K.dtype).eps) * float(np.max(np.diagonal(K)))
        groups = np.searchsorted(block.starts, free, side="right")
        K = K.astype(np.float64)
        step = _joint_step(K, slope, groups, smallest)
        if step is None:
            return gained
        length, stopped = _room(block, free, step)
        gain = length * float(slope @ step) - 0.5 * length**2 * float(step @ (K @ step))
        if not gain > 0:
            return gained
        gained += gain
        _apply(block, free, length * step, stopped)
        if length == 1.0:
            return gained


def _joint_step(K, slope, groups, smallest):
    """The s that maximises slope.s - 1/2 s'Ks with a sum of zero in every group.

    None where there is no single one, or none that rounding would leave alone.
    """
    try:
        factor = linalg.cho_factor(K, check_finite=False)
    except linalg.LinAlgError:
        return None
    if np.min(np.diagonal(factor[0])) ** 2 < smallest:
        return None
    members = (groups[:, None] == np.unique(groups)).astype(np.float64)
    alone = linalg.cho_solve(factor, slope)
    along = linalg.cho_solve(factor, members)
    biases = np.linalg.solve(members.T @ along, members.T @ alone)
    return alone - along @ biases


def _room(block, free, step):
    """How much of the step fits, at most all of it, and which points then sit at which value."""
    coef, epsilon = block.coef[free], block.epsilon[free]
    lower, upper = block.lower[free], block.upper[free]
    lower = np.where((epsilon > 0) & (coef > 0), 0.0, lower)  # |c| has its kink at zero
    upper = np.where((epsilon > 0) & (coef < 0), 0.0, upper)
    bound = np.where(step > 0, upper, lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(step == 0, np.inf, (bound - coef) / step)
    length = min(1.0, float(np.min(shares)))
    hit = np.flatnonzero(shares <= length * (1 + 1e-12))
    return length, (hit, bound[hit])


def _apply(block, free, step, stopped):
    hit, bound = stopped
    before = block.coef[free]
    after = np.clip(before + step, block.lower[free], block.upper[free])
    after[hit] = bound
    block.coef[free] = after
    block.gradient -= (after - before) @ block.K[free].astype(np.float64)
    compiled.fill_offsets(
        block.coef, block.lower, block.upper, block.epsilon, block.up, block.low
    )  # fmt: skip
    block.exact = False
