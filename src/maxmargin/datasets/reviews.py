"""Women's E-Commerce Clothing Reviews: a table of words and numbers.

Invariant: a file that is not what it should be is refused, with the number of the wrong line.
"""

import csv
import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

ORIGIN = (
    'The data set is "Women\'s E-Commerce Clothing Reviews" by nicapotato on Kaggle: '
    "https://www.kaggle.com/datasets/nicapotato/womens-ecommerce-clothing-reviews"
)


class Column(NamedTuple):
    """A column of the file: its heading, how a field is read, and what it must be."""

    heading: str
    read: Callable = str
    wanted: str = "text"


def _whole(heading):
    return Column(heading, np.int64, "a whole number")


COLUMNS = {
    "clothing_id": _whole("Clothing ID"),
    "age": _whole("Age"),
    "title": Column("Title"),
    "review": Column("Review Text"),
    "rating": _whole("Rating"),
    "target": Column("Recommended IND", ("0", "1").index, "0 or 1"),
    "positive_feedback": _whole("Positive Feedback Count"),
    "division": Column("Division Name"),
    "department": Column("Department Name"),
    "class_name": Column("Class Name"),
}


@dataclass(frozen=True, eq=False)
class Reviews:
    """Reviews of clothes; every array has one entry per review.

    Attributes
    ----------
    target : array of int
        1 if the customer recommends the product, else 0.
    rating, age, positive_feedback, clothing_id : array of int
    title, review : array of str
        A missing text is "".
    text : array of str
        Title and review in one.
    division, department, class_name : array of str
        The kind of clothing.
    feature_names : tuple of str
        The attributes a model may learn from: all but `target`, and `text`, which repeats others.
    """

    clothing_id: np.ndarray
    age: np.ndarray
    title: np.ndarray
    review: np.ndarray
    rating: np.ndarray
    target: np.ndarray
    positive_feedback: np.ndarray
    division: np.ndarray
    department: np.ndarray
    class_name: np.ndarray

    feature_names: ClassVar = tuple(name for name in COLUMNS if name != "target")

    def __len__(self):
        return len(self.target)

    @property
    def text(self):
        both = zip(self.title, self.review, strict=True)
        return np.array([" ".join(filter(None, pair)) for pair in both], dtype=object)


def load_reviews(path):
    """Read the Women's E-Commerce Clothing Reviews, as .csv or .csv.gz.

    Parameters
    ----------
    path : str or Path
        The file, which the library neither has nor fetches.

    Returns
    -------
    reviews : Reviews
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"load_reviews: {path} is a directory; name the file in it.")
    if not path.exists():
        raise FileNotFoundError(f"load_reviews: there is no file {path}. {ORIGIN}")
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            return _reviews_in(_records(file, path), path)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"load_reviews: {path} is not UTF-8 text ({error.reason}). Give the .csv itself, "
            "unpacked, or packed as .csv.gz."
        ) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"load_reviews: {path} is not a whole gzip file: {error}.") from error


def _records(file, path):
    """The fields of every record that is not blank, and the line it begins on."""
    reader = csv.reader(file, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"load_reviews: {path}:{line}: {error}.") from error
        if fields is None:
            return
        if fields:
            yield line, fields


def _reviews_in(records, path):
    _, header = next(records, (0, None))
    if header is None:
        raise ValueError(f"load_reviews: {path} is empty. {ORIGIN}")
    missing = [column.heading for column in COLUMNS.values() if column.heading not in header]
    if missing:
        raise ValueError(f"load_reviews: {path} has no column {', '.join(missing)}. {ORIGIN}")
    places = {name: header.index(column.heading) for name, column in COLUMNS.items()}
    values = {name: [] for name in COLUMNS}
    for line, fields in records:
        if len(fields) != len(header):
            raise ValueError(
                f"load_reviews: {path}:{line}: {len(header)} fields expected, got {len(fields)}."
            )
        for name, column in COLUMNS.items():
            values[name].append(_value(column, fields[places[name]], f"{path}:{line}"))
    if not values["target"]:
        raise ValueError(f"load_reviews: {path} has a header but no reviews.")
    return Reviews(**{name: _array(values[name], COLUMNS[name]) for name in COLUMNS})


def _value(column, field, place):
    try:
        return column.read(field)
    except (ValueError, OverflowError):
        raise ValueError(
            f"load_reviews: {place}: {column.heading} must be {column.wanted}, got {field!r}."
        ) from None


def _array(values, column):
    return np.array(values, dtype=object if column.read is str else np.int64)
