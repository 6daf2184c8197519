"""Kernel values tile by tile, and what is done with them, in one compiled call for each thread.

A thread takes one tile after the other until none is left. Between two tiles it does not come back
to Python, where all threads wait for one lock: with many cores they would do little else.

Rows are laid out as `arrays.laid_out` does it: a matrix, or three arrays of CSR. A tile is a
stretch of the rows of B; panels of rows of A are multiplied with it, one panel after the other.
"""

from collections import namedtuple

import numpy as np

from maxmargin.compiled.dots import add_lines
from maxmargin.compiled.numba_setup import compiled, fetch_and_add
from maxmargin.compiled.tiles import (
    FAR,
    far_gaussian_from_dots,
    gaussian_from_dots_32,
    gaussian_from_dots_64,
    subtract_rows,
)

LINEAR, POLYNOMIAL, SIGMOID, LAPLACIAN, FAR_GAUSSIAN = range(5)

# How the tiles of a kernel are best made, and what other kernels have than the Gaussian, for which
# the latter is None, so that nobody waits for code to be compiled that is not used. The Gaussian of
# points so far out that rounding must be looked after counts as another kernel.
Recipe = namedtuple("Recipe", "gamma has_table is_partial height width")
Shape = namedtuple("Shape", "kind coef0 degree")
# Some rows, and the squares of their norms.
Rows = namedtuple("Rows", "numbers columns spans norms")


@compiled
def feature_table(numbers, columns, spans, first, last, recipe, place, n_features, like):
    """The rows of a tile, feature by feature: of all features, or of those that occur, if there are
    many. In that case it is written down where each of them stands. The table has the precision
    that `like` has."""
    if numbers.ndim == 2:
        if not recipe.has_table:
            return np.empty((0, 0), like.dtype)
        for k in range(len(place)):
            place[k] = k
        return np.ascontiguousarray(numbers[first:last].T)
    n_present = n_features
    if len(place):
        n_present = 0
        for c in range(first, last):
            for k in range(spans[c, 0], spans[c, 1]):
                if place[columns[k]] < 0:
                    place[columns[k]] = n_present
                    n_present += 1
    table = np.zeros((n_present, last - first), like.dtype)
    for c in range(first, last):
        for k in range(spans[c, 0], spans[c, 1]):
            feature = place[columns[k]] if len(place) else columns[k]
            table[feature, c - first] = numbers[k]
    return table


@compiled
def forget_places(numbers, columns, spans, first, last, place):
    if numbers.ndim == 1 and len(place):
        for c in range(first, last):
            for k in range(spans[c, 0], spans[c, 1]):
                place[columns[k]] = -1


@compiled
def add_differences(line, table, point):
    """line -= half the sum of |x_k - z_k|, for every point z of a table."""
    for k in range(len(point)):
        feature, x = table[k], point[k]
        for j in range(len(line)):
            line[j] -= abs(x - feature[j])
    for j in range(len(line)):
        line[j] *= line.dtype.type(0.5)


@compiled
def fill_dots(A, A_columns, A_spans, first, last, B, table, place, shape, out):
    """The dot products of a panel and a tile, or what stands for them in a Laplacian kernel."""
    if A.ndim == 2:
        if shape is None:
            np.dot(A[first:last], B.T, out)
        elif shape.kind == LAPLACIAN:
            for r in range(first, last):
                out[r - first] = 0.0
                add_differences(out[r - first], table, A[r])
        else:
            np.dot(A[first:last], B.T, out)
    else:
        features = np.empty(len(place), np.int32)
        values = np.empty(len(place), out.dtype)
        for r in range(first, last):
            begin, end = A_spans[r, 0], A_spans[r, 1]
            line = out[r - first]
            line[:] = 0.0
            if len(place) == 0:
                add_lines(line, table, A_columns[begin:end], A[begin:end], end - begin)
                continue
            count = 0
            for k in range(begin, end):
                if place[A_columns[k]] >= 0:
                    features[count] = place[A_columns[k]]
                    values[count] = A[k]
                    count += 1
            add_lines(line, table, features, values, count)


@compiled
def raise_lines(tile, degree):
    """Every value to a power, by repeated squaring, which is exact for integers."""
    base = np.empty(tile.shape[1], tile.dtype)
    for i in range(tile.shape[0]):
        line, left = tile[i], degree
        base[:] = line
        line[:] = 1.0
        while left > 0:
            if left & 1:
                for j in range(len(line)):
                    line[j] *= base[j]
            left >>= 1
            if left > 0:
                for j in range(len(line)):
                    base[j] *= base[j]


@compiled
def make_gaussian(tile, gamma, norms_a, norms_b):
    if tile.itemsize == 4:
        gaussian_from_dots_32(tile, norms_a, norms_b, gamma)
    else:
        gaussian_from_dots_64(tile, norms_a, norms_b, gamma, np.inf)


@compiled
def shape_values(
    tile, gamma, shape, norms_a, norms_b, A, A_columns, A_spans, first_a,
    B, B_columns, B_spans, first_b,
):  # fmt: skip
    """Replace dot products by kernel values. Points far out need the rows themselves, too."""
    if shape is None:  # on its own, so that Numba leaves out the rest  # noqa: SIM114
        make_gaussian(tile, gamma, norms_a, norms_b)
    elif shape.kind == LAPLACIAN:
        make_gaussian(tile, gamma, norms_a, norms_b)
    elif shape.kind == FAR_GAUSSIAN:
        if gaussian_from_dots_64(tile, norms_a, norms_b, gamma, FAR):
            far_gaussian_from_dots(
                tile, norms_a, norms_b, gamma, FAR, A, A_columns, A_spans, first_a,
                B, B_columns, B_spans, first_b,
            )  # fmt: skip
    elif shape.kind != LINEAR:
        factor, shift = tile.dtype.type(gamma), tile.dtype.type(shape.coef0)
        for i in range(tile.shape[0]):
            for j in range(tile.shape[1]):
                tile[i, j] = factor * tile[i, j] + shift
        if shape.kind == POLYNOMIAL:
            raise_lines(tile, shape.degree)
        else:
            for i in range(tile.shape[0]):
                for j in range(tile.shape[1]):
                    tile[i, j] = np.tanh(tile[i, j])


@compiled
def places_for(recipe, n_features):
    """Room for where features stand in a table that does not hold all of them."""
    return np.full(n_features if recipe.is_partial else 0, -1, np.int32)


@compiled
def add_multiples(sums, values, steps):
    """sums += steps @ values, in float64; of float32 values, four at a time are added as such."""
    n_rows, n = values.shape
    whole = n_rows // 4 * 4
    for r in range(0, whole, 4):
        a, b, c, d = values[r], values[r + 1], values[r + 2], values[r + 3]
        sa, sb, sc, sd = steps[r], steps[r + 1], steps[r + 2], steps[r + 3]
        for j in range(n):
            sums[j] += np.float64(sa * a[j] + sb * b[j] + sc * c[j] + sd * d[j])
    for r in range(whole, n_rows):
        a, sa = values[r], steps[r]
        for j in range(n):
            sums[j] += np.float64(sa * a[j])


@compiled
def subtract_strip(
    counter, at_once, recipe, shape, fresh, points, n_features, steps, slots, stored, result
):
    """Subtract multiples of kernel rows from `result`: of fresh rows and of those that are stored.

    `slots` says where a fresh row is to be stored. Returns whether tiles may be left.
    """
    store, old_slots, old_steps = stored
    n, n_fresh, height = len(result), len(steps), recipe.height
    scratch = np.empty(height * recipe.width, store.dtype)
    place = places_for(recipe, n_features)
    sums = np.empty(recipe.width)
    for _ in range(at_once):
        first = fetch_and_add(counter, 1) * recipe.width
        if first >= n:
            return False
        last = min(first + recipe.width, n)
        part = result[first:last]
        subtract_rows(part, store, old_slots, old_steps, first)
        table = feature_table(
            points.numbers, points.columns, points.spans, first, last, recipe, place, n_features,
            scratch,
        )  # fmt: skip
        tile_sums = sums[: last - first]
        tile_sums[:] = 0.0
        for p in range(0, n_fresh, height):
            q = min(p + height, n_fresh)
            values = scratch[: (q - p) * (last - first)].reshape(q - p, last - first)
            fill_dots(
                fresh.numbers, fresh.columns, fresh.spans, p, q, points.numbers[first:last], table,
                place, shape, values,
            )  # fmt: skip
            shape_values(
                values, recipe.gamma, shape, fresh.norms[p:q], points.norms[first:last],
                fresh.numbers, fresh.columns, fresh.spans, p,
                points.numbers, points.columns, points.spans, first,
            )  # fmt: skip
            add_multiples(tile_sums, values, steps[p:q])
            for r in range(p, q):
                if slots[r] >= 0:
                    store[slots[r], first:last] = values[r - p]
        forget_places(points.numbers, points.columns, points.spans, first, last, place)
        part -= tile_sums
    return True


@compiled
def shift_tile(numbers, spans, places, first, last, origin, tile, norms):
    """Take the rows of a tile, measured from an origin, and the squares of their norms. Dense rows
    stand at `places`. Sparse rows are measured from zero, and stay where they are."""
    for i in range(first, last):
        total = 0.0
        if numbers.ndim == 2:
            for k in range(len(origin)):
                tile[i - first, k] = numbers[places[i], k] - origin[k]
            for k in range(len(origin)):
                shifted = numbers[places[i], k] - origin[k]
                total += shifted * shifted
        else:
            for k in range(spans[i, 0], spans[i, 1]):
                total += numbers[k] * numbers[k]
        norms[i] = total


@compiled
def tile_table(numbers, columns, spans, tile, first, last, recipe, place):
    """The feature table of rows as they are given, of which dense ones were brought to a tile."""
    n_features, width = tile.shape[1], last - first
    if numbers.ndim == 2:
        return feature_table(tile, columns, spans, 0, width, recipe, place, n_features, tile)
    return feature_table(numbers, columns, spans, first, last, recipe, place, n_features, tile)


@compiled
def shape_tile(
    values, gamma, shape, centres, p, q, tile_norms, tile, numbers, columns, spans, first
):
    """`shape_values` for rows as they are given, of which dense ones were brought to a tile."""
    if numbers.ndim == 2:
        shape_values(
            values, gamma, shape, centres.norms[p:q], tile_norms,
            centres.numbers, centres.columns, centres.spans, p, tile, columns, spans, 0,
        )  # fmt: skip
    else:
        shape_values(
            values, gamma, shape, centres.norms[p:q], tile_norms,
            centres.numbers, centres.columns, centres.spans, p, numbers, columns, spans, first,
        )  # fmt: skip


@compiled
def add_products(sums, lines, coef):
    """sums += coef' lines, where a few columns need no BLAS."""
    if coef.shape[1] <= 2:
        for c in range(coef.shape[1]):
            add_multiples(sums[c], lines, coef[:, c])
    else:
        sums += np.dot(coef.T, lines)


@compiled
def expand_strip(
    counter, at_once, recipe, shape, centres, numbers, columns, spans, places, origin, coef,
    panels, pieces, norms, result,
):  # fmt: skip
    """result[:, k] = the sums of kernel values times `coef` over the centres of part k, in the
    precision that `coef` and the centres have.

    The rows come as they are given, and are shifted to the origin tile by tile, so that no second
    set of them is needed; the squares of their norms are left in `norms`. A panel has its centres
    from panels[p, 0] to panels[p, 1] and its pieces from panels[p, 2] on; a piece says the part,
    and where it begins and ends. Returns whether tiles may be left.
    """
    n, n_columns, n_features = len(result), coef.shape[1], len(origin)
    scratch = np.empty(recipe.height * recipe.width, coef.dtype)
    tile = np.empty((recipe.width if numbers.ndim == 2 else 0, n_features), coef.dtype)
    tile_norms = np.zeros(recipe.width, coef.dtype)
    place = places_for(recipe, n_features)
    for _ in range(at_once):
        first = fetch_and_add(counter, 1) * recipe.width
        if first >= n:
            return False
        last = min(first + recipe.width, n)
        width = last - first
        shift_tile(numbers, spans, places, first, last, origin, tile, norms)
        if shape is None:  # noqa: SIM114
            tile_norms[:width] = norms[first:last]
        elif shape.kind == FAR_GAUSSIAN:
            tile_norms[:width] = norms[first:last]
        table = tile_table(numbers, columns, spans, tile, first, last, recipe, place)
        sums = np.zeros((result.shape[1], n_columns, width))
        for panel in range(len(panels) - 1):
            p, q = panels[panel, 0], panels[panel, 1]
            values = scratch[: (q - p) * width].reshape(q - p, width)
            fill_dots(
                centres.numbers, centres.columns, centres.spans, p, q, tile[:width], table, place,
                shape, values,
            )  # fmt: skip
            shape_tile(
                values, recipe.gamma, shape, centres, p, q, tile_norms[:width], tile, numbers,
                columns, spans, first,
            )  # fmt: skip
            for piece in range(panels[panel, 2], panels[panel + 1, 2]):
                part, begin, end = pieces[piece, 0], pieces[piece, 1], pieces[piece, 2]
                add_products(sums[part], values[begin - p : end - p], coef[begin:end])
        forget_places(numbers, columns, spans, first, last, place)
        for j in range(first, last):
            for part in range(result.shape[1]):
                for c in range(n_columns):
                    result[j, part, c] = sums[part, c, j - first]
    return True


@compiled
def matrix_strip(counter, at_once, recipe, shape, A, B, n_features, is_same, result):
    """result = the kernel values between two sets of rows; if they are the same set, tiles are
    square, and what lies below the diagonal is what lies above it, transposed.

    Returns whether tiles may be left.
    """
    height, width = recipe.height, recipe.width
    n_rows, n = result.shape
    n_across = (n + width - 1) // width
    scratch = np.empty(height * width, result.dtype)
    place = places_for(recipe, n_features)
    for _ in range(at_once):
        number = fetch_and_add(counter, 1)
        first = (number % n_across) * width
        p = (number // n_across) * height
        if p >= n_rows:
            return False
        last, q = min(first + width, n), min(p + height, n_rows)
        if is_same and last <= p:
            continue
        values = scratch[: (q - p) * (last - first)].reshape(q - p, last - first)
        table = feature_table(
            B.numbers, B.columns, B.spans, first, last, recipe, place, n_features,
            scratch,
        )  # fmt: skip
        fill_dots(
            A.numbers, A.columns, A.spans, p, q, B.numbers[first:last], table, place, shape, values
        )  # fmt: skip
        forget_places(B.numbers, B.columns, B.spans, first, last, place)
        shape_values(
            values, recipe.gamma, shape, A.norms[p:q], B.norms[first:last],
            A.numbers, A.columns, A.spans, p, B.numbers, B.columns, B.spans, first,
        )  # fmt: skip
        result[p:q, first:last] = values
        if is_same:
            for j in range(first, last):
                for i in range(p, min(q, j)):
                    result[j, i] = values[i - p, j - first]
    return True
