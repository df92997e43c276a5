"""Where rows stand: their covariate, if there is one to draw along, and the order of rows and features that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ddibp.sampling import Posterior

FloatArray = NDArray[np.float64]


def covariate_columns(posterior: Posterior) -> FloatArray | None:
    """Return the numeric covariates of a posterior, rows by columns; None if it has none, or distances."""
    given = posterior.context.get("covariates")
    distances = posterior.settings["prior"].get("metric") == "precomputed"
    if given is None or given.dtype.kind not in "iufb" or distances:
        return None
    columns = given.reshape(len(given), -1).astype(np.float64)
    return columns if np.isfinite(columns).all() else None


def own_covariate(posterior: Posterior) -> FloatArray | None:
    """Return the covariate of a posterior if it has a single one."""
    columns = covariate_columns(posterior)
    return columns[:, 0] if columns is not None and columns.shape[1] == 1 else None


def check_covariate(covariates: Any, n_rows: int) -> FloatArray:
    """Return one finite number per row."""
    t = np.asarray(covariates)
    if t.dtype.kind not in "iufb":
        raise TypeError(f"covariates must be numbers, one per row, got an array of dtype {t.dtype}.")
    t = t.astype(np.float64)
    if t.shape == (n_rows, 1):
        t = t[:, 0]
    if t.shape != (n_rows,):
        raise ValueError(
            f"covariates must be one number per row, {n_rows} in all, got shape {t.shape}: give one column."
        )
    if not np.isfinite(t).all():
        raise ValueError(f"covariates must be finite, got {t[~np.isfinite(t)][0]} in row {np.argmin(np.isfinite(t))}.")
    return t


def by_onset(Z: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the features in the order of the first row that has them; empty ones come last."""
    n = Z.shape[0]
    first = np.where(Z.any(axis=0), Z.argmax(axis=0), n) if n else np.zeros(Z.shape[1], int)
    return np.argsort(first, kind="stable")


def mean_by_covariate(t: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the different values of a covariate in order, and the mean of the rows at each of them."""
    points, places, counts = np.unique(t, return_inverse=True, return_counts=True)
    total = np.zeros((len(points), *values.shape[1:]))
    np.add.at(total, places, values)
    return points, total / counts.reshape(-1, *(1,) * (values.ndim - 1))
