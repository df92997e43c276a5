"""The attraction Indian buffet distribution against its definition, by enumeration and by draws.

Tests of draws have the false-alarm rate of `laws_of_tests`; all others are exact.
"""

from __future__ import annotations

import io
import itertools
import math
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp

from ddibp import AIBD, DDIBP, IBP, Constant, Exponential, Gamma, Proximity, Window, contract, sharing
from ddibp.cli import main
from laws_of_tests import assert_law, assert_poisson, chi_square_p
from reference import aibd as reference
from reference.links import patterns
from reference.matrices import log_prior, matrix, multiset, multisets

ORDERS = [None, (2, 0, 3, 1), (3, 2, 1, 0)]


def example(n=4):
    """Return asymmetric distances of n rows and their attractions."""
    D = np.random.default_rng(5).gamma(0.8, 1.5, (n, n))
    np.fill_diagonal(D, 0.0)
    return D, np.exp(-D)


def by_distance(alpha=1.7, **settings):
    return AIBD(Exponential(1.0), alpha, metric="precomputed", **settings)


def all_columns(n):
    return np.array(patterns(n)).T


def harmonic(n):
    return sum(1 / i for i in range(1, n + 1))


# --- probabilities --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_rates_are_those_of_the_definition_for_every_order(n):
    D, L = example(n)
    prior = by_distance()
    for order in reference.orders(n):
        rates = reference.pattern_rates(L, order, 1.7)
        ours = np.exp(prior.log_rate(all_columns(n), D, order=order))
        assert_allclose(ours, list(rates.values()), rtol=1e-11)
        assert ours.sum() == pytest.approx(1.7 * harmonic(n), rel=1e-12)
    assert prior.expected_features(D) == pytest.approx(1.7 * harmonic(n), rel=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_probabilities_of_matrices_are_those_of_the_definition(order):
    D, L = example()
    prior = by_distance(0.8)
    rates = reference.pattern_rates(L, order or range(4), 0.8)
    total = 0.0
    for columns in multisets(4, 3):
        ours = prior.logpmf(matrix(columns, 4), D, order=order)
        assert ours == pytest.approx(log_prior(columns, rates), rel=1e-11)
        total += math.exp(ours)
    assert total == pytest.approx(stats.poisson.cdf(3, 0.8 * harmonic(4)), rel=1e-10)


def test_a_gamma_mass_is_integrated_out():
    D, _ = example()
    Z, nodes = np.array([[1, 0], [1, 1], [0, 1], [0, 0]]), np.linspace(1e-4, 30.0, 20001)
    for settings in ({}, {"permutation": "uniform"}):
        values = [by_distance(a, **settings).logpmf(Z, D) for a in nodes[::100]]
        law = np.interp(nodes, nodes[::100], values)  # log probability is smooth in the mass but for K log(mass)
        smooth = np.interp(nodes, nodes[::100], values - 2 * np.log(nodes[::100]))
        law = np.exp(smooth + 2 * np.log(nodes) + stats.gamma.logpdf(nodes, 3.0, scale=0.5))
        expected = np.log(((law[1:] + law[:-1]) / 2 * np.diff(nodes)).sum())
        assert by_distance(Gamma(3.0, 2.0), **settings).logpmf(Z, D) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [1, 3, 10, 50])
def test_without_attraction_it_is_the_ibp(n, rng):
    """Temperature 0, as a constant decay and as an exponential one with rate 0, for any order of arrival."""
    Z, t = IBP(2.0).sample(n, rng=rng), rng.normal(size=(n, 2))
    expected = IBP(2.0).logpmf(Z)
    for decay in (Constant(), Exponential(0.0)):
        assert AIBD(decay, 2.0).logpmf(Z, t) == pytest.approx(expected, rel=1e-11, abs=1e-10)
        assert AIBD(decay, 2.0).logpmf(Z, t, order=rng.permutation(n)) == pytest.approx(expected, rel=1e-11, abs=1e-10)
        if n <= 12:
            uniform = AIBD(decay, 2.0, permutation="uniform")
            assert uniform.logpmf(Z, t) == pytest.approx(expected, rel=1e-11, abs=1e-10)
    assert_allclose(AIBD(Constant(), 2.0).expected_sharing(t), IBP(2.0).expected_sharing(n), rtol=1e-12)


def test_far_rows_keep_their_digits():
    """Attractions of e^-5000 vanish as numbers; their ratios do not."""
    t, prior = [0.0, 5000.0, 10000.0], AIBD(Exponential(1.0), 1.0)
    assert prior.log_rate([[1], [0], [1]], t)[0] == pytest.approx(math.log(0.5) - 5000.0 + math.log(2 / 3), rel=1e-12)
    assert prior.log_rate([[1], [1], [0]], t)[0] == pytest.approx(math.log(0.5) + math.log(1 / 3), rel=1e-12)
    exact = prior.set_params(permutation="uniform").logpmf([[1], [0], [1]], t)
    orders = [prior.logpmf([[1], [0], [1]], t, order=o) for o in reference.orders(3)]
    assert exact == pytest.approx(logsumexp(orders) - math.log(6), rel=1e-12)
    assert_allclose(prior.proximity(t).matrix.toarray().sum(axis=1), 1.0)
    assert prior.logpmf(prior.sample(t, rng=0), t) > -np.inf


def test_what_cannot_be_has_probability_zero():
    for permutation in ("rows", "uniform"):
        assert by_distance(permutation=permutation).logpmf(np.zeros((4, 1)), example()[0]) == -np.inf


def test_it_answers_what_a_feature_process_is_asked():
    assert isinstance(AIBD(), contract.FeatureProcess)


# --- order of arrival -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_general_formulas_agree_with_the_sequential_ones(order, rng):
    """A proximity for another order is not triangular; determinants must give what coins give for permuted rows."""
    D, _ = example(8)
    order = None if order is None else rng.permutation(8)
    prior = by_distance(2.0)
    Z = prior.sample(D, order=order, rng=rng)
    proximity, plain = prior.proximity(D, order=order), DDIBP(alpha=2.0)
    assert proximity.sequential == (order is None)
    rows = np.arange(8) if order is None else order
    turned = prior.proximity(D[np.ix_(rows, rows)])
    assert turned.sequential
    assert plain.logpmf(Z, proximity) == pytest.approx(plain.logpmf(Z[rows], turned), rel=1e-10)
    assert prior.logpmf(Z, proximity) == pytest.approx(plain.logpmf(Z[rows], turned), rel=1e-12)
    S = plain.sharing(proximity, method="enumeration").mean()
    assert_allclose(S[np.ix_(rows, rows)], plain.sharing(turned, method="recursion").mean(), rtol=1e-10)
    for z in Z.T:
        owner = rows[int(np.argmax(z[rows]))]
        assert_allclose(plain.owner_probabilities(z, proximity), np.arange(8) == owner, atol=1e-10)
        assert_allclose(prior.owner_probabilities(z, proximity), np.arange(8) == owner)


def test_rows_need_not_be_sorted_and_their_order_matters():
    t, prior = np.array([3.0, 0.0, 5.0, 1.0]), AIBD(Exponential(0.7), 1.0)
    D = np.abs(t[:, None] - t)
    assert_allclose(
        prior.proximity(t).matrix.toarray(), by_distance().set_params(decay__beta=0.7).proximity(D).matrix.toarray()
    )
    in_plane = prior.proximity(np.column_stack([t, 0 * t])).matrix.toarray()
    assert_allclose(in_plane, prior.proximity(t).matrix.toarray())
    Z, by_time = np.array([[1], [1], [0], [0]]), np.argsort(t)
    assert prior.logpmf(Z, t) != pytest.approx(prior.logpmf(Z, t, order=by_time))
    assert prior.logpmf(Z[by_time], t[by_time]) == pytest.approx(prior.logpmf(Z, t, order=by_time), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_an_unknown_order_is_summed_out(n):
    D, L = example(n)
    prior = by_distance(0.9, permutation="uniform")
    for columns in multisets(n, 2):
        expected = reference.probability_over_orders(columns, L, 0.9)
        assert math.exp(prior.logpmf(matrix(columns, n), D)) == pytest.approx(expected, rel=1e-11)


def test_sums_over_orders_agree_with_one_order_at_a_time(rng):
    t, prior = rng.normal(size=(6, 2)), AIBD(Exponential(2.0), 2.0)
    Z = prior.sample(t, rng=rng)
    one_by_one = [prior.logpmf(Z, t, order=order) for order in reference.orders(6)]
    expected = logsumexp(one_by_one) - math.log(720)
    assert prior.set_params(permutation="uniform").logpmf(Z, t) == pytest.approx(expected, rel=1e-12)
    assert np.std(one_by_one) > 0.01


def test_an_unknown_order_makes_rows_exchangeable_with_their_covariates(rng):
    t = rng.normal(size=(9, 2))
    prior = AIBD(Exponential(2.0), 2.0, permutation="uniform")
    Z = prior.sample(t, rng=rng)
    shuffled = rng.permutation(9)
    assert prior.logpmf(Z[shuffled], t[shuffled]) == pytest.approx(prior.logpmf(Z, t), rel=1e-12)
    by_rows = prior.set_params(permutation="rows")
    assert by_rows.logpmf(Z[shuffled], t[shuffled]) != pytest.approx(by_rows.logpmf(Z, t), rel=1e-4)


def test_a_given_order_is_heard_though_it_is_unknown():
    t, order = [0.0, 3.0, 1.0], [1, 2, 0]
    Z = [[1], [1], [0]]
    uniform, rows = AIBD(Exponential(1.0), 1.0, permutation="uniform"), AIBD(Exponential(1.0), 1.0)
    assert uniform.logpmf(Z, t, order=order) == rows.logpmf(Z, t, order=order)
    assert uniform.logpmf(Z, uniform.proximity(t, order=order)) == pytest.approx(rows.logpmf(Z, t, order=order))
    assert_allclose(uniform.expected_sharing(t, order=order), rows.expected_sharing(t, order=order))
    assert uniform.expected_features(t) == rows.expected_features(t)


# --- draws ----------------------------------------------------------------------------------------------------------


def counts(draw, classes, n_draws):
    seen = Counter(multiset(draw()) for _ in range(n_draws))
    found = [seen[columns] for columns in classes]
    return [*found, n_draws - sum(found)]


def law_of_matrices(L, order, alpha):
    """Return the multisets of at most 3 columns and their probabilities, the rest together as the last."""
    classes = list(multisets(len(L), 3))
    if order == "uniform":
        law = [reference.probability_over_orders(columns, L, alpha) for columns in classes]
    else:
        rates = reference.pattern_rates(L, order or range(len(L)), alpha)
        law = np.exp([log_prior(columns, rates) for columns in classes])
    return classes, np.append(law, 1.0 - np.sum(law))


@pytest.mark.parametrize("order", [None, (2, 0, 1), "uniform"])
@pytest.mark.parametrize("sparse", [False, True])
def test_draws_follow_the_definition(order, sparse, rng):
    D, L = example(3)
    L = L * np.array([[1.0], [0.3], [7.0]])  # a factor for all attractions of a row has no effect
    prior = by_distance(1.1, permutation="uniform" if order == "uniform" else "rows")
    given = D if order == "uniform" else prior.proximity(D, order=order)
    classes, law = law_of_matrices(L, order, 1.1)

    def draw():
        Z = prior.sample(given, rng=rng, sparse=sparse)
        return Z.toarray() if sparse else Z

    assert_law(counts(draw, classes, 4000 if sparse else 12_000), law)


def test_the_reference_draws_from_its_own_law(rng):
    _, L = example(3)
    classes, law = law_of_matrices(L, (2, 0, 1), 1.1)
    assert_law(counts(lambda: reference.draw(L, (2, 0, 1), 1.1, rng), classes, 8000), law)


def dd_ibp(D, rng):
    return DDIBP(Exponential(1.0), 1.1, sequential=True, metric="precomputed").sample(D, rng=rng)


def another_order(D, rng):
    return by_distance(1.1).sample(D, order=[0, 2, 1], rng=rng)


def all_orders(D, rng):
    return by_distance(1.1, permutation="uniform").sample(D, rng=rng)


@pytest.mark.parametrize("wrong", [dd_ibp, another_order, all_orders])
def test_the_test_of_draws_can_fail(wrong, rng):
    D, L = example(3)
    classes, law = law_of_matrices(L, None, 1.1)
    assert chi_square_p(counts(lambda: wrong(D, rng), classes, 12_000), law) < 1e-8


@pytest.mark.parametrize("order", [None, (4, 0, 3, 1, 2), "uniform"])
def test_numbers_of_features_are_those_of_the_ibp(order, rng):
    t = rng.normal(size=(5, 2))
    prior = AIBD(Exponential(1.5), 2.0, permutation="uniform" if order == "uniform" else "rows")
    given = t if order == "uniform" else prior.proximity(t, order=order)
    draws = [prior.sample(given, rng=rng) for _ in range(5000)]
    assert_poisson([Z.shape[1] for Z in draws], 2.0 * harmonic(5), 6)
    for i in range(5):
        assert_poisson([Z[i].sum() for Z in draws], 2.0, 6)


def test_the_test_of_numbers_can_fail(rng):
    """A dd-IBP with the same distances has more columns."""
    t = np.sort(rng.normal(size=5))
    prior = DDIBP(Exponential(1.5), 2.0, sequential=True)
    with pytest.raises(AssertionError):
        assert_poisson([prior.sample(t, rng=rng).shape[1] for _ in range(5000)], 2.0 * harmonic(5), 6)


@pytest.mark.parametrize("order", [None, (3, 0, 5, 1, 4, 2)])
def test_a_draw_is_made_by_its_causes(order, rng):
    t, prior = rng.normal(size=6), AIBD(Exponential(1.0), 4.0)
    draw = prior.sample(t, order=order, rng=5, return_causes=True)
    assert_array_equal(prior.sample(t, order=order, rng=5), draw.Z)
    rows = list(order or range(6))
    for causes in (draw, prior.sample_causes(draw.Z, t, order=order, rng=rng)):
        for z, owner, links in zip(causes.Z.T, causes.owners, causes.links.T, strict=True):
            first = rows.index(owner)
            assert z[owner]
            assert not z[rows[:first]].any()
            for p, i in enumerate(rows):
                assert links[i] in rows[: p + 1]
                if p > first:
                    assert z[i] == (links[i] != i and z[links[i]])
    assert np.all(np.diff([rows.index(owner) for owner in draw.owners]) >= 0)


def test_many_rows_with_a_finite_reach():
    """100,000 rows of which none is ever compared with more than a few."""
    t = np.arange(100_000.0)
    Z = AIBD(Window(3.0), 2.0).sample(t, rng=0, sparse=True)
    assert Z.shape[0] == 100_000
    assert abs(Z.shape[1] - 2.0 * harmonic(100_000)) < 5 * math.sqrt(2.0 * harmonic(100_000))


# --- sharing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_sharing_is_that_of_the_rates_and_of_the_recursion(order):
    D, L = example()
    law = by_distance(1.0).sharing(D, order=order)
    assert law.method == "recursion"
    S, rows = law.mean(), list(order or range(4))
    assert_allclose(S, reference.expected_sharing(reference.pattern_rates(L, rows)), rtol=1e-11)
    assert_allclose(np.diagonal(S), 1.0)
    for p, i in enumerate(rows):
        before = rows[:p]
        for j in before:
            w = [L[i, l] / L[i, before].sum() for l in before]
            assert S[i, j] == pytest.approx(p / (p + 1) * np.dot(w, [S[l, j] for l in before]), rel=1e-11)


def test_sharing_for_an_unknown_order_is_a_mixture(rng):
    """Not a Poisson: its variance, and its law against draws, are those of the mixture over orders."""
    D, L = example(3)
    D, L = 4.0 * D, L**4
    prior = by_distance(6.0, permutation="uniform")
    law = prior.sharing(D)
    each = [reference.expected_sharing(reference.pattern_rates(L, order)) for order in reference.orders(3)]
    assert law.method == "enumeration"
    assert_allclose(law.mean(), 6.0 * np.mean(each, axis=0), rtol=1e-11)
    assert_allclose(law.variance(), law.mean() + 36.0 * np.var(each, axis=0), rtol=1e-9)
    R = sharing.simulate(prior, D, n_draws=8000, rng=rng)
    for i, j in itertools.combinations(range(3), 2):
        pmf = law.pmf(np.arange(60), i, j)
        assert_law(np.bincount(R[:, i, j], minlength=60), pmf / pmf.sum(), 3)


def test_a_single_poisson_would_not_do(rng):
    D = 4.0 * example(3)[0]
    prior = by_distance(6.0, permutation="uniform")
    R, mean = sharing.simulate(prior, D, n_draws=8000, rng=rng), prior.expected_sharing(D)
    p = [
        chi_square_p(np.bincount(R[:, i, j], minlength=60), stats.poisson.pmf(np.arange(60), mean[i, j]))
        for i, j in itertools.combinations(range(3), 2)
    ]
    assert min(p) < 1e-8


def test_monte_carlo_over_orders_has_honest_errors():
    """All pairs within 5 standard errors of the average over the 5040 orders."""
    D, _ = example(7)
    prior = by_distance(2.0, permutation="uniform")
    exact = prior.sharing(D).mean()
    estimate = sharing.expected(prior, D, method="monte carlo", n_draws=3000, rng=1)
    off = ~np.eye(7, dtype=bool)
    z = (estimate.values - exact)[off] / estimate.standard_error[off]
    assert np.abs(z).max() < 5.0
    assert 0.4 < z.std() < 2.0
    assert prior.sharing(np.zeros((8, 8))).method == "monte carlo"


def test_sharing_of_draws_has_its_mean(rng):
    """All 55 means within 5.5 standard errors, which a right sampler exceeds once in 5e5; another order is far off."""
    t, bound = rng.normal(size=(10, 2)), 5.5 * math.sqrt(3.0 / 4000)
    prior, order = AIBD(Exponential(2.0), 3.0), rng.permutation(10)
    R = np.mean([(Z := prior.sample(t, order=order, rng=rng).astype(float)) @ Z.T for _ in range(4000)], axis=0)
    assert np.abs(R - prior.expected_sharing(t, order=order)).max() < bound
    assert np.abs(R - prior.expected_sharing(t, order=order[::-1])).max() > 2 * bound


# --- reach, groups, errors -------------------------------------------------------------------------------------------


def test_groups_are_buffets_of_their_own():
    t, groups = np.array([0.0, 5.0, 1.0, 7.0, 2.0]), np.array(["a", "b", "a", "b", "a"])
    prior = AIBD(Exponential(1.0), 2.0)
    Z = np.array([[1, 0], [0, 1], [1, 0], [0, 0], [0, 0]])
    for order in (None, [1, 3, 4, 2, 0]):
        proximity = prior.proximity(t, groups=groups, order=order)
        total, rows = 0.0, np.arange(5) if order is None else np.array(order)
        for label, column in (("a", 0), ("b", 1)):
            members = rows[groups[rows] == label]
            total += prior.logpmf(Z[members, column][:, None], t[members])
        assert prior.logpmf(Z, proximity) == pytest.approx(total, rel=1e-12)
        assert prior.expected_features(proximity) == pytest.approx(2.0 * (harmonic(3) + harmonic(2)))


def test_a_window_works_where_every_row_has_an_earlier_one_within_reach():
    t, prior = [0.0, 1.0, 5.0, 4.0], AIBD(Window(2.0), 1.0)
    with pytest.raises(ValueError, match="row 2 is out of reach of all 2 rows that arrive before it"):
        prior.proximity(t)
    with pytest.raises(ValueError, match="row 2 is out of reach"):
        prior.sample(t)
    a = AIBD(Window(2.5), 1.0).proximity([0.0, 1.0, 2.0, 4.0]).matrix.toarray()
    assert_allclose(a, [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [0, 0, 0.75, 0.25]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: AIBD(permutation="sorted"), ValueError, "permutation must be one of 'rows', 'uniform', got 'sorted'"),
        (lambda: AIBD(alpha=0.0), ValueError, "alpha must be"),
        (lambda: AIBD(alpha="one"), TypeError, "alpha must be a positive number"),
        (lambda: AIBD(decay=3), TypeError, "decay"),
        (lambda: AIBD(metric="far"), ValueError, "metric must be"),
        (lambda: AIBD(cutoff=-1.0), ValueError, "cutoff must be"),
        (lambda: AIBD(permutation="uniform").proximity([0.0, 1.0]), ValueError, "order must be given here"),
        (lambda: AIBD(permutation="uniform").log_rate([[1], [1]], [0.0, 1.0]), ValueError, "order must be given here"),
        (lambda: AIBD().sample([0.0, 1.0], order=[0, 0]), ValueError, "order must hold every row number from 0 to 1"),
        (lambda: AIBD().sample([0.0, 1.0], order=[0]), ValueError, "order must hold every row number"),
        (lambda: AIBD().sample([0.0, 1.0], order=[1, 2]), ValueError, "order must hold every row number"),
        (lambda: AIBD().sample([0.0, 1.0], order=[0.0, 1.0]), ValueError, "order must hold every row number"),
        (lambda: AIBD().sample([0.0, 1.0], order=[[0, 1]]), ValueError, "order must hold every row number"),
        (lambda: AIBD().sample([0.0, np.nan]), ValueError, "covariates must be finite"),
        (lambda: AIBD().sample(3), ValueError, "covariates must have|covariates must be"),
        (lambda: AIBD().logpmf([[1]], [0.0, 1.0]), ValueError, "Z has 1 rows"),
        (lambda: AIBD(permutation="uniform").logpmf([[1]], [0.0, 1.0]), ValueError, "Z has 1 rows"),
        (lambda: AIBD().logpmf([[2], [1]], [0.0, 1.0]), ValueError, "Z must hold 0 and 1"),
        (lambda: AIBD().owner_probabilities([0, 0], [0.0, 1.0]), ValueError, "z has no active row"),
        (
            lambda: AIBD(permutation="uniform").logpmf(np.ones((13, 1)), np.arange(13.0)),
            ValueError,
            "up to 12 rows, and there are 13; give the order: order=",
        ),
        (
            lambda: AIBD(permutation="uniform").sharing(np.arange(8.0), method="enumeration"),
            ValueError,
            "up to 7 rows, and there are 8",
        ),
        (
            lambda: AIBD(permutation="uniform").sharing(np.arange(3.0), method="recursion"),
            ValueError,
            "needs the order of arrival",
        ),
        (lambda: AIBD().sharing(np.arange(3.0), method="guess"), ValueError, "method must be one of"),
        (
            lambda: AIBD(Window(1.5), permutation="uniform").sample(np.arange(3.0)),
            ValueError,
            "needs every row within reach of every other, .* but row 0 is not",
        ),
        (
            lambda: AIBD().sample(DDIBP(Exponential(), sequential=True).proximity([0.0, 1.0, 2.0])),
            ValueError,
            "covariates is a Proximity in which rows do not arrive one after the other",
        ),
        (
            lambda: AIBD().sample(Proximity.from_distances(np.zeros((3, 3)), Constant())),
            ValueError,
            "covariates is a Proximity in which rows do not arrive",
        ),
        (
            lambda: AIBD().sample(AIBD().proximity([0.0, 1.0]), order=[1, 0]),
            ValueError,
            "groups and order must be given when the proximity is built",
        ),
        (lambda: AIBD(Exponential(Gamma())).sample([0.0, 1.0]), ValueError, "beta has a prior"),
    ],
)
def test_bad_input_is_told(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- command line ---------------------------------------------------------------------------------------------------


def run(*arguments):
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("permutation", ["rows", "uniform"])
def test_command_line(permutation):
    options = ["--prior", "aibd", "--permutation", permutation, "--beta", "0.5", "--alpha", "2", "--rows", "5"]
    prior, t = AIBD(Exponential(0.5), 2.0, permutation=permutation), np.arange(5.0)
    Z = np.loadtxt(io.StringIO(run("simulate", *options, "--seed", "3")), delimiter=",", skiprows=1, ndmin=2)
    assert_array_equal(Z, prior.sample(t, rng=3))
    S = np.loadtxt(io.StringIO(run("sharing", *options)), delimiter=",", skiprows=1)
    assert_allclose(S, prior.expected_sharing(t))
