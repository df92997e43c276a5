"""Chains stay consistent over long runs, and compiled code does what the same code does interpreted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import interpreted
from ddibp import AIBD, DDIBP, DHBP, DIBP, IBP, Exponential, Gamma, Window, sample_posterior
from ddibp.likelihoods import LinearGaussian
from ddibp.sampling.consistency import check
from ddibp.sampling.sampler import PosteriorSampler

MASS, RATE = Gamma(4.0, 2.0), Gamma(4.0, 3.0)
PRIORS = {
    "ibp": IBP(MASS),
    "sequential": DDIBP(Exponential(RATE), alpha=MASS, sequential=True),
    "symmetric": DDIBP(Exponential(RATE), alpha=MASS),
    "sequential window": DDIBP(Window(3.0), alpha=MASS, sequential=True),
    "window": DDIBP(Window(3.0), alpha=MASS),
    "customer": DHBP(Window(3.0), gamma=MASS, c0=RATE, c1=RATE),
    "dish": DHBP(Window(3.0), gamma=MASS, c0=RATE, c1=RATE, coupling="dish"),
    "aibd": AIBD(Exponential(RATE), alpha=MASS),
    "aibd in any order": AIBD(Exponential(RATE), alpha=MASS, permutation="uniform"),
    "dibp": DIBP("matern32", alpha=MASS, length_scale=RATE, nugget=RATE),
}
# Name: rows, outputs, share of missing entries, weights summed out.
FORMS = {
    "collapsed": (30, 8, 0.0, True),
    "collapsed, missing": (30, 8, 0.15, True),
    "reduced": (14, 40, 0.0, True),
    "reduced, missing": (14, 40, 0.15, True),
    "instantiated": (30, 8, 0.0, False),
    "instantiated, missing": (30, 8, 0.15, False),
}


def long_chain(prior, form, noise, rng, scale=1.0):
    """Return a sampler of strong data and the beginning of a chain."""
    n_rows, n_outputs, missing, collapsed = FORMS[form]
    X = scale * interpreted.data(n_rows, n_outputs, missing, noise, rng, n_features=5)
    t = None if prior == "ibp" else np.cumsum(rng.exponential(0.7, n_rows))
    likelihood = LinearGaussian(Gamma(2.0, 2.0 / scale), Gamma(2.0, 2.0 / scale), collapsed=collapsed)
    sampler = PosteriorSampler(PRIORS[prior], likelihood, X, t)
    return sampler, sampler.start(rng)


def go(sampler, state, n_sweeps, every):
    check(sampler, state)
    for sweep in range(1, n_sweeps + 1):
        sampler.sweep(state)
        if sweep % every == 0:
            check(sampler, state)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prior", PRIORS)
def test_every_move_leaves_a_consistent_state(prior, form, rng):
    """Each move in turn, three rounds, with a check after each."""
    sampler, state = long_chain(prior, form, 0.05, rng)
    check(sampler, state)
    for _ in range(3):
        for name, move in sampler.moves.items():
            move(state)
            try:
                check(sampler, state)
            except AssertionError as error:
                raise AssertionError(f"after {name}: {error}") from None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prior", PRIORS)
def test_sums_do_not_drift(prior, form, rng):
    sampler, state = long_chain(prior, form, 0.02, rng)
    go(sampler, state, 100, 5)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("form", ["collapsed", "instantiated, missing"])
def test_units_do_not_matter(form, scale, rng):
    sampler, state = long_chain("symmetric", form, 0.05, rng, scale)
    go(sampler, state, 20, 5)
    assert 1 <= state.n_features <= 25


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("prior", PRIORS)
def test_sums_do_not_drift_over_long_runs(prior, form, rng):
    sampler, state = long_chain(prior, form, 0.01, rng)
    go(sampler, state, 3000, 7)


@pytest.mark.parametrize("form", ["collapsed, missing", "instantiated, missing"])
@pytest.mark.parametrize("prior", PRIORS)
def test_packed_chains_go_on_bit_for_bit(prior, form, rng):
    sampler, state = long_chain(prior, form, 0.05, rng)
    go(sampler, state, 5, 5)
    copy = sampler.unpack(sampler.pack(state))
    check(sampler, copy)
    for chain in (state, copy):
        for _ in range(3):
            sampler.sweep(chain)
    packed, other = sampler.pack(state), sampler.pack(copy)
    assert packed.keys() == other.keys()
    for name in packed.keys() - {"numbers"}:  # times are among them
        assert_array_equal(packed[name], other[name], err_msg=name)
    assert state.alpha == copy.alpha
    assert state.parameters == copy.parameters


@pytest.mark.parametrize("prior", ["customer", "dish", "aibd", "aibd in any order", "dibp"])
def test_runs_are_resumed_where_they_stopped(prior, tmp_path, rng):
    X = interpreted.data(10, 3, 0.1, 0.1, rng)
    t = np.linspace(0.0, 9.0, 10)
    given = PRIORS[prior], LinearGaussian(Gamma(2.0, 2.0), 1.0), X
    plan = {"tune": 3, "chains": 2, "progress": False}
    whole = sample_posterior(*given, t, draws=8, **plan)
    sample_posterior(*given, t, draws=3, checkpoint=tmp_path / "run", **plan)
    resumed = sample_posterior(*given, t, draws=8, checkpoint=tmp_path / "run", **plan)
    for name, values in whole.data["posterior"].items():
        assert_array_equal(values, resumed.data["posterior"][name], err_msg=name)
    for Z, other in zip(whole.draws(), resumed.draws(), strict=True):
        assert_array_equal(Z, other)
    with pytest.raises(ValueError, match="covariates was"):
        sample_posterior(*given, t[::-1] ** 2, draws=8, checkpoint=tmp_path / "run", **plan)


# What a mistake in a move could leave behind, and the words that the check has for it.
DAMAGES = {
    "gram": (lambda s: s.lik.gram.__setitem__((0, 1), s.lik.gram[0, 1] + 1.0), "collapsed", "gram"),
    "cross": (lambda s: s.lik.cross.__setitem__((1, 0), s.lik.cross[1, 0] + 1e-4), "collapsed", "cross"),
    "size": (lambda s: s.lik.gram.__setitem__((0, 0), 1e3), "instantiated", "diagonal of gram"),
    "residuals": (lambda s: s.lik.residuals.__setitem__((2, 0), 9.0), "instantiated", "residuals"),
    "weights": (lambda s: s.lik.weights.__setitem__((0, 0), 9.0), "instantiated, missing", "residuals"),
    "empty": (lambda s: s.lik.z.__setitem__(1, 0), "collapsed", "feature 1 is empty"),
    "data": (lambda s: s.data.__setitem__((0, 0), 9.0), "collapsed", "observed entry"),
    "reduced": (lambda s: s.lik.X.__setitem__((0, 0), 99.0), "reduced", "reduced data"),
    "owner": (lambda s: s.owners.__setitem__(0, np.flatnonzero(s.lik.z[0] == 0)[0]), "collapsed", "lacks its owner"),
    "walk": (lambda s: _cut(s), "collapsed", "walk to the owner"),
    "alpha": (lambda s: setattr(s, "alpha", np.nan), "collapsed", "alpha is nan"),
    "decay": (lambda s: s.parameters.__setitem__("beta", 2.0 * s.parameters["beta"]), "collapsed", "proximity"),
}


def _cut(state):
    """Let an active row that is not the owner link to itself."""
    k = int(np.argmax(state.lik.z[: state.n_features].sum(axis=1)))
    rows = np.flatnonzero(state.lik.z[k])
    row = rows[rows != state.owners[k]][-1]
    state.links[k, row] = row


# The same for what other priors keep: a prior, the mistake, and the words.
DAMAGES_OF_PRIORS = {
    "lender of a row": (
        "customer",
        lambda s: s.process.lenders.__setitem__(0, 29),
        "cannot borrow from row 29, but does",
    ),
    "lender of a dish": ("dish", lambda s: s.links.__setitem__((1, 0), 29), "but does in feature 1"),
    "order": ("aibd in any order", lambda s: s.process.order.__setitem__(0, s.process.order[1]), "rows arrive"),
    "side": ("dibp", lambda s: s.marks.__setitem__((1, 1), 2.0 * s.marks[1, 0] - s.marks[1, 1]), "wrong side"),
    "threshold": ("dibp", lambda s: s.marks.__setitem__((1, 0), -np.inf), "not finite"),
    "scale": ("dibp", lambda s: s.parameters.__setitem__("length_scale", 9.0), "correlations"),
    "concentration": ("customer", lambda s: s.parameters.__setitem__("c1", 9.0), "rates of columns"),
}


@pytest.mark.parametrize("name", [*DAMAGES, *DAMAGES_OF_PRIORS])
def test_damage_is_seen(name, rng):
    if name in DAMAGES:
        prior, (damage, form, words) = "symmetric", DAMAGES[name]
    else:
        (prior, damage, words), form = DAMAGES_OF_PRIORS[name], "collapsed"
    sampler, state = long_chain(prior, form, 0.05, rng)
    go(sampler, state, 3, 3)
    damage(state)
    with pytest.raises(AssertionError, match=words):
        check(sampler, state)


def test_interpreted_chains_equal_compiled_ones(tmp_path):
    """All priors and forms, every move, from the data and from the prior: the same draws, number for number.

    Discrete parts and the generator must be equal bit for bit. Sums of compiled code may be taken in another order
    (`ddibp._kernel.fast_sums_kernel`), which changes weights that are part of the state in their last bits, so that
    numbers may differ by 1e-9; a difference of 1e-15 turns a decision once in 1e14.
    """
    file = tmp_path / "interpreted.npz"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, Path(interpreted.__file__), file], env=environment, check=True, cwd=tmp_path)
    compiled = interpreted.states()
    with np.load(file) as plain:
        assert set(plain.files) == set(compiled)
        for name, array in compiled.items():
            if array.dtype.kind == "f":
                assert_allclose(plain[name], array, rtol=0, atol=1e-9, err_msg=name)
            else:
                assert_array_equal(plain[name], array, err_msg=name)
