"""Support vector regression: SVR with a tube of given width, NuSVR with a given share outside."""

import numpy as np
from sklearn.base import RegressorMixin

from maxmargin.estimators.base import SingleSVM
from maxmargin.estimators.margins import TUBE_ROLES
from maxmargin.estimators.validation import check_size, prices
from maxmargin.problems.reductions import epsilon_svr, model_of_nu_svr, nu_svr

# C=inf means this, in units of the multipliers: a tube that no point may leave need not exist, and
# then a larger C would leave nothing but rounding errors of |w|.
LARGEST_C = 1e10


def _prices(C, weight, matrix, y):
    """What slack costs in each row; a multiplier has the size of y over that of the kernel."""
    if C > LARGEST_C:
        size = max(float(np.max(np.abs(matrix.diagonal()))), 1e-280)
        C = min(C, LARGEST_C * max(1.0, float(np.ptp(y)) / size))
    return prices(C, weight)


class RegressionSVM(RegressorMixin, SingleSVM):
    def _targets(self, y, weight):
        y = np.asarray(y, dtype=np.float64)
        check_size(self, y=y)
        return super()._targets(y, weight)

    def _keep(self, targets, outcomes, found):
        super()._keep(targets, outcomes, found)
        self.roles_ = TUBE_ROLES[found.roles[0]]

    def predict(self, X):
        """The predicted target of every row of X."""
        return self._decisions(X)


class SVR(RegressionSVM):
    """Regression with a tube of half-width epsilon, and its proof of optimality.

    It minimises 1/2 |w|^2 + C sum_i weight_i max(0, |y_i - f(x_i)| - epsilon) through its dual, in
    one signed variable per point.

    Parameters
    ----------
    epsilon : float of at least 0, default=0.1
        Errors up to this cost nothing.
    C : float above 0, default=1.0
        The price of slack. It is at most 1e10 (times the size of y over that of the kernel, where
        that is more than one), because a larger one would leave nothing but rounding errors.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As in `sklearn.svm.SVR`; see `SVC` for what this library adds to them.
    solver, engine, max_time, warm_start, callbacks, trace, certify
        As in `SVC`.

    Attributes
    ----------
    certificate_, converged_, kernel_
        As in `SVC`.
    roles_ : array of str of shape (n,)
        Where each training row lies: "inside" the tube (its coefficient is 0), on its "edge"
        (between 0 and C), "outside" (at C times its weight), or "unused" (its weight is 0).
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, \
    shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import SVR
    >>> model = SVR(kernel="linear", C=100.0, epsilon=0.01).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
    >>> model.predict([[3.0]]).round(1)
    array([7.])
    >>> model.roles_.tolist()
    ['edge', 'inside', 'edge']
    >>> model.certificate_.optimal
    True
    """

    _linear_twin = "LinearSVR"

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
        shrinking=True,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        solver="smo",
        engine="auto",
        max_time=None,
        warm_start=False,
        callbacks=None,
        trace=False,
        certify=True,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.solver = solver
        self.engine = engine
        self.max_time = max_time
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.trace = trace
        self.certify = certify

    def _problem(self, matrix, y, weight):
        return epsilon_svr(matrix, y, _prices(self.C, weight, matrix, y), self.epsilon)


class NuSVR(RegressionSVM):
    """Regression where nu bounds the share of points outside the tube, and its width is found.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the share of points outside the tube and a lower bound on the share of
        support vectors.
    C : float above 0, default=1.0
        As in `SVR`.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in `sklearn.svm.NuSVR`; see `SVC` for what this library adds to them.
    solver, engine, max_time, warm_start, callbacks, trace, certify
        As in `SVC`.

    Attributes
    ----------
    certificate_, converged_, kernel_
        As in `SVC`.
    roles_
        As in `SVR`.
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, \
    shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import NuSVR
    >>> model = NuSVR(kernel="linear", C=100.0, nu=0.5).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
    >>> model.predict([[3.0]]).round(1)
    array([7.])
    """

    def __init__(
        self,
        *,
        nu=0.5,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        solver="smo",
        engine="auto",
        max_time=None,
        warm_start=False,
        callbacks=None,
        trace=False,
        certify=True,
    ):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.solver = solver
        self.engine = engine
        self.max_time = max_time
        self.warm_start = warm_start
        self.callbacks = callbacks
        self.trace = trace
        self.certify = certify

    def _problem(self, matrix, y, weight):
        return nu_svr(matrix, y, _prices(self.C, weight, matrix, y), self.nu)

    def _machine(self, rows, build, **options):
        return super()._machine(rows, build, model=model_of_nu_svr, **options)
