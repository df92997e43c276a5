"""Draws of matrices, links and owners against their exact laws.

Every comparison is a chi-square test; `laws_of_tests.FALSE_ALARM_RATE` is the false-alarm rate of a test function.
"""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from ddibp import DDIBP, IBP, Constant, Exponential, Gamma, Proximity, Window, _trees
from ddibp.priors import _reach
from laws_of_tests import assert_law, assert_poisson, chi_square_p
from reference import links as reference

PATTERNS = [tuple(z) for z in itertools.product([0, 1], repeat=4) if any(z)]


def example(sequential):
    """Return four rows with asymmetric distances, one of them out of reach of another, and (a, h)."""
    D = np.array([[0.0, 0.4, 1.5, np.inf], [0.2, 0.0, 0.9, 0.5], [2.0, 0.3, 0.0, 0.7], [1.0, 2.5, 0.1, 0.0]])
    if sequential:
        D[np.triu_indices(4, 1)] = np.inf
    f = np.exp(-D)
    h = f.sum(axis=1)
    return D, f / h[:, None], h


def column_counts(matrices):
    counter = Counter(tuple(z) for Z in matrices for z in np.asarray(Z).T.astype(int))
    return [counter[z] for z in PATTERNS]


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_ddibp_columns_follow_the_exact_law(sequential, sparse, rng):
    D, a, h = example(sequential)
    prior = DDIBP(Exponential(1.0), alpha=2.0, metric="precomputed")
    proximity = prior.proximity(D)
    draws = [prior.sample(proximity, rng=rng, sparse=sparse) for _ in range(8000)]
    if sparse:
        draws = [Z.toarray() for Z in draws]
    rates = reference.pattern_rates(a, h)
    probabilities = np.array([rates[z] for z in PATTERNS]) / sum(rates.values())
    assert_law(column_counts(draws), probabilities, 2)
    assert_poisson([Z.shape[1] for Z in draws], 2.0 * np.sum(1 / h), 2)


def test_the_chi_square_test_can_fail(rng):
    """A prior with symmetric distances taken for sequential ones is caught."""
    D, a, h = example(False)
    wrong = DDIBP(Exponential(1.0), alpha=2.0, metric="precomputed", sequential=True)
    draws = [wrong.sample(D, rng=rng) for _ in range(1000)]
    rates = reference.pattern_rates(a, h)
    assert chi_square_p(column_counts(draws), np.array([rates[z] for z in PATTERNS]) / sum(rates.values())) < 1e-8


def test_ibp_columns_follow_the_exact_law(rng):
    draws = [IBP(2.0).sample(4, rng=rng) for _ in range(8000)]
    rates = np.exp(IBP(2.0).log_rate(np.array(PATTERNS).T))
    assert_law(column_counts(draws), rates / rates.sum(), 2)
    assert_poisson([Z.shape[1] for Z in draws], rates.sum(), 2)


@pytest.mark.parametrize("sequential", [False, True])
def test_numbers_of_features_are_poisson(sequential, rng):
    """The paper's proposition 1: R_i and R_ij are Poisson with means alpha S_ii and alpha S_ij."""
    D, a, h = example(sequential)
    prior = DDIBP(Exponential(1.0), alpha=3.0, metric="precomputed")
    proximity = prior.proximity(D)
    S = reference.expected_sharing(a, h)
    R = np.stack([(Z := prior.sample(proximity, rng=rng).astype(int)) @ Z.T for _ in range(6000)])
    for i, j in itertools.combinations_with_replacement(range(4), 2):
        assert_poisson(R[:, i, j], 3.0 * S[i, j], 10)


def test_ibp_numbers_of_features_are_poisson(rng):
    R = np.stack([(Z := IBP(3.0).sample(3, rng=rng).astype(int)) @ Z.T for _ in range(6000)])
    for i, j in itertools.combinations_with_replacement(range(3), 2):
        assert_poisson(R[:, i, j], 3.0 if i == j else 1.5, 6)


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("column", [(1, 1, 1, 1), (0, 1, 1, 1), (1, 0, 1, 1), (0, 0, 1, 0)])
def test_causes_given_a_column_follow_the_exact_law(sequential, column, rng):
    """Owners and links together, over every configuration that makes the column."""
    D, a, h = example(sequential)
    law = reference.causes_law(column, a, h)
    prior = DDIBP(Exponential(1.0), alpha=1.0, metric="precomputed")
    n_draws = 20000
    Z = np.repeat(np.array(column)[:, None], n_draws, axis=1)
    causes = prior.sample_causes(Z, D, rng=rng)
    counts = Counter((int(o), tuple(c.tolist())) for o, c in zip(causes.owners, causes.links.T, strict=True))
    assert set(counts) <= set(law)
    assert_law([counts[key] for key in law], list(law.values()))


@pytest.mark.parametrize("column", [(1, 1, 1, 1), (0, 1, 1, 1), (1, 0, 0, 1)])
def test_owner_probabilities_are_exact(column):
    D, a, h = example(False)
    prior = DDIBP(Exponential(1.0), alpha=1.0, metric="precomputed")
    expected = np.zeros(4)
    for (owner, _), p in reference.causes_law(column, a, h).items():
        expected[owner] += p
    np.testing.assert_allclose(prior.owner_probabilities(column, D), expected, rtol=1e-12, atol=1e-15)


def tree_law(a, root):
    """Return the law of trees on all rows directed to the root, links of the root left out."""
    n = len(a)
    others = [i for i in range(n) if i != root]
    law = {}
    for c in itertools.product(range(n), repeat=n - 1):
        link = dict(zip(others, c, strict=True))
        if any(i == j for i, j in link.items()):
            continue
        if all(reference.reaches(i, root, [link.get(j, root) for j in range(n)]) for i in range(n)):
            law[c] = float(np.prod([a[i, link[i]] for i in others]))
    total = sum(law.values())
    return others, {c: p / total for c, p in law.items()}


def test_wilson_and_the_step_by_step_trees_follow_the_exact_law(rng):
    a = example(False)[1]
    others, law = tree_law(a, 2)
    with np.errstate(divide="ignore"):
        logs = np.log(a)
    np.fill_diagonal(logs, -np.inf)
    proximity = Proximity.from_distances(example(False)[0], Exponential(1.0))
    rows, everyone = proximity.rows, np.arange(4)
    local = _trees.local_rows(everyone, everyone, rows.indptr, rows.indices, rows.weights, False)
    for draw in (
        lambda: _trees.wilson(rng, 2, *local, 10**6)[0],
        lambda: _trees.laplacian_walks(rng, 2, logs),
    ):
        counts = Counter(tuple(draw()[others].tolist()) for _ in range(12000))
        assert set(counts) <= set(law)
        assert_law([counts[c] for c in law], list(law.values()), 2)


def test_giving_up_on_a_walk_does_not_bias_the_tree(rng, monkeypatch):
    """With a budget so short that most walks are given up, causes still follow their law."""
    D, a, h = example(False)
    column = (1, 1, 1, 1)
    law = reference.causes_law(column, a, h)
    monkeypatch.setattr(_reach, "_WALK_STEPS_PER_ROW", 1)
    prior = DDIBP(Exponential(1.0), alpha=1.0, metric="precomputed")
    causes = prior.sample_causes(np.ones((4, 12000)), D, rng=rng)
    counts = Counter((int(o), tuple(c.tolist())) for o, c in zip(causes.owners, causes.links.T, strict=True))
    assert_law([counts[key] for key in law], list(law.values()))


def test_causes_of_far_apart_groups_are_drawn(rng):
    """A walk between groups 400 apart would take e^400 steps; the tree is drawn all the same."""
    t = np.array([0.0, 0.5, 1.0, 400.0, 400.5])
    prior = DDIBP(Exponential(1.0), alpha=1.0)
    causes = prior.sample_causes(np.ones((5, 40)), t, rng=rng)
    for owner, links in zip(causes.owners, causes.links.T, strict=True):
        assert all(reference.reaches(i, owner, links.tolist()) for i in range(5))


@pytest.mark.parametrize("sequential", [False, True])
def test_causes_reproduce_the_matrix(sequential, rng):
    t = np.sort(rng.uniform(0, 30, 60))
    prior = DDIBP(Exponential(0.5), alpha=3.0, sequential=sequential)
    Z = prior.sample(t, rng=rng)
    causes = prior.sample_causes(Z, t, rng=rng)
    for k, owner in enumerate(causes.owners):
        z = [reference.reaches(i, owner, causes.links[:, k].tolist()) for i in range(60)]
        np.testing.assert_array_equal(z, Z[:, k])


@pytest.mark.parametrize("prior", [IBP(3.0), DDIBP(Exponential(0.3), 3.0, True), DDIBP(Window(2.0), 3.0)])
def test_a_draw_is_made_by_its_causes(prior):
    t = np.arange(30.0)
    draw = prior.sample(t, rng=5, return_causes=True)
    np.testing.assert_array_equal(prior.sample(t, rng=5), draw.Z)
    assert draw.Z.dtype == bool
    assert draw.links.shape == draw.Z.shape
    for k, owner in enumerate(draw.owners):
        z = [reference.reaches(i, owner, draw.links[:, k].tolist()) for i in range(30)]
        np.testing.assert_array_equal(z, draw.Z[:, k])
    assert np.all(np.diff(draw.owners) >= 0)


def test_seeds_make_draws_repeatable():
    prior, t = DDIBP(Exponential(0.3), alpha=2.0), np.arange(20.0)
    for make in (lambda: 3, lambda: np.random.SeedSequence(3), lambda: np.random.default_rng(3)):
        np.testing.assert_array_equal(prior.sample(t, rng=make()), prior.sample(t, rng=make()))
    generator = np.random.default_rng(3)
    first = prior.sample(t, rng=generator)
    assert not np.array_equal(prior.sample(t, rng=generator), first)


def test_a_gamma_mass_is_drawn(rng):
    """The number of columns is then negative binomial: its variance is mean + mean^2 for Gamma(1, 1)."""
    counts = np.array([IBP(Gamma(1.0, 1.0)).sample(3, rng=rng).shape[1] for _ in range(8000)])
    mean = 11 / 6
    p = 1 / (1 + mean)
    pmf = p * (1 - p) ** np.arange(200)
    assert_law(np.bincount(counts, minlength=200), pmf / pmf.sum())


def test_sparse_draws_at_scale(rng):
    """200,000 rows: expected numbers of features and of active rows within 5 standard errors."""
    t = np.arange(200_000.0)
    prior = DDIBP(Window(2.0), alpha=1.0, sequential=True)
    Z = prior.sample(t, rng=rng, sparse=True)
    Lambda = prior.expected_features(t)
    assert abs(Z.shape[1] - Lambda) < 5 * np.sqrt(Lambda)
    per_row = Z.sum(axis=1)  # Poisson(1) for every row, correlated over a few neighbours
    assert abs(per_row.mean() - 1.0) < 5 * np.sqrt(20 / 200_000)


def test_dense_and_sparse_draws_have_the_same_law_at_scale(rng):
    prior, t = DDIBP(Exponential(1.0), alpha=1.0, cutoff=1e-3), np.arange(400.0)
    proximity = prior.proximity(t)
    sizes = [
        np.concatenate([np.asarray(prior.sample(proximity, rng=rng, sparse=s).sum(axis=0)) for _ in range(40)])
        for s in (False, True)
    ]
    table = np.array([np.bincount(np.minimum(x, 12), minlength=13)[1:] for x in sizes], float)
    expected = table.sum(axis=0) * table.sum(axis=1, keepdims=True) / table.sum()
    from scipy import stats

    assert stats.chi2.sf(((table - expected) ** 2 / expected).sum(), 11) > 1e-5


def test_cycles_and_the_owners_own_link_are_handled():
    from ddibp._links import reach_owner

    links = np.array([1, 2, 0, 4, 3, 0, 6], np.int32)  # 0→1→2→0 cycle, 3↔4 cycle, 5→0, 6→6
    active = np.empty(7, bool)
    reach_owner(links, 1, active)
    assert active.tolist() == [True, True, True, False, False, True, False]
    reach_owner(links, 6, active)
    assert active.tolist() == [False] * 6 + [True]
    chain = np.maximum(np.arange(200_000, dtype=np.int32) - 1, 0)
    active = np.empty(200_000, bool)
    reach_owner(chain, 0, active)
    assert active.all()
    reach_owner(chain, 1000, active)
    assert active.sum() == 199_000


def test_constant_sequential_samples_like_the_ibp(rng):
    t = np.arange(4.0)
    prior = DDIBP(Constant(), alpha=2.0, sequential=True)
    proximity = prior.proximity(t)
    draws = [prior.sample(proximity, rng=rng) for _ in range(6000)]
    rates = np.exp(IBP(2.0).log_rate(np.array(PATTERNS).T))
    assert_law(column_counts(draws), rates / rates.sum())
