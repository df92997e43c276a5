"""Where chains begin: a draw of the prior, no features, or features that follow the data one after the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ddibp.hyperpriors import Gamma, ScalePrior
from ddibp.sampling import births, imputing, marked, parameters

if TYPE_CHECKING:
    from ddibp.sampling.sampler import PosteriorSampler
    from ddibp.sampling.state import ChainState

_PATIENCE = 10  # refused columns in a row after which a start from the data has enough


def begin(sampler: PosteriorSampler, state: ChainState) -> None:
    """Fill in the first features of a chain.

    From the data, columns are proposed as in data-driven births and kept whenever they raise the joint density; after
    each, single rows are flipped or relinked once and the scales drawn. It is a start, not a sample: chains forget it.
    """
    if not sampler.likelihood.collapsed:
        state.lik.residuals[:] = np.where(sampler.missing, 0.0, state.data)
    elif sampler.missing.any():
        imputing.impute(sampler, state)
    if sampler.start_from == "prior":
        _from_the_prior(sampler, state)
    elif sampler.start_from == "data":
        _from_the_data(sampler, state)
    state.statistics.clear()


def _from_the_prior(sampler: PosteriorSampler, state: ChainState) -> None:
    if isinstance(sampler.mass, Gamma):
        state.alpha = sampler.mass.sample(state.rng)
    drawn = False
    while not drawn:
        for place, prior in enumerate((sampler.likelihood.sigma_x, sampler.likelihood.sigma_w)):
            if isinstance(prior, ScalePrior):
                state.lik.scales[place] = prior.sample(state.rng)
        drawn = parameters.allowed(sampler, float(state.lik.scales[0]), float(state.lik.scales[1]))
    for name, prior in sampler.learned.items():
        state.parameters[name] = prior.sample(state.rng)
    state.process = sampler.process(state.parameters).draw_hidden(state.rng)
    if state.process.has_marks:
        marked.append(sampler, state, state.process.draw_all(state.alpha, state.rng))
    else:
        for _ in range(state.rng.poisson(state.alpha * state.process.unit_total)):
            sampler.append(state, *state.process.draw_column(state.rng))
    if not sampler.likelihood.collapsed:
        K = state.n_features
        state.lik.weights[:K] = state.lik.scales[1] * state.rng.standard_normal((K, sampler.n_outputs))
        sampler.replace_data(state, state.data)


def _from_the_data(sampler: PosteriorSampler, state: ChainState) -> None:
    refused = 0
    while refused < _PATIENCE:
        if not _grow(sampler, state):
            refused += 1
            continue
        refused = 0
        for name in ("links", "leaves", "scales", "holes") if state.process.has_links else ("flips", "scales", "holes"):
            if name in sampler.moves:
                sampler.moves[name](state)


def _grow(sampler: PosteriorSampler, state: ChainState) -> bool:
    """Propose a column; append it if it raises the joint density, or if a birth of it would surely be accepted."""
    if state.process.has_marks:
        dish, log_ratio = marked.propose(sampler, state)
        if log_ratio <= math.log(state.n_features + 1):
            return False
        marked.append(sampler, state, dish)
        return True
    z, owner, _ = births.propose(sampler, state)
    if births.gain(state, z) <= 0.0:
        return False
    sampler.append(state, z, owner)
    state.process.draw_links(z, owner, state.links[state.n_features - 1], state.rng)
    return True
