"""Who lies within reach of whom, as a sparse pattern of distances; never an N×N array when the reach is finite."""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddibp.proximity.metrics import Embedding, FloatArray

_BYTES_PER_ENTRY = 28  # index, distance, log decay and weight while a proximity is built
_ROWS_PER_BLOCK_ENTRIES = 4_000_000


class Pattern(NamedTuple):
    """Distances in compressed rows; entries that are not stored are infinite."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    distances: FloatArray


def find(embedding: Embedding, groups: NDArray[np.int64] | None, reach: float, sequential: bool) -> Pattern:
    """Return all pairs within ``reach`` of each other (every pair of a group if it is infinite)."""
    n = len(embedding.points)
    if embedding.p is not None and embedding.points.shape[1] == 1:
        return _by_sorting(embedding, groups, reach, sequential)
    if embedding.p is not None and math.isfinite(reach):
        return _by_tree(embedding, groups, reach, sequential)
    if math.isinf(reach):
        sizes = np.array([n]) if groups is None else np.bincount(groups)
        require_memory(int(np.sum(sizes * (sizes + 1) // 2 if sequential else sizes**2)), n)
    return _by_blocks(embedding, groups, reach, sequential)


def require_memory(entries: int, n_rows: int) -> None:
    """Raise if a proximity with so many stored pairs has no room, and say how to make it smaller."""
    require_room(
        entries * _BYTES_PER_ENTRY,
        f"{n_rows:,} rows with {entries:,} pairs within reach",
        "Give the decay a finite reach: Window(nu), or cutoff=1e-6 (decays below the cutoff count as 0; "
        "decay.reach(1e-6) tells the distance), or split the rows by groups=.",
    )


def require_room(needed: float, what: str, remedy: str) -> None:
    """Raise if so many bytes are more than half of the machine's memory."""
    try:
        available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        available = 8 << 30
    if needed > available:
        raise ValueError(
            f"{what} would need about {needed / 2**30:,.1f} GiB, more than half of this machine's memory. {remedy}"
        )


def require_square_memory(n_rows: int) -> None:
    """Raise if a dense matrix over pairs of rows has no room."""
    require_room(
        8.0 * n_rows**2,
        f"A matrix over all pairs of {n_rows:,} rows",
        "Take fewer rows, for example every tenth, or one group at a time.",
    )


def _by_sorting(embedding: Embedding, groups: Any, reach: float, sequential: bool) -> Pattern:
    from ddibp.proximity import _kernels

    position = embedding.points[:, 0]
    group = np.zeros(position.size, np.int64) if groups is None else groups
    order = np.lexsort((position, group))
    tree_reach = float(embedding.to_tree(reach)) * (1.0 + 4e-16) if math.isfinite(reach) else np.inf
    begin, end = _kernels.count_neighbours(order, position, group, tree_reach, sequential)
    indptr = np.concatenate([[0], np.cumsum(end - begin)])
    require_memory(int(indptr[-1]), position.size)
    indices, distances = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    _kernels.fill_neighbours(order, position, begin, end, indptr, indices, distances)
    if not bool(np.all(order[1:] > order[:-1])):
        _sort_rows(indptr, indices, distances)
    return Pattern(indptr, indices, embedding.from_tree(distances))


def _by_tree(embedding: Embedding, groups: Any, reach: float, sequential: bool) -> Pattern:
    from scipy.spatial import cKDTree

    points = embedding.points
    tree_reach = float(embedding.to_tree(reach)) * (1.0 + 4e-16)
    if groups is not None:
        # One more axis on which different groups lie out of reach, and rows of one group coincide.
        points = np.column_stack([points, groups * (2.0 * tree_reach + 1.0)])
    assert embedding.p is not None
    tree = cKDTree(points)
    require_memory(int(tree.count_neighbors(tree, tree_reach, p=embedding.p)), len(points))
    columns, values, counts = [], [], np.zeros(len(points), np.int64)
    block = 20_000
    for start in range(0, len(points), block):
        part = cKDTree(points[start : start + block])
        found = part.sparse_distance_matrix(tree, tree_reach, p=embedding.p, output_type="ndarray")
        rows, cols, dist = found["i"] + start, found["j"], found["v"]
        if sequential:
            keep = cols <= rows
            rows, cols, dist = rows[keep], cols[keep], dist[keep]
        sorting = np.lexsort((cols, rows))
        counts += np.bincount(rows, minlength=len(points))
        columns.append(cols[sorting].astype(np.int32))
        values.append(dist[sorting])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return Pattern(indptr, np.concatenate(columns), embedding.from_tree(np.concatenate(values)))


def _by_blocks(embedding: Embedding, groups: Any, reach: float, sequential: bool) -> Pattern:
    n = len(embedding.points)
    columns, values, counts = [], [], []
    block = max(1, _ROWS_PER_BLOCK_ENTRIES // n)
    everything = np.arange(n)
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        distances = embedding.pairwise(rows)
        index = np.arange(rows.start, rows.stop)
        distances[index - start, index] = 0.0
        keep = distances <= reach
        if groups is not None:
            keep &= groups[rows, None] == groups[None, :]
        if sequential:
            keep &= everything[None, :] <= index[:, None]
        counts.append(keep.sum(axis=1))
        columns.append(np.nonzero(keep)[1].astype(np.int32))
        values.append(distances[keep])
        require_memory(sum(map(len, values)), n)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    return Pattern(indptr, np.concatenate(columns), np.concatenate(values))


def _sort_rows(indptr: Any, indices: Any, distances: Any) -> None:
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    matrix = csr_array((distances, indices, indptr), shape=(n, n))
    matrix.sort_indices()
    indices[:], distances[:] = matrix.indices, matrix.data
