r"""Expected sharing of the dd-IBP at mass 1, :math:`S_{ij} = \sum_n h_n^{-1} P(\text{i and j reach n})`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ddibp import _check
from ddibp._kernel import kernel
from ddibp._links import draw_links
from ddibp._trees import elimination_order, log_add, reduce_logs, stationary_logs
from ddibp.proximity import Proximity
from ddibp.proximity.neighbours import require_square_memory

FloatArray = NDArray[np.float64]
METHODS = ("auto", "recursion", "enumeration", "monte carlo")
LARGEST_ENUMERATION = 16


def unit_sharing(
    proximity: Proximity, method: str, n_draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None, str]:
    """Return (S, its standard error or None, the method used)."""
    _check.choice("method", method, METHODS)
    n = proximity.n_rows
    require_square_memory(n)
    rows = proximity.rows
    if method == "recursion" and not proximity.sequential:
        raise ValueError(
            "method 'recursion' needs sequential distances (no row links to a later one); use 'enumeration' for up to "
            f"{LARGEST_ENUMERATION} connected rows, or 'monte carlo'."
        )
    if method == "recursion" or (method == "auto" and proximity.sequential):
        S = np.zeros((n, n))
        _recursion(rows.indptr, rows.indices, rows.weights, rows.normalisers, S)
        return S, None, "recursion"
    parts = _parts(proximity)
    largest = max(map(len, parts))
    if method == "enumeration" and largest > LARGEST_ENUMERATION:
        raise ValueError(
            f"method 'enumeration' visits every subset of rows that are connected by links; the largest connected part "
            f"has {largest} rows, more than {LARGEST_ENUMERATION}. Use 'monte carlo'."
        )
    if method == "enumeration" or (method == "auto" and largest <= LARGEST_ENUMERATION):
        S = np.zeros((n, n))
        for part in parts:
            logs = _dense_logs(proximity, part)
            S[np.ix_(part, part)] = _enumerate(logs, np.log(proximity.normalisers[part]))
        return S, None, "enumeration"
    n_draws = _check.count("n_draws", n_draws, low=2)
    total, squares = np.zeros((n, n)), np.zeros((n, n))
    _monte_carlo(rng, n_draws, rows.indptr, rows.indices, rows.weights, rows.normalisers, total, squares)
    S = total / n_draws
    variance = np.maximum(squares / n_draws - S**2, 0.0) * n_draws / (n_draws - 1)
    return S, np.sqrt(variance / n_draws), "monte carlo"


def _parts(proximity: Proximity) -> list[NDArray[np.int64]]:
    """Return the rows of every part that is connected by possible links."""
    from scipy.sparse.csgraph import connected_components

    n_parts, labels = connected_components(proximity.matrix, directed=True, connection="weak")
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=n_parts))[:-1])


def _dense_logs(proximity: Proximity, part: NDArray[np.int64]) -> FloatArray:
    rows = proximity.rows
    values = rows.log_weights if rows.log_weights.size else np.log(rows.weights)
    logs = np.full((part.size, part.size), -np.inf)
    place = {int(row): p for p, row in enumerate(part)}
    for p, row in enumerate(part):
        span = slice(rows.indptr[row], rows.indptr[row + 1])
        logs[p, [place[int(j)] for j in rows.indices[span]]] = values[span]
    return logs


@kernel
def _recursion(indptr: Any, indices: Any, weights: Any, normalisers: Any, S: Any) -> None:
    """Fill S by S_ij = sum over m < i of a_im S_mj (i > j), S_ii = 1/h_i + sum over m < i of a_im S_mm."""
    for i in range(normalisers.size):
        own = 1.0 / normalisers[i]
        for s in range(indptr[i], indptr[i + 1]):
            m = indices[s]
            if m < i:
                own += weights[s] * S[m, m]
                for j in range(i):
                    S[i, j] += weights[s] * S[m, j]
        S[i, i] = own
        for j in range(i):
            S[j, i] = S[i, j]


@kernel
def _enumerate(logs: Any, log_h: Any) -> Any:
    """Return S as the sum over all columns z of their rate times z z'."""
    n = log_h.size
    S = np.zeros((n, n))
    active = np.empty(n, np.int64)
    for mask in range(1, 1 << n):
        m = 0
        for i in range(n):
            if mask >> i & 1:
                active[m] = i
                m += 1
        log_rate = 0.0
        for i in range(n):
            if not mask >> i & 1:
                stay = -np.inf
                for j in range(n):
                    if not mask >> j & 1:
                        stay = log_add(stay, logs[i, j])
                log_rate += stay
        local = np.full((m, m), -np.inf)
        for p in range(m):
            for q in range(m):
                if p != q:
                    local[p, q] = logs[active[p], active[q]]
        order, n_roots = elimination_order(local, -np.inf)
        if n_roots == 0:
            continue
        ordered = np.empty((m, m))
        for p in range(m):
            for q in range(m):
                ordered[p, q] = local[order[p], order[q]]
        pivots = np.zeros(m)
        reduce_logs(ordered, pivots)
        log_pi = stationary_logs(ordered, pivots)
        roots = -np.inf
        for p in range(m):
            roots = log_add(roots, log_pi[p] - log_h[active[order[p]]])
        for p in range(m - 1):
            log_rate += pivots[p]
        rate = np.exp(log_rate + roots)
        for p in range(m):
            for q in range(m):
                S[active[p], active[q]] += rate
    return S


@kernel
def _monte_carlo(
    rng: Any, n_draws: int, indptr: Any, indices: Any, weights: Any, normalisers: Any, total: Any, squares: Any
) -> None:
    """Add up, over draws of links, the sum of 1/h over the rows that both i and j reach, and its square.

    Owners are averaged out: one draw of links tells for every possible owner who reaches it. Rows are taken in an order
    in which the row that a row links to comes first, except on cycles, which all of their rows share.
    """
    n = normalisers.size
    links = np.empty((1, n), np.int32)
    shared = np.empty((n, n))
    state, component, order = np.empty(n, np.int8), np.empty(n, np.int64), np.empty(n, np.int64)
    path, cycle_weight = np.empty(n, np.int64), np.empty(n)
    on_cycle = np.empty(n, np.bool_)
    for _ in range(n_draws):
        draw_links(rng, indptr, indices, weights, links)
        state[:] = 0
        on_cycle[:] = False
        placed = 0
        for start in range(n):
            length, i = 0, start
            while state[i] == 0:
                state[i] = 1
                path[length] = i
                length += 1
                i = links[0, i]
            if state[i] == 1:
                weight, root = 0.0, i
                while not on_cycle[i]:
                    on_cycle[i] = True
                    component[i] = root
                    weight += 1.0 / normalisers[i]
                    i = links[0, i]
                cycle_weight[root] = weight
            for back in range(length - 1, -1, -1):
                i = path[back]
                state[i] = 2
                component[i] = component[links[0, i]]
                order[placed] = i
                placed += 1
        for place in range(n):
            i = order[place]
            parent = links[0, i]
            for earlier in range(place):
                j = order[earlier]
                if component[i] != component[j]:
                    value = 0.0
                elif on_cycle[i]:
                    value = cycle_weight[component[i]]
                else:
                    value = shared[parent, j]
                shared[i, j] = shared[j, i] = value
            if on_cycle[i]:
                shared[i, i] = cycle_weight[component[i]]
            else:
                shared[i, i] = shared[parent, parent] + 1.0 / normalisers[i]
        for i in range(n):
            for j in range(n):
                total[i, j] += shared[i, j]
                squares[i, j] += shared[i, j] ** 2
