"""From text to numbers: data with holes, covariates, dates, labels; and back with as many digits as the column has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.cli.tables import Table

FloatArray = NDArray[np.float64]

MISSING = ("", "na", "n/a", "nan", "null", "none")
_EPOCH = datetime(1970, 1, 1)
_MOST_DECIMALS = 12


def data(table: Table, names: Sequence[str]) -> FloatArray:
    """Return columns of data, NaN where a cell is empty, NA, N/A, NaN, null or None."""
    return np.column_stack([_data_column(table, name) for name in names])


def _data_column(table: Table, name: str) -> FloatArray:
    values = np.empty(len(table))
    for i, cell in enumerate(table[name]):
        if cell.lower() in MISSING:
            values[i] = math.nan
            continue
        try:
            values[i] = float(cell)
        except ValueError:
            raise ValueError(
                f"{table.cell(i, name)}: {cell!r} is not a number; empty the cell if it is missing, or leave the "
                f"column out with --exclude {name}, or take it as --id."
            ) from None
        if math.isinf(values[i]):
            raise ValueError(f"{table.cell(i, name)}: {cell!r} is not finite; empty the cell if it is missing.")
    return values


def covariates(table: Table, names: Sequence[str], *, infinite: bool = False) -> FloatArray:
    """Return covariates, one column each; dates and times become days since 1970-01-01 (UTC where they have a zone)."""
    return np.column_stack([_covariate_column(table, name, infinite) for name in names])


def dated(table: Table, name: str) -> bool:
    """Return whether a covariate is a column of dates or times, as its first cell is."""
    return _day(table[name][0]) is not None


def _covariate_column(table: Table, name: str, infinite: bool) -> FloatArray:
    cells = table[name]
    values = np.empty(len(cells))
    dates = dated(table, name)
    for i, cell in enumerate(cells):
        value = _day(cell) if dates else _number(cell)
        if value is None or not (math.isfinite(value) or (infinite and value == math.inf)):
            kind = "date" if dates else "finite number"
            fault = f"{cell!r} is not a {kind}" if cell else "the cell is empty"
            raise ValueError(f"{table.cell(i, name)}: {fault}; fill it in or drop the row.")
        values[i] = value
    return values


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _day(cell: str) -> float | None:
    if _number(cell) is not None:  # 1950 is a year to count from, not a date
        return None
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        return None
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - _EPOCH).total_seconds() / 86400.0


def labels(table: Table, name: str) -> list[str]:
    """Return a column of labels, none of which may be empty."""
    cells = table[name]
    if "" in cells:
        raise ValueError(f"{table.cell(cells.index(''), name)}: the cell is empty; every row needs a label.")
    return cells


def identifiers(table: Table, name: str) -> list[str]:
    """Return a column of labels that are all different."""
    first: dict[str, int] = {}
    for i, cell in enumerate(labels(table, name)):
        if cell in first:
            raise ValueError(
                f"{table.cell(i, name)}: {cell!r} is there already, in {table.places[first[cell]]}; "
                "a column named by --id must have a different label in every row."
            )
        first[cell] = i
    return table[name]


def decimals(cells: Sequence[str]) -> int | None:
    """Return two more decimals than the cells of a column have, or None if some are in scientific notation."""
    most = 0
    for cell in cells:
        if cell.lower() in MISSING:
            continue
        if "e" in cell.lower():
            return None
        most = max(most, len(cell.partition(".")[2]))
    return min(most + 2, _MOST_DECIMALS)


def written(value: Any, places: int | None) -> str:
    """Return a number as text, with so many decimals, or with six significant digits where None."""
    return f"{value:.6g}" if places is None else f"{value:.{places}f}"
