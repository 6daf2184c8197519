"""Scaling of features to one range, and its file, which is that of LIBSVM's `svm-scale`.

    x'  =  lower + (upper - lower) (x - smallest) / (largest - smallest)

A feature that never varied is dropped (it becomes zero).
"""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin.errors import FileError
from maxmargin.files.access import replacing
from maxmargin.files.sparse_text import LARGEST_INDEX

# A number that is divided by this counts for nothing, and the square of this is still finite.
ENORMOUS = 1e150


@dataclass(frozen=True, eq=False)
class Scaling:
    """How features are scaled, and the target if it is scaled, too.

    Attributes
    ----------
    lower, upper : float
        The range of the scaled features.
    smallest, largest : arrays of shape (d,)
        The range of each feature; both are equal for a feature that is dropped.
    target : (lower, upper, smallest, largest), optional
    """

    lower: float
    upper: float
    smallest: np.ndarray
    largest: np.ndarray
    target: tuple[float, float, float, float] | None = None

    @classmethod
    def to_range(cls, X, lower=-1.0, upper=1.0, target=None):
        """The scaling that brings the columns of a sparse matrix to the range."""
        ends = (end.toarray().ravel().astype(np.float64) for end in (X.min(axis=0), X.max(axis=0)))
        return cls(lower, upper, *ends, target)

    def transform(self, X):
        """The scaled X, which is a dense array."""
        scaled = _mapped(X, self.lower, self.upper, self.smallest, self.largest)
        return np.where(self.largest != self.smallest, scaled, 0.0)

    def transform_target(self, y):
        if self.target is None:
            return y
        lower, upper, smallest, largest = self.target
        return _mapped(np.asarray(y, dtype=float), lower, upper, smallest, largest)

    def before(self, model):
        """A pipeline that scales for a fitted model: x' = (x - centre) / scale in every feature.

        It takes sparse rows if zeros stay zeros.
        """
        if not self.lower < self.upper or np.any(self.largest < self.smallest):
            raise FileError("the ranges beside the model must rise.")
        varies = self.largest != self.smallest
        scale = np.full(len(varies), ENORMOUS)
        scale[varies] = (self.largest - self.smallest)[varies] / (self.upper - self.lower)
        centre = np.where(varies, self.smallest - self.lower * scale, 0.0)
        scaler = StandardScaler(with_mean=bool(np.any(centre)))
        scaler.mean_, scaler.scale_, scaler.var_ = centre, scale, scale**2
        scaler.n_features_in_ = len(scale)
        return make_pipeline(scaler, model)

    def save(self, path):
        with replacing(path) as file:
            file.write(self._text())

    @property
    def fingerprint(self):
        """Sixteen letters that identify this scaling."""
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
        """Read a file of ranges, for `n_features` features or as many as it mentions if these are
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
    """The scaled X, which reaches the ends of the range exactly."""
    width = np.where(largest != smallest, largest - smallest, 1.0)
    inside = lower + (upper - lower) * (X - smallest) / width
    return np.where(smallest == X, lower, np.where(largest == X, upper, inside))


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
