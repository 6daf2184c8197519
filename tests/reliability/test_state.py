"""What changes a fitted model: a fit that ends well, and nothing else."""

import copy
import pickle

import numpy as np
import pytest
from every_estimator import (
    EVERY,
    EXPORTED,
    IGNORED,
    QUESTIONS,
    TAKE_SPARSE,
    answers,
    data_for,
    made,
    numbers,
    state,
)
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


@pytest.mark.parametrize("kernel", ["linear", "precomputed", lambda X, Z: X @ Z.T])
def test_another_kernel_set_after_a_fit_changes_no_answer_of_its_model(kernel):
    model = maxmargin.SVC()
    X, y = data_for(model)
    answer = answers(model.fit(X, y), X)
    model.set_params(kernel=kernel, multi_class="ovr")
    assert answers(model, X) == answer
    assert not hasattr(model, "coef_")


def test_another_kernel_set_after_a_fit_of_kernel_ridge():
    model = maxmargin.KernelRidge(kernel="rbf")
    X, y = data_for(model)
    answer = answers(model.fit(X, y), X)
    for kernel in ("precomputed", "linear", lambda X, Z: X @ Z.T):
        assert answers(model.set_params(kernel=kernel), X) == answer


def test_a_function_as_kernel_and_its_rows_are_those_of_the_fit():
    model = maxmargin.SVC(kernel=lambda X, Z: X @ Z.T)
    X, y = data_for(model)
    questions = X.copy()
    answer = answers(model.fit(X, y), questions)
    X[:] = 7.0
    assert answers(model.set_params(kernel="rbf"), questions) == answer
    rbf = answers(maxmargin.SVC().fit(questions, y), questions)
    assert answers(model.fit(questions, y), questions) == rbf
    assert not hasattr(model, "_X_fit")


# Attributes that were overwritten.

STORED = (
    "support_vectors_", "X_fit_", "components_", "frequencies_", "coef_",
    "dual_coef_", "normalization_", "offsets_", "intercept_",
)  # fmt: skip
KEEP_ONLY_A_KERNEL = ("CircleMap", "KernelMap", "PolynomialMap", "XNORMap")
KEEP_ROWS = [title for title in EVERY if not title.startswith(KEEP_ONLY_A_KERNEL)]


def index_beyond(value):
    return with_index(value, 2**30)


def index_below(value):
    return with_index(value, -5)


def with_index(value, index):
    """Sparse, even if it was not: an array may have been replaced by such a matrix."""
    if np.ndim(value) < 2:
        return None
    spoiled = sparse.csr_matrix(value, copy=True)
    spoiled.indices[0] = index
    return spoiled


def missing_row(value):
    return value[:-1] if np.ndim(value) else None


def missing_column(value):
    return value[:, :-1] if np.ndim(value) == 2 else None


def nan_at_an_entry(value):
    return with_entry(value, np.nan)


def infinity_at_an_entry(value):
    return with_entry(value, np.inf)


def with_entry(value, number):
    spoiled = value.astype(np.float64) if np.ndim(value) else np.array(number)
    (spoiled.data if sparse.issparse(spoiled) else spoiled).flat[0] = number
    return spoiled


def fitted_on(title, container):
    model = EVERY[title]()
    X, y = data_for(model)
    X = container(X)
    return model.fit(X, y), X


def stored_by(model):
    names = [name for name in STORED if name in vars(model)]
    assert names
    return names


CHANGES = [
    index_beyond, index_below, missing_row, missing_column, nan_at_an_entry, infinity_at_an_entry,
]  # fmt: skip
CONTAINERS = [np.asarray, sparse.csr_array]


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("container", CONTAINERS, ids=["dense", "csr"])
@pytest.mark.parametrize("title", KEEP_ROWS)
def test_altered_rows_and_coefficients_are_refused(title, container, change):
    model, X = fitted_on(title, container)
    for name in stored_by(model):
        value = change(getattr(model, name))
        if value is None:
            continue
        altered = copy.copy(model)
        setattr(altered, name, value)
        for question in QUESTIONS:
            if hasattr(altered, question):
                with pytest.raises(ValueError, match=ALTERED):
                    getattr(altered, question)(X)


@pytest.mark.parametrize("container", CONTAINERS, ids=["dense", "csr"])
@pytest.mark.parametrize("title", KEEP_ROWS)
def test_other_numbers_in_the_same_shape_are_taken(title, container):
    model, X = fitted_on(title, container)
    for name in stored_by(model):
        answers_before = numbers(model, X)
        setattr(model, name, getattr(model, name) * 1.5)
        for before, after in zip(answers_before, numbers(model, X), strict=True):
            assert before.shape == after.shape
            assert np.all(np.isfinite(after))


def product(left, right):
    return left @ right.T


@pytest.mark.parametrize("name", ["SVR", "KernelRidge", "Nystroem"])
def test_rows_that_a_function_reads_are_counted_and_sound(name):
    model = made(name, kernel=product)
    X, y = data_for(model)
    X = sparse.csr_array(X)
    model.fit(X, y)
    for rows in {"support_vectors_", "_X_fit", "X_fit_", "components_"} & vars(model).keys():
        for change in (index_beyond, missing_row):
            altered = copy.copy(model)
            setattr(altered, rows, change(getattr(model, rows)))
            with pytest.raises(ValueError, match=ALTERED):
                answers(altered, X)


def test_a_coefficient_for_every_column_of_a_precomputed_matrix():
    model = maxmargin.KernelRidge(kernel="precomputed")
    X, y = data_for(model)
    K = RBF(0.5)(X)
    model.fit(K, y)
    model.dual_coef_, model.X_fit_ = model.dual_coef_[:-1], model.X_fit_[:-1]
    with pytest.raises(ValueError, match=f"{ALTERED}: X_fit_ has shape"):
        model.predict(K)


@pytest.mark.parametrize("name", ["SVC", "SVR"])
def test_a_warm_start_from_altered_coefficients_is_refused(name):
    model = made(name, warm_start=True)
    X, y = data_for(model)
    model.fit(sparse.csr_array(X), y)
    model.dual_coef_.indices[0] = 2**30
    with pytest.raises(ValueError, match=f"{ALTERED}: dual_coef_"):
        model.fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_a_lasso_begins_at_no_altered_coefficients(change):
    model = made("Lasso", alpha=0.01, warm_start=True)
    X, y = data_for(model)
    if change is not missing_row:  # fewer targets would be another problem, begun at zero
        y = np.column_stack([y, X[:, 0]])
    model.coef_ = value = change(model.fit(X, y).coef_)
    with pytest.raises(ValueError, match=f"{ALTERED}: coef_"):
        model.fit(X, y)
    assert model.coef_ is value


def test_altered_weights_become_no_array():
    X, y = data_for(maxmargin.LinearSVC())
    model = maxmargin.LinearSVC().fit(X, y).sparsify()
    model.coef_.indices[0] = 2**30
    with pytest.raises(ValueError, match=f"{ALTERED}: coef_"):
        model.densify()


# Counts and the layout of kernel machines.


def another_function(model):
    model.dual_coef_ = np.vstack([model.dual_coef_, model.dual_coef_])


def no_function(model):
    model.dual_coef_ = model.dual_coef_[:0]


def more_support(model):
    model.n_support_ = model.n_support_ + 1


def negative_support(model):
    model.n_support_ = np.concatenate([model.n_support_, [-1, 1]])


def fewer_rows(model):
    model.support_ = model.support_[:-1]


def more_intercepts(model):
    model.intercept_ = np.concatenate([model.intercept_, [0.0]])


TAMPERED = [
    another_function, no_function, more_support, negative_support, fewer_rows, more_intercepts,
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
