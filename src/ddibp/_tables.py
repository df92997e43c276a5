"""Tables as people have them: arrays or data frames, with columns that are covariates, and dates among these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_DAY = np.timedelta64(1, "D")
_EPOCH = np.datetime64("1970-01-01")


def split(X: Any, columns: Any) -> tuple[Any, FloatArray, list[int]]:
    """Return the columns of data, the covariates, and the positions of the data, given which columns are covariates."""
    X = X if hasattr(X, "columns") or hasattr(X, "dtype") else np.asarray(X, dtype=object)
    if len(np.shape(X)) != 2:
        raise ValueError(
            f"X must be a table of rows by columns to take covariate_columns from, got shape {np.shape(X)}."
        )
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    taken = positions(columns, names, X.shape[1])
    rest = [j for j in range(X.shape[1]) if j not in taken]
    if not rest:
        raise ValueError(f"covariate_columns={columns!r} leaves no column of data in X.")
    covariates = [as_numbers(_column(X, j), f"column {names[j]!r}" if names else f"column {j}") for j in taken]
    data = X.iloc[:, rest] if hasattr(X, "iloc") else X[:, rest]
    return data, covariates[0] if len(covariates) == 1 else np.column_stack(covariates), rest


def positions(columns: Any, names: list[str] | None, n_columns: int) -> list[int]:
    """Return positions of columns that are given by name, by position, by a slice of these, or by a list."""
    if isinstance(columns, slice):
        bounds = (_position(b, names, n_columns) if isinstance(b, str) else b for b in (columns.start, columns.stop))
        wanted: list[Any] = list(range(n_columns))[slice(*bounds)]
    else:
        wanted = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
    if not wanted:
        raise ValueError("covariate_columns must name a column at least; None stands for no covariates in X.")
    found = [_position(column, names, n_columns) for column in wanted]
    if len(set(found)) < len(found):
        raise ValueError(f"covariate_columns must name a column once, got {columns!r}.")
    return found


def _position(column: Any, names: list[str] | None, n_columns: int) -> int:
    if isinstance(column, str):
        if names is None:
            raise ValueError(f"covariate_columns names {column!r}, but X is not a data frame; give positions.")
        if names.count(column) != 1:
            there = (
                f"there {names.count(column)} times" if column in names else f"not there; there are {', '.join(names)}"
            )
            raise ValueError(f"covariate_columns names {column!r}, which is {there}.")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, (int, np.integer)):
        raise TypeError(f"covariate_columns must hold names or positions of columns, got {column!r}.")
    if not -n_columns <= column < n_columns:
        raise ValueError(f"covariate_columns holds position {column}, but X has {n_columns} columns.")
    return int(column) % n_columns


def _column(X: Any, j: int) -> Any:
    return X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]


def as_covariates(covariates: Any) -> Any:
    """Return covariates as numbers, one or several columns; what is no table (a Proximity, a sparse array) as it is."""
    if hasattr(covariates, "n_rows") or hasattr(covariates, "tocoo"):
        return covariates
    if hasattr(covariates, "columns"):
        names = list(covariates.columns)
        return np.column_stack([as_numbers(_column(covariates, j), f"column {n!r}") for j, n in enumerate(names)])
    values = covariates if hasattr(covariates, "dtype") else np.asarray(covariates)
    if len(values.shape) == 2:
        if values.dtype.kind in "biuf":
            return np.asarray(values, dtype=np.float64)
        return np.column_stack([as_numbers(values[:, j], f"column {j}") for j in range(values.shape[1])])
    return as_numbers(values, "one column")


def as_numbers(values: Any, name: str) -> FloatArray:
    """Return one covariate as numbers: dates and times as days since 1970 (UTC), durations as days.

    Dates may be NumPy's, pandas', polars', Python's, or ISO 8601 text.
    """
    raw = np.asarray(values)
    if raw.ndim != 1:
        raise ValueError(f"covariates must be columns of one value per row, got {name} of shape {raw.shape}.")
    if raw.dtype.kind == "c":
        raise TypeError(f"covariates must be numbers, dates or times, got complex ones ({name}).")
    if raw.dtype.kind not in "mM":
        try:
            numbers = raw.astype(np.float64)
        except (TypeError, ValueError):
            raw = _as_moments(raw, name)
        else:
            return _complete(numbers, name)
    days = raw / _DAY if raw.dtype.kind == "m" else (raw - _EPOCH) / _DAY
    return _complete(days.astype(np.float64), name)


def _as_moments(raw: NDArray[Any], name: str) -> NDArray[Any]:
    """Return objects or text as NumPy dates or durations."""
    import datetime

    import pandas as pd

    raw = raw.astype(object)
    first = next((value for value in raw if not pd.isna(value)), None)
    if hasattr(first, "to_timestamp"):  # a period counts from its beginning
        raw = np.array([value.to_timestamp() if hasattr(value, "to_timestamp") else value for value in raw], object)
    try:
        if isinstance(first, (datetime.timedelta, np.timedelta64)):
            return np.asarray(pd.to_timedelta(raw))
        moments = pd.to_datetime(raw, utc=True, format="ISO8601")
    except (TypeError, ValueError):
        raise TypeError(
            f"covariates must be numbers, dates or times, got {first!r} ({name}); text must be in the form 2026-11-19."
        ) from None
    return np.asarray(moments.tz_localize(None))


def _complete(values: FloatArray, name: str) -> FloatArray:
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values)))
        raise ValueError(f"covariates must not be missing, but row {row} has none ({name}); drop it or fill it in.")
    return values
