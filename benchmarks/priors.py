"""All priors on the same data: what a sweep costs, how fast chains mix, and agreement of exact and truncated moves."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.mixing import N_CHAINS, Run, rate, simulate
from benchmarks.tables import Rows, Table
from ddibp import AIBD, DDIBP, DHBP, DIBP, IBP, Exponential, Gamma, LinearGaussian
from ddibp.sampling.diagnostics import ess_bulk
from ddibp.sampling.sampler import PosteriorSampler
from ddibp.sampling.state import ChainState

TABLES = {
    "priors": Table(
        "All priors on the same data",
        "Data simulated from the sequential dd-IBP with exponential decay (rate 0.1, rows at 0, 1, 2, ...), 8 features "
        "and weights of scale 1. Every prior has the default schedule; mass and noise are learned, decays (rate 0.1), "
        "concentrations (1) and the kernel (Matérn 1/2, length 10, nugget 0.1) are fixed. Four chains that begin with "
        "the data; the first quarter of their time is dropped. The effective sample size is the rank-normalised one "
        "over the four chains. Numbers of features K differ because the priors do: this is a table of costs, not of "
        "fits. The last two columns have posterior means with Monte Carlo errors; where "
        "there are few effective samples, chains have not converged in this time, and means and errors are rough. "
        "Recording is not counted.",
    ),
    "agreement": Table(
        "Exact chains and truncated moves of parameters",
        "The same data (62 rows) under priors whose expected number of columns has no closed form. Their chains are "
        "exact where parameters are fixed. Where one is learned, its move leaves out dishes that are rarer than "
        "1e-9/N. To compare the two, the parameter is learned under Gamma(1e4, 1e4/value), which lets it move by one "
        "percent, beside chains with the fixed value. Posterior means with Monte Carlo errors; differences in units of "
        "their error.",
    ),
}
DATA = {62: (36, 1.2), 300: (32, 1.4)}  # outputs and noise by the number of rows
DECAY, MASS = Exponential(0.1), Gamma()
PRIORS: dict[str, tuple[str, Any]] = {
    "ibp": ("IBP", IBP(MASS)),
    "ddibp": ("dd-IBP, sequential", DDIBP(DECAY, MASS, sequential=True)),
    "ddibp-symmetric": ("dd-IBP, symmetric", DDIBP(DECAY, MASS)),
    "aibd": ("AIBD", AIBD(DECAY, MASS)),
    "aibd-uniform": ("AIBD, any order", AIBD(DECAY, MASS, permutation="uniform")),
    "dhbp-customer": ("dHBP, customer", DHBP(DECAY, MASS)),
    "dhbp-dish": ("dHBP, dish", DHBP(DECAY, MASS, coupling="dish")),
    "dibp": ("dIBP", DIBP("matern12", MASS, length_scale=10.0, nugget=0.1)),
}
TIGHT = 1e4
LEARNED: dict[str, tuple[str, float]] = {"dhbp-dish": ("c1", 1.0), "dibp": ("length_scale", 10.0)}
WATCHED = ("n_features", "log_likelihood")


def sampler_of(prior: Any, n_rows: int, n_outputs: int, noise: float, n_features: int = 8) -> PosteriorSampler:
    """Return a sampler for the data that all priors get."""
    _, t, _, X = simulate(n_rows, n_outputs, True, noise, n_features)
    return PosteriorSampler(prior, LinearGaussian(sigma_w=1.0), X, t, start="data")


def log_likelihood(sampler: PosteriorSampler, state: ChainState) -> float:
    """Return the log likelihood, weights summed out, without a log prior, which may take long."""
    sigma_x, sigma_w = (float(scale) for scale in state.lik.scales[:2])
    return sampler.likelihood.set_params(sigma_x=sigma_x, sigma_w=sigma_w).logpdf(sampler.observed, state.Z)


def run(sampler: PosteriorSampler, seconds: float) -> Run:
    """Run four chains for ``seconds`` in all; the first quarter is dropped, the rest cut to the shortest chain."""
    chains: list[tuple[list[float], list[tuple[float, float]]]] = []
    moves: dict[str, tuple[int, int, float]] = {}
    sampler.sweep(sampler.start(np.random.default_rng(0)))  # loads kernels
    for chain in range(N_CHAINS):
        state = sampler.start(np.random.default_rng([chain, 1]))
        times: list[float] = []
        draws: list[tuple[float, float]] = []
        spent, tune = 0.0, 0.25 * seconds / N_CHAINS
        while spent < seconds / N_CHAINS or len(times) < 8:
            begin = time.process_time()
            sampler.sweep(state)
            step = time.process_time() - begin
            spent += step
            if spent > tune:
                times.append(step)
                draws.append((float(state.n_features), log_likelihood(sampler, state)))
        chains.append((times, draws))
        moves = sampler.move_statistics(state)
    length = min(len(times) for times, _ in chains)
    kept = np.array([draws[:length] for _, draws in chains])
    return Run(
        {name: kept[:, :, place] for place, name in enumerate(WATCHED)},
        sum(sum(times[:length]) for times, _ in chains),
        moves,
    )


def mean_and_error(draws: Any) -> tuple[float, float]:
    """Return the mean over chains, and its Monte Carlo standard error."""
    if np.ptp(draws) == 0.0:
        return float(draws.mean()), 0.0
    return float(draws.mean()), float(draws.std(ddof=1) / np.sqrt(ess_bulk(draws)))


def measure(name: str, n_rows: int, n_outputs: int, noise: float, seconds: float = 14.0, n_features: int = 8) -> Rows:
    """Return one line of the first table."""
    title, prior = PRIORS[name]
    result = run(sampler_of(prior, n_rows, n_outputs, noise, n_features), seconds)
    K = result.draws["n_features"]
    row = {
        "data": f"{n_rows} × {n_outputs}, noise {noise:g}",
        "prior": title,
        "sweeps": f"{K.size:,}",
        "ms a sweep": f"{1e3 * result.seconds / K.size:.3g}",
        "ns per row and feature": f"{1e9 * result.seconds / (n_rows * K.sum()):,.0f}",
    }
    for what, heading in zip(WATCHED, ("K", "log likelihood"), strict=True):
        value, frozen = rate(result, what)
        row[f"ESS/s of {heading}"] = f"{'≤ ' if frozen else ''}{value:.3g}"
    for what, heading in zip(WATCHED, ("mean K", "mean log likelihood"), strict=True):
        row[heading] = "{:.2f} ± {:.2f}".format(*mean_and_error(result.draws[what]))
    return {"priors": [row]}


def agreement(
    name: str,
    n_rows: int = 62,
    n_outputs: int = DATA[62][0],
    noise: float = DATA[62][1],
    seconds: float = 18.0,
    n_features: int = 8,
) -> Rows:
    """Return the lines of one prior with a parameter fixed, and learned under a prior that hardly lets it move."""
    title, prior = PRIORS[name]
    parameter, value = LEARNED[name]
    rows, found = [], []
    for setting in (value, Gamma(TIGHT, TIGHT / value)):
        sampler = sampler_of(prior.set_params(**{parameter: setting}), n_rows, n_outputs, noise, n_features)
        draws = run(sampler, seconds / 2).draws
        found.append([mean_and_error(draws[what]) for what in WATCHED])
        how = "learned, truncated" if sampler.learned else "fixed, exact"
        row = {"prior": title, "parameter": f"{parameter} {how}", "sweeps": f"{draws['n_features'].size:,}"}
        for (mean, error), heading in zip(found[-1], ("mean K", "mean log likelihood"), strict=True):
            row[heading] = f"{mean:.3f} ± {error:.3f}"
        rows.append(row)
    for place, heading in enumerate(("K", "log likelihood")):
        (first, error), (second, other) = (each[place] for each in found)
        rows[1][f"difference in errors, {heading}"] = f"{(second - first) / max(np.hypot(error, other), 1e-300):.1f}"
    return {"agreement": rows}


CASES: dict[str, Callable[[], Rows]] = {
    **{
        f"priors-{n}-{name}": functools.partial(measure, name, n, m, noise)
        for n, (m, noise) in DATA.items()
        for name in PRIORS
        if not (n > 100 and name == "aibd-uniform")
    },
    **{f"agreement-{name}": functools.partial(agreement, name) for name in LEARNED},
}
