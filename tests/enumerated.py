"""Three rows of data under a prior whose posterior the references enumerate, perhaps as a mixture over hidden things.

What chains are compared in is the same for all priors: the number of features, shared ones, singletons, entries that
are missing, the mass, and whatever a prior adds. Numbers are judged as in `posterior_laws`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddibp import Gamma
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.sampler import PosteriorSampler
from posterior_laws import DATA, SIGMA_W, T, compare, simulate
from reference.posterior import exact_posterior, mix


@dataclass(frozen=True)
class Enumerated:
    """A prior (of `prior`) with data by name; the mass is a number or a pair (shape, rate)."""

    data: str = "full"
    collapsed: bool = True
    mass: float | tuple[float, float] = 0.9
    sigma_x: float = 0.4
    K_max: int = 8
    n_rows = 3

    def prior(self, mass):
        """The library's prior of this mass."""
        raise NotImplementedError

    @property
    def exact(self):
        """The exact posterior as a Mixture."""
        raise NotImplementedError

    def hidden_expected(self):
        """Exact expectations of what this prior adds, by name."""
        return {}

    def hidden_observed(self, state):  # noqa: ARG002
        """The same numbers of a state."""
        return []

    def given_rates(self, rates):
        """The exact posterior of a prior with these rates at mass 1."""
        return exact_posterior(rates, self.X, self.sigma_x, SIGMA_W, self.K_max, self.mass)

    def mixture(self, log_weights, rates):
        """The exact posterior of a mixture of priors with these lists of rates."""
        return mix(np.arange(len(rates)), log_weights, lambda v: self.given_rates(rates[v]))

    @property
    def X(self):
        return DATA[self.data][: self.n_rows]

    @property
    def learned_mass(self):
        return isinstance(self.mass, tuple)

    def sampler(self, schedule):
        prior = self.prior(Gamma(*self.mass) if self.learned_mass else self.mass)
        if not isinstance(schedule, str):
            imputes = self.collapsed and bool(np.isnan(self.X).any())
            schedule = [*schedule, *([("impute", 1.0)] if imputes else [])]
            schedule += [(prior.mass_name, 1.0)] if self.learned_mass else []
        likelihood = LinearGaussian(self.sigma_x, SIGMA_W, collapsed=self.collapsed)
        return PosteriorSampler(prior, likelihood, self.X, T[: self.n_rows], schedule=schedule, start="prior")

    @cached_property
    def mean_counts(self):
        """E[number of columns equal to z | X] for every pattern z."""
        every = self.exact.parts[0].every
        return dict(zip(every.patterns, self.exact.mean(lambda part: part.expect(every.counts)).tolist(), strict=True))

    @cached_property
    def expected(self):
        """Exact expectations by name."""
        mean = self.exact.mean
        law = {f"K = {k}": p for k, p in enumerate(mean(lambda part: part.law_of_K)) if p > 0.02}
        sharing, signal = mean(lambda part: part.sharing), mean(lambda part: part.signal)
        result = {"K": mean(lambda part: part.mean_K), **law}
        result |= {f"ZZ' {i}{j}": sharing[i, j] for i in range(self.n_rows) for j in range(i + 1)}
        result["singletons"] = sum(n for z, n in self.mean_counts.items() if sum(z) == 1)
        result |= {f"imputed {i}{m}": signal[i, m] for i, m in self._holes}
        if self.learned_mass:
            result["mass"] = mean(lambda part: part.mean_alpha)
        return result | self.hidden_expected()

    def observe(self, state):
        Z = state.Z.astype(float)
        likely = [int(name[4:]) for name in self.expected if name.startswith("K = ")]
        numbers = [Z.shape[1], *(Z.shape[1] == k for k in likely), *(Z @ Z.T)[np.tril_indices(self.n_rows)]]
        numbers += [np.sum(Z.sum(axis=0) == 1), *(state.data[i, m] for i, m in self._holes)]
        if self.learned_mass:
            numbers.append(state.alpha)
        return [*numbers, *self.hidden_observed(state)]

    @property
    def _holes(self):
        return np.argwhere(np.isnan(self.X)) if self.collapsed else []

    def look(self, schedule, n_sweeps, rng):
        """Run chains and compare."""
        draws = simulate(self.sampler(schedule), self.observe, n_sweeps, rng)
        return compare(draws, list(self.expected), list(self.expected.values()))
