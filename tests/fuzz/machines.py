"""What a fitted kernel machine claims, computed anew from its public attributes alone.

Every machine is c, b and a kernel matrix; its losses and prices are written out below, per family,
in long doubles. Works for a fitted model of scikit-learn as well, because the attributes are the
same: that is what makes the two comparable.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from plain import LONG, ULP
from scipy import sparse


@dataclass(frozen=True)
class Machine:
    """One dual problem and a claimed solution: maximise p.c - epsilon |c|_1 - 1/2 c'Kc over a box
    with the sum of c fixed."""

    rows: np.ndarray
    K: np.ndarray
    error: np.ndarray
    c: np.ndarray
    b: float
    p: np.ndarray
    epsilon: float
    lower: np.ndarray
    upper: np.ndarray
    total: float

    @property
    def f(self):
        return self.K @ self.c

    @property
    def slip(self):
        """How far f may be off when it is computed in float64."""
        size = np.abs(self.c)
        return self.error @ size + (len(size) + 8) * ULP * (np.abs(self.K) @ size)

    @property
    def grain(self):
        """The finest difference of f that floats can make: f may be off, and because c keeps its
        sum, it moves in ulps of its largest entry."""
        unit = ULP * np.max(np.abs(self.c)) * np.max(np.abs(self.K))
        return float(np.max(self.slip) + unit)

    @property
    def resolution(self):
        """The finest violation that floats can tell from none."""
        return self.grain + float(8 * ULP * (np.max(np.abs(self.p)) + abs(self.b)))

    @property
    def grain_of_twins(self):
        """The finest difference of f at the optimum, wherever c is: equal points that oppose each
        other are at a bound there, and cancel in f only as well as products are rounded."""
        equal = np.array([np.all(row == self.K, axis=1) for row in self.K])
        opposed = self.p[:, None] - self.p[None, :] > 2 * self.epsilon
        room = np.minimum(self.upper[:, None], -self.lower[None, :])
        apart = np.max(np.where(equal & opposed & np.isfinite(room), room, 0), axis=1)
        return float(ULP * np.max(np.abs(self.K) @ apart))

    @property
    def square(self):
        return self.c @ self.f

    @property
    def dual(self):
        return self.p @ self.c - self.epsilon * np.abs(self.c).sum() - self.square / 2

    @property
    def is_hard(self):
        return bool(np.any(np.isinf(self.upper) | np.isinf(self.lower)))

    @property
    def margin(self):
        """The smallest margin of any point, where p are labels."""
        return np.min(self.p * (self.f + self.b))

    @property
    def loss(self):
        residual = self.p - self.f - self.b
        up = self.upper * np.maximum(residual - self.epsilon, 0)
        down = -self.lower * np.maximum(-residual - self.epsilon, 0)
        return np.maximum(up, down).sum()

    @property
    def primal(self):
        if self.is_hard:  # shrink the margins to the smallest, which satisfies every constraint
            margin = self.margin
            return self.square / 2 / margin**2 if margin > 0 else LONG(np.inf)
        return self.square / 2 + LONG(self.b) * LONG(self.total) + self.loss

    @property
    def gap(self):
        return self.primal - self.dual

    @property
    def dual_slip(self):
        size = np.abs(self.c)
        terms = np.abs(self.p) @ size + self.epsilon * size.sum()
        return size @ self.slip + (len(size) + 8) * ULP * terms

    @property
    def primal_slip(self):
        size = np.abs(self.p) + np.abs(self.f) + abs(self.b) + self.epsilon
        wrong = self.slip + 8 * ULP * size
        own = np.abs(self.c) @ self.slip + 8 * ULP * abs(self.b * self.total)
        if self.is_hard:
            margin = self.margin
            if margin <= 2 * np.max(wrong):  # for all that floats know, there may be none
                return LONG(np.inf)
            return (own + abs(self.square) * 4 * np.max(wrong) / margin) / min(margin, 1) ** 2
        box = np.maximum(self.upper, -self.lower)
        return own + box @ wrong + (len(box) + 8) * ULP * abs(self.primal)

    @property
    def box_size(self):
        return np.maximum(self.upper, -self.lower).sum()


def machines_of(model, case, K):
    """The binary machines of a fitted kernel machine, in the order of its certificate's parts."""
    return READERS[case.family](model, case, K)


def _dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def class_costs(case):
    """weight_i times the weight of its class, and the number of each row's class."""
    classes, codes = np.unique(case.y, return_inverse=True)
    factor = np.ones(len(classes))
    if case.parameters.get("class_weight") == "balanced":
        factor = len(case.y) / (len(classes) * np.bincount(codes))
    return classes, codes, case.weights * factor[codes]


def _pairs(model, case, K, prices):
    classes, codes, cost = class_costs(case)
    coef = np.zeros((len(classes) - 1, len(codes)))
    coef[:, model.support_] = _dense(model.dual_coef_)
    turn = -1.0 if len(classes) == 2 else 1.0
    found = []
    for position, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        rows = np.flatnonzero(((codes == i) | (codes == j)) & (cost > 0))
        first = codes[rows] == i
        if not np.any(first) or np.all(first):
            continue
        signs = turn * np.where(first, 1.0, -1.0)
        c = np.where(first, coef[j - 1, rows], coef[i, rows]).astype(LONG)
        bound = signs * prices(c, cost[rows])
        found.append(
            _machine(
                rows,
                K,
                c,
                model.intercept_[position],
                p=signs,
                lower=np.minimum(bound, 0.0),
                upper=np.maximum(bound, 0.0),
            )
        )
    return found


def _machine(rows, K, c, b, p, lower, upper, epsilon=0.0, total=0.0):
    block = np.ix_(rows, rows)
    return Machine(
        rows, K.value[block], K.error[block], c, float(b), p.astype(LONG), epsilon,
        lower, upper, total,
    )  # fmt: skip


def _svc(model, case, K):
    C = case.parameters["C"]
    return _pairs(model, case, K, lambda c, cost: C * cost)


def _nu_svc(model, case, K):
    """Divided by its margin a nu machine is a C machine, with C_i = 2 S w_i / (nu W) where S is the
    sum of alpha over either class: the price that nu stands for."""
    nu = case.parameters["nu"]

    def prices(c, cost):
        return (2 * np.abs(c).sum() / 2 / (nu * cost.sum()) * cost).astype(np.float64)

    return _pairs(model, case, K, prices)


def _single(model, case, K, y, bound, lower, **others):
    rows = np.flatnonzero(case.weights > 0)
    c = np.zeros(len(case.weights), dtype=LONG)
    c[model.support_] = _dense(model.dual_coef_)[0]
    return [
        _machine(
            rows,
            K,
            c[rows],
            model.intercept_[0],
            p=y[rows],
            lower=lower * bound[rows],
            upper=bound[rows],
            **others,
        )
    ]


def _svr(model, case, K):
    bound, epsilon = case.parameters["C"] * case.weights, case.parameters["epsilon"]
    return _single(model, case, K, case.y, bound, -1.0, epsilon=epsilon)


def _nu_svr(model, case, K):
    """The tube that is best for the claimed w and b: the price of its width is nu sum C_i, and the
    objective is piecewise linear in it, with a corner at every residual."""
    bound = case.parameters["C"] * case.weights
    (machine,) = _single(model, case, K, case.y, bound, -1.0)
    residual = np.abs(machine.p - machine.f - machine.b)
    price = case.parameters["nu"] * machine.upper.sum()
    widths = np.append(residual, 0)
    excess = np.maximum(residual[None, :] - widths[:, None], 0) @ machine.upper
    return [NuTube(**vars(machine), price=price, cost=np.min(price * widths + excess))]


@dataclass(frozen=True)
class NuTube(Machine):
    """nu-SVR: no price on |c_i|, but on the width of the tube; sum |c| is at most nu sum C_i."""

    price: float
    cost: float

    @property
    def primal(self):
        return self.square / 2 + self.cost

    @property
    def doubled(self):
        """How far f may be off: the two multipliers of a row may both be positive and cancel in c,
        but not before the rounding. Together they are always nu sum C_i."""
        entry = np.max(self.error) + (2 * len(self.c) + 8) * ULP * np.max(np.abs(self.K))
        return self.slip + entry * self.price

    @property
    def resolution(self):
        return super().resolution + float(np.max(self.doubled))

    @property
    def dual_slip(self):
        largest = np.max(np.abs(self.p)) + np.max(np.abs(self.f))
        ulps = (2 * len(self.c) + 8) * ULP * largest
        return self.price * (np.max(self.doubled) + ulps)

    @property
    def primal_slip(self):
        return super().primal_slip + 2 * self.dual_slip


def _one_class(model, case, K):
    weight = case.weights
    total = case.parameters["nu"] * weight.sum()
    return _single(model, case, K, np.zeros(len(weight)), weight, 0.0, total=total)


READERS = {
    "SVC": _svc,
    "NuSVC": _nu_svc,
    "SVR": _svr,
    "NuSVR": _nu_svr,
    "OneClassSVM": _one_class,
}
