"""Features brought to one range, and the file that says how: that of LIBSVM's `svm-scale`.

    x'  =  lower + (upper - lower) (x - smallest) / (largest - smallest)

The range may also be mean - deviation ... mean + deviation, for -1 ... 1: then the features are
standardised, and the same file says so. A feature that never varied is dropped (it becomes zero).
"""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from scipy import sparse

from maxmargin.errors import FileError
from maxmargin.files.access import replacing
from maxmargin.files.sparse_text import LARGEST_INDEX


@dataclass(frozen=True, eq=False)
class Scaling:
    """How features are scaled, and the target if that is too.

    Attributes
    ----------
    lower, upper : float
        Where smallest and largest go.
    smallest, largest : arrays of shape (d,)
        Equal for a feature that is dropped.
    target : (lower, upper, smallest, largest), optional
    """

    lower: float
    upper: float
    smallest: np.ndarray
    largest: np.ndarray
    target: tuple[float, float, float, float] | None = None

    @classmethod
    def to_range(cls, X, lower=-1.0, upper=1.0, target=None):
        """Of the smallest and the largest value of each column."""
        return cls(lower, upper, _per_column(X.min(axis=0)), _per_column(X.max(axis=0)), target)

    @classmethod
    def standard(cls, X):
        """Mean 0 and deviation 1; sparse columns keep their zeros and are divided by their largest
        size instead."""
        if sparse.issparse(X):
            size = _per_column(abs(X).max(axis=0))
            return cls(-1.0, 1.0, -size, size)
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        deviation[deviation <= 1e-12 * np.abs(mean)] = 0.0  # constant, up to rounding
        return cls(-1.0, 1.0, mean - deviation, mean + deviation)

    def transform(self, X):
        """X scaled; sparse only where zeros stay zeros."""
        if X.shape[1] != len(self.smallest):
            raise ValueError(f"the data have {X.shape[1]} features, {len(self.smallest)} expected.")
        if not sparse.issparse(X):
            return self._scaled(X, self.smallest, self.largest)
        if np.any(self._scaled(np.zeros_like(self.smallest), self.smallest, self.largest)):
            return self.transform(X.toarray())
        X = X.tocsr(copy=True)
        X.data = self._scaled(X.data, self.smallest[X.indices], self.largest[X.indices])
        return X

    def transform_target(self, y):
        if self.target is None:
            return y
        lower, upper, smallest, largest = self.target
        return _mapped(np.asarray(y, dtype=float), lower, upper, smallest, largest)

    def _scaled(self, X, smallest, largest):
        varies = largest != smallest
        return np.where(varies, _mapped(X, self.lower, self.upper, smallest, largest), 0.0)

    def save(self, path):
        with replacing(path) as file:
            file.write(self._text())

    @property
    def fingerprint(self):
        """Sixteen letters that tell this scaling from any other."""
        return sha256(self._text()).hexdigest()[:16]

    def _text(self):
        lines = []
        if self.target is not None:
            lower, upper, smallest, largest = map(_word, self.target)
            lines += ["y", f"{lower} {upper}", f"{smallest} {largest}"]
        lines += ["x", f"{_word(self.lower)} {_word(self.upper)}"]
        for k in np.flatnonzero(self.smallest != self.largest):
            lines.append(f"{k + 1} {_word(self.smallest[k])} {_word(self.largest[k])}")
        return ("\n".join(lines) + "\n").encode()

    @classmethod
    def load(cls, path, n_features=0):
        """Read a file of ranges, for that many features or as many as it mentions if these are
        more; those that it does not mention are dropped."""
        with open(path, encoding="ascii", errors="replace") as file:
            rows = [line.split() for line in file if line.strip()]
        try:
            target = None
            if rows[0] == ["y"]:
                target = (*_numbers(rows[1], 2), *_numbers(rows[2], 2))
                rows = rows[3:]
            if rows[0] != ["x"]:
                raise ValueError
            lower, upper = _numbers(rows[1], 2)
            ranges = {_index(row[0]): _numbers(row[1:], 2) for row in rows[2:]}
        except (ValueError, IndexError):
            raise FileError(f"{path}: not a file of ranges, as svm-scale -s writes it.") from None
        n_features = max(n_features, *ranges, 0)
        smallest, largest = np.zeros(n_features), np.zeros(n_features)
        for k, (low, high) in ranges.items():
            smallest[k - 1], largest[k - 1] = low, high
        return cls(lower, upper, smallest, largest, target)


def _mapped(X, lower, upper, smallest, largest):
    """The ends of the range are reached exactly."""
    width = np.where(largest != smallest, largest - smallest, 1.0)
    inside = lower + (upper - lower) * (X - smallest) / width
    return np.where(smallest == X, lower, np.where(largest == X, upper, inside))


def _per_column(values):
    values = values.toarray() if sparse.issparse(values) else values
    return np.asarray(values, dtype=np.float64).ravel()


def _numbers(words, count):
    values = tuple(map(float, words))
    if len(values) != count or not np.all(np.isfinite(values)):
        raise ValueError
    return values


def _index(word):
    index = int(word)
    if not 1 <= index <= LARGEST_INDEX:
        raise ValueError
    return index


def _word(value):
    return f"{value:.17g}"
