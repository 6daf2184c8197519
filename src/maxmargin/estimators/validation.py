"""Checks of the input that come before any work; each error names its argument."""

import re

import numpy as np
from sklearn.utils import validation

from maxmargin import arrays
from maxmargin.errors import MercerWarning, warn
from maxmargin.kernels import Precomputed, mercer
from maxmargin.kernels.custom import check_symmetric, largest_difference
from maxmargin.kernels.spectrum import is_positive_semidefinite

# These are scikit-learn's words; for labels it does not name the input, for pandas' NA not the
# reason.
NOT_FINITE = re.compile(
    r"^Input ((?P<name>X|y) )?contains (?P<kind>NaN|infinity)|NA is ambiguous|'NAType'"
)
MERCER_SAMPLE = 200  # A kernel of unknown kind is checked on this many points first.
MERCER_WHOLE = 2048  # All of the matrix is looked at if there are no more points than these.
SYMMETRY_SAMPLE = 16  # With more points, this many rows are compared with their columns.
ASYMMETRY = 1e-8  # A precomputed matrix that is less symmetric than this, relatively, is refused.
# An eigenvalue may be off by this, relative to the largest, if K was single precision.
ROUNDING_OF_SINGLE = 1e-6
# The squares of all entries may sum up to this, so that they can be multiplied with each other.
LARGEST_SQUARES = 1e150
LARGEST_WEIGHT = 1e100  # Beyond it, products of weights would overflow.


def validate_data(estimator, X, y="no_validation", order="C", **options):
    """scikit-learn's function of this name for rows in float64 (or another dtype), dense or CSR. An
    error about a number that is not finite, or a missing value, says where it stands."""
    options = {"dtype": np.float64, "order": order, "accept_sparse": "csr", **options}
    try:
        return validation.validate_data(estimator, arrays.sound(X), y, **options)
    except (TypeError, ValueError) as error:
        refused = NOT_FINITE.search(str(error))
        if refused is None:
            raise
        for name, values in (("y", y), ("X", X)):
            if values is None or refused["name"] not in (None, name):
                continue
            if place := arrays.first_not_finite(values):
                words = f"Input {name} contains {refused['kind'] or 'NaN'} (first at {place})"
                rest = str(error)[refused.end() :] if refused["kind"] else ""
                raise ValueError(words + (rest or ".")) from None
        raise


def check_labels_finite(y):
    """Refuse labels or targets that are not finite, beside rows that may be anything."""
    if y.dtype.kind == "f" and not arrays.is_finite(y):
        kind = "NaN" if np.any(np.isnan(y)) else "infinity"
        raise ValueError(f"Input y contains {kind} (first at {arrays.first_not_finite(y)}).")
    return y


def check_size(estimator, **named):
    """Refuse numbers whose squares cannot be multiplied with each other, as all machines do."""
    for name, values in named.items():
        numbers = values.data if arrays.is_sparse(values) else values
        numbers = np.asarray(numbers, dtype=np.float64).ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            if np.vdot(numbers, numbers) < LARGEST_SQUARES:
                continue
        if not np.all(np.isfinite(numbers)):
            place = arrays.first_not_finite(values)
            raise ValueError(f"Input {name} contains NaN or infinity (first at {place}).")
        raise ValueError(
            f"{type(estimator).__name__}: products of {name} overflow, its largest entry is "
            f"{np.max(np.abs(numbers)):.1e}; scale the features and the targets."
        )


def check_result(estimator, name, values):
    """Refuse to return numbers that are not finite, because rows were too large for the model."""
    if not arrays.is_finite(values):
        raise ValueError(
            f"{type(estimator).__name__}: {name} overflow on these rows of X. Scale the features."
        )
    return values


def check_unaltered(estimator, **shapes):
    """Refuse fitted attributes that were overwritten with what a prediction cannot read.

    Each is named with its shape, in which None is any length. A number alone is the number of rows
    of anything, which only a function of the user's reads.
    """
    for name, shape in shapes.items():
        try:
            _check_stored(name, getattr(estimator, name), shape)
        except ValueError as reason:
            raise altered(estimator, reason) from None


def _check_stored(name, values, shape):
    of_anything = not isinstance(shape, tuple)
    found = arrays.n_rows(values) if of_anything else np.shape(values)
    if not (found == shape if of_anything else _is_like(found, shape)):
        raise ValueError(f"{name} has {'length' if of_anything else 'shape'} {found}, not {shape}.")
    if arrays.is_sparse(values):
        arrays.check_indices(values, name)
    if not of_anything and not arrays.is_finite(values):
        raise ValueError(f"{name} holds a value that is not a finite number.")


def _is_like(found, shape):
    return len(found) == len(shape) and all(
        wanted in (None, length) for length, wanted in zip(found, shape, strict=True)
    )


def altered(estimator, reason):
    """The error for a model that something other than a fit has changed."""
    name = type(estimator).__name__
    return ValueError(f"The internal representation of {name} was altered: {reason}")


def shape_of_rows(estimator, n, takes):
    """The shape, for `check_unaltered`, of n rows that were kept for a kernel that `takes` them."""
    return n if takes == "anything" else (n, estimator.n_features_in_)


def checked_weight(sample_weight, X):
    """Weights as numbers, one per row, of which at least one is positive."""
    n = arrays.n_rows(X)
    if sample_weight is None:
        return np.ones(n)
    weight = _as_numbers(sample_weight)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: {weight.shape} vs "
            f"{getattr(X, 'shape', (n,))}"
        )
    if not np.all(np.isfinite(weight)):
        bad = int(np.flatnonzero(~np.isfinite(weight))[0])
        raise ValueError(f"sample_weight must be finite, got {weight[bad]} at index {bad}.")
    if not np.any(weight > 0):
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    if np.any(weight < 0):
        bad = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(f"sample_weight must not be negative, got {weight[bad]} at index {bad}.")
    if np.max(weight) > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight must be at most {LARGEST_WEIGHT:g}, got {np.max(weight):g}: only the "
            "ratios of the weights, and C, matter."
        )
    return weight


def _as_numbers(sample_weight):
    try:
        return np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        place = arrays.first_not_finite(np.atleast_1d(np.asarray(sample_weight, dtype=object)))
        if NOT_FINITE.search(str(error)) is None or place is None:
            raise
        missing = "a missing value"  # such as pandas' NA, which is no float
        raise ValueError(f"sample_weight must be finite, got {missing} at {place}.") from None


def check_product(name, values):
    """Refuse products of prices and weights so large that their own products would overflow."""
    largest = float(np.max(values, initial=0.0))
    if largest > LARGEST_WEIGHT:
        raise ValueError(f"{name} must be at most {LARGEST_WEIGHT:g}, got {largest:g}.")
    return values


@np.errstate(over="ignore")  # infinity is refused, too
def prices(C, weight):
    """The price of slack in each row: C times its weight. The hard margin's C is infinite."""
    return C * weight if np.isinf(C) else check_product("C times the weight of a row", C * weight)


@np.errstate(over="ignore")
def costs(weight, class_weight):
    """How much each row counts: its weight times that of its class."""
    return check_product("sample_weight times class_weight", weight * class_weight)


def seed_of(random_state):
    """A seed for NumPy's generators; None means the same one every time."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(np.iinfo(np.int32).max)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(np.iinfo(np.int32).max))
    return 0 if random_state is None else random_state


def check_dense_gram(K):
    if arrays.is_sparse(K):
        raise TypeError("Sparse precomputed kernels are not supported.")


def check_gram(K):
    """Refuse a precomputed matrix that is not square or not symmetric."""
    n = len(K)
    if K.shape[1] != n:
        raise ValueError(
            "Precomputed matrix must be a square matrix."
            f" Input is a {K.shape[0]}x{K.shape[1]} matrix."
        )
    asymmetry, largest = largest_difference(K, K.T)
    if asymmetry > ASYMMETRY * largest:
        raise ValueError(
            f"The precomputed kernel matrix is not symmetric: entries differ by up to "
            f"{asymmetry:.2g} from their mirror images. If it is rounding, give (K + K.T) / 2."
        )


def resolved_kernel(kernel, points, weight=None):
    """The kernel with every parameter a number in its range."""
    kernel = kernel.resolve(points, weight)
    kernel.check()
    return kernel


def look_at_mercer(matrix):
    """Whether a kernel matrix is known to be positive semidefinite: True, False (then with a
    warning) or None.

    Where it is not known by construction, the eigenvalues of the matrix, or of a part, decide.
    """
    kernel, n = matrix.kernel, matrix.n
    if kernel.positive_semidefinite is True:
        return True
    name = "the kernel matrix" if kernel.takes == "gram" else kernel
    everything = np.arange(n)
    whole = matrix.values(everything) if n <= MERCER_WHOLE else None
    if kernel.takes != "gram":  # the symmetry of a matrix is known by now
        check_symmetric(name, *_mirrored(matrix, everything, whole))
    sample = np.unique(np.linspace(0, n - 1, min(n, MERCER_SAMPLE)).astype(int))
    if _fails_mercer(
        name, matrix.values(sample) if whole is None else whole[np.ix_(sample, sample)]
    ):
        return False
    if whole is None:
        return None
    if is_positive_semidefinite(whole):
        return True
    return False if _fails_mercer(name, whole) else None


def _mirrored(matrix, everything, whole):
    """A matrix and its transpose; where it is not whole, some of its rows and columns."""
    if whole is not None:
        return whole, whole.T
    some = np.linspace(0, matrix.n - 1, SYMMETRY_SAMPLE).astype(int)
    return matrix.values(some, everything), matrix.values(everything, some).T


def _fails_mercer(name, K):
    """Whether there is a negative eigenvalue that rounding does not explain; then with a warning.

    Where K may have been single precision, rounding is taken to be that of single precision.
    """
    report = mercer(Precomputed(), K)
    largest = max(abs(report.smallest_eigenvalue), abs(report.largest_eigenvalue))
    if report.smallest_eigenvalue >= -ROUNDING_OF_SINGLE * largest:
        return False
    warn(
        f"kernel not PSD (smallest eigenvalue {report.smallest_eigenvalue:.2g}, largest "
        f"{report.largest_eigenvalue:.2g}): {name} violates Mercer's condition on this data, "
        "so the solution is a stationary point, which need not be the optimum.",
        MercerWarning,
    )
    return True
