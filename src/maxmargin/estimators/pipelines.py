"""The model within a scikit-learn Pipeline."""

from sklearn.pipeline import Pipeline


def last_step(estimator):
    """The model itself, or the one at the end of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator
