"""Columns made by links that reach an owner: drawing them, their rates, and their causes given the column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp.proximity import Proximity

FloatArray = NDArray[np.float64]
_WALK_STEPS_PER_ROW = 20_000  # far beyond what a random tree takes unless groups of rows hardly link to each other


def draw_dense(
    proximity: Proximity, owners: NDArray[np.int32], rng: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int32]]:
    """Draw links for every row and column; return (Z, links), rows first."""
    from ddibp import _links

    rows = proximity.rows
    links = np.empty((owners.size, proximity.n_rows), np.int32)
    _links.draw_links(rng, rows.indptr, rows.indices, rows.weights, links)
    active = np.empty(links.shape, np.bool_)
    for k in range(owners.size):
        _links.reach_owner(links[k], owners[k], active[k])
    return np.ascontiguousarray(active.T), np.ascontiguousarray(links.T)


def draw_sparse(proximity: Proximity, owners: NDArray[np.int32], rng: np.random.Generator) -> Any:
    """Draw columns by growing them from their owners; return Z as compressed columns."""
    from scipy.sparse import csc_array

    from ddibp import _links

    n = proximity.n_rows
    in_indptr, in_indices = proximity.followers
    ends = np.zeros(owners.size, np.int64)
    active = np.empty(2 * n, np.int32)
    seen, link = np.full(n, -1, np.int64), np.empty(n, np.int32)
    done = 0
    while done < owners.size:
        done = _links.draw_local_columns(
            rng, owners, done, proximity.rows, in_indptr, in_indices, ends, active, seen, link
        )
        if done < owners.size:
            active = np.concatenate([active, np.empty(active.size, np.int32)])
    indptr = np.concatenate([[0], ends])
    data = np.ones(indptr[-1], np.bool_)
    Z = csc_array((data, active[: indptr[-1]].copy(), indptr), shape=(n, owners.size))
    Z.sort_indices()
    return Z


def log_unit_rates(proximity: Proximity, Z: NDArray[np.bool_]) -> FloatArray:
    r"""Return :math:`\log \rho_z` at mass 1 for every column."""
    from ddibp import _links

    rates = np.full(Z.shape[1], -np.inf)
    columns = np.ascontiguousarray(Z.T).view(np.uint8)
    if proximity.sequential:
        _links.log_sequential_rates(columns, proximity.rows, rates)
        return rates
    for k, z in enumerate(columns):
        if z.any():
            owner_part = _log_active(proximity, z)
            if owner_part > -np.inf:
                rates[k] = owner_part + _links.log_inactive(z, proximity.rows)
    return rates


def log_owner_probabilities(proximity: Proximity, z: NDArray[np.bool_]) -> FloatArray:
    """Return the log probability of every row to own a column."""
    from ddibp import _links

    result = np.full(proximity.n_rows, -np.inf)
    column = z.astype(np.uint8)
    if not z.any():
        raise ValueError("z has no active row, so that it has no owner; the prior has no empty columns.")
    if proximity.sequential:
        active = np.flatnonzero(z)
        possible = _links.log_sequential_active(column, proximity.rows) > -np.inf
        weights = np.where(np.arange(active.size) == 0, 0.0, -np.inf) if possible else np.full(active.size, -np.inf)
    else:
        active = np.flatnonzero(z)
        weights = _log_owner_weights(proximity, column)
    top = weights.max()
    if top == -np.inf:
        raise ValueError("z cannot arise: its active rows cannot all reach one of them by links within reach.")
    result[active] = weights - top - np.log(np.exp(weights - top).sum())
    return result


def draw_causes(
    proximity: Proximity, Z: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw owners and links given the matrix; return (owners, links), links rows first."""
    owners = np.empty(Z.shape[1], np.int32)
    links = np.empty((Z.shape[1], len(Z)), np.int32)
    for k in range(Z.shape[1]):
        owners[k] = draw_owner(proximity, Z[:, k], rng)
        draw_column_links(proximity, Z[:, k].astype(np.uint8), int(owners[k]), links[k], rng)
    return owners, np.ascontiguousarray(links.T)


def draw_owner(proximity: Proximity, z: NDArray[np.bool_], rng: np.random.Generator) -> int:
    """Draw the owner of one column, which must be possible."""
    if proximity.sequential:
        return int(np.argmax(z))
    if proximity.symmetric:  # all active rows are equally likely
        active = np.flatnonzero(z)
        return int(active[rng.integers(active.size)])
    cumulative = np.cumsum(np.exp(log_owner_probabilities(proximity, z)))
    at = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    return min(at, cumulative.size - 1)


def draw_column_links(
    proximity: Proximity, z: NDArray[np.uint8], owner: int, links: NDArray[np.int32], rng: np.random.Generator
) -> None:
    """Fill in the links of one column given the column and its owner."""
    from ddibp import _links

    _links.draw_links_given(rng, z, owner, proximity.sequential, proximity.rows, links)
    if not proximity.sequential:
        active, tree = _draw_tree(proximity, z, owner, rng)
        others = active != owner
        links[active[others]] = active[tree[others]]


def _log_active(proximity: Proximity, z: NDArray[np.uint8]) -> float:
    """Return the log weight of the owners and links of the active rows."""
    weights = _log_owner_weights(proximity, z)
    top = weights.max()
    return float(top + np.log(np.exp(weights - top).sum())) if top > -np.inf else -np.inf


def _log_owner_weights(proximity: Proximity, z: NDArray[np.uint8]) -> FloatArray:
    """Return the log of the tree weight over h for every active row."""
    from ddibp import _trees

    active, _, _, are_logs = _places(proximity, z)
    return np.asarray(_trees.log_tree_weights(_among(proximity, z), are_logs) - np.log(proximity.normalisers[active]))


def _among(proximity: Proximity, z: NDArray[np.uint8]) -> FloatArray:
    """Return the dense weights (or logs, if the proximity keeps them) among the active rows."""
    from ddibp import _trees

    active, where, values, are_logs = _places(proximity, z)
    rows = proximity.rows
    return _trees.dense_among(active, where, rows.indptr, rows.indices, values, -np.inf if are_logs else 0.0)


def _places(
    proximity: Proximity, z: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray, bool]:
    active = np.flatnonzero(z)
    where = np.full(z.size, -1, np.int64)
    where[active] = np.arange(active.size)
    rows = proximity.rows
    are_logs = rows.log_weights.size > 0
    return active, where, rows.log_weights if are_logs else rows.weights, are_logs


def _draw_tree(
    proximity: Proximity, z: NDArray[np.uint8], owner: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the tree of the active rows directed to the owner; return (active rows, their links among them)."""
    from ddibp import _trees

    active, where, values, are_logs = _places(proximity, z)
    rows = proximity.rows
    pointers, places, cumulative = _trees.local_rows(active, where, rows.indptr, rows.indices, values, are_logs)
    budget = _WALK_STEPS_PER_ROW * active.size
    tree, done = _trees.wilson(rng, where[owner], pointers, places, cumulative, budget)
    if not done:
        tree = _trees.laplacian_walks(rng, where[owner], _trees.as_logs(_among(proximity, z), are_logs))
    return active, tree
