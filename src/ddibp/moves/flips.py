"""Single-row flips of one column, links summed out: Gibbs for the IBP and for the sequential dd-IBP.

Columns with no other active row are left alone: sets of singletons have a move of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp._links import draw_links_given
from ddibp.moves.evidence import Evidence, Gaussian, apply, change_row, commit, prepare, switched


@kernel
def flip_exchangeable(rng: Any, z: Any, ev: Evidence) -> int:
    """Visit every row of an IBP column: prior odds (active others) to (inactive others and the row itself)."""
    rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    n, changed = z.size, 0
    count = numbers[2]
    for_inactive, for_active = np.log(count / (n - count)), np.log((count - 1.0) / (n - count + 1.0))
    for i in range(n):
        on = z[i] == 1
        if count > z[i]:
            gain = change_row(rows, squares, total, numbers, M, P, i, -1.0 if on else 1.0)
            if switched(rng, on, for_active if on else for_inactive, gain):
                apply(ev, rows[i], 1.0, -1.0 if on else 1.0)
                z[i] = not on
                changed += 1
                count = numbers[2]
                for_inactive, for_active = np.log(count / (n - count)), np.log((count - 1.0) / (n - count + 1.0))
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
def _mass_with(
    j: int, i: int, sign: float, weight: float, z: Any, mass: Any, indptr: Any, indices: Any, weights: Any
) -> float:
    """Return row j's mass after row i has been added or taken away, summed afresh where a difference would cancel."""
    new = mass[j] + sign * weight
    if sign < 0.0 and new < 1e-6 * mass[j]:
        new = 0.0
        for s in range(indptr[j], indptr[j + 1]):
            l = indices[s]
            if l < j and l != i and z[l] == 1:
                new += weights[s]
    return new


@kernel
def _followers_term(i: int, sign: float, z: Any, mass: Any, owner: int, skip: int, rows: Any, followers: Any) -> float:
    """Return how the log probability of the rows after ``owner`` changes when row i's weight is added to their mass."""
    indptr, indices, weights = followers
    row_indptr, row_indices, row_weights = rows.indptr, rows.indices, rows.weights
    result, numerator, denominator = 0.0, 1.0, 1.0
    for s in range(indptr[i], indptr[i + 1]):
        j = indices[s]
        if j > i and j > owner and j != skip:
            new = _mass_with(j, i, sign, weights[s], z, mass, row_indptr, row_indices, row_weights)
            if z[j] == 1:
                if new == 0.0:
                    return -np.inf
                numerator *= new
                denominator *= mass[j]
            else:
                numerator *= 1.0 - new
                denominator *= 1.0 - mass[j]
            if numerator < 1e-140 or denominator < 1e-140:  # one logarithm for many factors, before they underflow
                result += np.log(numerator) - np.log(denominator)
                numerator = denominator = 1.0
    return result + np.log(numerator / denominator)


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
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
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
        if numbers[2] - z[i] == 0:
            continue
        log_odds = sequential_log_odds(i, first, second, z, mass, rows, followers)
        on = z[i] == 1
        gain = change_row(ev_rows, squares, total, numbers, M, P, i, -1.0 if on else 1.0)
        if switched(rng, on, log_odds, gain):
            apply(ev, ev_rows[i], 1.0, -1.0 if on else 1.0)
            z[i] = not on
            changed += 1
            sign = 1.0 if z[i] == 1 else -1.0
            for s in range(indptr[i], indptr[i + 1]):
                if indices[s] > i:
                    j = indices[s]
                    mass[j] = _mass_with(j, i, sign, weights[s], z, mass, rows.indptr, rows.indices, rows.weights)
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
    rng: Any,
    lik: Gaussian,
    collapsed: bool,
    ev: Evidence,
    work: Any,
    rows: Any,
    followers: Any,
    mass: Any,
    links: Any,
    owners: Any,
) -> Any:
    """Flip all columns of a sequential dd-IBP in a fresh random order; return (visited entries, changed entries).

    Links are summed out and then drawn afresh given the column, which costs no evidence.
    """
    order = rng.permutation(lik.sizes[0])
    changed = 0
    for k in order:
        z = lik.z[k]
        prepare(lik, collapsed, k, ev, work)
        changed += flip_sequential(rng, z, rows, followers, mass, ev)
        commit(rng, lik, collapsed, k, ev)
        owners[k] = 0
        while z[owners[k]] == 0:
            owners[k] += 1
        draw_links_given(rng, z, owners[k], True, rows, links[k])
    return order.size * lik.z.shape[1], changed
