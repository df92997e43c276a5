"""Summaries of draws by brute force, and invariance to the order of features."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ddibp import summaries


def matrices(rng, n=30, n_rows=6):
    return [rng.random((n_rows, int(rng.integers(0, 5)))) < 0.5 for _ in range(n)]


def jaccard(a, b):
    either = (a | b).sum()
    return (a & b).sum() / either if either else 0.0


def test_moments_are_those_of_the_whole(rng):
    x = 1e6 + rng.normal(size=(50, 3, 2))
    whole, first, second, none = (summaries.Moments((3, 2)) for _ in range(4))
    for i, value in enumerate(x):
        whole.add(value)
        (first if i < 17 else second).add(value)
    first.merge(none)
    first.merge(second)
    none.merge(whole)
    for moments in (whole, first, none):
        assert moments.count == 50
        np.testing.assert_allclose(moments.mean, x.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(moments.sd, x.std(axis=0, ddof=1), rtol=1e-8)
    again = summaries.Moments.from_arrays(**whole.to_arrays())
    again.add(x[0])
    assert whole.count == 50
    np.testing.assert_allclose(whole.mean, x.mean(axis=0), rtol=1e-13)
    empty = summaries.Moments((2,))
    empty.merge(summaries.Moments((2,)))
    assert np.isnan(empty.sd).all()


def test_sharing_by_brute_force(rng, monkeypatch):
    draws = matrices(rng)
    expected = np.mean([Z.astype(int) @ Z.T.astype(int) for Z in draws], axis=0)
    np.testing.assert_allclose(summaries.expected_sharing(iter(draws), 6), expected, rtol=1e-14)
    monkeypatch.setattr(summaries, "_COLUMNS_AT_ONCE", 7)
    np.testing.assert_allclose(summaries.expected_sharing(draws, 6), expected, rtol=1e-14)
    means = [summaries.mean_sharing(Z) for Z in draws]
    np.testing.assert_allclose(np.mean(means), expected.mean())
    with pytest.raises(ValueError, match="at least one matrix"):
        summaries.expected_sharing([], 6)


def test_reconstruction_is_the_product(rng):
    Z, W = rng.random((6, 4)) < 0.5, rng.normal(size=(4, 3))
    np.testing.assert_allclose(summaries.reconstruct(Z, W), Z @ W)
    assert summaries.reconstruct(Z[:, :0], W[:0]).tolist() == np.zeros((6, 3)).tolist()


@pytest.mark.parametrize("least", [0.0, 0.3, 0.5])
def test_matching_is_the_best_of_all_matchings(least, rng):
    for _ in range(40):
        a, b = rng.random((6, 3)) < 0.5, rng.random((6, int(rng.integers(0, 5)))) < 0.5
        overlap = np.array([[jaccard(x, y) for y in b.T] for x in a.T]).reshape(3, b.shape[1])
        overlap[overlap < least] = 0.0
        k = min(overlap.shape)
        best = max(
            (
                sum(overlap[i, j] for i, j in zip(rows, columns, strict=True))
                for rows in itertools.permutations(range(3), k)
                for columns in itertools.permutations(range(b.shape[1]), k)
            ),
            default=0.0,
        )
        rows, columns, overlaps = summaries.match_features(a, b, least)
        np.testing.assert_allclose(overlaps.sum(), best)
        np.testing.assert_allclose(overlaps, overlap[rows, columns])
        assert (overlaps >= least).all()
        assert len(set(rows)) == len(set(columns)) == len(rows)


def test_feature_probabilities_do_not_depend_on_the_order_of_features(rng):
    truth = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 1]], bool)
    draws = [truth ^ (rng.random(truth.shape) < 0.1) for _ in range(200)]
    shuffled = [Z[:, rng.permutation(3)] for Z in draws]
    plain, other = (summaries.feature_probabilities(truth, x) for x in (draws, shuffled))
    np.testing.assert_array_equal(plain.probabilities, other.probabilities)
    np.testing.assert_array_equal(plain.presence, other.presence)
    assert (abs(plain.probabilities - np.mean(draws, axis=0)) < 0.1).all()
    assert (plain.presence > 0.85).all()
    assert (plain.overlap > 0.7).all()


def test_a_feature_that_is_never_there():
    found = summaries.feature_probabilities([[1, 0], [0, 1], [0, 1]], [np.array([[True], [False], [False]])] * 3)
    np.testing.assert_array_equal(found.presence, [1.0, 0.0])
    np.testing.assert_array_equal(found.overlap, [1.0, np.nan])
    np.testing.assert_array_equal(found.probabilities, [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])


def test_no_features_at_all():
    nothing = np.zeros((4, 0), bool)
    found = summaries.feature_probabilities(nothing, [np.ones((4, 2), bool), nothing])
    assert found.probabilities.shape == (4, 0)
    assert [len(x) for x in summaries.match_features(nothing, nothing)] == [0, 0, 0]


def test_errors():
    with pytest.raises(ValueError, match="Z has 2 rows, but the reference has 3"):
        summaries.match_features(np.ones((3, 1)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="least_overlap must be a number"):
        summaries.match_features(np.ones((3, 1)), np.ones((3, 1)), least_overlap=1.5)
    with pytest.raises(ValueError, match="at least one matrix"):
        summaries.feature_probabilities(np.ones((3, 1)), [])
    with pytest.raises(ValueError, match="must hold 0 and 1 only"):
        summaries.feature_probabilities(np.full((3, 1), 2), [])
