"""Collapsed Gibbs for the Indian buffet process (Griffiths and Ghahramani), with two corrections that make it exact.

The columns of a row are visited in a fresh random order; the dishes of one row only are removed and redrawn as a set,
their number from its exact law. Appending dishes and scanning them in that order is biased.
"""

import math
from dataclasses import dataclass

import numpy as np

from . import ibp
from .linear_gaussian import impute, log_collapsed, metropolis_sigma_x


@dataclass
class State:
    """Z (N, K) without empty columns, α, σ_x, and the completed data."""

    Z: np.ndarray
    alpha: float
    sigma_x: float
    X: np.ndarray


def log_poisson(j, rate):
    """log Poisson(j; rate)."""
    return j * math.log(rate) - rate - math.lgamma(j + 1)


def log_tail(J, rate):
    """A bound on log P(Poisson > J): the first term times a geometric series, Poisson(J+1) / (1 - rate/(J+2))."""
    return log_poisson(J + 1, rate) - math.log(1 - rate / (J + 2)) if rate < J + 2 else 0.0


class GibbsIBP:
    """The sampler for data X (NaN is missing); arguments as in `PaperSampler`, without proximities."""

    def __init__(self, X, *, sigma_x, sigma_w, alpha, log_prior_sigma_x=None, step=0.5):
        self.X = np.asarray(X, dtype=float)
        self.missing = np.isnan(self.X)
        self.sigma_x, self.sigma_w, self.alpha = sigma_x, sigma_w, alpha
        self.log_prior_sigma_x, self.step = log_prior_sigma_x, step

    def init_from_prior(self, rng):
        """A matrix from the buffet, missing entries given it."""
        alpha = rng.gamma(self.alpha[0], 1 / self.alpha[1]) if isinstance(self.alpha, tuple) else self.alpha
        Z = ibp.draw(len(self.X), alpha, rng).astype(float)
        state = State(Z, alpha, self.sigma_x, np.where(self.missing, 0.0, self.X))
        self.impute(state, rng)
        return state

    def sweep(self, state, rng):
        """One scan over everything that is unknown."""
        for i in range(len(self.X)):
            self.shared_dishes(state, i, rng)
            self.own_dishes(state, i, rng)
        self.mass(state, rng)
        self.noise(state, rng)
        self.impute(state, rng)
        return state

    def shared_dishes(self, state, i, rng):
        """P(z_ik = 1 | rest) ∝ m_{-i,k} / N × p(X | Z) for the dishes that another row takes."""
        N = len(state.Z)
        for k in self.visits(state, rng):
            m = state.Z[:, k].sum() - state.Z[i, k]
            if m > 0:
                scores = []
                for z, prior in ((0, (N - m) / N), (1, m / N)):
                    state.Z[i, k] = z
                    scores.append(math.log(prior) + log_collapsed(state.X, state.Z, state.sigma_x, self.sigma_w))
                off, on = scores
                state.Z[i, k] = rng.random() < 1 / (1 + math.exp(min(off - on, 700.0)))

    def visits(self, state, rng):
        """The order in which a row visits the dishes."""
        return rng.permutation(state.Z.shape[1])

    def own_dishes(self, state, i, rng):
        """Replace the dishes of row i alone by a number of them drawn from its conditional law."""
        state.Z = state.Z[:, state.Z.sum(axis=0) > state.Z[i]]
        p = self.law_of_new(state, i)
        new = np.zeros((len(state.Z), rng.choice(len(p), p=p)))
        new[i] = 1
        state.Z = np.hstack([state.Z, new])

    def law_of_new(self, state, i):
        """P(j) ∝ Poisson(j; α/N) N(x_i; z_i B, (v + j σ_w²) I) for j = 0, 1, … new dishes of row i.

        z_i B and v are mean and variance of x_i given the other rows. The sum stops at J when what is left, at most
        P(Poisson > J) max_{s ≥ v} N(x_i; z_i B, s I), is below 1e-13 of it; the maximum is at s = |x_i - z_i B|²/M.
        """
        r2, v = self.row_predictive(state, i)
        M, rate = state.X.shape[1], state.alpha / len(state.Z)

        def log_normal(s):
            return -0.5 * (M * math.log(2 * math.pi * s) + r2 / s)

        best = log_normal(max(v, r2 / M)) if M else 0.0
        log_w = [log_normal(v) - rate]
        while log_tail(len(log_w) - 1, rate) + best > np.logaddexp.reduce(log_w) - 30:
            log_w.append(log_poisson(len(log_w), rate) + log_normal(v + len(log_w) * self.sigma_w**2))
        w = np.exp(np.array(log_w) - np.max(log_w))
        return w / w.sum()

    def row_predictive(self, state, i):
        """|x_i - z_i B|² and v = σ_x² (1 + z_i G z_i'): G = (Z'Z + (σ_x²/σ_w²) I)^{-1}, B = G Z'X, without row i."""
        others = np.arange(len(state.Z)) != i
        Z, z = state.Z[others], state.Z[i]
        H = Z.T @ Z + (state.sigma_x / self.sigma_w) ** 2 * np.eye(Z.shape[1])
        Gz = np.linalg.solve(H, z)
        r = state.X[i] - Gz @ Z.T @ state.X[others]
        return float(r @ r), float(state.sigma_x**2 * (1 + z @ Gz))

    def mass(self, state, rng):
        """α | Z ~ Gamma(shape + K, rate + Σ_i 1/i)."""
        if isinstance(self.alpha, tuple):
            shape, rate = self.alpha
            harmonic = sum(1 / i for i in range(1, len(self.X) + 1))
            state.alpha = rng.gamma(shape + state.Z.shape[1], 1 / (rate + harmonic))

    def noise(self, state, rng):
        """σ_x | X, Z by Metropolis on the logarithm."""
        if self.log_prior_sigma_x is not None:
            rest = (self.sigma_w, self.log_prior_sigma_x, self.step, rng)
            state.sigma_x = metropolis_sigma_x(state.X, state.Z, state.sigma_x, *rest)

    def impute(self, state, rng):
        """Missing entries | Z: W given the completed X, then X given W."""
        if self.missing.any():
            state.X = impute(state.X, self.missing, state.Z, state.sigma_x, self.sigma_w, rng)
