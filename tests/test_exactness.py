"""Exact probabilities: against brute force over every owner and all link vectors, closed forms, and symmetries."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ddibp import DDIBP, IBP, Constant, Exponential, Gamma, Logistic, Proximity, Window
from ddibp._trees import log_tree_weights
from reference import ibp as reference_ibp
from reference import links as reference


def random_distances(rng, n, sequential, share_of_zeros):
    """Return asymmetric distances, some infinite, and the proximity (a, h) of f(d) = exp(-d)."""
    D = rng.gamma(0.7, 2.0, (n, n))
    D[rng.random((n, n)) < share_of_zeros] = np.inf
    if sequential:
        D[np.triu_indices(n, 1)] = np.inf
    np.fill_diagonal(D, 0.0)
    f = np.exp(-D)
    h = f.sum(axis=1)
    return D, f / h[:, None], h


def all_columns(n):
    return np.array(list(itertools.product([0, 1], repeat=n))).T[:, 1:]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("share_of_zeros", [0.0, 0.5])
def test_rates_are_brute_force(n, sequential, share_of_zeros, rng):
    for _ in range(2 if n == 5 else 6):
        D, a, h = random_distances(rng, n, sequential, share_of_zeros)
        rates = reference.pattern_rates(a, h, alpha=1.7)
        prior = DDIBP(Exponential(1.0), alpha=1.7, metric="precomputed")
        Z = all_columns(n)
        ours = prior.log_rate(Z, D)
        expected = np.array([rates[tuple(z)] for z in Z.T])
        np.testing.assert_allclose(np.exp(ours), expected, rtol=1e-10, atol=1e-300)
        assert np.exp(ours).sum() == pytest.approx(1.7 * np.sum(1 / h), rel=1e-10)
        assert np.all(ours[expected == 0] == -math.inf)
        assert prior.expected_features(D) == pytest.approx(1.7 * np.sum(1 / h), rel=1e-12)


@pytest.mark.parametrize("sequential", [False, True])
def test_logpmf_of_matrices_is_brute_force(sequential, rng):
    D, a, h = random_distances(rng, 4, sequential, 0.3)
    rates = reference.pattern_rates(a, h, alpha=0.8)
    prior = DDIBP(Exponential(1.0), alpha=0.8, metric="precomputed")
    patterns = all_columns(4)
    for K in (0, 1, 2, 3, 5):
        for _ in range(20):
            Z = patterns[:, rng.integers(0, patterns.shape[1], K)]
            Z[:, K // 2 :] = Z[:, [K // 2]] if K > 2 else Z[:, K // 2 :]  # make ties common
            counts = {}
            for z in map(tuple, Z.T):
                counts[z] = counts.get(z, 0) + 1
            expected = -sum(rates.values()) - sum(math.lgamma(c + 1) for c in counts.values())
            expected += sum(math.log(rates[tuple(z)]) if rates[tuple(z)] > 0 else -math.inf for z in Z.T)
            assert prior.logpmf(Z, D) == pytest.approx(expected, abs=1e-10)


def test_probabilities_of_all_matrices_sum_to_one(rng):
    D, _, h = random_distances(rng, 2, False, 0.0)
    prior = DDIBP(Exponential(1.0), alpha=0.5, metric="precomputed")
    patterns = all_columns(2)
    total = sum(
        math.exp(prior.logpmf(patterns[:, list(columns)], D))
        for K in range(9)
        for columns in itertools.combinations_with_replacement(range(3), K)
    )
    mean = 0.5 * np.sum(1 / h)
    assert total == pytest.approx(sum(math.exp(-mean) * mean**K / math.factorial(K) for K in range(9)), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 50])
def test_constant_sequential_is_the_ibp(n, rng):
    ibp, ddibp = IBP(1.3), DDIBP(Constant(), alpha=1.3, sequential=True)
    zero = DDIBP(Exponential(0.0), alpha=1.3, sequential=True)
    t = np.arange(float(n))
    for _ in range(5):
        Z = rng.random((n, 6)) < rng.random(6)
        Z[rng.integers(n), :] = True
        Z[:, 5] = Z[:, 4]
        assert ddibp.logpmf(Z, t) == pytest.approx(ibp.logpmf(Z), rel=1e-12)
        assert zero.logpmf(Z, t) == pytest.approx(ibp.logpmf(Z), rel=1e-12)


def test_small_beta_tends_to_the_ibp(rng):
    t = np.arange(12.0)
    Z = IBP(2.0).sample(12, rng=rng)
    gaps = [
        abs(DDIBP(Exponential(b), alpha=2.0, sequential=True).logpmf(Z, t) - IBP(2.0).logpmf(Z))
        for b in (1e-2, 1e-4, 1e-6)
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 1e-4


def test_constant_symmetric_is_not_the_ibp():
    Z = np.array([[1], [1], [0]])
    assert DDIBP(Constant(), alpha=1.0).logpmf(Z, np.arange(3.0)) != pytest.approx(IBP(1.0).logpmf(Z), abs=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_ibp_rates_are_the_closed_form(n):
    rates = reference_ibp.pattern_rates(n, alpha=2.5)
    Z = all_columns(n)
    np.testing.assert_allclose(np.exp(IBP(2.5).log_rate(Z)), [rates[tuple(z)] for z in Z.T], rtol=1e-12)
    assert IBP(2.5).expected_features(n) == pytest.approx(sum(rates.values()), rel=1e-12)


def test_gamma_mass_is_integrated_out():
    nodes, weights = np.polynomial.laguerre.laggauss(60)  # integrates e^{-x} exactly
    for Z in (np.array([[1, 0], [1, 1], [0, 1]]), np.zeros((3, 0)), np.ones((3, 3))):
        for fixed, mixed in (
            (lambda a: IBP(a), IBP(Gamma(2.0, 1.0))),
            (lambda a: DDIBP(Window(1.5), alpha=a), DDIBP(Window(1.5), alpha=Gamma(2.0, 1.0))),
        ):
            values = [x * math.exp(fixed(float(x)).logpmf(Z, np.arange(3.0))) for x in nodes]
            assert math.exp(mixed.logpmf(Z, np.arange(3.0))) == pytest.approx(float(weights @ values), rel=1e-9)


def test_permuting_rows_and_distances_together_changes_nothing(rng):
    D, *_ = random_distances(rng, 9, False, 0.2)
    prior = DDIBP(Exponential(1.0), alpha=1.0, metric="precomputed")
    Z = prior.sample(D, rng=rng)
    while Z.shape[1] < 2:
        Z = prior.sample(D, rng=rng)
    order = rng.permutation(9)
    value = prior.logpmf(Z, D)
    assert prior.logpmf(Z[order], D[np.ix_(order, order)]) == pytest.approx(value, rel=1e-12)
    assert prior.logpmf(Z[:, ::-1], D) == pytest.approx(value, rel=1e-14)
    assert prior.logpmf(Z[order], D) != pytest.approx(value, abs=1e-6)


def test_the_ddibp_is_not_marginally_invariant():
    """Dropping the middle row of three and summing its column out is not the dd-IBP of the two others."""
    t = np.array([0.0, 1.0, 2.0])
    prior = DDIBP(Exponential(1.0), alpha=1.0, sequential=True)
    both = np.array([[1, 1], [0, 1], [1, 1]])
    marginal = np.exp(prior.log_rate(both, t)).sum()
    alone = math.exp(prior.log_rate(np.array([[1], [1]]), t[[0, 2]])[0])
    assert abs(marginal - alone) > 0.03
    ibp_marginal = np.exp(IBP(1.0).log_rate(both)).sum()
    assert ibp_marginal == pytest.approx(math.exp(IBP(1.0).log_rate(np.array([[1], [1]]))[0]), rel=1e-12)


def exact_tau(a, root):
    """Return the tree weight by summing over all link vectors (exact integers or fractions survive)."""
    n = len(a)
    others = [i for i in range(n) if i != root]
    total = 0
    for c in itertools.product(range(n), repeat=n - 1):
        link = dict(zip(others, c, strict=True))
        weight = 1
        for i in others:
            weight *= a[i][link[i]] if link[i] != i else 0
        if weight and all(reference.reaches(i, root, [link.get(j, root) for j in range(n)]) for i in range(n)):
            total += weight
    return total


def test_tree_weights_span_hundreds_of_orders_of_magnitude(rng):
    """Weights 2^-e with exponents up to 3,000 against exact rational arithmetic, relative error 1e-11."""
    from fractions import Fraction

    for _ in range(20):
        n = 4
        exponents = rng.integers(0, 3000, (n, n))
        exact = [[Fraction(1, 2 ** int(e)) for e in row] for row in exponents]
        log_local = -exponents * math.log(2.0)
        np.fill_diagonal(log_local, -np.inf)
        ours = log_tree_weights(log_local, True)
        for root in range(n):
            tau = exact_tau(exact, root)
            log_tau = math.log(tau.numerator) - math.log(tau.denominator)
            assert ours[root] == pytest.approx(log_tau, rel=1e-11)


@pytest.mark.parametrize("n", [30, 64, 65, 130, 200])
def test_blocked_and_log_eliminations_agree_with_lu(n, rng):
    a = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    np.fill_diagonal(a, 0.0)
    a[np.arange(1, n), np.arange(n - 1)] += 0.1
    a[np.arange(n - 1), np.arange(1, n)] += 0.1
    laplacian = np.diag(a.sum(axis=1)) - a
    ours = log_tree_weights(a, False)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(log_tree_weights(np.log(a), True), ours, rtol=1e-10)
    for root in (0, n // 2, n - 1):
        keep = np.arange(n) != root
        assert ours[root] == pytest.approx(np.linalg.slogdet(laplacian[np.ix_(keep, keep)])[1], rel=1e-9)
    squeezed = np.log(np.maximum(a, 1e-320)) - 700.0 * (rng.random((n, 1)) < 0.5)  # row factors beyond floating point
    squeezed[a == 0] = -np.inf
    by_logs = _log_route(squeezed)
    np.testing.assert_allclose(log_tree_weights(squeezed, True), by_logs, rtol=1e-10)


def _log_route(local):
    """Return tree weights by the elimination on the log scale, whatever the range."""
    from ddibp import _trees

    order, n_roots = _trees.elimination_order(local, -np.inf)
    assert n_roots > 0
    logs = local[np.ix_(order, order)].copy()
    pivots = np.zeros(len(local))
    _trees.reduce_logs(logs, pivots)
    result = np.full(len(local), -np.inf)
    result[order] = pivots[:-1].sum() + _trees.stationary_logs(logs, pivots)
    return result


def test_far_apart_groups_are_possible_in_logs():
    """Two pairs of rows 1,000 apart share a feature with a probability near e^-1000, not 0 and not NaN."""
    t = np.array([0.0, 1.0, 1000.0, 1001.0])
    for sequential in (False, True):
        prior = DDIBP(Exponential(1.0), alpha=1.0, sequential=sequential)
        value = prior.logpmf(np.ones((4, 1)), t)
        assert -1010 < value < -990
        assert prior.owner_probabilities(np.ones(4), t).sum() == pytest.approx(1.0)


def test_impossible_matrices_have_log_probability_minus_infinity():
    t = np.array([0.0, 1.0, 10.0, 11.0])
    for sequential in (False, True):
        prior = DDIBP(Window(2.0), alpha=1.0, sequential=sequential)
        assert prior.logpmf(np.array([[1], [1], [1], [0]]), t) == -math.inf
        assert prior.logpmf(np.zeros((4, 1)), t) == -math.inf
        assert prior.logpmf(np.array([[1, 0], [1, 0], [0, 1], [0, 1]]), t) > -math.inf
    assert IBP(1.0).logpmf(np.zeros((2, 1))) == -math.inf
    assert IBP(1.0).logpmf(np.zeros((2, 0))) == pytest.approx(-1.5)


@pytest.mark.parametrize("decay", [Exponential(3.0), Logistic(2.0, -40.0), Window(3.0)])
def test_log_probabilities_are_never_nan(decay, rng):
    t = np.sort(rng.uniform(0, 1000, 40))
    for sequential in (False, True):
        prior = DDIBP(decay, alpha=1.0, sequential=sequential)
        for p in (0.02, 0.5, 1.0):
            Z = rng.random((40, 5)) < p
            assert not math.isnan(prior.logpmf(Z, t))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, t: p.logpmf(np.full((3, 2), 2), t), "Z must hold 0 and 1 only, got 2 at \\(0, 0\\)"),
        (lambda p, t: p.logpmf(np.full((3, 1), np.nan), t), "Z must hold 0 and 1 only"),
        (lambda p, t: p.logpmf(np.ones((4, 2)), t), "Z has 4 rows, but the covariates describe 3"),
        (lambda p, t: p.logpmf(np.ones(3), t), "Z must be a matrix"),
        (lambda p, t: p.logpmf([["a"]] * 3, t), "Z must hold 0 and 1 only"),
        (lambda p, t: p.owner_probabilities(np.ones(2), t), "z has 2 entries"),
        (lambda p, t: p.owner_probabilities(np.zeros(3), t), "no active row"),
        (lambda p, t: p.owner_probabilities([1, 0, 1], t), "cannot arise"),
        (lambda p, t: p.sample(t, rng="seed"), "rng must be"),
        (lambda p, t: p.sample(t, rng=-1), "rng must be a non-negative int"),
        (lambda p, t: p.sample(t, sparse=True, return_causes=True), "cannot go with sparse"),
        (lambda p, t: p.sharing(t, method="magic"), "method must be one of"),
        (lambda p, t: p.sharing(t, method="recursion"), "needs sequential distances"),
        (lambda p, t: p.sharing(t, method="monte carlo", n_draws=1), "n_draws must be at least 2"),
        (lambda p, _: p.sharing(np.arange(40.0), method="enumeration"), "40 rows, more than 16"),
        (lambda p, t: p.proximity(p.proximity(t), groups=[1, 1, 2]), "when the proximity is built"),
        (lambda *_: DDIBP(alpha=0.0), "alpha must be a number in"),
        (lambda *_: DDIBP(alpha="many"), "alpha must be a positive number"),
        (lambda *_: DDIBP(sequential=1), "sequential must be True or False"),
        (lambda *_: Gamma(-1.0, 1.0), "shape must be"),
        (lambda *_: IBP(1.0).sample(0), "at least 1"),
        (lambda *_: IBP(1.0).sample(2.5), "number of rows"),
        (lambda *_: IBP(1.0).logpmf(np.ones((2, 1)), 3), "Z has 2 rows"),
    ],
)
def test_bad_input_is_refused(call, message):
    prior = DDIBP(Window(1.5), alpha=1.0)
    t = np.arange(3.0)
    t[2] = 1.2 if "cannot arise" not in message else 9.0
    with pytest.raises((ValueError, TypeError), match=message):
        call(prior, t)


def test_a_ready_made_proximity_serves_everywhere():
    t = np.arange(6.0)
    prior = DDIBP(Exponential(0.4), alpha=1.0)
    proximity = prior.proximity(t)
    assert isinstance(proximity, Proximity)
    Z = prior.sample(t, rng=1)
    np.testing.assert_array_equal(prior.sample(proximity, rng=1), Z)
    assert prior.logpmf(Z, proximity) == prior.logpmf(Z, t)
    np.testing.assert_array_equal(prior.expected_sharing(proximity), prior.expected_sharing(t))
    assert IBP(1.0).sample(proximity, rng=0).shape[0] == 6
