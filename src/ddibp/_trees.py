r"""Weights of directed trees: owners, determinants and random trees, without a subtraction anywhere.

For the active rows T of a column, the weight of the trees in which every row reaches the root n is
:math:`\tau_n = \det L_T` without row and column n (the directed matrix-tree theorem). Seen as rates of a Markov chain,
its unnormalised stationary law is :math:`\tau`, so state reduction (Grassmann, Taksar, Heyman) computes every
:math:`\tau_n` from positive terms alone: each is accurate to rounding over however many orders of magnitude.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel


@kernel
def dense_among(rows: Any, where: Any, indptr: Any, indices: Any, values: Any, absent: float) -> Any:
    """Return the dense weights or logs among ``rows`` (``where[row]`` is its place or -1), none on the diagonal."""
    m = rows.size
    local = np.full((m, m), absent)
    for p in range(m):
        for s in range(indptr[rows[p]], indptr[rows[p] + 1]):
            q = where[indices[s]]
            if q >= 0 and q != p:
                local[p, q] = values[s]
    return local


@kernel
def elimination_order(local: Any, absent: float) -> Any:
    """Return (order, number of possible roots): possible roots come last; 0 if no row is reached from all others.

    The possible roots are the one strongly connected component that no link leaves.
    """
    m = local.shape[0]
    stack = np.empty(m, np.int64)
    seen = np.zeros(m, np.bool_)
    candidate = 0
    for start in range(m):
        if not seen[start]:
            candidate = start
            seen[start] = True
            stack[0] = start
            top = 1
            while top > 0:
                top -= 1
                q = stack[top]
                for p in range(m):
                    if not seen[p] and local[p, q] > absent:
                        seen[p] = True
                        stack[top] = p
                        top += 1
    reaches = np.zeros(m, np.bool_)
    reaches[candidate] = True
    stack[0] = candidate
    top, n_reaching = 1, 1
    while top > 0:
        top -= 1
        q = stack[top]
        for p in range(m):
            if not reaches[p] and local[p, q] > absent:
                reaches[p] = True
                stack[top] = p
                top += 1
                n_reaching += 1
    order = np.empty(m, np.int64)
    if n_reaching < m:
        return order, 0
    root = np.zeros(m, np.bool_)
    root[candidate] = True
    stack[0] = candidate
    top, n_roots = 1, 1
    while top > 0:
        top -= 1
        p = stack[top]
        for q in range(m):
            if not root[q] and local[p, q] > absent:
                root[q] = True
                stack[top] = q
                top += 1
                n_roots += 1
    first, last = 0, m - n_roots
    for p in range(m):
        if root[p]:
            order[last] = p
            last += 1
        else:
            order[first] = p
            first += 1
    return order, n_roots


@kernel
def scale_rows(local: Any, order: Any, are_logs: bool) -> Any:
    """Return (weights in elimination order with row maxima 1, log of the row factors)."""
    m = local.shape[0]
    absent = -np.inf if are_logs else 0.0
    scaled, log_scale = np.zeros((m, m)), np.zeros(m)
    for p in range(m):
        top = absent
        for q in range(m):
            top = max(top, local[order[p], q])
        if top > absent:
            log_scale[p] = top if are_logs else np.log(top)
            for q in range(m):
                w = local[order[p], order[q]]
                scaled[p, q] = np.exp(w - top) if are_logs else w / top
    return scaled, log_scale


@kernel
def envelope(weights: Any) -> Any:
    """Return, for every state, one past the last state to which it or an earlier one is tied; elimination keeps to it.

    Features in time have links within reach only: eliminating their rows in order then costs no more than a band.
    """
    m = weights.shape[0]
    ends = np.empty(m, np.int64)
    furthest = 0
    for k in range(m):
        for j in range(m - 1, furthest, -1):
            if weights[k, j] > 0.0 or weights[j, k] > 0.0:
                furthest = j
                break
        ends[k] = furthest + 1
    return ends


@kernel
def reduce_block(weights: Any, pivots: Any, begin: int, end: int, ends: Any) -> None:
    """Eliminate the states ``begin`` to ``end``, up to date in their own rows and columns only.

    Pivots are sums over the states that remain; columns keep their value at elimination, rows become probabilities.
    """
    for k in range(begin, end):
        last = ends[k]
        pivot = 0.0
        for j in range(k + 1, last):
            pivot += weights[k, j]
        pivots[k] = pivot
        if pivot == 0.0:
            return
        inverse = 1.0 / pivot
        for j in range(k + 1, last):
            weights[k, j] *= inverse
        for i in range(k + 1, last):
            w = weights[i, k]
            if w > 0.0:
                stop = last if i < end else min(last, end)
                for j in range(k + 1, stop):
                    weights[i, j] += w * weights[k, j]
                if i < stop:
                    weights[i, i] = 0.0


@kernel
def stationary(weights: Any, pivots: Any, ends: Any) -> Any:
    """Return the stationary weights after elimination, 1 for the last state (nothing here can cancel)."""
    m = weights.shape[0]
    pi = np.zeros(m)
    pi[m - 1] = 1.0
    for k in range(m - 2, -1, -1):
        for i in range(k + 1, ends[k]):
            pi[k] += pi[i] * weights[i, k]
        pi[k] /= pivots[k]
    return pi


@kernel
def log_add(a: float, b: float) -> float:
    """Return log(e^a + e^b), skipping the transcendental where it cannot change the result."""
    if a < b:
        a, b = b, a
    if b < a - 38.0 or b == -np.inf:
        return a
    return a + np.log1p(np.exp(b - a))


@kernel
def reduce_logs(logs: Any, log_pivots: Any) -> None:
    """Do what `reduce_block` does, for all states, on the log scale: slower, for weights beyond floating point."""
    m = logs.shape[0]
    for k in range(m - 1):
        pivot = -np.inf
        for j in range(k + 1, m):
            pivot = log_add(pivot, logs[k, j])
        log_pivots[k] = pivot
        for j in range(k + 1, m):
            logs[k, j] -= pivot
        for i in range(k + 1, m):
            w = logs[i, k]
            if w > -np.inf:
                for j in range(k + 1, m):
                    if j != i:
                        logs[i, j] = log_add(logs[i, j], w + logs[k, j])


@kernel
def stationary_logs(logs: Any, log_pivots: Any) -> Any:
    """Return the log stationary weights after `reduce_logs`."""
    m = logs.shape[0]
    log_pi = np.full(m, -np.inf)
    log_pi[m - 1] = 0.0
    for k in range(m - 2, -1, -1):
        for i in range(k + 1, m):
            log_pi[k] = log_add(log_pi[k], log_pi[i] + logs[i, k])
        log_pi[k] -= log_pivots[k]
    return log_pi


_PANEL = 64
_SAFE_LOG = 100.0 * np.log(10.0)  # how far small pivots and roots may go before underflow could matter


@kernel
def _log_tau(
    local: Any, are_logs: bool, order: Any, n_roots: int, log_scale: Any, weights: Any, pivots: Any, ends: Any
) -> Any:
    """Return the log tree weights after elimination; on the log scale, from the start, where that was not safe."""
    m = local.shape[0]
    log_pivots, log_pi = np.log(pivots), np.log(stationary(weights, pivots, ends))
    small, spread = 0.0, 0.0
    for k in range(m):
        small -= min(log_pivots[k], 0.0)
        if k >= m - n_roots:
            spread = max(spread, abs(log_pi[k]))
    if not (small < _SAFE_LOG and spread < 2.0 * _SAFE_LOG):
        logs = np.empty((m, m))
        for p in range(m):
            for q in range(m):
                w = local[order[p], order[q]]
                logs[p, q] = (w if are_logs else np.log(w)) - log_scale[p]
        log_pivots[:] = 0.0
        reduce_logs(logs, log_pivots)
        log_pi = stationary_logs(logs, log_pivots)
    log_tau = np.empty(m)
    total = log_pivots.sum() + log_scale.sum()
    for k in range(m):
        log_tau[order[k]] = total + log_pi[k] - log_scale[k]
    return log_tau


@kernel
def few_log_tree_weights(local: Any, are_logs: bool) -> Any:
    """Do what `log_tree_weights` does without matrix products, which pay off for many rows only."""
    m = local.shape[0]
    order, n_roots = elimination_order(local, -np.inf if are_logs else 0.0)
    if n_roots == 0:
        return np.full(m, -np.inf)
    weights, log_scale = scale_rows(local, order, are_logs)
    pivots, ends = np.ones(m), envelope(weights)
    reduce_block(weights, pivots, 0, m - 1, ends)
    return _log_tau(local, are_logs, order, n_roots, log_scale, weights, pivots, ends)


def log_tree_weights(local: Any, are_logs: bool) -> Any:
    r"""Return :math:`\log \tau_n` for every row n of a dense matrix of weights or their logs; ``-inf`` if not a root.

    Floating point with matrix products where that is safe, the log scale otherwise.
    """
    m = len(local)
    if m <= 2 * _PANEL:
        return few_log_tree_weights(local, are_logs)
    order, n_roots = elimination_order(local, -np.inf if are_logs else 0.0)
    if n_roots == 0:
        return np.full(m, -np.inf)
    weights, log_scale = scale_rows(local, order, are_logs)
    pivots, ends = np.ones(m), envelope(weights)
    for begin in range(0, m - 1, _PANEL):
        end = min(begin + _PANEL, m - 1)
        reduce_block(weights, pivots, begin, end, ends)
        if (pivots[begin:end] == 0.0).any():
            break
        rest = slice(end, ends[end - 1])
        weights[rest, rest] += weights[rest, begin:end] @ weights[begin:end, rest]
        np.fill_diagonal(weights[rest, rest], 0.0)
    return _log_tau(local, are_logs, order, n_roots, log_scale, weights, pivots, ends)


def as_logs(local: Any, are_logs: bool) -> Any:
    """Return the matrix on the log scale."""
    if are_logs:
        return local
    with np.errstate(divide="ignore"):
        return np.log(local)


@kernel
def local_rows(rows: Any, where: Any, indptr: Any, indices: Any, values: Any, are_logs: bool) -> Any:
    """Return compressed rows (pointers, places, cumulative weights scaled per row) of the links among ``rows``."""
    m = rows.size
    pointers = np.zeros(m + 1, np.int64)
    for p in range(m):
        for s in range(indptr[rows[p]], indptr[rows[p] + 1]):
            q = where[indices[s]]
            if q >= 0 and q != p:
                pointers[p + 1] += 1
        pointers[p + 1] += pointers[p]
    places = np.empty(pointers[m], np.int64)
    cumulative = np.empty(pointers[m])
    for p in range(m):
        at, top = pointers[p], -np.inf
        for s in range(indptr[rows[p]], indptr[rows[p] + 1]):
            q = where[indices[s]]
            if q >= 0 and q != p:
                places[at] = q
                cumulative[at] = values[s] if are_logs else np.log(values[s])
                top = max(top, cumulative[at])
                at += 1
        total = 0.0
        for s in range(pointers[p], pointers[p + 1]):
            total += np.exp(cumulative[s] - top)
            cumulative[s] = total
    return pointers, places, cumulative


@kernel
def wilson(rng: Any, root: int, pointers: Any, places: Any, cumulative: Any, budget: int) -> Any:
    """Draw a tree directed to ``root`` by loop-erased random walks; return (links, done within the step budget?).

    The number of steps is independent of the tree that results (the popped cycles are), so giving up after a budget
    and drawing the tree afresh in another way does not bias it.
    """
    m = pointers.size - 1
    links = np.full(m, -1, np.int64)
    in_tree = np.zeros(m, np.bool_)
    in_tree[root] = True
    steps = 0
    for start in range(m):
        p = start
        while not in_tree[p]:
            begin, end = pointers[p], pointers[p + 1]
            u = rng.random() * cumulative[end - 1]
            s = begin + np.searchsorted(cumulative[begin:end], u, side="right")
            links[p] = places[min(s, end - 1)]
            p = links[p]
            steps += 1
            if steps > budget:
                return links, False
        p = start
        while not in_tree[p]:
            in_tree[p] = True
            p = links[p]
    return links, True


@kernel
def log_hitting(local: Any, target: Any, taboo: Any) -> Any:
    """Return the log probability, from every state, that the walk enters ``target`` before ``taboo``."""
    m = local.shape[0]
    hit = np.full(m, -np.inf)
    n_free = 0
    free = np.empty(m, np.int64)
    for p in range(m):
        if target[p]:
            hit[p] = 0.0
        elif not taboo[p]:
            free[n_free] = p
            n_free += 1
    inner = np.full((n_free, n_free), -np.inf)
    success, failure = np.full(n_free, -np.inf), np.full(n_free, -np.inf)
    for a in range(n_free):
        for q in range(m):
            w = local[free[a], q]
            if target[q]:
                success[a] = log_add(success[a], w)
            elif taboo[q]:
                failure[a] = log_add(failure[a], w)
        for b in range(n_free):
            inner[a, b] = local[free[a], free[b]]
    for k in range(n_free):
        pivot = log_add(success[k], failure[k])
        for j in range(k + 1, n_free):
            pivot = log_add(pivot, inner[k, j])
        if pivot > -np.inf:
            success[k] -= pivot
            failure[k] -= pivot
            for j in range(k + 1, n_free):
                inner[k, j] -= pivot
            for i in range(k + 1, n_free):
                w = inner[i, k]
                if w > -np.inf:
                    success[i] = log_add(success[i], w + success[k])
                    failure[i] = log_add(failure[i], w + failure[k])
                    for j in range(k + 1, n_free):
                        if j != i:
                            inner[i, j] = log_add(inner[i, j], w + inner[k, j])
    for k in range(n_free - 1, -1, -1):
        h = success[k]
        for j in range(k + 1, n_free):
            h = log_add(h, inner[k, j] + hit[free[j]])
        hit[free[k]] = h
    return hit


@kernel
def laplacian_walks(rng: Any, root: int, local: Any) -> Any:
    """Draw the same trees as `wilson`, choosing each link of a loop-erased path from its exact conditional law.

    A link from the tip of the path to q has probability proportional to its weight times the probability that the walk
    from q enters the tree before the path. No step is ever undone, so weakly linked groups cost no more than others.
    """
    m = local.shape[0]
    links = np.full(m, -1, np.int64)
    in_tree, on_path = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    in_tree[root] = True
    for start in range(m):
        p = start
        while not in_tree[p]:
            on_path[p] = True
            hit = log_hitting(local, in_tree, on_path)
            top = -np.inf
            for q in range(m):
                if not on_path[q]:
                    top = max(top, local[p, q] + hit[q])
            total = 0.0
            for q in range(m):
                if not on_path[q]:
                    total += np.exp(local[p, q] + hit[q] - top)
            u = rng.random() * total
            chosen = -1
            for q in range(m):
                if not on_path[q] and local[p, q] + hit[q] > -np.inf:
                    chosen = q
                    u -= np.exp(local[p, q] + hit[q] - top)
                    if u < 0.0:
                        break
            links[p] = chosen
            p = chosen
        for q in range(m):
            if on_path[q]:
                in_tree[q], on_path[q] = True, False
    return links
