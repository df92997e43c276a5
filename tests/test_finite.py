"""The finite approximation of the dHBP: its own moments, its known bias, and the exact law in the limit."""

from __future__ import annotations

import numpy as np
import pytest

from ddibp import DDIBP, DHBP, Exponential, Gamma, LinearGaussian, load_posterior
from ddibp.sampling import FiniteSampler, PosteriorSampler, run
from posterior_laws import DATA, T, compare, simulate
from reference import decay
from reference.dhbp import customer_posterior

GAMMA, C0, C1 = 1.2, 4.0, 0.7
PRIOR = DHBP(Exponential(1.3), gamma=GAMMA, c0=C0, c1=C1)


def observe(state):
    Z = state.z.astype(float).T
    R = Z @ Z.T
    same = state.lenders[0] == state.lenders[1]
    return [R[0, 0], R[1, 1], R[0, 1] * (not same), R[0, 1] * same, not same, state.z.any(axis=1).sum()]


def test_without_data_it_has_the_moments_of_its_own_law(rng):
    """The published approximation shares too much, by the factor 1 + c0 gamma / K where lenders differ.

    A number is wrong beyond 5 standard errors by 40 batches: p = 1e-5 by Student's t.
    """
    K = 12
    sampler = FiniteSampler(PRIOR, LinearGaussian(1.0, 1.0), np.full((2, 1), np.nan), T[:2], n_dishes=K)
    a, _ = decay.proximity(decay.distances(T[:2]), decay.exponential(1.3))
    apart = 1.0 - float((a[0] * a[1]).sum())
    sharing = GAMMA * (1.0 + C0 * GAMMA / K) / (C0 + 1.0)
    together = GAMMA * (C1 * (1.0 + C0 * GAMMA / K) / (C0 + 1.0) + 1.0) / (C1 + 1.0)
    names = ["R_0", "R_1", "R_01, apart", "R_01, together", "apart"]
    expected = [GAMMA, GAMMA, sharing * apart, together * (1.0 - apart), apart]
    draws = simulate(sampler, observe, 16_000, rng)
    result = compare(draws[:, :, :5], names, expected)
    assert np.abs(result.z).max() < 5.0, f"\n{result}"
    assert draws[:, :, 2].mean() > 1.1 * GAMMA / (C0 + 1.0) * apart  # the bias is there to be seen


@pytest.mark.slow
def test_with_many_dishes_it_has_the_exact_posterior(rng):
    """150 dishes, a bias of 3 % in the prior's sharing: within 4 % and 5 standard errors of the exact numbers."""
    X = DATA["holes"][:3]
    prior = PRIOR.set_params(gamma=Gamma(3.0, 4.0))
    sampler = FiniteSampler(prior, LinearGaussian(0.4, 1.0), X, T[:3], n_dishes=150)
    a, _ = decay.proximity(decay.distances(T[:3]), decay.exponential(1.3))
    exact = customer_posterior(a, C0, C1, X, 0.4, 1.0, 8, (3.0, 4.0))
    pairs = [(i, j) for i in range(3) for j in range(i + 1)]

    def numbers(state):
        Z = sampler.features(state).astype(float)
        return [Z.shape[1], *((Z @ Z.T)[i, j] for i, j in pairs), state.scales[0]]

    expected = np.array([exact.mean_K, *(exact.sharing[i, j] for i, j in pairs), exact.mean_gamma])
    result = compare(simulate(sampler, numbers, 40_000, rng), ["K", *map(str, pairs), "gamma"], expected)
    assert (np.abs(result.means - expected) < 0.04 * expected + 5.0 * result.errors).all(), f"\n{result}"


def test_runs_are_kept_and_go_on_bit_for_bit(tmp_path):
    X = DATA["holes"]
    sampler = FiniteSampler(PRIOR, LinearGaussian(), X, T[:4], n_dishes=20)
    state = sampler.start(np.random.default_rng(3))
    for _ in range(5):
        sampler.sweep(state)
    twin = sampler.unpack(sampler.pack(state))
    for chain in (state, twin):
        for _ in range(5):
            sampler.sweep(chain)
    first, second = sampler.pack(state), sampler.pack(twin)
    assert all(np.array_equal(first[name], second[name]) for name in first if name != "rest")  # which has seconds
    assert state.rng.bit_generator.state == twin.rng.bit_generator.state
    residuals = np.where(np.isnan(X), 0.0, X - state.z.T.astype(float) @ state.weights)
    assert np.allclose(state.residuals, residuals, atol=1e-10)
    posterior = run(sampler, draws=20, tune=5, chains=2, checkpoint=tmp_path / "run", progress=False)
    assert load_posterior(tmp_path / "run").n_draws == posterior.n_draws == 20


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((DDIBP(), LinearGaussian(), np.eye(2), [0.0, 1.0]), "prior must be a DHBP with coupling='customer'"),
        ((DHBP(coupling="dish"), LinearGaussian(), np.eye(2), [0.0, 1.0]), "coupling='customer'"),
        ((DHBP(c0=Gamma()), LinearGaussian(), np.eye(2), [0.0, 1.0]), "prior must have numbers for c0"),
        ((DHBP(gamma=90.0), LinearGaussian(), np.eye(2), [0.0, 1.0]), "n_dishes must exceed the mass 90"),
        ((DHBP(), LinearGaussian(), np.eye(3), [0.0, 1.0]), "covariates describe 2 rows, but X has 3"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        FiniteSampler(*arguments)


@pytest.mark.slow
def test_the_exact_sampler_agrees_on_a_data_set(rng):
    """Twenty rows of simulated data: K, sharing of neighbours and noise from 200 dishes and without truncation."""
    t = np.arange(20.0)
    prior = DHBP(Exponential(0.3), gamma=2.0, c0=1.0, c1=1.0)
    Z = prior.sample(t, rng=rng)
    X = LinearGaussian(0.5, 1.0).simulate(Z, 6, rng=rng)[0]
    finite = FiniteSampler(prior, LinearGaussian(Gamma(), 1.0), X, t, n_dishes=200)
    exact = PosteriorSampler(prior, LinearGaussian(Gamma(), 1.0), X, t)

    def numbers(sampler):
        def look(state):
            Z = sampler.features(state).astype(float)
            R = Z @ Z.T
            return [Z.shape[1], R.trace(), np.diagonal(R, 1).sum(), sampler.scalars(state)["sigma_x"]]

        return look

    names, n = ["K", "ones", "shared", "sigma_x"], 6000
    reference = compare(simulate(exact, numbers(exact), n, rng, warm_up=200), names, np.zeros(4))
    result = compare(simulate(finite, numbers(finite), n, rng, warm_up=500), names, reference.means)
    gap = np.abs(result.means - reference.means)
    assert (gap < 0.03 * reference.means + 5.0 * np.hypot(result.errors, reference.errors)).all(), f"\n{result}"
