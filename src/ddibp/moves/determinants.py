r"""Single-row flips of one column for proximities that are not sequential, with owner and links summed out.

The active rows T weigh :math:`R(T) = \sum_n \tau_n(T)/h_n = \det B_T / |T|` with :math:`B_T = L_T + w 1^T`,
:math:`w_n = 1/h_n`. Taking in row i adds :math:`c_j = a_{ji}` to the diagonal of its d neighbours and a row and a
column, so that with :math:`G = B_T^{-1}` the ratio :math:`R(T \cup i)/R(T)` needs a d×d determinant only:

.. math:: \det(I + C G_{dd}) \Bigl[p + w_i - (w_i 1 - r)^T \tfrac{1 - x}{|T|} + (w_i 1 - r)^T x\Bigr]
          \frac{|T|}{|T| + 1}, \qquad x = G_{\cdot d} (I + C G_{dd})^{-1} c,

with :math:`r_j = a_{ij}`, :math:`p = \sum_j r_j`. Taking row i out of T is the reverse, with the inverse of
:math:`B_T` without row and column i. Where few rows are active, or digits would be lost, :math:`R` is computed anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ddibp._kernel import kernel
from ddibp._trees import dense_among, few_log_tree_weights
from ddibp.moves.evidence import Evidence, apply, change_row, switched
from ddibp.moves.leaves import inactive_masses, log_stay, shift_masses

_FEW = 24  # active rows up to which R is computed anew at every visit
_LOST = 1e-6  # a determinant below this has lost too many digits
_TIED = 1e8  # rows tied together more weakly than one over this make the inverse useless


@kernel
def log_owner_sum(active: Any, where: Any, rows: Any) -> float:
    """Return log R of the active rows (``where[row]`` is the place of a row among them or -1)."""
    are_logs = rows.log_weights.size > 0
    values = rows.log_weights if are_logs else rows.weights
    local = dense_among(active, where, rows.indptr, rows.indices, values, -np.inf if are_logs else 0.0)
    log_tau = few_log_tree_weights(local, are_logs)
    top = -np.inf
    for p in range(active.size):
        log_tau[p] -= np.log(rows.normalisers[active[p]])
        top = max(top, log_tau[p])
    if top == -np.inf:
        return top
    total = 0.0
    for p in range(active.size):
        total += np.exp(log_tau[p] - top)
    return top + np.log(total)


@kernel
def solve(A: Any, b: Any) -> float:
    """Overwrite b by the solution of A x = b, and A by its factors; return the determinant (0: singular)."""
    n = b.shape[0]
    det = 1.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if A[best, k] == 0.0:
            return 0.0
        if best != k:
            det = -det
            for j in range(k, n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            for c in range(b.shape[1]):
                b[k, c], b[best, c] = b[best, c], b[k, c]
        det *= A[k, k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            if f != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
                for c in range(b.shape[1]):
                    b[i, c] -= f * b[k, c]
    for k in range(n - 1, -1, -1):
        for c in range(b.shape[1]):
            for j in range(k + 1, n):
                b[k, c] -= A[k, j] * b[j, c]
            b[k, c] /= A[k, k]
    return det


@kernel
def inverse_of_owner_matrix(active: Any, where: Any, rows: Any) -> Any:
    """Return G, the inverse of B for the active rows."""
    m = active.size
    local = dense_among(active, where, rows.indptr, rows.indices, rows.weights, 0.0)
    B, G = np.empty((m, m)), np.eye(m)
    for p in range(m):
        out = 0.0
        for q in range(m):
            out += local[p, q]
            B[p, q] = 1.0 / rows.normalisers[active[p]] - local[p, q]
        B[p, p] += out
    solve(B, G)
    return G


@kernel
def _is_tied(i: int, z: Any, rows: Any, followers: Any) -> Any:
    """Return whether row i may link to an active row, and whether an active row may link to it."""
    out = into = False
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        out = out or (z[rows.indices[s]] == 1 and rows.indices[s] != i)
    for s in range(followers[0][i], followers[0][i + 1]):
        into = into or (z[followers[1][s]] == 1 and followers[1][s] != i)
    return out, into


@kernel
def log_ratio_by_update(
    i: int, skip: int, G: Any, where: Any, rows: Any, followers: Any, neighbours: Any, c: Any
) -> float:
    """Return log R(T ∪ i) - log R(T), where T are the rows of G but ``skip`` (-1: none); NaN if digits were lost."""
    f_indptr, f_indices, f_weights = followers
    m = G.shape[0] - (skip >= 0)
    d = 0
    for s in range(f_indptr[i], f_indptr[i + 1]):
        p = where[f_indices[s]]
        if p >= 0 and p != skip:
            neighbours[d], c[d] = p, f_weights[s]
            d += 1
    pivot = G[skip, skip] if skip >= 0 else 1.0
    A, y = np.empty((d, d)), np.empty((d, 1))
    for a in range(d):
        p = neighbours[a]
        for b in range(d):
            q = neighbours[b]
            g = G[p, q] - G[p, skip] * G[skip, q] / pivot if skip >= 0 else G[p, q]
            A[a, b] = c[a] * g
        A[a, a] += 1.0
        y[a, 0] = c[a]
    sign = 1.0
    if skip >= 0:
        # G inverts B_{T ∪ i}; without row and column i it inverts B_T + diag(c), of which the diagonal is taken away.
        for a in range(d):
            for b in range(d):
                A[a, b] = -A[a, b]
            A[a, a] += 2.0
        sign = -1.0
    det = solve(A, y)
    if not det > _LOST:
        return np.nan
    if sign < 0.0:
        # det B_T / det B_{T ∪ i} = G_ii det(I - C H_dd).
        ratio = pivot * det * (m + 1.0) / m
        return -np.log(ratio) if pivot > 0.0 else np.nan
    total_x = r_x = p_out = 0.0
    w = 1.0 / rows.normalisers[i]
    for a in range(d):
        column = 0.0
        for q in range(m):
            column += G[q, neighbours[a]]
        total_x += column * y[a, 0]
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        q = where[rows.indices[s]]
        if q >= 0 and rows.indices[s] != i:
            p_out += rows.weights[s]
            x = 0.0
            for a in range(d):
                x += G[q, neighbours[a]] * y[a, 0]
            r_x += rows.weights[s] * x
    border = p_out + w - (w * (m - total_x) - (p_out - r_x)) / m + w * total_x - r_x
    if not border > _LOST * (p_out + w):
        return np.nan
    return np.log(det * border * m / (m + 1.0))


@kernel
def _list_active(z: Any, where: Any) -> Any:
    active = np.flatnonzero(z)
    where[:] = -1
    for p in range(active.size):
        where[active[p]] = p
    return active


@kernel
def _afresh(i: int, was: bool, log_R: float, z: Any, where: Any, rows: Any) -> float:
    """Return log R(T with i) - log R(T without i) from scratch; ``log_R`` is that of T as it is."""
    z[i] = not was
    other = log_owner_sum(_list_active(z, where), where, rows)
    z[i] = was
    _list_active(z, where)
    return log_R - other if was else other - log_R


@kernel
def flip_linked(rng: Any, z: Any, rows: Any, followers: Any, masses: Any, ev: Evidence) -> int:
    """Visit every row of a column; return the number of rows that changed."""
    ev_rows, squares, total, numbers, sizes = ev
    M, P = sizes[0], sizes[1]
    n, changed = z.size, 0
    where = np.full(n, -1, np.int64)
    neighbours, c = np.empty(n, np.int64), np.empty(n)
    inactive_masses(z, rows, masses)
    active = _list_active(z, where)
    log_R = log_owner_sum(active, where, rows)
    G = np.empty((0, 0))
    trusted = rows.log_weights.size == 0
    for i in range(n):
        was = z[i] == 1
        out, into = _is_tied(i, z, rows, followers)
        if not (out or into):
            continue  # impossible if it is off, the only active row if it is on
        log_odds = np.nan
        if active.size > _FEW and out and trusted:
            if G.shape[0] == 0:
                G = inverse_of_owner_matrix(active, where, rows)
                trusted = np.abs(G).max() < _TIED
            if trusted:
                log_odds = log_ratio_by_update(i, where[i], G, where, rows, followers, neighbours, c)
        if np.isnan(log_odds):
            log_odds = _afresh(i, was, log_R, z, where, rows)
        change_of_R = log_odds
        if log_odds > -np.inf:
            z[i] = 0
            log_odds += log_stay(i, was, z, masses, followers)
            off = masses[i]
            if was:
                for s in range(rows.indptr[i], rows.indptr[i + 1]):
                    if rows.indices[s] == i:
                        off += rows.weights[s]
            log_odds -= np.log(off)
            z[i] = was
        sign = -1.0 if was else 1.0
        gain = change_row(ev_rows, squares, total, numbers, M, P, i, sign)
        if switched(rng, was, log_odds, gain):
            z[i] = not was
            apply(ev, ev_rows[i], 1.0, sign)
            shift_masses(i, -sign, masses, followers)
            active = _list_active(z, where)
            log_R += sign * change_of_R
            G = np.empty((0, 0))
            changed += 1
    return changed
