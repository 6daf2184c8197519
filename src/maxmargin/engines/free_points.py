"""Strides, which move all free points of a block at once: an active-set method for hard problems.

Pairs of free points pull at one another, and where C is large SMO moves them back and forth a
million times. The optimum over the free points alone, bounds aside, is the solution of a linear
system for their step s: within each group the gradients minus K_FF s must agree, and s must sum to
zero. A stride goes towards it as far as the box allows, holds the point that meets its bound there,
and goes on with the others.

K_FF is inverted once, and a point that is held is taken out of the inverse. Smooth kernels make
K_FF nearly singular; then something is added to its diagonal, and the step still points uphill.
Every stride raises the objective, so it may be tried at any time. It is worth it when SMO has done
some work on the block and is not near its end.
"""

import numpy as np
from scipy import linalg

from maxmargin.compiled import smo as compiled

FREE = 0.5 * compiled.FORBIDDEN  # An offset beyond this stands for a bound.
MOST = 600  # With more free points than these, strides cost more than they save.
ROUNDINGS = 1e3  # A pivot below this many rounding errors of the largest means equal points.
# Where points are equal, at least this share of the largest entry is added to the diagonal.
RIDGE = 1e-8
LITTLE = 1e-3  # A step that gains less than this share of those before it ends the stride.


def stride(block, rounding):
    """Move the free points of a block towards their joint optimum.

    It returns what the objective gained, and the work in multiplications. A gain of no more than
    `rounding` counts as none.
    """
    # Points at the kink of |c|, whose offsets differ, are held there.
    free = np.flatnonzero((block.up > -FREE) & (block.low < FREE) & (block.up == block.low))
    if not 2 <= len(free) <= MOST:
        return 0.0, 0
    K = block.K[np.ix_(free, free)]
    inverse = _inverse(K)
    K = K.astype(np.float64)
    if inverse is None:
        return 0.0, len(free) ** 3
    groups = np.searchsorted(block.starts, free, side="right")
    members = (groups[:, None] == np.unique(groups)).astype(np.float64)
    coef, slope = block.coef[free], block.gradient[free] + block.up[free]
    lower, upper = box(coef, block.lower[free], block.upper[free], block.epsilon[free])
    gained, still = 0.0, np.arange(len(free))  # `still` lists the points that are not held
    work = len(free) ** 3
    for _ in range(len(free)):
        work += 4 * len(free) * len(still)
        step = _joint_step(inverse, slope[still], members[still])
        pull = K[:, still] @ step
        rise, curvature = float(slope[still] @ step), float(step @ pull[still])
        if rise < 0:  # rounding has reversed the step
            step, pull, rise = -step, -pull, -rise
        length, hit = _room(
            coef[still], lower[still], upper[still], step, rise / max(curvature, 1e-300)
        )
        gain = length * (rise - 0.5 * length * curvature)
        if not max(rounding, LITTLE * gained) < gain < np.inf:
            break
        gained += gain
        coef[still] += length * step
        slope -= length * pull
        bound = np.where(step > 0, upper[still], lower[still])
        coef[still[hit]] = bound[hit]
        inverse, still = _without(inverse, hit), np.delete(still, hit)
        if len(still) < 2:
            break
    if gained > 0:
        _apply(block, free, np.clip(coef, lower, upper))
    return gained, work


def _inverse(K):
    """The inverse of K, or of K with a little added to its diagonal; None if both fail."""
    largest = float(np.max(np.diagonal(K)))
    rounding = ROUNDINGS * float(np.finfo(K.dtype).eps) * largest
    K = K.astype(np.float64)
    for added in (0.0, rounding, max(rounding, RIDGE * largest)):
        try:
            factor = linalg.cho_factor(K + added * np.eye(len(K)), lower=True, check_finite=False)
        except linalg.LinAlgError:
            continue
        if added or np.min(np.diagonal(factor[0])) ** 2 >= rounding:
            inverse, failed = linalg.lapack.dpotri(factor[0], lower=True)
            return None if failed else np.tril(inverse) + np.tril(inverse, -1).T
    return None


def _without(inverse, hit):
    """The inverse of the matrix without some of its rows and columns."""
    if not len(hit):
        return inverse
    kept = np.delete(np.arange(len(inverse)), hit)
    across = inverse[np.ix_(kept, hit)]
    corner = inverse[np.ix_(hit, hit)]
    return inverse[np.ix_(kept, kept)] - across @ np.linalg.solve(corner, across.T)


def _joint_step(inverse, slope, members):
    """The s that maximises slope.s - 1/2 s'Ks with a sum of zero in every group."""
    alone, along = inverse @ slope, inverse @ members
    biases = np.linalg.lstsq(members.T @ along, members.T @ alone)[0]
    step = alone - along @ biases
    count = np.maximum(members.sum(axis=0), 1.0)
    return step - members @ (members.T @ step / count)  # removes what rounding left of the sums


def box(coef, lower, upper, epsilon):
    """The bounds between which a step may go: none may cross the kink of epsilon |c| at zero."""
    has_kink = epsilon > 0
    return np.where(has_kink & (coef > 0), 0.0, lower), np.where(has_kink & (coef < 0), 0.0, upper)


def _room(coef, lower, upper, step, longest):
    """How much of the step fits into the box, at most `longest`, and which points then stop."""
    bound = np.where(step > 0, upper, lower)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(step == 0, np.inf, (bound - coef) / step)
    length = min(longest, float(np.min(shares)))
    return length, np.flatnonzero(shares <= length * (1 + 1e-12))


def _apply(block, free, coef):
    block.gradient -= (coef - block.coef[free]) @ block.K[free].astype(np.float64)
    block.coef[free] = coef
    compiled.fill_offsets(
        block.coef, block.lower, block.upper, block.epsilon, block.up, block.low
    )  # fmt: skip
