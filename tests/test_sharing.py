"""Expected sharing by all methods, laws of shared features, limits, and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from ddibp import DDIBP, DHBP, IBP, Constant, Exponential, Gamma, Logistic, SharingLaw, Window, sharing
from laws_of_tests import assert_law, assert_poisson
from reference import decay as reference_decay
from reference import links as reference


@pytest.mark.parametrize("n", [1, 2, 4, 5])
@pytest.mark.parametrize("sequential", [False, True])
def test_exact_sharing_is_brute_force(n, sequential, rng):
    D = rng.gamma(1.0, 1.0, (n, n))
    D[rng.random((n, n)) < 0.3] = np.inf
    if sequential:
        D[np.triu_indices(n, 1)] = np.inf
    np.fill_diagonal(D, 0.0)
    f = np.exp(-D)
    h = f.sum(axis=1)
    S = reference.expected_sharing(f / h[:, None], h)
    prior = DDIBP(Exponential(1.0), alpha=2.0, metric="precomputed")
    law = prior.sharing(D)
    assert law.method == ("recursion" if sequential or n == 1 else "enumeration")
    np.testing.assert_allclose(law.mean(), 2.0 * S, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(prior.expected_sharing(D), law.mean())
    np.testing.assert_allclose(prior.sharing(D, method="enumeration").mean(), 2.0 * S, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("sequential", [False, True])
def test_monte_carlo_sharing_is_within_its_standard_errors(sequential, rng):
    t = np.sort(rng.uniform(0, 6, 14))
    prior = DDIBP(Exponential(1.0), alpha=1.0, sequential=sequential)
    exact = sharing.expected(prior, t)
    estimate = sharing.expected(prior, t, method="monte carlo", n_draws=20_000, rng=rng)
    assert exact.method == ("recursion" if sequential else "enumeration")
    assert exact.standard_error is None
    assert estimate.method == "monte carlo"
    # 105 comparisons at 5.5 standard errors: a false-alarm rate of 4e-6.
    errors = np.abs(estimate.values - exact.values) / np.maximum(estimate.standard_error, 1e-12)
    assert errors.max() < 5.5
    assert errors.std() > 0.3


def test_method_is_chosen_and_said():
    t = np.arange(40.0)
    assert sharing.expected(DDIBP(Exponential(0.1), 1.0, True), t).method == "recursion"
    assert sharing.expected(DDIBP(Exponential(0.1), 1.0), t).method == "monte carlo"
    groups = np.repeat(np.arange(8), 5)
    prior = DDIBP(Exponential(0.1), 1.0)
    in_groups = sharing.expected(prior, prior.proximity(t, groups=groups))
    assert in_groups.method == "enumeration"
    one = sharing.expected(prior, t[:5])
    np.testing.assert_allclose(in_groups[:5, :5], one.values, rtol=1e-12)
    assert in_groups[0, 5] == 0.0
    assert "monte carlo, largest standard error" in repr(sharing.expected(prior, t))
    assert sharing.expected(IBP(1.0), 3).method == "closed form"


def test_sequential_rows_expect_alpha_features_whatever_the_decay(rng):
    t = np.sort(rng.uniform(0, 50, 60))
    for decay in (Constant(), Exponential(0.3), Window(4.0)):
        S = DDIBP(decay, alpha=1.0, sequential=True).expected_sharing(t)
        np.testing.assert_allclose(np.diagonal(S), 1.0, rtol=1e-12)
    logistic = Logistic(1.0, 0.5)
    S = DDIBP(logistic, alpha=1.0, sequential=True).expected_sharing(t)
    np.testing.assert_allclose(np.diagonal(S), 1.0 / logistic(0.0), rtol=1e-12)


def test_two_rows_symmetric_and_sequential():
    f = 0.4
    t = [0.0, -np.log(f)]
    symmetric = DDIBP(Exponential(1.0), alpha=1.0).expected_sharing(t)
    assert symmetric[0, 0] == pytest.approx((1 + 2 * f) / (1 + f) ** 2, rel=1e-12)
    assert symmetric[0, 1] == pytest.approx(2 * f / (1 + f) ** 2, rel=1e-12)
    sequential = DDIBP(Exponential(1.0), alpha=1.0, sequential=True).expected_sharing(t)
    np.testing.assert_allclose(sequential, [[1.0, f / (1 + f)], [f / (1 + f), 1.0]], rtol=1e-12)


def test_constant_sequential_sharing_is_one_half():
    S = DDIBP(Constant(), alpha=1.0, sequential=True).expected_sharing(np.arange(30.0))
    np.testing.assert_allclose(S, 0.5 + 0.5 * np.eye(30), rtol=1e-12)


@pytest.mark.parametrize("sequential", [False, True])
def test_simulated_sharing_is_poisson_about_its_expectation(sequential, rng):
    t = np.array([0.0, 0.5, 2.0])
    prior = DDIBP(Exponential(1.0), alpha=2.0, sequential=sequential)
    R = sharing.simulate(prior, t, n_draws=5000, rng=rng)
    assert R.shape == (5000, 3, 3)
    expected = sharing.expected(prior, t)
    law = prior.sharing(t)
    for i in range(3):
        for j in range(i + 1):
            assert_poisson(R[:, i, j], expected[i, j], 12)
            counts = np.bincount(R[:, i, j], minlength=30)
            assert_law(counts, law.pmf(np.arange(len(counts)), i, j), 12)


def test_limiting_fractions_are_reached_by_large_masses(rng):
    t = np.array([0.0, 1.0, 1.5, 4.0])
    prior = DDIBP(Exponential(1.0), alpha=200_000.0)
    limit = sharing.limiting_fraction(prior, t)
    R = sharing.simulate(prior, t, n_draws=1, rng=rng)[0]
    np.testing.assert_allclose(R / np.diagonal(R)[:, None], limit.values, atol=0.012)
    assert limit[0, 1] != pytest.approx(limit[1, 0], abs=1e-3)  # asymmetric when expected numbers differ
    S = prior.set_params(alpha=1.0).expected_sharing(t)
    np.testing.assert_allclose(limit.values, S / np.diagonal(S)[:, None], rtol=1e-12)


def test_limiting_fraction_by_monte_carlo_has_errors(rng):
    t = np.arange(30.0)
    exact = DDIBP(Exponential(0.5), 1.0, True)
    estimate = sharing.limiting_fraction(exact, t, method="monte carlo", n_draws=4000, rng=rng)
    np.testing.assert_array_less(
        np.abs(estimate.values - sharing.limiting_fraction(exact, t).values), 6 * estimate.standard_error + 1e-9
    )
    assert np.all(np.diagonal(estimate.standard_error) == 0)


def test_gamma_mass_makes_negative_binomials(rng):
    law = IBP(Gamma(3.0, 0.5)).sharing(2)
    pmf = law.pmf(np.arange(400), 0, 1)
    assert pmf.sum() == pytest.approx(1.0, abs=1e-9)
    assert (pmf * np.arange(400)).sum() == pytest.approx(law.mean()[0, 1], rel=1e-6)
    variance = (pmf * np.arange(400) ** 2).sum() - law.mean()[0, 1] ** 2
    assert variance == pytest.approx(law.variance()[0, 1], rel=1e-6)
    draws = law.sample(0, 1, 20_000, rng)
    assert_law(np.bincount(draws, minlength=400), pmf / pmf.sum())


@pytest.mark.parametrize("coupling", ["customer", "dish"])
@pytest.mark.parametrize("sequential", [False, True])
def test_dhbp_sharing_laws_against_simulation(coupling, sequential, rng):
    t = np.array([0.0, 0.4, 1.0])
    prior = DHBP(Exponential(1.0), gamma=6.0, c0=3.0, c1=2.0, sequential=sequential, coupling=coupling)
    law = prior.sharing(t)
    R = sharing.simulate(prior, t, n_draws=6000, rng=rng)
    for i in range(3):
        for j in range(i + 1):
            counts = np.bincount(R[:, i, j], minlength=60)
            assert_law(counts, law.pmf(np.arange(len(counts)), i, j), 6)


def test_dhbp_readings_agree_in_the_mean_and_differ_in_law():
    t = np.array([0.0, 0.4])
    customer, dish = (DHBP(Exponential(1.0), 20.0, c0=3.0, c1=2.0, coupling=c).sharing(t) for c in ("customer", "dish"))
    np.testing.assert_allclose(customer.mean(), dish.mean(), rtol=1e-12)
    a = reference_decay.proximity(reference_decay.distances(t), reference_decay.exponential(1.0))[0]
    s = float(a[0] @ a[1])
    k0, k1 = 1 / 4, 6 / 12
    assert dish.variance()[0, 1] == pytest.approx(dish.mean()[0, 1])
    assert customer.variance()[0, 1] == pytest.approx(dish.mean()[0, 1] + 400 * s * (1 - s) * (k1 - k0) ** 2)
    values, probabilities = customer.limiting_fractions()
    assert values[:, 0, 1].tolist() == pytest.approx([k1, k0])
    assert probabilities[:, 0, 1].tolist() == pytest.approx([s, 1 - s])
    assert sharing.limiting_fraction(DHBP(Exponential(1.0), 20.0, c0=3.0, c1=2.0), t)[0, 1] == pytest.approx(
        k0 + s * (k1 - k0)
    )


def test_dhbp_large_mass_shows_two_values_or_one(rng):
    """The paper's contrast of two random values belongs to one lender per row."""
    t = np.zeros(12)
    for coupling, n_peaks in (("customer", 2), ("dish", 1)):
        prior = DHBP(Constant(), gamma=1000.0, c0=10.0, c1=1.0, coupling=coupling)
        R = sharing.simulate(prior, t, n_draws=1, rng=rng)[0]
        fractions = (R / np.diagonal(R)[:, None])[~np.eye(12, dtype=bool)]
        low, high = 1 / 11, 12 / 22
        near = [np.abs(fractions - v).min() < 0.06 for v in (low, high)]
        assert sum(near) == (2 if n_peaks == 2 else 1)
        if n_peaks == 1:
            s = 1 / 12
            assert np.abs(fractions - (low + s * (high - low))).max() < 0.06


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DHBP(coupling="both"), "coupling must be one of 'customer', 'dish'"),
        (lambda: DHBP(sequential="no"), "sequential must be True or False"),
        (lambda: DHBP(metric="far"), "metric must be a callable or one of"),
        (lambda: DDIBP(metric="far"), "metric must be a callable or one of"),
        (lambda: sharing.expected(DDIBP(Window(2.0), 1.0), np.arange(3e5)), "all pairs of 300,000 rows .* fewer rows"),
        (lambda: sharing.expected(IBP(1.0), 300_000), "all pairs of 300,000 rows .* fewer rows"),
        (lambda: DHBP(c0=0.0), "c0 must be"),
        (lambda: DHBP(c1=-1.0), "c1 must be"),
        (lambda: DHBP(gamma=0.0), "gamma must be"),
        (lambda: sharing.expected(3, 4), "prior must be an IBP, DDIBP"),
        (lambda: sharing.expected(IBP(1.0), 3, method="monte carlo"), "method must be 'auto' for IBP"),
        (lambda: sharing.simulate(IBP(1.0), 3, n_draws=0), "n_draws must be at least 1"),
        (lambda: IBP(1.0).sharing(2).pmf([-1], 0, 1), "counts must be whole numbers"),
        (lambda: IBP(1.0).sharing(2).pmf([0.5], 0, 1), "counts must be whole numbers"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_sharing_matrix_is_an_array():
    matrix = sharing.expected(IBP(2.0), 2)
    assert isinstance(matrix, sharing.SharingMatrix)
    np.testing.assert_array_equal(np.asarray(matrix), [[2.0, 1.0], [1.0, 2.0]])
    assert np.asarray(matrix, dtype=np.float32).dtype == np.float32
    assert np.array(matrix) is not matrix.values
    assert matrix.shape == (2, 2)
    assert isinstance(IBP(1.0).sharing(2), SharingLaw)
    assert IBP(1.0).sharing(5).n_rows == 5
