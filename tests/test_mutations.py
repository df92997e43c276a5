"""The proofs are shown able to fail: mistakes put into the samplers on purpose, each rejected by the exact posterior.

The bar is 6 Monte Carlo standard errors in one number, p = 5e-7 by Student's t over 40 batches; of 25 numbers of a
right program, one exceeds it with probability 1e-5. `docs/proofs.md` has the table with measured figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from ddibp import testing
from ddibp.moves import flips, leaves, links, singletons
from ddibp.priors._process import LinkedProcess
from ddibp.sampling import births, imputing, parameters, restructure
from ddibp.sampling.sampler import PosteriorSampler
from ddibp.sampling.state import ChainState
from mutations import put_in
from posterior_laws import Problem, assert_agreement, run
from reference.links import reaching
from test_geweke import MASK, Model
from test_posterior_law import Learned

BAR = 6.0
NO_NORMALISER = {
    "mass": ("(prior.rate + state.process.unit_total)", "prior.rate"),
    "decay": ("return rates - state.alpha * process.unit_total + ", "return rates + "),
}
# What is wrong comes last in a sweep: right moves after it would make up for some of it.
FLIPS = [("singletons", 1), ("flips", 2)]
LINKS = [("singletons", 1), ("links", 2)]
LEAVES = [("singletons", 1), ("leaves", 2)]
SPLITS = [("births", 3), ("split and merge", 6)]
SINGLETONS = [("flips", 2), ("singletons", 1)]


class Overlap(Problem):
    """Two features, of which the last row has both."""

    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


@dataclass(frozen=True)
class Mistake:
    """What is replaced in a module, and the run that must notice."""

    module: ModuleType
    edits: tuple[tuple[str, str], ...]
    problem: Problem
    moves: list[tuple[str, float]]
    n_sweeps: int
    slow: bool = False


MISTAKES = {
    "forgotten singletons": Mistake(
        singletons,
        (("if lik.z[k, i] == 1 and", "if False and"),),
        Problem("ibp"),
        [("births", 8), ("flips", 1), ("singletons", 1)],
        2000,
    ),
    "at most one new singleton": Mistake(
        singletons,
        (("        if number > 0:\n", "        number = min(number, 1)\n        if number > 0:\n"),),
        Problem("ibp"),
        SINGLETONS,
        8000,
    ),
    "flips that count the row itself": Mistake(
        flips,
        (("np.log((count - 1.0) / (n - count + 1.0))", "np.log(count / (n - count + 1.0))"),),
        Problem("ibp"),
        FLIPS,
        4000,
    ),
    "flips that forget later rows": Mistake(
        flips,
        (("    return result + np.log(product)", "    return 0.0"),),
        Problem("sequential", alpha=0.6, n_rows=4, K_max=6),
        FLIPS,
        20_000,
    ),
    "sets of rows scored by their first": Mistake(
        links,
        (("if count == 1:\n                gain =", "if True:\n                gain ="),),
        Problem("symmetric", "wide"),
        LINKS,
        30_000,
    ),
    "owners on cycles drawn uniformly": Mistake(
        links, (("1.0 / rows.normalisers[i]", "1.0"),), Problem("window"), [("singletons", 0.2), ("links", 4)], 20_000
    ),
    "leaves that forget who might link to them": Mistake(
        leaves, ((" + log_stay(i, was, z, masses, followers)", ""),), Problem("symmetric"), LEAVES, 16_000
    ),
    "births over K": Mistake(
        births,
        (("np.log(expected / (K + 1))", "np.log(expected / max(K, 1))"),),
        Problem("symmetric"),
        [("links", 1), ("births", 4)],
        6000,
    ),
    "data births over K": Mistake(
        births,
        (("np.log(K + 1)", "np.log(max(K, 1))"),),
        Problem("ibp"),
        [("flips", 1), ("data births", 3)],
        6000,
    ),
    "data births without the density of the owner": Mistake(
        births,
        ((" - log_owner - log_q", " - log_q"),),
        Problem("sequential"),
        [("links", 1), ("data births", 3)],
        4000,
    ),
    "deaths scored with the column left in": Mistake(
        births,
        (("_prepare(sampler, state, k)\n    z =", "_prepare(sampler, state, -1)\n    z ="),),
        Problem("symmetric"),
        [("links", 1), ("data births", 2)],
        2000,
    ),
    "splits without the density of the halves": Mistake(
        restructure,
        (("_log_ratio(state, whole, a, b) - log_q + ", "_log_ratio(state, whole, a, b) + "), ("log_q - _log", "-_log")),
        Overlap("ibp", alpha=2.0, sigma_x=0.8, K_max=12),
        [("births", 4), ("split and merge", 6)],
        30_000,
        slow=True,
    ),
    "splits without the mass of a column": Mistake(
        restructure,
        (("np.log(state.alpha) + rates[0]", "rates[0]"),),
        Overlap("ibp", alpha=0.25, sigma_x=0.3),
        SPLITS,
        4000,
    ),
    "splits without the number of pairs": Mistake(
        restructure,
        ((" + _log_pairs(total) - _log_pairs(after)", ""),),
        Overlap("ibp", alpha=0.25, sigma_x=0.3),
        SPLITS,
        10_000,
    ),
    "combinations without the prior": Mistake(
        restructure,
        ((" + float(rates[1] - rates[0])", ""),),
        Problem("sequential", sigma_x=0.3),
        [("births", 5), ("combine", 2)],
        4000,
    ),
    "imputation without noise": Mistake(
        imputing,
        (("fitted + state.lik.scales[0] * state.rng.standard_normal(fitted.size)", "fitted"),),
        Problem("ibp", "holes"),
        [*FLIPS, ("impute", 1)],
        4000,
    ),
    "imputation by the mean weights": Mistake(
        imputing,
        (("noise = rng.standard_normal(", "noise = 0.0 * rng.standard_normal("),),
        Problem("ibp", "holes"),
        [*FLIPS, ("impute", 1)],
        6000,
    ),
    "mass without its normaliser": Mistake(
        parameters, (NO_NORMALISER["mass"],), Problem("sequential", alpha=(8.0, 10.0)), LINKS, 800
    ),
    "mass from the number of ones": Mistake(
        parameters,
        (("prior.shape + state.n_features", "prior.shape + int(state.Z.sum())"),),
        Problem("ibp", alpha=(8.0, 10.0)),
        FLIPS,
        3000,
    ),
}


def worst(comparison):
    """Return the largest difference in standard errors, and whose it is."""
    at = int(np.argmax(np.where(comparison.errors > 0.0, np.abs(comparison.z), 0.0)))
    return abs(comparison.z[at]), f"{comparison.names[at]}\n{comparison}"


def show(name, comparison):
    z, which = worst(comparison)
    print(f"{name}: {z:.1f} standard errors in {which.splitlines()[0]}")
    assert z > BAR, which


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * mistake.slow) for name, mistake in MISTAKES.items()]
)
def test_mistakes_are_noticed(name, rng, monkeypatch):
    mistake = MISTAKES[name]
    put_in(monkeypatch, mistake.module, *mistake.edits)
    show(name, run(mistake.problem, mistake.moves, mistake.n_sweeps, rng))


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_the_same_runs_without_the_mistake_agree(name, rng):
    """What notices is the mistake, not the run: chains long enough, and nothing else wrong."""
    mistake = MISTAKES[name]
    assert_agreement(partial(run, mistake.problem, mistake.moves), mistake.n_sweeps, rng)


# Births are appended already; deaths that keep the order of columns leave them in the order of their births.
TAKE_OUT = """    if k != last:
        lik.z[k] = lik.z[last]
        lik.weights[k] = lik.weights[last]
        lik.cross[k] = lik.cross[last]
        for l in range(last):
            lik.gram[k, l] = lik.gram[l, k] = lik.gram[last, l]
        lik.gram[k, k] = lik.gram[last, last]
        links[k] = links[last]
        owners[k] = owners[last]
"""
CLOSE_RANKS = """    for l in range(k, last):
        lik.z[l] = lik.z[l + 1]
        lik.cross[l] = lik.cross[l + 1]
        lik.gram[l, : last + 1] = lik.gram[l + 1, : last + 1]
    for l in range(k, last):
        lik.gram[:last, l] = lik.gram[:last, l + 1]
"""


IN_ORDER = partial(run, Problem("ibp", "wide", sigma_x=0.15), [("singletons", 1), ("flips", 1)])


def test_visiting_columns_in_the_order_of_birth_is_noticed(rng, monkeypatch):
    """A bias of 2 % at most, shown by data with little noise."""
    put_in(monkeypatch, singletons, (TAKE_OUT, CLOSE_RANKS))
    monkeypatch.setattr(ChainState, "random_order", lambda state: np.arange(state.n_features))
    show("order of birth", IN_ORDER(80_000, rng))


@pytest.mark.slow
def test_columns_kept_in_the_order_of_birth_may_be_visited_at_random(rng, monkeypatch):
    put_in(monkeypatch, singletons, (TAKE_OUT, CLOSE_RANKS))
    assert_agreement(IN_ORDER, 80_000, rng)


def published_links(sampler, state):
    """The link update of the published code: who reaches the owner is read off the current links, own one included.

    A walk has at least one step, so that a link to the owner counts only if the owner's ignored link leads back.
    """
    rows, n, rng = state.process.rows, sampler.n_rows, state.rng
    for k in rng.permutation(state.n_features):
        c, owner = state.links[k], int(state.owners[k])
        for i in range(n):
            candidates = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
            weights = rows.weights[rows.indptr[i] : rows.indptr[i + 1]]
            if i != owner:
                reach = [owner in _walk(int(j), c) for j in candidates]
                scores = {}
                for on in set(reach):
                    trial = c.copy()
                    trial[i] = owner if on else i
                    scores[on] = sampler.log_likelihood(_with_column(state, k, reaching(owner, trial.tolist())), state)
                top = max(scores.values())
                weights = weights * np.array([np.exp(scores[on] - top) for on in reach])
            c[i] = rng.choice(candidates, p=weights / weights.sum())
        put_columns(state, _with_column(state, k, reaching(owner, c.tolist())))
    return 1, 1


def put_columns(state, columns):
    """Replace all columns, and what the likelihood keeps of them where weights are summed out."""
    K, Z = len(columns), columns.astype(float)
    state.lik.z[:K], state.lik.gram[:K, :K], state.lik.cross[:K] = columns, Z @ Z.T, Z @ state.lik.X


def _walk(j, c):
    """Return the rows that a walk from j comes to in one step or more."""
    seen = []
    for _ in range(len(c)):
        j = int(c[j])
        seen.append(j)
    return seen


def _with_column(state, k, z):
    columns = state.lik.z[: state.n_features].copy()
    columns[k] = z
    return columns


@pytest.mark.parametrize("prior", ["symmetric", "sequential"])
def test_the_link_rule_of_the_published_code_is_noticed(prior, rng):
    class Published(PosteriorSampler):
        def _moves(self):
            return super()._moves() | {"links": lambda state: published_links(self, state)}

    show(f"published links, {prior}", run(Problem(prior), LINKS, 2000, rng, make=Published))


def test_columns_updated_side_by_side_are_noticed(rng):
    """Every column flipped beside the others as they were before the sweep, as in parallel updates with old numbers."""

    def flip_side_by_side(state):
        before = state.lik.z[: state.n_features].copy()
        after = before.copy()
        for k in range(len(before)):
            put_columns(state, before)
            flips.sweep_exchangeable(state.rng, np.array([k]), state.lik, True, state.evidence, state.work)
            after[k] = state.lik.z[k]
        put_columns(state, after)
        return 1, 1

    class SideBySide(PosteriorSampler):
        def _moves(self):
            return super()._moves() | {"flips": flip_side_by_side}

    show("side by side", run(Problem("ibp", sigma_x=0.2), FLIPS, 4000, rng, make=SideBySide))


def test_singletons_that_forget_who_might_link_to_them_are_noticed(rng, monkeypatch):
    monkeypatch.setattr(LinkedProcess, "singleton_rates", property(lambda self: np.exp(-self.log_h)))
    show("singletons", run(Problem("symmetric"), [("links", 2), ("singletons", 1)], 1200, rng))


def test_a_wrong_number_of_outputs_is_noticed(rng):
    """Data reduced to as many outputs as rows, and the original number forgotten."""

    class Forgetful(PosteriorSampler):
        def start(self, rng):
            state = super().start(rng)
            state.lik.scales[2] = state.lik.X.shape[1]
            return state

    show("outputs", run(Problem("ibp", "wide"), FLIPS, 1200, rng, make=Forgetful))


# Noise as if the residuals were those of the expected weights, and not of weights that are drawn.
RESIDUALS = "misfit, energy = float((state.lik.residuals**2).sum())"
EXPECTED_RESIDUALS = """Z = state.Z.astype(float)
    H = Z.T @ Z + (state.lik.scales[0] / state.lik.scales[1]) ** 2 * np.eye(Z.shape[1])
    expected = state.lik.X - Z @ np.linalg.solve(H, Z.T @ state.lik.X)
    misfit, energy = float((expected**2).sum())"""


@pytest.mark.parametrize(
    "name, learned, collapsed, edit, n_sweeps",
    [
        ("scales without their Jacobian", ("sigma_x", "ibp"), True, (" + log_sigma", ""), 4000),
        ("noise from expected residuals", ("sigma_x", "ibp"), False, (RESIDUALS, EXPECTED_RESIDUALS), 1200),
        pytest.param(
            "decay without its normaliser",
            ("beta", "symmetric"),
            True,
            NO_NORMALISER["decay"],
            12_000,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_mistakes_about_learned_parameters_are_noticed(name, learned, collapsed, edit, n_sweeps, rng, monkeypatch):
    put_in(monkeypatch, parameters, edit)
    show(name, Learned(*learned).look(collapsed, n_sweeps, rng))


@pytest.mark.parametrize("name", [pytest.param("mass", marks=pytest.mark.slow), "decay"])
def test_the_joint_test_notices_dropped_normalisers(name, rng, monkeypatch):
    put_in(monkeypatch, parameters, NO_NORMALISER[name])
    result = Model("sequential", True, MASK).geweke(
        n_chains=40, n_sweeps=80, n_forward=2000, seed=int(rng.integers(2**32))
    )
    at = int(np.argmax(np.abs(result.z)))
    print(f"{name}: {abs(result.z[at]):.1f} standard errors in {result.names[at]}, p = {result.p_value:.1g}")
    assert result.p_value < 1e-6, f"\n{result}"


@pytest.mark.slow
def test_calibration_notices_a_dropped_normaliser(rng, monkeypatch):
    put_in(monkeypatch, parameters, NO_NORMALISER["mass"])
    model = Model("sequential", True, MASK)
    result = testing.calibration(
        lambda X: model.sampler(X, "data"), model.simulate, n_replications=40, thin=5, seed=int(rng.integers(2**32))
    )
    print(f"calibration: p = {result.p_values()['alpha']:.1g} for alpha")
    assert result.p_values()["alpha"] < 1e-6, f"\n{result}"
