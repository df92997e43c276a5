"""The dependent hierarchical beta process for a handful of rows: rates of the patterns and exact posteriors.

Atoms p have the intensity γ c0 p^{-1} (1-p)^{c0-1} dp, and row j has its own p*_j ~ Beta(c1 p, c1 (1-p)) at every atom.
Row i takes the atom with probability p*_g when it borrows from g, where P(g = j) = a_ij. In the reading "customer" row
i has one lender g_i for all atoms, and columns are a Poisson process given g; in the reading "dish" it has one per
atom, and they are a Poisson process outright. N^N lenders are visited: N is at most 4 or 5.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
from scipy import integrate, special

from .links import patterns
from .posterior import ExactPosterior, Mixture, exact_posterior, log_prior, mix


def lenders(a):
    """Every g of positive probability with P(g) = Π_i a_{i g_i}."""
    N = len(a)
    for g in product(range(N), repeat=N):
        p = math.prod(float(a[i][g[i]]) for i in range(N))
        if p > 0:
            yield g, p


def counts(z, g):
    """The pairs (m_j, n_j), sorted, on which alone a rate depends: n_j > 0 rows borrow from j, m_j of them have it."""
    return tuple(sorted((sum(z[i] for i in range(len(g)) if g[i] == j), n) for j, n in Counter(g).items()))


def given_atom(p, taken, c1):
    """P(z | p, g) = Π_j (c1 p)_{m_j} (c1 (1-p))_{n_j - m_j} / (c1)_{n_j}."""
    return math.prod(
        special.poch(c1 * p, m) * special.poch(c1 * (1 - p), n - m) / special.poch(c1, n) for m, n in taken
    )


def rising(c, n):
    """The coefficients of (c x)_n = c x (c x + 1) … (c x + n - 1) in 1, x, x², …; none is negative."""
    coefficients = np.ones(1)
    for k in range(n):
        coefficients = np.convolve(coefficients, [k, c])
    return coefficients


@cache
def unit_rate(taken, c0, c1):
    """c0 ∫ p^{-1} (1-p)^{c0-1} P(z | p, g) dp: a sum of beta functions, as P(z | p, g) is a polynomial."""
    on, off = np.ones(1), np.ones(1)
    for m, n in taken:
        on, off = np.convolve(on, rising(c1, m)), np.convolve(off, rising(c1, n - m))
    total = sum(x * y * special.beta(k, l + c0) for k, x in enumerate(on) for l, y in enumerate(off) if x > 0 and y > 0)
    return float(c0 * total / math.prod(special.poch(c1, n) for _, n in taken))


def quadrature_rate(z, g, c0, c1, gamma=1.0):
    """μ_z(g) = γ c0 ∫ p^{-1} (1-p)^{c0-1} P(z | p, g) dp by quadrature."""
    return gamma * c0 * integrate_atoms(lambda p: given_atom(p, counts(z, g), c1) / p, c0)


def quadrature_total(g, c0, c1, gamma=1.0):
    """Λ(g) = γ c0 ∫ p^{-1} (1-p)^{c0-1} [1 - P(0 | p, g)] dp by quadrature."""
    nobody = counts((0,) * len(g), g)
    return gamma * c0 * integrate_atoms(lambda p: (1 - given_atom(p, nobody, c1)) / p, c0)


def integrate_atoms(function, c0):
    """∫_0^1 (1-p)^{c0-1} f(p) dp; f has a limit at 0, which quadrature never asks for exactly."""
    value, _ = integrate.quad(
        lambda p: function(max(p, 1e-12)), 0, 1, weight="alg", wvar=(0, c0 - 1), epsabs=1e-13, epsrel=1e-11
    )
    return value


def rates_given(g, c0, c1, gamma=1.0):
    """μ_z(g) for every z ≠ 0: columns equal to z number Poisson(μ_z(g)), independently, given the lenders g."""
    return {z: gamma * unit_rate(counts(z, g), float(c0), float(c1)) for z in patterns(len(g))}


def dish_rates(a, c0, c1, gamma=1.0):
    """μ_z = Σ_g Π_i a_{i g_i} μ_z(g): columns equal to z number Poisson(μ_z) when every atom has lenders of its own."""
    rates = dict.fromkeys(patterns(len(a)), 0.0)
    for g, p in lenders(a):
        for z, rate in rates_given(g, c0, c1, gamma).items():
            rates[z] += p * rate
    return rates


def expected_sharing(rates):
    """E[Z Z'] = Σ_z μ_z z z'."""
    return sum(rate * np.outer(z, z) for z, rate in rates.items())


def dish_posterior(a, c0, c1, X, sigma_x, sigma_w, K_max, gamma=1.0):
    """The exact posterior over Z in the reading "dish"; `gamma` is a number or a pair (shape, rate) of a Gamma law."""
    return exact_posterior(dish_rates(a, c0, c1), X, sigma_x, sigma_w, K_max, gamma)


@dataclass(frozen=True)
class LenderPosterior(Mixture):
    """The exact posterior over (Z, g): `nodes` are the lenders, `weights` P(g | X), `parts` the posteriors given g.

    Part g is an `ExactPosterior`, whose `alpha` is γ. `mean` averages any function of it.
    """

    log_probabilities: np.ndarray

    @property
    def log_evidence(self):
        """log p(X) = log Σ_g P(g) p(X | g), up to the truncation."""
        return float(special.logsumexp(self.log_probabilities + [part.log_evidence for part in self.parts]))

    @property
    def law_of_K(self):
        """P(K = 0 … K_max | X)."""
        return self.mean(lambda part: part.law_of_K)

    @property
    def mean_K(self):
        """E[K | X]."""
        return self.mean(lambda part: part.mean_K)

    @property
    def sharing(self):
        """E[Z Z' | X]."""
        return self.mean(lambda part: part.sharing)

    @property
    def signal(self):
        """E[Z W | X], which is also the mean of a missing entry."""
        return self.mean(lambda part: part.signal)

    @property
    def mean_counts(self):
        """E[number of columns equal to z | X] for every pattern z."""
        every = self.parts[0].every
        return dict(zip(every.patterns, self.mean(lambda part: part.expect(every.counts)).tolist(), strict=True))

    @property
    def mean_gamma(self):
        """E[γ | X]."""
        return self.mean(lambda part: part.mean_alpha)

    @property
    def mean_log_likelihood(self):
        """E[log p(X | Z) | X]."""
        return self.mean(lambda part: part.mean_log_likelihood)

    @property
    def mean_log_joint(self):
        """E[log p(X | Z) + log P([Z] | g, γ) + log P(g) + log p(γ) | X]; without p(γ) when γ is fixed."""
        return self.mean(lambda part: part.mean_log_joint) + float(self.weights @ self.log_probabilities)

    @property
    def lenders(self):
        """P(g_i = j | X) as an N×N matrix."""
        N = self.nodes.shape[1]
        return np.array([np.bincount(g, self.weights, minlength=N) for g in self.nodes.T])

    @property
    def together(self):
        """P(g_i = g_j | X) as an N×N matrix."""
        same = self.nodes[:, :, None] == self.nodes[:, None, :]
        return np.tensordot(self.weights, same, 1)


def groups(g):
    """The partition of the rows into borrowers of one lender, as labels in the order of appearance."""
    first = {}
    return tuple(first.setdefault(j, len(first)) for j in g)


def customer_posterior(a, c0, c1, X, sigma_x, sigma_w, K_max, gamma=1.0):
    """The exact posterior over (Z, g) in the reading "customer": P(Z, g | X) ∝ P(g) P([Z] | g) p(X | Z).

    P([Z] | g) has e^{-Λ(g)} in it, which favours lenders that make few columns. `gamma` is a number, or a pair (shape,
    rate) of a Gamma law to be integrated out.
    """
    nodes, probabilities = zip(*lenders(a), strict=True)
    start = exact_posterior(rates_given(nodes[0], c0, c1), X, sigma_x, sigma_w, K_max, gamma)
    cache: dict[tuple, ExactPosterior] = {}

    def given(g):
        label = groups(g)
        if label not in cache:
            rates = rates_given(label, c0, c1)
            cache[label] = replace(start, rates=rates, log_prior=log_prior(start.every, rates, gamma))
        return cache[label]

    mixed = mix([np.array(g) for g in nodes], np.log(probabilities), lambda g: given(tuple(g.tolist())))
    return LenderPosterior(mixed.nodes, mixed.weights, mixed.parts, np.log(probabilities))
