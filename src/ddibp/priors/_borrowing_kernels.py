r"""Compiled sums over the base probability p of a column of the dHBP, given who borrows from whom.

With :math:`n_j` rows borrowing from row j, :math:`m_j` of which have the feature, the law of a column given p is that
of Pólya urns: row by row, a borrower of j has the feature with probability :math:`(c_1 p + m_j)/(c_1 + n_j)`, counts
being of the rows before. As a function of p this is a polynomial, so that Gauss-Jacobi nodes sum p out exactly. Weights
of the nodes given some rows are called ``belief``; they are kept normalised.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ddibp._kernel import fast_sums_kernel, kernel
from ddibp.moves.evidence import Evidence, Gaussian, apply, change_row, clear, commit, prepare, switched

_CAP = 30.0  # a proposal follows the data up to e^30, so that it never excludes what the prior allows


@fast_sums_kernel
def coin(belief: Any, p: Any, c1: float, taken: float, seen: float) -> float:
    """Return the probability that the next borrower of an urn has the feature."""
    total = 0.0
    for q in range(p.size):
        total += belief[q] * p[q]
    return (c1 * total + taken) / (c1 + seen)


@fast_sums_kernel
def learn(belief: Any, p: Any, c1: float, taken: float, seen: float, has: bool, sign: float) -> None:
    """Put a row into the belief (sign 1), or take it out (-1), given the counts of the others; keep it normalised."""
    total = 0.0
    if has:
        for q in range(p.size):
            factor = c1 * p[q] + taken
            belief[q] *= factor if sign > 0.0 else 1.0 / factor
            total += belief[q]
    else:
        for q in range(p.size):
            factor = c1 * (1.0 - p[q]) + (seen - taken)
            belief[q] *= factor if sign > 0.0 else 1.0 / factor
            total += belief[q]
    for q in range(p.size):
        belief[q] /= total


@kernel
def prefixes(lenders: Any, p: Any, omega: Any, c1: float, prefix: Any, log_h: Any, vacant: Any) -> None:
    """Fill the weights of the nodes for columns that begin with each row, and minus the log rate of such columns.

    ``vacant`` gets the probability, node by node, that no row has the feature.
    """
    seen = np.zeros(lenders.size)
    vacant[:] = 1.0
    for i in range(lenders.size):
        g = lenders[i]
        total = 0.0
        for q in range(p.size):
            prefix[i, q] = omega[q] * vacant[q]
            total += prefix[i, q]
        log_h[i] = -np.log(total * c1 / (c1 + seen[g]))
        for q in range(p.size):
            prefix[i, q] /= total
            vacant[q] *= (c1 * (1.0 - p[q]) + seen[g]) / (c1 + seen[g])
        seen[g] += 1.0


@kernel
def log_unit_rate(z: Any, lenders: Any, p: Any, c1: float, prefix: Any, log_h: Any, urns: Any) -> float:
    """Return the log rate of a column at mass 1, row by row from its first."""
    first = 0
    while first < z.size and z[first] == 0:
        first += 1
    if first == z.size:
        return -np.inf
    urns[:] = 0.0
    for j in range(first + 1):
        urns[1, lenders[j]] += 1.0
    urns[0, lenders[first]] = 1.0
    belief = prefix[first].copy()
    result, product = -log_h[first], 1.0
    for i in range(first + 1, z.size):
        g = lenders[i]
        taken, seen = urns[0, g], urns[1, g]
        on = coin(belief, p, c1, taken, seen)
        product *= on if z[i] == 1 else 1.0 - on
        if product < 1e-200:
            result += np.log(product)
            product = 1.0
        learn(belief, p, c1, taken, seen, z[i] == 1, 1.0)
        urns[0, g] += z[i]
        urns[1, g] += 1.0
    return result + np.log(product)


@kernel
def believe(z: Any, lenders: Any, p: Any, omega: Any, c1: float, urns: Any, belief: Any) -> None:
    """Fill the urns and the belief of a column that has an active row."""
    urns[:] = 0.0
    belief[:] = omega / p
    belief /= belief.sum()
    for i in range(z.size):
        g = lenders[i]
        learn(belief, p, c1, urns[0, g], urns[1, g], z[i] == 1, 1.0)
        urns[0, g] += z[i]
        urns[1, g] += 1.0


@kernel
def sweep(
    rng: Any,
    order: Any,
    lik: Gaussian,
    collapsed: bool,
    ev: Evidence,
    work: Any,
    lenders: Any,
    p: Any,
    omega: Any,
    c1: float,
) -> int:
    """Flip the rows of all columns in this order, p summed out; return the number of changed entries."""
    changed = 0
    n = lenders.size
    urns, belief = np.empty((2, n)), np.empty(p.size)
    for k in order:
        z = lik.z[k]
        prepare(lik, collapsed, k, ev, work)
        ev_rows, squares, total, numbers, sizes = ev
        M, P = sizes[0], sizes[1]
        believe(z, lenders, p, omega, c1, urns, belief)
        for i in range(n):
            on = z[i] == 1
            if numbers[2] - z[i] == 0:
                continue
            g = lenders[i]
            urns[0, g] -= z[i]
            urns[1, g] -= 1.0
            learn(belief, p, c1, urns[0, g], urns[1, g], on, -1.0)
            chance = coin(belief, p, c1, urns[0, g], urns[1, g])
            sign = -1.0 if on else 1.0
            gain = change_row(ev_rows, squares, total, numbers, M, P, i, sign)
            if switched(rng, on, np.log(chance / (1.0 - chance)), gain):
                apply(ev, ev_rows[i], 1.0, sign)
                z[i] = not on
                changed += 1
            learn(belief, p, c1, urns[0, g], urns[1, g], z[i] == 1, 1.0)
            urns[0, g] += z[i]
            urns[1, g] += 1.0
        commit(rng, lik, collapsed, k, ev)
    return changed


@kernel
def grow(
    rng: Any, z: Any, first: int, given: bool, lenders: Any, p: Any, c1: float, prefix: Any, ev: Evidence, blind: bool
) -> Any:
    """Draw a column from its first row on, or follow the given one; return (log proposal, log prior of the coins).

    The odds of a row are those of its coin times the running likelihood ratio, or of its coin alone if ``blind``.
    """
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    urns = np.zeros((2, z.size))
    for j in range(first + 1):
        urns[1, lenders[j]] += 1.0
        if given and j < first and z[j] == 1:
            return -np.inf, -np.inf
    urns[0, lenders[first]] = 1.0
    belief = prefix[first].copy()
    if not given:
        z[:] = 0
        z[first] = 1
    if not blind:
        clear(ev)
        apply(ev, ev_rows[first], 1.0, 1.0)
    log_q = log_p = 0.0
    for i in range(first + 1, z.size):
        g = lenders[i]
        on = coin(belief, p, c1, urns[0, g], urns[1, g])
        log_odds = np.log(on / (1.0 - on))
        if not blind:
            log_odds += min(max(change_row(ev_rows, squares, total, numbers, M, P, i, 1.0), -_CAP), _CAP)
        if not given:
            z[i] = rng.random() < 1.0 / (1.0 + np.exp(-log_odds))
        if z[i] == 1:
            log_q -= np.log1p(np.exp(-log_odds))
            log_p += np.log(on)
            if not blind:
                apply(ev, ev_rows[i], 1.0, 1.0)
        else:
            log_q -= np.log1p(np.exp(log_odds))
            log_p += np.log(1.0 - on)
        learn(belief, p, c1, urns[0, g], urns[1, g], z[i] == 1, 1.0)
        urns[0, g] += z[i]
        urns[1, g] += 1.0
    return log_q, log_p


@kernel
def tables(z: Any, value: int, lenders: Any, c1: float, law: Any) -> int:
    """Fill the law of the number of powers of p (value 1) or 1 - p (0) in the terms of a column; return its length.

    :math:`(c_1 p + l)/(c_1 + l)` is p with weight :math:`c_1/(c_1 + l)` and 1 with the rest, so that a product of
    such terms is a sum of powers whose weights are the law of a number of successes.
    """
    seen = np.zeros(lenders.size)
    law[:] = 0.0
    law[0] = 1.0
    length = 1
    for i in range(z.size):
        if z[i] == value:
            share = c1 / (c1 + seen[lenders[i]])
            seen[lenders[i]] += 1.0
            for t in range(length, 0, -1):
                law[t] = law[t] * (1.0 - share) + law[t - 1] * share
            law[0] *= 1.0 - share
            length += 1
    return length


@kernel
def draw_atom(rng: Any, z: Any, lenders: Any, c0: float, c1: float) -> float:
    r"""Draw p given a column: a mixture of Beta(t, c0 + u) over the powers t of p and u of 1 - p in its terms."""
    t, u = draw_powers(rng, z, lenders, c0, c1)
    return rng.beta(float(t), c0 + u)


@kernel
def draw_powers(rng: Any, z: Any, lenders: Any, c0: float, c1: float) -> Any:
    """Draw the powers t and u of this mixture."""
    on, off = np.empty(z.size + 1), np.empty(z.size + 1)
    n_on, n_off = tables(z, 1, lenders, c1, on), tables(z, 0, lenders, c1, off)
    lg_t, lg_u, lg_sum = np.empty(n_on), np.empty(n_off), np.empty(n_on + n_off)
    for t in range(1, n_on):
        lg_t[t] = math.lgamma(float(t))
    for u in range(n_off):
        lg_u[u] = math.lgamma(c0 + u)
    for s in range(1, n_on + n_off):
        lg_sum[s] = math.lgamma(c0 + s)
    top = -np.inf
    for t in range(1, n_on):
        if on[t] > 0.0:
            for u in range(n_off):
                if off[u] > 0.0:
                    top = max(top, np.log(on[t]) + np.log(off[u]) + lg_t[t] + lg_u[u] - lg_sum[t + u])
    total = 0.0
    for t in range(1, n_on):
        for u in range(n_off):
            if on[t] * off[u] > 0.0:
                total += on[t] * off[u] * np.exp(lg_t[t] + lg_u[u] - lg_sum[t + u] - top)
    left = rng.random() * total
    chosen_t, chosen_u = 1, 0
    for t in range(1, n_on):
        for u in range(n_off):
            if on[t] * off[u] > 0.0 and left > 0.0:
                chosen_t, chosen_u = t, u
                left -= on[t] * off[u] * np.exp(lg_t[t] + lg_u[u] - lg_sum[t + u] - top)
    return chosen_t, chosen_u


@kernel
def sweep_lenders(
    rng: Any,
    order: Any,
    z: Any,
    atoms: Any,
    lenders: Any,
    rows: Any,
    p: Any,
    omega: Any,
    vacant: Any,
    mass: float,
    c1: float,
) -> int:
    r"""Draw every row's lender given the features and their base probabilities; return the number of changes.

    With counts of the other rows, :math:`P(g_i = j) \propto a_{ij} e^{-\Lambda} \prod_k` (coin of urn j). Where row i
    joins an urn of n others, :math:`\Lambda` is a constant plus
    :math:`\gamma \frac{c_1}{c_1 + n} \sum_q \omega_q P(\text{no other row} \mid p_q)`.
    """
    n, K = lenders.size, atoms.size
    sizes, taken = np.zeros(n), np.zeros((n, K))
    for i in range(n):
        sizes[lenders[i]] += 1.0
        for k in range(K):
            taken[lenders[i], k] += z[k, i]
    weights = np.empty(n)
    changed = 0
    for i in order:
        g = lenders[i]
        sizes[g] -= 1.0
        for k in range(K):
            taken[g, k] -= z[k, i]
        others = 0.0
        for q in range(p.size):
            vacant[q] *= (c1 + sizes[g]) / (c1 * (1.0 - p[q]) + sizes[g])
            others += omega[q] * vacant[q]
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        top = -np.inf
        for s in range(begin, end):
            j = rows.indices[s]
            if rows.weights[s] == 0.0:
                weights[s - begin] = -np.inf
                continue
            value = np.log(rows.weights[s]) - mass * others * c1 / (c1 + sizes[j])
            product = 1.0
            for k in range(K):
                on = c1 * atoms[k] + taken[j, k]
                product *= (on if z[k, i] == 1 else c1 + sizes[j] - on) / (c1 + sizes[j])
                if product < 1e-250:
                    value += np.log(product)
                    product = 1.0
            weights[s - begin] = value + np.log(product)
            top = max(top, weights[s - begin])
        total = 0.0
        for s in range(end - begin):
            weights[s] = np.exp(weights[s] - top)
            total += weights[s]
        left = rng.random() * total
        new = -1
        for s in range(end - begin):
            if weights[s] > 0.0:
                new = rows.indices[begin + s]
                left -= weights[s]
                if left < 0.0:
                    break
        for q in range(p.size):
            vacant[q] *= (c1 * (1.0 - p[q]) + sizes[new]) / (c1 + sizes[new])
        lenders[i] = new
        sizes[new] += 1.0
        for k in range(K):
            taken[new, k] += z[k, i]
        changed += new != g
    return changed
