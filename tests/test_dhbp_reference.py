"""The reference of the dHBP judges samplers, so it is judged first: by its definition, by closed forms, by draws.

Tests of draws have the false-alarm rate of `laws_of_tests`; all others are exact.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from ddibp import DHBP, Exponential
from laws_of_tests import assert_law, chi_square_p
from reference import dhbp as reference
from reference.links import patterns
from reference.matrices import log_prior as log_class
from reference.matrices import multiset, multisets
from reference.posterior import exact_posterior

T = [0.0, 0.4, 1.5, 1.7]
SETTINGS = [(1.0, 1.0), (3.0, 2.0), (0.4, 0.3), (10.0, 0.05)]
LENDERS = [(0, 1, 2, 3), (0, 0, 2, 2), (1, 1, 1, 0), (3, 3, 3, 3)]
DATA = np.array([[1.0, 2.0], [1.0, -1.0], [np.nan, 0.5]])


def proximity(n, sequential=False):
    return DHBP(Exponential(1.0), sequential=sequential).proximity(T[:n]).matrix.toarray()


def nodes_of_beta(alpha, beta, n=4):
    """Return nodes and weights that integrate polynomials of degree below 2n under Beta(alpha, beta)."""
    x, w = special.roots_jacobi(n, beta - 1, alpha - 1)
    return (x + 1) / 2, w / w.sum()


# --- rates ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c0, c1", SETTINGS)
@pytest.mark.parametrize("g", LENDERS)
def test_rates_given_lenders_are_the_integrals(g, c0, c1):
    rates = reference.rates_given(g, c0, c1, 1.7)
    for z, rate in rates.items():
        assert rate == pytest.approx(reference.quadrature_rate(z, g, c0, c1, 1.7), rel=1e-9)
    assert sum(rates.values()) == pytest.approx(reference.quadrature_total(g, c0, c1, 1.7), rel=1e-8)


@pytest.mark.parametrize("c0, c1", [(1.0, 0.8), (3.0, 2.0), (0.4, 0.3)])
def test_rates_are_those_of_coins_with_the_rows_own_probabilities(c0, c1):
    """From the definition, with p and all p* written out: row i has the atom with probability Σ_j a_ij p*_j."""
    a = proximity(3)
    given, dish = dict.fromkeys(patterns(3), 0.0), dict.fromkeys(patterns(3), 0.0)
    g = (1, 1, 2)
    for p, weight in zip(*nodes_of_beta(1.0, c0), strict=True):  # c0 (1-p)^{c0-1} dp; 1/p is left over
        for own in itertools.product(zip(*nodes_of_beta(c1 * p, c1 * (1 - p)), strict=True), repeat=3):
            star, weights = np.array(own).T
            mass = weight / p * np.prod(weights)
            for z in given:
                given[z] += mass * np.prod(np.where(z, star[list(g)], 1 - star[list(g)]))
                dish[z] += mass * np.prod(np.where(z, a @ star, 1 - a @ star))
    expected, shared = reference.rates_given(g, c0, c1), reference.dish_rates(a, c0, c1)
    assert_allclose([given[z] for z in expected], list(expected.values()), rtol=1e-9)
    assert_allclose([dish[z] for z in shared], list(shared.values()), rtol=1e-9)


@pytest.mark.parametrize("c0, c1", SETTINGS)
@pytest.mark.parametrize("sequential", [False, True])
def test_moments_of_both_readings(c0, c1, sequential):
    """E[R_i] = γ; E[R_ij] is γ κ1 for one lender, γ κ0 for two, and their average over lenders in both readings."""
    a, gamma = proximity(4, sequential), 2.3
    apart, together = 1 / (c0 + 1), (c0 + c1 + 1) / ((c0 + 1) * (c1 + 1))
    average = np.zeros((4, 4))
    for g, p in reference.lenders(a):
        R = reference.expected_sharing(reference.rates_given(g, c0, c1, gamma))
        same = np.equal.outer(g, g)
        expected = gamma * np.where(same, together, apart)
        np.fill_diagonal(expected, gamma)
        assert_allclose(R, expected, rtol=1e-10)
        average += p * R
    assert_allclose(reference.expected_sharing(reference.dish_rates(a, c0, c1, gamma)), average, rtol=1e-10)
    prior = DHBP(Exponential(1.0), gamma, c0, c1, sequential=sequential)
    assert_allclose(average, prior.expected_sharing(T), rtol=1e-10)


@pytest.mark.parametrize("g", LENDERS)
def test_limits_in_the_concentration_of_rows(g):
    """c1 → ∞: the two-parameter buffet whatever g. c1 → 0: borrowers of one row are one row of that buffet."""
    gamma, c0 = 1.3, 2.5
    for z, rate in reference.rates_given(g, c0, 1e9, gamma).items():
        assert rate == pytest.approx(gamma * c0 * special.beta(sum(z), 4 - sum(z) + c0), rel=1e-6)
    for z, rate in reference.rates_given(g, c0, 1e-9, gamma).items():
        taken = reference.counts(z, g)
        full, empty = sum(m == n for m, n in taken), sum(m == 0 for m, _ in taken)
        whole = full + empty == len(taken)
        assert rate == pytest.approx(gamma * c0 * special.beta(full, empty + c0) if whole else 0.0, rel=1e-6, abs=1e-8)
    for c1, n in ((1e9, 4), (1e-9, len(set(g)))):
        assert reference.quadrature_total(g, c0, c1) == pytest.approx(sum(c0 / (c0 + i) for i in range(n)), rel=1e-6)


def test_lenders_that_are_all_one_row_are_a_hierarchy_with_one_group():
    a = np.zeros((3, 3))
    a[:, 1] = 1.0
    assert [g for g, _ in reference.lenders(a)] == [(1, 1, 1)]
    dish, one = reference.dish_rates(a, 2.0, 3.0), reference.rates_given((0, 0, 0), 2.0, 3.0)
    assert_allclose(list(dish.values()), list(one.values()))


# --- draws of the library --------------------------------------------------------------------------------------------


def law_of_matrices(coupling, a, gamma, c0, c1, k_max):
    """Return P([Z]) of every multiset of at most k_max columns, and of all others together."""
    classes = list(multisets(len(a), k_max))
    if coupling == "dish":
        parts = [(1.0, reference.dish_rates(a, c0, c1, gamma))]
    else:
        parts = [(p, reference.rates_given(g, c0, c1, gamma)) for g, p in reference.lenders(a)]
    law = sum(p * np.exp([log_class(columns, rates) for columns in classes]) for p, rates in parts)
    return classes, np.append(law, 1.0 - law.sum())


def matrix_counts(prior, classes, n_draws, rng):
    proximity = prior.proximity(T[:3])
    seen = Counter(multiset(prior.sample(proximity, rng=rng)) for _ in range(n_draws))
    found = [seen[columns] for columns in classes]
    return [*found, n_draws - sum(found)]


@pytest.mark.parametrize("coupling", ["customer", "dish"])
@pytest.mark.parametrize("sequential", [False, True])
def test_draws_of_whole_matrices_follow_the_reference(coupling, sequential, rng):
    """Not only columns: in the reading "customer" columns are dependent through the lenders."""
    gamma, c0, c1 = 1.2, 1.5, 0.3
    prior = DHBP(Exponential(1.0), gamma, c0, c1, sequential=sequential, coupling=coupling)
    classes, law = law_of_matrices(coupling, proximity(3, sequential), gamma, c0, c1, 3)
    assert_law(matrix_counts(prior, classes, 30_000, rng), law)


def test_the_test_of_draws_tells_the_readings_apart(rng):
    gamma, c0, c1 = 1.2, 1.5, 0.3
    prior = DHBP(Exponential(1.0), gamma, c0, c1, coupling="customer")
    classes, law = law_of_matrices("dish", proximity(3), gamma, c0, c1, 3)
    assert chi_square_p(matrix_counts(prior, classes, 30_000, rng), law) < 1e-8


@pytest.mark.parametrize("coupling", ["customer", "dish"])
def test_columns_of_four_rows_follow_the_reference(coupling, rng):
    """Where columns are a Poisson process: which patterns they have, and how many there are."""
    gamma, c0, c1, a = 2.0, 3.0, 0.5, proximity(4)
    if coupling == "dish":
        rates, prior = reference.dish_rates(a, c0, c1, gamma), DHBP(Exponential(1.0), gamma, c0, c1, coupling="dish")
        covariates = prior.proximity(T)
    else:  # lenders that are certain, so that columns are a Poisson process
        far = np.full((4, 4), np.inf)
        np.fill_diagonal(far, 0.0)
        prior = DHBP(Exponential(1.0), gamma, c0, c1, metric="precomputed")
        rates, covariates = reference.rates_given((0, 1, 2, 3), c0, c1, gamma), prior.proximity(far)
    draws = [prior.sample(covariates, rng=rng) for _ in range(6000)]
    counter = Counter(tuple(z) for Z in draws for z in Z.T.astype(int))
    total = sum(rates.values())
    assert_law([counter[z] for z in rates], np.array(list(rates.values())) / total, 2)
    assert_law(
        np.bincount([Z.shape[1] for Z in draws], minlength=60),
        stats.poisson.pmf(np.arange(60), total) / stats.poisson.cdf(59, total),
        2,
    )


# --- posterior ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.7, (4.0, 6.0)])
def test_posterior_of_lenders_is_bayes_rule_written_out(gamma):
    a, c0, c1 = proximity(3), 1.5, 0.4
    exact = reference.customer_posterior(a, c0, c1, DATA, 0.5, 1.0, 6, gamma)
    evidence, shared, lender, joint = 0.0, np.zeros((3, 3)), np.zeros((3, 3)), 0.0
    for g, p in reference.lenders(a):
        part = exact_posterior(reference.rates_given(g, c0, c1), DATA, 0.5, 1.0, 6, gamma)
        weight = p * np.exp(part.log_evidence)
        evidence += weight
        shared += weight * part.sharing
        joint += weight * (part.mean_log_joint + np.log(p))
        lender[range(3), g] += weight
    assert exact.log_evidence == pytest.approx(np.log(evidence), rel=1e-12)
    assert_allclose(exact.sharing, shared / evidence, rtol=1e-10)
    assert_allclose(exact.lenders, lender / evidence, rtol=1e-10)
    assert exact.mean_log_joint == pytest.approx(joint / evidence, rel=1e-10)
    assert exact.law_of_K.sum() == pytest.approx(1.0)
    assert exact.mean_K == pytest.approx(sum(exact.mean_counts.values()))
    assert_allclose(np.diagonal(exact.together), 1.0)


def test_posterior_without_data_is_the_prior():
    a, c0, c1, gamma, empty = proximity(3), 1.5, 0.4, 0.3, np.zeros((3, 0))
    customer = reference.customer_posterior(a, c0, c1, empty, 1.0, 1.0, 9, gamma)
    dish = reference.dish_posterior(a, c0, c1, empty, 1.0, 1.0, 9, gamma)
    assert_allclose(customer.lenders, a, atol=1e-6)
    assert_allclose(customer.together[0, 1], a[0] @ a[1], atol=1e-6)
    expected = DHBP(Exponential(1.0), gamma, c0, c1).expected_sharing(T[:3])
    assert_allclose(customer.sharing, expected, atol=1e-5)
    assert_allclose(dish.sharing, expected, atol=1e-5)
    assert customer.log_evidence == pytest.approx(0.0, abs=1e-6)


def test_forgetting_the_total_rate_changes_the_posterior_of_lenders():
    """The factor e^{-Λ(g)} is no constant: a sampler without it has another law, far outside rounding."""
    a, c0, c1 = proximity(3), 1.5, 0.4
    exact = reference.customer_posterior(a, c0, c1, DATA, 0.5, 1.0, 6, 0.7)
    totals = np.array([part.alpha * part.total for part in exact.parts])
    wrong = exact.weights * np.exp(totals)
    wrong /= wrong.sum()
    assert np.abs(wrong - exact.weights).max() > 0.01
