"""Covariates become points, and metrics distances between points.

Every metric is described by an embedding: coordinates, the SciPy metric between them, and, where that is a Minkowski
metric, the order ``p`` that a KD-tree needs, with monotone maps between the metric's own distance and the tree's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

EARTH_RADIUS_KM = 6371.0088  # mean radius of the GRS 80 ellipsoid

_MINKOWSKI = {"euclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf, "minkowski": 2.0}
_PAIRWISE_ONLY = ("braycurtis", "canberra", "correlation", "cosine", "dice", "hamming", "jaccard", "jensenshannon")
METRICS = (*_MINKOWSKI, "sqeuclidean", "seuclidean", "mahalanobis", "haversine", *_PAIRWISE_ONLY, "precomputed")


class Embedding(NamedTuple):
    """Points whose plain SciPy metric, mapped by ``from_tree``, is the wanted distance."""

    points: FloatArray
    metric: str | Callable[..., float]
    p: float | None
    to_tree: Callable[[float], float]
    from_tree: Callable[[FloatArray], FloatArray]

    def pairwise(self, rows: slice) -> FloatArray:
        """Return the distances between the points in ``rows`` and all points."""
        from scipy.spatial.distance import cdist

        distances = self.from_tree(cdist(self.points[rows], self.points, metric=self.metric))
        if np.isnan(distances).any():
            i, j = np.argwhere(np.isnan(distances))[0]
            raise ValueError(
                f"metric {self.metric!r} gives no number for rows {i + rows.start} and {j}; "
                "cosine and correlation need rows that are not constant or zero."
            )
        return distances


def as_points(covariates: Any) -> FloatArray:
    """Return covariates as a float matrix (rows by columns), or say what is wrong with them."""
    raw = np.asarray(covariates)
    if raw.dtype.kind in "mM":
        raise TypeError(
            "covariates must be numbers, got dates or times; convert them, "
            "for example (t - t.min()) / numpy.timedelta64(1, 'D') for days."
        )
    try:
        points = np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"covariates must be numbers, got an array of dtype {raw.dtype}.") from None
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2:
        raise ValueError(
            f"covariates must be a vector or a matrix of rows by columns, got an array of shape {points.shape}."
        )
    if points.size == 0:
        raise ValueError(f"covariates must have at least one row and one column, got shape {np.shape(covariates)}.")
    if not np.isfinite(points).all():
        i, j = np.argwhere(~np.isfinite(points))[0]
        raise ValueError(
            f"covariates must be finite, got {points[i, j]} in row {i}, column {j}; drop the row or fill the value in "
            "(missing covariates have no place in a distance)."
        )
    return np.ascontiguousarray(points)


def as_groups(groups: Any, n_rows: int) -> NDArray[np.int64] | None:
    """Return group labels as codes 0, 1, ...; rows of different groups are infinitely far apart."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups must have one label per row, {n_rows} in all, got shape {labels.shape}.")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"groups must not be NaN, got NaN in row {int(np.argmax(np.isnan(labels)))}.")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def check_metric(metric: Any) -> None:
    """Raise unless ``metric`` is a callable or a known name."""
    if not callable(metric) and metric not in METRICS:
        raise ValueError(f"metric must be a callable or one of {', '.join(METRICS)}; got {metric!r}.")


def embed(points: FloatArray, metric: Any) -> Embedding:
    """Return the embedding of ``points`` under ``metric`` (a SciPy metric's name, ``haversine``, or a callable)."""

    def same(x: Any) -> Any:
        return x

    if callable(metric):
        return Embedding(points, metric, None, same, same)
    if metric in _MINKOWSKI:
        return Embedding(points, metric, _MINKOWSKI[metric], same, same)
    if metric == "sqeuclidean":
        return Embedding(points, "euclidean", 2.0, np.sqrt, np.square)
    if metric == "seuclidean":
        return Embedding(points / _scale(points), "euclidean", 2.0, same, same)
    if metric == "mahalanobis":
        return Embedding(_whiten(points), "euclidean", 2.0, same, same)
    if metric == "haversine":
        return _on_the_sphere(points)
    check_metric(metric)
    return Embedding(points, metric, None, same, same)


def _scale(points: FloatArray) -> FloatArray:
    scale = points.std(axis=0, ddof=1) if len(points) > 1 else np.ones(points.shape[1])
    if (scale == 0).any():
        raise ValueError(f"metric 'seuclidean' needs columns that vary; column {int(np.argmin(scale))} is constant.")
    return np.asarray(scale)


def _whiten(points: FloatArray) -> FloatArray:
    if len(points) <= points.shape[1]:
        raise ValueError(f"metric 'mahalanobis' needs more rows than columns, got shape {points.shape}.")
    covariance = np.atleast_2d(np.cov(points, rowvar=False))
    try:
        lower = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise ValueError("metric 'mahalanobis' needs columns that are not linearly dependent.") from None
    return np.ascontiguousarray(np.linalg.solve(lower, points.T).T)


def _on_the_sphere(points: FloatArray) -> Embedding:
    if points.shape[1] != 2:
        raise ValueError(
            f"metric 'haversine' needs two columns, latitude and longitude in degrees; got {points.shape[1]}."
        )
    latitude, longitude = points.T
    if (np.abs(latitude) > 90).any() or (np.abs(longitude) > 360).any():
        raise ValueError(
            "metric 'haversine' needs latitude in [-90, 90] first and longitude in [-360, 360] second, in degrees; "
            f"got latitudes from {latitude.min():g} to {latitude.max():g}."
        )
    phi, lam = np.radians(latitude), np.radians(longitude)
    xyz = np.column_stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)])

    def chord(kilometres: float) -> float:
        return 2.0 * float(np.sin(min(kilometres / (2.0 * EARTH_RADIUS_KM), np.pi / 2)))

    def great_circle(chords: FloatArray) -> FloatArray:
        return np.asarray(2.0 * EARTH_RADIUS_KM * np.arcsin(np.minimum(chords / 2.0, 1.0)))

    return Embedding(xyz, "euclidean", 2.0, chord, great_circle)
