"""LSMR: least squares and ridge by products with A alone (Fong and Saunders, 2011).

    minimise  |b - A w|^2 + alpha |w|^2,   which is   |c - M w|^2   with M = [A; sqrt(alpha) I]

and c = [b; 0]. Golub and Kahan's process turns M into a lower bidiagonal matrix, one product with M
and one with M' at a time. Two sequences of rotations solve its normal equations, so that the slope
|M'(c - M w)| falls with every step; a third one follows the length of the residual.
"""

from math import hypot

import numpy as np

from maxmargin.solvers.base import LinearSolution, LinearSolver

TINY = float(np.finfo(np.float64).tiny)


class LSMR(LinearSolver):
    """Steps until the slope or the residual is at most a share `tol` of its terms.

    Where many w fit equally well, it goes to the one that is nearest to where it began.
    """

    counted = "weights"

    def __init__(self, tol=1e-14):
        super().__init__(tol)

    def approach(self, problem, budget, start):
        w = np.zeros(problem.A.shape[1]) if start is None else start.weights.copy()
        path = _Path(problem, w)
        if start is not None:  # the process does not know the size of M yet
            path.square = problem.square_of_size()
        while True:
            violation = path.violation()
            stopped = "converged" if violation <= self.tol else ""
            objective = 0.5 * path.residual**2
            yield LinearSolution(w, None, path.n_iter, violation, objective, stopped)
            path.step()


class _Path:
    """Where the process stands; `w` is moved in place."""

    def __init__(self, problem, w):
        self.problem, self.w, self.n_iter = problem, w, 0
        self.root = float(np.sqrt(problem.alpha))
        self.length_of_target = float(np.linalg.norm(problem.b))
        u = problem.b - problem.A @ w, -self.root * w
        self.u, self.beta = _scaled(u)
        self.v, self.alpha = _unit(self.transposed())
        self.square = self.alpha**2  # the square of the size of M, as far as it is known
        self.slope, self.residual = self.alpha * self.beta, self.beta
        self.signed_slope, self.diagonal = self.slope, self.alpha
        self.h, self.h_bar = self.v.copy(), np.zeros_like(w)
        self.rho = self.rho_bar = self.c_bar = 1.0
        self.s_bar = 0.0
        self.tail = _Residual(self.beta)

    def transposed(self):
        """M'u."""
        return self.problem.A.T @ self.u[0] + self.root * self.u[1]

    def violation(self):
        """The slope or the residual, each relative to its terms, whichever is smaller."""
        size = float(np.sqrt(self.square))
        terms = self.length_of_target + size * float(np.linalg.norm(self.w))
        return min(self.slope / max(size * self.residual, TINY), self.residual / max(terms, TINY))

    def step(self):
        self.bidiagonalise()
        c, s, rho = _rotation(self.diagonal, self.beta)
        theta, self.diagonal = s * self.alpha, c * self.alpha
        theta_bar, last = self.s_bar * rho, self.rho * self.rho_bar
        self.c_bar, self.s_bar, self.rho_bar = _rotation(self.c_bar * rho, theta)
        zeta = self.c_bar * self.signed_slope
        self.signed_slope *= -self.s_bar
        self.h_bar = self.h - (theta_bar * rho / last) * self.h_bar
        self.w += (zeta / (rho * self.rho_bar)) * self.h_bar
        self.h = self.v - (theta / rho) * self.h
        self.rho, self.slope = rho, abs(self.signed_slope)
        self.residual = self.tail.after(c, s, theta_bar, self.rho_bar, zeta)
        self.n_iter += 1

    def bidiagonalise(self):
        """The next beta u = M v - alpha u and alpha v = M'u - beta v."""
        along = self.problem.A @ self.v, self.root * self.v
        self.u, self.beta = _scaled(
            [a - self.alpha * b for a, b in zip(along, self.u, strict=True)]
        )
        self.square += self.beta**2
        self.v, self.alpha = _unit(self.transposed() - self.beta * self.v)
        self.square += self.alpha**2


class _Residual:
    """The length of c - M w, from a third sequence of rotations."""

    def __init__(self, beta):
        self.last, self.before_last = beta, 0.0
        self.rho, self.theta, self.tau, self.zeta = 1.0, 0.0, 0.0, 0.0

    def after(self, c, s, theta_bar, rho_bar, zeta):
        first, self.last = c * self.last, -s * self.last
        c_tilde, s_tilde, rho_tilde = _rotation(self.rho, theta_bar)
        theta, self.theta = self.theta, s_tilde * rho_bar
        self.rho = c_tilde * rho_bar
        self.before_last = c_tilde * first - s_tilde * self.before_last
        self.tau = (self.zeta - theta * self.tau) / rho_tilde
        self.zeta = zeta
        tau = (zeta - self.theta * self.tau) / self.rho
        return hypot(self.before_last - tau, self.last)


def _rotation(a, b):
    """c, s and r with c a + s b = r and s a = c b."""
    r = hypot(a, b)
    return (a / r, b / r, r) if r > 0 else (1.0, 0.0, TINY)


def _unit(v):
    length = float(np.linalg.norm(v))
    return v / max(length, TINY), length


def _scaled(parts):
    """Both parts of a vector over its length, and the length."""
    length = hypot(*(float(np.linalg.norm(part)) for part in parts))
    return [part / max(length, TINY) for part in parts], length
