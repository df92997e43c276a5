"""Gibbs over links: cutting the link of a row frees the rows that hang below it, which go on or off as one.

The owner is never below anyone: its link is ignored, and leaving it among the children would corrupt the set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp.moves.evidence import Evidence, Gaussian, apply, change, change_row, commit, prepare, switched, width_of


@kernel
def _unhang(i: int, parent: int, child: Any, after: Any, before: Any) -> None:
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        child[parent] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]


@kernel
def _hang(i: int, parent: int, child: Any, after: Any, before: Any) -> None:
    after[i], before[i] = child[parent], -1
    if child[parent] >= 0:
        before[child[parent]] = i
    child[parent] = i


@kernel
def _draw_any(rng: Any, i: int, rows: Any) -> int:
    u = rng.random()
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        u -= rows.weights[s]
        if u < 0.0:
            return rows.indices[s]
    return i


@kernel
def relink_column(rng: Any, z: Any, links: Any, owner: int, rows: Any, ev: Evidence, scratch: Any) -> int:
    """Draw the link of every row in turn from its conditional law; return the number of sets that changed.

    Links to rows that hang below i, and to inactive rows, switch the set off; links to other active rows switch it on.
    """
    n, width, changed = z.size, width_of(ev), 0
    child, after, before, below, stamp, part = scratch
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    indptr, indices, weights = rows.indptr, rows.indices, rows.weights
    child[:] = -1
    stamp[:] = -1
    for i in range(n):
        if i != owner:
            _hang(i, links[i], child, after, before)
    for i in range(n):
        if i == owner:
            links[i] = _draw_any(rng, i, rows)
            continue
        _unhang(i, links[i], child, after, before)
        below[0], count = i, 1
        stamp[i] = i
        at = 0
        while at < count:
            j = child[below[at]]
            while j >= 0:
                below[count] = j
                stamp[j] = i
                count += 1
                j = after[j]
            at += 1
        on = 0.0
        for s in range(indptr[i], indptr[i + 1]):
            j = indices[s]
            if z[j] == 1 and stamp[j] != i:
                on += weights[s]
        off = 1.0 - on
        if off < 0.01:  # a difference of nearly equal numbers: sum what it stands for
            off = 0.0
            for s in range(indptr[i], indptr[i + 1]):
                j = indices[s]
                if z[j] == 0 or stamp[j] == i:
                    off += weights[s]
        was = z[i] == 1
        now = False
        # Decided before logs are compared: no likelihood ratio may activate a row that cannot be reached.
        if on > 0.0:
            one = count == 1
            if one:
                gain = change_row(ev_rows, squares, total, numbers, M, P, i, -1.0 if was else 1.0)
            else:
                part[:width] = 0.0
                for b in range(count):
                    for d in range(width):
                        part[d] += ev_rows[below[b], d]
                u2 = y2 = 0.0
                for d in range(ev.sizes[0]):
                    u2 += part[d] ** 2
                for d in range(ev.sizes[0], width):
                    y2 += part[d] ** 2
                gain = change(ev, part, u2, y2, float(count), -1.0 if was else 1.0)
            now = was != switched(rng, was, np.log(on / off), gain)
            if now != was:
                changed += 1
                if one:
                    apply(ev, ev_rows[i], 1.0, 1.0 if now else -1.0)
                else:
                    apply(ev, part, float(count), 1.0 if now else -1.0)
                for b in range(count):
                    z[below[b]] = now
        u = rng.random() * (on if now else off)
        chosen = -1
        for s in range(indptr[i], indptr[i + 1]):
            j = indices[s]
            if (z[j] == 1 and stamp[j] != i) == now:
                chosen = j
                u -= weights[s]
                if u < 0.0:
                    break
        links[i] = chosen
        _hang(i, chosen, child, after, before)
    return changed


@kernel
def reroot(rng: Any, z: Any, links: Any, owner: int, rows: Any) -> int:
    """Draw the owner anew among the rows of the cycle that the owner's own link closes; Z and links do not change."""
    if z[links[owner]] == 0:
        return owner
    total = 0.0
    i = owner
    while True:
        total += 1.0 / rows.normalisers[i]
        i = links[i]
        if i == owner:
            break
    u = rng.random() * total
    while True:
        u -= 1.0 / rows.normalisers[i]
        if u < 0.0:
            return i
        i = links[i]
        if i == owner:
            return i


@kernel
def sweep_links(
    rng: Any,
    lik: Gaussian,
    collapsed: bool,
    ev: Evidence,
    work: Any,
    rows: Any,
    links: Any,
    owners: Any,
    scratch: Any,
) -> Any:
    """Relink all columns in a fresh random order; return (visited links, changed sets)."""
    order = rng.permutation(lik.sizes[0])
    changed = 0
    for k in order:
        z = lik.z[k]
        prepare(lik, collapsed, k, ev, work)
        owners[k] = reroot(rng, z, links[k], owners[k], rows)
        changed += relink_column(rng, z, links[k], owners[k], rows, ev, scratch)
        commit(rng, lik, collapsed, k, ev)
    return order.size * lik.z.shape[1], changed
