r"""The law of new rows given one posterior draw, summed over their features.

Given features z of the row and j fresh ones its entries are independent Gaussians: with :math:`B, C_m` the mean and the
covariance of the weights of output m given the fitted data, entry m has the mean :math:`zB_m` and the variance
:math:`\sigma_x^2 + zC_mz^T + j\sigma_w^2`. Sums over z are exact where at most 12 features are possible; otherwise they
run over all combinations of the 7 features about which short Gibbs runs were most uncertain, each with random draws of
the others, weighted by importance. With 16 draws the log density of a row of 15 ambiguous features is off by some 0.07,
and far less where data leave little doubt. What is left out of sums over z and j is below 1e-5 of them (or j is beyond
500: such a row is so far off that its density is next to 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp.likelihoods.linear_gaussian import LinearGaussian, missing_patterns
from ddibp.prediction import _kernels
from ddibp.priors._newcomers import Inheritance

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_MOST_SUMMED = 12
_UNCERTAIN = 7
_RUNS = 6
_SWEEPS = 30
_WARMING = 15
_NUMBERS_AT_ONCE = 4_000_000


class Weights(NamedTuple):
    """The weights given the fitted data: outputs that are missing in the same rows share a covariance.

    Attributes
    ----------
    mean : ndarray of shape (n_features, n_outputs)
    covariance : ndarray of shape (n_patterns, n_features, n_features)
    pattern : ndarray of int, shape (n_outputs,)
    variance, step : float
        Squares of sigma_x and of sigma_w.
    """

    mean: FloatArray
    covariance: FloatArray
    pattern: NDArray[np.intp]
    variance: float
    step: float

    def of(self, columns: NDArray[np.intp]) -> Weights:
        """Return those of some features."""
        return self._replace(mean=self.mean[columns], covariance=self.covariance[:, columns][:, :, columns])


class Sums(NamedTuple):
    """Sums over the states of a few rows; ``rows`` are their numbers."""

    rows: NDArray[np.intp]
    log_density: FloatArray
    probabilities: FloatArray
    fresh: FloatArray
    mean: FloatArray
    variance: FloatArray
    features: BoolArray
    entries: FloatArray


def weigh(X: FloatArray, Z: BoolArray, numbers: dict[str, float]) -> Weights:
    """Return the weights given the fitted data and features."""
    likelihood = LinearGaussian(numbers["sigma_x"], numbers["sigma_w"])
    posterior = likelihood.weights(X, Z)
    patterns = missing_patterns(X)
    pattern = np.empty(X.shape[1], np.intp)
    for place, (_, outputs) in enumerate(patterns):
        pattern[outputs] = place
    first = [outputs[0] for _, outputs in patterns]
    return Weights(
        posterior.mean, posterior.covariance[first], pattern, numbers["sigma_x"] ** 2, numbers["sigma_w"] ** 2
    )


def sums(
    weights: Weights,
    X: FloatArray,
    p: FloatArray,
    rate: FloatArray,
    n_draws: int,
    n_others: int,
    seed: int,
    rng: np.random.Generator,
) -> Iterator[Sums]:
    """Yield the sums of all rows of X, a few rows at a time, with ``n_draws`` joint draws of features and entries.

    Sums that have to be simulated use ``n_others`` draws and the random numbers that follow from ``seed``, the same for
    every row, so that they do not depend on which rows go together; draws come from ``rng``.
    """
    nothing = np.isnan(X).all(axis=1)
    if nothing.any():
        yield _from_the_prior(weights, p, rate, np.flatnonzero(nothing), n_draws, rng)
    possible, group = np.unique(p > 0.0, axis=0, return_inverse=True)
    for number, mask in enumerate(possible):
        rows = np.flatnonzero((group.ravel() == number) & ~nothing)
        columns = np.flatnonzero(mask)
        part = weights.of(columns)
        width = max(1, _NUMBERS_AT_ONCE // (2**_MOST_SUMMED * (X.shape[1] + len(columns))))
        for begin in range(0, len(rows), width):
            some = rows[begin : begin + width]
            yield _sum(part, X[some], p[some], rate[some], some, columns, n_draws, n_others, seed, rng)


def mixed_sums(
    weights: Weights,
    X: FloatArray,
    inherited: Inheritance,
    n_draws: int,
    n_others: int,
    seed: int,
    rng: np.random.Generator,
) -> Iterator[Sums]:
    """Yield the sums of all rows under mixtures: those of every component, weighed by how well it foresees the row."""
    settings = n_draws, n_others, seed, rng
    if inherited.is_plain:
        yield from sums(weights, X, inherited.p, inherited.rate, *settings)
        return
    n, K = len(X), inherited.p.shape[1]
    ends = np.searchsorted(inherited.row, np.arange(n), side="right")
    most = max(1, _NUMBERS_AT_ONCE // ((n_draws + 1) * (K + X.shape[1])))
    first = 0
    while first < n:
        begin = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, begin + most, side="right")))
        chosen = slice(begin, ends[last - 1])
        row = inherited.row[chosen]
        parts = list(sums(weights, X[row], inherited.p[chosen], inherited.rate[chosen], *settings))
        yield _mixed(_joined(parts), row, np.log(inherited.weight[chosen]), n_draws, rng)
        first = last


def _joined(parts: list[Sums]) -> Sums:
    """Return the sums of several parts as one, rows in order."""
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    by_draw = ("features", "entries")
    return Sums(
        **{
            name: np.take(np.concatenate([getattr(part, name) for part in parts], axis=axis), order, axis=axis)
            for name, axis in ((name, int(name in by_draw)) for name in Sums._fields)
        }
    )


def _mixed(found: Sums, row: NDArray[np.intp], log_weight: FloatArray, n_draws: int, rng: np.random.Generator) -> Sums:
    """Return the sums of rows from those of their components, which stand together."""
    rows, starts, lengths = np.unique(row, return_index=True, return_counts=True)
    own = np.repeat(np.arange(len(rows)), lengths)
    log_joint = log_weight + found.log_density
    log_density = np.logaddexp.reduceat(log_joint, starts)
    share = np.exp(log_joint - log_density[own])

    def average(values: FloatArray) -> FloatArray:
        weighed = values * share.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(np.add.reduceat(weighed, starts))

    mean = average(found.mean)
    taken = np.empty((n_draws, len(rows)), np.int64)
    for i, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        ladder = np.cumsum(share[start : start + length])
        places = np.searchsorted(ladder, rng.random(n_draws) * ladder[-1], side="right")
        taken[:, i] = start + np.minimum(places, length - 1)
    draw = np.arange(n_draws)[:, None]
    return Sums(
        rows,
        log_density,
        average(found.probabilities),
        average(found.fresh),
        mean,
        average(found.variance + (found.mean - mean[own]) ** 2),
        found.features[draw, taken],
        found.entries[draw, taken],
    )


def _from_the_prior(
    weights: Weights, p: FloatArray, rate: FloatArray, rows: NDArray[np.intp], n_draws: int, rng: np.random.Generator
) -> Sums:
    """Return the sums of rows of which nothing was observed."""
    p, rate = p[rows], rate[rows]
    coins = p * (1.0 - p)
    spread = np.stack([((p @ C) * p).sum(axis=1) + coins @ np.diagonal(C) for C in weights.covariance], axis=1)
    features = rng.random((n_draws, *p.shape)) < p
    within = np.stack([((features @ C) * features).sum(axis=2) for C in weights.covariance], axis=2)
    within += weights.variance + weights.step * rng.poisson(rate, size=(n_draws, len(rows)))[:, :, None]
    noise = rng.standard_normal((n_draws, len(rows), len(weights.pattern)))
    return Sums(
        rows,
        np.zeros(len(rows)),
        p,
        rate,
        p @ weights.mean,
        coins @ weights.mean**2 + spread[:, weights.pattern] + weights.step * rate[:, None],
        features,
        features @ weights.mean + np.sqrt(within)[:, :, weights.pattern] * noise,
    )


def _sum(
    weights: Weights,
    X: FloatArray,
    p: FloatArray,
    rate: FloatArray,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    n_draws: int,
    n_others: int,
    seed: int,
    rng: np.random.Generator,
) -> Sums:
    """Sum over the states of rows that may have the features ``columns``."""
    n, M = X.shape
    counts = ~np.isnan(X) @ (weights.pattern[:, None] == np.arange(len(weights.covariance))).astype(np.int64)
    found = Sums(
        rows,
        np.empty(n),
        np.zeros(p.shape),
        np.empty(n),
        np.empty(X.shape),
        np.empty(X.shape),
        np.zeros((n_draws, *p.shape), bool),
        np.empty((n_draws, n, M)),
    )
    q = p[:, columns]
    exact = len(columns) <= _MOST_SUMMED
    states, log_prior = _all_states(q) if exact else _simulated_states(weights, X, counts, q, rate, n_others, seed)
    n_states = states.shape[1]
    fitted, spread = np.empty((n_states, M)), np.empty((n_states, len(weights.covariance)))
    scales = weights.variance, weights.step
    shares, chosen = np.empty(n_states), np.empty(n_draws, np.int64)
    for i in range(n):
        own = states[0 if exact else i]
        if i == 0 or not exact:
            _kernels.evaluate(own, weights.mean, weights.covariance, fitted, spread)
        row = X[i], weights.pattern, counts[i], fitted, spread
        found.log_density[i], found.fresh[i] = _kernels.sum_states(
            *row, log_prior[i], rate[i], *scales, shares, found.mean[i], found.variance[i]
        )
        found.probabilities[i, columns] = shares @ own
        if n_draws:
            _kernels.draw_row(rng, *row, shares, rate[i], *scales, chosen, found.entries[:, i])
            found.features[:, i, columns] = own[chosen]
    return found


def _combinations(K: int) -> BoolArray:
    return (np.arange(2**K)[:, None] >> np.arange(K) & 1).astype(bool)


def _all_states(p: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return all states of features, of shape (1, n_states, n_features), and their log priors in each row."""
    states = _combinations(p.shape[1])[None]
    return states, _log_probability(states, p)


def _log_probability(states: BoolArray, p: FloatArray) -> FloatArray:
    """Return log probabilities, of shape (n, n_states), of independent features with the probabilities of each row."""
    odds = np.log(p) - np.log1p(-p)
    return np.asarray((states @ odds[:, :, None])[:, :, 0] + np.log1p(-p).sum(axis=1, keepdims=True))


def _simulated_states(
    weights: Weights,
    X: FloatArray,
    counts: NDArray[np.int64],
    p: FloatArray,
    rate: FloatArray,
    n_others: int,
    seed: int,
) -> tuple[BoolArray, FloatArray]:
    """Return states of each row, and log (prior / proposal): sums over states with these weights are unbiased."""
    rng = np.random.default_rng(seed)
    marginals, run = np.zeros(p.shape), np.empty(p.shape[1])
    for _ in range(_RUNS):
        order = np.array([rng.permutation(p.shape[1]) for _ in range(_SWEEPS)])
        uniforms = rng.random((_SWEEPS, p.shape[1] + 1))
        for i in range(len(X)):
            row = X[i], weights.pattern, counts[i], weights.mean, weights.covariance, p[i], rate[i]
            _kernels.gibbs(*row, weights.variance, weights.step, order, uniforms, _WARMING, run)
            marginals[i] += run / _RUNS
    doubt = np.argsort(np.abs(marginals - 0.5), axis=1)
    uncertain, other = doubt[:, :_UNCERTAIN], doubt[:, _UNCERTAIN:]
    prior, found = np.take_along_axis(p, other, axis=1), np.take_along_axis(marginals, other, axis=1)
    guess = np.clip(
        found, np.minimum(prior, 0.01), np.maximum(prior, 0.99)
    )  # what the run has missed must stay possible
    combined = np.tile(_combinations(_UNCERTAIN), (n_others, 1))[None]
    states = np.empty((len(X), combined.shape[1], p.shape[1]), dtype=bool)
    drawn = rng.random((1, states.shape[1], other.shape[1])) < guess[:, None, :]
    np.put_along_axis(states, uncertain[:, None, :], np.broadcast_to(combined, (len(X), *combined.shape[1:])), axis=2)
    np.put_along_axis(states, other[:, None, :], drawn, axis=2)
    return states, _log_probability(states, p) - _log_probability(drawn, guess) - np.log(n_others)
