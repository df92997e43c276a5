"""The cases of `./run bench` run at tiny sizes, and measure the same work on both sides; nothing is timed here."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks import ground, literal, mixing, priors, speed, start, states, tables

SETTINGS = list(states.SETTINGS)


def figure(cell):
    """The number that a cell of a table begins with."""
    return float(re.match(r"[≥≤ ]*([\d.,e+-]+)", cell)[1].replace(",", ""))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_state_has_the_features_asked_for(name):
    sampler, state = states.state_of(states.SETTINGS[name], 40, 3, 4)
    assert state.n_features == 3
    assert (abs(state.lik.z[:3].sum(axis=1) - 8.0) <= 4).all()
    assert state.lik.z[np.arange(3), state.owners[:3]].all()
    before, rewind = sampler.pack(state), states.rewinder(state)
    for move in sampler.moves.values():
        move(rewind(1))
    state.make_room(50)
    after = sampler.pack(rewind(2))
    for part in before.keys() - {"generator", "numbers"}:
        np.testing.assert_array_equal(after[part], before[part], err_msg=part)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_reference_does_the_same_work(name):
    sampler, state = states.state_of(states.SETTINGS[name], 40, 3, 4)
    reference = literal.literal_of(sampler, state)
    literal.require_same_work(sampler, state, reference)
    visits = literal.time_visits(reference, 0.0)
    assert visits.number >= 2
    assert visits.likelihood > 0.0
    assert visits.seconds > 0.0


def test_other_work_is_noticed():
    sampler, state = states.state_of(states.SETTINGS["sequential-window"], 40, 3, 4)
    reference = literal.literal_of(sampler, state)
    reference.state.X[0, 0] += 1e-3
    with pytest.raises(AssertionError, match="log likelihood"):
        literal.require_same_work(sampler, state, reference)
    reference.state.X[0, 0] = sampler.observed[0, 0]
    literal.require_same_work(sampler, state, reference)
    reference.state.sigma_x *= 1.001
    with pytest.raises(AssertionError, match="log likelihood"):
        literal.require_same_work(sampler, state, reference)
    reference.state.owners[0] = (reference.state.owners[0] + 1) % 40
    with pytest.raises(AssertionError, match="other features"):
        literal.require_same_work(sampler, state, reference)


@pytest.mark.parametrize("name", ["ibp", "symmetric-dense"])
def test_speed(name):
    rows = speed.measure(states.SETTINGS[name], 40, 3, 4, budget=0.0, literal=0.0)
    assert set(rows) == set(speed.TABLES)
    assert figure(rows["speed"][0]["a visit, ns"]) > 0
    assert {"singletons", "default sweep"} <= set(rows["moves"][0])


def test_mixing():
    rows = mixing.measure(20, 5, True, 0.5, seconds=0.2, literal=0.0, n_features=2)
    assert set(rows) == set(mixing.TABLES)
    assert [row["schedule"] for row in rows["mixing"]] == ["default", "paper", "paper, literal Python"]
    for row in rows["mixing"]:
        assert figure(row["ESS/s of log joint"]) > 0
    assert "paper dishes" in rows["shares"][1]


def test_chains_that_stay_where_they_are_count_as_one_draw_each():
    still = mixing.Run({"n_features": np.repeat([[3.0], [4.0]], 50, axis=1)}, 2.0, {})
    assert mixing.rate(still, "n_features") == (1.0, True)
    moving = np.random.default_rng(0).normal(size=(2, 50))
    value, frozen = mixing.rate(mixing.Run({"n_features": moving}, 2.0, {}), "n_features")
    assert not frozen
    assert 20.0 < value < 80.0


def test_memory_and_start():
    row = start.memory("sequential-window", 60, 3, 4)["memory"][0]
    assert 0.02 < figure(row["peak memory, GiB"]) < 4.0
    python, imported, drawn, everything = start.launch("sequential", 12)
    assert 0.0 < python < imported < drawn < everything


@pytest.mark.parametrize("name", list(priors.PRIORS))
def test_every_prior_is_measured(name):
    row = priors.measure(name, 12, 4, 0.8, seconds=0.2, n_features=2)["priors"][0]
    assert figure(row["ms a sweep"]) > 0
    assert figure(row["ESS/s of log likelihood"]) > 0
    assert row["prior"] == priors.PRIORS[name][0]
    assert {"priors-62-" + name, "agreement-dibp", "agreement-dhbp-dish"} <= set(priors.CASES)


@pytest.mark.parametrize("name", list(priors.LEARNED))
def test_fixed_and_learned_parameters_are_compared(name):
    fixed, learned = priors.agreement(name, 12, 4, 0.8, seconds=0.4, n_features=2)["agreement"]
    assert fixed["parameter"].endswith("fixed, exact")
    assert learned["parameter"].endswith("learned, truncated")
    assert abs(float(learned["difference in errors, K"])) < 20.0


def test_ground():
    case = ground.PLANS["sample-ibp"]._replace(work=lambda prior: prior.sample(20, rng=0))
    assert ground.measure(case)["ground"][0]["of"].startswith("20 × ")


def test_tables_have_all_columns_and_align_figures():
    text = tables.markdown([{"a": "1,000", "b": "no"}, {"b": "1 of 2", "c": "≥ 3 ×"}])
    assert text.splitlines() == [
        "| a | b | c |",
        "| ---: | --- | ---: |",
        "| 1,000 | no | – |",
        "| – | 1 of 2 | ≥ 3 × |",
    ]
