"""Moves of missing entries, where weights are summed out: they are drawn as part of the state, given weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddibp.sampling import sweeps
from ddibp.sampling.state import ChainState, empty_likelihood

if TYPE_CHECKING:
    from ddibp.sampling.sampler import PosteriorSampler

FloatArray = NDArray[np.float64]


def impute(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Draw weights, then the missing entries given them."""
    Z = state.lik.z[: state.n_features].astype(float).T
    return _fill(sampler, state, Z @ _draw_weights(sampler, state, Z))


def flip_and_impute(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Draw weights, forget the missing entries, flip single rows given the weights, and draw the missing entries.

    A missing entry that has been drawn speaks for the features with which it was drawn. Forgotten, it leaves its row
    to the entries that were observed; a row without any follows the prior.
    """
    K, lik = state.n_features, state.lik
    Z = lik.z[:K].astype(float).T
    weights = _draw_weights(sampler, state, Z)
    kept = (~sampler.missing).astype(np.uint8)
    open_lik = empty_likelihood(np.where(sampler.missing, 0.0, state.data), kept, len(lik.z))
    open_lik = open_lik._replace(z=lik.z, gram=lik.gram, scales=lik.scales, sizes=lik.sizes)
    open_lik.weights[:K] = weights
    open_lik.residuals[:] = (open_lik.X - Z @ weights) * kept
    side = ChainState(
        state.rng, open_lik, state.links, state.owners, state.marks, state.alpha, state.parameters, state.data
    )
    side.process = state.process
    move = sweeps.flip_leaves if state.process.has_links else sweeps.flip_rows
    changed = move(side, False)[1]
    flipped = lik.z[:K].astype(float)
    lik.gram[:K, :K] = flipped @ flipped.T
    _fill(sampler, state, flipped.T @ open_lik.weights[:K])
    return sampler.n_rows * K, changed


def _draw_weights(sampler: PosteriorSampler, state: ChainState, Z: Any) -> FloatArray:
    """Draw W given the features and the completed data."""
    K, rng = state.n_features, state.rng
    sigma_x, sigma_w = state.lik.scales[:2]
    noise = rng.standard_normal((K, sampler.n_outputs))
    if K == 0:
        return noise
    precision = state.lik.gram[:K, :K] + (sigma_x / sigma_w) ** 2 * np.eye(K)
    lower = np.linalg.cholesky(precision)
    mean = np.linalg.solve(precision, Z.T @ state.data)
    return np.asarray(mean + sigma_x * np.linalg.solve(lower.T, noise))


def _fill(sampler: PosteriorSampler, state: ChainState, signal: FloatArray) -> tuple[int, int]:
    """Draw the missing entries around the signal ZW."""
    fitted = signal[sampler.missing]
    state.data[sampler.missing] = fitted + state.lik.scales[0] * state.rng.standard_normal(fitted.size)
    sampler.refresh_data(state)
    return fitted.size, fitted.size
