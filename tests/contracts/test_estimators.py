"""Every exported estimator passes scikit-learn's own checks."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import maxmargin

# Where the default is infeasible for the class sizes in scikit-learn's checks.
PARAMETERS = {"NuSVC": {"nu": 0.3}}

# scikit-learn's own classes have these too; nothing else is expected to fail.
EXPECTED_FAILURES = {
    "NuSVC": {
        "check_class_weight_classifiers": "class weights of 1000 and 1e-4 leave no nu above 2e-7 "
        "feasible: both classes' multipliers must have the same sum",
    },
    "Ridge": {
        "check_non_transformer_estimators_n_iter": "n_iter_ is None for a closed form, as there, "
        "where this check is made with solver='sag'",
    },
}

ESTIMATORS = [
    value(**PARAMETERS.get(value.__name__, {}))
    for value in (getattr(maxmargin, name) for name in maxmargin.__all__)
    if isinstance(value, type) and issubclass(value, BaseEstimator)
]


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


# On data that is not separable, of low rank or hard to descend on; the estimators' own tests pin
# these warnings.
@pytest.mark.filterwarnings("ignore:.*max_iter=1000.*:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*went to and fro.*:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*max_updates=.*:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:nu is too small.*:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:LinearRegression.*:maxmargin.errors.RankWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_passes_scikit_learns_checks(estimator, check):
    check(estimator)


WEIGHTED = [estimator for estimator in ESTIMATORS if has_fit_parameter(estimator, "sample_weight")]


@pytest.mark.parametrize("estimator", WEIGHTED, ids=lambda e: type(e).__name__)
def test_weights_equal_repetition_checks_are_among_them(estimator):
    checks = {check.func.__name__ for _, check in estimator_checks_generator(estimator)}
    assert "check_sample_weight_equivalence_on_dense_data" in checks
    assert "check_sample_weight_equivalence_on_sparse_data" in checks
    assert not any("weight_equivalence" in name for name in expected_failures(estimator))
