"""Chains have the exact posterior: every move on its own where it is ergodic, and whole schedules.

`posterior_laws` has the problems, the numbers that are compared, and the false-alarm rate: 3e-4 for all tests
here under a fresh seed.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
import pytest
from scipy import stats

from ddibp import DDIBP, IBP, Exponential, Gamma
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.sampler import PosteriorSampler
from posterior_laws import DATA, PRIORS, SIGMA_W, Problem, T, assert_agreement, compare, run, simulate
from reference import decay, ibp, links
from reference.posterior import exact_posterior, log_nodes, mix

LEARNED = (8.0, 10.0)

# Moves that reach every matrix together, and how often each is made per sweep. A new move gets a line here.
SETS = {
    "flips and singletons": [("flips", 2), ("singletons", 1)],
    "links and singletons": [("links", 2), ("singletons", 1)],
    "leaves and singletons": [("leaves", 2), ("singletons", 1)],
    "leaves, causes and births": [("leaves", 1), ("causes", 1), ("births", 3)],
    "links and births": [("links", 1), ("births", 3)],
    "births": [("births", 8)],
    "combine, flips, singletons": [("combine", 2), ("flips", 1), ("singletons", 1)],
    "combine and births": [("combine", 2), ("births", 5)],
    "holes and singletons": [("holes", 2), ("singletons", 1)],
    "data births": [("data births", 3)],
    "data births and causes": [("data births", 3), ("causes", 1)],
    "dishes of the paper": [("paper dishes", 2)],
    "links and dishes of the paper": [("links", 1), ("paper dishes", 1)],
    "split and merge, births": [("split and merge", 1), ("births", 4)],
    "flips, split and merge, births": [("flips", 1), ("split and merge", 1), ("births", 2)],
    "links, data births, split and merge": [("links", 1), ("data births", 1), ("split and merge", 1)],
}
REDRAW_WEIGHTS = {"flips", "links", "leaves"}  # without these, weights in the state hardly ever change
# Data and form of the likelihood (collapsed or not) go round, so that every set of moves meets all of them.
FORMS = [("full", True), ("holes", False), ("holes", True), ("full", False), ("wide", True), ("lost row", False)]
SPECIAL = {"holes and singletons": ("holes", True)}
# Rows join a data-driven column in their order, so that not every owner can have every column.
NOT_ERGODIC = {("window", "data births")}


def sets():
    """Return every prior with every set of moves that it has."""
    cases = []
    for p, prior in enumerate(PRIORS):
        for s, (name, moves) in enumerate(SETS.items()):
            data, collapsed = SPECIAL.get(name, FORMS[(p + s) % len(FORMS)])
            if not REDRAW_WEIGHTS & {move for move, _ in moves}:
                collapsed = True
            problem = Problem(prior, data, collapsed)
            if {move for move, _ in moves} <= set(problem.sampler().moves) and (prior, name) not in NOT_ERGODIC:
                cases.append(pytest.param(problem, moves, id=f"{name}-{prior}-{data}"))
    return cases


def wholes():
    """Return problems of every prior, form of the likelihood, and mass given or learned."""
    return [
        pytest.param(Problem(prior, data, collapsed, alpha), id=f"{prior}-{data}-{collapsed}-{alpha}")
        for p, prior in enumerate(["ibp", "sequential", "symmetric", "asymmetric"])
        for f, (data, collapsed) in enumerate([*FORMS, ("wide holes", True)])
        for alpha in ((0.9, LEARNED) if f < 3 else ((0.9, LEARNED)[(p + f) % 2],))
    ]


WINDOWS = [case for case in sets() if "window" in case.id][::3]  # the long runs have them all
PAPER = [
    pytest.param(Problem(prior, data, True, LEARNED), id=f"{prior}-{data}")
    for prior, data in (("sequential", "full"), ("symmetric", "holes"), ("asymmetric", "wide"))
]


@pytest.mark.parametrize("problem, moves", [case for case in sets() if "window" not in case.id] + WINDOWS)
def test_moves_on_their_own_have_the_exact_posterior(problem, moves, rng):
    assert_agreement(partial(run, problem, moves), 2400, rng)


@pytest.mark.parametrize("problem", wholes()[::3])
def test_the_default_schedule_has_the_exact_posterior(problem, rng):
    assert_agreement(partial(run, problem, "default"), 2400 if problem.imputes else 1200, rng)


@pytest.mark.parametrize("problem", PAPER)
def test_the_schedule_of_the_paper_has_the_exact_posterior(problem, rng):
    assert_agreement(partial(run, problem, "paper"), 4000, rng)


LAWS = {"sigma_x": Gamma(6.0, 15.0), "sigma_w": Gamma(6.0, 6.0), "beta": Gamma(4.0, 3.0)}


class Learned:
    """A parameter with a Gamma prior; the exact posterior is a mixture over its values, by quadrature."""

    def __init__(self, parameter, prior, mass=0.6):
        self.parameter, self.prior, self.mass = parameter, prior, mass
        self.law, self.X = LAWS[parameter], DATA["full"][:3]

    def sampler(self, collapsed):
        values = {"sigma_x": 0.4, "sigma_w": SIGMA_W, "beta": 1.3} | {self.parameter: self.law}
        likelihood = LinearGaussian(values["sigma_x"], values["sigma_w"], collapsed=collapsed)
        linked = DDIBP(Exponential(values["beta"]), alpha=self.mass, sequential=self.prior == "sequential")
        if self.prior == "ibp":
            return PosteriorSampler(IBP(self.mass), likelihood, self.X, start="prior")
        return PosteriorSampler(linked, likelihood, self.X, T[:3], start="prior")

    def posterior_at(self, value):
        values = {"sigma_x": 0.4, "sigma_w": SIGMA_W, "beta": 1.3} | {self.parameter: value}
        distances = decay.distances(T[:3])
        if self.prior == "sequential":
            distances = decay.sequential(distances)
        rates = links.pattern_rates(*decay.proximity(distances, decay.exponential(values["beta"])))
        rates = ibp.pattern_rates(3) if self.prior == "ibp" else rates
        return exact_posterior(rates, self.X, values["sigma_x"], values["sigma_w"], 8, self.mass)

    @cached_property
    def expected(self):
        frozen = stats.gamma(self.law.shape, scale=1 / self.law.rate)
        mixture = mix(*log_nodes(frozen.logpdf, frozen.ppf(1e-8), frozen.isf(1e-8), 24), self.posterior_at)
        assert mixture.mean(lambda part: part.law_of_K[-1]) < 1e-3
        sharing = mixture.mean(lambda part: part.sharing)
        moments = [mixture.mean_node(lambda v: v), mixture.mean_node(lambda v: v**2), mixture.mean_node(np.log)]
        return [mixture.mean(lambda part: part.mean_K), *sharing[np.tril_indices(3)], *moments]

    def observe(self, state):
        values = {"sigma_x": state.lik.scales[0], "sigma_w": state.lik.scales[1], **state.parameters}
        Z, value = state.Z.astype(float), float(values[self.parameter])
        return [Z.shape[1], *(Z @ Z.T)[np.tril_indices(3)], value, value**2, np.log(value)]

    def look(self, collapsed, n_sweeps, rng):
        names = ["K", *(f"ZZ' {i}{j}" for i, j in zip(*np.tril_indices(3), strict=True))]
        names += [self.parameter, f"{self.parameter}²", f"log {self.parameter}"]
        return compare(simulate(self.sampler(collapsed), self.observe, n_sweeps, rng), names, self.expected)


@pytest.mark.parametrize(
    "parameter, prior", [("sigma_x", "ibp"), ("sigma_w", "sequential"), ("beta", "sequential"), ("beta", "symmetric")]
)
def test_learned_parameters_have_their_exact_posterior(parameter, prior, rng):
    learned = Learned(parameter, prior)
    for collapsed in (True, False):
        assert_agreement(partial(learned.look, collapsed), 1200, rng)


def test_reported_densities_are_those_of_the_references(rng):
    """The log densities that a sampler reports, draw by draw, for every prior and with missing entries."""
    for prior in PRIORS:
        problem = Problem(prior, "holes", alpha=LEARNED)
        sampler = problem.sampler()
        state = sampler.start(rng)
        for _ in range(20):
            sampler.sweep(state)
            numbers, exact = sampler.scalars(state), dict(zip(problem.expected, problem.observe(state), strict=True))
            assert numbers["log_likelihood"] == pytest.approx(exact["log p(X|Z)"], abs=1e-9)
            assert numbers["log_joint"] == pytest.approx(exact["log joint"], abs=1e-9)


@pytest.mark.parametrize("prior", ["ibp", "sequential", "symmetric", "asymmetric"])
def test_four_rows_have_the_exact_posterior(prior, rng):
    problem = Problem(prior, "holes", prior != "symmetric", 0.6, n_rows=4, K_max=6)
    assert_agreement(partial(run, problem, "default"), 1600, rng)


@pytest.mark.slow
@pytest.mark.parametrize("problem, moves", sets())
def test_moves_on_their_own_have_the_exact_posterior_in_long_runs(problem, moves, rng):
    assert_agreement(partial(run, problem, moves), 60_000, rng, least_ess=1000)


@pytest.mark.slow
@pytest.mark.parametrize("problem", wholes())
def test_the_default_schedule_has_the_exact_posterior_in_long_runs(problem, rng):
    assert_agreement(partial(run, problem, "default"), 30_000, rng, least_ess=1000)
