"""States of chains to measure on: features of known size, data simulated from them, parameters at their true values.

Every row of a feature matters for what a visit costs, so that features are drawn from the prior and those are taken
whose number of active rows is nearest to a fifth of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ddibp import DDIBP, IBP, Exponential, Gamma, LinearGaussian, Window
from ddibp.sampling.sampler import PosteriorSampler
from ddibp.sampling.state import ChainState

SIGMA_X, SIGMA_W = 0.5, 1.0
_SHARE = 0.2
_ENOUGH = 5  # matrices with so many times the wanted number of features offer a choice


class Setting(NamedTuple):
    """A prior by name, as the tables call it; ``local`` draws features like its own at a lower cost."""

    title: str
    prior: IBP | DDIBP
    local: IBP | DDIBP


def _linked(title: str, decay: Any, sequential: bool, cutoff: float) -> Setting:
    return Setting(title, DDIBP(decay, 1.0, sequential), DDIBP(decay, 1.0, sequential, cutoff=cutoff))


SETTINGS = {
    "ibp": Setting("IBP", IBP(1.0), IBP(1.0)),
    "sequential-window": _linked("dd-IBP, sequential, reach 100", Window(100.0), True, 0.0),
    "symmetric-window": _linked("dd-IBP, symmetric, reach 100", Window(100.0), False, 0.0),
    "sequential-dense": _linked("dd-IBP, sequential, every pair", Exponential(0.05), True, 1e-3),
    "symmetric-dense": _linked("dd-IBP, symmetric, every pair", Exponential(0.05), False, 1e-3),
}


def features(prior: IBP | DDIBP, n_rows: int, n_features: int, rng: np.random.Generator) -> Any:
    """Return columns drawn from the prior whose number of active rows is nearest to a fifth of all rows."""
    linked = isinstance(prior, DDIBP)
    covariates: Any = prior.proximity(np.arange(float(n_rows))) if linked else n_rows
    wanted, found = _ENOUGH * n_features, []
    prior = prior.set_params(alpha=max(2000.0, 4.0 * wanted) / prior.expected_features(covariates))
    near = 0
    # Long features are rare among many rows: look for some, but not for ever.
    for _ in range(20):
        Z = prior.sample(covariates, rng=rng, sparse=True) if linked else prior.sample(covariates, rng=rng)
        sizes = np.asarray(Z.sum(axis=0)).ravel()
        possible = np.flatnonzero((sizes > 0.05 * _SHARE * n_rows) & (sizes < 2.0 * _SHARE * n_rows))
        found.append(Z[:, possible].toarray() if linked else Z[:, possible])
        near += int((sizes > 0.5 * _SHARE * n_rows).sum())
        if near >= wanted:
            break
    columns: Any = np.hstack(found)
    distance = np.abs(np.log(columns.sum(axis=0) / (_SHARE * n_rows)))
    chosen = np.argsort(distance, kind="stable")[:n_features]
    if chosen.size < n_features:
        raise RuntimeError(f"the prior gave {chosen.size} features of the size wanted, not {n_features}.")
    return columns[:, chosen]


def place(sampler: PosteriorSampler, Z: Any, noise: float, seed: int = 0) -> ChainState:
    """Return a state that has these features and this noise, with owners and links drawn given them."""
    state = sampler.start(np.random.default_rng(seed))
    state.lik.scales[0] = noise
    state.alpha = np.shape(Z)[1] / state.process.unit_total
    while state.n_features:
        sampler.drop(state, 0)
    for column in np.asarray(Z).T:
        k, z = state.n_features, column.astype(np.uint8)
        owner = int(np.argmax(z))
        if state.process.has_links:
            owner = state.process.draw_owner(column.astype(bool), state.rng)
        sampler.append(state, z, owner)
        if state.process.has_links:
            state.process.draw_links(z, owner, state.links[k], state.rng)
    return state


def state_of(
    setting: Setting, n_rows: int, n_features: int = 10, n_outputs: int = 36, seed: int = 0
) -> tuple[PosteriorSampler, ChainState]:
    """Return a sampler (mass and noise learned) and its chain, at the truth that its data were simulated from."""
    rng = np.random.default_rng(seed)
    Z = features(setting.local, n_rows, n_features, rng)
    truth = LinearGaussian(SIGMA_X, SIGMA_W)
    X, _ = truth.simulate(Z, n_outputs, rng=rng)
    likelihood = LinearGaussian(sigma_w=SIGMA_W)
    prior = setting.prior.set_params(alpha=Gamma())
    covariates = None
    if isinstance(prior, DDIBP):
        covariates = prior.proximity(np.arange(float(n_rows)))
    sampler = PosteriorSampler(prior, likelihood, X, covariates, start="empty")
    return sampler, place(sampler, Z, SIGMA_X, seed)


def rewinder(state: ChainState) -> Callable[[int], ChainState]:
    """Return a function that puts the state back to what it is now, in the same memory, with a stream of its own."""
    K, lik, alpha = state.n_features, state.lik, state.alpha
    columns = {name: getattr(lik, name)[:K].copy() for name in ("z", "cross", "weights")}
    whole = {name: getattr(lik, name).copy() for name in ("residuals", "scales")}
    gram, links, owners = lik.gram[:K, :K].copy(), state.links[:K].copy(), state.owners[:K].copy()

    def rewind(seed: int) -> ChainState:
        lik = state.lik
        for name, values in columns.items():
            getattr(lik, name)[:K] = values
        for name, values in whole.items():
            getattr(lik, name)[:] = values
        lik.gram[:K, :K], state.links[:K], state.owners[:K] = gram, links, owners
        lik.sizes[0] = K
        state.alpha, state.rng = alpha, np.random.default_rng(seed)
        state.statistics.clear()
        return state

    return rewind
