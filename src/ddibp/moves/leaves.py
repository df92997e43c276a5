r"""Flips of single rows that carry no active row, with the links of all inactive rows summed out.

Given the owner and the tree of the active rows T, links of inactive rows F matter only through
:math:`\prod_{l \in F} r_l`, :math:`r_l = \sum_{j \in F} a_{lj}`. A row i that is inactive, or a leaf of the tree, is
switched together with its link: on with weight :math:`\sum_{j \in T} a_{ij}`, off with weight :math:`r_i`, times
:math:`\prod_{l \in F} (r_l - a_{li}) / r_l` for being on. The cost is that of its neighbours, whatever hangs below it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp.moves.evidence import Evidence, Gaussian, apply, change_row, commit, prepare, switched
from ddibp.moves.links import draw_among, draw_any, link_masses

_FACTORS = 500  # each is at least 1/2, because no link weighs more than that of a row to itself


@kernel
def inactive_masses(z: Any, rows: Any, masses: Any) -> None:
    """Fill the weight of every row's links to inactive rows."""
    for i in range(z.size):
        masses[i] = link_masses(i, z, rows.indptr, rows.indices, rows.weights)[1]


@kernel
def log_stay(i: int, was: bool, z: Any, masses: Any, followers: Any) -> float:
    """Return the log of the factor that inactive rows contribute to row i being on, relative to off.

    Row i is marked inactive in z, while ``masses`` count it as it ``was``.
    """
    indptr, indices, weights = followers
    result = 0.0
    for begin in range(indptr[i], indptr[i + 1], _FACTORS):
        product = 1.0
        for s in range(begin, min(begin + _FACTORS, indptr[i + 1])):
            l = indices[s]
            if z[l] == 0 and l != i:
                product *= masses[l] / (masses[l] + weights[s]) if was else (masses[l] - weights[s]) / masses[l]
        result += np.log(product)
    return result


@kernel
def shift_masses(i: int, sign: float, masses: Any, followers: Any) -> None:
    """Add row i to what the rows that may link to it count as inactive, or take it away."""
    indptr, indices, weights = followers
    for s in range(indptr[i], indptr[i + 1]):
        masses[indices[s]] += sign * weights[s]


@kernel
def flip_leaves(
    rng: Any, z: Any, links: Any, owner: int, rows: Any, followers: Any, masses: Any, ev: Evidence, children: Any
) -> int:
    """Visit every row of a column; return the number of rows that changed."""
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    indptr, indices, weights = rows.indptr, rows.indices, rows.weights
    n, changed = z.size, 0
    inactive_masses(z, rows, masses)
    children[:] = 0
    for i in range(n):
        if z[i] == 1 and i != owner:
            children[links[i]] += 1
    for i in range(n):
        was = z[i] == 1
        if i == owner or (was and children[i] > 0):
            continue
        z[i] = 0
        on, off = link_masses(i, z, indptr, indices, weights)
        if on == 0.0:
            continue
        sign = -1.0 if was else 1.0
        log_odds = np.log(on / off) + log_stay(i, was, z, masses, followers)
        gain = change_row(ev_rows, squares, total, numbers, M, P, i, sign)
        now = was != switched(rng, was, log_odds, gain)
        if was:
            children[links[i]] -= 1
        if now:
            links[i] = draw_among(rng, i, 1, on, z, indptr, indices, weights)
            children[links[i]] += 1
            z[i] = 1
        if now != was:
            changed += 1
            apply(ev, ev_rows[i], 1.0, sign)
            shift_masses(i, -sign, masses, followers)
    for i in range(n):
        if i == owner:
            links[i] = draw_any(rng, i, rows)
        elif z[i] == 0:
            links[i] = draw_among(rng, i, 0, masses[i], z, indptr, indices, weights)
    return changed


@kernel
def sweep_leaves(
    rng: Any,
    order: Any,
    lik: Gaussian,
    collapsed: bool,
    ev: Evidence,
    work: Any,
    rows: Any,
    followers: Any,
    masses: Any,
    links: Any,
    owners: Any,
    children: Any,
) -> int:
    """Flip leaves of all columns in this order; return the number of entries that changed."""
    changed = 0
    for k in order:
        prepare(lik, collapsed, k, ev, work)
        changed += flip_leaves(rng, lik.z[k], links[k], owners[k], rows, followers, masses, ev, children)
        commit(rng, lik, collapsed, k, ev)
    return changed
