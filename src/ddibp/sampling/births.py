r"""Births and deaths of whole columns, drawn from the prior or from the data.

A birth drawn from density q is accepted with :math:`LR\, \alpha\rho_z / (q\,(K+1))`, the death of a column drawn
uniformly with the reciprocal at one column fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ddibp._random import accepts
from ddibp.moves import births as kernels
from ddibp.moves import evidence as ev

if TYPE_CHECKING:
    from ddibp.sampling.sampler import PosteriorSampler
    from ddibp.sampling.state import ChainState


def from_the_prior(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Try a birth drawn from the prior, or the death of any column; the prior cancels."""
    process, rng, K = state.process, state.rng, state.n_features
    expected = state.alpha * process.unit_total
    if rng.random() < 0.5:
        z, owner, links = process.draw_column(rng)
        _prepare(sampler, state, -1)
        ev.add_up(state.evidence, z)
        if not accepts(rng, ev.score(state.evidence) + np.log(expected / (K + 1))):
            return 1, 0
        sampler.append(state, z, owner, links)
        return 1, 1
    if K == 0:
        return 1, 0
    k = int(rng.integers(K))
    _prepare(sampler, state, k)
    if not accepts(rng, -ev.score(state.evidence) + np.log(K / expected)):
        return 1, 0
    sampler.drop(state, k)
    return 1, 1


def from_the_data(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Try a birth that follows the residuals, or the death of a column with the exact reverse density."""
    process, rng, K = state.process, state.rng, state.n_features
    if rng.random() < 0.5:
        z, owner, log_ratio = propose(sampler, state)
        if not accepts(rng, log_ratio - np.log(K + 1)):
            return 1, 0
        sampler.append(state, z, owner)
        process.draw_links(z, owner, state.links[K], rng)
        return 1, 1
    if K == 0:
        return 1, 0
    k = int(rng.integers(K))
    _prepare(sampler, state, k)
    z = state.lik.z[k].copy()
    owner = int(np.argmax(z)) if process.sequential else int(state.owners[k])
    log_ratio = _log_ratio(state, z, owner, given=True)
    if not accepts(rng, np.log(K) - log_ratio):
        return 1, 0
    sampler.drop(state, k)
    return 1, 1


def all_dishes_at_once(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Propose new numbers of dishes for all owners at once, as published; accept with the likelihood ratio.

    Owners with too few dishes get new ones with links from the prior, those with too many lose uniformly chosen ones.
    Correct, and hardly ever accepted for more than a few dozen rows: kept as the baseline.
    """
    process, rng, K = state.process, state.rng, state.n_features
    wanted = rng.poisson(state.alpha * np.exp(-process.log_h))
    owned = np.bincount(state.owners[:K], minlength=sampler.n_rows)
    dropped = [
        int(k)
        for owner in np.flatnonzero(owned > wanted)
        for k in rng.permutation(np.flatnonzero(state.owners[:K] == owner))[: owned[owner] - wanted[owner]]
    ]
    added = [
        process.draw_column(rng, int(owner))
        for owner in np.flatnonzero(wanted > owned)
        for _ in range(wanted[owner] - owned[owner])
    ]
    current = sampler.log_likelihood(state.lik.z[:K], state)
    kept = np.delete(state.lik.z[:K], dropped, axis=0)
    proposed = np.concatenate([kept, *(z[None] for z, _, _ in added)])
    if not accepts(rng, sampler.log_likelihood(proposed, state) - current):
        return 1, 0
    for k in sorted(dropped, reverse=True):
        sampler.drop(state, k)
    for z, owner, links in added:
        sampler.append(state, z, owner, links)
    return 1, 1


def propose(sampler: PosteriorSampler, state: ChainState) -> tuple[NDArray[np.uint8], int, float]:
    """Return a column that follows the data, its owner, and log(LR rate / density)."""
    _prepare(sampler, state, -1)
    weights = np.exp(kernels.owner_log_weights(state.process.log_h, state.evidence))
    owner = int(min(np.searchsorted(np.cumsum(weights), state.rng.random() * weights.sum()), weights.size - 1))
    z = np.zeros(sampler.n_rows, np.uint8)
    return z, owner, _log_ratio(state, z, owner, given=False)


def _log_ratio(state: ChainState, z: NDArray[np.uint8], owner: int, given: bool) -> float:
    """Return log(LR rate / density) of drawing z with this owner; fills z unless it is given."""
    process = state.process
    log_owner = float(kernels.owner_log_weights(process.log_h, state.evidence)[owner])
    log_q, log_coins = process.grow(state.rng, z, owner, given, state.evidence)
    if log_q == -np.inf:
        return np.inf
    closed = log_coins - float(process.log_h[owner])
    log_rate = closed if process.sequential else process.log_owner_rate(z, owner)
    return float(ev.score(state.evidence) + np.log(state.alpha) + log_rate - log_owner - log_q)


def gain(state: ChainState, z: NDArray[np.uint8]) -> float:
    """Return by how much the proposed column raises the log joint density."""
    rate = float(state.process.log_unit_rates(z[:, None].astype(bool))[0])
    return float(ev.score(state.evidence) + np.log(state.alpha) + rate)


def _prepare(sampler: PosteriorSampler, state: ChainState, k: int) -> None:
    ev.prepare(state.lik, sampler.likelihood.collapsed, k, state.evidence, state.work)
