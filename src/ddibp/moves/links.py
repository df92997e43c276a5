"""Gibbs over links: cutting the link of a row frees the rows that hang below it, which go on or off as one.

The owner is never below anyone: its link is ignored, and leaving it among the children would corrupt the set.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ddibp._kernel import kernel
from ddibp.moves.evidence import Evidence, Gaussian, apply, change, change_row, commit, prepare, switched, width_of

_STRIDE = 32  # neighbours that are passed over as one when a link is drawn


class Scratch(NamedTuple):
    """Work space: children of every row as linked lists, a set of rows and its sum, and the sums below every row."""

    child: Any
    after: Any
    before: Any
    below: Any
    part: Any
    sums: Any


def scratch_for(n_rows: int, width: int) -> Scratch:
    """Return work space for so many rows of evidence; the sums take no memory until they are used."""
    child, after, before, below = (np.full(n_rows, -1, np.int64) for _ in range(4))
    return Scratch(child, after, before, below, np.zeros(width), np.empty((n_rows, width)))


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
def draw_any(rng: Any, i: int, rows: Any) -> int:
    """Draw a link of row i from the prior."""
    u = rng.random()
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        u -= rows.weights[s]
        if u < 0.0:
            return rows.indices[s]
    return i


@kernel
def mass_between(begin: int, end: int, value: int, z: Any, indices: Any, weights: Any) -> float:
    """Return the weight of a row's links ``begin`` to ``end`` to rows with ``z == value``."""
    total = 0.0
    first = indices[begin]
    if indices[end - 1] - first == end - 1 - begin:  # neighbours without a gap: a loop without look-ups
        part, near = weights[begin:end], z[first : first + end - begin]
        for s in range(end - begin):
            total += part[s] * (near[s] == value)
    else:
        for s in range(begin, end):
            total += weights[s] * (z[indices[s]] == value)
    return total


@kernel
def link_masses(i: int, z: Any, indptr: Any, indices: Any, weights: Any) -> Any:
    """Return the weight of the links of row i to active and to inactive rows, neither by a difference that cancels."""
    on = mass_between(indptr[i], indptr[i + 1], 1, z, indices, weights)
    off = 1.0 - on if on < 0.99 else mass_between(indptr[i], indptr[i + 1], 0, z, indices, weights)
    return on, off


@kernel
def draw_among(rng: Any, i: int, value: int, mass: float, z: Any, indptr: Any, indices: Any, weights: Any) -> int:
    """Draw a link of row i to a row with ``z == value``, whose weights sum to ``mass``."""
    u = rng.random() * mass
    end = indptr[i + 1]
    chosen = -1
    for begin in range(indptr[i], end, _STRIDE):
        stop = min(begin + _STRIDE, end)
        here = mass_between(begin, stop, value, z, indices, weights)
        if here == 0.0:
            continue
        if u >= here and stop < end:
            u -= here
            chosen = -2 - begin  # in case rounding leaves u above all that follows
            continue
        for s in range(begin, stop):
            if z[indices[s]] == value:
                chosen = indices[s]
                u -= weights[s]
                if u < 0.0:
                    return chosen
    if chosen <= -2:
        for s in range(-2 - chosen, min(-2 - chosen + _STRIDE, end)):
            if z[indices[s]] == value:
                chosen = indices[s]
    return chosen


@kernel
def _gain(ev: Evidence, part: Any, count: float, sign: float) -> float:
    """Return how the score changes when a set of rows with this sum is switched."""
    u2 = y2 = 0.0
    for d in range(ev.sizes[0]):
        u2 += part[d] ** 2
    for d in range(ev.sizes[0], width_of(ev)):
        y2 += part[d] ** 2
    return change(ev, part, u2, y2, count, sign)


@kernel
def relink_column(rng: Any, z: Any, links: Any, owner: int, rows: Any, ev: Evidence, scratch: Scratch) -> int:
    """Draw the link of every row in turn from its conditional law; return the number of sets that changed.

    Links to rows that hang below i, and to inactive rows, switch the set off; links to other active rows switch it on.
    """
    n, width, changed = z.size, width_of(ev), 0
    child, after, before, below, part = scratch.child, scratch.after, scratch.before, scratch.below, scratch.part
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    indptr, indices, weights = rows.indptr, rows.indices, rows.weights
    child[:] = -1
    for i in range(n):
        if i != owner:
            _hang(i, links[i], child, after, before)
    for i in range(n):
        if i == owner:
            links[i] = draw_any(rng, i, rows)
            continue
        _unhang(i, links[i], child, after, before)
        below[0], count = i, 1
        at = 0
        was = z[i] == 1
        while at < count:
            j = child[below[at]]
            z[below[at]] = 0
            while j >= 0:
                below[count] = j
                count += 1
                j = after[j]
            at += 1
        on, off = link_masses(i, z, indptr, indices, weights)
        now = False
        # Decided before logs are compared: no likelihood ratio may activate a row that cannot be reached.
        if on > 0.0:
            sign = -1.0 if was else 1.0
            if count == 1:
                gain = change_row(ev_rows, squares, total, numbers, M, P, i, sign)
            else:
                part[:width] = 0.0
                for b in range(count):
                    for d in range(width):
                        part[d] += ev_rows[below[b], d]
                gain = _gain(ev, part, float(count), sign)
            now = was != switched(rng, was, np.log(on / off), gain)
            if now != was:
                changed += 1
                apply(ev, ev_rows[i] if count == 1 else part, float(count), sign)
        links[i] = draw_among(rng, i, 1 if now else 0, on if now else off, z, indptr, indices, weights)
        if now:
            for b in range(count):
                z[below[b]] = 1
        _hang(i, links[i], child, after, before)
    return changed


@kernel
def relink_sequential(rng: Any, z: Any, links: Any, owner: int, rows: Any, ev: Evidence, scratch: Scratch) -> int:
    """Do what `relink_column` does where rows link to earlier ones, at a cost that does not grow with the sets.

    From the last row to the first, all rows below i have their new links when i is visited, so that the sum over the
    set is passed on from row to row; and what decides, the rows before i, is as it was. Rows before the owner are idle.
    """
    n, width, changed = z.size, width_of(ev), 0
    sums, sizes_below = scratch.sums, scratch.below
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    indptr, indices, weights = rows.indptr, rows.indices, rows.weights
    sizes_below[owner:] = 1
    for i in range(n - 1, owner, -1):
        was = z[i] == 1
        z[i] = 0
        on, off = link_masses(i, z, indptr, indices, weights)
        count = sizes_below[i]
        part = ev_rows[i] if count == 1 else sums[i]
        now = False
        if on > 0.0:
            sign = -1.0 if was else 1.0
            if count == 1:
                gain = change_row(ev_rows, squares, total, numbers, M, P, i, sign)
            else:
                gain = _gain(ev, part, float(count), sign)
            now = was != switched(rng, was, np.log(on / off), gain)
            if now != was:
                changed += 1
                apply(ev, part, float(count), sign)
        j = draw_among(rng, i, 1 if now else 0, on if now else off, z, indptr, indices, weights)
        links[i] = j
        if j > owner and j != i:
            into = sums[j]
            base = ev_rows[j] if sizes_below[j] == 1 else into
            for d in range(width):
                into[d] = base[d] + part[d]
            sizes_below[j] += count
    for i in range(owner + 1):
        links[i] = draw_any(rng, i, rows)
    for i in range(owner + 1, n):
        z[i] = z[links[i]] if links[i] != i else 0
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
    order: Any,
    lik: Gaussian,
    collapsed: bool,
    ev: Evidence,
    work: Any,
    rows: Any,
    links: Any,
    owners: Any,
    scratch: Scratch,
) -> int:
    """Relink all columns in this order; return the number of sets that changed."""
    changed = 0
    for k in order:
        prepare(lik, collapsed, k, ev, work)
        owners[k] = reroot(rng, lik.z[k], links[k], owners[k], rows)
        changed += relink_column(rng, lik.z[k], links[k], owners[k], rows, ev, scratch)
        commit(rng, lik, collapsed, k, ev)
    return changed


@kernel
def sweep_sequential_links(
    rng: Any,
    order: Any,
    lik: Gaussian,
    collapsed: bool,
    ev: Evidence,
    work: Any,
    rows: Any,
    links: Any,
    owners: Any,
    scratch: Scratch,
) -> int:
    """Do what `sweep_links` does where rows link to earlier ones; the first active row stays the owner."""
    changed = 0
    for k in order:
        prepare(lik, collapsed, k, ev, work)
        changed += relink_sequential(rng, lik.z[k], links[k], owners[k], rows, ev, scratch)
        commit(rng, lik, collapsed, k, ev)
    return changed
