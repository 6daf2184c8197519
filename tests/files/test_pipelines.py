"""Pipelines come back from their files as they went in, or are refused by the name of a step."""

import re

import numpy as np
import pytest
import sklearn.svm
from model_zoo import IGNORED, answers, data, opened_up, pipeline_of
from scipy import sparse
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import maxmargin
from maxmargin import (
    SVC,
    CircleMap,
    KernelMap,
    LinearSVC,
    Nystroem,
    OneClassSVM,
    PolynomialMap,
    RandomFourierFeatures,
    XNORMap,
)
from maxmargin.files import FileError, load, save
from maxmargin.files.estimators_as_json import LEFT_OUT

pytestmark = [pytest.mark.filterwarnings(one) for one in IGNORED]


def through_a_file(model, folder):
    save(model, folder / "model.mm")
    return load(folder / "model.mm")


def assert_same(mine, theirs, X):
    assert [name for name, _ in mine.steps] == [name for name, _ in theirs.steps]
    for one, other in zip(answers(mine, X), answers(theirs, X), strict=True):
        np.testing.assert_array_equal(one, other)


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler((-3, 5.5), clip=True),
    MaxAbsScaler(),
]
MAPS = [
    Nystroem(n_components=5),
    RandomFourierFeatures(n_components=6),
    PolynomialMap(3),
    KernelMap(),
    CircleMap(),
    XNORMap(),
]


@pytest.mark.parametrize("last", [SVC(probability=True), LinearSVC(), OneClassSVM()], ids=repr)
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_every_scaler_before_a_machine_answers_the_same_bit_for_bit(scaler, last, tmp_path):
    model = pipeline_of(scaler, last)
    loaded = through_a_file(model, tmp_path)
    assert_same(loaded, model, np.random.default_rng(0).standard_normal((20, 3)))
    assert loaded[0].get_params() == scaler.get_params()
    for name, value in vars(model[0]).items():
        np.testing.assert_array_equal(getattr(loaded[0], name), value)
        assert np.asarray(getattr(loaded[0], name)).dtype == np.asarray(value).dtype


@pytest.mark.parametrize("feature_map", MAPS, ids=repr)
def test_every_map_between_a_scaler_and_a_machine(feature_map, tmp_path):
    model = pipeline_of(StandardScaler(), feature_map, LinearSVC())
    assert_same(through_a_file(model, tmp_path), model, data()[0])


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("scaler", [MaxAbsScaler(), StandardScaler(with_mean=False)], ids=repr)
def test_sparse_rows_stay_sparse(container, scaler, tmp_path):
    model = pipeline_of(scaler, SVC(), container=container)
    loaded = through_a_file(model, tmp_path)
    assert sparse.issparse(loaded[-1].support_vectors_)
    assert_same(loaded, model, container(data()[0]))


def test_steps_that_do_nothing_and_pipelines_that_only_transform(tmp_path):
    model = Pipeline([("first", None), ("scale", MaxAbsScaler()), ("idle", "passthrough"),
                      ("ä b", CircleMap())]).fit(*data())  # fmt: skip
    loaded = through_a_file(model, tmp_path)
    assert_same(loaded, model, data()[0])
    assert [loaded["first"], loaded["idle"]] == [None, "passthrough"]


def test_scalers_keep_the_precision_and_the_weights_that_they_were_fitted_with(tmp_path):
    X, y = data()
    for scaler in (MinMaxScaler(), MaxAbsScaler(), StandardScaler()):
        model = make_pipeline(scaler, SVC()).fit(X.astype(np.float32), y)
        loaded = through_a_file(model, tmp_path)
        assert loaded[0].scale_.dtype == scaler.scale_.dtype
        assert_same(loaded, model, X.astype(np.float32))
    model = make_pipeline(StandardScaler(), SVC())
    model.fit(X, y, standardscaler__sample_weight=np.linspace(0.1, 1, len(y)))
    loaded = through_a_file(model, tmp_path)
    assert loaded[0].n_samples_seen_ == model[0].n_samples_seen_


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_names_of_features_belong_to_the_first_step(output, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = data()
    frame = pandas.DataFrame(X, columns=["length", "", "ümlaut"])
    model = make_pipeline(StandardScaler(), SVC()).set_output(transform=output).fit(frame, y)
    loaded = through_a_file(model, tmp_path)
    assert list(loaded.feature_names_in_) == list(frame.columns)
    assert loaded.n_features_in_ == 3
    assert_same(loaded, model, frame)
    with config_context(transform_output="pandas"):
        assert_same(loaded, model, frame)


def test_what_only_a_next_fit_of_a_pipeline_needs_is_left_out(tmp_path):
    model = Pipeline([("a", StandardScaler()), ("b", SVC())], memory=str(tmp_path / "cache"))
    loaded = through_a_file(model.fit(*data()), tmp_path)
    assert loaded.memory is None
    assert_same(loaded, model, data()[0])


def test_the_proof_of_the_last_step_comes_along(tmp_path):
    model = pipeline_of(StandardScaler(), SVC())
    loaded = through_a_file(model, tmp_path)
    assert loaded[-1].certificate_ == model[-1].certificate_
    assert set(vars(loaded[-1])) - LEFT_OUT == set(vars(model[-1])) - LEFT_OUT


def test_a_file_of_a_pipeline_says_format_3_and_needs_no_new_scikit_learn(tmp_path):
    save(pipeline_of(MaxAbsScaler(), SVC()), tmp_path / "model.mm")
    document, _ = opened_up(tmp_path / "model.mm")
    assert (document["format_version"], document["class"]) == (3, "Pipeline")
    name, scaler = document["parameters"]["steps"][0]["tuple"]
    scaler = scaler["estimator"]
    assert (name, scaler["class"]) == ("maxabsscaler", "MaxAbsScaler")
    assert "clip" not in scaler["parameters"]  # scikit-learn 1.7 has none


class OwnScaler(StandardScaler):
    pass


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (
            [StandardScaler(), PCA(2), SVC()],
            "cannot hold the step 'pca', a PCA of sklearn, only StandardScaler, MinMaxScaler, "
            "MaxAbsScaler, SimpleImputer, OneHotEncoder, ColumnTransformer and estimators of "
            "maxmargin; save its steps one by one, with "
            "save(model['svc'], path); 'standardscaler' and 'pca' must be kept otherwise.",
        ),
        (
            [StandardScaler(), sklearn.svm.SVC()],
            "cannot hold the step 'svc', a SVC of sklearn, only StandardScaler, MinMaxScaler, "
            "MaxAbsScaler, SimpleImputer, OneHotEncoder, ColumnTransformer and estimators of "
            "maxmargin; from_sklearn(model['svc']) is one.",
        ),
        ([OwnScaler(), SVC()], "cannot hold the step 'ownscaler', a OwnScaler of test_pipelines"),
        (
            [make_pipeline(StandardScaler()), SVC()],
            "cannot hold the step 'pipeline', a Pipeline of sklearn",
        ),
        ([CircleMap(), MinMaxScaler()], "the last step must be an estimator of maxmargin."),
        ([CircleMap(), "passthrough"], "the last step must be an estimator of maxmargin."),
        (
            [StandardScaler(), SVC(kernel=lambda X, Z: X @ Z.T)],
            "steps.1.1.kernel is <function <lambda>",
        ),
    ],
)
def test_steps_that_no_file_can_hold_are_named_and_nothing_is_written(steps, reason, tmp_path):
    model = make_pipeline(*steps).fit(*data())
    with pytest.raises(FileError, match=re.escape(reason)):
        save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("step", "change", "reason"),
    [
        (0, {"scale_": np.zeros(3)}, "scale_ holds numbers that are not"),
        (0, {"mean_": np.zeros(2)}, "mean_ has shape (2,), but"),
        (0, {"with_mean": 1}, "with_mean must be True or False, not 1"),
        (0, {"remark": "mine"}, "a model file cannot hold the attribute"),
        (1, {"n_features_in_": 4}, "by n_features_in_ there are 4 features"),
    ],
)
def test_a_pipeline_that_was_altered_is_not_saved(step, change, reason, tmp_path):
    model = pipeline_of(StandardScaler(), SVC())
    vars(model[step]).update(change)
    with pytest.raises(FileError, match=re.escape(reason)):
        save(model, tmp_path / "m")


def test_a_step_that_was_not_fitted_is_not_saved(tmp_path):
    model = Pipeline([("scale", StandardScaler()), ("svc", maxmargin.SVC().fit(*data()))])
    with pytest.raises(FileError, match="This StandardScaler instance is not fitted yet"):
        save(model, tmp_path / "m")
