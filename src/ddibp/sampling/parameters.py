"""Moves of the mass, of the scales of noise and weights, of decay parameters, and of what the data do not see."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ddibp.hyperpriors import Gamma, InverseGamma, ScalePrior

if TYPE_CHECKING:
    from ddibp.sampling.sampler import PosteriorSampler
    from ddibp.sampling.state import ChainState

_LEAST_NOISE = 1e-4


def slice_sample(
    rng: np.random.Generator, log_density: Callable[[float], float], x: float, width: float = 1.0
) -> tuple[float, int]:
    """Draw from a density on the line by Neal's slice sampler with stepping out; return (x, evaluations)."""
    level = log_density(x) + math.log(1.0 - rng.random())
    low = x - width * rng.random()
    high = low + width
    evaluations = 1
    while log_density(low) > level:
        low -= width
        evaluations += 1
    while log_density(high) > level:
        high += width
        evaluations += 1
    while True:
        evaluations += 1
        candidate = low + (high - low) * rng.random()
        if log_density(candidate) > level:
            return candidate, evaluations
        if candidate < x:
            low = candidate
        else:
            high = candidate
        if high - low < 1e-14 * max(1.0, abs(x)):
            return x, evaluations


def draw_alpha(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    r"""Draw :math:`\alpha \sim \mathrm{Gamma}(a + K, b + \sum_i 1/h_i)`."""
    prior = sampler.mass
    if not isinstance(prior, Gamma):
        return 0, 0
    state.alpha = float(state.rng.gamma(prior.shape + state.n_features) / (prior.rate + state.process.unit_total))
    return 1, 1


def allowed(sampler: PosteriorSampler, sigma_x: float, sigma_w: float) -> bool:
    r"""Return whether a learned noise is at least :math:`10^{-4} \sigma_w`: that of data without noise has no limit."""
    return sigma_x >= _LEAST_NOISE * sigma_w or not isinstance(sampler.likelihood.sigma_x, ScalePrior)


def draw_scales(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    r"""Draw sigma_x and sigma_w, where they are learned, each given the other.

    With weights in the state and an `InverseGamma`, directly: :math:`\sigma_x^2 \mid W` is inverse-gamma with
    :math:`\frac12` per observed entry and half the squared residuals added, :math:`\sigma_w^2` likewise with the
    weights. Otherwise by slice sampling of the logarithm.
    """
    collapsed = sampler.likelihood.collapsed
    density = _collapsed_density(state) if collapsed else _instantiated_density(sampler, state)
    tried = 0
    for place, prior in enumerate((sampler.likelihood.sigma_x, sampler.likelihood.sigma_w)):
        if isinstance(prior, InverseGamma) and not collapsed:
            terms = state.lik.residuals if place == 0 else state.lik.weights[: state.n_features]
            count = int((~sampler.missing).sum()) if place == 0 else terms.size
            state.lik.scales[place] = prior.given(count, float((terms**2).sum()), state.rng)
            tried += 1
        elif isinstance(prior, ScalePrior):

            def log_density(log_sigma: float, place: int = place, prior: Gamma | InverseGamma = prior) -> float:
                scales = [float(scale) for scale in state.lik.scales[:2]]
                scales[place] = math.exp(log_sigma)
                if not (1e-75 < scales[place] < 1e75 and allowed(sampler, *scales)):
                    return -math.inf
                return density(scales[0], scales[1]) + prior.logpdf(scales[place]) + log_sigma

            log_sigma, _ = slice_sample(state.rng, log_density, math.log(state.lik.scales[place]))
            state.lik.scales[place] = math.exp(log_sigma)
            tried += 1
    return tried, tried


def _collapsed_density(state: ChainState) -> Callable[[float, float], float]:
    r"""Return :math:`\log p(X \mid Z)` as a function of the scales, cheap by one eigendecomposition of Z'Z."""
    lik, K = state.lik, state.n_features
    n, m = len(lik.X), lik.scales[2]
    values, vectors = np.linalg.eigh(lik.gram[:K, :K]) if K else (np.empty(0), np.empty((0, 0)))
    values = np.maximum(values, 0.0)
    energy = ((vectors.T @ lik.cross[:K]) ** 2).sum(axis=1)
    squares = float((lik.X**2).sum())

    def density(sigma_x: float, sigma_w: float) -> float:
        ridge = (sigma_x / sigma_w) ** 2
        misfit = squares - float((energy / (values + ridge)).sum())
        log_det = float(np.log1p(values / ridge).sum())
        return -n * m * math.log(sigma_x) - 0.5 * m * log_det - 0.5 * misfit / sigma_x**2

    return density


def _instantiated_density(sampler: PosteriorSampler, state: ChainState) -> Callable[[float, float], float]:
    """Return the log density of residuals and weights as a function of the scales."""
    weights = state.lik.weights[: state.n_features]
    n_observed = int((~sampler.missing).sum())
    misfit, energy = float((state.lik.residuals**2).sum()), float((weights**2).sum())

    def density(sigma_x: float, sigma_w: float) -> float:
        return (
            -n_observed * math.log(sigma_x)
            - 0.5 * misfit / sigma_x**2
            - weights.size * math.log(sigma_w)
            - 0.5 * energy / sigma_w**2
        )

    return density


def slice_parameters(sampler: PosteriorSampler, state: ChainState) -> tuple[int, int]:
    """Slice sample the log of each learned parameter of the prior, with links summed out, then draw links anew.

    Where columns carry marks, densities are those that the process gives, one after the other.
    """
    for log_density in state.process.densities(sampler.process, state) if state.process.has_marks else [None]:
        log_density = log_density or _density_of_columns(sampler, state)
        for name, prior in sampler.learned.items():

            def along(log_value: float, name: str = name, prior: Gamma = prior, density: Any = log_density) -> float:
                value = math.exp(log_value)
                if not 1e-12 < value < 1e12:
                    return -math.inf
                try:
                    return density({**state.parameters, name: value}) + prior.logpdf(value) + log_value
                except (np.linalg.LinAlgError, ValueError):  # singular correlations, or beyond what the prior takes
                    return -math.inf

            log_value, _ = slice_sample(state.rng, along, math.log(state.parameters[name]))
            state.parameters[name] = math.exp(log_value)
            state.process = sampler.process(state.parameters, state.process.hidden)
    draw_causes(state)
    return len(sampler.learned), len(sampler.learned)


def _density_of_columns(sampler: PosteriorSampler, state: ChainState) -> Callable[[Mapping[str, float]], float]:
    """Return the log density of the features, and of what is hidden, as a function of the parameters."""
    Z = state.Z

    def density(parameters: Mapping[str, float]) -> float:
        process = sampler.process(parameters, state.process.hidden)
        rates = float(process.log_unit_rates(Z).sum())
        return rates - state.alpha * process.unit_total + process.log_hidden

    return density


def draw_hidden(state: ChainState) -> tuple[int, int]:
    """Draw what the process hides, lenders or the order of arrival, given the features; the data do not matter."""
    state.process, changed = state.process.move_hidden(state.lik.z[: state.n_features], state.alpha, state.rng)
    if state.process.has_links:
        draw_causes(state)
    return state.n_rows, changed


def draw_causes(state: ChainState) -> tuple[int, int]:
    """Draw owners and links anew from their law given the features; the data do not matter."""
    for k in range(state.n_features):
        state.draw_causes(k)
    return state.n_features, state.n_features
