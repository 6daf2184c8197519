"""One-class SVM: the region in which most points lie."""

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from maxmargin.estimators.base import SingleSVM
from maxmargin.problems.reductions import one_class

BOUNDARY = 1e-8  # A point that is nearer than this, relative to rho, is on the boundary.


class OneClassSVM(OutlierMixin, SingleSVM):
    """Novelty detection, and its proof of optimality.

    It finds the half-space w.phi(x) >= rho in feature space that holds all but a share nu of the
    points and lies as far from the origin as possible.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        An upper bound on the share of points outside and a lower bound on the share of support
        vectors.
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As in `sklearn.svm.OneClassSVM`; see `SVC` for what this library adds to them.
    solver, engine, max_time, warm_start, callbacks, trace, certify
        As in `SVC`.

    Attributes
    ----------
    offset_ : array of shape (1,)
        The rho; `decision_function` is `score_samples` minus this.
    certificate_, converged_, kernel_
        As in `SVC`.
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, n_iter_, fit_status_, \
    shape_fit_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from maxmargin import OneClassSVM
    >>> model = OneClassSVM(nu=0.5, gamma=1.0).fit([[0.0], [0.1], [0.2], [5.0]])
    >>> model.predict([[0.1], [9.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        nu=0.5,
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
        self.nu = nu
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

    def fit(self, X, y=None, sample_weight=None):
        """Find the region of most of the rows of X; `y` is ignored."""
        return super().fit(X, np.ones(_num_samples(X)), sample_weight)

    def _problem(self, matrix, y, weight):
        return one_class(matrix, weight, self.nu)

    @property
    def offset_(self):
        return -self.intercept_

    def decision_function(self, X):
        """The signed distance to the boundary, times |w|: positive inside, zero on it."""
        return self._answers(X, self._distances)

    def _distances(self, decisions, rows):
        distances = decisions[:, 0]
        # Free support vectors lie exactly on the boundary; rounding must not throw them out.
        distances[np.abs(distances) <= BOUNDARY * np.abs(self.offset_)] = 0.0
        return distances

    def score_samples(self, X):
        """The score of every row: its decision before rho is subtracted."""
        scores = self.decision_function(X)
        scores += self.offset_
        return scores

    def predict(self, X):
        """+1 for rows inside the region or on its boundary, -1 for those outside."""

        def sides(decisions, rows):
            return np.where(self._distances(decisions, rows) >= 0, 1, -1).astype(np.intp)

        return self._answers(X, sides)
