"""Chains find what is there: the buffet as the limit of no decay, known images from cold starts, simulated features.

Measured figures are in `docs/proofs.md`; the long versions print theirs (``pytest -s``).
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import interpreted
from ddibp import DDIBP, IBP, Constant, Exponential, Gamma
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.sampler import PosteriorSampler
from posterior_laws import LIMIT, Comparison, compare, simulate

# --- no decay: the Indian buffet ------------------------------------------------------------------------------------


def look_at_both(n_sweeps, rng, missing=0.0, collapsed=True):
    """Run the dd-IBP with constant decay and ordered rows, and the IBP, on the same data; compare their means."""
    X = interpreted.data(16, 4, missing, 0.4, np.random.default_rng(3), n_features=4)
    likelihood = LinearGaussian(0.4, 1.0, collapsed=collapsed)
    mass = Gamma(6.0, 6.0)
    buffet = PosteriorSampler(IBP(mass), likelihood, X)
    linked = PosteriorSampler(DDIBP(Constant(), alpha=mass, sequential=True), likelihood, X, np.arange(16.0))
    pairs = [(0, 0), (1, 0), (5, 2), (8, 8), (9, 7), (12, 3), (15, 0), (15, 14), (15, 15)]
    names = ["K", "K²", "alpha", "ones", "singletons", *(f"ZZ' {i},{j}" for i, j in pairs), "sharing", "|residuals|²"]

    def observe(state):
        Z = state.Z.astype(float)
        R = Z @ Z.T
        H = Z.T @ Z + 0.16 * np.eye(Z.shape[1])
        misfit = (state.data**2).sum() - np.einsum("km,km->", Z.T @ state.data, np.linalg.solve(H, Z.T @ state.data))
        ones, singletons = np.trace(R), (Z.sum(axis=0) == 1).sum()
        return [len(H), len(H) ** 2, state.alpha, ones, singletons, *(R[p] for p in pairs), R.sum() - ones, misfit]

    first, second = (
        compare(simulate(sampler, observe, n_sweeps, rng), names, np.zeros(len(names))) for sampler in (buffet, linked)
    )
    errors = np.hypot(first.errors, second.errors)
    return Comparison(names, second.means, first.means, errors, np.minimum(first.ess, second.ess))


def assert_they_agree(n_sweeps, rng, least_ess, **how):
    """Assert agreement within 4 standard errors, or in a second run of four times the length.

    The probability of a false alarm is that of `posterior_laws`: 7e-8 per number.
    """
    first = look_at_both(n_sweeps, rng, **how)
    assert first.ess.min() > least_ess, first
    if first.wrong:
        second = look_at_both(4 * n_sweeps, rng, **how)
        assert not first.wrong & second.wrong, f"beyond {LIMIT} standard errors twice\n{first}\n\n{second}"


def test_without_decay_it_is_the_buffet(rng):
    assert_they_agree(2000, rng, 60)


@pytest.mark.slow
@pytest.mark.parametrize("missing, collapsed", [(0.0, True), (0.0, False), (0.15, True), (0.15, False)])
def test_without_decay_it_is_the_buffet_in_long_runs(missing, collapsed, rng):
    assert_they_agree(20_000, rng, 200, missing=missing, collapsed=collapsed)


# --- Griffiths and Ghahramani's images ------------------------------------------------------------------------------

# Corner of the image (first row, first column) and its three by three pixels.
IMAGES = [((0, 0), "010111010"), ((0, 3), "111101111"), ((3, 0), "100110111"), ((3, 3), "111010010")]


@cache
def images():
    """Return X and Z of the four images of 6 by 6 pixels: the published data if they are there, else simulated ones.

    Both are ZW - 0.23 and noise of 0.2; the stand-in has 300 rows.
    """
    file = Path(os.environ.get("DDIBP_DATA", "")) / "cambridge_bars" / "cambridge_bars.npz"
    if "DDIBP_DATA" in os.environ:
        with np.load(file) as arrays:
            return arrays["X"], arrays["Z"].astype(bool)
    rng = np.random.default_rng(1)
    W = np.zeros((4, 6, 6))
    for image, ((row, column), pixels) in zip(W, IMAGES, strict=True):
        image[row : row + 3, column : column + 3] = np.reshape(list(pixels), (3, 3)).astype(float)
    Z = rng.random((300, 4)) < 0.35
    return Z @ W.reshape(4, 36) - 0.23 + 0.2 * rng.standard_normal((300, 36)), Z


def found(Z, truth):
    """Return how many true features have a column that differs from it in less than 2 % of the rows."""
    differ = (Z[:, :, None] != truth[:, None, :]).mean(axis=0)
    return int((differ.min(axis=0, initial=1.0) < 0.02).sum())


def chains_on_images(start, n_rows, n_sweeps, offset, seeds=range(4)):
    """Return for every chain the number of true features found and the number of features."""
    X, truth = images()
    sampler = PosteriorSampler(IBP(), LinearGaussian(), X[:n_rows] + offset, start=start)
    result = []
    for seed in seeds:
        state = sampler.start(np.random.default_rng(seed))
        for _ in range(n_sweeps):
            sampler.sweep(state)
        result.append((found(state.Z, truth[:n_rows]), state.n_features))
    return result


def test_all_chains_find_the_four_images():
    assert chains_on_images("data", 150, 60, offset=0.23) == [(4, 4)] * 4


def test_an_offset_of_the_images_is_found_as_a_feature_of_all_rows():
    """The data as they are published lie 0.23 too low: one more feature of all rows, in most chains."""
    result = chains_on_images("data", 150, 100, offset=0.0)
    assert result.count((4, 5)) >= 2, result


# --- features simulated from the model ------------------------------------------------------------------------------


def simulated(sequential, noise, n_rows, n_outputs, n_features, rng):
    """Return times, features, data, and data with a tenth of the entries missing, drawn from the model.

    Features are those of a draw with about so many of them, each of 5 rows or more.
    """
    t = np.sort(rng.uniform(0.0, 20.0, n_rows))
    prior = DDIBP(Exponential(0.5), alpha=1.0, sequential=sequential)
    prior = prior.set_params(alpha=n_features / prior.expected_features(t))
    while True:
        Z = prior.sample(t, rng=rng)
        if abs(Z.shape[1] - n_features) <= 1 and Z.sum(axis=0).min() >= 5:
            break
    X = Z @ rng.standard_normal((Z.shape[1], n_outputs)) + noise * rng.standard_normal((n_rows, n_outputs))
    return t, Z, X, np.where(rng.random(X.shape) < 0.1, np.nan, X)


def recover(sequential, noise, rng, *, n_rows=200, n_outputs=16, n_features=6, n_sweeps=400):
    """Return figures of one chain: features found, error of co-activation, coverage, error of imputed entries."""
    t, truth, X, holes = simulated(sequential, noise, n_rows, n_outputs, n_features, rng)
    prior = DDIBP(Exponential(Gamma(2.0, 4.0)), alpha=Gamma(2.0, 2.0), sequential=sequential)
    sampler = PosteriorSampler(prior, LinearGaussian(), holes, t)
    state = sampler.start(rng)
    imputed, together, numbers = [], np.zeros((n_rows, n_rows)), []
    for sweep in range(n_sweeps):
        sampler.sweep(state)
        if sweep >= n_sweeps // 3:
            Z = state.Z.astype(float)
            together += Z @ Z.T
            imputed.append(sampler.imputed(state))
            numbers.append([found(state.Z, truth), state.n_features, state.lik.scales[0]])
    exact = truth.astype(float) @ truth.T
    low, high = np.quantile(imputed, [0.05, 0.95], axis=0)
    missing = X[np.isnan(holes)]
    mean_found, K, sigma_x = np.mean(numbers, axis=0)
    return {
        "features": truth.shape[1],
        "K": K,
        "found": mean_found,
        "co-activation": np.abs(together / len(imputed) - exact).sum() / exact.sum(),
        "coverage": np.mean((low <= missing) & (missing <= high)),
        "rmse / noise": np.sqrt(np.mean((np.mean(imputed, axis=0) - missing) ** 2)) / noise,
        "sigma_x / noise": sigma_x / noise,
    }


@pytest.mark.parametrize("sequential", [True, False])
def test_features_simulated_from_the_model_are_found(sequential, rng):
    """One small data set: coverage of 90 % among 128 entries or so, by chance off by 0.1 with probability 2e-4."""
    figures = recover(sequential, 0.3, rng, n_rows=80, n_features=4, n_sweeps=200)
    assert figures["found"] >= figures["features"] - 1.5, figures
    assert figures["co-activation"] < 0.3, figures
    assert 0.8 <= figures["coverage"] <= 1.0, figures
    assert 0.8 <= figures["rmse / noise"] <= 1.6, figures
    assert 0.9 <= figures["sigma_x / noise"] <= 1.1, figures


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("sequential", [True, False])
def test_six_features_are_found_at_three_levels_of_noise(sequential, noise, rng):
    """Six data sets of 200 rows and 16 outputs: 1,900 missing entries, so that coverage has an error of 0.01."""
    runs = [recover(sequential, noise, stream) for stream in rng.spawn(6)]
    figures = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    print(f"\n{'sequential' if sequential else 'symmetric'}, noise {noise}: " + report(figures))
    print("   per data set: found " + ", ".join(f"{run['found']:.1f}/{run['features']}" for run in runs))
    assert figures["found"] > 0.8 * figures["features"]
    assert figures["co-activation"] < 0.25
    assert 0.85 <= figures["coverage"] <= 0.95
    assert figures["rmse / noise"] < 1.5
    assert 0.95 <= figures["sigma_x / noise"] <= 1.05


def report(figures):
    return ", ".join(f"{name} {value:.3g}" for name, value in figures.items())


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [100, 300])
@pytest.mark.parametrize("start", ["data", "empty", "prior"])
def test_cold_starts_find_the_four_images(start, n_rows):
    """All of eight chains from the data; from no features or from the prior, most."""
    result = chains_on_images(start, n_rows, 300, 0.23, range(8))
    print(f"\n{start}, {n_rows} rows: (found, features) " + ", ".join(map(str, result)))
    assert sum(pair == (4, 4) for pair in result) >= (8 if start == "data" else 3)
