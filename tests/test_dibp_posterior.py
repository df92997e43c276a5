"""Chains under the dIBP against exact posteriors whose rates are integrals over Gaussian values on grids.

Numbers are judged as in `posterior_laws`: a right program fails in a given number with probability 7e-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from ddibp import DIBP
from enumerated import Enumerated
from posterior_laws import T, assert_agreement
from reference import dibp, ibp

LEARNED = (8.0, 10.0)
SMOOTH = ("matern32", 1.0, 1.0, 0.2)
ROUGH = ("rbf", 0.7, 1.0, 1.5)
SAME = ("rbf", 1.0, 0.0, 1.0)


@cache
def rates_and_weights(kernel, length_scale, variance, nugget):
    """Rates of the patterns at mass 1, and the mean weight b of a column with each."""
    C = dibp.correlation(T[:3], dibp.KERNELS[kernel], length_scale, variance, nugget)
    rates = dibp.pattern_rates(C)
    taus = np.arange(-dibp.FAR, dibp.FAR + dibp.STEP / 2, dibp.STEP)
    density = dibp.STEP * np.exp(-(taus**2) / 2 - log_ndtr(taus)) / np.sqrt(2 * np.pi)
    with_b = {
        z: sum(d * ndtr(t) * dibp.probability(z, C, t) for d, t in zip(density, taus, strict=True)) for z in rates
    }
    return rates, {z: with_b[z] / rates[z] for z in rates}


@dataclass(frozen=True)
class Latent(Enumerated):
    """Three rows of data under a dIBP; columns are also compared in the sum of their weights b."""

    law: tuple = SMOOTH

    def prior(self, mass):
        kernel, length_scale, variance, nugget = self.law
        return DIBP(kernel, alpha=mass, length_scale=length_scale, variance=variance, nugget=nugget)

    @cached_property
    def exact(self):
        return self.mixture([0.0], [rates_and_weights(*self.law)[0]])

    def hidden_expected(self):
        weights = rates_and_weights(*self.law)[1]
        return {"sum of b": sum(count * weights[z] for z, count in self.mean_counts.items())}

    def hidden_observed(self, state):
        return [ndtr(state.marks[: state.n_features, 0]).sum()]


MOVES = {
    "flips": [("flips", 2), ("marks", 1), ("singletons", 1)],
    "births": [("births", 20), ("flips", 0.5), ("marks", 0.5)],
    "data births": [("data births", 8), ("flips", 0.5), ("marks", 0.5), ("births", 1)],
    "default": "default",
}
CASES = [(moves, collapsed, law) for moves in MOVES for collapsed in (True, False) for law in (SMOOTH, ROUGH)]


@pytest.mark.parametrize("moves, collapsed, law", CASES)
def test_moves_have_the_exact_posterior(moves, collapsed, law, rng):
    assert_agreement(partial(Latent(collapsed=collapsed, law=law).look, MOVES[moves]), 1600, rng)


def test_births_and_marks_alone_have_the_exact_posterior(rng):
    """Births from the prior reach every column with every mark; with weights summed out they mix well enough."""
    assert_agreement(partial(Latent().look, [("births", 20)]), 2400, rng)


@pytest.mark.parametrize(
    "data, collapsed, mass",
    [("holes", True, 0.9), ("holes", False, LEARNED), ("wide", True, LEARNED), ("lost row", True, LEARNED)],
)
def test_default_schedule_in_other_settings(data, collapsed, mass, rng):
    problem = Latent(data, collapsed, mass)
    assert_agreement(partial(problem.look, "default"), 2400 if data == "holes" else 1600, rng)


@pytest.mark.parametrize("collapsed", [True, False])
def test_without_variance_chains_have_the_posterior_of_the_ibp(collapsed, rng):
    problem = Latent("holes", collapsed, LEARNED, law=SAME)
    for z, rate in ibp.pattern_rates(3).items():
        assert rates_and_weights(*SAME)[0][z] == pytest.approx(rate, rel=1e-6)
    assert_agreement(partial(problem.look, "default"), 2400, rng)


@pytest.mark.slow
@pytest.mark.parametrize("moves, collapsed, law", CASES)
def test_moves_have_the_exact_posterior_in_long_runs(moves, collapsed, law, rng):
    problem = Latent("holes", collapsed, LEARNED, law=law)
    assert_agreement(partial(problem.look, MOVES[moves]), 40_000, rng, least_ess=1000)
