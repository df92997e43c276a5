"""Checks of what users pass in: one clear sentence naming the argument, the offence and the remedy."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray


def number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    finite: bool = True,
) -> float:
    """Return ``value`` as a float, or say which interval it must lie in."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, np.floating, np.integer)):
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    x = float(value)
    inside = low < x <= high if open_low else low <= x <= high
    if not inside or (finite and math.isinf(x)):
        left = f"({low:g}" if open_low or math.isinf(low) else f"[{low:g}"
        right = f"{high:g})" if finite and math.isinf(high) else f"{high:g}]"
        raise ValueError(f"{name} must be a number in {left}, {right}, got {value!r}.")
    return x


def count(name: str, value: Any, *, low: int = 0) -> int:
    """Return ``value`` as an int of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Integral, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {value!r} of type {type(value).__name__}.")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value!r}.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``options``."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}.")
    return str(value)


def binary_matrix(name: str, value: Any, n_rows: int | None = None) -> NDArray[np.bool_]:
    """Return a two-dimensional boolean array; only 0 and 1 are accepted."""
    if hasattr(value, "toarray"):
        value = value.toarray()
    Z = np.asarray(value)
    if Z.ndim != 2:
        raise ValueError(f"{name} must be a matrix of rows by columns, got an array of shape {Z.shape}.")
    if n_rows is not None and Z.shape[0] != n_rows:
        raise ValueError(f"{name} has {Z.shape[0]} rows, but the covariates describe {n_rows} rows; they must match.")
    return _as_bool(name, Z)


def binary_column(name: str, value: Any, n_rows: int | None = None) -> NDArray[np.bool_]:
    """Return a one-dimensional boolean array; only 0 and 1 are accepted."""
    z = np.asarray(value)
    if z.ndim != 1:
        raise ValueError(f"{name} must be one column (a vector with an entry per row), got shape {z.shape}.")
    if n_rows is not None and z.shape[0] != n_rows:
        raise ValueError(f"{name} has {z.shape[0]} entries, but there are {n_rows} rows; they must match.")
    return _as_bool(name, z)


def _as_bool(name: str, array: NDArray[Any]) -> NDArray[np.bool_]:
    if array.dtype == bool:
        return array
    try:
        numeric = array.astype(float)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must hold 0 and 1 only, got an array of dtype {array.dtype}.") from None
    wrong = ~((numeric == 0) | (numeric == 1))
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"{name} must hold 0 and 1 only, got {array[where]} at {where}.")
    return numeric.astype(bool)
