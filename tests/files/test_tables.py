"""svmlight and CSV data: read as scikit-learn and pandas read them, or refused with the place."""

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from limits import peak_below, refused
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import maxmargin
from maxmargin.files import FileError, read_data

DATA = Path(os.environ.get("MAXMARGIN_DATA", Path(__file__).parents[3] / "shared" / "data"))


def read(tmp_path, content, name="table", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_data(path, **options)


# svmlight


def test_svmlight_as_scikit_learn_reads_it(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.standard_normal((200, 40)) * (rng.random((200, 40)) < 0.2))
    y = rng.integers(-1, 2, 200)
    for zero_based in (False, True):
        file = io.BytesIO()
        dump_svmlight_file(X, y, file, zero_based=zero_based, comment="made\nup")
        found = read(tmp_path, file.getvalue(), n_features=40)
        theirs, labels = load_svmlight_file(io.BytesIO(file.getvalue()), n_features=40)
        np.testing.assert_array_equal(found.X.toarray(), theirs.toarray())
        np.testing.assert_array_equal(found.y, labels)
        assert found.y.dtype == np.int64


@pytest.mark.parametrize("name", ["binary/heart_scale.gz", "binary/a9a.gz", "multiclass/usps.gz"])
def test_real_files(name):
    if not (DATA / name).exists():
        pytest.skip("data sets are not here")
    found = read_data(DATA / name)
    theirs, labels = load_svmlight_file(str(DATA / name))
    assert (theirs != found.X).nnz == 0
    np.testing.assert_array_equal(found.y, labels)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_are_known_by_their_content(pack, tmp_path):
    found = read(tmp_path, pack(b"1 1:0.5 3:2\n-1 2:1\n"))
    np.testing.assert_array_equal(found.X.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    np.testing.assert_array_equal(read(tmp_path, pack(b"a,b\n1,2\n")).X, [[1.0]])


ACCEPTED = {
    "carriage returns": b"1 1:2 3:4\r\n-1 2:1\r\n",
    "tabs and blanks": b"  1\t1:2  3:4 \t\n-1 2:1   \n",
    "comments and blank lines": b"# a\n\n1 1:2 3:4 # b:c\n \t\n-1 2:1#\n",
    "query ids": b"1 qid:7 1:2 3:4\n-1 qid:7 2:1\n",
    "no end of line": b"1 1:2 3:4\n-1 2:1",
    "signs and exponents": b"+1 1:+2e0 3:.4e1\n-1.0 2:1.\n",
    "a byte order mark": b"\xef\xbb\xbf1 1:2 3:4\n-1 2:1\n",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_svmlight_that_is_accepted(name, tmp_path):
    found = read(tmp_path, ACCEPTED[name], format="svmlight")
    np.testing.assert_array_equal(found.X.toarray(), [[2, 0, 4], [0, 1, 0]])
    assert found.y.tolist() == [1, -1]


def test_targets_and_widths(tmp_path):
    assert read(tmp_path, "0.5 1:1\n2 1:1\n").y.tolist() == [0.5, 2.0]
    assert read(tmp_path, "1 2:1\n", n_features=7).X.shape == (1, 7)
    assert read(tmp_path, "1 0:5\n").X.toarray().tolist() == [[5.0]]
    assert read(tmp_path, "1 1:5\n", zero_based=True).X.toarray().tolist() == [[0.0, 5.0]]
    assert read(tmp_path, "1\n2\n", format="svmlight").X.shape == (2, 0)


def test_many_comments_and_blocks(tmp_path):
    content = "# nothing\n" * 25_000 + "1 1:1\n2 2:1\n" * 15_000 + "x\n"
    with pytest.raises(FileError, match=r":55001:1: expected a number, got 'x'"):
        read(tmp_path, content, format="svmlight")
    assert read(tmp_path, content[:-2], format="svmlight").X.shape == (30_000, 2)


SVMLIGHT = {
    "a word for a label": ("1 1:1\none 1:1\n", "2:1: expected a number, got 'one'"),
    "no label": ("1 1:1\n1:1\n", "2:2: expected index:value, got ':1'"),
    "two labels": ("1,2 1:1\n", "1:2: expected index:value, got ',2'"),
    "a NaN label": ("nan 1:1\n", "1:1: NaN is not allowed"),
    "a NaN value": ("1 1:1 2:nan\n", "1:7: NaN is not allowed"),
    "an infinite value": ("1 1:-inf\n", "1:3: infinity is not allowed"),
    "a value beyond floats": ("1 1:1\n1 1:1 2:1e999\n", "2:7: the value is too large"),
    "a label beyond floats": ("1 1:1\n1e999 1:1\n", "2:1: a number at the start is too large"),
    "a negative index": ("1 -1:1\n", "1:3: expected index:value, got '-1:1'"),
    "index 2**31": ("1 2147483648:1\n", "1:3: the index is above 16777216"),
    "index 10**20": ("1 1:1 100000000000000000000:1\n", "1:7: the index is above"),
    "an index of many digits": ("1 " + "9" * 5000 + ":1\n", "1:3: the index is above"),
    "an index twice": ("1 1:1 1:1\n", "1:7: the index is not above the one before"),
    "an index that falls": ("1 1:1\n1 2:1\t1:1\n", "2:7: the index is not above"),
    "no value": ("1 1:\n", "1:3: expected index:value, got '1:'"),
    "no colon": ("1 1:1 5\n", "1:7: expected index:value, got '5'"),
    "two colons": ("1 1:2:3\n", "1:6: expected index:value, got ':3'"),
    "underscores": ("1 1:1_0\n", "1:6: expected index:value, got '_0'"),
    "a hexadecimal number": ("1 1:0x10\n", "1:6: expected index:value, got 'x10'"),
    "a query that is no number": ("1 qid:a 1:1\n", "1:3: expected index:value, got 'qid:a'"),
    "a comma for a point": ("1 1:0,5\n", "1:6: expected index:value, got ',5'"),
    "a NUL byte": (b"1 1:1\x00 2:1\n", "1:6: a NUL byte"),
    "UTF-16": ("1 1:1\n".encode("utf-16"), "1:1: the file is UTF-16"),
    "a lone carriage return": (b"1 1:1\r1 1:1\n", "1:6: expected index:value"),
    "Arabic digits": ("1 1:\u0661\n", "1:3: expected index:value"),
    "bytes": (bytes(range(128, 200)), "1:1: expected a number"),
    "nothing": ("", "has no rows"),
    "only comments": ("# a\n\n# b\n", "has no rows"),
}
CSV = {
    "a missing value": ("a,b,c\n1,2,3\n1,,3\n", "3:2: missing value in 'b'"),
    "NA": ("a,b\nNA,1\n", "2:1: missing value in 'a'"),
    "NaN without a header": ("1,2\nnan,1\n", "2:1: missing value"),
    "a word": ("a,b,c\n1,2,3\n1,red,3\n", "3:2: not a number: 'red' in 'b'"),
    "a word in the first line": ("M,0.5,1\nF,0.5,2\n", "1:1: not a number: 'M'"),
    "a short row": ("a,b,c\n1,2,3\n1,2\n", "3:3: expected 3 cells, got 2"),
    "a long row": ("a,b\n1,2\n1,2,3\n", "3:3: expected 2 cells, got 3"),
    "a missing target": ("a,b\n1,2\n1,\n", "3:2: missing target in 'b'"),
    "one column": ("a\n1\n", "1:1: expected at least a feature and a target"),
    "a name twice": ("a,b,a\n1,2,3\n", "1:3: the column name 'a' is there twice"),
    "a column without a name": ("a,,c\n1,2,3\n", r"1:2: a column has no name\."),
    "pandas' index": (",a,b\n0,1,2\n", "1:1: a column has no name .*index=False leaves it out"),
    "an index and no names": (",0,1\n0,1.5,2\n", "1:1: a column has no name .*index=False"),
    "a target in front": (
        "species,a,b\nsetosa,1,2\n",
        "2:1: not a number: 'setosa' in 'species'; the target is the last column unless --target",
    ),
    "a word that is no target": (
        "a,b,c\n1,red,3\n",
        r"2:2: not a number: 'red' in 'b'; --drop \(drop=\) leaves the column out, --categorical",
    ),
    "a date": ("a,b,c\n1,2024-01-31,3\n", "2:2: not a number: '2024-01-31' in 'b'; --drop"),
    "a short row below numbers": ("0,1,2\n1,2\n", "2:3: expected 3 cells, got 2"),
    "only a header": ("a,b\n", "has a header but no rows"),
    "an open quote": ('a,b\n1,"2\n', "2:1|3:1"),
    "text after a quote": ('a,b\n1,"2"x\n', "2:1: "),
    "an infinite number": ("a,b\ninf,1\n", "2:1: not a number: 'inf'"),
    "a number beyond floats": ("a,b\n1e999,1\n", "2:1: the number '1e999' is too large"),
    "a target beyond floats": ("a,b\n1,1e999\n", "has a target that is too large"),
    "underscores": ("a,b\n1_0,1\n", "2:1: not a number: '1_0'"),
    "decimal commas": ("a;b\n1,5;2\n", "2:1: not a number: '1,5'; write a point"),
    "two numbers in a cell": ("a,b\n1 2,1\n", "2:1: not a number: '1 2'"),
    "a hidden separator": ("a,b\n1\x1f2,1\n", "2:1: not a number"),
    "Arabic digits": ("a,b\n\u0661,1\n", "2:1: not a number"),
    "bytes that are not text": (b"a,b\n1,\xff\n", "2:3: not UTF-8 text"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "1:1: the file is UTF-16"),
    "nothing": ("", "has no rows"),
}


def assert_refused(tmp_path, content, reason, format):
    began = time.perf_counter()
    with pytest.raises(FileError, match=rf"^{re.escape(str(tmp_path))}/table:.*({reason})"):
        read(tmp_path, content, format=format)
    assert time.perf_counter() - began < 1.0


@pytest.mark.parametrize("name", SVMLIGHT)
def test_crafted_svmlight_is_refused_with_its_place(name, tmp_path):
    assert_refused(tmp_path, *SVMLIGHT[name], "svmlight")


@pytest.mark.parametrize("name", CSV)
def test_crafted_csv_is_refused_with_its_place(name, tmp_path):
    assert_refused(tmp_path, *CSV[name], "csv")


def test_there_are_enough_of_them():
    assert len(SVMLIGHT) + len(CSV) >= 35


def test_one_line_cannot_ask_for_much_memory(tmp_path):
    with peak_below(64 * 2**20):
        read(tmp_path, "1 16777216:1\n")
        with pytest.raises(FileError, match="1:1: expected at least a feature and a target"):
            read(tmp_path, "1 " + "1" * 10**6 + "x:1\n", format="csv", header=False)


def assert_read_in_little_memory(tmp_path, content, times, **options):
    """The peak is below so many times the file, and the 16 MB that any file may take."""
    path = tmp_path / "table"
    path.write_text(content)
    with peak_below(times * len(content) + 2**24):
        return read_data(path, **options)


def test_one_long_label_does_not_make_all_of_them_long(tmp_path):
    labels = ["x", "y"] * 5000 + ["z" * 100_000]
    rows = "".join(f"1,{label}\n" for label in labels)
    found = assert_read_in_little_memory(tmp_path, "a,kind\n" + rows, 10)
    assert found.y.tolist() == labels
    model = maxmargin.LinearSVC().fit(np.arange(10_001.0)[::1000, None], found.y[::1000])
    assert model.classes_.tolist() == ["x", "z" * 100_000]


WIDE = {
    "one line of numbers": ("12," * 10**6 + "1\n", (1, 10**6)),
    "long rows": (("12," * 9_999 + "1\n") * 100, (100, 9_999)),
    "long rows in front of a word": (("12," * 9_999 + "x\n") * 100, (100, 9_999)),
    "long rows with quotes": (('"12",' * 9_999 + "1\n") * 60, (60, 9_999)),
}


@pytest.mark.parametrize("name", WIDE)
def test_csv_takes_a_few_times_the_memory_of_the_file(name, tmp_path):
    content, shape = WIDE[name]
    found = assert_read_in_little_memory(tmp_path, content, 10, format="csv", header=False)
    assert found.X.shape == shape
    assert set(found.X.ravel()) == {12.0}


def test_rows_of_svmlight_take_a_few_times_the_memory_of_the_file(tmp_path):
    row = "1 " + " ".join(f"{k}:1" for k in range(1, 3000)) + "\n"
    found = assert_read_in_little_memory(tmp_path, row * 400, 5, format="svmlight")
    assert found.X.nnz == 400 * 2999


def test_a_line_of_names_that_cannot_be_names_is_refused_in_little_memory(tmp_path):
    path = tmp_path / "table"
    for content, reason in (
        ("ab," * 10**6 + "b\n", "1:2: the column name 'ab' is there twice"),
        ('"ab",' * 2 * 10**6 + "b\n", "1:1: more than 1048576 cells in a row with quotes"),
    ):
        path.write_text(content)
        refused(read_data, path, reason, format="csv", header=True)


def test_many_columns_are_read_and_named_in_a_second(tmp_path):
    names = [f"n{k}" for k in range(40_000)]
    began = time.process_time()
    found = read(tmp_path, ",".join(names) + "\n" + "1," * 39_999 + "1\n", format="csv")
    assert time.process_time() - began < 1.0
    assert [*found.feature_names, found.target_name] == names


LINES = {"svmlight": b"1 1:1\n", "csv": b"1,1,1\n"}


@pytest.mark.parametrize("format", LINES)
def test_a_small_file_that_unpacks_to_a_large_one_is_refused(format, tmp_path):
    with pytest.raises(FileError, match="unpacks to more than max_bytes=1000000"):
        read(tmp_path, gzip.compress(LINES[format] * 10**6), format=format, max_bytes=10**6)
    with pytest.raises(FileError, match="more than max_bytes=3"):
        read(tmp_path, b"1 1:1\n", format=format, max_bytes=3)


@pytest.mark.parametrize("damage", [slice(30), slice(200, None), slice(0, None, 2)])
def test_damaged_compressed_files(damage, tmp_path):
    packed = gzip.compress(os.urandom(1000))[damage]
    with pytest.raises(FileError, match="table"):
        read(tmp_path, packed, format="svmlight")


# CSV


def test_csv_as_pandas_reads_it(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((300, 4)), columns=["a", "b b", "c,d", "e"])
    frame["kind"] = rng.choice(["x", "y, z"], 300)
    for mark in (",", ";", "\t"):
        found = read(tmp_path, frame.to_csv(index=False, sep=mark), format="csv")
        np.testing.assert_array_equal(found.X, frame.to_numpy()[:, :4].astype(float))
        assert found.y.tolist() == frame["kind"].tolist()
        assert found.feature_names == list(frame.columns[:4])
        assert found.target_name == "kind"


def test_headers_and_targets(tmp_path):
    bare = read(tmp_path, "1,2,yes\n3,4,no\n")
    assert (bare.X.tolist(), bare.y.tolist()) == ([[1, 2], [3, 4]], ["yes", "no"])
    assert (bare.feature_names, bare.target_name) == (None, None)
    named = "kind,x,z\n1,2,3\n4,5,6\n"
    first = read(tmp_path, named, target="kind")
    assert (first.X.tolist(), first.y.tolist()) == ([[2, 3], [5, 6]], [1, 4])
    assert first.feature_names == ["x", "z"]
    middle = read(tmp_path, named, target=1)
    assert (middle.X.tolist(), middle.target_name) == ([[1, 3], [4, 6]], "x")
    years = read(tmp_path, "2019,2020\n1,2\n", header=True)
    assert years.feature_names == ["2019"]
    assert read(tmp_path, "a,b\n1,0.5\n").y.dtype == np.float64
    assert read(tmp_path, "a,b\n1,2\n1,x\n").y.tolist() == ["2", "x"]
    for target, reason in (("none", "no column named 'none'"), (7, "has 3 columns, and 7 is none")):
        with pytest.raises(FileError, match=reason):
            read(tmp_path, named, target=target)


@pytest.mark.filterwarnings("ignore:.*is taken for names of columns")
def test_pandas_names_columns_by_their_number(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((60, 4)))
    frame[4] = rng.integers(0, 3, 60)
    names = ["0", "1", "2", "3"]
    for target_name, target in (("4", frame[4]), ("kind", frame[4]), ("kind", frame[4] + 0.5)):
        frame[4] = target
        named = frame.rename(columns={4: target_name})
        found = read(tmp_path, named.to_csv(index=False))
        np.testing.assert_array_equal(found.X, frame.to_numpy()[:, :4])
        assert found.y.tolist() == target.tolist()
        assert (found.feature_names, found.target_name) == (names, target_name)
    assert read(tmp_path, frame.to_csv(index=False), target=0).feature_names == ["1", "2", "3", "4"]
    frame[4] = rng.choice(["x", "y"], 60)
    found = read(tmp_path, frame.rename(columns={4: "kind"}).to_csv(index=False))
    assert set(found.y) == {"x", "y"}
    wide = pandas.DataFrame(rng.integers(0, 3, (5, 12)))
    assert len(read(tmp_path, wide.to_csv(index=False)).y) == 5


@pytest.mark.filterwarnings("ignore:.*is taken for names of columns")
@pytest.mark.parametrize("position", [0, 2, 4])
@pytest.mark.parametrize("kinds", [[1, 2, 1], ["x", "y", "x"]])
def test_pandas_counts_on_after_a_target_that_was_inserted(tmp_path, position, kinds):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).standard_normal((3, 4)))
    X = frame.to_numpy()
    frame.insert(position, "kind", kinds)
    found = read(tmp_path, frame.to_csv(index=False), target=position)
    np.testing.assert_array_equal(found.X, X)
    assert (found.y.tolist(), found.target_name) == (kinds, "kind")
    assert found.feature_names == ["0", "1", "2", "3"]


def test_a_first_line_that_only_resembles_numbers_of_columns_is_data(tmp_path, recwarn):
    for content in (
        "0,1,2\n",  # nothing else would be left
        "1,2,3\n4,5,6\n",
        "0,1.0,2\n4,5,6\n",
        "00,1,2\n4,5,6\n",
        "0,1,7\n4,5,6\n",
        "0,1,yes\n3,4,no\n",
    ):
        assert len(read(tmp_path, content, format="csv").y) == content.count("\n")
    assert read(tmp_path, "0,1,2\n4,5,6\n", header=False).X.tolist() == [[0, 1], [4, 5]]
    assert not recwarn.list


TWELVE = ",".join(map(str, range(12)))


@pytest.mark.parametrize(
    "content",
    [
        "0,1,2\n3,4,5\n",
        "0,1,2\n0.5,1,2\n",
        "0,1\n0.5,0\n",
        "0,1,2,a\n3,4,5,b\n",
        "0,1,2,setosa\n0.5,1.2,3,virginica\n",
        f"{TWELVE}\n{TWELVE}\n",
        f"{TWELVE},setosa\n{TWELVE},virginica\n",
    ],
)
def test_a_first_line_that_may_be_data_is_warned_of(tmp_path, content):
    words = r"table: the first line, 0,1.*, is taken for names .*header=False.* line of names above"
    with pytest.warns(UserWarning, match=words) as warned:
        assert len(read(tmp_path, content, format="csv").y) == 1
    assert [one.filename for one in warned] == [__file__]


def test_a_long_first_line_that_counts_above_other_numbers_is_not_doubted(tmp_path, recwarn):
    assert len(read(tmp_path, f"{TWELVE}\n0.5{TWELVE}\n", format="csv").y) == 1
    assert not recwarn.list


def test_quotes_blank_lines_and_line_ends(tmp_path):
    content = b'\xef\xbb\xbf"a ""b""","c"\r\n\r\n"1", 2 \r\n3,"4"\r\n'
    found = read(tmp_path, content)
    assert found.feature_names == ['a "b"']
    assert (found.X.tolist(), found.y.tolist()) == ([[1], [3]], [2, 4])


def test_quoted_cells_may_hold_anything_in_any_column(tmp_path):
    labels = ["a,b", 'say "x"', "two\nlines", "u\x1fs", "u\x1f \x20s", "plain"]
    rows = "".join('1,"{}", 2 \n'.format(label.replace('"', '""')) for label in labels)
    found = read(tmp_path, "a,kind,b\n" + rows, target="kind")
    assert found.y.tolist() == labels
    assert found.X.tolist() == [[1, 2]] * 6
    assert read(tmp_path, "a,b\n\xa01\u2003,2\n").X.tolist() == [[1]]
    with pytest.raises(FileError, match=r"7:1: not a number: 'x' in 'a'"):
        read(tmp_path, 'a,b\n1,"two\nlines"\n\n2,"more\nlines"\nx,y\n')


# The columns of a table.

PEOPLE = (
    "id,day,age,city,buys\n7,2024-01-31,30,Rome,yes\n8,2024-02-01,?,none,no\n9,-,41, Oslo ,no\n"
)


def test_columns_are_left_out_and_words_and_holes_are_kept(tmp_path):
    asked = {"drop": ["id", "day"], "categorical": ["city"], "missing": "keep"}
    found = read(tmp_path, PEOPLE, **asked)
    assert found.X.dtype == object
    assert found.X[0].tolist() == [30.0, "Rome"]
    assert found.X[1, 1] == "none", "which is a word"
    assert np.isnan(found.X[1, 0])
    assert found.X[2].tolist() == [41.0, "Oslo"]
    assert (found.feature_names, found.target_name) == (["age", "city"], "buys")
    assert (found.categorical, found.target_position) == ((1,), 2)
    by_position = read(tmp_path, PEOPLE, drop=[0, 1], categorical=[3], missing="keep")
    np.testing.assert_array_equal(by_position.X.astype(str), found.X.astype(str))


def test_holes_among_numbers_as_pandas_reads_them(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((500, 5)), columns=list("abcde"))
    frame = frame.mask(rng.random(frame.shape) < 0.3)
    frame["y"] = 1
    for word in ("", "NA", " nan ", "NULL", "?", "-"):
        found = read(tmp_path, frame.to_csv(index=False, na_rep=word), missing="keep", format="csv")
        np.testing.assert_array_equal(found.X, frame.to_numpy()[:, :5])
    for cell in ("1e999", "red", "1 2", "nano"):
        content = f"a,b,y\n,1,0\n{cell},2,1\n"
        with pytest.raises(FileError, match=r"3:1: (not a number|the number)"):
            read(tmp_path, content, missing="keep")


def test_a_table_without_a_target(tmp_path):
    found = read(tmp_path, "a,b\n1,2\n3,4\n", target=None)
    assert (found.X.tolist(), found.y, found.target_name) == ([[1, 2], [3, 4]], None, None)
    assert read(tmp_path, "1\n2\n", target=None, format="csv").X.tolist() == [[1], [2]]


def test_words_and_dates_do_not_make_a_first_line_a_header(tmp_path):
    rows = "Rome,2024-01-31,30,yes\nOslo,2024-02-01,41,no\n"
    bare = read(tmp_path, rows, drop=[1], categorical=[0])
    assert bare.X.tolist() == [["Rome", 30.0], ["Oslo", 41.0]]
    named = read(tmp_path, "city,day,age,buys\n" + rows, drop=[1], categorical=[0])
    assert named.X.tolist() == bare.X.tolist()
    years = read(tmp_path, "2018,2019,2020\n1,2,3\n", target="2019")
    assert (years.feature_names, years.X.tolist()) == (["2018", "2020"], [[1, 3]])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"drop": ["pin"]}, "has no column named 'pin'"),
        ({"drop": [9]}, "has 5 columns, and 9 is none of them"),
        (
            {"drop": ["buys"], "target": "buys"},
            "the column 'buys' cannot be the target and dropped",
        ),
        ({"drop": ["city"], "categorical": ["city"]}, "the column 'city' is dropped, and cannot"),
        ({"categorical": ["buys"]}, "the column 'buys' is the target, and cannot"),
        ({"drop": ["id", "day", "age", "city"]}, "no column left to learn from"),
        ({"drop": ["id", "day", "age"], "categorical": ["city"], "target": "id"}, "'id' cannot be"),
        ({"drop": ["id", "day"], "categorical": ["city"]}, "3:3: missing value in 'age'; --impute"),
        ({"drop": ["id", "day", "age"]}, "2:4: not a number: 'Rome' in 'city'; --drop"),
    ],
)
def test_columns_that_cannot_be_had_are_named(tmp_path, options, reason):
    with pytest.raises(FileError, match=reason):
        read(tmp_path, PEOPLE, **options)


def test_svmlight_has_no_columns_of_words(tmp_path):
    with pytest.raises(FileError, match="is svmlight, not CSV"):
        read(tmp_path, "1 1:1\n", categorical=[0])
    with pytest.raises(ValueError, match="missing must be 'refuse' or 'keep', got 'fill'"):
        read(tmp_path, "1 1:1\n", missing="fill")


def test_a_zip_is_no_table(tmp_path):
    maxmargin.save(maxmargin.SVC().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m.mm")
    with pytest.raises(FileError, match="is a model file or another zip, and no table of rows"):
        read_data(tmp_path / "m.mm")


def test_standard_input_is_read_within_its_limit(monkeypatch):
    for content in (b"a,y\n1,2\n", gzip.compress(b"a,y\n1,2\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read_data("-").X.tolist() == [[1]]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1,2\n" * 10**5)))
    with pytest.raises(
        FileError, match="standard input: has or unpacks to more than max_bytes=999"
    ):
        read_data("-", max_bytes=999)


def test_formats_are_told_apart(tmp_path):
    assert sparse.issparse(read(tmp_path, "1 1:1\n").X)
    assert sparse.issparse(read(tmp_path, "# a,b\n-1 qid:3 1:1\n").X)
    assert not sparse.issparse(read(tmp_path, "12:30,5\n1,2\n", header=True).X)
    assert sparse.issparse(read(tmp_path, "1\n", name="a.svm").X)
    with pytest.raises(FileError, match="not a number"):
        read(tmp_path, "1 1:1,2\n3,4\n", name="a.csv.gz", header=False)
    with pytest.raises(FileError, match="format must be"):
        read(tmp_path, "1 1:1\n", format="arff")
    with pytest.raises(FileError, match="delimiter must be"):
        read(tmp_path, "1,1\n", format="csv", delimiter="|")


def test_missing_files_are_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_data(tmp_path / "nowhere")
    with pytest.raises(FileError, match="not a regular file"):
        read_data(tmp_path)


def test_a_separator_within_a_target_makes_it_text_and_no_second_row(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("1,2\x1f3\n4,5\n7,8\n")
    X, y = read_data(path)[:2]
    assert len(X) == len(y) == 3
