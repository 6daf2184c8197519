"""Whatever holds the rows, the answer is the same, the rows stay as they were, and nonsense is
refused before any compiled loop reads it."""

import numpy as np
import pytest
from every_estimator import EVERY, IGNORED, TAKE_SPARSE, answers, data_for, numbers
from joblib import Parallel, delayed, dump, load
from scipy import sparse
from sklearn.base import clone

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]


def parts(matrix):
    return [matrix.data, matrix.indices, matrix.indptr]


@pytest.mark.parametrize("title", TAKE_SPARSE)
def test_long_indices_make_no_difference(title):
    model = EVERY[title]()
    X, y = data_for(model)
    short, long = sparse.csr_array(X), sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    expected = answers(clone(model).fit(short, y), short)
    assert answers(model.fit(long, y), long) == expected
    assert long.indices.dtype == np.int64


@pytest.mark.parametrize("title", TAKE_SPARSE)
def test_entries_in_disorder_and_in_two_parts_are_put_together_on_a_copy(title):
    model = EVERY[title]()
    X, y = data_for(model)
    tidy, (i, j) = sparse.csr_array(X), np.nonzero(X)
    i, j = np.repeat(i, 2), np.repeat(j, 2)
    order = np.lexsort((-j, i))  # columns from right to left, each value in two halves
    starts = np.searchsorted(i[order], np.arange(len(X) + 1))
    untidy = sparse.csr_array((X[i, j][order] / 2, j[order], starts), shape=X.shape)
    before = [part.copy() for part in parts(untidy)]
    expected = numbers(clone(model).fit(tidy, y), tidy)
    for found, wanted in zip(numbers(model.fit(untidy, y), untidy), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    assert all(map(np.array_equal, parts(untidy), before))


def out_of_range(matrix):
    matrix.indices[0] = 99


def negative(matrix):
    matrix.indices[0] = -1


def falling(matrix):
    matrix.indptr[1] = matrix.indptr[2] + 1


def beyond_the_end(matrix):
    matrix.indptr[-1] += 1000


def fewer_values(matrix):
    matrix.data = matrix.data[:-1]


@pytest.mark.parametrize(
    "spoil",
    [out_of_range, negative, falling, beyond_the_end, fewer_values],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("title", TAKE_SPARSE)
def test_malformed_sparse_rows_are_refused_by_fit_and_by_every_question(title, spoil):
    model = EVERY[title]()
    X, y = data_for(model)
    bad = sparse.csr_array(X)
    spoil(bad)
    with pytest.raises(ValueError, match="X: the sparse matrix has"):
        clone(model).fit(bad, y)
    model.fit(sparse.csr_array(X), y)
    for question in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(model, question):
            with pytest.raises(ValueError, match="X: the sparse matrix has"):
                getattr(model, question)(bad)


@pytest.mark.parametrize("title", EVERY)
def test_rows_that_cannot_be_written_to(title, tmp_path):
    model = EVERY[title]()
    X, y = data_for(model)
    expected = answers(clone(model).fit(X, y), X)
    dump((X, y), tmp_path / "rows")
    X_mapped, y_mapped = load(tmp_path / "rows", mmap_mode="r")
    for rows, targets in [(X_mapped, y_mapped), (locked(X), locked(y))]:
        assert not rows.flags.writeable
        found = clone(model).fit(rows, targets)
        assert answers(found, rows) == expected
    kept = sparse.csr_array(X)
    for part in parts(kept):
        part.flags.writeable = False
    if title in TAKE_SPARSE:
        free = sparse.csr_array(X)
        expected = answers(clone(model).fit(free, y), free)
        assert answers(clone(model).fit(kept, y), kept) == expected


def locked(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def fit_and_answer(model, X, y):
    return not X.flags.writeable, answers(model.fit(X, y), X)


def test_joblib_processes_that_share_the_rows_through_a_file():
    models = [make() for make in EVERY.values()]
    work = [(model, *data_for(model)) for model in models]
    before = [X.tobytes() for _, X, _ in work]
    expected = [answers(clone(model).fit(X, y), X) for model, X, y in work]
    found = Parallel(n_jobs=2, max_nbytes=0)(delayed(fit_and_answer)(*one) for one in work)
    assert all(was_mapped for was_mapped, _ in found)
    assert [answer for _, answer in found] == expected
    assert [X.tobytes() for _, X, _ in work] == before
