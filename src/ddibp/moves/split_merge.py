r"""Splitting a column in two and merging two, over pairs of active entries.

An ordered pair of active entries (i, k), (j, l) is drawn. In one column, k = l, the column is split into a with i and b
with j; its other rows go to a, b or both, by how well running weights of a and b explain them and by how strongly they
are tied to the rows that went there before. In two columns that do not both have i or j, they are merged. The same code
draws an allocation and evaluates a given one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp.moves.evidence import Evidence

_LEAST_TIE = 0.01  # rows may always go where nobody near them has gone


@kernel
def _tie(row: int, gone: Any, rows: Any, followers: Any) -> float:
    """Return how strongly a row is tied, either way, to the rows that have ``gone``."""
    total = 0.0
    for s in range(rows.indptr[row], rows.indptr[row + 1]):
        total += rows.weights[s] * gone[rows.indices[s]]
    for s in range(followers[0][row], followers[0][row + 1]):
        total += followers[2][s] * gone[followers[1][s]]
    return min(max(total, _LEAST_TIE), 1.0 - _LEAST_TIE)


@kernel
def allocate(
    rng: Any,
    order: Any,
    i: int,
    j: int,
    given: bool,
    a: Any,
    b: Any,
    exchangeable: bool,
    rows: Any,
    followers: Any,
    ev: Evidence,
) -> float:
    """Allocate the rows ``order`` (i and j left out) to a, b or both, or follow the given ones; return log density."""
    M = ev.sizes[0]
    ridge, variance = ev.numbers[3], ev.numbers[4]
    u_a, u_b = ev.rows[i, :M].copy(), ev.rows[j, :M].copy()
    gone_a, gone_b = np.zeros(a.size, np.uint8), np.zeros(a.size, np.uint8)
    gone_a[i] = gone_b[j] = 1
    n_a = n_b = 1.0
    log_q, seen = 0.0, 2.0
    log_w, miss = np.empty(3), np.empty(3)
    for row in order:
        miss[:] = 0.0
        for m in range(M):
            x, w_a, w_b = ev.rows[row, m], u_a[m] / (n_a + ridge), u_b[m] / (n_b + ridge)
            miss[0] += (x - w_a) ** 2
            miss[1] += (x - w_b) ** 2
            miss[2] += (x - w_a - w_b) ** 2
        tie_a = n_a / (seen + 1.0) if exchangeable else _tie(row, gone_a, rows, followers)
        tie_b = n_b / (seen + 1.0) if exchangeable else _tie(row, gone_b, rows, followers)
        seen += 1.0
        best = miss.min()
        total = 0.0
        for choice in range(3):
            log_w[choice] = max(-(miss[choice] - best) / (2.0 * variance), -20.0)
            log_w[choice] += np.log(1.0 - tie_a if choice == 1 else tie_a)
            log_w[choice] += np.log(1.0 - tie_b if choice == 0 else tie_b)
            total += np.exp(log_w[choice])
        if given:
            chosen = 2 if a[row] == 1 and b[row] == 1 else (0 if a[row] == 1 else 1)
        else:
            u = rng.random() * total
            chosen = 0
            while chosen < 2 and u >= np.exp(log_w[chosen]):
                u -= np.exp(log_w[chosen])
                chosen += 1
            a[row], b[row] = chosen != 1, chosen != 0
        log_q += log_w[chosen] - np.log(total)
        if chosen != 1:
            gone_a[row] = 1
            n_a += 1.0
            u_a += ev.rows[row, :M]
        if chosen != 0:
            gone_b[row] = 1
            n_b += 1.0
            u_b += ev.rows[row, :M]
    return log_q


@kernel
def pair_sums(z_a: Any, z_b: Any, ev: Evidence) -> Any:
    """Return per output the sums u_a, u_b and the matrix entries v_a, v_b, v_ab of two columns together."""
    M, missing = ev.sizes[0], ev.sizes[1] < 0
    P = 0 if missing else ev.sizes[1]
    out = np.zeros((5, M))
    y_a, y_b = np.zeros(P), np.zeros(P)
    for i in range(z_a.size):
        if z_a[i] == 1 or z_b[i] == 1:
            for m in range(M):
                o = ev.rows[i, M + m] if missing else 1.0
                out[0, m] += z_a[i] * ev.rows[i, m]
                out[1, m] += z_b[i] * ev.rows[i, m]
                out[2, m] += o * z_a[i]
                out[3, m] += o * z_b[i]
                out[4, m] += o * z_a[i] * z_b[i]
            for p in range(P):
                y_a[p] += z_a[i] * ev.rows[i, M + p]
                y_b[p] += z_b[i] * ev.rows[i, M + p]
    out[2] += ev.numbers[3] - (y_a**2).sum()
    out[3] += ev.numbers[3] - (y_b**2).sum()
    out[4] -= (y_a * y_b).sum()
    return out


@kernel
def pair_score(sums: Any, ev: Evidence) -> float:
    """Return the log likelihood of two columns together, relative to neither."""
    M = ev.sizes[0]
    ridge, variance = ev.numbers[3], ev.numbers[4]
    result = 0.0
    for m in range(M):
        u_a, u_b, v_a, v_b, v_ab = sums[0, m], sums[1, m], sums[2, m], sums[3, m], sums[4, m]
        det = v_a * v_b - v_ab * v_ab
        # Outputs beyond the reduced data carry no sums, only the determinant.
        copies = ev.numbers[5] / M if ev.sizes[1] >= 0 else 1.0
        result -= 0.5 * copies * np.log(det / ridge**2)
        result += (v_b * u_a * u_a - 2.0 * v_ab * u_a * u_b + v_a * u_b * u_b) / (2.0 * variance * det)
    return result


@kernel
def draw_pair_weights(rng: Any, sums: Any, ev: Evidence, weights: Any) -> None:
    """Draw the weights of two columns from their joint law given everything else."""
    for m in range(ev.sizes[0]):
        u_a, u_b, v_a, v_b, v_ab = sums[0, m], sums[1, m], sums[2, m], sums[3, m], sums[4, m]
        det = v_a * v_b - v_ab * v_ab
        sd = np.sqrt(ev.numbers[4])
        w_a = (v_b * u_a - v_ab * u_b) / det + sd * np.sqrt(v_b / det) * rng.standard_normal()
        weights[0, m] = w_a
        weights[1, m] = (u_b - v_ab * w_a) / v_b + sd / np.sqrt(v_b) * rng.standard_normal()
