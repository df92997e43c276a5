"""Chains against exact posteriors of tiny problems, which the references enumerate.

A number is wrong when the mean over the chains is more than 4 Monte Carlo standard errors away from the exact
expectation, and again so in a second run with a fresh stream and four times the length. Standard errors are those of
40 batch means, so that a right program exceeds 4 with probability 2.7e-4 per number and run (Student's t), and fails in
a given number with probability 7e-8. With 30 numbers per case and 120 cases: 3e-4 for a whole file of tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ddibp import DDIBP, IBP, Exponential, Gamma, Window
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.sampler import PosteriorSampler
from reference import decay, ibp, links
from reference.linear_gaussian import log_marginal_of_gram
from reference.matrices import matrix
from reference.posterior import exact_posterior

LIMIT = 4.0
CHAINS, BATCHES = 4, 10
T = np.array([0.0, 0.4, 1.5, 1.7])
D = np.array([[0.0, 0.6, 2.0, 0.1], [0.2, 0.0, 0.9, 3.0], [1.1, np.inf, 0.0, 0.5], [0.3, 2.2, 0.7, 0.0]])
SIGMA_W = 1.0
DECAY, BAND = Exponential(1.3), Window(1.2)


def _along_time(f, ordered):
    def proximity(n):
        distances = decay.distances(T[:n])
        return decay.proximity(decay.sequential(distances) if ordered else distances, f)

    return proximity


# Name: the library's prior of mass alpha, its covariates, and the reference's proximities a, h (none for the IBP).
PRIORS = {
    "ibp": (IBP, lambda _: None, None),
    "sequential": (
        lambda alpha: DDIBP(DECAY, alpha=alpha, sequential=True),
        lambda n: T[:n],
        _along_time(decay.exponential(1.3), True),
    ),
    "symmetric": (
        lambda alpha: DDIBP(DECAY, alpha=alpha),
        lambda n: T[:n],
        _along_time(decay.exponential(1.3), False),
    ),
    "asymmetric": (
        lambda alpha: DDIBP(DECAY, alpha=alpha, metric="precomputed"),
        lambda n: D[:n, :n],
        lambda n: decay.proximity(D[:n, :n], decay.exponential(1.3)),
    ),
    "sequential window": (
        lambda alpha: DDIBP(BAND, alpha=alpha, sequential=True),
        lambda n: T[:n],
        _along_time(decay.window(1.2), True),
    ),
    "window": (
        lambda alpha: DDIBP(BAND, alpha=alpha),
        lambda n: T[:n],
        _along_time(decay.window(1.2), False),
    ),
}

# Rows alike in part and noise of 0.4: several explanations compete, and none is out of reach.
FULL = np.array([[1.1, 0.2, -0.6], [0.9, -0.4, -0.3], [-0.5, 0.8, 0.7], [0.4, 0.6, -1.0]])
HOLES = FULL.copy()
HOLES[0, 1] = HOLES[2, 0] = np.nan
LOST = FULL.copy()
LOST[1] = np.nan
WIDE = np.hstack([FULL, FULL[::-1] @ np.diag([0.5, -1.0, 1.0])])  # more outputs than rows: reduced when collapsed
WIDE_HOLES = np.where(np.arange(WIDE.size).reshape(WIDE.shape) % 7 == 3, np.nan, WIDE)
DATA = {"full": FULL[:, :2], "holes": HOLES[:, :2], "lost row": LOST[:, :2], "wide": WIDE, "wide holes": WIDE_HOLES}


@dataclass(frozen=True)
class Problem:
    """A prior by name, data by name, rows, and the mass: a number or a pair (shape, rate)."""

    prior: str
    data: str = "full"
    collapsed: bool = True
    alpha: float | tuple[float, float] = 0.9
    n_rows: int = 3
    K_max: int = 9
    sigma_x: float = 0.4

    @property
    def X(self):
        return DATA[self.data][: self.n_rows]

    @property
    def learned_mass(self):
        return isinstance(self.alpha, tuple)

    @property
    def imputes(self):
        return self.collapsed and bool(np.isnan(self.X).any())

    def sampler(self, schedule="default", make=PosteriorSampler):
        prior, covariates, _ = PRIORS[self.prior]
        likelihood = LinearGaussian(self.sigma_x, SIGMA_W, collapsed=self.collapsed)
        mass = Gamma(*self.alpha) if self.learned_mass else self.alpha
        if not isinstance(schedule, str):
            schedule = [*schedule, *self.parameter_moves(schedule)]
        return make(prior(mass), likelihood, self.X, covariates(self.n_rows), schedule=schedule, start="prior")

    def parameter_moves(self, schedule):
        imputes = self.imputes and "holes" not in dict(schedule)
        return ([("impute", 1.0)] if imputes else []) + ([("alpha", 1.0)] if self.learned_mass else [])

    @cached_property
    def exact(self):
        return exact_posterior(self.rates, self.X, self.sigma_x, SIGMA_W, self.K_max, self.alpha)

    @property
    def rates(self):
        return links.pattern_rates(*self.proximity) if self.linked else ibp.pattern_rates(self.n_rows)

    @property
    def linked(self):
        return PRIORS[self.prior][2] is not None

    @property
    def proximity(self):
        return PRIORS[self.prior][2](self.n_rows)

    @cached_property
    def columns(self):
        """Names of the numbers that are functions of Z, and their values at every enumerated class."""
        every = self.exact.every
        singles = [p for p, z in enumerate(every.patterns) if sum(z) == 1]
        singletons = every.counts[:, singles].sum(axis=1)
        return self._names, self._numbers(every.K, every.gram, singletons, self.exact.log_likelihood)

    @property
    def _names(self):
        likely = [f"K = {k}" for k, p in enumerate(self.exact.law_of_K) if p > 0.02]
        pairs = [f"ZZ' {i}{j}" for i in range(self.n_rows) for j in range(i + 1)]
        return ["K", *likely, *pairs, "singletons", "log p(X|Z)"]

    def _numbers(self, K, gram, singletons, log_likelihood):
        likely = [k == K for k, p in enumerate(self.exact.law_of_K) if p > 0.02]
        pairs = [gram[:, i, j] for i in range(self.n_rows) for j in range(i + 1)]
        return np.column_stack([K, *likely, *pairs, singletons, log_likelihood]).astype(float)

    @cached_property
    def _known(self):
        return {}

    def at(self, key):
        """The numbers at a class given as the sorted codes of its columns; computed once."""
        if key not in self._known:
            bits = [[(code >> i) & 1 for i in range(self.n_rows)] for code in key]
            Z = matrix(bits, self.n_rows)
            gram = (Z @ Z.T)[None].astype(float)
            log_likelihood = log_marginal_of_gram(self.X, gram, self.sigma_x, SIGMA_W)
            K, singles = np.array([len(key)]), np.array([np.sum(Z.sum(axis=0) == 1)])
            self._known[key] = self._numbers(K, gram, singles, log_likelihood)[0]
        return self._known[key]

    @cached_property
    def expected(self):
        """Exact expectations by name."""
        names, values = self.columns
        result = dict(zip(names, self.exact.expect(values).tolist(), strict=True))
        signal = self.exact.signal
        if self.learned_mass:
            result["alpha"], result["log joint"] = self.exact.mean_alpha, self.exact.mean_log_joint
        for i, m in self.places:
            result[f"signal {i}{m}"] = signal[i, m]
        return result | (self._expected_causes() if self.linked else {})

    def _expected_causes(self):
        """Expected numbers of features that each row owns, and of links of rows to themselves."""
        owned, loops = np.zeros(self.n_rows), 0.0
        for z, count in self.exact.mean_counts.items():
            for (owner, c), p in (links.causes_law(z, *self.proximity) if self.rates[z] > 0 else {}).items():
                owned[owner] += count * p
                loops += count * p * sum(i == j for i, j in enumerate(c))
        return {f"owned by {i}": owned[i] for i in range(self.n_rows)} | {"own links": loops}

    @property
    def places(self):
        """Entries of ZW that are looked at: all with weights in the state, the missing ones otherwise."""
        return np.argwhere(np.isnan(self.X)) if self.collapsed else np.argwhere(np.ones(self.X.shape, bool))[:6]

    def observe(self, state):
        """The numbers of a state: functions of Z, then mass, log joint, and signal (or imputed entries), causes."""
        extra = list(self.at(_key(state)))
        if self.learned_mass:
            (a, b), exact = self.alpha, self.exact
            prior = self._log_unit_prior(_key(state)) + state.n_features * math.log(state.alpha)
            hyper = a * math.log(b) - math.lgamma(a) + (a - 1) * math.log(state.alpha) - b * state.alpha
            extra += [state.alpha, extra[-1] + prior - state.alpha * exact.total + hyper]
        if len(self.places):
            K = state.n_features
            fitted = state.data if self.collapsed else state.lik.z[:K].T @ state.lik.weights[:K]
            extra += fitted[tuple(self.places.T)].tolist()
        if self.linked:
            K = state.n_features
            extra += np.bincount(state.owners[:K], minlength=self.n_rows).tolist()
            extra.append((state.links[:K] == np.arange(self.n_rows)).sum())
        return extra

    def _log_unit_prior(self, key):
        memo = self.__dict__.setdefault("_unit_prior", {})
        if key not in memo:
            codes = {sum(z << i for i, z in enumerate(p)): math.log(r) for p, r in self.exact.rates.items() if r > 0}
            ties = sum(math.lgamma(key.count(code) + 1) for code in set(key))
            memo[key] = sum(codes[code] for code in key) - ties
        return memo[key]


def _key(state):
    K = state.n_features
    return tuple(sorted((state.lik.z[:K] @ (1 << np.arange(state.lik.z.shape[1]))).tolist()))


@dataclass(frozen=True)
class Comparison:
    """Means of chains beside exact expectations."""

    names: list[str]
    means: np.ndarray
    exact: np.ndarray
    errors: np.ndarray
    ess: np.ndarray

    @property
    def z(self):
        gap = self.means - self.exact
        return np.clip(np.where(np.abs(gap) > 1e-9, gap / np.maximum(self.errors, 1e-300), 0.0), -999.0, 999.0)

    @property
    def wrong(self):
        return {name for name, z in zip(self.names, self.z, strict=True) if not abs(z) < LIMIT}

    def __str__(self):
        lines = [f"{'':14s}{'chains':>10s}{'exact':>10s}{'error':>9s}{'z':>8s}{'ESS':>9s}"]
        rows = zip(self.names, self.means, self.exact, self.errors, self.z, self.ess, strict=True)
        lines += [f"{n:14s}{m:10.4f}{e:10.4f}{s:9.4f}{z:8.2f}{ess:9.0f}" for n, m, e, s, z, ess in rows]
        return "\n".join(lines)


def compare(draws, names, exact):
    """Compare draws of shape (chains, draws, numbers) with exact expectations; errors are those of batch means."""
    chains, n, width = draws.shape
    size = n // BATCHES
    batches = draws[:, : size * BATCHES].reshape(chains * BATCHES, size, width).mean(axis=1)
    errors = batches.std(axis=0, ddof=1) / math.sqrt(len(batches))
    variance = draws.reshape(-1, width).var(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ess = np.where(errors > 0, variance / errors**2, chains * n)
    return Comparison(names, draws.mean(axis=(0, 1)), np.asarray(exact), errors, ess)


def simulate(sampler, observe, n_sweeps, rng, warm_up=50):
    """Run chains from where the sampler begins; return what is observed, of shape (chains, draws, numbers)."""
    draws = []
    for stream in rng.spawn(CHAINS):
        state = sampler.start(stream)
        for _ in range(warm_up):
            sampler.sweep(state)
        chain = []
        for _ in range(n_sweeps // CHAINS):
            sampler.sweep(state)
            chain.append(observe(state))
        draws.append(chain)
    return np.array(draws, dtype=float)


def run(problem, schedule, n_sweeps, rng, *, make=PosteriorSampler):
    """Run chains that begin with a draw of the prior, and compare."""
    expected = problem.expected
    draws = simulate(problem.sampler(schedule, make), problem.observe, n_sweeps, rng)
    return compare(draws, list(expected), list(expected.values()))


def assert_agreement(look, n_sweeps, rng, least_ess=100):
    """Assert that ``look(n_sweeps, rng)`` agrees, and that the chains are long enough to tell."""
    first = look(n_sweeps, rng)
    assert first.ess.min() > least_ess, f"too few effective draws to judge\n{first}"
    if first.wrong:
        second = look(4 * n_sweeps, rng)
        again = first.wrong & second.wrong
        assert not again, f"{sorted(again)} are twice beyond {LIMIT} standard errors\n{first}\n\n{second}"
