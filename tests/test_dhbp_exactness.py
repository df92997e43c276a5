"""Probabilities of the dHBP against sums over all lenders, patterns and matrices; its reductions to the IBP."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ddibp import DHBP, IBP, Exponential, Gamma, Window
from reference import dhbp as reference
from reference.links import patterns
from reference.matrices import enumerate_matrices
from reference.posterior import log_prior

T = [0.0, 0.4, 1.5, 1.7]
DECAYS = {"exponential": Exponential(0.8), "window": Window(1.2)}


def priors(coupling, n_rows):
    for f, ordered in itertools.product(DECAYS.values(), [False, True]):
        prior = DHBP(f, gamma=1.3, c0=2.5, c1=0.7, sequential=ordered, coupling=coupling)
        yield prior, prior.proximity(T[:n_rows]).matrix.toarray()


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
def test_rates_in_the_reading_dish(n_rows):
    columns = np.array(patterns(n_rows)).T
    for prior, a in priors("dish", n_rows):
        exact = reference.dish_rates(a, 2.5, 0.7, 1.3)
        assert_allclose(np.exp(prior.log_rate(columns, T[:n_rows])), list(exact.values()), rtol=1e-10)
        assert prior.expected_features(T[:n_rows]) == pytest.approx(sum(exact.values()), rel=1e-10)
        sharing = reference.expected_sharing(exact)
        assert_allclose(prior.expected_sharing(T[:n_rows]), sharing, rtol=1e-10)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4])
def test_rates_given_lenders(n_rows):
    columns = np.array(patterns(n_rows)).T
    for prior, a in priors("customer", n_rows):
        total = 0.0
        for g, p in reference.lenders(a):
            exact = reference.rates_given(g, 2.5, 0.7, 1.3)
            assert_allclose(np.exp(prior.log_rate(columns, T[:n_rows], lenders=g)), list(exact.values()), rtol=1e-10)
            assert prior.expected_features(T[:n_rows], lenders=g) == pytest.approx(sum(exact.values()), rel=1e-10)
            total += p * sum(exact.values())
        assert prior.expected_features(T[:n_rows]) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("coupling", ["customer", "dish"])
@pytest.mark.parametrize("gamma", [0.6, (2.0, 3.0)])
def test_probabilities_of_matrices(coupling, gamma):
    """Every class of at most five columns over three rows: its probability, and their sum."""
    every = enumerate_matrices(3, 5)
    for prior, a in priors(coupling, 3):
        known = prior.set_params(gamma=Gamma(*gamma) if isinstance(gamma, tuple) else gamma)
        if coupling == "dish":
            exact = np.exp(log_prior(every, reference.dish_rates(a, 2.5, 0.7), gamma))
        else:
            parts = [(p, reference.rates_given(g, 2.5, 0.7)) for g, p in reference.lenders(a)]
            exact = sum(p * np.exp(log_prior(every, rates, gamma)) for p, rates in parts)
        Z = [np.repeat(np.array(every.patterns).T, counts, axis=1) for counts in every.counts]
        found = np.exp([known.logpmf(z, T[:3]) for z in Z])
        assert_allclose(found, exact, rtol=1e-10)
        assert found.sum() == pytest.approx(1.0, abs=0.05)
        assert found.sum() < 1.0


@pytest.mark.parametrize("n_rows", [5, 30])
def test_without_concentration_of_the_rows_it_is_the_ibp(n_rows, rng):
    """c1 to infinity: rows follow the base probability, whoever they borrow from; with c0 = 1 this is the IBP."""
    t = np.sort(rng.random(n_rows))
    Z = IBP(3.0).sample(n_rows, rng=rng)
    lenders = rng.integers(n_rows, size=n_rows)
    rates = DHBP(gamma=3.0, c0=1.0, c1=1e15).log_rate(Z, t, lenders=lenders)
    assert_allclose(rates, IBP(3.0).log_rate(Z), rtol=1e-10, atol=1e-10)
    apart = DHBP(gamma=3.0, c0=1.0, c1=0.3).log_rate(Z, t, lenders=np.arange(n_rows))
    assert_allclose(apart, IBP(3.0).log_rate(Z), rtol=1e-10, atol=1e-10)
    assert (
        np.abs(DHBP(gamma=3.0, c0=1.0, c1=1e3).log_rate(Z, t, lenders=0 * lenders) - IBP(3.0).log_rate(Z)).max() > 1e-4
    )


def test_many_rows_are_summed_out_to_rounding(rng):
    """The nodes that are left out beyond 20 + 4 sqrt(N) do not matter."""
    from ddibp.priors import _borrowing

    t = np.arange(400.0)
    prior = DHBP(Exponential(0.05), gamma=4.0, c0=3.0, c1=2.0)
    Z = prior.sample(t, rng=rng)
    lenders = np.array([rng.integers(max(0, i - 20), i + 1) for i in range(400)])
    some = prior.log_rate(Z, t, lenders=lenders)
    all_nodes = _borrowing.nodes.__wrapped__
    process = prior.process(t).with_hidden({"lenders": lenders.astype(np.int32)})
    from scipy.special import roots_jacobi

    x, weights = roots_jacobi(201, 2.0, 0.0)
    process.__dict__["_nodes"] = (0.5 * (1.0 + x), weights / weights.sum())
    assert len(all_nodes(400, 3.0)[0]) < 201
    assert_allclose(np.log(4.0) + process.log_unit_rates(Z), some, rtol=1e-11)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: DHBP(c0=2000.0), "c0 must be at most 1000"),
        (lambda: DHBP().log_rate([[1]], [0.0]), "lenders must be given for coupling='customer'"),
        (lambda: DHBP().logpmf(np.ones((9, 1)), np.arange(9.0)), "too many to sum over.*lenders="),
        (
            lambda: DHBP(coupling="dish").logpmf([[1]], [0.0], lenders=[0]),
            "lenders must be left out for coupling='dish'",
        ),
        (
            lambda: DHBP().logpmf([[1], [1]], [0.0, 1.0], lenders=[0]),
            "lenders must hold a row number for each of the 2",
        ),
        (lambda: DHBP().logpmf([[1], [1]], [0.0, 1.0], lenders=[0, 2]), "lenders must be rows from 0 to 1"),
        (lambda: DHBP(Window(0.5)).logpmf([[1], [1]], [0.0, 1.0], lenders=[1, 1]), "row 0 cannot borrow from row 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
