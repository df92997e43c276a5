"""Rows that arrive one after the other: proximities of the AIBD, and averages over orders of arrival."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp._kernel import kernel
from ddibp._trees import log_add
from ddibp.proximity import Proximity
from ddibp.proximity.matrix import _SAFE_LOG, CompressedRows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def arrivals(base: Proximity, order: IntArray, groups: IntArray | None) -> Proximity:
    r"""Return :math:`a_{ij} = \frac{h_i - 1}{h_i} \lambda_{ij} / \sum_l \lambda_{il}` over earlier rows of the group.

    :math:`h_i` is the row's place in its group, counted from 1, and :math:`a_{ii} = 1/h_i`. Within a row,
    :math:`\lambda` is proportional to the weights of ``base``.
    """
    position = np.argsort(order)
    place = _places(order, groups)
    rows = base.rows
    indptr, indices, logs = rows.indptr.copy(), rows.indices.copy(), log_weights(base).copy()
    kept, smallest, lower, lonely = _keep_earlier(indptr, indices, logs, position, place)
    if lonely >= 0:
        raise ValueError(
            f"row {lonely} is out of reach of all {place[lonely] - 1} rows that arrive before it, so that the AIBD "
            "does not say what it takes from them; use a decay that never vanishes (such as Exponential, with "
            "cutoff=0), or put rows that have nothing to do with each other into groups of their own by groups=."
        )
    logs = logs[:kept].copy()
    return _proximity(indptr, indices[:kept].copy(), np.exp(logs), logs, smallest < _SAFE_LOG, place, lower)


def numbered_by_arrival(proximity: Proximity, order: IntArray) -> Proximity:
    """Return the proximity with rows numbered by their position in ``order``: no row then links to a later one.

    The columns of a row are stored in any order.
    """
    rows, position = proximity.rows, np.argsort(order)
    counts = np.diff(rows.indptr)[order]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    sources = np.arange(indptr[-1]) + np.repeat(rows.indptr[order] - indptr[:-1], counts)
    columns = position[rows.indices[sources]].astype(np.int32)
    logs = rows.log_weights[sources] if rows.log_weights.size else np.empty(0)
    return _proximity(indptr, columns, rows.weights[sources], logs, logs.size > 0, rows.normalisers[order], True)


def require_arrivals(proximity: Proximity) -> None:
    """Raise unless the proximity is one that `arrivals` can have made."""
    h, rows = proximity.normalisers, proximity.rows
    row = np.repeat(np.arange(h.size), np.diff(rows.indptr))
    own = row == rows.indices
    ranked = (h == np.round(h)).all() and (h[rows.indices] < h[row])[~own].all()
    if not ranked or not np.allclose(rows.weights[own] * h[row[own]], 1.0):
        raise ValueError(
            "covariates is a Proximity in which rows do not arrive one after the other, as they do under the AIBD; "
            "make it by AIBD.proximity, not by another prior's."
        )


def log_weights(proximity: Proximity) -> FloatArray:
    """Return the logs of all stored weights."""
    rows = proximity.rows
    return rows.log_weights if rows.log_weights.size else np.log(rows.weights)


def log_average_over_orders(logs: FloatArray, columns: NDArray[np.uint8]) -> float:
    """Return the log of the average over all orders of arrival of the product of the columns' rates at mass 1.

    What a row does depends on which rows have arrived, not on how: rows are added to sets of rows, in any order.
    """
    n = len(logs)
    sums = np.full(1 << n, -np.inf)
    _sum_over_orders(logs, columns @ (1 << np.arange(n)), columns, sums)
    return float(sums[-1]) - math.lgamma(n + 1)


def sharing_in_orders(logs: FloatArray, orders: IntArray) -> FloatArray:
    """Return the expected sharing at mass 1 for each of the orders."""
    S = np.empty((len(orders), *logs.shape))
    _fill_sharing(logs, orders, S)
    return S


def _places(order: IntArray, groups: IntArray | None) -> IntArray:
    """Return, for every row, its place among the rows of its group, counted from 1."""
    place = np.empty(order.size, np.int64)
    labels = np.zeros(order.size, np.int64) if groups is None else groups[order]
    for label in range(labels.max() + 1):
        members = order[labels == label]
        place[members] = np.arange(1, members.size + 1)
    return place


def _proximity(
    indptr: IntArray,
    indices: NDArray[np.int32],
    weights: FloatArray,
    logs: FloatArray,
    keep_logs: bool,
    normalisers: Any,
    sequential: bool,
) -> Proximity:
    rows = CompressedRows(indptr, indices, weights, logs if keep_logs else np.empty(0), normalisers.astype(np.float64))
    for array in rows:
        array.flags.writeable = False
    return Proximity(rows, bool(sequential))


@kernel
def _keep_earlier(indptr: Any, indices: Any, logs: Any, position: Any, place: Any) -> Any:
    """Keep links to earlier rows and to oneself, in place, and make ``logs`` the logs of their weights.

    Return (entries kept, smallest log, lower triangular?, a row without an earlier one within reach or -1).
    """
    at, start = 0, indptr[0]
    smallest, lower = 0.0, True
    for i in range(position.size):
        end = indptr[i + 1]
        top, total = -np.inf, 0.0
        for s in range(start, end):
            if position[indices[s]] < position[i]:
                top = max(top, logs[s])
        if top == -np.inf and place[i] > 1:
            return at, smallest, lower, i
        for s in range(start, end):
            if position[indices[s]] < position[i]:
                total += np.exp(logs[s] - top)
        for s in range(start, end):
            j = indices[s]
            if position[j] < position[i]:
                logs[at] = logs[s] - top - np.log(total) + np.log((place[i] - 1.0) / place[i])
            elif i == j:
                logs[at] = -np.log(place[i])
            else:
                continue
            indices[at] = j
            smallest = min(smallest, logs[at])
            lower = lower and j <= i
            at += 1
        start = end
        indptr[i + 1] = at
    return at, smallest, lower, -1


@kernel
def _sum_over_orders(logs: Any, masks: Any, columns: Any, sums: Any) -> None:
    """Fill, for every set of rows, the log sum over its orders of the product of what its rows contribute."""
    n = len(logs)
    sums[0] = 0.0
    for arrived in range(1, sums.size):
        place = 0
        for i in range(n):
            place += arrived >> i & 1
        for i in range(n):
            if arrived >> i & 1:
                before = arrived ^ (1 << i)
                step = sums[before]
                total = _log_sum(logs, i, before)
                for k in range(masks.size):
                    if before & masks[k] == 0:
                        if columns[k, i]:
                            step -= np.log(place)
                        continue
                    taken = np.log((place - 1.0) / place) + _log_sum(logs, i, before & masks[k]) - total
                    step += taken if columns[k, i] else np.log1p(-np.exp(taken))
                sums[arrived] = log_add(sums[arrived], step)


@kernel
def _log_sum(logs: Any, i: int, members: int) -> float:
    """Return the log of the sum over a set of rows j of exp(logs[i, j])."""
    top, total = -np.inf, 0.0
    for j in range(len(logs)):
        if members >> j & 1:
            top = max(top, logs[i, j])
    if top == -np.inf:
        return top
    for j in range(len(logs)):
        if members >> j & 1:
            total += np.exp(logs[i, j] - top)
    return top + np.log(total)


@kernel
def _fill_sharing(logs: Any, orders: Any, S: Any) -> None:
    """Fill S by S_ij = (h_i - 1)/h_i sum over earlier l of w_il S_lj, j before i, and S_ii = 1, for every order."""
    n = len(logs)
    w = np.empty(n)
    for c in range(len(orders)):
        for p in range(n):
            i = orders[c, p]
            S[c, i, i] = 1.0
            top, total = -np.inf, 0.0
            for q in range(p):
                top = max(top, logs[i, orders[c, q]])
            for q in range(p):
                w[q] = np.exp(logs[i, orders[c, q]] - top)
                total += w[q]
            for q in range(p):
                j = orders[c, q]
                shared = 0.0
                for r in range(p):
                    shared += w[r] * S[c, j, orders[c, r]]
                S[c, i, j] = S[c, j, i] = shared / total * p / (p + 1.0)
