"""The soft margin SVM is hinge loss plus a penalty: both have the same w and b.

    1/2 |w|^2 + C sum_i xi_i,  y_i f(x_i) >= 1 - xi_i,  xi_i >= 0          (slacks and constraints)
    sum_i max(0, 1 - y_i f(x_i)) + lambda |w|^2,  lambda = 1 / (2 C)        (loss and penalty)

At the best slacks xi_i = max(0, 1 - y_i f(x_i)) the first is C times the second.
"""

from dataclasses import dataclass

import numpy as np

from maxmargin.estimators.gradient_descent import GradientDescentClassifier
from maxmargin.estimators.svc import SVC
from maxmargin.losses import loss_named

TOL = 1e-10  # The dual solution is far more exact than the comparison needs.


@dataclass(frozen=True, eq=False)
class HingeEquivalence:
    """The two solutions and their objectives.

    Attributes
    ----------
    C, lambda_ : float
        The price of slack and that of |w|^2, with lambda = 1 / (2 C).
    w_dual, b_dual
        The soft margin, found through its dual.
    w_descent, b_descent
        Hinge loss plus lambda |w|^2, minimised by subgradient descent.
    objective_dual, objective_descent : float
        The sum of hinge losses + lambda |w|^2 at both.
    """

    C: float
    lambda_: float
    w_dual: np.ndarray
    b_dual: float
    w_descent: np.ndarray
    b_descent: float
    objective_dual: float
    objective_descent: float

    @property
    def difference(self):
        """The largest difference of w and b, relative to |w|."""
        w = np.max(np.abs(self.w_dual - self.w_descent))
        largest = max(float(w), abs(self.b_dual - self.b_descent))
        return largest / float(np.linalg.norm(self.w_dual))


def hinge_equivalence(X, y, C=1.0, *, max_iter=20_000):
    """Fit a linear soft margin both ways and compare.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,), two classes
    C : float, default=1.0
    max_iter : int, default=20000
        Steps of subgradient descent, whose error falls like one over their number.

    Examples
    --------
    >>> from maxmargin.datasets import make_outlier
    >>> from maxmargin.inspection import hinge_equivalence
    >>> X, y = make_outlier(40)
    >>> both = hinge_equivalence(X, y, C=0.5)
    >>> both.lambda_, bool(both.difference < 0.01)
    (1.0, True)
    """
    machine = SVC(kernel="linear", C=C, tol=TOL).fit(X, y)
    n_classes = len(machine.classes_)
    if n_classes > 2:
        raise ValueError(f"hinge_equivalence: y must have two classes, got {n_classes}.")
    # Its objective, mean loss + alpha/2 |w|^2, is the one above over n, with alpha = 2 lambda / n.
    descent = GradientDescentClassifier(
        loss="hinge",
        penalty="l2",
        alpha=1.0 / (len(y) * C),
        schedule="pegasos",
        average=True,
        tol=0.0,
        max_iter=max_iter,
    ).fit(X, y)
    signs = np.where(np.asarray(y) == machine.classes_[1], 1.0, -1.0)

    def objective(model):
        loss = loss_named("hinge").value(signs, model.decision_function(X)).sum()
        return float(loss + np.sum(model.coef_**2) / (2 * C))

    return HingeEquivalence(
        C=float(C),
        lambda_=1.0 / (2.0 * C),
        w_dual=machine.coef_[0],
        b_dual=float(machine.intercept_[0]),
        w_descent=descent.coef_[0],
        b_descent=float(descent.intercept_[0]),
        objective_dual=objective(machine),
        objective_descent=objective(descent),
    )
