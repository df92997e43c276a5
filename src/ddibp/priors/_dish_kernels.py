r"""Compiled moves of dHBP columns in which every row has a lender of its own for every column.

Given p and the lenders and features of the other rows, row i has the feature and borrows from j with probability
proportional to :math:`a_{ij} \frac{c_1 p + m_j}{c_1 + n_j}`, and lacks it with
:math:`a_{ij} \frac{c_1 (1 - p) + n_j - m_j}{c_1 + n_j}`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp.moves.evidence import Evidence, Gaussian, apply, change_row, clear, commit, prepare, switched
from ddibp.priors._borrowing_kernels import coin, draw_atom, draw_powers, learn

_CAP = 30.0


@kernel
def chance(i: int, p: float, c1: float, urns: Any, rows: Any) -> float:
    """Return the probability that row i has the feature, its lender summed out."""
    total = 0.0
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        j = rows.indices[s]
        total += rows.weights[s] * (c1 * p + urns[0, j]) / (c1 + urns[1, j])
    return total


@kernel
def draw_lender(rng: Any, i: int, has: bool, p: float, c1: float, urns: Any, rows: Any, weights: Any) -> int:
    """Draw the lender of row i given whether it has the feature."""
    begin, end = rows.indptr[i], rows.indptr[i + 1]
    total = 0.0
    for s in range(begin, end):
        j = rows.indices[s]
        on = c1 * p + urns[0, j]
        weights[s - begin] = rows.weights[s] * (on if has else c1 + urns[1, j] - on) / (c1 + urns[1, j])
        total += weights[s - begin]
    left = rng.random() * total
    lender = rows.indices[end - 1]
    for s in range(end - begin):
        if weights[s] > 0.0:
            lender = rows.indices[begin + s]
            left -= weights[s]
            if left < 0.0:
                break
    return lender


@kernel
def put(i: int, lender: int, z: Any, sign: float, urns: Any) -> None:
    """Put row i into the urn of its lender, or take it out."""
    urns[0, lender] += sign * z[i]
    urns[1, lender] += sign


@kernel
def draw_dish(rng: Any, row: int, lenders: Any, p: float, c1: float, z: Any, urns: Any) -> None:
    """Draw who takes a dish that ``row`` takes, given p and all lenders."""
    urns[:] = 0.0
    z[row] = 1
    put(row, lenders[row], z, 1.0, urns)
    for i in range(z.size):
        if i != row:
            g = lenders[i]
            z[i] = rng.random() * (c1 + urns[1, g]) < c1 * p + urns[0, g]
            put(i, g, z, 1.0, urns)


@kernel
def draw_dishes(rng: Any, takers: Any, lenders: Any, c0: float, c1: float, z: Any) -> None:
    """Draw a dish for every taker; p given that it is taken is Beta(1, c0)."""
    urns = np.empty((2, z.shape[1]))
    for d in range(takers.size):
        draw_dish(rng, takers[d], lenders[d], rng.beta(1.0, c0), c1, z[d], urns)


@kernel
def sweep(
    rng: Any,
    order: Any,
    lik: Gaussian,
    collapsed: bool,
    ev: Evidence,
    work: Any,
    lenders: Any,
    rows: Any,
    c0: float,
    c1: float,
) -> int:
    """Draw features and lenders of all rows, column by column, given p, which is drawn first; return the changes."""
    n, changed = lik.z.shape[1], 0
    urns, weights = np.empty((2, n)), np.empty(n)
    for k in order:
        z, g = lik.z[k], lenders[k]
        prepare(lik, collapsed, k, ev, work)
        ev_rows, squares, total, numbers, sizes = ev
        M, P = sizes[0], sizes[1]
        p = draw_atom(rng, z, g, c0, c1)
        urns[:] = 0.0
        for i in range(n):
            put(i, g[i], z, 1.0, urns)
        for i in range(n):
            on = z[i] == 1
            put(i, g[i], z, -1.0, urns)
            if numbers[2] - z[i] > 0:
                sign = -1.0 if on else 1.0
                odds = chance(i, p, c1, urns, rows)
                gain = change_row(ev_rows, squares, total, numbers, M, P, i, sign)
                if switched(rng, on, np.log(odds / (1.0 - odds)), gain):
                    apply(ev, ev_rows[i], 1.0, sign)
                    z[i] = not on
                    changed += 1
            g[i] = draw_lender(rng, i, z[i] == 1, p, c1, urns, rows, weights)
            put(i, g[i], z, 1.0, urns)
        commit(rng, lik, collapsed, k, ev)
    return changed


@kernel
def grow(rng: Any, z: Any, lenders: Any, row: int, given: bool, p: float, c1: float, rows: Any, ev: Evidence) -> float:
    """Draw a column that ``row`` has and that follows the data, or follow the given one; return log(prior / density).

    Lenders are drawn from their law given p and the features, which cancels.
    """
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    urns, weights = np.zeros((2, z.size)), np.empty(z.size)
    clear(ev)
    apply(ev, ev_rows[row], 1.0, 1.0)
    if not given:
        z[row] = 1
        lenders[row] = draw_lender(rng, row, True, p, c1, urns, rows, weights)
    put(row, lenders[row], z, 1.0, urns)
    result = 0.0
    for i in range(z.size):
        if i == row:
            continue
        on = chance(i, p, c1, urns, rows)
        gain = min(max(change_row(ev_rows, squares, total, numbers, M, P, i, 1.0), -_CAP), _CAP)
        log_odds = np.log(on / (1.0 - on)) + gain
        if not given:
            z[i] = rng.random() < 1.0 / (1.0 + np.exp(-log_odds))
            lenders[i] = draw_lender(rng, i, z[i] == 1, p, c1, urns, rows, weights)
        if z[i] == 1:
            result += np.log(on) + np.log1p(np.exp(-log_odds))
            apply(ev, ev_rows[i], 1.0, 1.0)
        else:
            result += np.log(1.0 - on) + np.log1p(np.exp(log_odds))
        put(i, lenders[i], z, 1.0, urns)
    return result


@kernel
def draw_atoms(rng: Any, columns: Any, lenders: Any, c0: float, c1: float) -> Any:
    """Draw p of every column given its features and lenders; return p and log(1 - p), also where p rounds to 1."""
    atoms, log_rest = np.empty(len(columns)), np.empty(len(columns))
    for k in range(atoms.size):
        t, u = draw_powers(rng, columns[k], lenders[k], c0, c1)
        a, log_b = rng.standard_gamma(float(t)), log_gamma_variate(rng, c0 + u)
        atoms[k] = a / (a + np.exp(log_b))
        log_rest[k] = log_b - np.log(a + np.exp(log_b))
    return atoms, log_rest


@kernel
def log_gamma_variate(rng: Any, shape: float) -> float:
    """Draw the log of a gamma variate: however small the shape, it does not underflow."""
    return np.log(rng.standard_gamma(shape + 1.0)) + np.log(1.0 - rng.random()) / shape


@kernel
def draw_vacant(rng: Any, atoms: Any, lenders: Any, c1: float, vacant: Any) -> None:
    """Find out which of these dishes nobody takes."""
    sizes = np.empty(lenders.shape[1])
    for d in range(atoms.size):
        sizes[:] = 0.0
        vacant[d] = True
        for i in range(lenders.shape[1]):
            g = lenders[d, i]
            if rng.random() * (c1 + sizes[g]) < c1 * atoms[d]:
                vacant[d] = False
                break
            sizes[g] += 1.0


@kernel
def log_urns(z: Any, lenders: Any, p: float, c1: float) -> float:
    """Return the log probability of a column given p and its lenders."""
    urns = np.zeros((2, z.size))
    result, product = 0.0, 1.0
    for i in range(z.size):
        g = lenders[i]
        on = c1 * p + urns[0, g]
        product *= (on if z[i] == 1 else c1 + urns[1, g] - on) / (c1 + urns[1, g])
        if product < 1e-250:
            result += np.log(product)
            product = 1.0
        put(i, g, z, 1.0, urns)
    return result + np.log(product)


@kernel
def estimate_log_unit_rate(rng: Any, z: Any, p: Any, omega: Any, c1: float, rows: Any, n_runs: int) -> float:
    """Return an estimate of the log rate of a column: lenders drawn row by row given the features, p summed out.

    The rate is the mean of the weights of such runs.
    """
    urns, weights = np.empty((2, z.size)), np.empty(z.size)
    first = 0
    while first < z.size and z[first] == 0:
        first += 1
    if first == z.size:
        return -np.inf
    logs = np.empty(n_runs)
    belief = np.empty(p.size)
    for r in range(n_runs):
        urns[:] = 0.0
        belief[:] = omega / p  # an improper start, which the first active row turns into a rate
        scale = belief.sum()
        belief /= scale
        log_weight = np.log(scale)
        for i in range(z.size):
            mean = coin(belief, p, 1.0, 0.0, 0.0)
            on = chance(i, mean, c1, urns, rows)
            log_weight += np.log(on if z[i] == 1 else 1.0 - on)
            g = draw_lender(rng, i, z[i] == 1, mean, c1, urns, rows, weights)
            learn(belief, p, c1, urns[0, g], urns[1, g], z[i] == 1, 1.0)
            put(i, g, z, 1.0, urns)
        logs[r] = log_weight
    top = logs.max()
    return top + np.log(np.exp(logs - top).mean())
