"""The sampler of the paper, written out: Gibbs over links, joint proposals of dish ownership, W summed out.

Every link costs two evaluations of the collapsed likelihood of all the data. The paper weighs a link by the likelihood
of row i alone, but moving a link turns a whole subtree on or off: the likelihood of all of X is used here.
Dishes are visited in a fresh random order in every sweep: in the order of their birth the sampler would be biased.
"""

from dataclasses import dataclass, replace

import numpy as np

from .linear_gaussian import impute, log_collapsed, metropolis_sigma_x
from .links import reaching


@dataclass
class State:
    """Links C (N, K), owners c* (K,), α, σ_x, the completed data; whether the last ownership proposal was accepted."""

    links: np.ndarray
    owners: np.ndarray
    alpha: float
    sigma_x: float
    X: np.ndarray
    accepted: bool = False

    @property
    def Z(self):
        """z_ik = 1 if i reaches the owner of dish k."""
        return features(self.links, self.owners)


def features(links, owners):
    """The binary matrix of links C and owners c*."""
    columns = [reaching(int(n), c.tolist()) for c, n in zip(links.T, owners, strict=True)]
    return np.array(columns, dtype=float).reshape(len(owners), len(links)).T


def draw_index(log_weights, rng):
    """An index drawn ∝ exp(log_weights)."""
    p = np.exp(log_weights - np.max(log_weights))
    return int(np.searchsorted(np.cumsum(p), rng.random() * p.sum(), side="right"))


class PaperSampler:
    """The sampler for data X (NaN is missing) and proximities a, h.

    `alpha` is a number, or a pair (shape, rate) for a Gamma law; σ_x is learned when `log_prior_sigma_x`, the log
    density of σ_x, is given. `sweep(state, rng)` changes the state in place.
    """

    def __init__(self, X, a, h, *, sigma_x, sigma_w, alpha, log_prior_sigma_x=None, step=0.5):
        self.X, self.a, self.h = np.asarray(X, dtype=float), np.asarray(a), np.asarray(h)
        self.missing = np.isnan(self.X)
        self.sigma_x, self.sigma_w, self.alpha = sigma_x, sigma_w, alpha
        self.log_prior_sigma_x, self.step = log_prior_sigma_x, step

    def init_from_prior(self, rng):
        """λ_i ~ Poisson(α/h_i), links from a, missing entries given these."""
        N = len(self.X)
        alpha = rng.gamma(self.alpha[0], 1 / self.alpha[1]) if isinstance(self.alpha, tuple) else self.alpha
        owners = np.repeat(np.arange(N), rng.poisson(alpha / self.h))
        X = np.where(self.missing, 0.0, self.X)
        state = State(self.draw_links(len(owners), rng), owners, alpha, self.sigma_x, X)
        self.impute(state, rng)
        return state

    def sweep(self, state, rng):
        """One scan over everything that is unknown."""
        self.dish_ownership(state, rng)
        Z = state.Z
        for k in self.visits(state, rng):
            for i in range(len(self.X)):
                self.link(state, Z, i, k, rng)
        self.mass(state, rng)
        self.noise(state, rng)
        self.impute(state, rng)
        return state

    def visits(self, state, rng):
        """The order in which the dishes are visited."""
        return rng.permutation(len(state.owners))

    def log_likelihood(self, state, Z):
        """log p(X | Z, σ_x, σ_w)."""
        return log_collapsed(state.X, Z, state.sigma_x, self.sigma_w)

    def draw_links(self, K, rng):
        """c_ik ~ a_i for K dishes."""
        N = len(self.a)
        columns = [[rng.choice(N, p=self.a[i]) for i in range(N)] for _ in range(K)]
        return np.array(columns, dtype=int).reshape(K, N).T

    def dish_ownership(self, state, rng):
        """Propose λ'_i ~ Poisson(α/h_i) for all rows: new dishes with links from a, or dishes lost at random."""
        keep, new = [], []
        for i, count in enumerate(rng.poisson(state.alpha / self.h)):
            owned = rng.permutation(np.flatnonzero(state.owners == i))
            keep += owned[:count].tolist()
            new += [i] * (count - len(owned))
        owners = np.array(state.owners[keep].tolist() + new, dtype=int)
        links = np.hstack([state.links[:, keep], self.draw_links(len(new), rng)])
        proposal = replace(state, links=links, owners=owners)
        ratio = self.log_likelihood(state, proposal.Z) - self.log_likelihood(state, state.Z)
        state.accepted = bool(np.log(1 - rng.random()) < ratio)
        if state.accepted:
            state.links, state.owners = links, owners

    def link(self, state, Z, i, k, rng):
        """c_ik | rest: P(c_ik = j) ∝ a_ij p(X | Z with the rows that reach i on or off); Z follows.

        With the link of i cut, T is the set that reaches i and G the set that reaches the owner: j in G turns T on.
        """
        owner, candidates = state.owners[k], np.flatnonzero(self.a[i])
        if i == owner:
            state.links[i, k] = rng.choice(len(self.a), p=self.a[i])
            return
        c = state.links[:, k].tolist()
        c[i], c[owner] = i, owner
        T, G = np.array(reaching(i, c)), np.array(reaching(int(owner), c))
        Z[:, k] = G + T
        on = self.log_likelihood(state, Z)
        Z[:, k] = G
        off = self.log_likelihood(state, Z)
        j = candidates[draw_index(np.log(self.a[i, candidates]) + np.where(G[candidates] == 1, on, off), rng)]
        state.links[i, k] = j
        Z[:, k] = G + T * G[j]

    def mass(self, state, rng):
        """α | rest ~ Gamma(shape + K, rate + Σ_i 1/h_i)."""
        if isinstance(self.alpha, tuple):
            shape, rate = self.alpha
            state.alpha = rng.gamma(shape + len(state.owners), 1 / (rate + np.sum(1 / self.h)))

    def noise(self, state, rng):
        """σ_x | X, Z by Metropolis on the logarithm."""
        if self.log_prior_sigma_x is not None:
            rest = (self.sigma_w, self.log_prior_sigma_x, self.step, rng)
            state.sigma_x = metropolis_sigma_x(state.X, state.Z, state.sigma_x, *rest)

    def impute(self, state, rng):
        """Missing entries | Z: W given the completed X, then X given W."""
        if self.missing.any():
            state.X = impute(state.X, self.missing, state.Z, state.sigma_x, self.sigma_w, rng)
