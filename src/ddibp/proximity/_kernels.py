"""Compiled parts of building a proximity: sorted search in one dimension, normalising rows, transposing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel


@kernel
def count_neighbours(order: Any, position: Any, group: Any, reach: float, sequential: bool) -> Any:
    """Return, for every row, where its neighbours begin and end in ``order`` (sorted by group, then position, stably).

    Sequential rows are sorted within their group, so that everything up to the row itself is earlier.
    """
    n = order.size
    begin, end = np.empty(n, np.int64), np.empty(n, np.int64)
    low = high = 0
    for s in range(n):
        i = order[s]
        while group[order[low]] != group[i] or position[i] - position[order[low]] > reach:
            low += 1
        high = max(high, s + 1)
        while not sequential and high < n:
            if group[order[high]] != group[i] or position[order[high]] - position[i] > reach:
                break
            high += 1
        begin[i], end[i] = low, high
    return begin, end


@kernel
def fill_neighbours(order: Any, position: Any, begin: Any, end: Any, indptr: Any, indices: Any, distances: Any) -> None:
    """Write the neighbours found by `count_neighbours` and their distances, row by row."""
    for i in range(order.size):
        at = indptr[i]
        for s in range(begin[i], end[i]):
            indices[at] = order[s]
            distances[at] = abs(position[order[s]] - position[i])
            at += 1


@kernel
def keep_above(indptr: Any, indices: Any, log_f: Any, log_cutoff: float) -> Any:
    """Drop entries whose log decay is at most ``log_cutoff``, in place, but no diagonal; return the new length."""
    at = 0
    start = indptr[0]
    for i in range(indptr.size - 1):
        end = indptr[i + 1]
        for s in range(start, end):
            if log_f[s] > log_cutoff or (indices[s] == i and log_f[s] > -np.inf):
                indices[at] = indices[s]
                log_f[at] = log_f[s]
                at += 1
        start = end
        indptr[i + 1] = at
    return at


@kernel
def normalise_rows(indptr: Any, indices: Any, log_f: Any, weights: Any, normalisers: Any) -> Any:
    """Fill a_ij = f_ij / h_i and h_i, and make ``log_f`` log a_ij; return (smallest log a_ij, lower triangular?)."""
    smallest, lower = 0.0, True
    for i in range(indptr.size - 1):
        h = 0.0
        for s in range(indptr[i], indptr[i + 1]):
            h += np.exp(log_f[s])
            if indices[s] > i:
                lower = False
        log_h = np.log(h)
        normalisers[i] = h
        for s in range(indptr[i], indptr[i + 1]):
            log_f[s] -= log_h
            weights[s] = np.exp(log_f[s])
            smallest = min(smallest, log_f[s])
    return smallest, lower


@kernel
def transpose_pattern(indptr: Any, indices: Any) -> Any:
    """Return (indptr, indices) of the transposed pattern: who may link to each row."""
    n = indptr.size - 1
    t_indptr = np.zeros(n + 1, np.int64)
    for j in indices:
        t_indptr[j + 1] += 1
    for j in range(n):
        t_indptr[j + 1] += t_indptr[j]
    at = t_indptr[:-1].copy()
    t_indices = np.empty(indices.size, np.int32)
    for i in range(n):
        for s in range(indptr[i], indptr[i + 1]):
            j = indices[s]
            t_indices[at[j]] = i
            at[j] += 1
    return t_indptr, t_indices
