"""Other ways to fill holes, each with its one choice made on observed entries that are hidden in turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_SHARE, _ROUNDS = 0.1, 3


def column_means(X: FloatArray) -> FloatArray:
    """Return X with the mean of its column in every hole."""
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def pca(X: FloatArray, rank: int) -> FloatArray:
    """Return X with holes filled by its best approximation of this rank, found by filling and fitting in turn."""
    filled = column_means(X)
    for _ in range(200):
        center = filled.mean(axis=0)
        left, values, right = np.linalg.svd(filled - center, full_matrices=False)
        filled = np.where(np.isnan(X), (left[:, :rank] * values[:rank]) @ right[:rank] + center, X)
    return filled


def neighbours(X: FloatArray, k: int) -> FloatArray:
    """Return X with the mean of the k rows that are nearest (scikit-learn's `KNNImputer`) in every hole."""
    from sklearn.impute import KNNImputer

    return np.asarray(KNNImputer(n_neighbors=k, weights="distance").fit_transform(X))


def tuned(fill: Callable[[FloatArray, int], FloatArray], X: FloatArray, choices: range) -> tuple[FloatArray, int]:
    """Return X filled with the choice that fills hidden observed entries best, and the choice."""
    rng = np.random.default_rng(0)
    errors = np.zeros(len(choices))
    for _ in range(_ROUNDS):
        hidden = ~np.isnan(X) & (rng.random(X.shape) < _SHARE)
        tried = np.where(hidden, np.nan, X)
        errors += [np.square((fill(tried, choice) - X)[hidden]).sum() for choice in choices]
    best = choices[int(np.argmin(errors))]
    return fill(X, best), best
