"""Exact forward sampling of the dependent hierarchical beta process, atoms integrated out row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp._kernel import kernel
from ddibp._links import draw_links
from ddibp.proximity import Proximity


def sample(
    proximity: Proximity, gamma: float, c0: float, c1: float, coupling: str, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return a feature matrix of the dHBP with mass ``gamma`` and concentrations ``c0``, ``c1``."""
    n, rows = proximity.n_rows, proximity.rows
    by_dish = coupling == "dish"
    lenders = np.empty((1, n), np.int32)
    draw_links(rng, rows.indptr, rows.indices, rows.weights, lenders)
    candidates = rng.poisson(gamma, n)
    columns = []
    for i in range(n):
        fresh = np.zeros((candidates[i], n), np.bool_)
        kept = _new_columns(rng, i, rows, lenders[0], by_dish, c0, c1, fresh)
        columns.append(fresh[:kept])
    return np.ascontiguousarray(np.concatenate(columns).T)


@kernel
def _new_columns(rng: Any, i: int, rows: Any, lenders: Any, by_dish: bool, c0: float, c1: float, columns: Any) -> int:
    """Fill the columns first taken by row i, one per candidate that no earlier row has taken; return their number.

    A candidate's base probability has the density of an atom taken by i, Beta(1, c0). Given it, rows 0, 1, ... with
    row i already in are a sequence of coins with probability (c1 p + taken) / (c1 + seen) among the
    borrowers of one row; the candidate is dropped as soon as a row before i takes it.
    """
    n = lenders.size
    seen, taken = np.empty(n), np.empty(n)
    kept = 0
    for _ in range(columns.shape[0]):
        p = rng.beta(1.0, c0)
        seen[:], taken[:] = 0.0, 0.0
        g = _lender(rng, i, rows, lenders, by_dish)
        seen[g], taken[g] = 1.0, 1.0
        first = True
        for j in range(n):
            if j != i and first:
                g = _lender(rng, j, rows, lenders, by_dish)
                has = rng.random() * (c1 + seen[g]) < c1 * p + taken[g]
                seen[g] += 1.0
                if has:
                    taken[g] += 1.0
                    first = j > i
                columns[kept, j] = has
        if first:
            columns[kept, i] = True
            kept += 1
        else:
            columns[kept, :] = False
    return kept


@kernel
def _lender(rng: Any, i: int, rows: Any, lenders: Any, by_dish: bool) -> int:
    """Return the row that row i borrows from: drawn anew for every feature, or the row's one lender."""
    if not by_dish:
        return lenders[i]
    u = rng.random()
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        u -= rows.weights[s]
        if u < 0.0:
            return rows.indices[s]
    return rows.indices[rows.indptr[i + 1] - 1]
