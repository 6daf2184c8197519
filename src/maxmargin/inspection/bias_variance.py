"""Where the squared error of a method comes from: noise, bias and variance.

Over training sets drawn again and again, the prediction at a point x varies. With truth(x) the mean
of y there, and averages over the draws,

    E (y - prediction)^2 = E (y - truth)^2 + (E prediction - truth)^2 + Var(prediction)
                              noise                bias^2                 variance

No method can lower the noise; a richer model trades bias for variance.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from maxmargin.estimators.validation import seed_of


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """The result of `bias_variance`: means over the points, and two of the parts at each point.

    Attributes
    ----------
    noise, bias2, variance : float
        The three parts. `bias2` can be a little below zero, because its estimate has no bias.
    error : float
        The mean squared error on fresh targets, which is the sum of the parts, up to chance.
    X : array of shape (n, d)
        The points of evaluation.
    truth, mean_prediction : arrays of shape (n,)
    bias2_at, variance_at : arrays of shape (n,)
    """

    noise: float
    bias2: float
    variance: float
    error: float
    X: np.ndarray
    truth: np.ndarray
    mean_prediction: np.ndarray
    bias2_at: np.ndarray
    variance_at: np.ndarray

    @property
    def sum(self):
        return self.noise + self.bias2 + self.variance

    def __repr__(self):
        return (
            f"BiasVariance: noise {self.noise:.4g} + bias^2 {self.bias2:.4g} + variance "
            f"{self.variance:.4g} = {self.sum:.4g}; measured error {self.error:.4g}"
        )


def bias_variance(estimator, draw, truth, *, n_draws=100, random_state=None):
    """Estimate noise, squared bias and variance by fitting on many training sets.

    Parameters
    ----------
    estimator : regressor
        It is cloned for every training set.
    draw : callable
        draw(rng) returns a new sample X, y, using the `numpy.random.Generator` it is given.
    truth : callable
        truth(X) returns the mean of y at every row.
    n_draws : int of at least 2, default=100
        The number of training sets.
    random_state : int, Generator, RandomState or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from maxmargin.inspection import bias_variance
    >>> def draw(rng):
    ...     X = rng.uniform(-1, 1, (50, 1))
    ...     return X, X[:, 0] + 0.1 * rng.standard_normal(50)
    >>> found = bias_variance(DummyRegressor(), draw, lambda X: X[:, 0])
    >>> round(found.noise, 2), round(found.bias2, 1)  # a constant misses the slope
    (0.01, 0.3)
    """
    if n_draws < 2:
        raise ValueError(f"bias_variance: n_draws must be at least 2, got {n_draws}.")
    rng = np.random.default_rng(seed_of(random_state))
    X, _ = draw(rng)
    target = np.asarray(truth(X), dtype=np.float64)
    predictions, noises, errors = np.empty((n_draws, len(target))), [], []
    for k in range(n_draws):
        model = clone(estimator).fit(*draw(rng))
        predictions[k] = model.predict(X)
        X_new, y_new = draw(rng)
        noises.append(np.mean((y_new - truth(X_new)) ** 2))
        errors.append(np.mean((y_new - model.predict(X_new)) ** 2))
    mean, variance = predictions.mean(axis=0), predictions.var(axis=0, ddof=1)
    # The mean of n draws has a variance itself, which would count as bias.
    bias2 = (mean - target) ** 2 - variance / n_draws
    return BiasVariance(
        noise=float(np.mean(noises)),
        bias2=float(bias2.mean()),
        variance=float(variance.mean()),
        error=float(np.mean(errors)),
        X=X,
        truth=target,
        mean_prediction=mean,
        bias2_at=bias2,
        variance_at=variance,
    )


def bias_variance_curve(
    estimator, draw, truth, *, param_name, param_range, n_draws=100, random_state=None
):
    """`bias_variance` for every value of one parameter.

    Parameters
    ----------
    estimator, draw, truth, n_draws, random_state
        As in `bias_variance`; every value of the parameter sees the same samples.
    param_name : str
        A parameter of the estimator, or of a step of a pipeline.
    param_range : sequence
        Its values.

    Returns
    -------
    list of BiasVariance, one per value
    """
    seed = seed_of(random_state)
    return [
        bias_variance(
            clone(estimator).set_params(**{param_name: value}),
            draw,
            truth,
            n_draws=n_draws,
            random_state=seed,
        )
        for value in param_range
    ]
