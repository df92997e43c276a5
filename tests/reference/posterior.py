"""The exact posterior over binary matrices for a handful of rows, by enumeration up to K_max columns.

Needs only the rates ρ_z of the patterns at α = 1, so it serves every prior whose columns are a Poisson process.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special, stats

from .linear_gaussian import log_marginal_of_gram, max_log_marginal, signal_mean
from .matrices import Enumeration, enumerate_matrices, matrix


def log_prior(every, rates, alpha):
    """log P([Z]) of every multiset; a pair alpha = (shape, rate) is a Gamma law, and α is then integrated out.

    ∫ α^K e^{-αΛ} Gamma(α; a, b) dα = b^a Γ(a+K) / (Γ(a) (b+Λ)^{a+K}), Λ = Σ_z ρ_z at α = 1.
    """
    rho = np.array([rates[z] for z in every.patterns])
    fixed = special.xlogy(every.counts, rho).sum(axis=1) - special.gammaln(every.counts + 1).sum(axis=1)
    if not isinstance(alpha, tuple):
        return fixed + every.K * math.log(alpha) - alpha * rho.sum()
    a, b = alpha
    mass = special.gammaln(a + every.K) - math.lgamma(a) + a * math.log(b) - (a + every.K) * math.log(b + rho.sum())
    return fixed + mass


def prior_tail(total, alpha, K):
    """P(more than K columns) under the prior, and E[columns; more than K columns]; total = Σ_z ρ_z at α = 1."""
    if isinstance(alpha, tuple):
        law = stats.nbinom(alpha[0], alpha[1] / (alpha[1] + total))
    else:
        law = stats.poisson(alpha * total)
    first = float(law.mean() - np.sum(np.arange(K + 1) * law.pmf(np.arange(K + 1))))
    return float(law.sf(K)), max(first, 0.0)


@dataclass(frozen=True)
class ExactPosterior:
    """Posterior weights of every multiset, and the moments that a sampler must reproduce."""

    every: Enumeration
    rates: dict
    X: np.ndarray
    sigma_x: float
    sigma_w: float
    alpha: float | tuple
    log_prior: np.ndarray
    log_likelihood: np.ndarray

    @cached_property
    def log_evidence(self):
        """log p(X), up to the truncation."""
        return float(special.logsumexp(self.log_prior + self.log_likelihood))

    @cached_property
    def weights(self):
        """P([Z] | X) in the order of `every.classes`."""
        return np.exp(self.log_prior + self.log_likelihood - self.log_evidence)

    @property
    def total(self):
        """Λ = Σ_z ρ_z at α = 1."""
        return sum(self.rates.values())

    @cached_property
    def tail_bounds(self):
        """Upper bounds on P(K > K_max | X) and E[K; K > K_max | X]: prior tail × largest likelihood / evidence.

        Safe and rather loose: the largest likelihood is that of the best covariance whatever Z; see `law_of_K` too.
        """
        ratio = math.exp(max_log_marginal(self.X, self.sigma_x) - self.log_evidence)
        return tuple(ratio * tail for tail in prior_tail(self.total, self.alpha, int(self.every.K.max())))

    def expect(self, g):
        """E[g | X] for an array with one entry per multiset, or for a function of the N×K matrix Z."""
        if callable(g):
            N = len(self.X)
            g = np.array([g(matrix(columns, N)) for columns in self.every.classes], dtype=float)
        possible = self.weights > 0
        return np.tensordot(self.weights[possible], g[possible], 1)

    @property
    def law_of_K(self):
        """P(K = 0 … K_max | X)."""
        return np.bincount(self.every.K, weights=self.weights)

    @property
    def mean_K(self):
        """E[K | X]."""
        return float(self.expect(self.every.K))

    @property
    def sharing(self):
        """E[Z Z' | X]."""
        return self.expect(self.every.gram)

    @property
    def mean_sum(self):
        """E[Σ Z | X]."""
        return float(np.trace(self.sharing))

    @property
    def mean_counts(self):
        """E[number of columns equal to z | X] for every pattern z."""
        return dict(zip(self.every.patterns, self.expect(self.every.counts).tolist(), strict=True))

    @property
    def signal(self):
        """E[Z W | X], which is also the mean of a missing entry."""
        return self.expect(signal_mean(self.X, self.every.gram, self.sigma_x, self.sigma_w))

    @property
    def mean_log_likelihood(self):
        """E[log p(X | Z) | X]."""
        return float(self.expect(self.log_likelihood))

    @property
    def mean_log_joint(self):
        """E[log p(X | Z) + log P([Z] | α) + log p(α) | X], α | K ~ Gamma(a+K, b+Λ); without p(α) when α is fixed."""
        if not isinstance(self.alpha, tuple):
            return self.mean_log_likelihood + float(self.expect(self.log_prior))
        a, b = self.alpha
        shape, rate = a + self.every.K, b + self.total
        log_alpha, mean_alpha = special.digamma(shape) - math.log(rate), shape / rate
        hyper = a * math.log(b) - math.lgamma(a) + (a - 1) * log_alpha - b * mean_alpha
        at_one = log_prior(self.every, self.rates, 1.0)
        given = at_one + self.every.K * log_alpha - (mean_alpha - 1) * self.total
        return self.mean_log_likelihood + float(self.expect(given + hyper))

    @property
    def mean_alpha(self):
        """E[α | X]."""
        if not isinstance(self.alpha, tuple):
            return self.alpha
        return (self.alpha[0] + self.mean_K) / (self.alpha[1] + self.total)

    def alpha_density(self, grid):
        """p(α | X) on a grid: the mixture over K of Gamma(a + K, b + Λ)."""
        a, b = self.alpha
        return sum(p * stats.gamma(a + K, scale=1 / (b + self.total)).pdf(grid) for K, p in enumerate(self.law_of_K))


def exact_posterior(rates, X, sigma_x, sigma_w, K_max, alpha=1.0):
    """The posterior over Z given X (NaN is missing; no columns is no data) from the rates at α = 1.

    `alpha` is a number, or a pair (shape, rate) for a Gamma law to be integrated out.
    """
    X = np.asarray(X, dtype=float)
    every = enumerate_matrices(len(X), K_max)
    log_likelihood = log_marginal_of_gram(X, every.gram, sigma_x, sigma_w)
    return ExactPosterior(every, rates, X, sigma_x, sigma_w, alpha, log_prior(every, rates, alpha), log_likelihood)


def log_nodes(log_density, low, high, n):
    """Nodes v in (low, high) and log weights with Σ exp(weight) g(v) ≈ ∫ g(v) p(v) dv: Gauss-Legendre in log v."""
    u, w = np.polynomial.legendre.leggauss(n)
    half = 0.5 * (math.log(high) - math.log(low))
    v = low * np.exp(half * (u + 1))
    return v, np.log(w * half * v) + np.array([log_density(x) for x in v])


@dataclass(frozen=True)
class Mixture:
    """Exact posteriors at the values of a learned parameter, and the posterior weights of these values."""

    nodes: np.ndarray
    weights: np.ndarray
    parts: list

    def mean(self, g):
        """E[g | X] for a function of an ExactPosterior, such as `lambda p: p.mean_K`; arrays of one shape only."""
        return sum(w * g(part) for w, part in zip(self.weights, self.parts, strict=True))

    def mean_node(self, g):
        """E[g(parameter) | X]."""
        return float(sum(w * g(v) for w, v in zip(self.weights, self.nodes, strict=True)))


def mix(nodes, log_weights, posterior_at):
    """Average over a parameter, p(v | X) ∝ p(v) p(X | v): `posterior_at(v)` is the exact posterior given v."""
    parts = [posterior_at(v) for v in nodes]
    score = np.asarray(log_weights) + np.array([part.log_evidence for part in parts])
    return Mixture(np.asarray(nodes), np.exp(score - special.logsumexp(score)), parts)
