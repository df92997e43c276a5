r"""Compiled moves of dIBP columns: rows of a correlated Gaussian vector h below a threshold :math:`\tau` are active.

A column's marks are :math:`(\tau, h_1, \dots, h_N)`. With Q the inverse of the correlations, row i given the others is
Gaussian with the mean :math:`h_i - (Qh)_i/Q_{ii}` and the variance :math:`1/Q_{ii}`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ddibp._kernel import fast_sums_kernel, kernel
from ddibp.moves.evidence import Evidence, Gaussian, apply, change_row, clear, commit, prepare, switched

_CAP = 30.0


@kernel
def log_cdf(x: float) -> float:
    r"""Return :math:`\log \Phi(x)` with all digits; by Mills' ratio as a continued fraction far below."""
    if x > -8.0:
        return math.log(0.5 * math.erfc(-x * 0.7071067811865476))
    y = -x
    fraction = y
    for n in range(40, 0, -1):
        fraction = y + n / fraction
    return -0.5 * x * x - 0.9189385332046727 - math.log(fraction)


@kernel
def draw_above(rng: Any, low: float) -> float:
    """Draw a standard normal above ``low``: plainly where that is likely, else by Robert's exponential proposals."""
    if low < 0.4:
        while True:
            x = rng.standard_normal()
            if x > low:
                return x
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    while True:
        x = low - math.log(1.0 - rng.random()) / rate
        if x > low and rng.random() < math.exp(-0.5 * (x - rate) ** 2):
            return x


@kernel
def draw_side(rng: Any, mean: float, sd: float, threshold: float, below: bool) -> float:
    """Draw a Gaussian number below the threshold, or not below it."""
    x = (threshold - mean) / sd
    if below:
        return mean - sd * draw_above(rng, -x)
    return mean + sd * draw_above(rng, x)


@fast_sums_kernel
def shift(total: Any, row: Any, step: float) -> None:
    """Add a multiple of a row."""
    for j in range(total.size):
        total[j] += step * row[j]


@kernel
def sweep(
    rng: Any, order: Any, lik: Gaussian, collapsed: bool, ev: Evidence, work: Any, marks: Any, precision: Any
) -> int:
    """Draw features and Gaussian values of all rows, column by column; return the number of changed entries."""
    n, changed = lik.z.shape[1], 0
    for k in order:
        z, tau, h = lik.z[k], marks[k, 0], marks[k, 1:]
        prepare(lik, collapsed, k, ev, work)
        ev_rows, squares, total, numbers, sizes = ev
        M, P = sizes[0], sizes[1]
        pull = precision @ h
        for i in range(n):
            on = z[i] == 1
            mean, sd = h[i] - pull[i] / precision[i, i], 1.0 / math.sqrt(precision[i, i])
            if numbers[2] - z[i] > 0:
                x = (tau - mean) / sd
                sign = -1.0 if on else 1.0
                gain = change_row(ev_rows, squares, total, numbers, M, P, i, sign)
                if switched(rng, on, log_cdf(x) - log_cdf(-x), gain):
                    apply(ev, ev_rows[i], 1.0, sign)
                    z[i] = not on
                    changed += 1
            new = draw_side(rng, mean, sd, tau, z[i] == 1)
            shift(pull, precision[i], new - h[i])
            h[i] = new
        commit(rng, lik, collapsed, k, ev)
    return changed


@kernel
def draw_given_smooth(rng: Any, z: Any, tau: float, g: Any, noise: Any, h: Any) -> None:
    """Draw every row's value given its smooth part, on the side of the threshold where it belongs."""
    for i in range(z.size):
        h[i] = draw_side(rng, g[i], math.sqrt(noise[i]), tau, z[i] == 1)


@kernel
def log_sides(z: Any, tau: float, g: Any, noise: Any) -> float:
    """Return the log probability of a column given its threshold and the smooth part of its values."""
    total = 0.0
    for i in range(z.size):
        x = (tau - g[i]) / math.sqrt(noise[i])
        total += log_cdf(x if z[i] == 1 else -x)
    return total


@kernel
def rotate(rng: Any, z: Any, tau: float, g: Any, other: Any, noise: Any) -> None:
    """Move the smooth part of a column by elliptical slice sampling; ``other`` is a draw from its prior."""
    level = log_sides(z, tau, g, noise) + math.log(1.0 - rng.random())
    angle = 2.0 * math.pi * rng.random()
    low, high = angle - 2.0 * math.pi, angle
    candidate = np.empty_like(g)
    while True:
        c, s = math.cos(angle), math.sin(angle)
        for i in range(g.size):
            candidate[i] = g[i] * c + other[i] * s
        if log_sides(z, tau, candidate, noise) > level or angle == 0.0:
            g[:] = candidate
            return
        if angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()
        if high - low < 1e-12:
            angle = 0.0


@kernel
def log_threshold_density(z: Any, tau: float, g: Any, noise: Any) -> float:
    r"""Return the log density of the threshold given the smooth part: :math:`db/b = \phi(\tau)/\Phi(\tau)\,d\tau`."""
    return -0.5 * tau * tau - log_cdf(tau) + log_sides(z, tau, g, noise)


@kernel
def move_threshold(rng: Any, z: Any, tau: float, g: Any, noise: Any) -> float:
    """Move the threshold given the smooth part, by slice sampling with stepping out."""
    level = log_threshold_density(z, tau, g, noise) + math.log(1.0 - rng.random())
    low = tau - 0.5 * rng.random()
    high = low + 0.5
    while log_threshold_density(z, low, g, noise) > level:
        low -= 0.5
    while log_threshold_density(z, high, g, noise) > level:
        high += 0.5
    while True:
        candidate = low + (high - low) * rng.random()
        if log_threshold_density(z, candidate, g, noise) > level or high - low < 1e-13:
            return candidate
        if candidate < tau:
            low = candidate
        else:
            high = candidate


@kernel
def grow(rng: Any, z: Any, tau: float, h: Any, given: bool, factor: Any, ev: Evidence) -> float:
    """Draw a column that follows the data, row by row, or follow the given one; return log(prior / density).

    Rows without an active one before are on by their coin times the likelihood ratio, as all others are. Nothing may be
    active in the end.
    """
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    clear(ev)
    whitened = np.empty(z.size)
    result = 0.0
    for i in range(z.size):
        mean, sd = 0.0, factor[i, i]
        for j in range(i):
            mean += factor[i, j] * whitened[j]
        x = (tau - mean) / sd
        log_on, log_off = log_cdf(x), log_cdf(-x)
        gain = min(max(change_row(ev_rows, squares, total, numbers, M, P, i, 1.0), -_CAP), _CAP)
        log_odds = log_on - log_off + gain
        if not given:
            z[i] = rng.random() < 1.0 / (1.0 + np.exp(-log_odds))
            h[i] = draw_side(rng, mean, sd, tau, z[i] == 1)
        if z[i] == 1:
            result += log_on + np.log1p(np.exp(-log_odds))
            apply(ev, ev_rows[i], 1.0, 1.0)
        else:
            result += log_off + np.log1p(np.exp(log_odds))
        whitened[i] = (h[i] - mean) / sd
    return result


@kernel
def log_column(rng: Any, z: Any, tau: float, factor: Any) -> float:
    """Return the log weight of one run through the rows, whose mean is the probability of the column given tau."""
    whitened = np.empty(z.size)
    result = 0.0
    for i in range(z.size):
        mean, sd = 0.0, factor[i, i]
        for j in range(i):
            mean += factor[i, j] * whitened[j]
        x = (tau - mean) / sd
        result += log_cdf(x if z[i] == 1 else -x)
        whitened[i] = (draw_side(rng, mean, sd, tau, z[i] == 1) - mean) / sd
    return result
