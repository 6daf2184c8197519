"""The data sets are what they say: seeded, balanced, separable or not; files read or refused."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from maxmargin import SVC, datasets
from maxmargin.errors import NotSeparableError

MAKERS = [
    datasets.make_gaussian_mixture,
    datasets.make_moons,
    datasets.make_circles,
    datasets.make_xnor,
    datasets.make_separable,
    datasets.make_outlier,
]
NOISY = MAKERS[:4]
by_name = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@by_name
def test_points_and_labels_have_the_promised_form(make):
    X, y = make(101)
    assert X.shape == (101, 2)
    assert X.dtype == np.float64
    assert set(y) == {-1, 1}
    assert y.dtype.kind == "i"
    assert np.isfinite(X).all()
    if make is not datasets.make_outlier:
        assert (y == 1).sum() == 51
    changes = (np.diff(y) != 0).sum()
    assert 30 < changes < 70  # neither sorted nor alternating


@by_name
def test_seed_decides(make):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = make()
    for again in (make(), make(random_state=None), make(random_state=0)):
        np.testing.assert_array_equal(again[0], first[0])
        np.testing.assert_array_equal(again[1], first[1])
    other = make(random_state=1)
    assert not np.array_equal(other[0], first[0])
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    shared = np.random.RandomState(3)
    assert not np.array_equal(make(random_state=shared)[0], make(random_state=shared)[0])


@pytest.mark.parametrize("make", NOISY, ids=lambda make: make.__name__)
def test_noise_is_the_standard_deviation(make):
    clean, y = make(4000, noise=0.0)
    noisy, labels = make(4000, noise=0.3)
    np.testing.assert_array_equal(labels, y)
    added = noisy - clean
    np.testing.assert_allclose(added.std(axis=0), 0.3, rtol=0.05)
    np.testing.assert_allclose(added.mean(axis=0), 0.0, atol=0.02)


def test_moons_are_half_circles():
    X, y = datasets.make_moons(400, noise=0.0)
    upper, lower = X[y == -1], X[y == 1]
    np.testing.assert_allclose(np.hypot(*upper.T), 1.0)
    np.testing.assert_allclose(np.hypot(*(lower - [1.0, 0.5]).T), 1.0)
    assert upper[:, 1].min() >= 0
    assert lower[:, 1].max() <= 0.5
    with pytest.raises(NotSeparableError):
        SVC(kernel="linear", C=np.inf).fit(X, y)


def test_circles_have_their_radii():
    X, y = datasets.make_circles(400, noise=0.0, factor=0.3)
    np.testing.assert_allclose(np.hypot(*X.T), np.where(y > 0, 0.3, 1.0))


def test_xnor_is_true_where_signs_agree():
    X, y = datasets.make_xnor(400, noise=0.0)
    np.testing.assert_array_equal(np.abs(X), 1.0)
    np.testing.assert_array_equal(X[:, 0] * X[:, 1], y)
    assert len(np.unique(X, axis=0)) == 4


def test_mixture_has_the_centres_and_labels_asked_for():
    centres = {0: [(0, 0, 0)], 5: [(1, 1, 1), (2, 2, 2)], 9: np.full((1, 3), 4.0)}
    X, y = datasets.make_gaussian_mixture(90, centres=centres, noise=0.0)
    assert X.shape == (90, 3)
    for label, cloud in centres.items():
        assert (y == label).sum() == 30
        np.testing.assert_array_equal(np.unique(X[y == label], axis=0), cloud)


@pytest.mark.parametrize("margin", [0.01, 0.5, 3.0])
@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_separable_data_have_at_least_the_margin(margin, n_features):
    X, y, w, b = datasets.make_separable(
        60, n_features, margin=margin, random_state=4, return_separator=True
    )
    assert X.shape == (60, n_features)
    assert np.linalg.norm(w) == pytest.approx(1.0)
    assert (y * (X @ w + b)).min() >= margin * (1 - 1e-12) - 1e-12
    hard = SVC(kernel="linear", C=np.inf).fit(X, y)
    assert hard.score(X, y) == 1.0
    # The widest separator is at least as wide as the one we know.
    assert 1 / np.linalg.norm(hard.coef_) >= margin * (1 - 1e-3)


@pytest.mark.parametrize("n_outliers", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_outlier_moves_the_hard_margin_and_not_the_soft_one(n_outliers, seed):
    X, y = datasets.make_outlier(80, n_outliers, random_state=seed)
    clean = slice(0, 80 - n_outliers)
    assert (y[80 - n_outliers :] == -1).all()

    def machine(C, rows):
        return SVC(kernel="linear", C=C, tol=1e-6).fit(X[rows], y[rows])

    def margin(svm):
        return 1 / np.linalg.norm(svm.coef_)

    assert margin(machine(np.inf, clean)) >= 0.999
    assert margin(machine(np.inf, slice(None))) < 0.5 * margin(machine(np.inf, clean))
    soft, undisturbed = machine(0.1, slice(None)), machine(0.1, clean)
    assert margin(soft) > 0.8 * margin(undisturbed)
    assert soft.score(X[clean], y[clean]) == 1.0


def test_deep_outlier_leaves_no_hard_margin():
    X, y = datasets.make_outlier(depth=1.4)
    SVC(kernel="linear", C=np.inf).fit(X[:-1], y[:-1])
    with pytest.raises(NotSeparableError):
        SVC(kernel="linear", C=np.inf).fit(X, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: datasets.make_moons(1),
            "make_moons: n_samples must be a whole number of at least 2, got 1.",
        ),
        (
            lambda: datasets.make_xnor(10.0),
            "make_xnor: n_samples must be a whole number of at least 2, got 10.0.",
        ),
        (
            lambda: datasets.make_moons(noise=-1),
            "make_moons: noise must be a number of at least 0, got -1.",
        ),
        (
            lambda: datasets.make_circles(factor=1.0),
            "make_circles: factor must be a number in (0, 1), got 1.0.",
        ),
        (
            lambda: datasets.make_separable(margin=0),
            "make_separable: margin must be a positive finite number, got 0.",
        ),
        (
            lambda: datasets.make_separable(10, 0),
            "make_separable: n_features must be a whole number of at least 1, got 0.",
        ),
        (
            lambda: datasets.make_outlier(n_outliers=0),
            "make_outlier: n_outliers must be a whole number of at least 1, got 0.",
        ),
        (
            lambda: datasets.make_outlier(5, 4),
            "make_outlier: n_samples must be at least n_outliers + 2 = 6, got 5.",
        ),
        (
            lambda: datasets.make_gaussian_mixture(centres={1: [(0, 0)], 2: [(0, 0, 0)]}),
            "make_gaussian_mixture: centres must be a dict from each label to its centres, all "
            "with the same number of coordinates, got {1: [(0, 0)], 2: [(0, 0, 0)]}.",
        ),
        (
            lambda: datasets.make_gaussian_mixture(centres={}),
            "make_gaussian_mixture: centres must be a dict from each label to its centres, all "
            "with the same number of coordinates, got {}.",
        ),
        (
            lambda: datasets.make_gaussian_mixture(centres=[(0, 0)]),
            "make_gaussian_mixture: centres must be a dict from each label to its centres, all "
            "with the same number of coordinates, got [(0, 0)].",
        ),
    ],
)
def test_wrong_argument_is_named(call, message):
    with pytest.raises(ValueError) as refusal:
        call()
    assert str(refusal.value) == message


# The reviews.

HEADER = (
    ",Clothing ID,Age,Title,Review Text,Rating,Recommended IND,Positive Feedback Count,"
    "Division Name,Department Name,Class Name\r\n"
)
FIRST = '0,767,33,,"Silky, and ""soft""\nand warm",4,1,0,General,Dresses,Dresses\r\n'
SECOND = "1,1080,60,Too small,,2,0,5,General Petite,Tops,Knits\r\n"


def written(tmp_path, content, name="reviews.csv"):
    path = tmp_path / name
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["reviews.csv", "reviews.csv.gz"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_reviews_are_read_with_commas_quotes_and_newlines(tmp_path, name, mark):
    reviews = datasets.load_reviews(written(tmp_path, mark + HEADER + FIRST + SECOND, name))
    assert len(reviews) == 2
    np.testing.assert_array_equal(reviews.target, [1, 0])
    np.testing.assert_array_equal(reviews.rating, [4, 2])
    np.testing.assert_array_equal(reviews.age, [33, 60])
    np.testing.assert_array_equal(reviews.positive_feedback, [0, 5])
    np.testing.assert_array_equal(reviews.clothing_id, [767, 1080])
    assert list(reviews.title) == ["", "Too small"]
    assert list(reviews.review) == ['Silky, and "soft"\nand warm', ""]
    assert list(reviews.text) == ['Silky, and "soft"\nand warm', "Too small"]
    assert list(reviews.division) == ["General", "General Petite"]
    assert list(reviews.department) == ["Dresses", "Tops"]
    assert list(reviews.class_name) == ["Dresses", "Knits"]
    assert all(len(getattr(reviews, name)) == 2 for name in reviews.feature_names)
    assert "target" not in reviews.feature_names


def test_title_and_review_are_joined_and_blank_lines_and_other_columns_ignored(tmp_path):
    header = HEADER.replace("Age", "Colour,Age")
    row = "0,1,red,33,Nice,Fits well.,5,1,0,General,Tops,Knits\r\n"
    reviews = datasets.load_reviews(str(written(tmp_path, header + row + "\r\n\r\n" + row)))
    assert list(reviews.text) == ["Nice Fits well."] * 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "{path} is empty. The data set is"),
        (HEADER, "{path} has a header but no reviews."),
        ("a,b\r\n1,2\r\n", "{path} has no column Clothing ID, Age, Title, Review Text, Rating, "),
        (
            HEADER.replace("Age", "age") + FIRST,
            "{path} has no column Age. The data set is",
        ),
        (HEADER + FIRST + "2,3\r\n", "{path}:4: 11 fields expected, got 2."),
        (
            HEADER + FIRST + SECOND.replace("60", "old"),
            "{path}:4: Age must be a whole number, got 'old'.",
        ),
        (
            HEADER + FIRST + SECOND.replace("60", "9" * 30),
            f"{{path}}:4: Age must be a whole number, got '{'9' * 30}'.",
        ),
        (HEADER + SECOND.replace("60", ""), "{path}:2: Age must be a whole number, got ''."),
        (
            HEADER + SECOND.replace(",2,0,5", ",2,7,5"),
            "{path}:2: Recommended IND must be 0 or 1, got '7'.",
        ),
        (HEADER + FIRST + '2,3,4,"never closed\r\n', "{path}:4: unexpected end of data."),
        (
            (HEADER + FIRST).encode() + b"\xff\xfe",
            "{path} is not UTF-8 text (invalid start byte). Give the .csv itself, unpacked, or "
            "packed as .csv.gz.",
        ),
    ],
    ids=[
        "empty", "header only", "not this csv", "one column missing", "too few fields",
        "not a number", "too large a number", "number missing", "not a flag", "open quote",
        "not utf-8",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["reviews.csv", "reviews.csv.gz"])
def test_file_that_is_not_the_reviews_is_refused(tmp_path, content, reason, name):
    path = written(tmp_path, content, name)
    with pytest.raises(ValueError) as refusal:
        datasets.load_reviews(path)
    assert str(refusal.value).startswith("load_reviews: " + reason.format(path=path))


@pytest.mark.parametrize("damage", ["cut", "not gzip", "altered"])
def test_damaged_gzip_is_refused(tmp_path, damage):
    whole = gzip.compress((HEADER + FIRST * 50).encode())
    path = tmp_path / "reviews.csv.gz"
    path.write_bytes(
        {
            "cut": whole[:60],
            "not gzip": HEADER.encode(),
            "altered": whole[:40] + bytes(20) + whole[60:],
        }[damage]
    )
    with pytest.raises(ValueError) as refusal:
        datasets.load_reviews(path)
    assert str(refusal.value).startswith(f"load_reviews: {path} is not a whole gzip file: ")


def test_missing_file_says_where_the_data_are(tmp_path):
    with pytest.raises(FileNotFoundError) as refusal:
        datasets.load_reviews(tmp_path / "none.csv")
    assert str(refusal.value) == (
        f"load_reviews: there is no file {tmp_path / 'none.csv'}. The data set is \"Women's "
        'E-Commerce Clothing Reviews" by nicapotato on Kaggle: '
        "https://www.kaggle.com/datasets/nicapotato/womens-ecommerce-clothing-reviews"
    )


def test_directory_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory; name the file in it"):
        datasets.load_reviews(tmp_path)


def test_the_real_file():
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MAXMARGIN_DATA", beside)) / "text"
    path = folder / "Womens_Clothing_E-Commerce_Reviews.csv.gz"
    if not path.exists():
        pytest.skip("the reviews are not here")
    reviews = datasets.load_reviews(path)
    assert len(reviews) == 23486
    assert reviews.target.mean() == pytest.approx(0.822, abs=5e-4)
    np.testing.assert_array_equal(np.bincount(reviews.rating), [0, 842, 1565, 2871, 5077, 13131])
    assert (reviews.title == "").sum() == 3810
    assert (reviews.review == "").sum() == 845
    assert (reviews.age.min(), reviews.age.max()) == (18, 99)
    assert len(np.unique(reviews.clothing_id)) == 1206


def test_import_loads_neither_numba_nor_matplotlib():
    program = (
        "import sys, maxmargin.datasets, maxmargin.estimators.kernel_approximation\n"
        "sys.exit(any(name in sys.modules for name in ('numba', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
