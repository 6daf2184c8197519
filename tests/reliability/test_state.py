"""What changes a fitted model: a fit that ends well, and nothing else."""

import copy
import pickle

import numpy as np
import pytest
from every_estimator import EVERY, EXPORTED, IGNORED, TAKE_SPARSE, answers, data_for, made, state
from scipy import sparse
from sklearn.base import clone

import maxmargin
from maxmargin.estimators.base import BaseSVM
from maxmargin.kernels import RBF

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

ALTERED = r"internal representation of .* was altered"
KERNEL_MACHINES = [name for name in EXPORTED if issubclass(getattr(maxmargin, name), BaseSVM)]


@pytest.mark.parametrize("title", EVERY)
def test_rows_changed_after_the_fit_change_no_answer(title):
    model = EVERY[title]()
    X, y = data_for(model)
    questions = X.copy()
    answer = answers(model.fit(X, y), questions)
    X[:], y[:] = 7.0, 0
    assert answers(model, questions) == answer


@pytest.mark.parametrize("title", TAKE_SPARSE)
def test_sparse_rows_changed_after_the_fit_change_no_answer(title):
    model = EVERY[title]()
    X, y = data_for(model)
    X = sparse.csr_array(X)
    questions = X.copy()
    answer = answers(model.fit(X, y), questions)
    X.data[:], X.indices[:] = 7.0, 0
    assert answers(model, questions) == answer


@pytest.mark.parametrize("title", EVERY)
def test_a_fit_that_fails_changes_nothing(title):
    model = EVERY[title]()
    X, y = data_for(model)
    new = state(model)
    spoiled = X.copy()
    spoiled[4, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(spoiled, y)
    assert state(model) == new
    model.fit(X, y)
    fitted = state(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(spoiled, y)
    assert state(model) == fitted


@pytest.mark.parametrize("title", EVERY)
def test_copies_pickles_and_clones(title):
    model = EVERY[title]()
    X, y = data_for(model)
    answer = answers(model.fit(X, y), X)
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert answers(twin, X) == answer
    fresh = clone(model)
    assert not [name for name in vars(fresh) if name.endswith("_") and not name.startswith("_")]
    assert answers(fresh.fit(X, y), X) == answer
    assert answers(model, X) == answer


@pytest.mark.parametrize("title", EVERY)
def test_parameters_set_after_a_fit_change_no_answer_of_its_model(title):
    model = EVERY[title]()
    X, y = data_for(model)
    answer = answers(model.fit(X, y), X)
    for name in ("C", "alpha", "tol", "epsilon", "nu", "n_components"):
        if name in model.get_params():
            model.set_params(**{name: 0.123 if name != "n_components" else 3})
    assert answers(model, X) == answer


# Attributes that were overwritten. Sparse ones in tests/estimators/test_svc_errors.py.


def fewer_vectors(model):
    model.support_vectors_ = model.support_vectors_[:-1]


def fewer_features(model):
    model.support_vectors_ = np.ascontiguousarray(model.support_vectors_[:, :-1])


def fewer_coefficients(model):
    model.dual_coef_ = model.dual_coef_[:, :-1]


def another_function(model):
    model.dual_coef_ = np.vstack([model.dual_coef_, model.dual_coef_])


def no_function(model):
    model.dual_coef_ = model.dual_coef_[:0]


def not_a_number(model):
    model.dual_coef_[0, 0] = np.nan


def more_support(model):
    model.n_support_ = model.n_support_ + 1


def negative_support(model):
    model.n_support_ = np.concatenate([model.n_support_, [-1, 1]])


def fewer_rows(model):
    model.support_ = model.support_[:-1]


def more_intercepts(model):
    model.intercept_ = np.concatenate([model.intercept_, [0.0]])


def intercept_is_nan(model):
    model.intercept_ = model.intercept_ + np.nan


TAMPERED = [
    fewer_vectors, fewer_features, fewer_coefficients, another_function, no_function, not_a_number,
    more_support, negative_support, fewer_rows, more_intercepts, intercept_is_nan,
]  # fmt: skip


@pytest.mark.parametrize("alter", TAMPERED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", KERNEL_MACHINES)
def test_an_altered_model_is_refused(name, alter):
    model = made(name)
    X, y = data_for(model)
    model.fit(X, y)
    alter(model)
    for question in ("predict", "decision_function", "score_samples"):
        if hasattr(model, question):
            with pytest.raises(ValueError, match=ALTERED):
                getattr(model, question)(X)


@pytest.mark.parametrize("row", [-1, 10**6])
@pytest.mark.parametrize("name", KERNEL_MACHINES)
def test_a_support_vector_that_is_no_row_of_the_matrix_is_refused(name, row):
    model = made(name, kernel="precomputed")
    X, y = data_for(model)
    K = RBF(0.5)(X)
    model.fit(K, y)
    model.support_[0] = row
    with pytest.raises(ValueError, match=ALTERED):
        model.predict(K)
