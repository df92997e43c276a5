"""Chains under the dHBP against exact posteriors over features and lenders, in both readings.

Numbers are judged as in `posterior_laws`: a right program fails in a given number with probability 7e-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pytest

from ddibp import DHBP, Exponential, Window
from enumerated import Enumerated
from posterior_laws import SIGMA_W, T, assert_agreement
from reference import decay
from reference.dhbp import customer_posterior, dish_rates

C0, C1 = 2.0, 0.6
DECAYS = {
    "exponential": (Exponential(1.3), decay.exponential(1.3), False),
    "sequential": (Exponential(1.3), decay.exponential(1.3), True),
    "window": (Window(1.2), decay.window(1.2), False),
}


@dataclass(frozen=True)
class Borrowed(Enumerated):
    """Three rows of data under a dHBP."""

    coupling: str = "customer"
    decay: str = "exponential"

    def prior(self, mass):
        f, _, ordered = DECAYS[self.decay]
        return DHBP(f, gamma=mass, c0=C0, c1=C1, sequential=ordered, coupling=self.coupling)

    @cached_property
    def exact(self):
        _, f, ordered = DECAYS[self.decay]
        distances = decay.distances(T[: self.n_rows])
        a, _ = decay.proximity(decay.sequential(distances) if ordered else distances, f)
        if self.coupling == "dish":
            return self.mixture([0.0], [dish_rates(a, C0, C1)])
        return customer_posterior(a, C0, C1, self.X, self.sigma_x, SIGMA_W, self.K_max, self.mass)

    def hidden_expected(self):
        every = [(i, j) for i in range(self.n_rows) for j in range(self.n_rows)]
        return {f"g_{i} = {j}": self.exact.lenders[i, j] for i, j in every} if self.coupling == "customer" else {}

    def hidden_observed(self, state):
        return np.eye(self.n_rows)[state.process.hidden["lenders"]].ravel() if self.coupling == "customer" else []


LENDERS = ("lenders", 1)
MOVES = {
    "flips": [("flips", 2), ("singletons", 1), LENDERS],
    "births": [("births", 20), LENDERS],
    "data births": [("data births", 6), LENDERS],
    "split and merge": [("split and merge", 16), ("singletons", 1), ("flips", 0.25), LENDERS],
    "combine": [("combine", 4), ("singletons", 1), ("flips", 1), LENDERS],
    "default": "default",
}


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("collapsed", [True, False])
def test_moves_given_one_lender_a_row(moves, collapsed, rng):
    assert_agreement(partial(Borrowed(collapsed=collapsed).look, MOVES[moves]), 1600, rng)


DISH_MOVES = {
    "flips": [("flips", 2), ("singletons", 1)],
    "births": [("births", 20), ("flips", 0.5)],
    "data births": [("data births", 8), ("flips", 0.5)],
    "default": "default",
}


@pytest.mark.parametrize("moves", DISH_MOVES)
@pytest.mark.parametrize("collapsed", [True, False])
def test_moves_given_a_lender_a_row_and_dish(moves, collapsed, rng):
    assert_agreement(partial(Borrowed(collapsed=collapsed, coupling="dish").look, DISH_MOVES[moves]), 1600, rng)


@pytest.mark.parametrize("coupling", ["customer", "dish"])
@pytest.mark.parametrize("f", ["sequential", "window"])
@pytest.mark.parametrize("data", ["holes", "wide"])
def test_default_schedule_in_other_settings(coupling, f, data, rng):
    collapsed = data == "wide" or f == "window"
    problem = Borrowed(data, collapsed, (3.0, 4.0), coupling=coupling, decay=f)
    assert_agreement(partial(problem.look, "default"), 1600, rng)
