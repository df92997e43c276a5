r"""Proofs that a sampler draws from its own model, for anyone who writes one: Geweke's joint test and calibration.

Both compare two programs that know the same model :math:`p(\theta)\,p(X \mid \theta)` in different ways. One simulates:
it draws unknowns and data, a few lines that are easy to check. The other is the sampler
(`ddibp.sampling.protocol.Sampler`, of which ``start``, ``sweep`` and ``scalars`` are needed). If the two disagree, one
of them is wrong, whatever the model is: a new prior, a new likelihood, a new move.

References
----------
Geweke (2004), Getting it right: joint distribution tests of posterior simulators, Journal of the American Statistical
Association 99. Talts, Betancourt, Simpson, Vehtari and Gelman (2018), Validating Bayesian inference algorithms with
simulation-based calibration, arXiv:1804.06788.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _check

if TYPE_CHECKING:
    from ddibp.sampling.protocol import Sampler
    from ddibp.sampling.sampler import PosteriorSampler
    from ddibp.sampling.state import ChainState

FloatArray = NDArray[np.float64]
Simulate = Callable[[np.random.Generator], tuple[Any, Mapping[str, float]]]


@dataclass(frozen=True, eq=False)
class GewekeResult:
    """Means of statistics of the joint law, simulated in two ways; print it for a table.

    Attributes
    ----------
    names : tuple of str
        The statistics.
    forward, chains : ndarray of shape (n_statistics,)
        Their means over independent draws, and over the chains.
    standard_error : ndarray of shape (n_statistics,)
        Standard errors of the differences, from draws and chains that are independent of each other.
    z : ndarray of shape (n_statistics,)
        Differences in standard errors: chains minus forward.
    n_chains : int
        Number of independent chains.
    """

    names: tuple[str, ...]
    forward: FloatArray
    chains: FloatArray
    standard_error: FloatArray
    z: FloatArray
    n_chains: int

    @property
    def p_value(self) -> float:
        """Probability that a right sampler shows so large a difference in any statistic (Bonferroni, Student's t)."""
        from scipy import stats

        return float(min(1.0, 2.0 * len(self.names) * stats.t.sf(np.abs(self.z).max(), self.n_chains - 1)))

    def __str__(self) -> str:
        lines = [f"{'statistic':24s}{'forward':>12s}{'chains':>12s}{'z':>8s}"]
        for name, forward, chains, z in zip(self.names, self.forward, self.chains, self.z, strict=True):
            lines.append(f"{name:24s}{forward:12.4f}{chains:12.4f}{z:8.2f}")
        return "\n".join([*lines, f"p = {self.p_value:.3g}"])


def geweke(
    make_sampler: Callable[[Any], Sampler],
    simulate: Simulate,
    redraw: Callable[[Any, Any], None],
    statistics: Callable[[Any, Any], Mapping[str, float]],
    *,
    n_chains: int = 100,
    n_sweeps: int = 100,
    n_forward: int = 10_000,
    seed: int = 0,
) -> GewekeResult:
    r"""Compare chains that redraw data and unknowns in turn with independent draws of both (Geweke's joint test).

    A chain begins with a draw of the unknowns from the prior. Then data are drawn given everything else in the state,
    and one sweep moves the unknowns given the data, and so on. If every sweep leaves the posterior as it is, state and
    data have their joint law all the time, and with it every statistic its mean. The chains are independent, so that
    their spread gives the standard error however slowly a chain moves. Little noise makes the test sharp: mistakes in
    the order of moves hide behind weak data.

    Parameters
    ----------
    make_sampler : callable
        ``make_sampler(X)`` returns a sampler for these data. Its ``start(rng)`` must draw all unknowns from the prior,
        as a `PosteriorSampler` with ``start="prior"`` does.
    simulate : callable
        ``simulate(rng)`` returns data and statistics ``(X, {name: number})`` of a draw from the model.
    redraw : callable
        ``redraw(sampler, state)`` replaces the data of the state by a draw given all that the state holds besides;
        `redraw_data` does so for a `PosteriorSampler`.
    statistics : callable
        ``statistics(sampler, state)`` returns the same numbers as ``simulate``, of unknowns and data in the state.
    n_chains, n_sweeps, n_forward : int
        Number of chains, sweeps of each, and independent draws.
    seed : int
        Fixes the result.
    """
    n_chains, n_sweeps = _check.count("n_chains", n_chains, low=2), _check.count("n_sweeps", n_sweeps, low=1)
    n_forward = _check.count("n_forward", n_forward, low=2)
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n_chains + 1)]
    names = tuple(simulate(np.random.default_rng(seed))[1])
    forward = np.array([_numbers(names, simulate(streams[0])[1]) for _ in range(n_forward)])
    means = np.zeros((n_chains, len(names)))
    for chain, rng in enumerate(streams[1:]):
        sampler = make_sampler(simulate(rng)[0])
        state = sampler.start(rng)
        for _ in range(n_sweeps):
            redraw(sampler, state)
            sampler.sweep(state)
            means[chain] += _numbers(names, statistics(sampler, state))
    means /= n_sweeps
    error = np.sqrt(means.var(axis=0, ddof=1) / n_chains + forward.var(axis=0, ddof=1) / n_forward)
    difference = means.mean(axis=0) - forward.mean(axis=0)
    z = np.where(np.abs(difference) > 1e-12, difference / np.maximum(error, 1e-300), 0.0)
    return GewekeResult(names, forward.mean(axis=0), means.mean(axis=0), error, z, n_chains)


@dataclass(frozen=True, eq=False)
class CalibrationResult:
    """Ranks of true values among posterior draws, uniform if the sampler is right; print it for a table.

    Attributes
    ----------
    names : tuple of str
        The scalars.
    ranks : ndarray of int, shape (n_replications, n_scalars)
        Number of draws below the true value, ties in random order: 0, ..., n_draws.
    n_draws : int
        Posterior draws per replication.
    """

    names: tuple[str, ...]
    ranks: NDArray[np.int64]
    n_draws: int

    def histogram(self, bins: int = 10) -> NDArray[np.int64]:
        """Return counts of ranks, of shape (n_scalars, bins); ``bins`` must divide ``n_draws + 1``."""
        if bins < 2 or (self.n_draws + 1) % bins:
            raise ValueError(f"bins must be at least 2 and divide n_draws + 1 = {self.n_draws + 1}, got {bins}.")
        width = (self.n_draws + 1) // bins
        return np.array([np.bincount(ranks // width, minlength=bins) for ranks in self.ranks.T])

    def p_values(self, bins: int = 10) -> dict[str, float]:
        """Return the p-value of a chi-square test of uniform ranks, per scalar."""
        from scipy import stats

        return dict(zip(self.names, stats.chisquare(self.histogram(bins), axis=1).pvalue.tolist(), strict=True))

    def __str__(self) -> str:
        lines = []
        for name, counts, p in zip(self.names, self.histogram(), self.p_values().values(), strict=True):
            lines.append(f"{name:16s}p = {p:<10.3g}{' '.join(f'{count:3d}' for count in counts)}")
        return "\n".join(lines)


def calibration(
    make_sampler: Callable[[Any], Sampler],
    simulate: Simulate,
    *,
    n_replications: int = 100,
    n_draws: int = 99,
    thin: int = 10,
    n_discard: int = 200,
    seed: int = 0,
) -> CalibrationResult:
    """Rank true values among posterior draws, over data sets simulated from the model (simulation-based calibration).

    Over draws of unknowns and data, the rank of the true value among independent posterior draws is uniform. A heap at
    both ends says that the posterior is too narrow, or that draws are not ``thin`` enough; one in the middle, that it
    is too wide; a slope, that it is biased.

    Parameters
    ----------
    make_sampler, simulate : callable
        As in `geweke`, with any start. Scalars of the sampler that ``simulate`` names too are ranked.
    n_replications : int
        Number of simulated data sets.
    n_draws, thin, n_discard : int
        Draws kept per data set, sweeps from one to the next, and sweeps before the first.
    seed : int
        Fixes the result.
    """
    n_replications = _check.count("n_replications", n_replications, low=1)
    n_draws, thin = _check.count("n_draws", n_draws, low=1), _check.count("thin", thin, low=1)
    names: tuple[str, ...] = ()
    ranks = []
    for stream in np.random.SeedSequence(seed).spawn(n_replications):
        rng = np.random.default_rng(stream)
        X, truth = simulate(rng)
        sampler = make_sampler(X)
        state = sampler.start(rng)
        names = names or tuple(name for name in truth if name in sampler.scalars(state))
        if not names:
            raise ValueError("simulate names none of the sampler's scalars, so that there is nothing to rank.")
        for _ in range(n_discard):
            sampler.sweep(state)
        draws = np.empty((n_draws, len(names)))
        for draw in draws:
            for _ in range(thin):
                sampler.sweep(state)
            draw[:] = _numbers(names, sampler.scalars(state))
        true = np.array(_numbers(names, truth))
        ranks.append((draws < true).sum(axis=0) + rng.integers((draws == true).sum(axis=0) + 1))
    return CalibrationResult(names, np.array(ranks), n_draws)


def redraw_data(sampler: PosteriorSampler, state: ChainState) -> None:
    """Replace the data of a `PosteriorSampler` chain by a draw given everything else in its state, for `geweke`.

    Weights that are summed out are drawn from their prior and forgotten. Missing entries stay missing.

    Parameters
    ----------
    sampler, state
        The sampler and its chain.
    """
    sigma_x, sigma_w = (float(s) for s in state.lik.scales[:2])
    shape = state.n_features, sampler.n_outputs
    collapsed = sampler.likelihood.collapsed
    W = sigma_w * state.rng.standard_normal(shape) if collapsed else state.lik.weights[: shape[0]]
    noise = sigma_x * state.rng.standard_normal((sampler.n_rows, sampler.n_outputs))
    sampler.replace_data(state, state.Z.astype(float) @ W + noise)


def _numbers(names: tuple[str, ...], values: Mapping[str, float]) -> list[float]:
    missing = [name for name in names if name not in values]
    if missing:
        raise ValueError(f"the sampler's statistics lack {', '.join(missing)}, which simulate has.")
    return [float(values[name]) for name in names]
