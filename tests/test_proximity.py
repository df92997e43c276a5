"""Proximities: dense definitions against every sparse way of building them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from ddibp import Constant, Exponential, Logistic, Proximity, Window
from ddibp.proximity.metrics import METRICS
from reference import decay as reference


def assert_proximity(proximity, a, h):
    np.testing.assert_allclose(proximity.matrix.toarray(), a, rtol=1e-12, atol=0)
    np.testing.assert_allclose(proximity.normalisers, h, rtol=1e-12)
    indptr, indices = proximity.rows.indptr, proximity.rows.indices
    for i in range(proximity.n_rows):
        row = indices[indptr[i] : indptr[i + 1]]
        assert np.all(np.diff(row) > 0)
        assert i in row


@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize(
    ("decay", "f"),
    [
        (Constant(), reference.constant()),
        (Exponential(0.8), reference.exponential(0.8)),
        (Logistic(2.0, 1.0), reference.logistic(2.0, 1.0)),
        (Window(1.5), reference.window(1.5)),
    ],
    ids=["constant", "exponential", "logistic", "window"],
)
def test_one_column_is_the_definition(decay, f, sequential, rng):
    t = np.sort(rng.integers(0, 8, 12).astype(float))  # with ties
    D = reference.distances(t)
    a, h = reference.proximity(reference.sequential(D) if sequential else D, f)
    proximity = Proximity.from_covariates(t, decay, sequential=sequential)
    assert_proximity(proximity, a, h)
    assert proximity.sequential is sequential
    assert_proximity(Proximity.from_distances(D, decay, sequential=sequential), a, h)
    assert_proximity(Proximity.from_covariates(D, decay, sequential=sequential, metric="precomputed"), a, h)


def dense(points, metric, decay, cutoff, groups, sequential):
    """Return (a, h) from a full matrix of SciPy's distances."""
    options = {"V": points.var(axis=0, ddof=1)} if metric == "seuclidean" else {}
    if metric == "mahalanobis":
        options = {"VI": np.linalg.inv(np.cov(points.T))}
    D = cdist(points, points, metric, **options)
    np.fill_diagonal(D, 0.0)
    f = decay(D)
    f[(f <= cutoff) & ~np.eye(len(D), dtype=bool)] = 0.0
    f[groups[:, None] != groups[None, :]] = 0.0
    if sequential:
        f = np.tril(f)
    h = f.sum(axis=1)
    return f / h[:, None], h


@pytest.mark.parametrize("metric", [m for m in METRICS if m not in ("precomputed", "haversine")])
@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("cutoff", [0.0, 0.3])
def test_every_metric_and_path_is_the_dense_definition(metric, sequential, cutoff, rng):
    points = rng.uniform(0.1, 3.0, (60, 3))
    if metric in ("dice", "jaccard", "hamming"):
        points = np.round(points)
        points[:, 0] = 2.0
        points = points > 1.0 if metric != "hamming" else points
    if metric == "jensenshannon":
        points = points / points.sum(axis=1, keepdims=True)
    groups = rng.integers(0, 3, 60)
    decay = Exponential(1.5)
    a, h = dense(points, metric, decay, cutoff, groups, sequential)
    proximity = Proximity.from_covariates(
        points.astype(float) if metric == "hamming" else points,
        decay,
        sequential=sequential,
        metric=metric,
        cutoff=cutoff,
        groups=groups,
    )
    np.testing.assert_allclose(proximity.matrix.toarray(), a, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(proximity.normalisers, h, rtol=1e-7)


@pytest.mark.parametrize("shuffled", [False, True])
def test_sorted_search_with_groups_and_any_row_order(shuffled, rng):
    t = rng.uniform(0, 20, 80)
    groups = rng.integers(0, 4, 80)
    order = rng.permutation(80) if shuffled else np.lexsort((t, groups))
    t, groups = t[order], np.array(list("wxyz"))[groups[order]]
    a, h = dense(t[:, None], "euclidean", Window(1.7), 0.0, groups, False)
    assert_proximity(Proximity.from_covariates(t, Window(1.7), groups=groups), a, h)
    D = np.abs(t[:, None] - t)
    assert_proximity(Proximity.from_distances(D, Window(1.7), groups=groups), a, h)


def test_a_callable_metric():
    t = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 0.0]])
    by_name = Proximity.from_covariates(t, Exponential(1.0), metric="cityblock")
    by_function = Proximity.from_covariates(t, Exponential(1.0), metric=lambda u, v: float(np.abs(u - v).sum()))
    np.testing.assert_allclose(by_function.matrix.toarray(), by_name.matrix.toarray())


def test_haversine_is_in_kilometres():
    paris, london, sydney = (48.8566, 2.3522), (51.5074, -0.1278), (-33.8688, 151.2093)
    decay = Exponential(1e-4)
    proximity = Proximity.from_covariates([paris, london, sydney], decay, metric="haversine")
    a = proximity.matrix.toarray()
    km = -np.log(a / np.diagonal(a)[:, None]) / 1e-4
    np.testing.assert_allclose(km[0], [0.0, 343.6, 16960.0], atol=10.0)
    near = Proximity.from_covariates([paris, london, sydney], decay, metric="haversine", cutoff=0.9)
    assert near.n_pairs == 5


def test_window_is_open_at_its_edge_and_cutoff_at_its_value():
    assert Proximity.from_covariates([0.0, 1.0, 2.0], Window(1.0)).n_pairs == 3
    assert Proximity.from_covariates([0.0, 1.0, 2.0], Window(1.0 + 1e-12)).n_pairs == 7
    assert Proximity.from_covariates([0.0, 1.0], Exponential(1.0), cutoff=float(np.exp(-1.0))).n_pairs == 2


def test_sparse_distances_mean_what_they_say():
    D = sparse.coo_array(([0.0, 2.0, np.inf], ([0, 1, 2], [1, 0, 0])), shape=(3, 3))
    proximity = Proximity.from_distances(D, Exponential(1.0))
    e = np.exp(-2.0)
    expected = [[0.5, 0.5, 0.0], [e / (1 + e), 1 / (1 + e), 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(proximity.matrix.toarray(), expected, rtol=1e-14)


def test_asymmetric_distances_are_taken_as_they_are():
    D = np.array([[0.0, 1.0], [3.0, 0.0]])
    a = Proximity.from_distances(D, Exponential(1.0)).matrix.toarray()
    assert a[0, 1] == pytest.approx(np.exp(-1) / (1 + np.exp(-1)))
    assert a[1, 0] == pytest.approx(np.exp(-3) / (1 + np.exp(-3)))


def test_sequential_is_recognised_in_distances():
    D = np.array([[0.0, np.inf], [1.0, 0.0]])
    assert Proximity.from_distances(D, Exponential(1.0)).sequential
    assert not Proximity.from_distances(D.T, Exponential(1.0)).sequential


def test_weights_beyond_floating_point_keep_their_logs():
    proximity = Proximity.from_covariates([0.0, 900.0], Exponential(1.0))
    assert proximity.matrix[0, 1] == 0.0
    assert proximity.n_pairs == 4
    np.testing.assert_allclose(proximity.rows.log_weights, [0.0, -900.0, -900.0, 0.0], atol=1e-12)


def test_followers_are_the_transposed_pattern(rng):
    D = np.where(rng.random((9, 9)) < 0.4, 1.0, np.inf)
    np.fill_diagonal(D, 0.0)
    proximity = Proximity.from_distances(D, Constant())
    indptr, indices = proximity.followers
    for j in range(9):
        assert indices[indptr[j] : indptr[j + 1]].tolist() == np.flatnonzero(np.isfinite(D[:, j])).tolist()


def test_a_proximity_cannot_be_changed():
    proximity = Proximity.from_covariates([0.0, 1.0], Constant())
    with pytest.raises(ValueError, match="read-only"):
        proximity.normalisers[0] = 3.0
    assert repr(proximity) == "Proximity(n_rows=2, n_pairs=4, not sequential)"


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Proximity.from_covariates([0.0, NAN], Constant()), "must be finite, got nan in row 1"),
        (lambda: Proximity.from_covariates([[0.0, 1.0], [INF, 1.0]], Constant()), "must be finite, got inf in row 1"),
        (lambda: Proximity.from_covariates([], Constant()), "at least one row"),
        (lambda: Proximity.from_covariates(np.zeros((2, 2, 2)), Constant()), "vector or a matrix"),
        (lambda: Proximity.from_covariates(["a", "b"], Constant()), "covariates must be numbers"),
        (lambda: Proximity.from_covariates(np.array(["2020-01-01"], "M8[D]"), Constant()), "dates or times"),
        (lambda: Proximity.from_covariates([0.0], Constant(), groups=[1, 2]), "one label per row, 1 in all"),
        (lambda: Proximity.from_covariates([0.0, 1.0], Constant(), groups=[1.0, NAN]), "groups must not be NaN"),
        (lambda: Proximity.from_covariates([0.0], Constant(), metric="euclid"), "metric must be a callable or one of"),
        (lambda: Proximity.from_covariates([0.0], Constant(), cutoff=-1.0), "cutoff must be"),
        (lambda: Proximity.from_covariates([0.0], 1.0), "decay must be"),
        (
            lambda: Proximity.from_covariates([0.0], Constant(), cutoff=1.0),
            "cutoff must be below .* 1, .* got 1",
        ),
        (lambda: Proximity.from_distances([[0.0]], Logistic(1.0, 0.0), cutoff=0.5), "cutoff must be below .* 0.5"),
        (lambda: Proximity.from_covariates([0.0, 2.0, 1.0], Constant(), sequential=True), "row 2 has 1 after row 1"),
        (lambda: Proximity.from_covariates([0.0, 0.0], Constant(), metric="cosine"), "gives no number for rows"),
        (lambda: Proximity.from_covariates([[95.0, 0.0]], Constant(), metric="haversine"), "latitude in"),
        (lambda: Proximity.from_covariates([0.0], Constant(), metric="haversine"), "two columns"),
        (lambda: Proximity.from_covariates([[1.0], [1.0]], Constant(), metric="seuclidean"), "column 0 is constant"),
        (lambda: Proximity.from_covariates(np.ones((3, 2)), Constant(), metric="mahalanobis"), "linearly dependent"),
        (lambda: Proximity.from_covariates([[1.0]], Constant(), metric="mahalanobis"), "more rows than columns"),
        (lambda: Proximity.from_distances(np.zeros((2, 3)), Constant()), "square matrix"),
        (lambda: Proximity.from_distances(np.zeros((0, 0)), Constant()), "at least one row"),
        (lambda: Proximity.from_distances([[0.0, -1.0], [1.0, 0.0]], Constant()), "not be negative, got -1"),
        (lambda: Proximity.from_distances([[0.0, NAN], [1.0, 0.0]], Constant()), "not be NaN"),
        (lambda: Proximity.from_distances([[0.0, 1.0], [1.0, 0.5]], Constant()), "zero diagonal"),
        (lambda: Proximity.from_distances([["x"]], Constant()), "matrix of numbers"),
        (lambda: Proximity.from_distances(sparse.csr_array([[0.0, -2.0], [0.0, 0.0]]), Constant()), "negative"),
        (lambda: Proximity.from_distances(sparse.csr_array([[1.0, 0.0], [0.0, 0.0]]), Constant()), "zero diagonal"),
        (lambda: Proximity.from_distances(sparse.csr_array((2, 3)), Constant()), "square matrix"),
        (
            lambda: Proximity.from_distances(
                sparse.coo_array(([1.0, 1.0], ([0, 0], [1, 1])), shape=(2, 2)), Constant()
            ),
            "an entry twice",
        ),
        (lambda: Proximity.from_covariates(np.arange(3e6), Constant()), "3,000,000 rows with .* finite reach"),
        (lambda: Proximity.from_covariates(np.arange(3e6), Exponential(1.0), sequential=True), "cutoff=1e-6"),
        (lambda: Proximity.from_covariates(np.zeros((10**6, 2)), Exponential(1.0)), "1,000,000 rows with"),
        (lambda: Proximity.from_covariates(np.zeros((10**6, 2)), Window(1.0)), "1,000,000 rows with"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_sequential_groups_may_interleave():
    t, groups = [0.0, 5.0, 1.0, 6.0], ["a", "b", "a", "b"]
    proximity = Proximity.from_covariates(t, Window(2.0), sequential=True, groups=groups)
    assert proximity.matrix.toarray().round(2).tolist() == [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.5, 0.0, 0.5, 0.0],
        [0.0, 0.5, 0.0, 0.5],
    ]
    with pytest.raises(ValueError, match="row 3 has 4 after row 1 with 5"):
        Proximity.from_covariates([0.0, 5.0, 1.0, 4.0], Window(2.0), sequential=True, groups=groups)
