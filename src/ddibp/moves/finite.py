"""Compiled sweep of the finite approximation of the dHBP: all dishes, their probabilities and weights in the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel

_LEAST = 1e-300  # below it beta draws with small shapes vanish


@kernel
def sweep_dishes(
    rng: Any,
    order: Any,
    z: Any,
    chances: Any,
    lenders: Any,
    weights: Any,
    residuals: Any,
    observed: Any,
    sigma_x: float,
    sigma_w: float,
) -> int:
    """Draw the features of every dish row by row, then its weights; return the number of changed entries.

    ``residuals`` are X - ZW, 0 where nothing was observed; ``chances`` has the probability of dish k for the borrowers
    of row j at [k, j].
    """
    n, M = residuals.shape
    variance, changed = sigma_x**2, 0
    for k in order:
        for i in range(n):
            gain = 0.0
            for m in range(M):
                if observed[i, m]:
                    r = residuals[i, m] + (weights[k, m] if z[k, i] else 0.0)
                    gain += weights[k, m] * (r - 0.5 * weights[k, m])
            chance = chances[k, lenders[i]]
            log_odds = np.log(chance) - np.log1p(-chance) + gain / variance
            on = rng.random() < 1.0 / (1.0 + np.exp(-log_odds))
            if on != (z[k, i] == 1):
                sign = -1.0 if on else 1.0
                for m in range(M):
                    if observed[i, m]:
                        residuals[i, m] += sign * weights[k, m]
                z[k, i] = on
                changed += 1
        for m in range(M):
            count, total = 0.0, 0.0
            for i in range(n):
                if z[k, i] and observed[i, m]:
                    count += 1.0
                    total += residuals[i, m] + weights[k, m]
            v = 1.0 / (count / variance + 1.0 / sigma_w**2)
            new = v * total / variance + np.sqrt(v) * rng.standard_normal()
            for i in range(n):
                if z[k, i] and observed[i, m]:
                    residuals[i, m] += weights[k, m] - new
            weights[k, m] = new
    return changed


@kernel
def draw_tables(rng: Any, customers: int, concentration: float) -> int:
    """Draw the number of tables that customers of a Chinese restaurant sit at."""
    tables = 0
    for n in range(customers):
        tables += rng.random() * (concentration + n) < concentration
    return tables


@kernel
def draw_chances(rng: Any, z: Any, lenders: Any, atoms: Any, chances: Any, gamma: float, c0: float, c1: float) -> None:
    """Draw base probabilities by numbers of tables, then the probability of every dish for every lender."""
    K, n = z.shape
    taken, sizes = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        sizes[lenders[i]] += 1
    for k in range(K):
        taken[:] = 0
        for i in range(n):
            taken[lenders[i]] += z[k, i]
        on = off = 0
        for j in range(n):
            on += draw_tables(rng, taken[j], c1 * atoms[k])
            off += draw_tables(rng, sizes[j] - taken[j], c1 * (1.0 - atoms[k]))
        p = rng.beta(c0 * gamma / K + on, c0 * (1.0 - gamma / K) + off)
        atoms[k] = min(max(p, _LEAST), 1.0 - 1e-15)
        for j in range(n):
            chance = rng.beta(c1 * atoms[k] + taken[j], c1 * (1.0 - atoms[k]) + sizes[j] - taken[j])
            chances[k, j] = min(max(chance, _LEAST), 1.0 - 1e-15)
