"""Full samplers against their own models: Geweke's joint test, and calibration of ranks.

Models are simulated by the references, walks followed step by step. The noise is small (0.3 on average, weights of 1):
mistakes in the order of moves hide behind weak data. Each test fails at p < 1e-5 (Bonferroni over its statistics, t law
over its chains), so that a right program fails one of the tests here with probability 2e-4 under a fresh seed.
"""

from __future__ import annotations

import numpy as np
import pytest

from ddibp import DDIBP, IBP, Exponential, Gamma, testing
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.sampler import PosteriorSampler
from laws_of_tests import FALSE_ALARM_RATE
from reference import decay, ibp
from reference.paper_sampler import features

ALPHA, SIGMA_X, SIGMA_W, BETA = Gamma(6.0, 4.0), Gamma(9.0, 30.0), Gamma(9.0, 9.0), Gamma(4.0, 2.0)
T = np.array([0.0, 0.3, 0.5, 1.4])
MASK = np.zeros((4, 3), dtype=bool)
MASK[1, 0] = MASK[2, 1] = True
MASK[3] = True
WIDE = np.zeros((4, 6), dtype=bool)  # more outputs than rows: the collapsed sampler works on reduced data
WIDE[2, :2] = True

PRIORS = {
    "ibp": IBP(ALPHA),
    "sequential": DDIBP(Exponential(BETA), alpha=ALPHA, sequential=True),
    "symmetric": DDIBP(Exponential(BETA), alpha=ALPHA),
}


class Model:
    """A prior with the linear-Gaussian likelihood, simulated by the references and sampled by the library."""

    def __init__(self, name, collapsed, mask, **settings):
        self.name, self.mask, self.collapsed = name, mask, collapsed
        self.likelihood = LinearGaussian(SIGMA_X, SIGMA_W, collapsed=collapsed)
        self.settings = {"covariates": None if name == "ibp" else T, **settings}

    def features(self, alpha, beta, rng):
        if self.name == "ibp":
            return ibp.draw(len(T), alpha, rng).astype(float)
        D = decay.distances(T)
        a, h = decay.proximity(decay.sequential(D) if self.name == "sequential" else D, decay.exponential(beta))
        owners = np.repeat(np.arange(len(T)), rng.poisson(alpha / h))
        cumulative = np.cumsum(a, axis=1)
        links = [np.searchsorted(row, rng.random(len(owners)) * row[-1], side="right") for row in cumulative]
        return features(np.array(links).reshape(len(T), -1), owners)

    def simulate(self, rng):
        alpha, sigma_x, sigma_w, beta = (p.sample(rng) for p in (ALPHA, SIGMA_X, SIGMA_W, BETA))
        Z = self.features(alpha, beta, rng)
        W = sigma_w * rng.standard_normal((Z.shape[1], self.mask.shape[1]))
        X = Z @ W + sigma_x * rng.standard_normal(self.mask.shape)
        scalars = {"alpha": alpha, "sigma_x": sigma_x, "sigma_w": sigma_w}
        return X, self.numbers(Z, W, X, scalars if self.name == "ibp" else scalars | {"beta": beta})

    def statistics(self, _, state):
        sigma_x, sigma_w = state.lik.scales[:2]
        scalars = {"alpha": state.alpha, "sigma_x": sigma_x, "sigma_w": sigma_w, **state.parameters}
        return self.numbers(state.Z.astype(float), state.lik.weights[: state.n_features], state.data, scalars)

    def numbers(self, Z, W, X, scalars):
        X = np.where(self.mask, 0.0, X)
        K, R, G = Z.shape[1], Z @ Z.T, X @ X.T
        numbers = dict(scalars)
        numbers |= {f"{name} squared": value**2 for name, value in scalars.items()}
        numbers |= {"n_features": K, "K squared": K**2, "ones": np.trace(R)}
        numbers |= {"R01": R[0, 1], "R02": R[0, 2], "R23": R[2, 3], "singletons": np.sum(Z.sum(axis=0) == 1)}
        numbers |= {"|X|": np.sqrt(np.trace(G)), "X0 X1": np.sign(G[0, 1]) * np.sqrt(abs(G[0, 1]))}
        numbers |= {"R01 sign(X0 X1)": R[0, 1] * np.sign(G[0, 1]), "K sigma_x": K * scalars["sigma_x"]}
        if not self.collapsed:
            numbers |= {"|W|": np.sqrt((W**2).sum()), "|X - ZW|": np.sqrt(((X - Z @ W)[~self.mask] ** 2).sum())}
        return numbers

    def sampler(self, X, start="prior"):
        X = np.where(self.mask, np.nan, X)
        return PosteriorSampler(PRIORS[self.name], self.likelihood, X, start=start, **self.settings)

    def geweke(self, **how):
        return testing.geweke(self.sampler, self.simulate, testing.redraw_data, self.statistics, **how)


CASES = [(name, collapsed, MASK) for name in PRIORS for collapsed in (True, False)]
CASES += [("ibp", True, WIDE), ("symmetric", True, WIDE)]


@pytest.mark.parametrize("name, collapsed, mask", CASES)
def test_sweeps_keep_the_joint_law(name, collapsed, mask, rng):
    result = Model(name, collapsed, mask).geweke(
        n_chains=60, n_sweeps=100, n_forward=3000, seed=int(rng.integers(2**32))
    )
    assert result.p_value > FALSE_ALARM_RATE, f"\n{result}"


@pytest.mark.slow
@pytest.mark.parametrize("name, collapsed, mask", CASES)
def test_sweeps_keep_the_joint_law_over_long_runs(name, collapsed, mask, rng):
    result = Model(name, collapsed, mask).geweke(
        n_chains=400, n_sweeps=500, n_forward=40_000, seed=int(rng.integers(2**32))
    )
    assert result.p_value > FALSE_ALARM_RATE, f"\n{result}"


@pytest.mark.slow
@pytest.mark.parametrize("name, collapsed, mask", CASES)
def test_posteriors_are_calibrated(name, collapsed, mask, rng):
    model = Model(name, collapsed, mask)
    result = testing.calibration(
        lambda X: model.sampler(X, "data"), model.simulate, n_replications=300, thin=5, seed=int(rng.integers(2**32))
    )
    assert {"n_features", "alpha", "sigma_x", "sigma_w"} <= set(result.names)
    assert min(result.p_values().values()) > FALSE_ALARM_RATE / len(result.names), f"\n{result}"
