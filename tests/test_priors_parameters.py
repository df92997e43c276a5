"""Parameters that are learned under the dHBP, the AIBD and the dIBP against exact posteriors, mixtures by quadrature.

Numbers are judged as in `posterior_laws`: a right program fails in a given number with probability 7e-8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pytest
from scipy import stats

from ddibp import AIBD, DHBP, DIBP, Exponential, Gamma, LinearGaussian, Window
from ddibp.sampling import PosteriorSampler
from enumerated import Enumerated
from posterior_laws import T, assert_agreement
from reference import aibd, decay, dibp
from reference.dhbp import dish_rates
from reference.posterior import log_nodes

C0, C1, BETA = 2.0, 0.6, 1.3
D = decay.distances(T[:3])


def near(beta):
    return decay.proximity(D, decay.exponential(beta))[0]


def gaussian(length_scale, nugget):
    return dibp.pattern_rates(dibp.correlation(T[:3], dibp.KERNELS["matern32"], length_scale, 1.0, nugget))


@dataclass(frozen=True)
class Parameter:
    """A parameter by name with its law, the prior that has it, and rates at mass 1 as its function."""

    name: str
    law: Gamma
    prior: Callable
    rates: Callable


PARAMETERS = {
    "c0": Parameter(
        "c0",
        Gamma(4.0, 2.0),
        lambda mass, c0: DHBP(Exponential(BETA), mass, c0, C1, coupling="dish"),
        lambda c0: dish_rates(near(BETA), c0, C1),
    ),
    "small c0": Parameter(
        "c0",
        Gamma(2.0, 10.0),
        lambda mass, c0: DHBP(Exponential(BETA), mass, c0, C1, coupling="dish"),
        lambda c0: dish_rates(near(BETA), c0, C1),
    ),
    "c1": Parameter(
        "c1",
        Gamma(4.0, 5.0),
        lambda mass, c1: DHBP(Exponential(BETA), mass, C0, c1, coupling="dish"),
        lambda c1: dish_rates(near(BETA), C0, c1),
    ),
    "beta of dishes": Parameter(
        "beta",
        Gamma(4.0, 3.0),
        lambda mass, beta: DHBP(Exponential(beta), mass, C0, C1, coupling="dish"),
        lambda beta: dish_rates(near(beta), C0, C1),
    ),
    "beta of attraction": Parameter(
        "beta",
        Gamma(4.0, 3.0),
        lambda mass, beta: AIBD(Exponential(beta), alpha=mass),
        lambda beta: aibd.pattern_rates(np.exp(-beta * D), range(3)),
    ),
    "length scale": Parameter(
        "length_scale",
        Gamma(4.0, 4.0),
        lambda mass, scale: DIBP("matern32", mass, length_scale=scale, nugget=0.3),
        lambda scale: gaussian(scale, 0.3),
    ),
    "nugget": Parameter(
        "nugget",
        Gamma(3.0, 6.0),
        lambda mass, nugget: DIBP("matern32", mass, nugget=nugget),
        lambda nugget: gaussian(1.0, nugget),
    ),
}


@dataclass(frozen=True)
class Learned(Enumerated):
    """Three rows of data under a prior with one parameter that is learned."""

    which: str = "c0"

    @property
    def parameter(self):
        return PARAMETERS[self.which]

    def prior(self, mass):
        return self.parameter.prior(mass, self.parameter.law)

    @cached_property
    def _nodes(self):
        frozen = stats.gamma(self.parameter.law.shape, scale=1 / self.parameter.law.rate)
        return log_nodes(frozen.logpdf, frozen.ppf(1e-7), frozen.isf(1e-7), 20)

    @cached_property
    def exact(self):
        values, log_weights = self._nodes
        return self.mixture(log_weights, [self.parameter.rates(float(v)) for v in values])

    def hidden_expected(self):
        values, weights = self._nodes[0], self.exact.weights
        return {self.parameter.name: values @ weights, f"log {self.parameter.name}": np.log(values) @ weights}

    def hidden_observed(self, state):
        value = state.parameters[self.parameter.name]
        return [value, np.log(value)]


def often(problem):
    """The default schedule with more moves of parameters, which go by small steps where dishes hold on to them."""
    return [*problem.sampler("default").schedule, ("parameters", 2)]


@pytest.mark.parametrize("which", PARAMETERS)
def test_learned_parameters_have_their_exact_posterior(which, rng):
    problem = Learned(mass=(6.0, 6.0), which=which, K_max=9)
    assert problem.exact.mean(lambda part: part.law_of_K[-1]) < 1e-3
    assert_agreement(partial(problem.look, often(problem)), 2400, rng)


@pytest.mark.slow
@pytest.mark.parametrize("which", PARAMETERS)
def test_learned_parameters_have_their_exact_posterior_in_long_runs(which, rng):
    problem = Learned("holes", False, 0.6, which=which)
    assert_agreement(partial(problem.look, often(problem)), 30_000, rng, least_ess=500)


def test_parameters_that_a_prior_refuses_are_impossible(rng):
    """A window so narrow that a row of the AIBD has no earlier one within reach ends a slice, not a run."""
    t = np.array([0.0, 1.0, 2.5, 3.0])
    prior = AIBD(Window(Gamma(2.0, 0.5)), alpha=1.0)
    sampler = PosteriorSampler(prior, LinearGaussian(0.5, 1.0), rng.standard_normal((4, 2)), t, start="empty")
    state = sampler.start(rng)
    seen = []
    for _ in range(200):
        sampler.sweep(state)
        seen.append(state.parameters["nu"])
    assert min(seen) > 1.5
    assert len(set(seen)) > 20
