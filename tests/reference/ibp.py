"""The Indian buffet process: rates of the patterns, and customers who come in one by one."""

from math import factorial

import numpy as np

from .links import patterns


def pattern_rates(N, alpha=1.0):
    """ρ_z = α (m-1)! (N-m)! / N! with m = Σ_i z_i."""
    return {z: alpha * factorial(sum(z) - 1) * factorial(N - sum(z)) / factorial(N) for z in patterns(N)}


def draw(N, alpha, rng):
    """A matrix from the buffet: row i takes dish k with probability m_k / i and Poisson(α/i) new ones."""
    Z = np.zeros((N, 0), dtype=int)
    for i in range(1, N + 1):
        Z[i - 1] = rng.random(Z.shape[1]) < Z.sum(axis=0) / i
        new = np.zeros((N, rng.poisson(alpha / i)), dtype=int)
        new[i - 1] = 1
        Z = np.hstack([Z, new])
    return Z
