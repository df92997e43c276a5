"""Logarithms, centres and scales of columns, and the way back to the units of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaling:
    """How columns were transformed: X = (original - center) / scale, of the logarithm where ``logged``."""

    logged: NDArray[np.bool_]
    center: FloatArray
    scale: FloatArray

    def forward(self, X: FloatArray) -> FloatArray:
        """Return transformed data."""
        X = X.copy()
        X[:, self.logged] = np.log(X[:, self.logged])
        return (X - self.center) / self.scale

    def back(self, values: FloatArray, columns: Any = slice(None)) -> FloatArray:
        """Return values of transformed columns in the units of the table; the last axis runs over ``columns``."""
        values = values * self.scale[columns] + self.center[columns]
        return np.where(self.logged[columns], np.exp(np.where(self.logged[columns], values, 0.0)), values)


def choose_scaling(X: FloatArray, names: Sequence[str], logs: Sequence[str], how: str) -> Scaling:
    """Return the transformation of columns; ``how`` is "standardise", "center" or "raw"."""
    logged = np.array([name in logs for name in names])
    if logged.any():
        X = X.copy()
        X[:, logged] = np.log(X[:, logged])
    center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if how != "raw":
        center = np.nanmean(X, axis=0)
    if how == "standardise":
        scale = np.nanstd(X, axis=0)
    return Scaling(logged, center, scale)


def check_columns(X: FloatArray, names: Sequence[str], logs: Sequence[str], source: str, places: Sequence[str]) -> None:
    """Raise where a column holds nothing, holds the same in all rows, or has no logarithm."""
    for j, name in enumerate(names):
        seen = X[~np.isnan(X[:, j]), j]
        if not seen.size:
            raise ValueError(f"{source}, column {name!r} holds no numbers; leave it out with --exclude {name}.")
        if len(X) > 1 and np.ptp(seen) == 0.0:
            raise ValueError(
                f"{source}, column {name!r} is {seen[0]:g} wherever it is observed, so there is nothing to explain; "
                f"leave it out with --exclude {name}."
            )
        if name in logs and seen.min() <= 0.0:
            row = int(np.nanargmin(X[:, j]))
            raise ValueError(
                f"{source}, {places[row]}, column {name!r}: {seen.min():g} has no logarithm; take {name} out of --log."
            )
