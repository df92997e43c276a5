"""Single-row flips of one column, links summed out: Gibbs for exchangeable and for sequential distance dependent columns.

Columns with no other active row are left alone: sets of singletons have a move of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp.moves.evidence import Evidence, Gaussian, apply, change_row, commit, prepare


@kernel
def decide(rng: Any, i: int, z: Any, log_odds: float, ev: Evidence) -> bool:
    """Draw z_i from its prior log odds and the evidence; return whether it changed."""
    on = z[i] == 1
    gain = change_row(ev, i, -1.0 if on else 1.0)
    log_odds += -gain if on else gain
    new = log_odds > 0.0 if abs(log_odds) > 700.0 else rng.random() * (1.0 + np.exp(-log_odds)) < 1.0
    if new == on:
        return False
    apply(ev, ev.rows[i], 1.0, -1.0 if on else 1.0)
    z[i] = 1 - z[i]
    return True


@kernel
def flip_exchangeable(rng: Any, z: Any, ev: Evidence) -> int:
    """Visit every row of an IBP column: prior odds (active others) to (inactive others and the row itself)."""
    n, changed = z.size, 0
    for i in range(n):
        others = ev.numbers[2] - z[i]
        if others > 0:
            changed += decide(rng, i, z, np.log(others / (n - others)), ev)
    return changed


@kernel
def activating_mass(z: Any, rows: Any, mass: Any) -> None:
    """Fill the weight of every row's links to earlier active rows."""
    for i in range(z.size):
        mass[i] = 0.0
        for s in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.indices[s]
            if j < i and z[j] == 1:
                mass[i] += rows.weights[s]


@kernel
def _mass_with(j: int, i: int, sign: float, weight: float, z: Any, mass: Any, rows: Any) -> float:
    """Return row j's mass after row i has been added or taken away, summed afresh where a difference would cancel."""
    new = mass[j] + sign * weight
    if sign < 0.0 and new < 1e-6 * mass[j]:
        new = 0.0
        for s in range(rows.indptr[j], rows.indptr[j + 1]):
            l = rows.indices[s]
            if l < j and l != i and z[l] == 1:
                new += rows.weights[s]
    return new


@kernel
def _followers_term(i: int, sign: float, z: Any, mass: Any, owner: int, skip: int, rows: Any, followers: Any) -> float:
    """Return how the log probability of the rows after ``owner`` changes when row i's weight is added to their mass."""
    indptr, indices, weights = followers
    result = 0.0
    for s in range(indptr[i], indptr[i + 1]):
        j = indices[s]
        if j > i and j > owner and j != skip:
            new = _mass_with(j, i, sign, weights[s], z, mass, rows)
            if z[j] == 1:
                if new == 0.0:
                    return -np.inf
                result += np.log(new / mass[j])
            else:
                result += np.log((1.0 - new) / (1.0 - mass[j]))
    return result


@kernel
def sequential_log_odds(i: int, first: int, second: int, z: Any, mass: Any, rows: Any, followers: Any) -> float:
    """Return log rate(row i on) - log rate(row i off); first and second are the first two active rows (N if none)."""
    n = z.size
    if i > first:
        if mass[i] <= 0.0:
            return -np.inf
        own = np.log(mass[i] / (1.0 - mass[i]))
        if z[i] == 1:
            return own - _followers_term(i, -1.0, z, mass, first, -1, rows, followers)
        return own + _followers_term(i, 1.0, z, mass, first, -1, rows, followers)
    # Row i is the owner, or would be: the next active row owns the column without it, and links to row i with it.
    heir = second if i == first else first
    if heir == n:
        return np.inf
    indptr, indices, weights = followers
    to_heir = 0.0
    for s in range(indptr[i], indptr[i + 1]):
        if indices[s] == heir:
            to_heir = weights[s]
    if to_heir == 0.0:
        return -np.inf
    own = np.log(rows.normalisers[heir] / rows.normalisers[i]) + np.log(to_heir)
    if z[i] == 1:
        return own - _followers_term(i, -1.0, z, mass, i, heir, rows, followers)
    return own + _followers_term(i, 1.0, z, mass, i, heir, rows, followers)


@kernel
def flip_sequential(rng: Any, z: Any, rows: Any, followers: Any, mass: Any, ev: Evidence) -> int:
    """Visit every row of a sequential dd-IBP column; the cost per row is the number of rows that may link to it."""
    n, changed = z.size, 0
    activating_mass(z, rows, mass)
    first = 0
    while z[first] == 0:
        first += 1
    second = first + 1
    while second < n and z[second] == 0:
        second += 1
    indptr, indices, weights = followers
    for i in range(n):
        if ev.numbers[2] - z[i] == 0:
            continue
        log_odds = sequential_log_odds(i, first, second, z, mass, rows, followers)
        if decide(rng, i, z, log_odds, ev):
            changed += 1
            sign = 1.0 if z[i] == 1 else -1.0
            for s in range(indptr[i], indptr[i + 1]):
                if indices[s] > i:
                    mass[indices[s]] = _mass_with(indices[s], i, sign, weights[s], z, mass, rows)
            first = 0
            while z[first] == 0:
                first += 1
            second = first + 1
            while second < n and z[second] == 0:
                second += 1
    return changed


@kernel
def sweep_exchangeable(rng: Any, lik: Gaussian, collapsed: bool, ev: Evidence, work: Any) -> Any:
    """Flip all columns of an IBP in a fresh random order; return (visited entries, changed entries)."""
    order = rng.permutation(lik.sizes[0])
    changed = 0
    for k in order:
        prepare(lik, collapsed, k, ev, work)
        changed += flip_exchangeable(rng, lik.z[k], ev)
        commit(rng, lik, collapsed, k, ev)
    return order.size * lik.z.shape[1], changed


@kernel
def sweep_sequential(
    rng: Any, lik: Gaussian, collapsed: bool, ev: Evidence, work: Any, rows: Any, followers: Any, mass: Any
) -> Any:
    """Flip all columns of a sequential dd-IBP in a fresh random order; return (visited entries, changed entries)."""
    order = rng.permutation(lik.sizes[0])
    changed = 0
    for k in order:
        prepare(lik, collapsed, k, ev, work)
        changed += flip_sequential(rng, lik.z[k], rows, followers, mass, ev)
        commit(rng, lik, collapsed, k, ev)
    return order.size * lik.z.shape[1], changed
