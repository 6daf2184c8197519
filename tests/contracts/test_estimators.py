"""Every exported estimator passes scikit-learn's own checks, without an expected failure."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin

ESTIMATORS = [
    value()
    for value in (getattr(maxmargin, name) for name in maxmargin.__all__)
    if isinstance(value, type) and issubclass(value, BaseEstimator)
]


@pytest.mark.filterwarnings("ignore:.*skipped.*:sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS)
def test_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_weights_equal_repetition_checks_are_among_them(estimator):
    checks = {check.func.__name__ for _, check in _checks(estimator)}
    assert "check_sample_weight_equivalence_on_dense_data" in checks
    assert "check_sample_weight_equivalence_on_sparse_data" in checks


def _checks(estimator):
    from sklearn.utils.estimator_checks import estimator_checks_generator

    return estimator_checks_generator(estimator)
