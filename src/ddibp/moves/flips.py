"""Single-row flips of one column, links summed out: Gibbs for the IBP and for the sequential dd-IBP.

Columns with no other active row are left alone: sets of singletons have a move of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import fast_sums_kernel, kernel
from ddibp._links import draw_links_given
from ddibp.moves.evidence import Evidence, Gaussian, apply, change_row, commit, prepare, switched
from ddibp.moves.links import mass_between

_STRIDE = 128  # followers whose factors are multiplied before one looks at the product
_LOST = 1e-6  # a factor below this, or above its reciprocal, has lost too many digits


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
    """Fill the weight of every row's links to earlier active rows; the row itself is the last of its neighbours."""
    indptr = rows.indptr
    for i in range(z.size):
        begin, end = indptr[i], indptr[i + 1] - 1
        mass[i] = mass_between(begin, end, 1, z, rows.indices, rows.weights) if end > begin else 0.0


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
def _slope(on: bool, mass: float) -> float:
    """Return the derivative of the log probability of an entry by its mass: 1/p, or -1/(1 - p)."""
    return 1.0 / mass if on else -1.0 / (1.0 - mass)


@fast_sums_kernel
def _product(begin: int, end: int, sign: float, slopes: Any, indices: Any, weights: Any) -> Any:
    """Return the product of 1 + sign w slope over followers, and how many factors have lost digits."""
    product, lost = 1.0, 0
    first = indices[begin]
    if indices[end - 1] - first == end - 1 - begin:  # followers without a gap: a loop without look-ups
        w, d = weights[begin:end], slopes[first : first + end - begin]
        for s in range(end - begin):
            factor = 1.0 + sign * w[s] * d[s]
            lost += (factor < _LOST) | (factor > 1.0 / _LOST)
            product *= factor
    else:
        for s in range(begin, end):
            factor = 1.0 + sign * weights[s] * slopes[indices[s]]
            lost += (factor < _LOST) | (factor > 1.0 / _LOST)
            product *= factor
    return product, lost


@kernel
def _careful_log_product(
    begin: int, end: int, i: int, sign: float, skip: int, z: Any, mass: Any, rows: Any, followers: Any
) -> float:
    """Return the log of the same product, factor by factor and with every digit."""
    result = 0.0
    for s in range(begin, end):
        j = followers[1][s]
        if j == skip:
            continue
        new = _mass_with(j, i, sign, followers[2][s], z, mass, rows)
        if z[j] == 1:
            if new == 0.0:
                return -np.inf
            result += np.log(new) - np.log(mass[j])
        else:
            result += np.log((1.0 - new) / (1.0 - mass[j]))
    return result


@kernel
def _followers_term(i: int, sign: float, skip: int, z: Any, mass: Any, slopes: Any, rows: Any, followers: Any) -> float:
    """Return how the log probability of the later rows changes when row i's weight is added to their mass.

    The density of a follower is linear in its mass, so that it is multiplied by 1 + sign w slope.
    """
    indptr, indices, weights = followers
    result, product = 0.0, 1.0
    for begin in range(indptr[i] + 1, indptr[i + 1], _STRIDE):  # the first follower is the row itself
        end = min(begin + _STRIDE, indptr[i + 1])
        part, lost = _product(begin, end, sign, slopes, indices, weights)
        if lost > 0 or not 1e-150 < part < 1e150:
            result += _careful_log_product(begin, end, i, sign, skip, z, mass, rows, followers)
            if result == -np.inf:
                return result
            continue
        product *= part
        if not 1e-100 < product < 1e100:
            result += np.log(product)
            product = 1.0
    return result + np.log(product)


@kernel
def sequential_log_odds(
    i: int, first: int, second: int, z: Any, mass: Any, slopes: Any, rows: Any, followers: Any
) -> float:
    """Return log rate(row i on) - log rate(row i off); first and second are the first two active rows (N if none)."""
    sign = -1.0 if z[i] == 1 else 1.0
    if i > first:
        if mass[i] <= 0.0:
            return -np.inf
        own = np.log(mass[i] / (1.0 - mass[i]))
        return own + sign * _followers_term(i, sign, -1, z, mass, slopes, rows, followers)
    # Row i is the owner, or would be: the next active row owns the column without it, and links to row i with it.
    heir = second if i == first else first
    if heir == z.size:
        return np.inf
    indptr, indices, weights = followers
    if indices[indptr[i + 1] - 1] < heir:
        return -np.inf
    place = indptr[i] + np.searchsorted(indices[indptr[i] : indptr[i + 1]], heir)
    if indices[place] != heir or weights[place] == 0.0:
        return -np.inf
    own = np.log(rows.normalisers[heir] / rows.normalisers[i] * weights[place])
    kept = slopes[heir]
    slopes[heir] = 0.0
    term = _followers_term(i, sign, heir, z, mass, slopes, rows, followers)
    slopes[heir] = kept
    return own + sign * term


@kernel
def _first_two(z: Any) -> Any:
    """Return the first two active rows (N where there is no second)."""
    first = 0
    while z[first] == 0:
        first += 1
    second = first + 1
    while second < z.size and z[second] == 0:
        second += 1
    return first, second


@kernel
def flip_sequential(rng: Any, z: Any, rows: Any, followers: Any, mass: Any, slopes: Any, ev: Evidence) -> int:
    """Visit every row of a sequential dd-IBP column; the cost per row is the number of rows that may link to it."""
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    n, changed = z.size, 0
    activating_mass(z, rows, mass)
    first, second = _first_two(z)
    for j in range(n):
        slopes[j] = 0.0 if j == first else _slope(z[j] == 1, mass[j])
    indptr, indices, weights = followers
    for i in range(n):
        on = z[i] == 1
        if numbers[2] - z[i] == 0:
            continue
        log_odds = sequential_log_odds(i, first, second, z, mass, slopes, rows, followers)
        if log_odds == -np.inf and not on:
            continue
        sign = -1.0 if on else 1.0
        gain = change_row(ev_rows, squares, total, numbers, M, P, i, sign)
        if switched(rng, on, log_odds, gain):
            apply(ev, ev_rows[i], 1.0, sign)
            z[i] = not on
            changed += 1
            for s in range(indptr[i] + 1, indptr[i + 1]):
                j = indices[s]
                mass[j] = _mass_with(j, i, sign, weights[s], z, mass, rows)
                slopes[j] = _slope(z[j] == 1, mass[j])
            first, second = _first_two(z)
            slopes[i] = _slope(z[i] == 1, mass[i])
            slopes[first] = 0.0
            if second < n:
                slopes[second] = _slope(True, mass[second])
    return changed


@kernel
def sweep_exchangeable(rng: Any, order: Any, lik: Gaussian, collapsed: bool, ev: Evidence, work: Any) -> int:
    """Flip all columns of an IBP in this order; return the number of changed entries."""
    changed = 0
    for k in order:
        prepare(lik, collapsed, k, ev, work)
        changed += flip_exchangeable(rng, lik.z[k], ev)
        commit(rng, lik, collapsed, k, ev)
    return changed


@kernel
def sweep_sequential(
    rng: Any,
    order: Any,
    lik: Gaussian,
    collapsed: bool,
    ev: Evidence,
    work: Any,
    rows: Any,
    followers: Any,
    mass: Any,
    slopes: Any,
    links: Any,
    owners: Any,
) -> int:
    """Flip all columns of a sequential dd-IBP in this order; return the number of changed entries.

    Links are summed out and then drawn afresh given the column, which costs no evidence.
    """
    changed = 0
    for k in order:
        z = lik.z[k]
        prepare(lik, collapsed, k, ev, work)
        changed += flip_sequential(rng, z, rows, followers, mass, slopes, ev)
        commit(rng, lik, collapsed, k, ev)
        owners[k] = _first_two(z)[0]
        draw_links_given(rng, z, owners[k], True, rows, links[k])
    return changed
