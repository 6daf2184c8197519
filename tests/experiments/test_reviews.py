"""The experiment on reviews: on a small file of invented ones, and on the real file where it is."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from maxmargin.datasets.reviews import COLUMNS
from maxmargin.experiments import reviews

GOOD = ["love", "perfect", "great", "comfortable", "flattering", "soft", "beautiful"]
BAD = ["returned", "disappointed", "cheap", "huge", "poor", "itchy", "unflattering"]
OTHER = [f"{what}{number}" for what in ("dress", "colour", "sleeve", "day") for number in range(12)]


@pytest.fixture(autouse=True)
def _without_windows():
    import matplotlib

    matplotlib.use("Agg")


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    """Reviews of which four in five recommend, in words that tell."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("data") / "reviews.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([column.heading for column in COLUMNS.values()])
        for row in range(300):
            pleased = int(rng.uniform() < 0.8)
            telling = rng.choice(GOOD if pleased else BAD, 2)
            text = " ".join(rng.permutation([*telling, *rng.choice(OTHER, 8)]))
            text = "" if row % 50 == 0 else text
            writer.writerow([row, 40, "a title", text, 5, pleased, 0, "General", "Tops", "Knits"])
    return path


def check(folder, results):
    assert json.loads((folder / "results.json").read_text(encoding="utf-8")) == results
    page = (folder / "report.md").read_text(encoding="utf-8")
    expected = ["curves_pca.png", "curves_topics.png", "accuracy.png", "words.png"]
    assert results["pictures"] == expected
    for name in expected:
        assert f"]({name})" in page
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    for part in ("sample", "whole"):
        assert results[part]["majority"]["balanced_accuracy"] == 0.5
        assert results[part]["pca"]["dimensions"] == results[part]["topics"]["dimensions"] == 5
        assert results[part]["discriminant"]["dimensions"] == 1
        assert f"{100 * results[part]['majority']['test_accuracy']:.2f} %" in page
    assert "latent Dirichlet" in page


def test_a_quick_run_on_invented_reviews(invented, tmp_path):
    results = reviews.run(tmp_path, invented, quick=True)
    check(tmp_path, results)
    assert results["reviews"] == 300
    assert results["with_text"] == 294
    words = results["words"]["plain"]
    assert words["test_accuracy"] > results["whole"]["majority"]["test_accuracy"]
    assert words["balanced_accuracy"] > 0.8
    assert {one["word"] for one in results["words"]["heaviest"]["for"]} & set(GOOD)
    assert {one["word"] for one in results["words"]["heaviest"]["against"]} & set(BAD)


def test_the_file_must_be_named_and_there(tmp_path):
    with pytest.raises(ValueError, match=r"reviews: data must be the path .* Kaggle"):
        reviews.run(tmp_path / "out")
    with pytest.raises(FileNotFoundError, match=r"load_reviews: there is no file .* Kaggle"):
        reviews.run(tmp_path / "out", tmp_path / "missing.csv")
    assert not (tmp_path / "out").exists()


def test_the_figures_of_the_text_and_a_better_answer(tmp_path):
    beside = Path(__file__).parents[3] / "shared" / "data"
    folder = Path(os.environ.get("MAXMARGIN_DATA", beside)) / "text"
    path = folder / "Womens_Clothing_E-Commerce_Reviews.csv.gz"
    if not path.exists():
        pytest.skip("the reviews are not here")
    results = reviews.run(tmp_path, path)
    check(tmp_path, results)
    for part in ("sample", "whole"):
        for kind in ("pca", "topics"):
            found = results[part][kind]
            assert found["train_accuracy"] == pytest.approx(0.8203, abs=0.01)
            assert found["test_accuracy"] == pytest.approx(0.8154, abs=0.01)
            assert found["balanced_accuracy"] < 0.52  # no better than the majority
    for kind in ("pca", "topics"):
        pairs = results["sample"][kind]["random_pairs"]
        assert abs(pairs["relative_difference_of_objectives"]) < 1e-4
    words = results["words"]
    assert words["plain"]["test_accuracy"] > 0.9
    assert words["plain"]["balanced_accuracy"] > 0.8
    assert words["balanced"]["balanced_accuracy"] > words["plain"]["balanced_accuracy"]
