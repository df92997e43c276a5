"""Links of rows to rows: drawing them, following them to the owner, and the law of a column given proximities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel


@kernel
def draw_links(rng: Any, indptr: Any, indices: Any, weights: Any, links: Any) -> None:
    """Fill ``links`` (columns by rows): every row links, for every column, to a row drawn by its weights."""
    widest = 0
    for i in range(indptr.size - 1):
        widest = max(widest, indptr[i + 1] - indptr[i])
    cumulative = np.empty(widest)
    for i in range(indptr.size - 1):
        begin, degree = indptr[i], indptr[i + 1] - indptr[i]
        total = 0.0
        for s in range(degree):
            total += weights[begin + s]
            cumulative[s] = total
        for k in range(links.shape[0]):
            s = np.searchsorted(cumulative[:degree], rng.random() * total, side="right")
            links[k, i] = indices[begin + min(s, degree - 1)]


@kernel
def reach_owner(links: Any, owner: int, active: Any) -> None:
    """Set ``active[i]`` to whether the walk from i along ``links`` reaches the owner, whose own link is ignored."""
    unknown, inside, outside, walking = 0, 1, 2, 3
    n = links.size
    status = np.zeros(n, np.uint8)
    status[owner] = inside
    for start in range(n):
        i = start
        while status[i] == unknown:
            status[i] = walking
            i = links[i]
        verdict = inside if status[i] == inside else outside
        i = start
        while status[i] == walking:
            status[i] = verdict
            i = links[i]
    for i in range(n):
        active[i] = status[i] == inside


@kernel
def draw_local_columns(
    rng: Any,
    owners: Any,
    first: int,
    rows: Any,
    in_indptr: Any,
    in_indices: Any,
    ends: Any,
    active: Any,
    seen: Any,
    link: Any,
) -> int:
    """Draw the active rows of columns ``first`` onwards, looking only at rows that may link to active ones.

    A row's link is drawn when the first of its active neighbours asks for it. Active rows are appended to ``active``,
    column k ending at ``ends[k]``; ``seen`` holds the last column that drew a row's ``link``. Return the first column
    not drawn because ``active`` may be too short for it.
    """
    indptr, indices, weights = rows.indptr, rows.indices, rows.weights
    n = indptr.size - 1
    for k in range(first, owners.size):
        begin = ends[k - 1] if k > 0 else 0
        if active.size - begin < n:
            return k
        active[begin] = owners[k]
        seen[owners[k]] = k
        link[owners[k]] = -1
        tail, at = begin + 1, begin
        while at < tail:
            j = active[at]
            at += 1
            for s in range(in_indptr[j], in_indptr[j + 1]):
                i = in_indices[s]
                if seen[i] != k:
                    seen[i] = k
                    u = rng.random()
                    link[i] = indices[indptr[i + 1] - 1]
                    for t in range(indptr[i], indptr[i + 1]):
                        u -= weights[t]
                        if u < 0.0:
                            link[i] = indices[t]
                            break
                if link[i] == j and i != j:
                    active[tail] = i
                    tail += 1
        ends[k] = tail
    return owners.size


@kernel
def log_mass(i: int, z: Any, value: int, rows: Any) -> float:
    """Return the log weight of the links of row i to rows with ``z == value``, exact also where weights vanish."""
    total = 0.0
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        if z[rows.indices[s]] == value:
            total += rows.weights[s]
    if total > 1e-290 or rows.log_weights.size == 0:
        return np.log(total) if total > 0.0 else -np.inf
    top = -np.inf
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        if z[rows.indices[s]] == value:
            top = max(top, rows.log_weights[s])
    if top == -np.inf:
        return top
    total = 0.0
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        if z[rows.indices[s]] == value:
            total += np.exp(rows.log_weights[s] - top)
    return top + np.log(total)


@kernel
def log_inactive(z: Any, rows: Any) -> float:
    """Return the sum over inactive rows of the log weight of their links to inactive rows."""
    result = 0.0
    for i in range(z.size):
        if z[i] == 0:
            on = 0.0
            for s in range(rows.indptr[i], rows.indptr[i + 1]):
                on += rows.weights[s] * z[rows.indices[s]]
            if on > 0.5:
                result += log_mass(i, z, 0, rows)
            elif on > 0.0:
                result += np.log1p(-on)
    return result


@kernel
def log_sequential_active(z: Any, rows: Any) -> float:
    """Return the log probability that the active rows after the first link to earlier active rows."""
    result = 0.0
    first = True
    for i in range(z.size):
        if z[i] == 1:
            if not first:
                result += log_mass_before(i, z, rows)
            first = False
    return result


@kernel
def log_sequential_rates(columns: Any, rows: Any, rates: Any) -> None:
    """Fill the log rate at mass 1 of every column, for sequential links; minus infinity for empty ones."""
    for k in range(columns.shape[0]):
        z = columns[k]
        owner = 0
        while owner < z.size and z[owner] == 0:
            owner += 1
        if owner == z.size:
            rates[k] = -np.inf
            continue
        rates[k] = log_sequential_active(z, rows) - np.log(rows.normalisers[owner])
        if rates[k] > -np.inf:
            rates[k] += log_inactive(z, rows)


@kernel
def log_mass_before(i: int, z: Any, rows: Any) -> float:
    """Return the log weight of the links of active row i to other active rows (sequential: earlier ones)."""
    z[i] = 0
    result = log_mass(i, z, 1, rows)
    z[i] = 1
    return result


@kernel
def draw_restricted(rng: Any, i: int, z: Any, value: int, rows: Any) -> int:
    """Draw a link of row i among the rows with ``z == value``, by weight."""
    u = rng.random()
    logs = rows.log_weights.size > 0
    log_total, total = 0.0, 0.0
    if logs:
        log_total = log_mass(i, z, value, rows)
    else:
        for s in range(rows.indptr[i], rows.indptr[i + 1]):
            if z[rows.indices[s]] == value:
                total += rows.weights[s]
        u *= total
    chosen = -1
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        if z[rows.indices[s]] == value:
            chosen = rows.indices[s]
            u -= np.exp(rows.log_weights[s] - log_total) if logs else rows.weights[s]
            if u < 0.0:
                break
    return chosen


@kernel
def draw_links_given(rng: Any, z: Any, owner: int, active_too: bool, rows: Any, links: Any) -> None:
    """Draw links given the column: inactive rows link among inactive ones, the owner anywhere.

    Active rows link to earlier active ones (``active_too``, sequential) or are left to a tree drawn elsewhere.
    """
    for i in range(z.size):
        if i == owner:
            u = rng.random()
            links[i] = rows.indices[rows.indptr[i + 1] - 1]
            for s in range(rows.indptr[i], rows.indptr[i + 1]):
                u -= rows.weights[s]
                if u < 0.0:
                    links[i] = rows.indices[s]
                    break
        elif z[i] == 0:
            links[i] = draw_restricted(rng, i, z, 0, rows)
        elif active_too:
            z[i] = 0
            links[i] = draw_restricted(rng, i, z, 1, rows)
            z[i] = 1


@kernel
def draw_ibp(rng: Any, owners: Any, links: Any, active: Any) -> None:
    """Draw the IBP as uniform links to earlier rows or oneself: columns by rows, first taken by their owner."""
    for k in range(owners.size):
        for i in range(links.shape[1]):
            links[k, i] = int(rng.random() * (i + 1))
            active[k, i] = i == owners[k] or (i > owners[k] and active[k, links[k, i]])
