"""The formulas of docs/theory/random_features.md, evaluated."""

import numpy as np
import pytest
from scipy import integrate, stats
from theory_pages import states

from maxmargin import Nystroem, RandomFourierFeatures
from maxmargin.kernels import RBF, Laplacian

rng = np.random.default_rng(0)
GAMMA = 0.4
X = rng.standard_normal((12, 3))


def products(form, D, draws, x, z):
    """z(x).z(x') of many draws of D features: the parts of one draw of all of them."""
    features = RandomFourierFeatures(RBF(gamma=GAMMA), n_components=D * draws, form=form)
    features.set_params(random_state=5).fit(X)
    w, b = features.frequencies_, features.offsets_
    if form == "sincos":
        return np.cos(w @ (x - z)).reshape(draws, D // 2).mean(axis=1)
    return (2 * np.cos(w @ x + b) * np.cos(w @ z + b)).reshape(draws, D).mean(axis=1)


@states("R1", "R2", "R3", "R4")
def test_the_gaussian_is_a_mixture_of_waves_with_normal_frequencies():
    tau = np.sqrt(2 * GAMMA)
    for t in (0.0, 0.5, 2.0):
        wave, _ = integrate.quad(lambda w, t=t: stats.norm.pdf(w, 0, tau) * np.cos(w * t), -20, 20)
        assert (
            wave
            == pytest.approx(np.exp(-(tau**2) * t**2 / 2))
            == pytest.approx(RBF(gamma=GAMMA)([[0.0]], [[t]])[0, 0])
        )
        cauchy, _ = (
            integrate.quad(
                lambda w: 2 * stats.cauchy.pdf(w, 0, GAMMA), 0, np.inf, weight="cos", wvar=t
            )
            if t
            else (1.0, 0)
        )
        assert cauchy == pytest.approx(Laplacian(gamma=GAMMA)([[0.0]], [[t]])[0, 0], abs=1e-6)
    w, c = rng.normal(0, tau, (3, 40_000)), rng.standard_normal(len(X))
    waves = np.exp(1j * (X @ w))
    K = (waves @ waves.conj().T / w.shape[1]).real
    np.testing.assert_allclose(K, RBF(gamma=GAMMA)(X), atol=0.03)
    squares = np.mean(np.abs(c @ waves) ** 2)
    assert squares == pytest.approx(c @ K @ c)
    delta = X[0] - X[1]
    coordinates = [np.mean(np.cos(row * step)) for row, step in zip(w, delta, strict=True)]
    assert np.prod(coordinates) == pytest.approx(np.exp(-GAMMA * delta @ delta), abs=0.03)


@states("R5", "R6", "R7")
def test_the_cosine_form_is_its_formula_and_unbiased():
    features = RandomFourierFeatures(RBF(gamma=GAMMA), n_components=64, random_state=1).fit(X)
    w, b = features.frequencies_.T, features.offsets_
    expected = np.sqrt(2 / 64) * np.cos(X @ w + b)
    np.testing.assert_allclose(features.transform(X), expected)
    A, B = X[0] @ w + b, X[1] @ w + b
    np.testing.assert_allclose(
        2 * np.cos(A) * np.cos(B), np.cos((X[0] - X[1]) @ w) + np.cos((X[0] + X[1]) @ w + 2 * b)
    )
    turns, _ = integrate.quad(lambda phase: np.cos(0.7 + 2 * phase), 0, 2 * np.pi)
    assert turns == pytest.approx(0, abs=1e-12)
    found = products("cos", 16, 2000, X[0], X[1])
    k = RBF(gamma=GAMMA)(X[:1], X[1:2])[0, 0]
    assert found.mean() == pytest.approx(k, abs=4 * found.std() / np.sqrt(2000))


@states("R8", "R9", "R10")
@pytest.mark.parametrize("form", ["cos", "sincos"])
def test_variances_are_the_formulas_and_at_most_one_over_d(form):
    D, draws = 8, 3000
    for z in (X[0], X[0] + [0.3, 0.0, 0.2], X[1]):
        delta = X[0] - z
        kappa, twice = np.exp(-GAMMA * delta @ delta), np.exp(-GAMMA * 4 * delta @ delta)
        found = products(form, D, draws, X[0], z)
        variance = {
            "cos": (1 + twice / 2 - kappa**2) / D,
            "sincos": (1 + twice - 2 * kappa**2) / D,
        }[form]
        assert found.var() == pytest.approx(variance, rel=0.15, abs=1e-12)
        assert twice <= kappa**2
        assert variance <= 1 / D
        if form == "sincos":
            assert variance <= (1 + twice / 2 - kappa**2) / D
    features = RandomFourierFeatures(RBF(gamma=GAMMA), n_components=D, form=form, random_state=0)
    Z = features.fit_transform(X)
    if form == "sincos":
        np.testing.assert_allclose(np.sum(Z**2, axis=1), 1)
        by_formula = np.cos((X[0] - X[1]) @ features.frequencies_.T).mean()
        assert Z[0] @ Z[1] == pytest.approx(by_formula)


@states("R11")
def test_large_errors_are_rarer_than_hoeffding_says():
    D, t = 200, 0.25
    found = products("cos", D, 1000, X[0], X[1])
    k = RBF(gamma=GAMMA)(X[:1], X[1:2])[0, 0]
    bound = 2 * np.exp(-D * t**2 / 8)
    assert bound == pytest.approx(2 * np.exp(-2 * D * t**2 / 4**2))
    assert bound < 1
    assert np.mean(np.abs(found - k) >= t) <= bound


@states("R12")
def test_nystroem_is_the_projection_on_its_landmarks():
    kernel = RBF(gamma=GAMMA)
    model = Nystroem(kernel, n_components=6, random_state=0).fit(X)
    landmarks = X[model.component_indices_]
    K_m, k_m = kernel(landmarks), kernel(landmarks, X)
    values, V = np.linalg.eigh(K_m)
    root = V @ np.diag(values**-0.5) @ V.T
    Z = model.transform(X)
    np.testing.assert_allclose((root @ k_m).T @ (root @ k_m), Z @ Z.T, atol=1e-8)
    np.testing.assert_allclose(k_m.T @ np.linalg.solve(K_m, k_m), Z @ Z.T, atol=1e-8)
