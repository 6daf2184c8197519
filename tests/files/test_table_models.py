"""Models of tables: numbers with holes, words as categories, and the column that is the target."""

import re

import numpy as np
import pytest
from model_zoo import (
    IGNORED,
    answers,
    columns_of,
    encoded,
    filled,
    model_of,
    opened_up,
    seal,
    table,
    table_model,
)
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

import maxmargin
from maxmargin import SVC, LinearSVC
from maxmargin.files import FileError, load, save

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]

COLUMNS = {
    "filled, scaled and encoded": lambda: columns_of(filled(StandardScaler()), encoded()),
    "the mean, and dense": lambda: columns_of(
        filled(strategy="mean"), encoded(sparse_output=False, drop="first")
    ),
    "all but one of two": lambda: columns_of(filled(MaxAbsScaler()), encoded(drop="if_binary")),
    "a map of the numbers": lambda: columns_of(filled(maxmargin.CircleMap()), encoded()),
    "mostly zeros": lambda: columns_of(filled(), encoded(), sparse_threshold=1.0),
    "only some columns": lambda: ColumnTransformer([("words", encoded(), [3, 1])]),
    "a slice, and a column left out": lambda: ColumnTransformer(
        [("words", encoded(), slice(3, None)), ("out", "drop", [1])]
    ),
    "a mask, and two steps of a column": lambda: ColumnTransformer(
        [("words", encoded(), [False, True, False, True]), ("a", filled(), [0]),
         ("b", filled(strategy="mean"), [0])]
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_come_back_as_they_went_in(kind, tmp_path):
    model, (X, _) = table_model(COLUMNS[kind](), SVC(probability=True)), table()
    save(model, tmp_path / "one")
    loaded = load(tmp_path / "one")
    for mine, expected in zip(answers(loaded, X), answers(model, X), strict=True):
        np.testing.assert_array_equal(mine, expected)
    names = [one[0].get_feature_names_out().tolist() for one in (loaded, model)]
    assert names[0] == names[1]
    assert (loaded[-1].target_name_, loaded[-1].target_position_) == ("kind", 4)
    save(loaded, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_columns_that_pass_through(tmp_path):
    X, y = table()
    X[X != X] = 0.5  # NaN
    X[9, 1] = "red"
    words = [("words", OneHotEncoder(), [1, 3])]
    for columns in (
        ColumnTransformer(words, remainder="passthrough"),
        ColumnTransformer([*words, ("rest", "passthrough", [2, 0])]),
    ):
        model = make_pipeline(columns, LinearSVC()).fit(X, y)
        save(model, tmp_path / "m")
        expected = model.decision_function(X)
        np.testing.assert_array_equal(load(tmp_path / "m").decision_function(X), expected)


def test_a_data_frame_is_read_by_the_names_of_its_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["length", "colour", "width", "way"]).infer_objects()
    columns = ColumnTransformer(
        [("numbers", filled(StandardScaler()), ["length", "width"]),
         ("words", encoded(), ["colour", "way"])]
    )  # fmt: skip
    model = make_pipeline(columns, SVC()).fit(frame, y)
    save(model, tmp_path / "m")
    loaded, other = load(tmp_path / "m"), frame[["way", "width", "colour", "length"]].assign(id=0)
    np.testing.assert_array_equal(loaded.decision_function(other), model.decision_function(frame))


def test_numbers_as_categories_and_words_without_objects(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    for X in (rng.integers(0, 3, (40, 2)), rng.choice(["a", "bcd"], (40, 2))):
        model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(X, y)
        save(model, tmp_path / "m")
        loaded = load(tmp_path / "m")
        assert [one.dtype for one in loaded[0].categories_] == [
            one.dtype for one in model[0].categories_
        ]
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_wide_table_of_words_has_few_members(tmp_path):
    X = np.random.default_rng(0).choice(["a", "b", "c"], (20, 2000)).astype(object)
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(X, np.arange(20) % 2)
    save(model, tmp_path / "m")
    assert len(opened_up(tmp_path / "m")[1]) < 10
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (SimpleImputer(add_indicator=True), "add_indicator must be False, not True"),
        (SimpleImputer(strategy="constant"), "strategy must be 'mean' or 'median' or"),
        (SimpleImputer(missing_values=-1), "missing_values must be NaN, not -1"),
        (OneHotEncoder(min_frequency=2), "min_frequency must be None, not 2"),
        (OneHotEncoder(dtype=np.float32), "dtype must be float64, not a type"),
        (OneHotEncoder(categories=[[0, 1]] * 3), "categories must be 'auto'"),
        (ColumnTransformer([("a", StandardScaler(), [0])], transformer_weights={"a": 2}),
         "transformer_weights must be None"),
        (ColumnTransformer([("a", PCA(1), [0, 1])]), "cannot hold the step 'a', a PCA of sklearn"),
        (ColumnTransformer([("a", make_pipeline(StandardScaler(), PCA(1)), [0])]),
         "cannot hold the step 'a: pca', a PCA of sklearn"),
        (ColumnTransformer([("a", columns_of(StandardScaler(), "drop").set_params(
            transformers=[("b", StandardScaler(), [0])]), [0])]), "has columns of columns"),
    ],
    ids=str,
)  # fmt: skip
def test_what_a_file_cannot_hold_of_a_part_is_named(step, reason, tmp_path):
    X = np.random.default_rng(0).integers(0, 2, (30, 3)).astype(float)
    model = make_pipeline(step, LinearSVC()).fit(X, X[:, 0])
    with pytest.raises(FileError, match=re.escape(reason)):
        save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_was_never_there_cannot_be_filled_from_a_file(tmp_path):
    X = np.column_stack([np.arange(6.0), np.full(6, np.nan)])
    with pytest.warns(UserWarning, match="Skipping features without any observed values"):
        model = make_pipeline(SimpleImputer(), LinearSVC()).fit(X, [0, 1] * 3)
    with pytest.raises(FileError, match="statistics_ must be an array of names"):
        save(model, tmp_path / "m")


def within(*way):
    """The value of a nested document."""

    def find(document):
        for key in way:
            document = document[key]
        return document

    return find


TRANSFORMERS = within(
    "parameters", "steps", 0, "tuple", 1, "estimator", "parameters", "transformers"
)
ENCODER = "steps.0.1.transformers.1.1.1.1."
NUMBERS = "steps.0.1.transformers.0.2"


def array(name, value):
    def edit(document, arrays):
        arrays[name] = value(arrays[name])

    return edit


def changed(k, place, value):
    def edit(document, arrays):
        TRANSFORMERS(document)[k]["tuple"][place] = value

    return edit


REFUSED = {
    "categories in another order": (
        array(ENCODER + "categories_", lambda a: a[::-1].copy()), "each greater than the last"),
    "categories that end nowhere": (
        array(ENCODER + "categories_.parts", lambda a: a + 2**60), "where arrays end"),
    "a feature without categories": (
        array(ENCODER + "categories_.parts", lambda a: a * [0, 1]), "greater than the last"),
    "a column that is not there": (array(NUMBERS, lambda a: a + 7), "each of the 4 columns"),
    "a column before the first": (array(NUMBERS, lambda a: a - 1), "each of the 4 columns"),
    "columns as numbers": (array(NUMBERS, lambda a: a.astype(float)), "an array of positions"),
    "more columns than the step takes": (
        array(NUMBERS, lambda a: np.array([0, 2, 2])), "takes 2 features, but gets 3"),
    "a name twice": (changed(0, 0, "words"), "two steps have the same name"),
    "a name of a parameter": (changed(0, 0, "n_jobs"), "cannot be called 'n_jobs'"),
    "a remainder that is no word": (changed(1, 0, "remainder"), "not what the parameter says"),
    "a word that means nothing": (changed(0, 1, "erase"), "is no transformer"),
    "columns of nothing": (changed(0, 1, {"pipeline": []}), "pairs of a name"),
    "a pipeline of nothing": (
        changed(0, 1, {"pipeline": [{"tuple": ["a", "passthrough"]}]}), "no step does anything"),
    "a target that is a number": (
        lambda document, arrays: within("parameters", "steps", 1, "tuple", 1, "estimator")(
            document)["attributes"].update(target_name_=3), "target_name_ must be text, not 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_makes_no_sense_is_refused(name, tmp_path):
    path, (edit, reason) = tmp_path / "m", REFUSED[name]
    save(model_of("table"), path)
    document, arrays = opened_up(path)
    edit(document, arrays)
    seal(path, document, arrays)
    with pytest.raises(FileError, match=reason):
        load(path)


def test_a_file_that_claims_many_columns_takes_no_memory_for_them(tmp_path):
    path = tmp_path / "m"
    save(model_of("table"), path)
    document, arrays = opened_up(path)
    step = within("parameters", "steps", 0, "tuple", 1, "estimator")(document)
    step["attributes"]["n_features_in_"] = 2**40
    seal(path, document, arrays)
    with pytest.raises(FileError, match="must mention each of the 1099511627776 columns"):
        load(path)
