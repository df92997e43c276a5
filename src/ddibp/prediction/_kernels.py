"""Compiled sums over the features of one new row.

A row ``x`` is compared with states: ``fitted`` (n_states, n_outputs) and ``spread`` (n_states, n_patterns) are the mean
and, besides the noise, the variance of its entries by the weights. Outputs of the same ``pattern`` have the same
variance; ``counts`` is the number of observed entries of each pattern.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel

NEGLIGIBLE = -20.0  # log of the share of a sum that is left out
MOST_FRESH = 500


@kernel
def measure(x: Any, pattern: Any, fitted: Any, misfit: Any) -> None:
    """Fill the squared distances of the observed entries from a state's mean, pattern by pattern."""
    misfit[:] = 0.0
    for m in range(x.size):
        if not np.isnan(x[m]):
            misfit[pattern[m]] += (x[m] - fitted[m]) ** 2


@kernel
def log_gaussian(counts: Any, misfit: Any, spread: Any, extra: float) -> float:
    """Return the log density of the observed entries, but for 2 pi; ``extra`` is variance not by the weights."""
    logs, product, quotients = 0.0, 1.0, 0.0
    for p in range(counts.size):
        v = spread[p] + extra
        quotients += misfit[p] / v
        for _ in range(counts[p]):
            product *= v  # a product costs far less than a logarithm
            if product < 1e-150 or product > 1e150:
                logs += np.log(product)
                product = 1.0
    return -0.5 * (logs + np.log(product) + quotients)


@kernel
def ceiling(counts: Any, misfit: Any, spread: Any, variance: float) -> float:
    """Return the largest log density that any number of fresh features can give, but for 2 pi."""
    logs, product, quotients = 0.0, 1.0, 0.0
    for p in range(counts.size):
        v = spread[p] + variance
        if misfit[p] > counts[p] * v:
            v = misfit[p] / counts[p]
        quotients += misfit[p] / v
        for _ in range(counts[p]):
            product *= v
            if product < 1e-150 or product > 1e150:
                logs += np.log(product)
                product = 1.0
    return -0.5 * (logs + np.log(product) + quotients)


@kernel
def evaluate(states: Any, means: Any, covariance: Any, fitted: Any, spread: Any) -> None:
    """Fill mean and variance, by the weights, of every state."""
    active = np.empty(states.shape[1], np.int64)
    for s in range(len(states)):
        n = 0
        fitted[s] = 0.0
        spread[s] = 0.0
        for k in range(states.shape[1]):
            if states[s, k]:
                for m in range(means.shape[1]):
                    fitted[s, m] += means[k, m]
                for p in range(len(covariance)):
                    total = 0.5 * covariance[p, k, k]
                    for a in range(n):
                        total += covariance[p, k, active[a]]
                    spread[s, p] += 2.0 * total
                active[n] = k
                n += 1


@kernel
def sum_fresh(
    counts: Any,
    misfit: Any,
    spread: Any,
    variance: float,
    step: float,
    rate: float,
    highest: float,
    floor: float,
    terms: Any,
) -> Any:
    """Fill log weights of 0, 1, 2, ... fresh features; return how many there are, and the log of their sum.

    Terms are added until what may follow is negligible beside them, or beside ``floor``; none is above ``highest``.
    """
    largest, total = -np.inf, 0.0  # the sum is exp(largest) total
    log_poisson = -rate
    j = 0
    while True:
        term = log_poisson + log_gaussian(counts, misfit, spread, variance + j * step)
        terms[j] = term
        if term > largest:
            total = total * np.exp(largest - term) + 1.0
            largest = term
        else:
            total += np.exp(term - largest)
        j += 1
        log_poisson += np.log(rate / j)
        if rate < j + 1.0:
            rest = log_poisson - np.log1p(-rate / (j + 1.0)) + highest
            if rest < max(largest, floor) + NEGLIGIBLE:
                break
        if j == terms.size:
            break
    return j, largest + np.log(total)


@kernel
def sum_states(
    x: Any,
    pattern: Any,
    counts: Any,
    fitted: Any,
    spread: Any,
    log_prior: Any,
    rate: float,
    variance: float,
    step: float,
    shares: Any,
    mean: Any,
    second: Any,
) -> Any:
    """Fill the posterior of the states, and mean and variance of the row without noise; return (log density, fresh).

    First all states are bounded from above, then those that may matter are summed over numbers of fresh features.
    """
    n_states, M = fitted.shape
    misfits = np.empty(spread.shape)
    terms = np.empty(MOST_FRESH)
    first = 0
    for s in range(n_states):
        measure(x, pattern, fitted[s], misfits[s])
        shares[s] = log_prior[s] + ceiling(counts, misfits[s], spread[s], variance)
        if shares[s] > shares[first]:
            first = s
    total = -np.inf
    for place in range(n_states):
        s = (first + place) % n_states
        if shares[s] < total + NEGLIGIBLE:
            shares[s] = -np.inf
            continue
        _, log_sum = sum_fresh(
            counts, misfits[s], spread[s], variance, step, rate, shares[s] - log_prior[s], total - log_prior[s], terms
        )
        shares[s] = log_prior[s] + log_sum
        total = max(shares[s], total) + np.log1p(np.exp(-abs(shares[s] - total)))

    expected = 0.0
    mean[:] = 0.0
    for s in range(n_states):
        shares[s] = np.exp(shares[s] - total)
        if shares[s] > 0.0:
            for m in range(M):
                mean[m] += shares[s] * fitted[s, m]
    second[:] = 0.0
    shift = np.zeros(M)
    gain, left, left2 = np.empty((3, counts.size))
    for s in range(n_states):
        if shares[s] < 1e-10:
            continue
        highest = ceiling(counts, misfits[s], spread[s], variance)
        n, log_sum = sum_fresh(counts, misfits[s], spread[s], variance, step, rate, highest, -np.inf, terms)
        gain[:], left[:], left2[:] = 0.0, 0.0, 0.0
        for j in range(n):
            share = shares[s] * np.exp(terms[j] - log_sum)
            expected += share * j
            for p in range(counts.size):
                signal = spread[s, p] + j * step
                lost = variance / (variance + signal)  # the part of the residual that is noise
                gain[p] += share * signal
                left[p] += share * lost
                left2[p] += share * lost**2
        for m in range(M):
            p = pattern[m]
            if np.isnan(x[m]):
                second[m] += gain[p] + shares[s] * (fitted[s, m] - mean[m]) ** 2
            else:
                residual = x[m] - fitted[s, m]
                shift[m] += left[p] * residual
                second[m] += variance * (shares[s] - left[p]) + left2[p] * residual**2
    for m in range(M):
        if not np.isnan(x[m]):
            mean[m] = x[m] - shift[m]
            second[m] -= shift[m] ** 2
        second[m] = max(second[m], 0.0)
    return total - 0.5 * counts.sum() * np.log(2.0 * np.pi), expected


@kernel
def draw_row(
    rng: Any,
    x: Any,
    pattern: Any,
    counts: Any,
    fitted: Any,
    spread: Any,
    shares: Any,
    rate: float,
    variance: float,
    step: float,
    chosen: Any,
    entries: Any,
) -> None:
    """Draw states, and missing entries given them and the number of fresh features."""
    misfit, terms = np.empty(counts.size), np.empty(MOST_FRESH)
    ladder = np.cumsum(shares)
    for d in range(chosen.size):
        s = min(np.searchsorted(ladder, rng.random() * ladder[-1], side="right"), shares.size - 1)
        chosen[d] = s
        measure(x, pattern, fitted[s], misfit)
        highest = ceiling(counts, misfit, spread[s], variance)
        n, log_sum = sum_fresh(counts, misfit, spread[s], variance, step, rate, highest, -np.inf, terms)
        u = rng.random()
        j = 0
        while j < n - 1:
            u -= np.exp(terms[j] - log_sum)
            if u < 0.0:
                break
            j += 1
        for m in range(x.size):
            entries[d, m] = x[m]
            if np.isnan(x[m]):
                sd = np.sqrt(variance + spread[s, pattern[m]] + j * step)
                entries[d, m] = fitted[s, m] + sd * rng.standard_normal()


@kernel
def gibbs(
    x: Any,
    pattern: Any,
    counts: Any,
    means: Any,
    covariance: Any,
    p: Any,
    rate: float,
    variance: float,
    step: float,
    order: Any,
    uniforms: Any,
    warming: int,
    marginals: Any,
) -> None:
    """Fill rough posterior probabilities of the features of a row, from a run that starts out warm.

    ``order`` (n_sweeps, n_features) says which feature is visited when; ``uniforms`` has a column more, for the number
    of fresh features.
    """
    K, M = means.shape
    z = np.zeros(K, np.bool_)
    fitted, spread = np.zeros(M), np.zeros(counts.size)
    product = np.zeros((counts.size, K))
    other_fitted, other_spread = np.empty(M), np.empty(counts.size)
    misfit, other_misfit = np.empty(counts.size), np.empty(counts.size)
    terms = np.empty(MOST_FRESH)
    fresh = 0
    marginals[:] = 0.0
    for sweep in range(len(order)):
        heat = min(1.0, (sweep + 1.0) / warming)
        for k in order[sweep]:
            sign = -1.0 if z[k] else 1.0
            for m in range(M):
                other_fitted[m] = fitted[m] + sign * means[k, m]
            for q in range(counts.size):
                other_spread[q] = max(spread[q] + 2.0 * sign * product[q, k] + covariance[q, k, k], 0.0)
            measure(x, pattern, fitted, misfit)
            measure(x, pattern, other_fitted, other_misfit)
            extra = variance + fresh * step
            score = log_gaussian(counts, other_misfit, other_spread, extra) - log_gaussian(
                counts, misfit, spread, extra
            )
            odds = np.log(p[k] / (1.0 - p[k])) + heat * sign * score
            on = 1.0 / (1.0 + np.exp(-odds))
            if sweep >= warming:
                marginals[k] += on / (len(order) - warming)
            if (uniforms[sweep, k] < on) != z[k]:
                z[k] = not z[k]
                fitted[:] = other_fitted
                spread[:] = other_spread
                product += sign * covariance[:, k]
        measure(x, pattern, fitted, misfit)
        highest = ceiling(counts, misfit, spread, variance)
        n, log_sum = sum_fresh(counts, misfit, spread, variance, step, rate, highest, -np.inf, terms)
        u = uniforms[sweep, K]
        fresh = 0
        while fresh < n - 1:
            u -= np.exp(terms[fresh] - log_sum)
            if u < 0.0:
                break
            fresh += 1
