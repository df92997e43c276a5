"""Chains under the dHBP against exact posteriors over features and lenders, in both readings.

Numbers are judged as in `posterior_laws`: a right program fails in a given number with probability 7e-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pytest

from ddibp import DHBP, Exponential, Gamma, Window
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.sampler import PosteriorSampler
from posterior_laws import DATA, SIGMA_W, T, assert_agreement, compare, simulate
from reference import decay
from reference.dhbp import customer_posterior, dish_posterior

C0, C1 = 2.0, 0.6
DECAYS = {
    "exponential": (Exponential(1.3), decay.exponential(1.3), False),
    "sequential": (Exponential(1.3), decay.exponential(1.3), True),
    "window": (Window(1.2), decay.window(1.2), False),
}


@dataclass(frozen=True)
class Borrowed:
    """Three rows of data under a dHBP; gamma is a number or a pair (shape, rate)."""

    coupling: str
    decay: str = "exponential"
    data: str = "full"
    collapsed: bool = True
    gamma: float | tuple[float, float] = 0.9
    sigma_x: float = 0.4
    K_max: int = 8
    n_rows = 3

    def sampler(self, schedule):
        f, _, ordered = DECAYS[self.decay]
        gamma = Gamma(*self.gamma) if isinstance(self.gamma, tuple) else self.gamma
        prior = DHBP(f, gamma=gamma, c0=C0, c1=C1, sequential=ordered, coupling=self.coupling)
        likelihood = LinearGaussian(self.sigma_x, SIGMA_W, collapsed=self.collapsed)
        if not isinstance(schedule, str) and isinstance(self.gamma, tuple):
            schedule = [*schedule, ("gamma", 1.0)]
        return PosteriorSampler(prior, likelihood, self.X, T[: self.n_rows], schedule=schedule, start="prior")

    @property
    def X(self):
        return DATA[self.data][: self.n_rows]

    @cached_property
    def exact(self):
        _, f, ordered = DECAYS[self.decay]
        distances = decay.distances(T[: self.n_rows])
        a, _ = decay.proximity(decay.sequential(distances) if ordered else distances, f)
        posterior = customer_posterior if self.coupling == "customer" else dish_posterior
        return posterior(a, C0, C1, self.X, self.sigma_x, SIGMA_W, self.K_max, self.gamma)

    @cached_property
    def expected(self):
        exact = self.exact
        law = {f"K = {k}": p for k, p in enumerate(exact.law_of_K) if p > 0.02}
        pairs = {f"ZZ' {i}{j}": exact.sharing[i, j] for i in range(self.n_rows) for j in range(i + 1)}
        singles = sum(n for z, n in exact.mean_counts.items() if sum(z) == 1)
        result = {"K": exact.mean_K, **law, **pairs, "singletons": singles}
        for i, m in np.argwhere(np.isnan(self.X)) if self.collapsed else []:
            result[f"imputed {i}{m}"] = exact.signal[i, m]
        if isinstance(self.gamma, tuple):
            result["gamma"] = exact.mean_gamma if self.coupling == "customer" else exact.mean_alpha
        if self.coupling == "customer":
            result |= {f"g_{i} = {j}": exact.lenders[i, j] for i in range(self.n_rows) for j in range(self.n_rows)}
        return result

    def observe(self, state):
        Z = state.Z.astype(float)
        likely = [int(name[4:]) for name in self.expected if name.startswith("K = ")]
        numbers = [Z.shape[1], *(Z.shape[1] == k for k in likely), *(Z @ Z.T)[np.tril_indices(self.n_rows)]]
        numbers.append(np.sum(Z.sum(axis=0) == 1))
        numbers += state.data[np.isnan(self.X)].tolist() if self.collapsed else []
        if isinstance(self.gamma, tuple):
            numbers.append(state.alpha)
        if self.coupling == "customer":
            numbers += np.eye(self.n_rows)[state.process.hidden["lenders"]].ravel().tolist()
        return numbers

    def look(self, schedule, n_sweeps, rng):
        draws = simulate(self.sampler(schedule), self.observe, n_sweeps, rng)
        return compare(draws, list(self.expected), list(self.expected.values()))


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
    assert_agreement(partial(Borrowed("customer", collapsed=collapsed).look, MOVES[moves]), 1600, rng)


DISH_MOVES = {
    "flips": [("flips", 2), ("singletons", 1)],
    "births": [("births", 20), ("flips", 0.5)],
    "data births": [("data births", 8), ("flips", 0.5)],
    "default": "default",
}


@pytest.mark.parametrize("moves", DISH_MOVES)
@pytest.mark.parametrize("collapsed", [True, False])
def test_moves_given_a_lender_a_row_and_dish(moves, collapsed, rng):
    assert_agreement(partial(Borrowed("dish", collapsed=collapsed).look, DISH_MOVES[moves]), 1600, rng)


@pytest.mark.parametrize("coupling", ["customer", "dish"])
@pytest.mark.parametrize("f", ["sequential", "window"])
@pytest.mark.parametrize("data", ["holes", "wide"])
def test_default_schedule_in_other_settings(coupling, f, data, rng):
    collapsed = data == "wide" or f == "window"
    problem = Borrowed(coupling, f, data, collapsed, gamma=(3.0, 4.0))
    assert_agreement(partial(problem.look, "default"), 1600, rng)
