"""Mistakes put into the chains of the dHBP, the AIBD and the dIBP, each rejected by the exact posterior.

The bar is 6 Monte Carlo standard errors in one number, p = 5e-7 by Student's t over 40 batches, as in `test_mutations`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from ddibp.moves import singletons
from ddibp.priors import _borrowing, _borrowing_kernels, _dish, _dish_kernels, _latent_kernels, _order
from ddibp.priors._latent import LatentProcess
from ddibp.sampling import marked
from mutations import put_in
from posterior_laws import assert_agreement
from test_aibd_posterior import Attracted
from test_dhbp_posterior import Borrowed
from test_dibp_posterior import Latent

assert _borrowing, _dish  # loaded, so that mistakes can be put into them
BAR = 6.0
LEARNED = (8.0, 10.0)
BIRTHS = [("births", 20)]
PROPOSE = LatentProcess.propose


def propose_without_the_range_of_weights(process, mass, rng, evidence):
    """The proposal of the dIBP, less the log of the range of log b, with which deaths reckon as well."""
    dish, log_ratio = PROPOSE(process, mass, rng, evidence)
    return dish, log_ratio - math.log(-math.log(process._least))


def every_order(_, log_ratio):
    """Accept whatever is possible."""
    return log_ratio > -math.inf


# What is replaced: text of a module, or a name in one. Then the run that must notice: a problem, its moves, sweeps.
MISTAKES = {
    "births without the number of rows": (
        (marked, (" / dish.z[0].sum()", "")),
        (Latent(), [("births", 20)], 1000),
    ),
    "births of dishes over K": (
        (marked, ("expected / (K + 1)", "expected / max(K, 1)")),
        (Borrowed(coupling="dish"), [("births", 20), ("flips", 0.5)], 1000),
    ),
    "data births without the range of weights": (
        (LatentProcess, "propose", propose_without_the_range_of_weights),
        (Latent(), [("data births", 8), ("births", 1)], 1000),
    ),
    "mass without ghosts": (
        (marked, (" + ghosts", "")),
        (Latent(mass=LEARNED), BIRTHS, 600),
    ),
    "orders accepted always": (
        (_order, "accepts", every_order),
        (Attracted(permutation="uniform", beta=10.0), [("births", 4), ("flips", 1), ("order", 1)], 5000),
    ),
    "thresholds without their intensity": (
        (_latent_kernels, ("-0.5 * tau * tau - log_cdf(tau) + ", "-0.5 * tau * tau + ")),
        (Latent(), [*BIRTHS, ("marks", 2)], 1200),
    ),
    "lenders without the total rate": (
        (_borrowing_kernels, (" - mass * others * c1 / (c1 + sizes[j])", "")),
        (Borrowed(mass=2.0, K_max=10), [*BIRTHS, ("lenders", 1)], 8000),
    ),
    "dishes that forget their urns": (
        (_dish_kernels, ("odds = chance(i, p, c1, urns, rows)", "odds = p")),
        (Borrowed(coupling="dish"), [("flips", 2), ("singletons", 1)], 2000),
    ),
    "proposed singletons accepted always": (
        (singletons, ("return log_ratio >= 0.0 or rng.random() < np.exp(log_ratio)", "return True")),
        (Latent(), [("flips", 1), ("singletons", 3), ("births", 1)], 4000),
    ),
}
COMPILED = list(MISTAKES)[5:]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in COMPILED else n for n in MISTAKES])
def test_mistakes_are_noticed(name, rng, monkeypatch):
    (place, *edit), (problem, moves, n_sweeps) = MISTAKES[name]
    if isinstance(edit[0], str):
        monkeypatch.setattr(place, *edit)
    else:
        put_in(monkeypatch, place, *edit)
    comparison = problem.look(moves, n_sweeps, rng)
    at = int(np.argmax(np.abs(comparison.z)))
    print(f"{name}: {comparison.z[at]:.1f} standard errors in {comparison.names[at]}")
    assert abs(comparison.z[at]) > BAR, f"\n{comparison}"


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_the_same_runs_without_the_mistake_agree(name, rng):
    problem, moves, n_sweeps = MISTAKES[name][1]
    assert_agreement(partial(problem.look, moves), n_sweeps, rng)
