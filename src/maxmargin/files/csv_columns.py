"""Which columns of a table are features, in their order, which of these are words, and the target.

A fit says it by names or positions (`Wanted`). A model knows the columns that it was fitted on
(`Known`) and finds them again by name, in any order and among other columns, or by position where
there are no names. Both answer with the `Columns` of the table.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maxmargin.errors import FileError
from maxmargin.files.sparse_text import fault

WORD_HINT = (
    "; --drop (drop=) leaves the column out, --categorical (categorical=) takes its words as "
    "categories"
)
MISSING_HINT = '; --impute fills such holes (in Python: missing="keep" and an imputer)'
TARGET_HINT = "; the target is the last column unless --target (target=) names another"
INDEX_HINT = " (written with pandas' index? index=False leaves it out)"
NOT_IMPUTED = "; the model was fitted without --impute"
MOST_NAMED = 10  # A message names so many columns or classes at most.


class Columns(NamedTuple):
    """Positions in the file; those of features are in the order of X. `ignored` are columns that a
    model does not know and, in a table without names, those that are dropped."""

    names: list[str] | None
    features: np.ndarray
    target: int | None
    words: frozenset[int]
    ignored: list[int]

    def named(self, positions):
        return None if self.names is None else [self.names[k] for k in positions]

    @property
    def target_position(self):
        """The position of the target among the columns that are used."""
        return None if self.target is None else int(np.sum(self.features < self.target))


@dataclass(frozen=True)
class Wanted:
    """What a fit asks for: all columns, one of them the target, some left out, some words."""

    target: str | int | None = -1
    drop: tuple = ()
    categorical: tuple = ()
    keeps_missing: bool = False
    word_hint: str = field(default=WORD_HINT, init=False)
    missing_hint: str = field(default=MISSING_HINT, init=False)
    may_be_data: bool = field(default=False, init=False)  # the names asked for are not data
    needs_target: bool = field(default=True, init=False)

    def is_header(self, first):
        """Whether a first line must be a header, or None if the request does not tell."""
        return True if are_names((self.target, *self.drop, *self.categorical), first) else None

    def guess(self, path, n_columns):
        """The columns of a table before it is known whether it has names."""
        return self.of(path, None, n_columns)

    def of(self, path, names, n_columns):
        places = Places(path, names, n_columns)
        dropped = places.of_all(self.drop)
        kept = np.setdiff1d(np.arange(n_columns), np.array(dropped, dtype=np.int64))
        target = None if self.target is None else self._target(places, kept)
        if target in dropped:
            raise FileError(f"{path}: {places.word(target)} cannot be the target and dropped.")
        features, words = kept[kept != target], places.of_all(self.categorical)
        for other in sorted({target, *dropped}.intersection(words)):
            what = "the target" if other == target else "dropped"
            raise FileError(f"{path}: {places.word(other)} is {what}, and cannot be categorical.")
        if not len(features):
            raise FileError(f"{path}: has no column left to learn from.")
        return Columns(names, features, target, frozenset(words), dropped if names is None else [])

    def _target(self, places, kept):
        """The position of the target; the default is the last of the columns that are left."""
        return int(kept[-1]) if self.target == -1 and len(kept) else places.of(self.target)


@dataclass(frozen=True)
class Known:
    """What a model knows: how many features there are, their names if they had any, which of them
    are words, and where the target was. `target` and `drop` are what a user adds to that."""

    n_features: int
    names: list[str] | None = None
    categorical: tuple[int, ...] = ()
    keeps_missing: bool = False
    target_name: str | None = None
    target_position: int = -1
    target: str | int | None = None
    drop: tuple = ()
    word_hint: str = field(default="", init=False)
    missing_hint: str = field(default=NOT_IMPUTED, init=False)
    may_be_data: bool = field(default=True, init=False)  # names that are all numbers may be data

    @property
    def needs_target(self):
        """Whether the user asked for the target; else rows may lack it, as it is not known yet."""
        return self.target is not None

    def is_header(self, first):
        if are_names((self.target, *self.drop), first):
            return True
        if self.names is not None and set(self.names).issubset(first.cells()):
            return True
        is_all_words = self.names is not None and len(self.categorical) == self.n_features
        is_as_wide = first.n_cells - self.n_features in (0, 1)
        return False if is_all_words and is_as_wide else None

    def guess(self, path, n_columns):
        try:
            return self.of(path, None, n_columns)
        except FileError:  # there are more or fewer columns than the model has; names will tell
            return Columns(None, np.arange(n_columns), None, frozenset(), [])

    def of(self, path, names, n_columns):
        places = Places(path, names, n_columns)
        target = None if self.target is None else places.of(self.target)
        dropped = places.of_all(self.drop)
        if names is not None and self.names is not None:
            return self._by_name(path, places, dropped, target)
        others = np.setdiff1d(np.arange(n_columns), np.array(dropped, dtype=np.int64))
        return self._by_position(path, places, others[others != target], dropped, target)

    def _by_name(self, path, places, dropped, target):
        features = [places.by_name.get(name) for name in self.names]
        if None in features:
            name = self.names[features.index(None)]
            raise places.unknown(name, ", which the model needs")
        used = {*features, *dropped}
        rest = [k for k in range(places.n_columns) if k not in used]
        if target is None and self.target_name is not None:
            found = places.by_name.get(self.target_name)
            target = None if found in dropped else found
        elif target is None and rest == [places.n_columns - 1]:
            target = rest[0]  # the model knows no target, which then is the last column
        if target in used:
            raise FileError(f"{path}: {places.word(target)} is no target of the model.")
        ignored = [k for k in rest if k != target]
        return self._columns(places.names, features, target, ignored)

    def _by_position(self, path, places, others, dropped, target):
        if target is None and len(others) == self.n_features + 1:
            position = self.target_position
            target = int(others[position if position < len(others) else -1])
            others = others[others != target]
        if len(others) != self.n_features:
            found = len(others) - (target is None and len(others) > self.n_features)
            raise FileError(f"{path}: has {found} features, and the model {self.n_features}.")
        ignored = dropped if places.names is None else []
        return self._columns(places.names, others.tolist(), target, ignored)

    def _columns(self, names, features, target, ignored):
        words = frozenset(features[k] for k in self.categorical)
        return Columns(names, np.array(features, dtype=np.int64), target, words, ignored)


def listed(names):
    """The names, or the first of many."""
    return ", ".join(map(str, names[:MOST_NAMED])) + ", ..." * (len(names) > MOST_NAMED)


def are_names(columns, first):
    """Whether any of these can only be the name of a column, and not a position."""
    texts = [one for one in columns if isinstance(one, str)]
    return any(not one.isdigit() or int(one) >= first.n_cells for one in texts)


class Places:
    """Columns of a table by name or by position, which counts from 0."""

    def __init__(self, path, names, n_columns):
        self.path, self.names, self.n_columns = path, names, n_columns
        self.by_name = {name: k for k, name in enumerate(names or ())}

    def of(self, column):
        if isinstance(column, str) and column in self.by_name:
            return self.by_name[column]
        if isinstance(column, str) and not column.isdigit():
            raise self.unknown(column)
        if not -self.n_columns <= int(column) < self.n_columns:
            reason = f"has {self.n_columns} columns, and {column} is none of them"
            raise FileError(f"{self.path}: {reason}.")
        return int(column) % self.n_columns

    def unknown(self, name, needed=""):
        there = "it has no names" if self.names is None else f"it has {listed(self.names)}"
        return FileError(f"{self.path}: has no column named {name!r}{needed}; {there}.")

    def of_all(self, columns):
        return sorted({self.of(one) for one in columns})

    def word(self, position):
        return f"the column {position if self.names is None else self.names[position]!r}"


def checked_names(path, row):
    """The names of a header, none of which is empty or there twice."""
    columns = {}
    for column, name in enumerate(row.cells(), start=1):
        if not name:
            hint = INDEX_HINT * (column == 1)
            raise fault(path, row.number, column, "a column has no name" + hint)
        if columns.setdefault(name, column) != column:
            raise fault(path, row.number, column, f"the column name {name!r} is there twice")
    return list(columns)
