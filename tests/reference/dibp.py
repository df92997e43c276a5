"""The dIBP by brute force: Gaussian rows integrated out one after the other on grids of Gauss and Legendre.

Row i takes the dish of weight b if h_i < τ, τ = Φ^{-1}(b); db / b = φ(τ) / Φ(τ) dτ. Nothing here is random.
"""

import numpy as np
from scipy.special import log_ndtr, ndtr

from .links import patterns

FAR = 8.0
STEP = 0.25
NODES, WEIGHTS = np.polynomial.legendre.leggauss(36)


def density(x):
    """φ(x)."""
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def probability(z, C, tau):
    """P(h_i < τ exactly where z_i = 1), h ~ N(0, C): h = L e, e_1, e_2, … integrated over what z allows."""
    L = np.linalg.cholesky(C)
    weight, drawn = np.ones(1), np.zeros((1, 0))
    for i, taken in enumerate(z):
        bound = (tau - drawn @ L[i, :i]) / L[i, i]
        if i == len(z) - 1:
            return float(weight @ (ndtr(bound) if taken else ndtr(-bound)))
        bound = np.clip(bound, -FAR, FAR)
        low, high = (np.full_like(bound, -FAR), bound) if taken else (bound, np.full_like(bound, FAR))
        half = (high - low)[:, None] / 2
        e = (high + low)[:, None] / 2 + half * NODES
        drawn = np.concatenate([np.repeat(drawn, len(NODES), axis=0), e.reshape(-1, 1)], axis=1)
        weight = (weight[:, None] * half * WEIGHTS * density(e)).ravel()
    raise AssertionError


def pattern_rates(C, alpha=1.0):
    """ρ_z = α ∫ b^{-1} P(h_i < Φ^{-1}(b) exactly where z_i = 1) db for every z ≠ 0, by the trapezoidal rule in τ."""
    C = np.asarray(C, dtype=float)
    taus = np.arange(-FAR, FAR + STEP / 2, STEP)
    measure = alpha * STEP * np.exp(-(taus**2) / 2 - log_ndtr(taus)) / np.sqrt(2 * np.pi)
    return {z: sum(m * probability(z, C, tau) for m, tau in zip(measure, taus, strict=True)) for z in patterns(len(C))}


def correlation(t, kernel, length_scale=1.0, variance=1.0, nugget=0.0):
    """Correlations of g(t_i) + ε_i, one entry after the other; kernel is a function of |t_i - t_j| / length_scale."""
    C = np.eye(len(t))
    for i in range(len(t)):
        for j in range(len(t)):
            if i != j:
                r = float(np.linalg.norm(np.atleast_1d(t[i]) - np.atleast_1d(t[j]))) / length_scale
                C[i, j] = variance * kernel(r) / (variance + nugget)
    return C


KERNELS = {
    "rbf": lambda r: np.exp(-(r**2) / 2),
    "matern12": lambda r: np.exp(-r),
    "matern32": lambda r: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
    "matern52": lambda r: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
    "rational quadratic": lambda r: 1 / (1 + r**2 / 2),
}
