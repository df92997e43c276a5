"""Chains under the AIBD against exact posteriors over features, and over orders of arrival where these are unknown.

Numbers are judged as in `posterior_laws`: a right program fails in a given number with probability 7e-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pytest

from ddibp import AIBD, Exponential
from enumerated import Enumerated
from posterior_laws import T, assert_agreement
from reference import aibd, decay

LEARNED = (8.0, 10.0)


@dataclass(frozen=True)
class Attracted(Enumerated):
    """Three rows of data under an AIBD."""

    permutation: str = "rows"
    beta: float = 1.3

    def prior(self, mass):
        return AIBD(Exponential(self.beta), alpha=mass, permutation=self.permutation)

    @property
    def orders(self):
        return aibd.orders(self.n_rows) if self.permutation == "uniform" else [tuple(range(self.n_rows))]

    @cached_property
    def exact(self):
        L = np.exp(-self.beta * decay.distances(T[: self.n_rows]))
        rates = [aibd.pattern_rates(L, order) for order in self.orders]
        return self.mixture(np.zeros(len(rates)), rates)

    def hidden_expected(self):
        if self.permutation == "rows":
            return {}
        chances = zip(self.orders, self.exact.weights, strict=True)
        return {"order " + "".join(map(str, order)): chance for order, chance in chances}

    def hidden_observed(self, state):
        if self.permutation == "rows":
            return []
        return [order == tuple(state.process.hidden["order"].tolist()) for order in self.orders]


MOVES = {
    "links": [("links", 2), ("singletons", 1)],
    "leaves": [("leaves", 2), ("singletons", 1)],
    "flips": [("flips", 2), ("singletons", 1)],
    "births": [("births", 8), ("flips", 0.5), ("causes", 0.5)],
    "data births": [("data births", 4), ("flips", 0.5), ("causes", 0.5)],
    "dishes of the paper": [("links", 1), ("paper dishes", 2)],
    "split and merge": [("split and merge", 4), ("births", 4), ("flips", 0.5), ("causes", 0.5)],
    "combine": [("combine", 3), ("births", 4), ("flips", 0.5), ("causes", 0.5)],
    "default": "default",
}
CASES = [(moves, collapsed) for moves in MOVES for collapsed in (True, False) if collapsed or "paper" not in moves]


def scheduled(moves, permutation):
    """The schedule of this name, with moves of the order where it is unknown."""
    schedule = MOVES[moves]
    return schedule if permutation == "rows" or moves == "default" else [*schedule, ("order", 1)]


# Links and leaves are visited in the order of the rows where that is the order of arrival, and otherwise in general.
@pytest.mark.parametrize("permutation", ["rows", "uniform"])
@pytest.mark.parametrize("moves, collapsed", CASES)
def test_moves_have_the_exact_posterior(moves, collapsed, permutation, rng):
    problem = Attracted(collapsed=collapsed, permutation=permutation)
    assert_agreement(partial(problem.look, scheduled(moves, permutation)), 1600, rng)


@pytest.mark.parametrize("permutation", ["rows", "uniform"])
@pytest.mark.parametrize(
    "data, collapsed, mass",
    [("holes", True, 0.9), ("holes", False, LEARNED), ("wide", True, LEARNED), ("lost row", True, LEARNED)],
)
def test_default_schedule_in_other_settings(data, collapsed, mass, permutation, rng):
    problem = Attracted(data, collapsed, mass, permutation=permutation)
    assert_agreement(partial(problem.look, "default"), 2400 if data == "holes" else 1600, rng)


@pytest.mark.slow
@pytest.mark.parametrize("permutation", ["rows", "uniform"])
@pytest.mark.parametrize("moves, collapsed", CASES)
def test_moves_have_the_exact_posterior_in_long_runs(moves, collapsed, permutation, rng):
    problem = Attracted("holes", collapsed, LEARNED, permutation=permutation)
    assert_agreement(partial(problem.look, scheduled(moves, permutation)), 40_000, rng, least_ess=1000)
