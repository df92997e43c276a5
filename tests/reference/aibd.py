"""The attraction Indian buffet distribution by its definition: customers who come in one by one.

`L[i, j]` is the attraction λ of row i to row j, and `order[p]` is the row that comes in at place p + 1.
"""

import math
from itertools import permutations

import numpy as np

from .links import patterns
from .matrices import log_prior


def chance(i, before, z, L):
    """p = (place - 1)/place × Σ_{j before} λ_ij z_j / Σ_{j before} λ_ij, for row i that finds the rows `before` it."""
    taken, all_of_them = sum(L[i][j] * z[j] for j in before), sum(L[i][j] for j in before)
    return len(before) / (len(before) + 1) * taken / all_of_them


def pattern_rate(z, L, order, alpha=1.0):
    """ρ_z: α/place of the first row that has it, then a coin for every row that comes later."""
    rate = None
    for p, i in enumerate(order):
        if rate is None:
            rate = alpha / (p + 1) if z[i] else None
        else:
            q = chance(i, order[:p], z, L)
            rate *= q if z[i] else 1 - q
    return rate


def pattern_rates(L, order, alpha=1.0):
    """ρ_z for every z ≠ 0."""
    return {z: pattern_rate(z, L, order, alpha) for z in patterns(len(L))}


def orders(N):
    """Every order of arrival."""
    return list(permutations(range(N)))


def probability_over_orders(columns, L, alpha=1.0):
    """P([Z]) when all orders of arrival are equally likely."""
    every = orders(len(L))
    return sum(math.exp(log_prior(columns, pattern_rates(L, order, alpha))) for order in every) / len(every)


def expected_sharing(rates):
    """E[Z Z'] = Σ_z ρ_z z z'."""
    return sum(rate * np.outer(z, z) for z, rate in rates.items())


def draw(L, order, alpha, rng):
    """A matrix from the buffet."""
    N = len(L)
    Z = np.zeros((N, 0), dtype=int)
    for p, i in enumerate(order):
        if p > 0:
            Z[i] = rng.random(Z.shape[1]) < [chance(i, order[:p], z, L) for z in Z.T]
        new = np.zeros((N, rng.poisson(alpha / (p + 1))), dtype=int)
        new[i] = 1
        Z = np.hstack([Z, new])
    return Z
