"""Every experiment leaves a folder that can be read: whole files, true numbers, shown pictures."""

import json
import re

import numpy as np
import pytest
from sklearn.svm import SVC as SklearnSVC

from maxmargin import experiments
from maxmargin.datasets import make_moons, make_xnor
from maxmargin.experiments.pages import Page
from maxmargin.files.access import plain

SETS = ["Gaussian mixture", "moons", "circles"]
SIMULATED = [experiments.simulation, experiments.approximation, experiments.bias_variance]


@pytest.fixture(autouse=True)
def _without_windows():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield
    assert not pyplot.get_fignums(), "a figure was left open"


def pictures_shown(folder):
    return re.findall(r"!\[[^\]]+\]\(([^)]+)\)", (folder / "report.md").read_text(encoding="utf-8"))


def check_folder(folder, results):
    assert json.loads((folder / "results.json").read_text(encoding="utf-8")) == results
    shown = pictures_shown(folder)
    assert shown == results["pictures"] != []
    assert {path.name for path in folder.iterdir()} == {"report.md", "results.json", *shown}
    for name in shown:
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("experiment", SIMULATED, ids=lambda module: module.__name__)
def test_the_folder_is_complete_and_repeatable(experiment, tmp_path):
    first = experiment.run(tmp_path / "new" / "first", quick=True)
    check_folder(tmp_path / "new" / "first", first)
    assert first["experiment"] == experiment.__name__.rsplit(".", 1)[-1]
    assert experiment.run(tmp_path / "second", random_state=None, quick=True) == first
    for name in ("report.md", "results.json"):
        same = [(tmp_path / place / name).read_bytes() for place in ("new/first", "second")]
        assert same[0] == same[1]


def test_another_seed_is_another_draw(tmp_path):
    first, second = (
        experiments.simulation.run(tmp_path, random_state=seed, quick=True)
        for seed in (1, np.random.default_rng(2))
    )
    assert first["sets"]["moons"]["objective"] != second["sets"]["moons"]["objective"]


def test_simulation_finds_one_model_with_two_solvers(tmp_path):
    results = experiments.simulation.run(tmp_path)
    assert list(results["sets"]) == SETS
    assert results["parameters"] == {"C": 0.6, "gamma": 2.0, "tol": 0.001, "random_state": 0}
    for one in results["sets"].values():
        assert one["train_rows"] == 200
        assert one["test_rows"] == 100
        assert one["train_accuracy"] > 0.9
        assert one["test_accuracy"] > 0.9
        pairs = one["random_pairs"]
        assert pairs["converged"]
        assert pairs["kkt_violation"] <= 1e-3
        assert abs(pairs["relative_difference_of_objectives"]) < 1e-5
        assert pairs["largest_difference_of_decisions"] < 1e-2
        assert pairs["test_accuracy"] == pytest.approx(one["test_accuracy"], abs=0.011)


def test_simulation_agrees_with_scikit_learn_on_data_of_the_user(tmp_path):
    X, y = make_xnor(120)
    one = experiments.simulation.run(tmp_path, {"four / corners": (X, y)})["sets"]["four / corners"]
    parts = experiments.simulation.split(X, y, 0)
    oracle = SklearnSVC(C=0.6, gamma=2.0).fit(parts[0], parts[2])
    assert one["test_accuracy"] == oracle.score(parts[1], parts[3])
    assert one["train_accuracy"] == oracle.score(parts[0], parts[2])
    assert "boundary_four_corners.png" in pictures_shown(tmp_path)


@pytest.mark.parametrize("experiment", SIMULATED[:2], ids=lambda module: module.__name__)
def test_data_that_is_no_dict_is_refused(experiment, tmp_path):
    with pytest.raises(TypeError, match=r"data must be a dict .* got str\."):
        experiment.run(tmp_path, "moons.csv")


def test_two_hundred_features_come_near_the_kernel_and_the_error_falls_as_promised(tmp_path):
    results = experiments.approximation.run(tmp_path, sizes=(10, 50, 200, 1000), n_draws=8)
    assert list(results["sets"]) == SETS
    assert results["parameters"]["n_components"] == 200
    for one in results["sets"].values():
        difference = one["exact"]["test_accuracy"] - one["approximate"]["test_accuracy"]
        assert abs(difference) <= 0.02 + 1e-12
        along = one["along_d"]
        assert along["slope"] == pytest.approx(-0.5, abs=0.05)
        np.testing.assert_allclose(along["gram_error"], along["predicted_error"], rtol=0.2)
        assert along["test_accuracy"][-1] == pytest.approx(one["exact"]["test_accuracy"], abs=0.02)


def test_bias_falls_and_variance_rises_with_the_degree_and_against_alpha(tmp_path):
    results = experiments.bias_variance.run(tmp_path, n_draws=60)
    for name, direction in (("degree", 1), ("alpha", -1)):
        one = {key: np.array(value)[::direction] for key, value in results[name].items()
               if isinstance(value, list)}  # fmt: skip
        assert one["bias2"][0] > 20 * one["bias2"][-1]
        assert np.all(np.diff(one["variance"]) > 0)
        total = one["noise"] + one["bias2"] + one["variance"]
        np.testing.assert_allclose(total, one["error"], rtol=0.1)
        assert results[name]["least"] == pytest.approx(total.min())
        best = list(one["values"]).index(results[name]["best"])
        assert 0 < best < len(total) - 1  # the valley is inside
    np.testing.assert_allclose(results["degree"]["noise"], 0.16, rtol=0.1)


def test_bias_and_variance_of_data_of_the_user(tmp_path):
    def draw(rng):
        X = rng.uniform(-1, 1, (20, 1))
        return X, X[:, 0] + 0.1 * rng.standard_normal(20)

    results = experiments.bias_variance.run(
        tmp_path, (draw, lambda X: X[:, 0]), degrees=(0, 1, 2), n_draws=40
    )
    assert results["degree"]["best"] == 1  # the truth is a line
    assert "the data given" in (tmp_path / "report.md").read_text(encoding="utf-8")


# Writing.


def test_json_gets_plain_values():
    value = {1: np.float64(0.5), "a": np.arange(2), "b": (np.int32(3), float("nan")), "c": range(2)}
    value |= {"d": np.bool_(True), "e": [np.inf, None, "word"]}
    expected = {"1": 0.5, "a": [0, 1], "b": [3, None], "c": [0, 1], "d": True}
    assert plain(value) == expected | {"e": [None, None, "word"]}
    json.dumps(plain(value), allow_nan=False)


def test_a_failure_leaves_the_files_of_before(tmp_path, monkeypatch):
    experiments.simulation.run(tmp_path, quick=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(self, *arguments, **options):
        raise OSError("no space left")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(OSError, match="no space left"):
        experiments.simulation.run(tmp_path, {"moons": make_moons(40)}, quick=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_of_other_names_are_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    Page(tmp_path, "A title").finish({})
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "report.md").read_text() == "# A title\n"
