"""The processes of chains under the dHBP in special cases: the IBP, the two-parameter IBP, and rates given lenders.

Then the paper's contrast of dependences at a large mass; tests of draws have the false-alarm rate of `laws_of_tests`.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaln, digamma, polygamma

from ddibp import DHBP, IBP, Constant, Exponential, sharing
from ddibp.priors import _dish_kernels
from laws_of_tests import assert_law
from reference.dhbp import rates_given
from reference.links import patterns


def borrowing(n, c0, c1, lenders=None):
    """Return the process of n rows given their lenders, by default a lender for each."""
    process = DHBP(Constant(), gamma=1.0, c0=c0, c1=c1).process(np.zeros(n))
    return process if lenders is None else process.with_hidden({"lenders": np.array(lenders, np.int32)})


def columns(n, rng):
    """Return many columns of n rows, singletons and the full one among them."""
    Z = np.hstack([np.eye(n), np.ones((n, 1)), rng.random((n, 40)) < rng.random(40)]).astype(bool)
    return Z[:, Z.any(axis=0)]


def two_parameter_log_rates(Z, c0):
    m, n = Z.sum(axis=0), len(Z)
    return np.log(c0) + betaln(m, n - m + c0)


@pytest.mark.parametrize("c1", [1e-3, 1.0, 1e12])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_with_a_lender_for_every_row_it_is_the_ibp(n, c1, rng):
    process, Z = borrowing(n, 1.0, c1), columns(n, rng)
    assert_allclose(process.log_unit_rates(Z), IBP(1.0).log_rate(Z), rtol=0, atol=1e-10)
    assert_allclose(process.singleton_rates, 1.0 / n, rtol=1e-10)
    assert_allclose(process.log_h, np.log(np.arange(1.0, n + 1.0)), rtol=0, atol=1e-10)
    assert process.unit_total == pytest.approx(IBP(1.0).expected_features(n), rel=1e-10)


@pytest.mark.parametrize("c0", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("n", [1, 6, 12])
def test_rows_that_vary_little_are_those_of_the_buffet_of_two_parameters(n, c0, rng):
    """c1 = 1e12 whoever borrows from whom; terms of order N^2 / c1 are left."""
    Z = columns(n, rng)
    expected, total = two_parameter_log_rates(Z, c0), sum(c0 / (c0 + i) for i in range(n))
    for _ in range(3):
        process = borrowing(n, c0, 1e12, rng.integers(n, size=n))
        assert_allclose(process.log_unit_rates(Z), expected, rtol=0, atol=3e-10)
        assert process.unit_total == pytest.approx(total, rel=1e-9)
    dish = DHBP(Exponential(1.0), gamma=1.0, c0=c0, c1=1e12, coupling="dish").process(rng.normal(size=n))
    assert_allclose(dish.log_prior(Z[:, :1], 1.0), expected[0] - total, rtol=0, atol=1e-8)


@pytest.mark.parametrize("c0", [1e-2, 0.7, 3.0, 1e3])
@pytest.mark.parametrize("c1", [1e-3, 0.6, 1e3])
def test_rates_given_lenders_are_those_of_the_reference(c0, c1):
    Z = np.array(patterns(4)).T.astype(bool)
    for lenders in [(0, 0, 0, 0), (0, 1, 1, 0), (3, 3, 3, 1), (1, 0, 2, 3)]:
        process, expected = borrowing(4, c0, c1, lenders), rates_given(lenders, c0, c1)
        assert_allclose(np.exp(process.log_unit_rates(Z)), list(expected.values()), rtol=1e-9)
        assert process.unit_total == pytest.approx(sum(expected.values()), rel=1e-10)
        singles = [expected[tuple(int(i == j) for j in range(4))] for i in range(4)]
        assert_allclose(process.singleton_rates, singles, rtol=1e-9)


def test_base_probabilities_that_round_to_one_keep_their_distance_from_it(rng):
    """With c0 = 0.01, a column that all rows have has p ~ Beta(4, 0.01), which nearly always rounds to 1."""
    n, c0 = 4000, 0.01
    columns, lenders = np.ones((n, 4), np.uint8), np.tile(np.arange(4, dtype=np.int32), (n, 1))
    atoms, log_rest = _dish_kernels.draw_atoms(rng, columns, lenders, c0, 0.7)
    assert np.mean(atoms == 1.0) > 0.5
    expected, variance = digamma(c0) - digamma(4.0 + c0), polygamma(1, c0) - polygamma(1, 4.0 + c0)
    assert abs(log_rest.mean() - expected) < 4.5 * np.sqrt(variance / n)  # false alarms: 7e-6
    assert_allclose(np.exp(log_rest[atoms < 0.9]), 1.0 - atoms[atoms < 0.9], rtol=1e-10)


@pytest.mark.parametrize("coupling, n_peaks", [("customer", 2), ("dish", 1)])
def test_sharing_at_a_large_mass_has_peaks_where_they_are_predicted(coupling, n_peaks, rng):
    """Mass 1000, c0 = 10, c1 = 1: peaks at 545 (one lender) and 91 (two), or one between them."""
    t = np.array([0.0, 0.5])
    prior = DHBP(Exponential(1.0), gamma=1000.0, c0=10.0, c1=1.0, coupling=coupling)
    law = prior.sharing(t)
    places, chances = 1000.0 * law.unit_means[:, 0, 1], law.weights[:, 0, 1]
    if n_peaks == 2:
        assert_allclose(places, [1000.0 * 12.0 / 22.0, 1000.0 / 11.0])
    assert len(places) == n_peaks
    R = sharing.simulate(prior, t, n_draws=600, rng=rng)[:, 0, 1]
    near = np.abs(R[:, None] - places) < 7.0 * np.sqrt(places)
    assert near.any(axis=1).all()  # a draw lies elsewhere with probability 1e-9
    assert_law(near.sum(axis=0), chances, 2)
    edges = np.arange(0, 1000, 15)
    exact = np.add.reduceat(law.pmf(np.arange(1000), 0, 1), edges)
    assert_law(np.histogram(R, [*edges, 1000])[0], exact / exact.sum(), 2)
