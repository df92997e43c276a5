"""Sums over who borrows from whom in the dHBP. Rates depend on which rows share a lender, not on who the lender is."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from ddibp.priors._borrowing import BorrowingProcess
from ddibp.proximity import Proximity

LARGEST_SUM = 100_000


def partitions(proximity: Proximity, c0: float, c1: float) -> list[tuple[BorrowingProcess, float]]:
    """Return a process for every way in which rows can share lenders, with its probability."""
    rows = proximity.rows
    ends = rows.indptr[1:]
    supports = [rows.indices[begin:end].tolist() for begin, end in zip(rows.indptr, ends, strict=False)]
    weights = [rows.weights[begin:end].tolist() for begin, end in zip(rows.indptr, ends, strict=False)]
    count = math.prod(len(support) for support in supports)
    if count > LARGEST_SUM:
        raise ValueError(
            f"there are {count:,} ways in which {proximity.n_rows} rows can choose their lenders, too many to sum over "
            f"(at most {LARGEST_SUM:,}); give them: lenders=, the row that every row borrows from."
        )
    found: dict[tuple[int, ...], float] = {}
    for lenders, chances in zip(itertools.product(*supports), itertools.product(*weights), strict=True):
        first: dict[int, int] = {}
        key = tuple(first.setdefault(j, i) for i, j in enumerate(lenders))
        found[key] = found.get(key, 0.0) + math.prod(chances)
    return [(BorrowingProcess(proximity, np.array(key, np.int32), c0, c1), p) for key, p in found.items()]


def check_lenders(lenders: object, proximity: Proximity) -> NDArray[np.int32]:
    """Return lenders as an array, or say what is wrong with them."""
    rows = np.asarray(lenders)
    if rows.shape != (proximity.n_rows,) or rows.dtype.kind not in "iu":
        raise ValueError(
            f"lenders must hold a row number for each of the {proximity.n_rows} rows, got an array of shape "
            f"{rows.shape} and type {rows.dtype}."
        )
    if rows.min() < 0 or rows.max() >= proximity.n_rows:
        raise ValueError(f"lenders must be rows from 0 to {proximity.n_rows - 1}, got {rows.tolist()}.")
    beyond = np.flatnonzero(np.asarray(proximity.matrix[np.arange(rows.size), rows]) == 0.0)
    if beyond.size:
        i = int(beyond[0])
        raise ValueError(f"lenders must be within reach, but row {i} cannot borrow from row {rows[i]}.")
    return rows.astype(np.int32)
