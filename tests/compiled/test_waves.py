"""The compiled sine and cosine are NumPy's to a few units in the last place."""

import numpy as np
import pytest

from maxmargin.compiled.waves import COSINES, LARGEST, SINES, write_waves

both = pytest.mark.parametrize(
    ("ahead", "function"), [(SINES, np.sin), (COSINES, np.cos)], ids=["sine", "cosine"]
)


def waves(angles, ahead, offsets=0.0, height=1.0):
    angles = np.atleast_2d(angles)
    out = np.empty_like(angles)
    offsets = np.broadcast_to(offsets, angles.shape[1]).copy()
    return out, write_waves(angles, offsets, height, ahead, out)


@both
@pytest.mark.parametrize("size", [1e-300, 1e-8, 0.1, 1.0, 10.0, 1e3, 1e5, LARGEST])
def test_angles_of_any_size_have_their_wave_to_three_units_in_the_last_place(ahead, function, size):
    angles = np.random.default_rng(0).uniform(-size, size, (10, 20_001))
    found, n_too_large = waves(angles, ahead)
    assert n_too_large == 0
    np.testing.assert_array_max_ulp(found, function(angles), maxulp=3)


@both
def test_the_error_is_that_of_rounding_where_a_wave_crosses_zero(ahead, function):
    quarters = np.arange(-300_000, 300_001) * (np.pi / 2)
    for angles in (quarters, np.nextafter(quarters, np.inf), np.nextafter(quarters, -np.inf)):
        found, _ = waves(angles, ahead)
        np.testing.assert_allclose(found[0], function(angles), rtol=1e-9, atol=0)
        assert np.max(np.abs(found[0] - function(angles))) <= 2 * np.finfo(float).eps


@both
def test_angles_too_large_to_be_reduced_are_counted_and_exact(ahead, function):
    angles = np.array([[1.0, 2.0, 3.0], [1.0, 1e8, -1e300], [0.5, np.inf, np.nan]])
    found, n_too_large = waves(angles, ahead)
    assert n_too_large == 4
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_max_ulp(found[:2], function(angles[:2]), maxulp=3)
    assert np.isnan(found[2]).tolist() == [False, True, True]


@both
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_offset_and_height_are_those_of_a_column(ahead, function, dtype):
    rng = np.random.default_rng(1)
    angles, offsets = rng.standard_normal((5, 7)), rng.uniform(0, 6, 7)
    out = np.zeros((5, 20), dtype=dtype)
    write_waves(angles, offsets, 0.25, ahead, out[:, 3:10])
    np.testing.assert_allclose(
        out[:, 3:10], 0.25 * function(angles + offsets), rtol=0, atol=np.finfo(dtype).eps
    )
    assert not out[:, :3].any()
    assert not out[:, 10:].any()
