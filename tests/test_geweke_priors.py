"""Geweke's joint test of full samplers under the priors with hidden lenders, marks or orders, parameters learned.

Models are simulated by the forward samplers of the priors, which `test_dhbp_reference`, `test_aibd` and `test_dibp`
hold against enumeration, and which share no code with the chains. As in `test_geweke`, a test fails at p < 1e-5.
"""

from __future__ import annotations

import numpy as np
import pytest

from ddibp import AIBD, DHBP, DIBP, Exponential, Gamma, testing
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.sampler import PosteriorSampler
from laws_of_tests import FALSE_ALARM_RATE

MASS, SIGMA_X, SIGMA_W, BETA = Gamma(6.0, 4.0), Gamma(9.0, 30.0), Gamma(9.0, 9.0), Gamma(4.0, 2.0)
C0, C1 = Gamma(6.0, 3.0), Gamma(4.0, 5.0)
T = np.array([0.0, 0.3, 0.5, 1.4])
MASK = np.zeros((4, 3), dtype=bool)
MASK[1, 0] = MASK[2, 1] = True
MASK[3] = True

PRIORS = {
    "customer": DHBP(Exponential(BETA), gamma=MASS, c0=C0, c1=C1),
    "dish": DHBP(Exponential(BETA), gamma=MASS, c0=C0, c1=C1, coupling="dish"),
    "aibd": AIBD(Exponential(BETA), alpha=MASS),
    "aibd in any order": AIBD(Exponential(BETA), alpha=MASS, permutation="uniform"),
    "dibp": DIBP("matern32", alpha=MASS, length_scale=Gamma(4.0, 4.0), nugget=Gamma(4.0, 10.0)),
}


class Model:
    """A prior by name with the linear-Gaussian likelihood; everything that can be learned is."""

    def __init__(self, name, collapsed):
        self.prior, self.collapsed = PRIORS[name], collapsed
        self.likelihood = LinearGaussian(SIGMA_X, SIGMA_W, collapsed=collapsed)

    def simulate(self, rng):
        laws = {self.prior.mass_name: getattr(self.prior, self.prior.mass_name), **self.prior.learned}
        values = {name: law.sample(rng) for name, law in laws.items()}
        known = {
            name if name in self.prior.get_params(deep=False) else f"decay__{name}": v for name, v in values.items()
        }
        Z = self.prior.set_params(**known).sample(T, rng=rng).astype(float)
        sigma_x, sigma_w = SIGMA_X.sample(rng), SIGMA_W.sample(rng)
        W = sigma_w * rng.standard_normal((Z.shape[1], MASK.shape[1]))
        X = Z @ W + sigma_x * rng.standard_normal(MASK.shape)
        return X, self.numbers(Z, X, values | {"sigma_x": sigma_x, "sigma_w": sigma_w})

    def statistics(self, _, state):
        sigma_x, sigma_w = state.lik.scales[:2]
        values = {self.prior.mass_name: state.alpha, **state.parameters, "sigma_x": sigma_x, "sigma_w": sigma_w}
        return self.numbers(state.Z.astype(float), state.data, values)

    def numbers(self, Z, X, values):
        X = np.where(MASK, 0.0, X)
        K, R, G = Z.shape[1], Z @ Z.T, X @ X.T
        numbers = values | {f"{name} squared": value**2 for name, value in values.items()}
        numbers |= {"n_features": K, "K squared": K**2, "ones": np.trace(R)}
        numbers |= {"R01": R[0, 1], "R02": R[0, 2], "R23": R[2, 3], "singletons": np.sum(Z.sum(axis=0) == 1)}
        numbers |= {"|X|": np.sqrt(np.trace(G)), "X0 X1": np.sign(G[0, 1]) * np.sqrt(abs(G[0, 1]))}
        numbers |= {"R01 sign(X0 X1)": R[0, 1] * np.sign(G[0, 1]), "K sigma_x": K * values["sigma_x"]}
        return numbers

    def sampler(self, X, start="prior"):
        return PosteriorSampler(self.prior, self.likelihood, np.where(MASK, np.nan, X), T, start=start)

    def geweke(self, **how):
        return testing.geweke(self.sampler, self.simulate, testing.redraw_data, self.statistics, **how)


CASES = [(name, collapsed) for name in PRIORS for collapsed in (True, False)]


@pytest.mark.parametrize("name, collapsed", CASES)
def test_sweeps_keep_the_joint_law(name, collapsed, rng):
    result = Model(name, collapsed).geweke(n_chains=60, n_sweeps=40, n_forward=3000, seed=int(rng.integers(2**32)))
    assert result.p_value > FALSE_ALARM_RATE, f"\n{result}"


@pytest.mark.slow
@pytest.mark.parametrize("name, collapsed", CASES)
def test_sweeps_keep_the_joint_law_over_long_runs(name, collapsed, rng):
    result = Model(name, collapsed).geweke(n_chains=300, n_sweeps=300, n_forward=20_000, seed=int(rng.integers(2**32)))
    assert result.p_value > FALSE_ALARM_RATE, f"\n{result}"


@pytest.mark.slow
@pytest.mark.parametrize("name, collapsed", CASES)
def test_posteriors_are_calibrated(name, collapsed, rng):
    model = Model(name, collapsed)
    result = testing.calibration(
        lambda X: model.sampler(X, "data"), model.simulate, n_replications=300, thin=5, seed=int(rng.integers(2**32))
    )
    assert {"n_features", "sigma_x", "sigma_w", *model.prior.learned} <= set(result.names)
    assert min(result.p_values().values()) > FALSE_ALARM_RATE / len(result.names), f"\n{result}"
