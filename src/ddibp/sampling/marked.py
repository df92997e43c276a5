r"""Moves under priors whose columns carry marks (`ddibp.priors._marked`), where rates have no closed form.

Births and deaths: a birth draws a row i and a dish that i takes; with m rows in it, it is accepted with
:math:`LR\, \frac{N \alpha}{m (K + 1)}`, the death of a column drawn uniformly with :math:`LR\, \frac{K m}{N \alpha}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ddibp._random import accepts
from ddibp.hyperpriors import Gamma
from ddibp.moves import evidence as ev
from ddibp.priors._marked import Dishes

if TYPE_CHECKING:
    from ddibp.sampling.sampler import PosteriorSampler
    from ddibp.sampling.state import ChainState


def from_the_prior(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Try a birth drawn from the prior, or the death of any column."""
    rng, K, collapsed = state.rng, state.n_features, sampler.likelihood.collapsed
    expected = sampler.n_rows * state.alpha
    if rng.random() < 0.5:
        dish = state.process.draw_taken(rng.integers(sampler.n_rows, size=1), rng)
        ev.prepare(state.lik, collapsed, -1, state.evidence, state.work)
        ev.add_up(state.evidence, dish.z[0])
        log_ratio = ev.score(state.evidence) + np.log(expected / (K + 1) / dish.z[0].sum())
        return 1, _accept_birth(sampler, state, dish, log_ratio)
    if K == 0:
        return 1, 0
    k = int(rng.integers(K))
    ev.prepare(state.lik, collapsed, k, state.evidence, state.work)
    if not accepts(rng, -ev.score(state.evidence) + np.log(K * state.lik.z[k].sum() / expected)):
        return 1, 0
    sampler.drop(state, k)
    return 1, 1


def from_the_data(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Try a birth that follows the residuals, or the death of a column with the exact reverse density."""
    rng, K, collapsed = state.rng, state.n_features, sampler.likelihood.collapsed
    if rng.random() < 0.5:
        dish, log_ratio = propose(sampler, state)
        return 1, _accept_birth(sampler, state, dish, log_ratio - np.log(K + 1))
    if K == 0:
        return 1, 0
    k = int(rng.integers(K))
    ev.prepare(state.lik, collapsed, k, state.evidence, state.work)
    score = ev.score(state.evidence)
    if not accepts(rng, np.log(K) - score - state.process.reverse(column(state, k), state.alpha, rng, state.evidence)):
        return 1, 0
    sampler.drop(state, k)
    return 1, 1


def propose(sampler: PosteriorSampler, state: ChainState) -> tuple[Dishes, float]:
    """Return a column that follows the data, and log(LR rate / density)."""
    ev.prepare(state.lik, sampler.likelihood.collapsed, -1, state.evidence, state.work)
    dish, log_ratio = state.process.propose(state.alpha, state.rng, state.evidence)
    if log_ratio == -np.inf:
        return dish, log_ratio
    return dish, log_ratio + ev.score(state.evidence)


def column(state: ChainState, k: int) -> Dishes:
    """Return a column of a chain with what is kept beside it."""
    part = slice(k, k + 1)
    return Dishes(np.zeros(1, np.int64), state.lik.z[part].copy(), state.links[part], state.marks[part])


def append(sampler: PosteriorSampler, state: ChainState, dishes: Dishes) -> None:
    """Append columns with what is kept beside them."""
    for z, links, marks in zip(dishes.z, dishes.links, dishes.marks, strict=True):
        sampler.append(state, z, int(np.argmax(z)), links, marks)


def draw_mass(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    r"""Draw the mass: Gamma(:math:`a + K + G, b + N`), G the number of ghosts."""
    if not isinstance(sampler.mass, Gamma):
        return 0, 0
    ghosts = state.process.count_ghosts(state.alpha, state.rng)
    shape = sampler.mass.shape + state.n_features + ghosts
    state.alpha = float(state.rng.gamma(shape) / (sampler.mass.rate + sampler.n_rows))
    return 1, 1


def _accept_birth(sampler: PosteriorSampler, state: ChainState, dish: Dishes, log_ratio: float) -> int:
    if not accepts(state.rng, log_ratio):
        return 0
    append(sampler, state, dish)
    return 1
